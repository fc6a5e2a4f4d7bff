//! Receipts of passing runs.

use crate::base::clock::Timestamp;
use crate::capture::SpoolHeader;
use crate::event::{Event, EventBody, Receipt, Run};
use crate::whitelist::CheckKind;

/// The receipt of a run, if it has one.
pub(super) fn receipt_event(header: &SpoolHeader, run: &Run, writer: &str) -> Option<Event> {
    let mut state = header.checked_state.as_deref()?.clone();
    let approved = state.approved_command.take();
    if refusal_of_run(header, run.tests, run.stopped_early, false).is_some() {
        // Its exit code counts, where it is an item of a checklist.
        state.command = approved?;
        if refusal_of_run(header, run.tests, run.stopped_early, true).is_some() {
            return None;
        }
    }
    let receipt = Receipt::from_run(header.run, run, state);
    let id = receipt.event_id();
    Some(Event { id, ..Event::new(Timestamp::now(), writer, EventBody::Receipt(Box::new(receipt))) })
}

/// Why a run proves too little for a receipt; `tests` is how many ran, as its output says. Where the exit code alone counts
/// none need to have run.
pub(crate) fn refusal_of_run(
    header: &SpoolHeader,
    tests: Option<u64>,
    stopped_early: bool,
    counts_by_exit_code: bool,
) -> Option<&'static str> {
    let check = header.check.as_ref();
    let is_test = !counts_by_exit_code && check.is_some_and(|check| check.kind == CheckKind::Test);
    let is_seen_whole = header.cut_bytes == 0 && !header.partly_seen;
    let refusals = [
        (!header.ended.passed(), "it failed"),
        (header.interrupted, "it was interrupted"),
        (check.is_some_and(|check| !check.status_is_own), "its exit code is not the check's own"),
        (check.is_some_and(|check| check.elsewhere), "it runs in a container or on another machine"),
        (stopped_early, "some tests did not run"),
        (is_test && !is_seen_whole, "its output was not seen whole"),
        (is_test && tests.is_none(), "its output does not say that a test ran"),
        (is_test && tests == Some(0), "no test ran"),
    ];
    refusals.into_iter().find(|(applies, _)| *applies).map(|(_, why)| why)
}
