//! The files that a rule looks at.

use crate::base::glob;

/// Globs. Each process asks a few paths for all rules: regexes cost more to compile than is ever matched.
#[derive(Debug)]
pub(super) struct FileGlobs(Vec<String>);

impl FileGlobs {
    /// `globs` are in lower case. Without a `/` one is of a file's name, else of the end of its path.
    pub(super) fn new(globs: &[String]) -> Self {
        FileGlobs(globs.iter().map(|glob| format!("**/{glob}")).collect())
    }

    /// Whether one of them matches `path`, which is in lower case.
    pub(super) fn is_match(&self, path: &str) -> bool {
        self.0.iter().any(|glob| glob::matches(glob, path))
    }
}
