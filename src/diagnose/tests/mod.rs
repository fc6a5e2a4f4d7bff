//! The whole of diagnosis from outside: known failures of other parsers, and properties of every output.

mod pitfalls;
mod properties;
mod unseen;

use crate::base::tree::{EmptyTree, FileTree, ends_with_path};
use crate::diagnose::{DefinitionSet, Diagnosis, DiagnosisInput, Diagnostic, diagnose_output};
use crate::run::CommandEnd;

/// A project of these files.
struct Files(&'static [&'static str]);

impl FileTree for Files {
    fn contains(&self, path: &str) -> bool {
        self.0.contains(&path)
    }

    fn find_tail(&self, tail: &str) -> Option<String> {
        let mut fits = self.0.iter().filter(|path| ends_with_path(path, tail));
        fits.next().filter(|_| fits.next().is_none()).map(|path| (*path).to_owned())
    }
}

/// The diagnosis of a run that ended with 1, without a project.
fn diagnosed(command: &str, output: impl AsRef<[u8]>) -> Diagnosis {
    diagnosed_in(&EmptyTree, command, output)
}

/// … in a project with these files.
fn diagnosed_in(tree: &dyn FileTree, command: &str, output: impl AsRef<[u8]>) -> Diagnosis {
    diagnose_output(&DiagnosisInput {
        output: output.as_ref(),
        command,
        tool: None,
        kind: None,
        ended: CommandEnd::Exit(1),
        dir: "",
        root: "/home/dev/project",
        tree,
        baseline: None,
        definitions: &DefinitionSet::shipped_only(),
    })
}

/// Where items are: `file:line`.
fn places<'a>(items: impl IntoIterator<Item = &'a Diagnostic>) -> Vec<String> {
    let place = |item: &Diagnostic| {
        let line = item.line.map_or_else(|| "-".to_owned(), |line| line.to_string());
        format!("{}:{line}", item.file.as_deref().unwrap_or("-"))
    };
    items.into_iter().map(place).collect()
}
