//! D5: whether a change adds an entry to the changelog.

use std::sync::LazyLock;

use regex::Regex;

use super::heading::{DocumentLine, document_lines, find_headings, front_matter};
use super::{ChangedDocument, DocumentAnswer, DocumentFinding};
use crate::base::yaml::{YamlValue, parse_yaml};

/// What a person writes below item D5 when the project keeps no changelog.
pub(crate) const NOT_APPLICABLE_LINE: &str = r#"not_applicable: {reason: "…", by: "…"}"#;

/// What the changelog of a change is judged by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChangelogInputs<'a> {
    /// Every changelog of the tree or of the base.
    pub changelogs: &'a [ChangedDocument<'a>],
    /// The changed files; fragments are recognised among them.
    pub changes: &'a [ChangedDocument<'a>],
    /// The programs that are set up to write the changelog.
    pub generators: &'a [ChangelogGenerator],
    /// The messages of the change's commits.
    pub commit_messages: &'a [&'a str],
    /// The places that were looked at, for people.
    pub places: &'a [String],
}

/// A program that writes the changelog from commit messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChangelogGenerator {
    /// Its name.
    pub name: &'static str,
    /// The file that configures it.
    pub path: String,
}

/// The generators that these files (paths with their texts) configure.
pub(crate) fn find_generators(files: &[(&str, &str)]) -> Vec<ChangelogGenerator> {
    files.iter().filter_map(|(path, text)| generator_of(path, super::bounded(text))).collect()
}

/// Whether a file may configure a generator, so that its text is worth reading.
pub(crate) fn may_configure_generator(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let known = [
        "release-please-config.json",
        ".release-please-manifest.json",
        "package.json",
        "pyproject.toml",
        "Cargo.toml",
        "release.toml",
        ".release.toml",
        "cliff.toml",
        ".cliff.toml",
    ];
    known.contains(&name)
        || name.starts_with(".releaserc")
        || name.starts_with("release.config.")
        || path.starts_with(".github/workflows/")
}

fn generator_of(path: &str, text: &str) -> Option<ChangelogGenerator> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let has_header = |header: &str| text.lines().any(|line| line.trim_start().starts_with(header));
    let writes_changelog = || {
        text.lines().any(|line| {
            let line = line.trim_start();
            line.starts_with("pre-release-hook")
                && ["cliff", "changelog", "chglog"].iter().any(|word| line.contains(word))
        })
    };
    let found = match name {
        "release-please-config.json" | ".release-please-manifest.json" => "release-please",
        "cliff.toml" | ".cliff.toml" => "git-cliff",
        "package.json" if configures_semantic_release(text) => "semantic-release",
        "pyproject.toml" if has_header("[tool.semantic_release") => "python-semantic-release",
        "pyproject.toml" if has_header("[tool.git-cliff") => "git-cliff",
        "Cargo.toml" if has_header("[package.metadata.git-cliff") || has_header("[workspace.metadata.git-cliff") => {
            "git-cliff"
        }
        "Cargo.toml" | "release.toml" | ".release.toml" if writes_changelog() => "cargo-release",
        _ if name.starts_with(".releaserc") || name.starts_with("release.config.") => "semantic-release",
        _ if path.starts_with(".github/workflows/") => {
            let is_used = |line: &str| line.contains("uses:") && line.contains("release-please-action");
            let is_step = text.lines().any(|line| !line.trim_start().starts_with('#') && is_used(line));
            is_step.then_some("release-please")?
        }
        _ => return None,
    };
    Some(ChangelogGenerator { name: found, path: path.to_owned() })
}

fn configures_semantic_release(text: &str) -> bool {
    let Ok(manifest) = serde_json::from_str::<serde_json::Value>(text) else { return false };
    let is_dependency = |key: &str| manifest.get(key).is_some_and(|table| table.get("semantic-release").is_some());
    manifest.get("release").is_some_and(serde_json::Value::is_object)
        || ["dependencies", "devDependencies"].iter().any(|key| is_dependency(key))
}

/// Judges the changelog: a new line under `[Unreleased]` or the topmost version, or a fragment; where the changelog is
/// generated, the commit messages.
pub(crate) fn judge_changelog(inputs: &ChangelogInputs<'_>) -> DocumentAnswer {
    let mut findings = Vec::new();
    for document in inputs.changes.iter().filter(|change| is_fragment_path(change.path)) {
        match judge_fragment(document) {
            Ok(()) => return DocumentAnswer::met(format!("fragment {}", document.path)),
            Err(finding) => findings.push(finding),
        }
    }
    for document in inputs.changelogs.iter().filter(|changelog| !is_fragment_path(changelog.path)) {
        match judge_entries(document) {
            Ok(details) => return DocumentAnswer::met(details),
            Err(finding) => findings.push(finding),
        }
    }
    if let Some(generator) = inputs.generators.first() {
        return judge_messages(generator, inputs.commit_messages);
    }
    if findings.is_empty() {
        let places = if inputs.places.is_empty() {
            String::new()
        } else {
            format!(" (looked for {})", inputs.places.join(", "))
        };
        let message = format!(
            "there is no changelog{places}; if the project keeps none, write under item D5 of qa-checklist.yml: {NOT_APPLICABLE_LINE}"
        );
        findings.push(DocumentFinding::new(message));
    }
    DocumentAnswer::not_met(findings)
}

/// The types of conventional commits.
const COMMIT_TYPES: [&str; 11] =
    ["build", "chore", "ci", "docs", "feat", "fix", "perf", "refactor", "revert", "style", "test"];
static COMMIT_SUBJECT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^([A-Za-z]+)(?:\([^()]+\))?!?: +\S").expect("a valid pattern"));

/// Whether a commit message is conventional, or git's own of a merge or a revert.
pub(crate) fn is_conventional_message(message: &str) -> bool {
    let subject = message.trim_start().lines().next().unwrap_or_default();
    if subject.starts_with("Merge ") || subject.starts_with("Revert \"") {
        return true;
    }
    let kind = COMMIT_SUBJECT.captures(subject).and_then(|groups| groups.get(1));
    kind.is_some_and(|kind| COMMIT_TYPES.contains(&kind.as_str().to_lowercase().as_str()))
}

fn judge_messages(generator: &ChangelogGenerator, messages: &[&str]) -> DocumentAnswer {
    let source = format!("{} ({}) writes the changelog", generator.name, generator.path);
    if messages.is_empty() {
        let message = format!("{source} from commit messages, and the change has no commit yet");
        return DocumentAnswer::not_met(vec![DocumentFinding::new(message)]);
    }
    let others = messages.iter().filter(|message| !is_conventional_message(message));
    let finding = |message: &&str| {
        let subject = message.trim_start().lines().next().unwrap_or_default();
        DocumentFinding::new(format!("{source}, but this commit message is not conventional: {subject}"))
    };
    let findings: Vec<DocumentFinding> = others.map(finding).collect();
    if findings.is_empty() {
        return DocumentAnswer::not_applicable(format!("commit messages are the changelog: {source}"));
    }
    DocumentAnswer::not_met(findings)
}

static TOWNCRIER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:\+?[\w-]+)\.(?:[a-z]+)(?:\.\d+)?(?:\.(?:md|rst|txt))?$").expect("a valid pattern")
});

/// Whether a path is that of a changelog fragment: changesets, towncrier, changie.
pub(crate) fn is_fragment_path(path: &str) -> bool {
    let Some((folder, name)) = path.rsplit_once('/') else { return false };
    let lower = name.to_lowercase();
    if name.starts_with('.') || ["readme", "template", "_template", "config"].iter().any(|it| lower.starts_with(it)) {
        return false;
    }
    let parts: Vec<&str> = folder.split('/').collect();
    match parts.as_slice() {
        [.., ".changeset"] => name.ends_with(".md"),
        [.., ".changes", "unreleased"] => name.ends_with(".yaml") || name.ends_with(".yml"),
        _ if parts.iter().any(|part| ["newsfragments", "changelog.d", "news.d"].contains(part)) => {
            TOWNCRIER.is_match(name) || name.ends_with(".md") || name.ends_with(".rst")
        }
        _ => false,
    }
}

fn judge_fragment(document: &ChangedDocument<'_>) -> Result<(), DocumentFinding> {
    let finding = |message: &str| DocumentFinding::in_file(document.path, None, message);
    let Some(text) = document.after else { return Err(finding("the change removes this fragment")) };
    if document.fresh_texts().is_empty() {
        return Err(finding("the change adds no line to this fragment"));
    }
    let body = match front_matter(text) {
        Some((matter, line)) => {
            text.lines().skip(matter.lines().count() + line as usize).collect::<Vec<_>>().join("\n")
        }
        None => text.to_owned(),
    };
    let has_words = |text: &str| text.chars().any(char::is_alphanumeric);
    let is_changie = document.path.contains(".changes/unreleased/");
    let has_entry = if is_changie {
        let root = parse_yaml(text)
            .map_err(|error| DocumentFinding::in_file(document.path, u32::try_from(error.line).ok(), error.reason))?;
        let entries = root.as_map("the fragment").map_err(|error| finding(&error.reason))?;
        let body = entries.iter().find(|entry| entry.key == "body").map(|entry| &entry.node.value);
        matches!(body, Some(YamlValue::Scalar { text, .. }) if has_words(text))
    } else {
        document_lines(&body).iter().any(|line| line.is_visible() && has_words(&line.text))
    };
    if has_entry { Ok(()) } else { Err(finding("this fragment has no text")) }
}

/// The lines below one version.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ChangelogVersion {
    /// The line of its heading, from 1.
    line: u32,
    /// The first line below it.
    body_line: u32,
    /// The heading.
    title: String,
    is_unreleased: bool,
}

static VERSION_TITLE: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?ix)^ [\[(<*_`\s]* (?:(?:version|vers[aã]o|release|rel|[@\w/.-]*[a-z][@\w/.-]*\s+ | [a-z][\w-]*@)\s*)? [\[(<*_`]* v?\.?
        (?: \d+\.\d+[\w.+-]* | \d{4}-\d\d-\d\d )
        [\])>*_`]* \s* (?: $ | [-–—(/:,\[\x22] | \d{4} | released? | unreleased | =+$ | by\b | <)";
    Regex::new(pattern).expect("a valid pattern")
});
static UNRELEASED_TITLE: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?i)^[\[(<*_`\s]*(?:unreleased|upcoming|next(?:\s+(?:release|version))?|head|main|master|in\s+development|n[aã]o\s+lan[cç]ad[ao]|em\s+desenvolvimento)\b[^.\w]*(?:$|[-–—(\]:{])";
    Regex::new(pattern).expect("a valid pattern")
});
/// `1.2.0 (2024-01-15)` without any markup.
static PLAIN_VERSION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:[Vv]ersion\s+|[Rr]elease\s+|v)?\d+\.\d+[\w.+-]*(?:\s*[-–(/,:]?\s*\d{4}-\d\d-\d\d\)?)?:?$")
        .expect("a valid pattern")
});

fn find_versions(lines: &[DocumentLine<'_>]) -> Vec<ChangelogVersion> {
    let headings = find_headings(lines);
    let version = |line, body_line, title: &str| {
        let is_unreleased = UNRELEASED_TITLE.is_match(title) || title.to_lowercase().contains("unreleased");
        (is_unreleased || VERSION_TITLE.is_match(title)).then(|| ChangelogVersion {
            line,
            body_line,
            title: title.to_owned(),
            is_unreleased,
        })
    };
    let found: Vec<ChangelogVersion> =
        headings.iter().filter_map(|heading| version(heading.line, heading.body_line, &heading.title)).collect();
    if !found.is_empty() {
        return found;
    }
    let plain = lines.iter().filter(|line| line.is_visible() && PLAIN_VERSION.is_match(line.text.trim_end()));
    plain
        .map(|line| ChangelogVersion {
            line: line.number,
            body_line: line.number + 1,
            title: line.text.trim().to_owned(),
            is_unreleased: false,
        })
        .collect()
}

static LINK_DEFINITION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\s{0,3}(?:\[[^\]]+\]:\s|\.\. _)").expect("a valid pattern"));

/// The first new entry in its place.
fn judge_entries(document: &ChangedDocument<'_>) -> Result<String, DocumentFinding> {
    let finding = |line, message: &str| Err(DocumentFinding::in_file(document.path, line, message));
    let Some(text) = document.after else { return finding(None, "the change removes this changelog") };
    if document.added_lines.is_empty() {
        return finding(None, "the change adds no line to this changelog");
    }
    let lines = document_lines(text);
    let headings = find_headings(&lines);
    let is_heading = |number: u32| {
        let at = headings.partition_point(|heading| heading.body_line <= number);
        headings.get(at).is_some_and(|heading| heading.line <= number)
    };
    let versions = find_versions(&lines);
    let fresh = document.fresh_texts();
    let has_unreleased = versions.iter().any(|version| version.is_unreleased);
    let topmost = versions.iter().position(|version| !version.is_unreleased);
    let is_topmost_new = topmost.is_some_and(|index| fresh.iter().any(|(line, _)| *line == versions[index].line));
    let mut misplaced = None;
    for (number, line) in &fresh {
        let shown = lines.get(*number as usize - 1).filter(|shown| shown.is_visible());
        let is_entry = shown.is_some_and(|shown| shown.text.chars().any(char::is_alphanumeric))
            && !is_heading(*number)
            && !LINK_DEFINITION.is_match(line);
        if !is_entry || versions.binary_search_by_key(number, |version| version.line).is_ok() {
            continue;
        }
        let owner = versions.partition_point(|version| version.body_line <= *number).checked_sub(1);
        let Some(owner) = owner else {
            if versions.is_empty() {
                return Ok(format!("{}:{number} (the changelog has no versions)", document.path));
            }
            misplaced.get_or_insert((*number, "above the first version".to_owned()));
            continue;
        };
        let version = &versions[owner];
        let is_open = Some(owner) == topmost && (!has_unreleased || is_topmost_new);
        if version.is_unreleased || is_open {
            return Ok(format!("{}:{number} under \"{}\"", document.path, version.title));
        }
        misplaced.get_or_insert((*number, format!("under an older version, \"{}\"", version.title)));
    }
    match misplaced {
        Some((line, place)) => finding(Some(line), &format!("the change adds a line {place}")),
        None if document.added_texts().all(|(_, line)| line.trim().is_empty()) => {
            finding(document.added_lines.first().copied(), "the change adds only blank lines")
        }
        None if fresh.is_empty() => {
            finding(document.added_lines.first().copied(), "the change only moves or re-indents lines")
        }
        None => {
            finding(fresh.first().map(|(line, _)| *line), "the change adds headings, links or comments, but no entry")
        }
    }
}
