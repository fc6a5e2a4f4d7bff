//! The pattern library, and jobs that wait for a machine that isolates them.

use std::path::Path;

use super::finding::{CheckStatus, Finding, new_finding, with_hint};
use crate::base::text;
use crate::config::StateDir;
use crate::lab::{LabAbility, LabLevel};

/// A page that is not what or where the records say. Agents do not get to read it, so that nothing is broken.
pub(crate) fn library_finding(file: &Path, why: &str) -> Finding {
    let finding = new_finding("library", CheckStatus::Warning, why, Some(file));
    with_hint(finding, "run `verify-run library check`")
}

/// That the pattern library could not be looked at.
pub(crate) fn library_unreadable(why: &str) -> Finding {
    new_finding("library", CheckStatus::Warning, format!("the pattern library cannot be checked: {why}"), None)
}

/// Jobs that need better isolation than there is, with the setting of the system that decides it.
pub(crate) fn check_waiting_jobs(state: &StateDir, waiting: usize, level: LabLevel) -> Finding {
    let ability = LabAbility::ask(state);
    let (what, setting) = ability.obstacle.map_or((None, None), |it| (Some(it.what), it.setting));
    let what = what.map_or_else(String::new, |what| format!(": {what}"));
    let verb = if waiting == 1 { "waits" } else { "wait" };
    let message = format!("{} {verb} for isolation by {}{what}", text::count(waiting, "job"), level.as_str());
    let finding = new_finding("jobs", CheckStatus::Warning, message, None);
    let lower = "or set learn.isolation in your own settings";
    match setting {
        Some(setting) => with_hint(finding, format!("{setting}, {lower}")),
        None => with_hint(finding, lower.trim_start_matches("or ")),
    }
}
