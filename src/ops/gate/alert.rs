//! Runs the user's command when a person has to look: at an escalation, a halt, and a ship that failed.

use std::ffi::{OsStr, OsString};
use std::time::Duration;

use super::own_program::check_own_program;
use super::run::GateStanding;
use super::session::SessionFiles;
use super::ship::fact_variables;
use crate::gate::report::status_recommendation;
use crate::host::process::{self, ProcessCall};
use crate::ops::request::Request;

/// How long the command may take.
const ALERT_TIME: Duration = Duration::from_secs(10);

/// What a person has to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GateAlert {
    /// Too many trees were rejected.
    Escalated,
    /// The circuit breaker opened.
    Halted,
    /// The approved tree was not shipped.
    ShipFailed,
}

impl GateAlert {
    /// The word in `VERIFY_RUN_ALERT`.
    fn as_str(self) -> &'static str {
        match self {
            GateAlert::Escalated => "escalated",
            GateAlert::Halted => "halted",
            GateAlert::ShipFailed => "ship_failed",
        }
    }
}

/// Runs the command of `[gate] alert` with the facts as variables, and without a shell. What goes wrong is a sentence for
/// people: an alert never changes a verdict.
pub(crate) fn send_alert(
    request: &Request,
    standing: &GateStanding,
    files: &SessionFiles,
    alert: GateAlert,
    reason: Option<&str>,
) -> Option<String> {
    let words = &request.settings().gate.alert;
    if words.is_empty() {
        return None;
    }
    if let Err(error) = check_own_program(words, "`[gate] alert`") {
        return Some(error.to_string());
    }
    let command: Vec<OsString> = words.iter().map(OsString::from).collect();
    let said = standing.view().map(|view| status_recommendation(&view)).unwrap_or_default();
    let mut variables = fact_variables(request, standing, files.report.as_deref());
    variables.push(("VERIFY_RUN_ALERT", alert.as_str().into()));
    variables.push(("VERIFY_RUN_REASON", reason.map_or(said, str::to_owned).into()));
    let variables: Vec<(&str, Option<&OsStr>)> =
        variables.iter().map(|(name, value)| (*name, Some(value.as_os_str()))).collect();
    let dir = &request.places.root;
    let call = ProcessCall { argv: &command, dir, variables: &variables, input: b"", limit: ALERT_TIME };
    let trouble = match process::run(call) {
        Err(error) => format!("cannot be started: {error}"),
        Ok(answer) => match answer.status {
            Some(status) if status.success() => return None,
            Some(status) => format!("ended with {status}"),
            None => format!("took longer than {} s", ALERT_TIME.as_secs()),
        },
    };
    Some(format!("the command of `[gate] alert` {trouble}"))
}
