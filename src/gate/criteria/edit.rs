//! Changes one entry of `qa-criteria.yml` as text, so that comments and other lines stay.
//!
//! The changed text is read back and compared with what was wanted. Where the file is written in a way that lines cannot
//! be changed one by one (a list on one line), it is written again as a whole, without its comments.

use super::file::{CriteriaFile, CriteriaFileError, CriterionEntry, CriterionEvidence};
use crate::base::yaml::{YamlNode, YamlValue, parse_yaml};
use crate::gate::prp::id_number;

/// What a file is to say.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CriteriaEdit<'a> {
    /// The PRP, relative to the root.
    pub prp: &'a str,
    /// The digest of its criteria.
    pub digest: &'a str,
    /// The criterion.
    pub id: &'a str,
    /// Its evidence.
    pub evidence: &'a CriterionEvidence,
    /// Ids of entries that are removed.
    pub removed: &'a [String],
}

/// A changed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EditedCriteria {
    /// Its text.
    pub text: String,
    /// Whether it was written again as a whole, without its comments.
    pub is_rewritten: bool,
}

/// The file with the entry; `text` is what it says now, `file` its name for errors.
///
/// # Errors
/// What is wrong with the file as it is, with its line.
pub(crate) fn set_entry(
    text: Option<&str>,
    file: &str,
    edit: &CriteriaEdit<'_>,
) -> Result<EditedCriteria, CriteriaFileError> {
    let Some(text) = text else {
        let wanted = CriteriaFile { prp: None, digest: None, entries: Vec::new() };
        return Ok(EditedCriteria { text: render_file(&edit.apply(wanted)), is_rewritten: false });
    };
    let wanted = edit.apply(CriteriaFile::parse(text, file)?);
    let edited = edit_lines(text, edit)
        .filter(|edited| CriteriaFile::parse(edited, file).is_ok_and(|read| says_the_same(&read, &wanted)));
    Ok(match edited {
        Some(text) => EditedCriteria { text, is_rewritten: false },
        None => EditedCriteria { text: render_file(&wanted), is_rewritten: text.contains('#') },
    })
}

impl CriteriaEdit<'_> {
    /// What the file says afterwards.
    fn apply(&self, mut file: CriteriaFile) -> CriteriaFile {
        file.prp = Some(self.prp.to_owned());
        file.digest = Some(self.digest.to_owned());
        file.entries.retain(|entry| !self.removes(&entry.id));
        match file.entries.iter_mut().find(|entry| is_same_id(&entry.id, self.id)) {
            Some(entry) => entry.evidence = self.evidence.clone(),
            None => {
                file.entries.push(CriterionEntry { id: self.id.to_owned(), line: 0, evidence: self.evidence.clone() });
            }
        }
        file
    }

    fn removes(&self, id: &str) -> bool {
        self.removed.iter().any(|removed| is_same_id(removed, id)) && !is_same_id(id, self.id)
    }
}

fn is_same_id(one: &str, other: &str) -> bool {
    id_number(one).is_some() && id_number(one) == id_number(other)
}

/// Whether two files say the same, wherever it is in them.
fn says_the_same(one: &CriteriaFile, other: &CriteriaFile) -> bool {
    let is_same = |(one, other): (&CriterionEntry, &CriterionEntry)| {
        is_same_id(&one.id, &other.id) && one.evidence == other.evidence
    };
    one.prp == other.prp
        && one.digest == other.digest
        && one.entries.len() == other.entries.len()
        && one.entries.iter().zip(&other.entries).all(is_same)
}

/// The file as it is written without one before it.
fn render_file(file: &CriteriaFile) -> String {
    let mut text = "qa_criteria:\n".to_owned();
    let fields = [("prp", &file.prp), ("digest", &file.digest)];
    for (name, value) in fields {
        if let Some(value) = value {
            text.push_str(&format!("  {name}: {}\n", quoted(value)));
        }
    }
    text.push_str("  criteria:\n");
    file.entries.iter().for_each(|entry| text.push_str(&format!("    {}\n", render_entry(&entry.id, &entry.evidence))));
    text
}

fn render_entry(id: &str, evidence: &CriterionEvidence) -> String {
    match evidence {
        CriterionEvidence::Test { selector } => format!("- {{id: {id}, test: {}}}", quoted(selector)),
        CriterionEvidence::Command { line } => format!("- {{id: {id}, command: {}}}", quoted(line)),
        CriterionEvidence::Manual { by, at, note } => {
            let (by, at, note) = (quoted(by), quoted(at), quoted(note));
            format!("- {{id: {id}, manual: {{by: {by}, at: {at}, note: {note}}}}}")
        }
    }
}

/// A text between double quotes; what JSON escapes, YAML reads.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

/// The lines of a file, which are replaced one by one.
struct EditedLines {
    lines: Vec<String>,
    /// Lines that go.
    removed: Vec<bool>,
}

/// The changed text; `None` where the file is not written with a line for each thing that changes.
fn edit_lines(text: &str, edit: &CriteriaEdit<'_>) -> Option<String> {
    let root = parse_yaml(text).ok()?;
    let [top] = root.as_map("").ok()? else { return None };
    let fields = top.node.as_map("").ok()?;
    let field = |name: &str| fields.iter().find(|field| field.key == name);
    let criteria = field("criteria")?;
    let YamlValue::List(entries) = &criteria.node.value else { return None };
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut edited = EditedLines { removed: vec![false; lines.len()], lines };
    let mut first_lines = Vec::new();
    for name in ["prp", "digest"] {
        let value = if name == "prp" { edit.prp } else { edit.digest };
        match field(name) {
            Some(field) => edited.replace_value(field.line, name, value)?,
            None => first_lines.push(format!("{}{name}: {}", edited.indent(criteria.line)?, quoted(value))),
        }
    }
    let added = edited.edit_entries(entries, criteria.line, edit)?;
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut out = String::new();
    for (number, line) in (1..).zip(&edited.lines) {
        if number == criteria.line {
            first_lines.iter().for_each(|line| out.extend([line.as_str(), end]));
        }
        if !edited.removed[number - 1] {
            out.extend([line.as_str(), end]);
        }
        if number == added.after {
            added.lines.iter().for_each(|line| out.extend([line.as_str(), end]));
        }
    }
    Some(out)
}

/// Lines that come after another one.
struct AddedLines {
    /// From 1.
    after: usize,
    lines: Vec<String>,
}

impl EditedLines {
    /// The spaces that a line begins with.
    fn indent(&self, line: usize) -> Option<String> {
        let line = self.lines.get(line.checked_sub(1)?)?;
        Some(line.chars().take_while(|c| *c == ' ').collect())
    }

    /// Replaces the value of `name: value # comment`.
    fn replace_value(&mut self, line: usize, name: &str, value: &str) -> Option<()> {
        let written = self.lines.get(line.checked_sub(1)?)?;
        let (key, _) = written.split_once(':').filter(|(key, _)| key.trim() == name)?;
        let comment = comment_start(written).map_or("", |at| &written[at..]);
        self.lines[line - 1] = format!("{key}: {}{comment}", quoted(value));
        Some(())
    }

    /// Replaces and removes entries; the lines of a new one.
    fn edit_entries(&mut self, entries: &[YamlNode], list: usize, edit: &CriteriaEdit<'_>) -> Option<AddedLines> {
        let written = render_entry(edit.id, edit.evidence);
        if entries.is_empty() {
            // `criteria: []`
            let line = self.lines.get(list - 1)?;
            let comment = comment_start(line).map_or("", |at| &line[at..]);
            self.lines[list - 1] = format!("{}criteria:{comment}", self.indent(list)?);
            return Some(AddedLines { after: list, lines: vec![format!("{}  {written}", self.indent(list)?)] });
        }
        let mut is_there = false;
        let mut last = 0;
        for (at, entry) in entries.iter().enumerate() {
            let next = entries.get(at + 1).map_or(usize::MAX, |next| next.line);
            let end = self.end_of_entry(entry.line, next)?;
            last = end;
            let id = entry.as_map("").ok()?.iter().find(|field| field.key == "id")?.node.as_text("").ok()?;
            if edit.removes(id) {
                (entry.line..=end).for_each(|line| self.removed[line - 1] |= !is_comment(&self.lines[line - 1]));
            } else if is_same_id(id, edit.id) {
                is_there = true;
                self.replace_entry(entry.line, end, &written);
            }
        }
        let indent = self.indent(entries[0].line)?;
        let lines = if is_there { Vec::new() } else { vec![format!("{indent}{written}")] };
        Some(AddedLines { after: last, lines })
    }

    /// The last line of the entry that begins with a dash at `line`.
    fn end_of_entry(&self, line: usize, next: usize) -> Option<usize> {
        let indent = self.indent(line)?.len();
        if !self.lines[line - 1][indent..].starts_with("- ") || next == line {
            return None;
        }
        let is_inside = |number: &usize| {
            let text = &self.lines[number - 1];
            text.trim().is_empty() || text.len() - text.trim_start().len() > indent
        };
        let last = (line + 1..=self.lines.len().min(next - 1)).take_while(is_inside).last().unwrap_or(line);
        // Blank lines and comments at the end belong to what follows.
        let is_content = |number: &usize| {
            let text = self.lines[number - 1].trim();
            !text.is_empty() && !text.starts_with('#')
        };
        (line..=last).rev().find(is_content)
    }

    /// Puts the entry on one line, followed by the comments that were in it.
    fn replace_entry(&mut self, line: usize, end: usize, written: &str) {
        let old = &self.lines[line - 1];
        let comment = comment_start(old).map_or("", |at| &old[at..]).to_owned();
        let indent = old.len() - old.trim_start().len();
        self.lines[line - 1] = format!("{}{written}{comment}", " ".repeat(indent));
        (line + 1..=end).for_each(|line| self.removed[line - 1] |= !is_comment(&self.lines[line - 1]));
    }
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with('#')
}

/// Where the comment of a line begins, with the blanks before it; a `#` between quotes begins none.
fn comment_start(line: &str) -> Option<usize> {
    let mut quote = None;
    let mut is_escaped = false;
    let mut blank_from = None;
    for (at, c) in line.char_indices() {
        match (quote, c) {
            _ if is_escaped => is_escaped = false,
            (Some('"'), '\\') => is_escaped = true,
            (Some(open), c) if open == c => quote = None,
            (None, '#') if blank_from.is_some() => return blank_from,
            (None, '"' | '\'') => quote = Some(c),
            _ => {}
        }
        blank_from = match (quote, c) {
            (None, ' ' | '\t') => blank_from.or(Some(at)),
            _ => None,
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "blake3:0000000000000000000000000000000000000000000000000000000000000000";

    fn test(selector: &str) -> CriterionEvidence {
        CriterionEvidence::Test { selector: selector.to_owned() }
    }

    fn edit<'a>(id: &'a str, evidence: &'a CriterionEvidence, removed: &'a [String]) -> CriteriaEdit<'a> {
        CriteriaEdit { prp: "prp.md", digest: DIGEST, id, evidence, removed }
    }

    #[test]
    fn a_new_file_is_read_back() {
        let manual = CriterionEvidence::Manual {
            by: "Ada \"A\" Lovelace".into(),
            at: "2026-11-23".into(),
            note: "seen: on #1, staging\\n".into(),
        };
        let made = set_entry(None, "f", &edit("AC-3", &manual, &[])).expect("a file");
        let read = CriteriaFile::parse(&made.text, "f").expect("it is read");
        assert_eq!((read.prp.as_deref(), read.digest.as_deref()), (Some("prp.md"), Some(DIGEST)));
        assert_eq!(read.entries.len(), 1);
        assert_eq!((read.entries[0].id.as_str(), &read.entries[0].evidence), ("AC-3", &manual));
    }

    #[test]
    fn comments_and_other_lines_stay() {
        let text = format!(
            "# Links\nqa_criteria:\n  prp: old.md # the page\n  digest: \"{}\"\n  # the list\n  criteria:\n    # first\n    \
             - {{id: AC-1, test: \"a.py::test_#1\"}} # why\n    - id: AC-2\n      # inside\n      test: b.py::test_b\n\n    \
             # last\n    - {{id: AC-3, command: \"npm run x\"}}\n# end\n",
            DIGEST.replace('0', "1")
        );
        let done = set_entry(Some(&text), "f", &edit("AC-2", &test("c.py::test_c"), &[])).expect("it is read");
        let expected = text.replace("old.md", "\"prp.md\"").replace(&DIGEST.replace('0', "1"), DIGEST).replace(
            "    - id: AC-2\n      # inside\n      test: b.py::test_b\n",
            "    - {id: AC-2, test: \"c.py::test_c\"}\n      # inside\n",
        );
        assert_eq!((done.text, done.is_rewritten), (expected.clone(), false));
        let done = set_entry(Some(&text), "f", &edit("ac-01", &test("d.py::t"), &[])).expect("it is read");
        assert!(done.text.contains("    - {id: ac-01, test: \"d.py::t\"} # why\n"), "{}", done.text);
        let added = set_entry(Some(&text), "f", &edit("AC-4", &test("d.py::t"), &[])).expect("it is read");
        assert!(added.text.ends_with("\"npm run x\"}\n    - {id: AC-4, test: \"d.py::t\"}\n# end\n"), "{}", added.text);
        let removed = ["AC-2".to_owned(), "AC-3".to_owned(), "AC-1".to_owned()];
        let done = set_entry(Some(&text), "f", &edit("AC-1", &test("d.py::t"), &removed)).expect("it is read");
        assert!(!done.is_rewritten && !done.text.contains("AC-2") && !done.text.contains("AC-3"), "{}", done.text);
        assert!(done.text.contains("# inside") && done.text.contains("# last") && done.text.contains("AC-1"));
    }

    #[test]
    fn other_ways_of_writing_are_understood_or_written_again() {
        let evidence = test("a.py::t");
        let crlf = "qa_criteria:\r\n  criteria: [] # none yet\r\n";
        let done = set_entry(Some(crlf), "f", &edit("AC-1", &evidence, &[])).expect("it is read");
        let expected = format!(
            "qa_criteria:\r\n  prp: \"prp.md\"\r\n  digest: \"{DIGEST}\"\r\n  criteria: # none yet\r\n    \
             - {{id: AC-1, test: \"a.py::t\"}}\r\n"
        );
        assert_eq!((done.text, done.is_rewritten), (expected, false));
        let flows = [
            "qa_criteria: {criteria: [{id: AC-2, test: \"b.py::t\"}]} # x\n",
            "qa_criteria:\n  criteria: [{id: AC-2, test: \"b.py::t\"}] # x\n",
            "qa_criteria:\n  criteria:\n    - {id: AC-2,\n       test: \"b.py::t\"} # x\n    -\n      id: AC-3\n      test: c.py::t\n",
        ];
        for text in flows {
            let done = set_entry(Some(text), "f", &edit("AC-1", &evidence, &[])).expect(text);
            let read = CriteriaFile::parse(&done.text, "f").expect("it is read");
            let last = read.entries.last().expect("an entry");
            assert_eq!((last.id.as_str(), &last.evidence, done.is_rewritten), ("AC-1", &evidence, true), "{text}");
            assert_eq!((read.entries[0].id.as_str(), &read.entries[0].evidence), ("AC-2", &test("b.py::t")));
        }
    }

    #[test]
    fn a_bad_file_is_an_error_with_its_line() {
        let error =
            set_entry(Some("qa_criteria:\n  criteria:\n    - {test: x}\n"), "f.yml", &edit("AC-1", &test("x"), &[]));
        assert_eq!(error.expect_err("it is bad").to_string(), "f.yml:3: `id` is missing in this entry");
    }
}
