//! Detectors without code: `[[detector]]` tables, beside the `[[tool]]` tables of the definition files.
//!
//! ```toml
//! [[detector]]
//! name = "imports-after-a-move"        # a later layer replaces one by its name, or takes it out with `off = true`
//! title = "Imports that name moved files"
//! summary = "{hits} of the {of} tasks that had it had moved files."
//! rule = "Search for the old name after moving a file."
//! category = ["type_error"]            # what fails: one of each list that is given has to hold
//! tool = ["tsc"]
//! code = ["TS2307"]
//! message = ['(?i)cannot find module']  # regexes (ASCII classes), matched on the masked message
//! file = ["src/**"]                    # … in such a file
//! changed = ["**/*.ts"]                # what the task had done: changed such a file …
//! moved = true                         # … by moving or removing it
//! min_tasks = 3                        # default: the setting patterns.recurring_tasks
//! min_share = 0.6                      # of the tasks in which it failed, those that had done it
//! ```
//!
//! A pattern for which it holds gets the rule, and when it names a deed the title as its name. In the texts `{hits}`, `{of}`, `{percent}`, `{tool}`,
//! `{code}` and `{file}` (the most frequent one) are replaced.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::OnceLock;

use regex::bytes::RegexBuilder;
use regex_automata::meta::Regex;
use regex_automata::util::syntax;
use serde::Deserialize;
use toml::Spanned;

use super::{Detector, DetectorFinding, DetectorSubject, format_percent};
use crate::base::glob;
use crate::base::limits::{DEFINITION_REGEX_BYTES_MAX, DETECTORS_MAX};
use crate::base::text::{ellipsis, line_number, one_line};
use crate::config::{Category, CategoryTable, Settings};
use crate::diagnose::{DefinitionFault, DefinitionFile};
use crate::pattern::history::{
    FailurePattern, HistoryFailure, HistoryPattern, HistoryTask, TaskFileChange, TaskHistory,
};

/// A title, bytes.
const TITLE_BYTES_MAX: usize = 100;
/// A sentence, bytes.
const SUMMARY_BYTES_MAX: usize = 400;
/// Patterns named in a finding.
const PATTERNS_MAX: usize = 20;
/// What may be in braces in a text.
const PLACEHOLDERS: [&str; 6] = ["hits", "of", "percent", "tool", "code", "file"];
/// The shipped ones.
const SHIPPED: &str = include_str!("shipped.toml");

/// A file: its other tables are the definitions' business.
#[derive(Deserialize)]
struct DetectorFileText {
    #[serde(default, rename = "detector")]
    detectors: Vec<Spanned<DetectorText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DetectorText {
    name: String,
    #[serde(default)]
    off: bool,
    #[serde(default)]
    title: String,
    #[serde(default)]
    summary: String,
    rule: Option<String>,
    #[serde(default)]
    category: Vec<Category>,
    #[serde(default)]
    tool: Vec<String>,
    #[serde(default)]
    code: Vec<String>,
    #[serde(default)]
    message: Vec<String>,
    #[serde(default)]
    file: Vec<String>,
    #[serde(default)]
    changed: Vec<String>,
    #[serde(default)]
    moved: bool,
    min_tasks: Option<u64>,
    min_share: Option<f64>,
}

/// Regexes for masked messages, compiled when the first message is there: most detectors are about other tools.
#[derive(Debug)]
struct MessageRegexes {
    texts: Vec<String>,
    compiled: OnceLock<Option<Regex>>,
}

impl MessageRegexes {
    /// Compiles each for itself.
    ///
    /// # Errors
    /// What is wrong with the first that can't be, a lowercase fragment.
    fn check(&self) -> Result<(), String> {
        self.texts.iter().try_for_each(|text| {
            let compiled = RegexBuilder::new(text).unicode(false).size_limit(DEFINITION_REGEX_BYTES_MAX).build();
            compiled.map(drop).map_err(|error| {
                let said = error.to_string();
                format!("message {text:?}: {}", said.lines().last().unwrap_or_default().trim())
            })
        })
    }

    /// All in one, for a few short messages: what makes long searches faster takes longer to be made than they do.
    fn compile(&self) -> Option<Regex> {
        let config = Regex::config().nfa_size_limit(Some(self.texts.len().max(1) * DEFINITION_REGEX_BYTES_MAX));
        let config = config.auto_prefilter(false).onepass(false).backtrack(false).utf8_empty(false);
        let syntax = syntax::Config::new().unicode(false).utf8(false);
        Regex::builder().configure(config).syntax(syntax).build_many(&self.texts).ok()
    }

    /// Whether one of them is in a message; not where there is none.
    fn is_match(&self, masked: &str) -> bool {
        self.compiled.get_or_init(|| self.compile()).as_ref().is_some_and(|regex| regex.is_match(masked))
    }
}

/// A detector from a file.
#[derive(Debug)]
pub(super) struct DeclaredDetector {
    name: String,
    title: String,
    summary: String,
    rule: Option<String>,
    category: Vec<Category>,
    tool: Vec<String>,
    code: Vec<String>,
    message: MessageRegexes,
    file: Vec<String>,
    changed: Vec<String>,
    moved: bool,
    min_tasks: Option<u64>,
    min_share: f64,
}

/// The shipped detectors under those of `files`, which come strongest layer first and may name `categories`.
pub(super) fn load_layered(
    files: &[DefinitionFile],
    categories: &CategoryTable,
) -> (Vec<DeclaredDetector>, Vec<DefinitionFault>) {
    let (mut found, mut faults) = (Vec::new(), Vec::new());
    let mut taken: HashSet<String> = HashSet::new();
    for layer in files.chunk_by(|a, b| a.layer == b.layer) {
        let mut names = HashSet::new();
        for file in layer {
            let fault = |line, reason: String| DefinitionFault {
                file: file.file.clone(),
                line,
                reason,
                without: Some("the detector"),
            };
            // Files that are not TOML or have unknown tables are reported with the definitions.
            let texts = match toml::from_str::<DetectorFileText>(&file.text) {
                Ok(texts) => texts.detectors,
                Err(error) if file.text.contains("[[detector]]") => {
                    let line = error.span().map(|span| line_number(&file.text, span.start));
                    faults.push(DefinitionFault {
                        without: Some("the file"),
                        ..fault(line, error.message().replace('\n', ", "))
                    });
                    continue;
                }
                Err(_) => continue,
            };
            for text in texts {
                let line = Some(line_number(&file.text, text.span().start));
                let text = text.into_inner();
                let name = text.name.clone();
                if names.len() >= DETECTORS_MAX {
                    faults.push(fault(line, format!("more than {DETECTORS_MAX} detectors in this folder")));
                } else if !names.insert(name.clone()) {
                    faults.push(fault(line, format!("`{name}` is defined twice in this folder")));
                } else if !taken.contains(&name) && !text.off {
                    let checked = DeclaredDetector::new(text, categories)
                        .and_then(|detector| detector.message.check().map(|()| detector));
                    match checked {
                        Ok(detector) => found.push(detector),
                        Err(reason) => faults.push(fault(line, format!("`{name}`: {reason}"))),
                    }
                }
            }
        }
        taken.extend(names);
    }
    let shipped = toml::from_str::<DetectorFileText>(SHIPPED).map(|file| file.detectors).unwrap_or_default();
    let shipped = shipped.into_iter().map(Spanned::into_inner).filter(|text| !taken.contains(&text.name));
    found.extend(shipped.filter_map(|text| DeclaredDetector::new(text, categories).ok()));
    (found, faults)
}

impl DeclaredDetector {
    fn new(text: DetectorText, categories: &CategoryTable) -> Result<Self, String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if text.name.is_empty() || !text.name.chars().all(plain) {
            return Err("its name has characters other than letters, digits, `.`, `_` and `-`".into());
        }
        for (what, said) in [("title", &text.title), ("summary", &text.summary)] {
            if said.trim().is_empty() {
                return Err(format!("it has no {what}"));
            }
            if let Some(unknown) = placeholder_names(said).find(|name| !PLACEHOLDERS.contains(name)) {
                return Err(format!("its {what} has {{{unknown}}}; it may have {}", PLACEHOLDERS.join(", ")));
            }
        }
        let lists = [&text.tool, &text.code, &text.message, &text.file, &text.changed];
        if lists.iter().all(|list| list.is_empty()) && text.category.is_empty() && !text.moved {
            return Err("it matches everything: restrict it to some failures".into());
        }
        if let Some(refusal) = text.category.iter().find_map(|category| categories.refusal(category)) {
            return Err(refusal);
        }
        if text.min_share.is_some_and(|share| !(0.0..=1.0).contains(&share)) {
            return Err("min_share is not from 0 to 1".into());
        }
        Ok(DeclaredDetector {
            message: MessageRegexes { texts: text.message, compiled: OnceLock::new() },
            title: ellipsis(&one_line(text.title.trim()), TITLE_BYTES_MAX),
            summary: one_line(text.summary.trim()),
            rule: text.rule.map(|rule| ellipsis(&one_line(rule.trim()), SUMMARY_BYTES_MAX)),
            min_share: text.min_share.unwrap_or(0.6),
            name: text.name,
            category: text.category,
            tool: text.tool,
            code: text.code,
            file: text.file,
            changed: text.changed,
            moved: text.moved,
            min_tasks: text.min_tasks,
        })
    }

    fn is_about(&self, known: &HistoryPattern) -> bool {
        let code = known.code.as_ref();
        (self.tool.is_empty() || self.tool.contains(&known.tool))
            && (self.code.is_empty() || code.is_some_and(|code| self.code.contains(code)))
            && (self.message.texts.is_empty() || self.message.is_match(&known.masked))
    }

    fn matches_failure(&self, failure: &HistoryFailure, seen: &FailurePattern) -> bool {
        let file = || seen.file.as_deref().is_some_and(|file| self.file.iter().any(|glob| glob::matches(glob, file)));
        (self.category.is_empty() || self.category.iter().any(|category| category.as_str() == failure.category))
            && (self.file.is_empty() || file())
    }

    /// Whether the task had done what it asks for; `true` when it asks for nothing.
    fn has_required_change(&self, task: &HistoryTask) -> bool {
        if self.changed.is_empty() && !self.moved {
            return true;
        }
        task.changed.iter().any(|(file, change)| {
            (!self.moved || *change == TaskFileChange::Place)
                && (self.changed.is_empty() || self.changed.iter().any(|glob| glob::matches(glob, file)))
        })
    }

    /// Looks at the failures of a subject's patterns; of all where none is given.
    fn examine_failures(
        &self,
        history: &TaskHistory,
        settings: &Settings,
        wanted: Option<&DetectorSubject<'_>>,
    ) -> Option<DetectorFinding> {
        let least = self.min_tasks.unwrap_or(settings.patterns.recurring_tasks);
        // Messages are looked at only of patterns that may be in enough tasks.
        if let Some(subject) = wanted
            && (history.tasks_with(subject.patterns).count() as u64) < least
        {
            return None;
        }
        let is_about = |(_, known): &(i64, &HistoryPattern)| self.is_about(known);
        let about: BTreeMap<i64, &HistoryPattern> = match wanted {
            Some(DetectorSubject { patterns, known, .. }) => {
                let known = patterns.iter().filter_map(|pattern| Some((*pattern, known.get(pattern)?)));
                known.filter(is_about).collect()
            }
            None => history.named_patterns().filter(is_about).collect(),
        };
        let failed: Vec<i64> = about.keys().copied().collect();
        let (mut hits, mut of) = (0, 0);
        let mut patterns: BTreeSet<i64> = BTreeSet::new();
        let mut files: BTreeMap<&str, u64> = BTreeMap::new();
        for task in history.tasks_with(&failed) {
            let items = task.failures.iter().flat_map(|failure| failure.items.iter().map(move |seen| (failure, seen)));
            let matching: Vec<&FailurePattern> = items
                .filter(|(failure, seen)| about.contains_key(&seen.pattern) && self.matches_failure(failure, seen))
                .map(|(_, seen)| seen)
                .collect();
            of += u64::from(!matching.is_empty());
            if matching.is_empty() || !self.has_required_change(task) {
                continue;
            }
            hits += 1;
            patterns.extend(matching.iter().map(|seen| seen.pattern));
            for file in matching.iter().filter_map(|seen| seen.file.as_deref()) {
                *files.entry(file).or_default() += 1;
            }
        }
        if hits < least || (hits as f64) < self.min_share * of as f64 {
            return None;
        }
        let first = patterns.first().and_then(|pattern| about.get(pattern));
        let file = files.iter().max_by(|a, b| a.1.cmp(b.1).then(b.0.cmp(a.0))).map(|(file, _)| *file);
        let fill = |text: &str, max: usize| {
            let values = [
                hits.to_string(),
                of.to_string(),
                format_percent(hits, of),
                first.map_or_else(|| "the tool".to_owned(), |known| known.tool.clone()),
                first.and_then(|known| known.code.clone()).unwrap_or_else(|| "no code".to_owned()),
                file.unwrap_or("no file").to_owned(),
            ];
            // In one pass: what a value brings along is text and no placeholder.
            ellipsis(&one_line(&fill_placeholders(text, &values)), max)
        };
        Some(DetectorFinding {
            detector: self.name.clone(),
            title: fill(&self.title, TITLE_BYTES_MAX),
            summary: fill(&self.summary, SUMMARY_BYTES_MAX),
            patterns: patterns
                .iter()
                .take(PATTERNS_MAX)
                .filter_map(|pattern| Some(about.get(pattern)?.id.clone()))
                .collect(),
            hits,
            of,
            rule: self.rule.clone(),
            // Without a deed it says no more than the message does.
            names_pattern: self.moved || !self.changed.is_empty(),
            ..DetectorFinding::default()
        })
    }
}

impl Detector for DeclaredDetector {
    fn name(&self) -> &str {
        &self.name
    }

    fn is_naming(&self) -> bool {
        true
    }

    fn is_advising(&self) -> bool {
        true
    }

    fn examine_pattern(
        &self,
        subject: &DetectorSubject<'_>,
        history: &TaskHistory,
        settings: &Settings,
    ) -> Option<DetectorFinding> {
        let found = self.examine_failures(history, settings, Some(subject))?;
        Some(DetectorFinding { patterns: vec![subject.id.to_owned()], ..found })
    }

    fn find_rule(&self, pattern: &HistoryPattern, file: Option<&str>) -> Option<&str> {
        // A deed or a category is known of tasks and failures only.
        let is_by_message = self.changed.is_empty() && !self.moved && self.category.is_empty();
        let is_there =
            self.file.is_empty() || file.is_some_and(|file| self.file.iter().any(|wanted| glob::matches(wanted, file)));
        self.rule.as_deref().filter(|_| is_by_message && is_there && self.is_about(pattern))
    }

    fn examine_history(&self, history: &TaskHistory, settings: &Settings) -> Vec<DetectorFinding> {
        self.examine_failures(history, settings, None).into_iter().collect()
    }
}

/// The names in braces.
fn placeholder_names(text: &str) -> impl Iterator<Item = &str> {
    text.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0))
}

fn fill_placeholders(text: &str, values: &[String; PLACEHOLDERS.len()]) -> String {
    let mut parts = text.split('{');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let value = part.split_once('}').and_then(|(name, rest)| {
            let at = PLACEHOLDERS.iter().position(|placeholder| *placeholder == name)?;
            Some((&values[at], rest))
        });
        match value {
            Some((value, rest)) => {
                out.push_str(value);
                out.push_str(rest);
            }
            None => {
                out.push('{');
                out.push_str(part);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_shipped_detectors_compile() {
        let (shipped, faults) = load_layered(&[], &CategoryTable::default());
        assert_eq!(faults.len(), 0);
        for detector in shipped {
            assert_eq!(detector.message.check(), Ok(()), "{}", detector.name);
            assert!(detector.message.compile().is_some(), "{}", detector.name);
        }
    }
}
