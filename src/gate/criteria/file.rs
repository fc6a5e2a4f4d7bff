//! `qa-criteria.yml`: the evidence that people give for criteria.

use crate::base::text;
use crate::base::yaml::{YAML_BYTES_MAX, YamlEntry, YamlError, YamlNode, parse_yaml};
use crate::gate::prp::{Prp, id_number};

/// Entries of a file.
const ENTRIES_MAX: usize = 1_000;
/// A value that people see, bytes.
const VALUE_BYTES_MAX: usize = 500;

/// What is wrong with the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {reason}")]
pub(crate) struct CriteriaFileError {
    /// The file, as people know it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// A lowercase fragment.
    pub reason: String,
}

/// The evidence of a criterion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CriterionEvidence {
    /// A test: `tests/test_api.py::test_page_size`.
    Test {
        /// The selector as written.
        selector: String,
    },
    /// A command that has to pass; it needs approval.
    Command {
        /// The line as written.
        line: String,
    },
    /// A person's word.
    Manual {
        /// Who says so.
        by: String,
        /// The day, `2026-11-23`.
        at: String,
        /// What was seen.
        note: String,
    },
}

/// One entry of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CriterionEntry {
    /// The id as written.
    pub id: String,
    /// The line of the entry, from 1.
    pub line: usize,
    /// The evidence.
    pub evidence: CriterionEvidence,
}

/// The file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CriteriaFile {
    /// `prp`: the path that the entries are about.
    pub prp: Option<String>,
    /// `digest` of the criteria, as written.
    pub digest: Option<String>,
    /// The entries.
    pub entries: Vec<CriterionEntry>,
}

impl CriteriaFile {
    /// Reads the file. `file` is for errors.
    ///
    /// # Errors
    /// The first thing that is wrong, with the file and the line.
    pub(crate) fn parse(text: &str, file: &str) -> Result<CriteriaFile, CriteriaFileError> {
        if text.len() as u64 > YAML_BYTES_MAX {
            let reason = format!("the file has more than {YAML_BYTES_MAX} bytes");
            return Err(CriteriaFileError { file: file.to_owned(), line: 1, reason });
        }
        parse_file(text).map_err(|YamlError { line, reason }| CriteriaFileError { file: file.to_owned(), line, reason })
    }

    /// Why the entries are about other criteria than those of this PRP; `None` when they are about the same ones.
    pub(crate) fn stale_reason(&self, prp: &Prp) -> Option<String> {
        match &self.digest {
            Some(digest) if *digest == prp.criteria_digest => None,
            Some(_) => Some("the criteria of the PRP have changed since these links were made".to_owned()),
            None => {
                Some(format!("the file has no digest of the criteria: write `digest: \"{}\"`", prp.criteria_digest))
            }
        }
    }

    /// The entries whose id the PRP does not have.
    pub(crate) fn unknown_entries<'a>(&'a self, prp: &Prp) -> Vec<&'a CriterionEntry> {
        self.entries.iter().filter(|entry| prp.criterion(&entry.id).is_none()).collect()
    }
}

fn parse_file(text: &str) -> Result<CriteriaFile, YamlError> {
    let root = parse_yaml(text)?;
    let [top] = root.as_map("the file")? else {
        return Err(YamlError::new(root.line, "expected one key `qa_criteria`"));
    };
    if top.key != "qa_criteria" {
        return Err(YamlError::new(top.line, format!("expected `qa_criteria`, found {:?}", shown(&top.key))));
    }
    let mut found = CriteriaFile { prp: None, digest: None, entries: Vec::new() };
    let mut criteria = None;
    for field in top.node.as_map("qa_criteria")? {
        match field.key.as_str() {
            "prp" => found.prp = Some(shown(field.node.as_text("prp")?)),
            "digest" => found.digest = Some(parse_digest(field)?),
            "criteria" => criteria = Some(field.node.as_list("criteria")?),
            other => return Err(YamlError::new(field.line, format!("unknown key `{}`", shown(other)))),
        }
    }
    let criteria = criteria.ok_or_else(|| YamlError::new(top.line, "`criteria` is missing"))?;
    if let Some(node) = criteria.get(ENTRIES_MAX) {
        return Err(YamlError::new(node.line, format!("more than {ENTRIES_MAX} entries")));
    }
    found.entries = criteria.iter().map(parse_entry).collect::<Result<_, _>>()?;
    Ok(found)
}

fn parse_digest(field: &YamlEntry) -> Result<String, YamlError> {
    let digest = field.node.as_text("digest")?;
    let is_digest = digest.split_once(':').is_some_and(|(name, value)| {
        !name.is_empty() && value.len() == 64 && value.bytes().all(|byte| byte.is_ascii_hexdigit())
    });
    if is_digest {
        Ok(digest.to_owned())
    } else {
        Err(YamlError::new(field.line, "digest must be like \"blake3:…\""))
    }
}

fn parse_entry(node: &YamlNode) -> Result<CriterionEntry, YamlError> {
    let fields = node.as_map("an entry")?;
    let field = |key: &str| fields.iter().find(|field| field.key == key);
    if let Some(other) = fields.iter().find(|field| !["id", "test", "command", "manual"].contains(&field.key.as_str()))
    {
        return Err(YamlError::new(other.line, format!("unknown key `{}` in an entry", shown(&other.key))));
    }
    let id = field("id").ok_or_else(|| YamlError::new(node.line, "`id` is missing in this entry"))?;
    let written = id.node.as_text("id")?;
    if id_number(written).is_none() {
        return Err(YamlError::new(id.line, format!("id must be like AC-2, not {:?}", shown(written))));
    }
    let evidence = match (field("test"), field("command"), field("manual")) {
        (Some(test), None, None) => CriterionEvidence::Test { selector: plain_text(test)? },
        (None, Some(command), None) => {
            let line = plain_text(command)?;
            if shell_words::split(&line).map_or(true, |words| words.is_empty()) {
                return Err(YamlError::new(command.line, "a quote of the command is not closed"));
            }
            CriterionEvidence::Command { line }
        }
        (None, None, Some(manual)) => parse_manual(manual)?,
        _ => return Err(YamlError::new(node.line, "an entry has one of `test`, `command` and `manual`")),
    };
    Ok(CriterionEntry { id: written.to_owned(), line: node.line, evidence })
}

fn parse_manual(entry: &YamlEntry) -> Result<CriterionEvidence, YamlError> {
    let fields = entry.node.as_map("manual")?;
    if let Some(other) = fields.iter().find(|field| !["by", "at", "note"].contains(&field.key.as_str())) {
        return Err(YamlError::new(other.line, format!("unknown key `{}` in manual", shown(&other.key))));
    }
    let value = |key: &str| match fields.iter().find(|field| field.key == key) {
        Some(field) => Ok((field.line, shown(field.node.as_text(key)?))),
        None => Err(YamlError::new(entry.line, format!("manual needs `{key}`: a person answers for it"))),
    };
    let (_, by) = value("by")?;
    let (line, at) = value("at")?;
    let (_, note) = value("note")?;
    if !is_day(&at) {
        return Err(YamlError::new(line, "at must be a day like 2026-11-23"));
    }
    Ok(CriterionEvidence::Manual { by, at, note })
}

fn is_day(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else { return false };
    let number = |part: &str, digits: usize| {
        (part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit()))
            .then(|| part.parse::<u32>().ok())
            .flatten()
    };
    number(year, 4).is_some()
        && number(month, 2).is_some_and(|month| (1..=12).contains(&month))
        && number(day, 2).is_some_and(|day| (1..=31).contains(&day))
}

/// A selector or a command: as written, but without control characters, which no file needs.
fn plain_text(field: &YamlEntry) -> Result<String, YamlError> {
    let written = field.node.as_text(&field.key)?;
    if written.chars().any(char::is_control) {
        return Err(YamlError::new(field.line, format!("{} must be one line without control characters", field.key)));
    }
    Ok(written.to_owned())
}

fn shown(value: &str) -> String {
    text::ellipsis(&text::one_line(text::prefix(value, 4 * VALUE_BYTES_MAX)), VALUE_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        CriteriaFile::parse(text, "qa-criteria.yml").expect_err(text).to_string()
    }

    #[test]
    fn three_kinds_of_evidence_are_read() {
        let prp = Prp::parse("## Acceptance criteria\n- a\n- b\n").expect("a PRP");
        let text = format!(
            "qa_criteria:\n  prp: docs/prps/pagination.md\n  digest: \"{}\"\n  criteria:\n    - {{id: AC-1, test: \"tests/test_api.py::test_page_size\"}}\n    - {{id: AC-2, command: \"npm run bench -- --max 3s\"}}\n    - {{id: AC-3, manual: {{by: \"Ada\", at: \"2026-11-23\", note: \"seen on staging\"}}}}\n",
            prp.criteria_digest
        );
        let file = CriteriaFile::parse(&text, "qa-criteria.yml").expect("a file");
        assert_eq!((file.entries.len(), file.entries[2].line), (3, 7));
        assert!(matches!(&file.entries[2].evidence, CriterionEvidence::Manual { by, .. } if by == "Ada"));
        assert_eq!(file.stale_reason(&prp), None);
        assert_eq!(file.unknown_entries(&prp).iter().map(|it| it.id.as_str()).collect::<Vec<_>>(), ["AC-3"]);
        let other = Prp::parse("## Acceptance criteria\n- a\n- c\n").expect("a PRP");
        assert!(file.stale_reason(&other).is_some_and(|reason| reason.contains("changed")));
    }

    #[test]
    fn errors_name_the_file_and_the_line() {
        let head = "qa_criteria:\n  criteria:\n";
        let cases = [
            ("a: 1\n".to_owned(), 1, "expected `qa_criteria`"),
            (format!("{head}    - {{test: x}}\n"), 3, "`id` is missing"),
            (format!("{head}    - {{id: two, test: x}}\n"), 3, "id must be like AC-2"),
            (
                format!("{head}    - id: AC-1\n      manual: {{by: Ada, at: \"2026-13-01\", note: x}}\n"),
                4,
                "at must be a day",
            ),
            (format!("{head}    - id: AC-1\n      manual: {{at: \"2026-11-01\", note: x}}\n"), 4, "needs `by`"),
            (format!("{head}    - {{id: AC-1, test: x, command: y}}\n"), 3, "one of"),
            (format!("{head}    - {{id: AC-1, command: \"a 'b\"}}\n"), 3, "quote"),
            (format!("{head}    - {{id: AC-1, command: \"a\\nb\"}}\n"), 3, "control"),
            ("qa_criteria:\n  digest: x\n".to_owned(), 2, "digest"),
            ("qa_criteria:\n  prp: x\n".to_owned(), 1, "`criteria` is missing"),
        ];
        for (text, line, reason) in cases {
            let error = error(&text);
            assert!(
                error.starts_with(&format!("qa-criteria.yml:{line}: ")) && error.contains(reason),
                "{text}: {error}"
            );
        }
        assert!(CriteriaFile::parse(&"x".repeat(2 << 20), "f").is_err());
    }
}
