//! Did a check pass because it was weakened? From the diff between the failing and the passing tree (or any other) to
//! marks: a test that was deleted or skipped, a rule that was turned off, an exit status that was swallowed, a
//! threshold that was lowered, recorded output that was recorded again. Pure; cannot fail.
//!
//! ```text
//! let patch = Patch::parse(diff);                     // best with CONTEXT_LINES of context and renames found
//! let findings = weakened::detect(&patch, Some(Counts { before: 41, after: 40 }));
//! let no_fix = findings.marks.iter().any(|mark| mark.concerns(Some(CheckKind::Test)) && mark.decides());
//! ```
//!
//! Rather nothing than something wrong. Only what one side has and the other hasn't counts, and what was moved,
//! renamed, reindented or narrowed is not new. A line is judged by the language of its file: what is text there
//! (a document that shows `eslint-disable`, a string that holds `#[allow]`) turns nothing off. Inputs of tests, other
//! people's and generated code are left alone.

mod added;
mod asked;
mod assertions;
mod census;
mod checks;
mod commented;
mod files;
mod fitted;
mod fresh;
mod gone;
mod ground;
mod hit;
mod keys;
mod language;
mod lazy;
mod levels;
mod lexis;
mod lines;
mod loosened;
mod made_up;
mod matchers;
mod matrix;
mod numbers;
mod renamed;
mod reworded;
mod rule;
mod rule_match;
mod shapes;
mod skip_lists;
mod slack;
mod snapshots;
mod status;
mod strength;
mod swallowed;
#[cfg(test)]
mod tests;
mod tolerance;
mod view;
mod widened;
mod wildcards;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use self::language::FileRole;
use self::rule::{WeakenedRule, WeakenedRules};
use self::view::{DiffLine, DiffSide, FileView};
use crate::base::arena;
use crate::base::text;
use crate::fix::patch::Patch;
use crate::redact::redact_text;
use crate::whitelist::CheckKind;

pub(crate) use self::rule::RuleSeverity;

/// Marks kept of one diff; further ones are counted.
const MARKS_MAX: usize = 200;
/// The text of a mark, bytes.
const TEXT_BYTES_MAX: usize = 200;
/// A path, bytes.
const PATH_BYTES_MAX: usize = 1_000;

/// One place where a check was weakened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct WeakenedCheck {
    /// The rule's id (`python-noqa`, `test-deleted`).
    pub rule: String,
    /// What kind of weakening it is (`disabled-rule`, `deleted-test`).
    pub family: String,
    /// The language or format of the file; empty where it is none of the table's.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub language: String,
    /// The file, relative to the repository; empty where no file says it (fewer tests ran).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// The line, 1-based: its number now, of a deleted one its number before. 0 where there is none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub line: u32,
    /// Whether `line` is gone, and its number one of the old file.
    #[serde(default, skip_serializing_if = "is_false")]
    pub deleted: bool,
    /// The line's text, without its secrets, at most 200 bytes.
    pub text: String,
    /// What it means, for people: completes "this …".
    pub message: String,
    /// Its certainty.
    pub severity: RuleSeverity,
}

fn is_zero(line: &u32) -> bool {
    *line == 0
}

fn is_false(deleted: &bool) -> bool {
    !deleted
}

impl WeakenedCheck {
    /// Whether it can be why a check of this kind passes: a linter's rule that is turned off doesn't make a test pass.
    pub(crate) fn concerns(&self, kind: Option<CheckKind>) -> bool {
        kind != Some(CheckKind::Test) || self.family != "disabled-rule"
    }

    /// Whether a pass that came with it proves nothing: it is certain, or says that nothing else changed.
    pub(crate) fn decides(&self) -> bool {
        let explains = || rule::shipped_rules().find_rule(&self.rule).is_some_and(|rule| rule.text.explains);
        self.severity == RuleSeverity::Certain || explains()
    }

    /// `path:line`, as far as there is one.
    pub(crate) fn place(&self) -> String {
        match (self.path.is_empty(), self.line) {
            (true, _) => "-".to_owned(),
            (false, 0) => self.path.clone(),
            (false, line) => format!("{}:{line}", self.path),
        }
    }
}

/// The weakened checks of a diff.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WeakenedFindings {
    /// The marks, in the order of the diff.
    pub marks: Vec<WeakenedCheck>,
    /// Marks beyond the limit of 200, and files and lines of the diff that were not read.
    pub cut: usize,
}

/// How many tests two runs of one check collected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TestCounts {
    /// In the run before.
    pub before: u64,
    /// In the run after.
    pub after: u64,
}

/// Reads the rules in a thread of its own, beside what else has to be done before there is a diff.
pub(crate) fn prepare() {
    // Without a thread they are read when they are needed.
    let _ = std::thread::Builder::new().spawn(|| arena::apart(|| rule::shipped_rules().find_rule("")));
}

/// Where `patch`, or the number of collected tests, weakens a check.
pub(crate) fn detect(patch: &Patch, tests: Option<TestCounts>) -> WeakenedFindings {
    let tests = tests.filter(|counts| counts.after < counts.before);
    if patch.files.is_empty() && tests.is_none() {
        return WeakenedFindings { marks: Vec::new(), cut: patch.cut };
    }
    let views = view::file_views(patch);
    let mut sheet = WeakenedCheckCollector::new(rule::shipped_rules(), &views);
    let census = census::take_inventory(&views);
    census.mark_tests(&mut sheet);
    assertions::mark_assertions(&census, &mut sheet);
    shapes::mark_shapes(&census, &mut sheet);
    widened::mark_widened(&mut sheet);
    skip_lists::mark_skip_lists(&census, &mut sheet);
    lines::mark_lines(&census, &mut sheet);
    matrix::mark_matrices(&mut sheet);
    swallowed::mark_conditions(&mut sheet);
    swallowed::fewer_builds(&mut sheet);
    swallowed::mark_shortened(&mut sheet);
    status::mark_statuses(&mut sheet);
    status::mark_open_scopes(&mut sheet);
    levels::mark_levels(&mut sheet);
    assertions::same_operands(&mut sheet);
    wildcards::mark_wildcards(&mut sheet);
    numbers::mark_numbers(&mut sheet);
    numbers::mark_leeway(&mut sheet);
    snapshots::mark_snapshots(&mut sheet);
    checks::mark_checks(&mut sheet);
    commented::mark_commented_steps(&census, &mut sheet);
    if let Some(counts) = tests {
        sheet.fewer(counts);
    }
    sheet.end(patch.cut)
}

/// Collects the weakened checks of a diff.
struct WeakenedCheckCollector<'v, 'p> {
    rules: &'static WeakenedRules,
    views: &'v [FileView<'p>],
    /// With their place in the diff, for sorting.
    marks: Vec<(MarkPlace, WeakenedCheck)>,
    /// The families of the marks of each place: one mark says it.
    known: HashMap<MarkPlace, Vec<String>>,
}

/// Where a mark is: the file's index, its line, and whether that line is one of the new side.
type MarkPlace = (usize, u32, bool);

impl<'v, 'p> WeakenedCheckCollector<'v, 'p> {
    fn new(rules: &'static WeakenedRules, views: &'v [FileView<'p>]) -> Self {
        WeakenedCheckCollector { rules, views, marks: Vec::new(), known: HashMap::new() }
    }

    /// Marks `line` of file `index`. `name` represents `{name}` in the rule's message.
    fn add(
        &mut self,
        rule: &WeakenedRule,
        (index, side, line): (usize, DiffSide, &DiffLine<'_>),
        severity: RuleSeverity,
        name: &str,
    ) {
        self.push(rule, index, side, line.number, line.raw, severity, name);
    }

    /// The same under a rule's name.
    fn add_named(&mut self, id: &str, place: (usize, DiffSide, &DiffLine<'_>), severity: RuleSeverity, name: &str) {
        if let Some(rule) = self.rules.find_rule(id) {
            self.add(rule, place, severity, name);
        }
    }

    /// Whether anything is marked on a line.
    fn has_mark(&self, index: usize, side: DiffSide, line: &DiffLine<'_>) -> bool {
        self.known.contains_key(&(index, line.number, side == DiffSide::New))
    }

    #[expect(clippy::too_many_arguments, reason = "the one place where a mark is put together")]
    fn push(
        &mut self,
        rule: &WeakenedRule,
        index: usize,
        side: DiffSide,
        line: u32,
        raw: &str,
        severity: RuleSeverity,
        name: &str,
    ) {
        let view = &self.views[index];
        let clean = |raw: &str, max| text::ellipsis(&text::one_line(&redact_text(raw.trim()).0), max);
        let mark = WeakenedCheck {
            rule: rule.text.id.clone(),
            family: rule.text.family.clone(),
            language: view.language.map(|language| language.name.clone()).unwrap_or_default(),
            path: text::ellipsis(view.path_of_side(side), PATH_BYTES_MAX),
            line,
            deleted: side == DiffSide::Old,
            text: clean(raw, TEXT_BYTES_MAX),
            message: rule.text.message.replace("{name}", &clean(name, TEXT_BYTES_MAX / 2)),
            severity: severity.min(rule.text.severity),
        };
        let place = (index, line, side == DiffSide::New);
        let families = self.known.entry(place).or_default();
        if !families.contains(&mark.family) {
            families.push(mark.family.clone());
            self.marks.push((place, mark));
        }
    }

    /// Marks that fewer tests ran, unless a line says which ones don't.
    fn fewer(&mut self, counts: TestCounts) {
        let told = ["deleted-test", "skipped-test", "focused-test"];
        if self
            .marks
            .iter()
            .any(|(_, mark)| mark.severity == RuleSeverity::Certain && told.contains(&mark.family.as_str()))
        {
            return;
        }
        let Some(rule) = self.rules.find_rule("fewer-tests") else { return };
        let mark = WeakenedCheck {
            rule: rule.text.id.clone(),
            family: rule.text.family.clone(),
            language: String::new(),
            path: String::new(),
            line: 0,
            deleted: false,
            text: format!("{} before, {} after", counts.before, counts.after),
            message: rule.text.message.clone(),
            severity: rule.text.severity,
        };
        self.marks.push(((usize::MAX, 0, false), mark));
    }

    fn end(mut self, unread: usize) -> WeakenedFindings {
        self.marks.sort_by_key(|(place, _)| *place);
        let cut = self.marks.len().saturating_sub(MARKS_MAX) + unread;
        self.marks.truncate(MARKS_MAX);
        WeakenedFindings { marks: self.marks.into_iter().map(|(_, mark)| mark).collect(), cut }
    }
}

/// Whether anything in the diff but tests, their recorded output and documents changed.
fn source_changed(views: &[FileView<'_>]) -> bool {
    // A file that is only moved, or no text, has no changed line, and may be another one for what it tests.
    let changes = |view: &FileView<'_>| {
        let mut lines = [DiffSide::Old, DiffSide::New].into_iter().flat_map(|side| view.changed_lines(side)).peekable();
        lines.peek().is_none() || lines.any(|line| !line.is_idle())
    };
    views.iter().any(|view| view.part == FileRole::Source && changes(view))
}
