//! A trial of the installed command lines: they are sent what the host sends, in a project of their own.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::base::text::{ellipsis, one_line};
use crate::config::Environment;
use crate::host::agent::Agent;
use crate::host::agent::probe::{self, ProbeLine};
use crate::host::dialect::Dialect;
use crate::host::process::{OrphanReaper, ProcessAnswer, ProcessCall, run};

/// How long a hook may take, milliseconds; hosts wait for so long.
const ANSWER_MS_MAX: u64 = 5_000;
/// How long the record of the trial may take, milliseconds.
const RECORD_MS_MAX: u64 = 20_000;
/// Of what a command said, bytes.
const SAID_BYTES_MAX: usize = 160;

/// A project that is there for a moment, so that nothing of the trial stays.
pub(super) struct TrialProject {
    folder: TempDir,
    /// Recorders that hooks leave behind are at work in the folder.
    orphanage: OrphanReaper,
}

impl Drop for TrialProject {
    fn drop(&mut self) {
        self.orphanage.wait(Duration::from_millis(RECORD_MS_MAX));
    }
}

impl TrialProject {
    #[allow(clippy::disallowed_methods, reason = "a folder that is there for a moment")]
    /// A trial in the folder for temporary files.
    pub(super) fn new(environment: &Environment) -> std::io::Result<Self> {
        let place = environment.tmpdir.clone().unwrap_or_else(|| PathBuf::from("/tmp"));
        let folder = tempfile::Builder::new().prefix("verify-run-doctor-").tempdir_in(place)?;
        // A repository of its own, as far as places go: the trial's records are in it.
        for dir in [".git", ".git/objects", ".git/refs"] {
            fs::create_dir(folder.path().join(dir))?;
        }
        fs::write(folder.path().join(".git/HEAD"), "ref: refs/heads/main\n")?;
        Ok(TrialProject { folder, orphanage: OrphanReaper::open() })
    }

    fn call_line(&self, line: &str, input: &[u8], limit_ms: u64) -> std::io::Result<ProcessAnswer> {
        let dir = self.folder.path();
        let argv = ["sh", "-c", line].map(OsString::from);
        let (environment_file, session) = (dir.join(".git/environment"), OsStr::new("verify-run-doctor"));
        let variables = [
            ("CLAUDE_PROJECT_DIR", Some(dir.as_os_str())),
            ("CLAUDE_ENV_FILE", Some(environment_file.as_os_str())),
            ("VERIFY_RUN_SESSION", Some(session)),
            ("VERIFY_RUN_TASK", None),
            ("VERIFY_RUN_AGENT", None),
        ];
        run(ProcessCall { argv: &argv, dir, variables: &variables, input, limit: Duration::from_millis(limit_ms) })
    }

    /// How long a line takes to answer, milliseconds.
    pub(super) fn try_hook(&self, agent: &Agent, line: &ProbeLine) -> Result<u128, String> {
        if line.runs == "mcp" {
            return self.try_server(line);
        }
        let moment = line.runs.rsplit(' ').next().unwrap_or_default();
        let payload = probe::payload(agent.name, moment, self.folder.path()).ok_or("no sample input is known")?;
        let answer = self.run_to_end(line, payload.to_string().as_bytes())?;
        let neutral = Dialect::named(agent.name).map_or("", |dialect| dialect.neutral);
        probe::judge(agent.name, neutral, &answer.stdout)?;
        Ok(answer.took.as_millis())
    }

    /// Whether the MCP server says what it is.
    fn try_server(&self, line: &ProbeLine) -> Result<u128, String> {
        let client = json!({"name": "verify-run doctor", "version": env!("CARGO_PKG_VERSION")});
        let parameters = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": parameters});
        let answer = self.run_to_end(line, format!("{hello}\n").as_bytes())?;
        let text = String::from_utf8_lossy(&answer.stdout);
        let mut lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let is_answer = |it: &Value| it.get("id") == Some(&json!(1)) && it.get("result").is_some();
        if lines.any(|it| is_answer(&it)) {
            Ok(answer.took.as_millis())
        } else {
            Err("it does not identify itself".into())
        }
    }

    fn run_to_end(&self, line: &ProbeLine, input: &[u8]) -> Result<ProcessAnswer, String> {
        let answer =
            self.call_line(&line.line, input, ANSWER_MS_MAX).map_err(|error| format!("can't be run: {error}"))?;
        let Some(status) = answer.status else { return Err(format!("no answer within {ANSWER_MS_MAX} ms")) };
        if status.success() {
            return Ok(answer);
        }
        let said = String::from_utf8_lossy(&answer.stderr);
        let said = one_line(&ellipsis(said.lines().next().unwrap_or_default(), SAID_BYTES_MAX));
        Err(format!("{status}{}{said}", if said.is_empty() { "" } else { ": " }))
    }

    /// Whether the reported failed check was recorded.
    pub(super) fn is_recorded(&self) -> bool {
        let answer = self.call_line("verify-run last --json", b"", RECORD_MS_MAX);
        let last = answer.ok().and_then(|answer| serde_json::from_slice::<Value>(&answer.stdout).ok());
        last.is_some_and(|last| last.to_string().contains("cargo test"))
    }
}
