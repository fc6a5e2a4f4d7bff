//! `--hint stderr`: one line after a failure that is known, in time or not at all.

use std::sync::mpsc;
use std::thread;

use crate::capture::SpooledRun;
use crate::config::{Environment, Places};
use crate::ops::hint;
use crate::ops::request::Request;
use crate::run;

/// By option, else by `VERIFY_RUN_HINT=stderr`.
pub(super) fn is_wanted(option: Option<bool>) -> bool {
    option.unwrap_or_else(|| std::env::var_os("VERIFY_RUN_HINT").is_some_and(|value| value == "stderr"))
}

/// Says on standard error what is known of a failure. Nothing is said where standard error is closed, and nothing
/// when it takes longer than the setting `advice.hint_ms`.
pub(super) fn say(places: Places, failed: SpooledRun) {
    if !run::has_stderr() {
        return;
    }
    let request = Request::at_places(places, Environment::from_process());
    let Some(limit) = hint::time_limit(&request) else { return };
    let (answer, line) = mpsc::sync_channel(1);
    let work = move || drop(answer.send(hint::hint_line(&request, &failed)));
    // It is not waited for: the process ends around it.
    if thread::Builder::new().spawn(work).is_ok()
        && let Ok(Some(line)) = line.recv_timeout(limit)
    {
        run::say_on_stderr(&format!("{line}\n"));
    }
}
