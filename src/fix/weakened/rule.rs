//! A rule as it is written: TOML, one file a family, in `rules/`.
//!
//! ```toml
//! [[rule]]
//! id = "python-noqa"                  # unique; what marks and people call it
//! family = "disabled-rule"
//! languages = ["python"]              # names of languages.toml; or `files`, globs in lower case, of names
//!                                     # (`*.bats`) or, with a `/`, of the ends of paths (`docs/makefile`)
//! where = "comment"                   # code (default), text (code with strings), comment, line
//! needs = "noqa"                      # one of these literals is in every line that the regex matches; without them
//!                                     # each line of such a file is looked at
//! regex = '#\s*noqa\b(?::\s*(?P<units>[A-Z]+[0-9]+(?:[,\s]+[A-Z]+[0-9]+)*))?'
//! message = "turns off {units}"
//! add = ["import os  # noqa: F401"]   # added lines that it has to find
//! keep = ["x = 1  # about noqa"]      # added lines that no rule may find
//! marked = ["…"]                      # the same with whole hunks, each line with its sign
//! clean = ["…"]
//! path = "src/a.py"                   # of the file in the examples
//! ```
//!
//! A match on a line that only the new side has is weaker ground than before, unless the old side lost the same: each
//! *unit* (the codes of the group `units`, else all that matched) that is taken away elsewhere in the diff makes up
//! for one that is added, so what was moved, reindented or narrowed is not new.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::base::literals::Literals;
use crate::base::one_or_many::OneOrMany;

use super::files::FileGlobs;
use super::lazy::LazyRegex;

/// How sure it is that a mark weakens a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum RuleSeverity {
    /// It usually is, but good reasons look the same.
    Likely,
    /// It is, whatever the reason for it.
    #[default]
    Certain,
}

/// How a rule finds something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RuleKind {
    /// A line that the new side has and the old one hadn't.
    #[default]
    Added,
    /// A line that the old side had.
    Removed,
    /// A line whose counterpart on the old side matches `before` with the same group `subject`.
    Replaced,
    /// A group `number` that got smaller, or went away.
    Lowered,
    /// One that got larger.
    Raised,
    /// A file that got longer.
    Grown,
    /// An entry of a pipeline's matrix that is gone, or taken out.
    Matrix,
    /// Code of this stage looks; the rule gives it its words.
    Structure,
}

/// What of a line is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RuleScope {
    /// Neither strings nor comments.
    #[default]
    Code,
    /// No comments.
    Text,
    /// Comments alone.
    Comment,
    /// All of it.
    Line,
}

/// A rule.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WeakenedRuleText {
    pub(super) id: String,
    pub(super) family: String,
    #[serde(default)]
    pub(super) kind: RuleKind,
    #[serde(default)]
    pub(super) languages: Vec<String>,
    #[serde(default)]
    pub(super) files: Vec<String>,
    #[serde(default, rename = "where")]
    pub(super) place: RuleScope,
    pub(super) needs: Option<OneOrMany>,
    pub(super) regex: Option<String>,
    /// For `replaced`: matched on the old line.
    pub(super) before: Option<String>,
    pub(super) message: String,
    #[serde(default)]
    pub(super) severity: RuleSeverity,
    /// Only in test files, or only outside them.
    pub(super) tests: Option<bool>,
    /// A regex that says that the line is no finding after all.
    pub(super) unless: Option<String>,
    /// A regex on the keys that the line is under, `tool.ruff.lint.ignore`.
    pub(super) under: Option<String>,
    /// A regex on those keys that says that the line is no finding after all.
    pub(super) not_under: Option<String>,
    /// A regex that the same line has to match as well, where `regex` finds each of several options.
    pub(super) along: Option<String>,
    /// A regex on a line above that this one is deeper than, or that is in the hunk's heading.
    pub(super) below: Option<String>,
    /// A regex on such a line that says that this one is no finding after all.
    pub(super) not_below: Option<String>,
    /// A regex of a line that the same file has to have, as far as the diff shows it.
    pub(super) beside: Option<String>,
    /// A regex of a line of the new file, as far as the diff shows it, that says that this one is no finding after all.
    pub(super) without: Option<String>,
    /// A regex of a line of the old file, near the place, that says that an added line is no finding after all.
    pub(super) unless_before: Option<String>,
    /// A regex that a unit has to match to count.
    pub(super) units_like: Option<String>,
    /// A regex on units that don't count.
    pub(super) units_unlike: Option<String>,
    /// A regex on the lines of its block: the step, job or table with what is deeper, and the line that it is under.
    pub(super) around: Option<String>,
    /// A regex on these that says that the line is no finding after all, unless one of them matches `around`.
    pub(super) not_around: Option<String>,
    /// Whether what it is in has to be there still.
    #[serde(default)]
    pub(super) owner_stays: bool,
    /// Whether the key that it is under has to have been there before: what is off by default is no laxer for being
    /// written so.
    #[serde(default)]
    pub(super) key_stays: bool,
    /// Whether what matches `along` has to have been there before: what a new command leaves out was never looked at.
    #[serde(default)]
    pub(super) command_stays: bool,
    /// Whether it counts only in a test, or right above one.
    #[serde(default)]
    pub(super) attached: bool,
    /// Whether what its brackets hold may be on further lines.
    #[serde(default)]
    pub(super) joined: bool,
    /// Whether it counts only above a test.
    #[serde(default)]
    pub(super) heads: bool,
    /// Whether it holds only under a condition, as a line below an `if` does anyway: then it counts for what was there
    /// before and for nothing new.
    #[serde(default)]
    pub(super) conditional: bool,
    /// Whether it counts in a file that is new: what was never stricter can't be weakened.
    #[serde(default = "default_true")]
    pub(super) new_files: bool,
    /// Whether it is only likely where the lines around it are new, too.
    #[serde(default)]
    pub(super) alone: bool,
    /// The unit of every match, where it isn't what matched.
    pub(super) unit: Option<String>,
    /// Whether units taken away under one rule of the group make up for others of it; by default only its own.
    pub(super) group: Option<String>,
    /// Whether it says that nothing else changed: then it alone explains why a check passes now.
    #[serde(default)]
    pub(super) explains: bool,
    /// Whether it doesn't count where the diff adds others of its kind: a tool in place of another.
    #[serde(default)]
    pub(super) replaceable: bool,
    /// A regex of a line that, added to the same file, takes the place of what is gone.
    pub(super) replaced_by: Option<String>,
    /// For `lowered`: whether it counts when the number is gone.
    #[serde(default = "default_true")]
    pub(super) gone: bool,
    /// The path in the examples.
    #[cfg_attr(not(test), expect(dead_code, reason = "read by the test suite"))]
    pub(super) path: Option<String>,
    /// Added lines that it finds.
    #[serde(default)]
    #[cfg_attr(not(test), expect(dead_code, reason = "read by the test suite"))]
    pub(super) add: Vec<String>,
    /// Added lines that no rule finds.
    #[serde(default)]
    #[cfg_attr(not(test), expect(dead_code, reason = "read by the test suite"))]
    pub(super) keep: Vec<String>,
    /// Hunks, or whole diffs, in which it finds something and no other rule does.
    #[serde(default)]
    #[cfg_attr(not(test), expect(dead_code, reason = "read by the test suite"))]
    pub(super) marked: Vec<String>,
    /// Those in which no rule finds anything.
    #[serde(default)]
    #[cfg_attr(not(test), expect(dead_code, reason = "read by the test suite"))]
    pub(super) clean: Vec<String>,
}

fn default_true() -> bool {
    true
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleFileText {
    #[serde(rename = "rule")]
    pub(super) rules: Vec<WeakenedRuleText>,
}

macro_rules! shipped {
    ($($name:literal)*) => {
        /// The rules as the build script leaves them: without their examples.
        const SHIPPED: &[&str] = &[$(include_str!(concat!(env!("OUT_DIR"), "/rules/", $name, ".json"))),*];
        /// The same as written, by name.
        #[cfg(test)]
        pub(super) const WRITTEN: &[(&str, &str)] = &[$(($name, include_str!(concat!("rules/", $name, ".toml")))),*];
    };
}

shipped! { "tests" "suites" "assertions" "skipped" "disabled" "configuration" "excluded" "pipelines" "gates" "options" "packages" "linters" "settings" "laxer" "thresholds" "snapshots" }

/// A rule, its regexes not compiled before they are needed.
#[derive(Debug)]
pub(super) struct WeakenedRule {
    pub(super) text: WeakenedRuleText,
    pub(super) files: FileGlobs,
    regex: Option<LazyRegex>,
    before: Option<LazyRegex>,
    unless: Option<LazyRegex>,
    under: Option<LazyRegex>,
    not_under: Option<LazyRegex>,
    along: Option<LazyRegex>,
    below: Option<LazyRegex>,
    not_below: Option<LazyRegex>,
    beside: Option<LazyRegex>,
    without: Option<LazyRegex>,
    unless_before: Option<LazyRegex>,
    replaced_by: Option<LazyRegex>,
    units_like: Option<LazyRegex>,
    units_unlike: Option<LazyRegex>,
    around: Option<LazyRegex>,
    not_around: Option<LazyRegex>,
}

impl WeakenedRule {
    fn new(text: WeakenedRuleText) -> Self {
        WeakenedRule {
            files: FileGlobs::new(&text.files),
            regex: text.regex.clone().map(LazyRegex::new),
            before: text.before.clone().map(LazyRegex::new),
            unless: text.unless.clone().map(LazyRegex::new),
            under: text.under.clone().map(LazyRegex::new),
            not_under: text.not_under.clone().map(LazyRegex::new),
            along: text.along.clone().map(LazyRegex::new),
            below: text.below.clone().map(LazyRegex::new),
            not_below: text.not_below.clone().map(LazyRegex::new),
            beside: text.beside.clone().map(LazyRegex::new),
            without: text.without.clone().map(LazyRegex::new),
            unless_before: text.unless_before.clone().map(LazyRegex::new),
            replaced_by: text.replaced_by.clone().map(LazyRegex::new),
            units_like: text.units_like.clone().map(LazyRegex::new),
            units_unlike: text.units_unlike.clone().map(LazyRegex::new),
            around: text.around.clone().map(LazyRegex::new),
            not_around: text.not_around.clone().map(LazyRegex::new),
            text,
        }
    }

    pub(super) fn line_regex(&self) -> Option<&Regex> {
        self.regex.as_ref()?.get()
    }

    pub(super) fn before_regex(&self) -> Option<&Regex> {
        self.before.as_ref()?.get()
    }

    /// Whether `unless` speaks against `line`.
    pub(super) fn is_excused(&self, line: &str) -> bool {
        self.unless.as_ref().is_some_and(|unless| unless.is_match(line))
    }

    /// Whether a line with these keys is where the rule looks.
    pub(super) fn is_under(&self, path: &str) -> bool {
        self.under.as_ref().is_none_or(|under| under.is_match(path))
            && !self.not_under.as_ref().is_some_and(|other| other.is_match(path))
    }

    /// Whether `line` has what the rule asks for besides its match.
    pub(super) fn is_along(&self, line: &str) -> bool {
        self.along.as_ref().is_none_or(|along| along.is_match(line))
    }

    /// What of `line` is what the rule asks for besides its match.
    pub(super) fn find_along<'l>(&self, line: &'l str) -> Option<&'l str> {
        Some(self.along.as_ref()?.get()?.find(line)?.as_str())
    }

    /// Whether what a line is in is what the rule asks for; `above` are the lines that it is deeper than.
    pub(super) fn is_below<'l>(&self, above: impl Iterator<Item = &'l str> + Clone) -> bool {
        let any = |regex: &LazyRegex| above.clone().any(|line| regex.is_match(line));
        self.below.as_ref().is_none_or(any) && !self.not_below.as_ref().is_some_and(any)
    }

    /// Whether `unit` is one that the rule is about.
    pub(super) fn is_unit(&self, unit: &str) -> bool {
        self.units_like.as_ref().is_none_or(|like| like.is_match(unit))
            && !self.units_unlike.as_ref().is_some_and(|unlike| unlike.is_match(unit))
    }

    /// Whether the block of a line is what the rule asks for.
    pub(super) fn is_among<'l>(&self, block: impl Iterator<Item = &'l str> + Clone) -> bool {
        let any = |regex: &LazyRegex| block.clone().any(|line| regex.is_match(line));
        match (&self.around, &self.not_around) {
            (Some(around), None) => any(around),
            (None, Some(other)) => !any(other),
            (Some(around), Some(other)) => any(around) || !any(other),
            (None, None) => true,
        }
    }

    /// Whether any of `lines` is what the rule asks for above its own.
    pub(super) fn may_be_below<'l>(&self, mut lines: impl Iterator<Item = &'l str>) -> bool {
        self.below.as_ref().is_none_or(|below| lines.any(|line| below.is_match(line)))
    }

    /// Whether the lines of a file have the one that the rule asks for beside it.
    pub(super) fn is_beside<'l>(&self, mut lines: impl Iterator<Item = &'l str>) -> bool {
        self.beside.as_ref().is_none_or(|beside| lines.any(|line| beside.is_match(line)))
    }

    /// Whether one of the new file's lines makes up for what the rule found.
    pub(super) fn is_made_up_for<'l>(&self, mut lines: impl Iterator<Item = &'l str>) -> bool {
        self.without.as_ref().is_some_and(|without| lines.any(|line| without.is_match(line)))
    }

    /// Whether one of the old file's lines near a place says that what the rule found is no finding.
    pub(super) fn was_so_before<'l>(&self, mut lines: impl Iterator<Item = &'l str>) -> bool {
        self.unless_before.as_ref().is_some_and(|before| lines.any(|line| before.is_match(line)))
    }

    /// Whether `line`, which is new, takes the place of what is gone.
    pub(super) fn is_replaced_by(&self, line: &str) -> bool {
        self.replaced_by.as_ref().is_some_and(|regex| regex.is_match(line))
    }

    /// What its units are made up for by.
    pub(super) fn group_name(&self) -> &str {
        self.text.group.as_deref().unwrap_or(&self.text.id)
    }
}

/// All rules, ready to match.
#[derive(Debug)]
pub(super) struct WeakenedRules {
    pub(super) rules: Vec<WeakenedRule>,
    literals: Literals,
    /// The rules of each literal.
    meaning: Vec<Vec<usize>>,
    /// The rules without a literal, which may match any line of their files.
    pub(super) untold: Vec<usize>,
}

impl WeakenedRules {
    fn new(texts: Vec<WeakenedRuleText>) -> Self {
        let (mut literals, mut meaning): (Vec<String>, Vec<Vec<usize>>) = (Vec::new(), Vec::new());
        for (index, text) in texts.iter().enumerate() {
            for literal in text.needs.iter().flat_map(OneOrMany::as_slice) {
                match literals.iter().position(|known| known == literal) {
                    Some(at) => meaning[at].push(index),
                    None => {
                        literals.push(literal.clone());
                        meaning.push(vec![index]);
                    }
                }
            }
        }
        // One that is built fast: most changes are short.
        let literals = Literals::new(&literals, true, 0).expect("a small table of literals");
        let is_untold = |text: &WeakenedRuleText| text.needs.is_none() && text.regex.is_some();
        let untold = (0..texts.len()).filter(|&index| is_untold(&texts[index])).collect();
        WeakenedRules { rules: texts.into_iter().map(WeakenedRule::new).collect(), literals, meaning, untold }
    }

    /// The rules that may match `line`: those that a literal of it tells, and `untold` ones of its file.
    pub(super) fn candidate_rules(&self, line: &str, untold: &[usize]) -> BTreeSet<usize> {
        let mut rules: BTreeSet<usize> = untold.iter().copied().collect();
        self.literals.each(line.as_bytes(), |literal, _| rules.extend(&self.meaning[literal]));
        rules
    }

    /// The rule of this name.
    pub(super) fn find_rule(&self, id: &str) -> Option<&WeakenedRule> {
        self.rules.iter().find(|rule| rule.text.id == id)
    }
}

/// The shipped rules.
pub(super) fn shipped_rules() -> &'static WeakenedRules {
    static RULES: LazyLock<WeakenedRules> = LazyLock::new(|| {
        // A broken file would lose its rules: a test holds that none is.
        let files = SHIPPED.iter().filter_map(|json| serde_json::from_str::<RuleFileText>(json).ok());
        WeakenedRules::new(files.flat_map(|file| file.rules).collect())
    });
    &RULES
}
