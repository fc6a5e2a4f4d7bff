//! Events: the truth. One JSON line each; what the index holds is computed from them and nothing else.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::base::clock::Timestamp;
use crate::base::ids::RunId;
use crate::base::lossless::Lossless;
use crate::diagnose::{Severity, Shortfall};
use crate::run::Ended;
use crate::whitelist::CheckKind;

/// Version of the event format that this binary writes, and the highest one that it reads.
///
/// Raised when the meaning of a kind changes. A new kind needs no new version: an unknown kind counts as newer too.
pub const EVENT_VERSION: u32 = 1;

/// One line of a segment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// [`EVENT_VERSION`] of the writer.
    pub v: u32,
    /// Unique everywhere: importing is insert-or-ignore by it. A run's event has the run's id.
    pub id: Uuid,
    /// When it was recorded. Nothing depends on it growing from line to line.
    pub at: Timestamp,
    /// Who wrote it; the first part of the segment's name.
    pub writer: String,
    /// What happened.
    #[serde(flatten)]
    pub body: Body,
}

/// What happened; `kind` in the line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Body {
    /// A run, passed or failed.
    Run(Box<Run>),
    /// Something was done to a lesson after it had been written.
    Lesson(LessonChange),
    /// Runs whose text was removed. They stay removed, also when another writer's segment still has them.
    Purge(Purge),
}

/// The kinds this binary knows; a line with another one was written by a newer binary.
const KINDS: [&str; 3] = ["run", "lesson", "purge"];

/// A whole run, so that recording it is one append. Redacted, but not masked: keys can be recomputed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The command as typed, redacted.
    pub argv: Vec<Lossless>,
    /// The work tree or project, absolute.
    pub root: Lossless,
    /// Where the command ran, relative to `root` (empty at the root itself), absolute when outside.
    pub dir: Lossless,
    /// The command key.
    pub key: String,
    /// The whitelist's name of the tool; absent for `--record`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What the check does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckKind>,
    /// When the child was started.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
    /// Wall time by the monotonic clock, microseconds.
    pub duration_us: u64,
    /// How it ended.
    pub ended: Ended,
    /// The task, always known here.
    pub task: String,
    /// The sitting, if the wrapper could tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Which kind of worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The branch, without `refs/heads/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Bytes of output that were kept.
    #[serde(default)]
    pub kept_bytes: u64,
    /// Bytes of output that were cut out.
    #[serde(default)]
    pub cut_bytes: u64,
    /// Output was a file that other processes may have written to meanwhile.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
    /// What failed; absent on a pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}

/// What was found in a failed run's output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// `f-…`, derived from the run's id.
    pub id: String,
    /// Category name: one of [`crate::diagnose::Category`] or a user's own.
    pub category: String,
    /// Affected files, relative to the root; all of them.
    pub files: Vec<String>,
    /// What failed, in output order; equal ones in one file are counted in [`Item::count`].
    pub items: Vec<Item>,
    /// Items beyond the limit.
    #[serde(default)]
    pub items_cut: usize,
    /// Where a tool counts more than was read of its output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shortfalls: Vec<Shortfall>,
    /// The lines worth keeping, up to a limit.
    pub lines: Vec<String>,
    /// Lines beyond the limit.
    #[serde(default)]
    pub lines_cut: usize,
    /// Secrets that were replaced.
    #[serde(default)]
    pub redactions: usize,
    /// The lesson, or why there is none.
    pub lesson: LessonDecision,
}

/// Whether a failure got a lesson file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LessonDecision {
    /// A file was to be written.
    Written {
        /// `l-…`, derived from the run's id.
        id: String,
        /// The file's name in the lessons folder.
        file: String,
    },
    /// Every pattern already has a lesson.
    Known,
    /// Every pattern that has no lesson was forgotten by somebody.
    Forgotten,
    /// The run was cancelled: it says nothing about the code.
    Cancelled,
}

/// One diagnostic or failing test with its keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// The tool definition that found it.
    pub tool: String,
    /// Rule code, error code or exception class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// How bad.
    pub severity: Severity,
    /// The file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line of the first one, 1-based.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Column, 1-based.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub col: Option<u32>,
    /// The failing test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    /// The message, up to a limit.
    pub message: String,
    /// How many items this one stands for, at least 1.
    #[serde(default = "one")]
    pub count: u32,
    /// Key that tells equal items of one run.
    pub exact: String,
    /// Key of the pattern.
    pub pattern: String,
    /// Key of the family.
    pub family: String,
    /// The pattern's text: masked, subject kept.
    pub masked: String,
    /// The family's text: subject masked too.
    pub masked_family: String,
}

fn one() -> u32 {
    1
}

/// Something done to a lesson.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LessonChange {
    /// `l-…`.
    pub lesson: String,
    /// What was done.
    #[serde(flatten)]
    pub change: Change,
    /// Who did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// What was done to a lesson.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change {
    /// The file was removed and none is to be written for these patterns again.
    Forgotten {
        /// Pattern keys, or ids (`p-…`) when the lesson's run wasn't in the store.
        patterns: Vec<String>,
    },
    /// Somebody said why it failed, what solved it, or what to do from now on.
    Annotated {
        /// Why it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<String>,
        /// What solved it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resolution: Option<String>,
        /// What to do from now on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        corrective_rule: Option<String>,
    },
    /// The file was edited by hand.
    Edited {
        /// BLAKE3 of the file as found, hex.
        hash: String,
    },
}

/// Runs whose text was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Purge {
    /// Their ids.
    pub runs: Vec<RunId>,
}

impl Event {
    /// A new event with a fresh id.
    pub fn new(at: Timestamp, writer: &str, body: Body) -> Self {
        Event { v: EVENT_VERSION, id: Uuid::now_v7(), at, writer: writer.to_owned(), body }
    }

    /// The event of a run: its id is the run's, so that recording a run twice is one event.
    pub fn of_run(id: RunId, at: Timestamp, writer: &str, run: Run) -> Self {
        Event { v: EVENT_VERSION, id: id.0, at, writer: writer.to_owned(), body: Body::Run(Box::new(run)) }
    }

    /// The line, with its newline.
    pub fn line(&self) -> Vec<u8> {
        // Serialising these types can't fail: no map has keys that aren't strings.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

impl Body {
    /// The name in the line.
    pub fn kind(&self) -> &'static str {
        match self {
            Body::Run(_) => KINDS[0],
            Body::Lesson(_) => KINDS[1],
            Body::Purge(_) => KINDS[2],
        }
    }
}

/// A line read back.
#[derive(Debug)]
pub enum Line {
    /// An event that this binary understands.
    Event(Box<Event>),
    /// Written by a newer binary.
    Newer {
        /// Its version.
        v: u32,
        /// Its kind.
        kind: String,
    },
    /// Not an event.
    Bad,
}

/// Parses one line, without its newline.
pub fn parse(line: &[u8]) -> Line {
    #[derive(Deserialize)]
    struct Head {
        v: u32,
        kind: String,
    }
    let Ok(head) = serde_json::from_slice::<Head>(line) else { return Line::Bad };
    if head.v > EVENT_VERSION || !KINDS.contains(&head.kind.as_str()) {
        return Line::Newer { v: head.v, kind: head.kind };
    }
    serde_json::from_slice(line).map_or(Line::Bad, |event| Line::Event(Box::new(event)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sample;

    #[test]
    fn a_line_read_back_is_the_event() {
        let events = [
            sample::failed_run(1, "main", &["a", "b"]),
            sample::passed_run(2, "main"),
            Event::new(
                Timestamp(7),
                "w",
                Body::Lesson(LessonChange {
                    lesson: "l-x".into(),
                    change: Change::Forgotten { patterns: vec!["k".into()] },
                    by: None,
                }),
            ),
            Event::new(Timestamp(7), "w", Body::Purge(Purge { runs: vec![RunId::fresh()] })),
        ];
        for event in events {
            let line = event.line();
            match parse(line.strip_suffix(b"\n").expect("ends in a newline")) {
                Line::Event(read) => assert_eq!(*read, event),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn newer_versions_and_unknown_kinds_are_told_from_rubbish() {
        assert!(matches!(parse(br#"{"v":2,"kind":"run","x":1}"#), Line::Newer { v: 2, .. }));
        assert!(matches!(parse(br#"{"v":1,"kind":"warning"}"#), Line::Newer { .. }));
        assert!(matches!(parse(br#"{"v":1,"kind":"run"}"#), Line::Bad));
        assert!(matches!(parse(br#"{"v":1,"ki"#), Line::Bad));
    }
}
