//! The functions that items judge.

use std::collections::BTreeMap;

use super::change::ChangedFile;
use crate::gate::measure::{FunctionMeasure, SourceLanguage, find_earlier_version, measure_functions};

/// A function that an item judges.
#[derive(Debug, Clone)]
pub(super) struct JudgedFunction {
    pub path: String,
    pub name: String,
    pub line: u32,
    pub complexity: u32,
    /// Its complexity in the base; `None` of a new one.
    pub before: Option<u32>,
    pub has_documentation: bool,
}

impl JudgedFunction {
    /// Whether the change made it worse, or made it.
    pub(super) fn is_worse(&self) -> bool {
        self.before.is_none_or(|before| self.complexity > before)
    }

    pub(super) fn place(&self) -> String {
        format!("{}, {}:{}", self.name, self.path, self.line)
    }
}

/// The functions that were measured, by the project's folder and stack and by whether they are those of the whole tree.
pub(super) type FunctionsByScope = BTreeMap<(String, Option<String>, bool), JudgedFunctions>;

/// The functions of a project that an item judges.
#[derive(Debug, Clone, Default)]
pub(super) struct JudgedFunctions {
    pub functions: Vec<JudgedFunction>,
    /// Files that could not be measured, with the reason.
    pub unread: Vec<String>,
}

impl JudgedFunctions {
    pub(super) fn extend(&mut self, further: JudgedFunctions) {
        self.functions.extend(further.functions);
        self.unread.extend(further.unread);
    }

    pub(super) fn note_unread(&mut self, path: &str) {
        self.unread.push(format!("{path} cannot be measured: it is larger than 2 MiB or no text"));
    }

    pub(super) fn add_file(
        &mut self,
        path: &str,
        after: &str,
        before: Option<&str>,
        is_judged: impl Fn(&FunctionMeasure) -> bool,
    ) {
        let Some(language) = SourceLanguage::from_path(path) else { return };
        let now = match measure_functions(language, after) {
            Ok(now) => now,
            Err(error) => {
                self.unread.push(format!("{path} cannot be measured: {error}"));
                return;
            }
        };
        let earlier = before.and_then(|before| measure_functions(language, before).ok()).unwrap_or_default();
        for function in now.iter().filter(|function| is_judged(function)) {
            let before = find_earlier_version(function, &now, &earlier).map(|earlier| earlier.complexity);
            self.functions.push(JudgedFunction {
                path: path.to_owned(),
                name: function.name.clone(),
                line: function.first_line,
                complexity: function.complexity,
                before,
                has_documentation: function.has_documentation,
            });
        }
    }
}

impl ChangedFile {
    /// Whether the change adds a line within these, or removes one between them.
    pub(super) fn touches(&self, first: u32, last: u32) -> bool {
        self.touched.iter().any(|line| (first..=last).contains(line))
    }
}
