//! A run and its failure.

use serde::{Deserialize, Serialize};

use super::phase::WorkPhase;
use super::scope::Scope;
use crate::base::clock::Timestamp;
use crate::base::limits::EVENT_MESSAGE_BYTES_MAX;
use crate::base::lossless::Lossless;
use crate::base::text::ellipsis;
use crate::capture::ObservedVia;
use crate::diagnose::{Diagnostic as Found, Severity, Shortfall};
use crate::fingerprint::{self, FINGERPRINT_VERSION, Fingerprint};
use crate::run::CommandEnd;
use crate::whitelist::CheckKind;

/// A whole run, so that recording it is one append. Redacted, but not masked: keys can be recomputed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Run {
    /// The command as typed, redacted.
    pub argv: Vec<Lossless>,
    /// The work tree or project, absolute.
    pub root: Lossless,
    /// Where the command ran, relative to `root` (empty at the root itself), absolute when outside.
    pub dir: Lossless,
    /// The command key.
    pub key: String,
    /// What it checked; absent in runs that older binaries recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// The whitelist's name of the tool; absent for `--record`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What the check does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckKind>,
    /// When the child was started.
    pub started_at: Timestamp,
    pub ended_at: Timestamp,
    /// Wall time by the monotonic clock, microseconds.
    pub duration_us: u64,
    pub ended: CommandEnd,
    /// The task, always known here.
    pub task: String,
    /// The phase of the task, if it was announced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<WorkPhase>,
    /// The sitting, if the wrapper could tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Agent, the kind of worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The language model at work, where the caller or its host names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The branch, without `refs/heads/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
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
    /// Some output went to a device, or to a reader that left before the end: what it doesn't report may be there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partly_seen: bool,
    /// Tests that ran, as the runner's own closing line says; of a test run whose output was kept whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<u64>,
    /// Some tests had no turn, as the runner says.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped_early: bool,
    /// Digest of the environment variables that change what checks do, 32 hex digits; of runs that were kept whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    /// Digest of the files of the programs that ran, 32 hex digits; absent where it isn't known what they were when the
    /// run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Who saw it, where no wrapper did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_via: Option<ObservedVia>,
    /// The agent's name for the call that it saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// What failed; absent on a pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}

/// What was found in a failed run's output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Failure {
    /// `f-…`, derived from the run's id.
    pub id: String,
    /// A category's name ([`crate::config::Category`]), declared here or not; what is none counts as `other`.
    pub category: String,
    /// The description of a user-defined category, as declared.
    #[serde(default, alias = "category_means", skip_serializing_if = "Option::is_none")]
    pub category_description: Option<String>,
    /// Affected files, relative to the root, up to a limit.
    pub files: Vec<String>,
    /// What failed, in output order; equal ones in one file are counted in [`DiagnosticRecord::count`].
    pub items: Vec<DiagnosticRecord>,
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
    /// Lines of a very long output that were not looked at.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lines_unread: usize,
    /// Affected files beyond the limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub files_cut: usize,
    /// Secrets that were replaced.
    #[serde(default)]
    pub redactions: usize,
    /// The lesson, or why there is none.
    pub lesson: LessonDecision,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Whether a failure got a lesson file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum LessonDecision {
    /// A file was to be written.
    Written {
        /// `l-…`, derived from its leading pattern.
        id: String,
        /// The file's name in the lessons folder.
        file: String,
        /// Keys of the failure's patterns that another lesson is about.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        elsewhere: Vec<String>,
    },
    /// Every pattern already has a lesson.
    Known,
    /// A user forgot the lesson of every pattern without one.
    Forgotten,
    /// The run was cancelled: its result does not depend on the code.
    Cancelled,
    /// A lesson would be useless.
    Unwanted { why: NoLessonReason },
}

impl LessonDecision {
    /// Whether the run's result does not depend on the code: it was called wrongly or ended by a user.
    pub(crate) fn is_uninformative(&self) -> bool {
        let unwanted = [NoLessonReason::UsageError, NoLessonReason::Interrupted, NoLessonReason::Watch];
        matches!(self, LessonDecision::Unwanted { why } if unwanted.contains(why))
    }

    /// Whether a user interrupted the run.
    pub(crate) fn is_interrupted(&self) -> bool {
        matches!(self, LessonDecision::Unwanted { why: NoLessonReason::Interrupted })
    }
}

/// Why a failure gets no lesson.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum NoLessonReason {
    /// The tool was called in a way that it does not know: a mistyped option or file.
    UsageError,
    /// A user interrupted the run, whatever exit code the tool gave.
    Interrupted,
    /// The tool watched the files until a user ended it.
    Watch,
    /// The output went to a device, or its reader left before the end.
    Unseen,
    /// The fix is to run the formatter.
    Formatter,
}

/// One diagnostic or failing test with its keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct DiagnosticRecord {
    /// The tool definition that found it.
    pub tool: String,
    /// Rule code, error code or exception class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    pub severity: Severity,
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
    /// How many items this one represents, at least 1.
    #[serde(default = "default_count")]
    pub count: u32,
    /// The other failing tests that it represents, up to a limit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_tests: Vec<String>,
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

/// Tests that an item names beside its first one.
const OTHER_TESTS_MAX: usize = 100;
/// How the message ends of the one item of a failing run in whose output nothing was found.
pub(crate) const NAMES_NO_PROBLEM: &str = "and no output that names a problem";
/// What the message of that item says of a run that a signal ended, before the signal's number.
pub(crate) const ENDED_BY_SIGNAL: &str = "was ended by signal";

impl DiagnosticRecord {
    /// Whether the item only says that something failed. Runs that do are recorded, but what they have in common isn't a
    /// cause: it is no pattern.
    pub(crate) fn is_uninformative(&self) -> bool {
        let message = self.message.trim();
        let by_signal =
            || message.rsplit_once(ENDED_BY_SIGNAL).is_some_and(|(_, signal)| signal.trim().parse::<u32>().is_ok());
        let says_how_it_ended = message.is_empty() || message.ends_with(NAMES_NO_PROBLEM) || by_signal();
        self.file.is_none() && self.test.is_none() && self.code.is_none() && says_how_it_ended
    }

    /// The keys as this version computes them, where the event has another version's.
    pub(crate) fn recomputed_fingerprint(&self) -> Option<Fingerprint> {
        (fingerprint::key_version(&self.pattern) != Some(FINGERPRINT_VERSION))
            .then(|| fingerprint::compute_fingerprint(&self.to_diagnostic()))
    }

    /// What was found, with its keys.
    pub(crate) fn new(found: &Found, keys: Fingerprint) -> Self {
        DiagnosticRecord {
            tool: found.tool.clone(),
            code: found.code.clone(),
            severity: found.severity,
            file: found.file.clone(),
            line: found.line,
            col: found.col,
            test: found.test.clone(),
            message: ellipsis(&found.message, EVENT_MESSAGE_BYTES_MAX),
            count: 1,
            other_tests: Vec::new(),
            exact: keys.exact,
            pattern: keys.pattern,
            family: keys.family,
            masked: keys.masked,
            masked_family: keys.masked_family,
        }
    }

    /// Counts another item that is equal to this one, of this test.
    pub(crate) fn add_equal(&mut self, test: Option<&String>) {
        self.count += 1;
        let is_new = |test: &&String| self.test.as_ref() != Some(*test) && !self.other_tests.contains(test);
        if self.other_tests.len() < OTHER_TESTS_MAX {
            self.other_tests.extend(test.filter(is_new).cloned());
        }
    }

    /// The failing tests that it represents, as far as they are named.
    pub(crate) fn tests(&self) -> impl Iterator<Item = &String> {
        self.test.iter().chain(&self.other_tests)
    }

    /// The item as it was found, without its place in the output.
    pub(crate) fn to_diagnostic(&self) -> Found {
        Found {
            tool: self.tool.clone(),
            code: self.code.clone(),
            severity: self.severity,
            file: self.file.clone(),
            line: self.line,
            col: self.col,
            message: self.message.clone(),
            test: self.test.clone(),
            span: (0, 0),
        }
    }
}

fn default_count() -> u32 {
    1
}
