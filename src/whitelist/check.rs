//! The decision: the recognised check, and the meaning of its exit code.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::CheckKind;
use crate::command::KeyParts;

impl CheckKind {
    /// The word that the whitelist and the JSON use.
    pub fn as_str(self) -> &'static str {
        match self {
            CheckKind::Test => "test",
            CheckKind::Lint => "lint",
            CheckKind::Type => "type",
            CheckKind::Format => "format",
            CheckKind::Build => "build",
        }
    }
}

/// A recognised check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Check {
    /// The whitelist's name of the tool (`eslint`, `cargo-test`, `script:test`).
    pub tool: String,
    /// Kind of check.
    pub kind: CheckKind,
    /// Runners seen through, outermost first (`npx`, `timeout`).
    pub via: Vec<String>,
    /// What a person reads when asking why.
    pub why: String,
    /// What makes a script its own class: the file that defines it (`package.json`, `Makefile`), so that
    /// `make test` and `npm test` are two checks and `npm test` and `npm run test` one. `None` for tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<String>,
    /// The directory it runs in, seen from the working directory, when the command changes it (`cd web && …`,
    /// `make -C sub test`). Text of the command line: variables in it are not expanded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dir: Option<String>,
    /// The sub-command, where the rule knows several (`clippy`, `check`); it is one of the selectors, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub: Option<String>,
    /// Paths, test filters, packages, and the options that change what is checked; sorted. Reporter, colour,
    /// verbosity and jobs options are not in it. A workspace, container or other machine is written `@name`.
    /// Invalid UTF-8 is replaced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub selectors: Vec<String>,
    /// Names of further checks in the same line, in its order (`eslint . && tsc`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// The command line's status is this check's own: an exit code of 0 says that it passed. False behind a pipe,
    /// `;`, `||`, `!` or `&`.
    #[serde(default = "default_true")]
    pub status_is_own: bool,
    /// Runs in a container or on another machine: paths in its output are not paths here.
    #[serde(default, skip_serializing_if = "is_false")]
    pub elsewhere: bool,
    /// Was asked to repair what it can (`--fix`): the run may change files.
    #[serde(default, skip_serializing_if = "is_false")]
    pub fixes: bool,
    /// Nothing but the check is run: no shell line, no second script, no variable that may name a program, no other
    /// machine. What `--only-checks` asks for; recognition alone only says that a check is in it somewhere.
    #[serde(skip)]
    pub alone: bool,
}

impl Check {
    /// A check of this tool and kind, run as it is.
    pub fn new(tool: &str, kind: CheckKind) -> Self {
        Check {
            tool: tool.to_owned(),
            kind,
            via: Vec::new(),
            why: String::new(),
            manifest: None,
            dir: None,
            sub: None,
            selectors: Vec::new(),
            also: Vec::new(),
            status_is_own: true,
            elsewhere: false,
            fixes: false,
            alone: false,
        }
    }
}

fn default_true() -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// Whether a command is a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckDecision {
    /// It is a check.
    Check(Check),
    /// It isn't, or only running it would tell.
    NotACheck {
        /// What a person reads when asking why.
        why: String,
    },
}

impl CheckDecision {
    /// The check, if it is one.
    pub fn into_check(self) -> Option<Check> {
        match self {
            CheckDecision::Check(check) => Some(check),
            CheckDecision::NotACheck { .. } => None,
        }
    }
}

/// What a tool's exit code says about the run, as far as it was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitMeaning {
    /// The tool ran; the project has a problem.
    Findings,
    /// The tool did not do its job: usage, configuration, crash.
    DidNotRun,
    /// Nothing was checked: no tests, no files.
    Empty,
    /// The code alone cannot tell; the output has to.
    Mixed,
}

/// The parts of the command key of a run; `check` is `None` for a run under `--record` that is not a check.
pub fn command_key_parts(worktree: &Path, cwd: &Path, check: Option<&Check>, argv: &[OsString]) -> KeyParts {
    match check {
        Some(check) => KeyParts {
            worktree: worktree.to_owned(),
            subject: {
                // A pass in a container does not answer for a failure outside of it.
                let place = if check.elsewhere { "elsewhere:" } else { "" };
                match (&check.manifest, check.tool.strip_prefix("script:")) {
                    (Some(manifest), Some(name)) => format!("{place}{manifest}:{name}"),
                    _ => format!("{place}{}", check.tool),
                }
            },
            kind: check.kind.as_str().to_owned(),
            directory: KeyParts::directory(worktree, cwd, check.dir.as_deref().map(Path::new)),
            selectors: check.selectors.iter().map(OsString::from).collect(),
        },
        None => {
            let program = argv.first().map_or(OsStr::new(""), OsString::as_os_str);
            let name = Path::new(program).file_name().unwrap_or(program);
            KeyParts {
                worktree: worktree.to_owned(),
                subject: format!("command:{}", name.to_string_lossy()),
                kind: String::new(),
                directory: KeyParts::directory(worktree, cwd, None),
                selectors: argv.iter().skip(1).cloned().collect(),
            }
        }
    }
}

/// The command key, 32 hex characters: runs with the same key are the same check (DESIGN's "command key").
pub fn command_key(worktree: &Path, cwd: &Path, check: Option<&Check>, argv: &[OsString]) -> String {
    command_key_parts(worktree, cwd, check, argv).hash()
}
