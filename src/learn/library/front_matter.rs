//! The front matter of a page. Written by hand in the form that prettier leaves alone: texts in double quotes, lists as
//! blocks. Read by the strict reader for files that people write.

use std::fmt::Write as _;

use crate::base::text;
use crate::base::yaml::{YamlError, YamlNode, parse_yaml};
use crate::event::{EvidenceLabel, IsolationLevel, LibraryFolderName};

/// Version of the front matter; a reader refuses a higher one.
pub(crate) const PAGE_SCHEMA: u64 = 1;
/// A page, bytes.
pub(crate) const PAGE_BYTES_MAX: usize = 16 << 10;
/// Values of one list.
const VALUES_MAX: usize = 50;
/// A value, bytes.
const VALUE_BYTES_MAX: usize = 300;

/// What a page is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum PageKind {
    /// A change that makes a failure go away.
    #[default]
    Fix,
    /// A change that makes something better that did not fail.
    Optimization,
    /// How things are done here.
    Convention,
    /// A command.
    Procedure,
    /// What not to do.
    Antipattern,
}

impl PageKind {
    const ALL: [(PageKind, &str); 5] = [
        (PageKind::Fix, "fix"),
        (PageKind::Optimization, "optimization"),
        (PageKind::Convention, "convention"),
        (PageKind::Procedure, "procedure"),
        (PageKind::Antipattern, "antipattern"),
    ];

    /// The word in the front matter.
    pub(crate) fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("fix", |(_, word)| word)
    }

    fn from_word(word: &str) -> Option<PageKind> {
        Self::ALL.iter().find(|(_, known)| *known == word).map(|(kind, _)| *kind)
    }
}

/// When a page matters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PageScope {
    /// Files, relative to the root.
    pub globs: Vec<String>,
    /// Tools that report the failure.
    pub tools: Vec<String>,
    /// Categories of the failure.
    pub categories: Vec<String>,
    /// Words to find it by.
    pub words: Vec<String>,
}

/// The front matter of a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PageFrontMatter {
    /// `a-…`
    pub id: String,
    /// The folder that it was written for.
    pub status: LibraryFolderName,
    /// One line.
    pub title: String,
    /// What it is about.
    pub kind: PageKind,
    /// How sure it is.
    pub evidence: EvidenceLabel,
    /// Perturbed runs that passed, and all of them.
    pub robust: Option<(u64, u64)>,
    /// Edits that are needed, and all of them.
    pub minimal: Option<(u64, u64)>,
    /// The isolation of its proof.
    pub level: IsolationLevel,
    /// When it matters.
    pub applies_to: PageScope,
    /// `p-…` of the patterns that it is about.
    pub patterns: Vec<String>,
    /// `x-…` of the fixes that it comes from.
    pub fixes: Vec<String>,
    /// `j-…` of the job that proved it.
    pub job: Option<String>,
    /// The commit of the kept trees.
    pub snapshot: Option<String>,
    /// `sha256:…` of the diff that it shows.
    pub change: Option<String>,
    /// Who worded it.
    pub author: String,
    /// `a-…` of pages that it replaces.
    pub supersedes: Vec<String>,
}

impl PageFrontMatter {
    /// The front matter with its fences.
    pub(crate) fn render(&self) -> String {
        let mut out = format!("---\nschema: {PAGE_SCHEMA}\nid: {}\nstatus: {}\n", self.id, status_word(self.status));
        push_text(&mut out, "title", &self.title);
        let _ = write!(out, "kind: {}\nevidence: {}\n", self.kind.as_str(), self.evidence);
        if let Some((passed, all)) = self.robust {
            let _ = writeln!(out, "robust: {passed}/{all}");
        }
        if let Some((kept, all)) = self.minimal {
            let _ = writeln!(out, "minimal: {kept} of {}", text::count(all, "change"));
        }
        let _ = writeln!(out, "level: {}\napplies_to:", self.level);
        let scope = &self.applies_to;
        for (key, values) in [
            ("globs", &scope.globs),
            ("tools", &scope.tools),
            ("categories", &scope.categories),
            ("words", &scope.words),
        ] {
            push_list(&mut out, 1, key, values);
        }
        push_list(&mut out, 0, "patterns", &self.patterns);
        push_list(&mut out, 0, "fixes", &self.fixes);
        for (key, value) in [("job", &self.job), ("snapshot", &self.snapshot), ("change", &self.change)] {
            if let Some(value) = value {
                push_text(&mut out, key, value);
            }
        }
        push_text(&mut out, "author", &self.author);
        push_list(&mut out, 0, "supersedes", &self.supersedes);
        out.push_str("---\n");
        out
    }
}

/// The word for a page of a folder.
fn status_word(folder: LibraryFolderName) -> &'static str {
    match folder {
        LibraryFolderName::Candidates => "candidate",
        LibraryFolderName::Active => "active",
        LibraryFolderName::Deprecated => "deprecated",
    }
}

fn read_status(word: &str) -> Option<LibraryFolderName> {
    let folders = [LibraryFolderName::Candidates, LibraryFolderName::Active, LibraryFolderName::Deprecated];
    folders.into_iter().find(|folder| status_word(*folder) == word)
}

fn push_text(out: &mut String, key: &str, value: &str) {
    let _ = writeln!(out, "{key}: {}", quoted(value));
}

fn push_list(out: &mut String, depth: usize, key: &str, values: &[String]) {
    let indent = "  ".repeat(depth);
    if values.is_empty() {
        let _ = writeln!(out, "{indent}{key}: []");
        return;
    }
    let _ = writeln!(out, "{indent}{key}:");
    for value in values.iter().take(VALUES_MAX) {
        let _ = writeln!(out, "{indent}  - {}", quoted(value));
    }
}

/// A double-quoted scalar on one line. Prettier would write one with more double than single quotes inside in single quotes,
/// so the inner ones become typographic.
fn quoted(value: &str) -> String {
    let value = text::ellipsis(&text::one_line(value), VALUE_BYTES_MAX);
    let is_word = !value.is_empty()
        && value.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/'))
        && value.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_special = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
        .iter()
        .any(|special| value.eq_ignore_ascii_case(special));
    if is_word && !is_special {
        return value;
    }
    let inner = value.replace('"', "”").replace('\\', "\\\\");
    format!("\"{inner}\"")
}

/// What [`quoted`] made of a value; `None` of a blank one, which is no text of a page.
fn unquoted(text: &str) -> Option<String> {
    let value = match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        Some(inner) => inner.replace("\\\\", "\\"),
        None => text.to_owned(),
    };
    (!value.trim().is_empty()).then_some(value)
}

/// Reads a page: its front matter and where the Markdown below it begins, in bytes.
///
/// # Errors
/// What is wrong with it, at its line.
pub(crate) fn parse_page(page: &str) -> Result<(PageFrontMatter, usize), YamlError> {
    let no_front_matter = || YamlError::new(1, "the page has no front matter: it must begin with ---");
    let rest = page.strip_prefix("---\n").ok_or_else(no_front_matter)?;
    let end = rest.find("\n---\n").ok_or_else(no_front_matter)?;
    let body = "---\n".len() + end + "\n---\n".len();
    if let Some(written) = PageFrontMatter::read_rendered(&page[..body]) {
        return Ok((written, body));
    }
    let below = |error: YamlError| YamlError::new(error.line + 1, error.reason);
    let root = parse_yaml(&rest[..=end]).map_err(below)?;
    let mut page = PageFrontMatter::default();
    let mut schema = None;
    for entry in root.as_map("the front matter").map_err(below)? {
        if entry.key == "schema" {
            schema = Some(entry.node.as_number("schema").map_err(below)?);
            continue;
        }
        page.set(&entry.key, &entry.node).map_err(below)?;
    }
    match schema {
        Some(PAGE_SCHEMA) => {}
        Some(newer) => {
            return Err(YamlError::new(
                2,
                format!("schema {newer} is newer than this verify-run, which knows {PAGE_SCHEMA}"),
            ));
        }
        None => return Err(YamlError::new(1, "the front matter has no schema")),
    }
    if !page.has_id() {
        return Err(YamlError::new(1, "the front matter has no id such as a-7f3k2m9x"));
    }
    Ok((page, body))
}

impl PageFrontMatter {
    fn has_id(&self) -> bool {
        let own = self.id.strip_prefix("a-");
        own.is_some_and(|own| !own.is_empty() && own.bytes().all(|b| b.is_ascii_alphanumeric()))
    }

    /// Reads what [`PageFrontMatter::render`] wrote, many times as fast as YAML is read: whole libraries are read before
    /// each edit. `None` for any other text, that of people included: what was read is written once more, and has to be
    /// the same to the byte.
    fn read_rendered(text: &str) -> Option<PageFrontMatter> {
        let mut lines = text.strip_prefix("---\n")?.strip_suffix("---\n")?.lines().peekable();
        let mut page = PageFrontMatter::default();
        while let Some(line) = lines.next() {
            let (key, value) = line.trim_start().split_once(':')?;
            let value = value.strip_prefix(' ').unwrap_or(value);
            let mut list = || {
                let mut values = Vec::new();
                while let Some(item) = lines.next_if(|line| line.trim_start().starts_with("- ")) {
                    values.push(unquoted(item.trim_start().strip_prefix("- ")?)?);
                }
                Some(values)
            };
            match key {
                "schema" | "applies_to" => {}
                "id" => page.id = value.to_owned(),
                "status" => page.status = read_status(value)?,
                "title" => page.title = unquoted(value)?,
                "kind" => page.kind = PageKind::from_word(value)?,
                "evidence" => page.evidence = EvidenceLabel::from_word(value)?,
                "robust" => page.robust = Some(share_numbers(value, "/")?),
                "minimal" => page.minimal = Some(share_numbers(value, " of ")?),
                "level" => page.level = IsolationLevel::from_word(value)?,
                "globs" => page.applies_to.globs = list()?,
                "tools" => page.applies_to.tools = list()?,
                "categories" => page.applies_to.categories = list()?,
                "words" => page.applies_to.words = list()?,
                "patterns" => page.patterns = list()?,
                "fixes" => page.fixes = list()?,
                "job" => page.job = Some(unquoted(value)?),
                "snapshot" => page.snapshot = Some(unquoted(value)?),
                "change" => page.change = Some(unquoted(value)?),
                "author" => page.author = unquoted(value)?,
                "supersedes" => page.supersedes = list()?,
                _ => return None,
            }
        }
        (page.has_id() && page.render() == text).then_some(page)
    }

    /// Takes a value. Unknown keys are left alone: a later version may have them.
    fn set(&mut self, key: &str, node: &YamlNode) -> Result<(), YamlError> {
        match key {
            "id" => self.id = node.as_text(key)?.to_owned(),
            "title" => self.title = node.as_text(key)?.to_owned(),
            "author" => self.author = node.as_text(key)?.to_owned(),
            "job" => self.job = Some(node.as_text(key)?.to_owned()),
            "snapshot" => self.snapshot = Some(node.as_text(key)?.to_owned()),
            "change" => self.change = Some(node.as_text(key)?.to_owned()),
            "status" => self.status = known(node, key, read_status)?,
            "kind" => self.kind = known(node, key, PageKind::from_word)?,
            "evidence" => self.evidence = known(node, key, EvidenceLabel::from_word)?,
            "level" => self.level = known(node, key, IsolationLevel::from_word)?,
            "robust" => self.robust = Some(read_share(node, key, "/")?),
            "minimal" => self.minimal = Some(read_share(node, key, " of ")?),
            "patterns" => self.patterns = node.as_texts(key)?,
            "fixes" => self.fixes = node.as_texts(key)?,
            "supersedes" => self.supersedes = node.as_texts(key)?,
            "applies_to" => {
                for entry in node.as_map(key)? {
                    let target = match entry.key.as_str() {
                        "globs" => &mut self.applies_to.globs,
                        "tools" => &mut self.applies_to.tools,
                        "categories" => &mut self.applies_to.categories,
                        "words" => &mut self.applies_to.words,
                        _ => continue,
                    };
                    *target = entry.node.as_texts(&entry.key)?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn known<T>(node: &YamlNode, key: &str, read: impl Fn(&str) -> Option<T>) -> Result<T, YamlError> {
    let word = node.as_text(key)?;
    read(word).ok_or_else(|| YamlError::new(node.line, format!("{key} has an unknown value {word:?}")))
}

/// `5/5`, `2 of 7 changes`
fn read_share(node: &YamlNode, key: &str, between: &str) -> Result<(u64, u64), YamlError> {
    let numbers = share_numbers(node.as_text(key)?, between);
    numbers.ok_or_else(|| YamlError::new(node.line, format!("{key} must be two numbers, as in 2{between}7")))
}

fn share_numbers(text: &str, between: &str) -> Option<(u64, u64)> {
    let (part, whole) = text.split_once(between)?;
    Some((part.parse().ok()?, whole.split(' ').next()?.parse().ok()?))
}

/// The page with another status in its front matter, and nothing else changed.
pub(crate) fn set_status(page: &str, status: LibraryFolderName) -> String {
    let mut is_done = false;
    let line = |line: &str| {
        let is_it = !is_done && line.starts_with("status:");
        is_done |= is_it;
        if is_it { format!("status: {}\n", status_word(status)) } else { line.to_owned() }
    };
    page.split_inclusive('\n').map(line).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(super) fn front_matter() -> PageFrontMatter {
        let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        PageFrontMatter {
            id: "a-7f3k2m9x".into(),
            title: "Say \"no\": C:\\temp, # 1".into(),
            evidence: EvidenceLabel::Proven,
            robust: Some((5, 6)),
            minimal: Some((2, 7)),
            level: IsolationLevel::Namespaces,
            applies_to: PageScope {
                globs: texts(&["src/api/**/*.ts"]),
                tools: texts(&["vitest"]),
                categories: texts(&["test_failure"]),
                words: texts(&["query", "null"]),
            },
            patterns: texts(&["p-7c2k91ab"]),
            fixes: texts(&["x-19ab33cd"]),
            job: Some("j-5m2k7x3p".into()),
            snapshot: Some("4f1c".into()),
            change: Some("sha256:00".into()),
            author: "verify-run 0.1.0".into(),
            ..PageFrontMatter::default()
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let page = format!("{}\n# Title\n", front_matter().render());
        let (read, body) = parse_page(&page).expect("a page");
        let written = PageFrontMatter { title: "Say ”no”: C:\\temp, # 1".into(), ..front_matter() };
        assert_eq!(read, written);
        assert_eq!(&page[body..], "\n# Title\n");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

        /// Whatever a page holds, both readers agree on it: the one for what was written here and the one for YAML.
        #[test]
        fn what_is_written_is_read_as_yaml_reads_it(
            title in r#"[ -~\\"':#é\n-]{0,40}"#, globs in prop::collection::vec(r#"[a-zA-Z*./\\": -]{0,12}"#, 0..4),
            words in prop::collection::vec("[a-z]{0,6}|true|no|1e3", 0..4), job in prop::option::of("j-[0-9a-z]{8}|~|")
        ) {
            let applies_to = PageScope { globs, words, ..front_matter().applies_to };
            let text = PageFrontMatter { title, applies_to, job, robust: None, ..front_matter() }.render();
            let fast = PageFrontMatter::read_rendered(&text);
            // No page is written so, and YAML says the same of it.
            let other = text.replacen("schema: 1\n", "schema:  1\n", 1);
            prop_assert_eq!(PageFrontMatter::read_rendered(&other), None);
            prop_assert_eq!(parse_page(&other).ok().map(|(page, _)| page), fast);
        }
    }

    #[test]
    fn only_the_status_changes_with_the_folder() {
        let page = front_matter().render() + "\nstatus: candidate\n";
        let moved = set_status(&page, LibraryFolderName::Active);
        assert_eq!(parse_page(&moved).expect("a page").0.status, LibraryFolderName::Active);
        assert_eq!(moved.replacen("status: active", "status: candidate", 1), page);
    }

    #[test]
    fn a_broken_page_names_its_line() {
        let broken = |from: &str, to: &str| {
            let page = front_matter().render().replacen(from, to, 1);
            parse_page(&page).expect_err("broken").to_string()
        };
        assert_eq!(broken("evidence: proven", "evidence: sure"), "line 7: evidence has an unknown value \"sure\"");
        assert_eq!(broken("schema: 1", "schema: 2"), "line 2: schema 2 is newer than this verify-run, which knows 1");
        assert_eq!(broken("robust: 5/6", "robust: all"), "line 8: robust must be two numbers, as in 2/7");
        assert_eq!(broken("id: a-7f3k2m9x", "id: ../x"), "line 1: the front matter has no id such as a-7f3k2m9x");
        assert!(parse_page("# Title\n").expect_err("no front matter").reason.contains("begin with ---"));
    }
}
