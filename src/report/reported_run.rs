//! A run in a report, with the facts that every format shows.

use super::text;
use crate::base::lossless::Lossless;
use crate::event::{DiagnosticRecord, Run};
use crate::run::CommandEnd;

/// A recorded run to report on.
#[derive(Debug, Clone)]
pub(crate) struct ReportedRun {
    /// The run's id.
    pub id: String,
    /// What is recorded of it.
    pub record: Run,
}

impl ReportedRun {
    /// Whether it failed without a diagnostic that says why.
    pub(super) fn is_unexplained(&self) -> bool {
        !self.record.ended.passed() && self.items().is_empty()
    }

    /// How it ended, for people.
    pub(super) fn ending(&self) -> String {
        match self.record.ended {
            CommandEnd::Exit(code) => format!("exit code {code}"),
            CommandEnd::Signal(signal) => format!("ended by signal {signal}"),
        }
    }

    /// What its output says, as recorded.
    pub(crate) fn items(&self) -> &[DiagnosticRecord] {
        self.record.failure.as_ref().map_or(&[], |failure| &failure.items)
    }

    /// Number of diagnostics that the record has no room for.
    pub(super) fn cut(&self) -> usize {
        self.record.failure.as_ref().map_or(0, |failure| failure.items_cut)
    }

    pub(super) fn category(&self) -> &str {
        self.record.failure.as_ref().map_or("other", |failure| &failure.category)
    }

    /// The command line, as a shell would read it.
    pub(super) fn command(&self) -> String {
        text::bounded_text(&shell_words::join(self.record.argv.iter().map(Lossless::display)))
    }

    pub(super) fn tool(&self) -> String {
        self.record.tool.clone().unwrap_or_else(|| "verify-run".to_owned())
    }

    /// The tools of the items in their order; the run's own tool if there are none.
    pub(super) fn tools(&self) -> Vec<String> {
        let mut tools: Vec<String> = Vec::new();
        for item in self.items() {
            if !tools.contains(&item.tool) {
                tools.push(item.tool.clone());
            }
        }
        if tools.is_empty() {
            tools.push(self.tool());
        }
        tools
    }
}

/// The items of several runs, each with its run.
pub(super) fn items_of_runs(runs: &[ReportedRun]) -> impl Iterator<Item = (&ReportedRun, &DiagnosticRecord)> {
    runs.iter().flat_map(|run| run.items().iter().map(move |item| (run, item)))
}

/// The name of the rule that an item breaks; the run's category for one without a code.
pub(super) fn rule_name<'a>(item: &'a DiagnosticRecord, run: &'a ReportedRun) -> &'a str {
    item.code.as_deref().unwrap_or_else(|| run.category())
}

/// The message of an item, never empty.
pub(super) fn message_text(item: &DiagnosticRecord) -> String {
    let said = match (&item.test, item.message.trim()) {
        (Some(test), "") => format!("{test} failed"),
        (Some(test), message) => format!("{test}: {message}"),
        (None, "") => format!("{} failed", item.tool),
        (None, message) => message.to_owned(),
    };
    let times = if item.count > 1 { format!(" ({} times in this file)", item.count) } else { String::new() };
    text::bounded_text(&said) + &times
}
