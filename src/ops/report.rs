//! `report`: a recorded run in the formats that CI systems and editors read.
//!
//! The formats, and whose word counts for each: SARIF 2.1.0 (OASIS), JUnit XML (the schemas of Jenkins' and Ant's
//! tasks, both), GitLab's code quality report, GitHub's workflow commands, Checkstyle's XML.

mod checkstyle;
mod github;
mod gitlab;
mod junit;
mod sarif;
#[cfg(test)]
mod tests;
mod text;

use crate::base::clock::Timestamp;
use crate::base::lossless::Lossless;
use crate::base::text::count;
use crate::config::Places;
use crate::event::{DiagnosticRecord, Run};
use crate::run::Ended;
use crate::store::StoreError;

use super::reading;

/// A format to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// SARIF 2.1.0, one run a tool.
    Sarif,
    /// JUnit XML.
    Junit,
    /// GitLab's code quality report.
    Gitlab,
    /// GitHub's workflow commands.
    Github,
    /// Checkstyle's XML.
    Checkstyle,
}

/// A recorded run to report on.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    /// The run's id.
    pub id: String,
    /// The run.
    pub run: Run,
}

/// A document in one of the formats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rendered {
    /// The document, ending in a newline; empty when the format has nothing to say of a run that passed.
    pub text: String,
    /// What the document leaves out, for standard error.
    pub notes: Vec<String>,
}

/// The run to report on: by the id of a run, failure, lesson or pattern (its newest run), else the last one of this
/// work tree. `None` when nothing is recorded. With notes for standard error.
///
/// # Errors
/// No such id, an ambiguous one, or the store can't be read.
pub(crate) fn find(places: &Places, id: Option<&str>) -> Result<(Option<Subject>, Vec<String>), StoreError> {
    let reading = reading::open_for_reading(places)?;
    let Some(index) = &reading.index else {
        return match id {
            Some(id) => Err(StoreError::NoSuchId { id: id.to_owned() }),
            None => Ok((None, reading.notes)),
        };
    };
    let id = match id {
        Some(id) => index.runs_of_id(id)?.into_iter().map(|run| run.to_string()).max(),
        None => index.last_run(&Lossless::from(&places.root), Timestamp::now())?.map(|run| run.id),
    };
    let Some(id) = id else { return Ok((None, reading.notes)) };
    let run = index.read_run(&reading.segments, &id)?;
    Ok((run.map(|run| Subject { id, run }), reading.notes))
}

/// Writes runs in a format, all of them in one document.
pub(crate) fn render(subjects: &[Subject], format: Format) -> Rendered {
    let mut notes = Vec::new();
    let text = match format {
        Format::Sarif => sarif::render_sarif(subjects),
        Format::Junit => junit::render_junit(subjects),
        Format::Gitlab => gitlab::render_code_quality(subjects),
        Format::Github => github::render_annotations(subjects),
        Format::Checkstyle => checkstyle::render_checkstyle(subjects),
    };
    let cut: usize = subjects.iter().map(Subject::cut).sum();
    if cut > 0 {
        notes.push(format!("{} more than a record holds are missing here", count(cut, "problem")));
    }
    Rendered { text, notes }
}

/// The items of some runs, each with its run.
fn items(subjects: &[Subject]) -> impl Iterator<Item = (&Subject, &DiagnosticRecord)> {
    subjects.iter().flat_map(|subject| subject.items().iter().map(move |item| (subject, item)))
}

impl Subject {
    /// Failed, and nobody could tell what.
    fn is_unexplained(&self) -> bool {
        !self.run.ended.passed() && self.items().is_empty()
    }

    /// How it ended, for people.
    pub(super) fn ending(&self) -> String {
        match self.run.ended {
            Ended::Exit(code) => format!("exit code {code}"),
            Ended::Signal(signal) => format!("ended by signal {signal}"),
        }
    }

    pub(super) fn items(&self) -> &[DiagnosticRecord] {
        self.run.failure.as_ref().map_or(&[], |failure| &failure.items)
    }

    pub(super) fn cut(&self) -> usize {
        self.run.failure.as_ref().map_or(0, |failure| failure.items_cut)
    }

    fn category(&self) -> &str {
        self.run.failure.as_ref().map_or("other", |failure| &failure.category)
    }

    pub(super) fn command(&self) -> String {
        text::bounded_text(&shell_words::join(self.run.argv.iter().map(Lossless::display)))
    }

    fn tool(&self) -> String {
        self.run.tool.clone().unwrap_or_else(|| "verify-run".to_owned())
    }

    /// The tools of the items, in the order in which they come; the run's own when there are none.
    fn tools(&self) -> Vec<String> {
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

/// The name of the rule that an item breaks; the run's category for one without a code.
pub(super) fn rule<'a>(item: &'a DiagnosticRecord, subject: &'a Subject) -> &'a str {
    item.code.as_deref().unwrap_or_else(|| subject.category())
}

/// What an item says, never empty.
pub(super) fn message(item: &DiagnosticRecord) -> String {
    let said = match (&item.test, item.message.trim()) {
        (Some(test), "") => format!("{test} failed"),
        (Some(test), message) => format!("{test}: {message}"),
        (None, "") => format!("{} failed", item.tool),
        (None, message) => message.to_owned(),
    };
    let times = if item.count > 1 { format!(" ({} times in this file)", item.count) } else { String::new() };
    text::bounded_text(&said) + &times
}
