//! The tool that printed a finding, by the command.

use std::borrow::Cow;

use crate::diagnose::catalog::Catalog;
use crate::diagnose::definition::ToolText;
use crate::diagnose::engine::RawDiagnostic;
use crate::diagnose::{Category, DiagnosisInput, category};
use crate::whitelist::CheckKind;

/// What the command line reveals about the tools.
pub(super) struct CommandHints<'a> {
    /// The whitelist's name and kind of the check.
    check: Option<(&'a str, CheckKind)>,
    /// Of each definition whether the command names it.
    named: &'a [bool],
    /// The one definition that the command names.
    printer: Option<&'a str>,
}

impl<'a> CommandHints<'a> {
    pub(super) fn new(input: &DiagnosisInput<'a>, catalog: &'a Catalog, named: &'a [bool]) -> Self {
        let checks = |tool: &&ToolText| {
            use Category::{BuildError, LintError, TestFailure, TypeError};
            !tool.shared && matches!(tool.category, Some(BuildError | LintError | TestFailure | TypeError))
        };
        let tools =
            || catalog.tools.iter().zip(named).filter(|(_, named)| **named).map(|(tool, _)| tool).filter(checks);
        let is_check = |tool: &&ToolText| input.tool.is_some_and(|name| tool.tools.iter().any(|own| own == name));
        let only = || tools().next().filter(|_| tools().count() == 1);
        let printer = tools().find(is_check).or_else(only).map(|tool| tool.name.as_str());
        CommandHints { check: input.tool.zip(input.kind), named, printer }
    }

    /// The tool that a document is of: the one that was called, so that it says the same in every format.
    pub(super) fn printing_tool(&self) -> &'a str {
        self.printer.unwrap_or("generic")
    }

    /// The tool of an item. A check whose lines only look like another tool's speaks for itself.
    pub(super) fn tool_of<'t>(&self, catalog: &'t Catalog, found: &RawDiagnostic<'_>) -> &'t str
    where
        'a: 't,
    {
        match self.check {
            Some((name, kind)) if category::is_form_only(kind, catalog, self.named, found) => name,
            Some((name, _)) if !self.named[found.tool()] && is_usage(found) => name,
            _ => &catalog.tools[found.tool()].name,
        }
    }
}

/// Whether an item is what a library says that reads command lines for many tools: the tool that was called said it.
fn is_usage(found: &RawDiagnostic<'_>) -> bool {
    let words = [
        "unexpected argument",
        "unrecognized subcommand",
        "the following required",
        "invalid value '",
        "the argument '",
    ];
    found.decides && words.iter().any(|word| found.message.starts_with(word))
}

/// A code as its tool spells it first: clippy has `clippy::len-zero` and `clippy::len_zero` for one lint.
pub(super) fn canonical_code(code: &str) -> String {
    let code = if code.starts_with("clippy::") { Cow::Owned(code.replace('_', "-")) } else { Cow::Borrowed(code) };
    code.into_owned()
}
