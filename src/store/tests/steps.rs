//! What the statements of a question take, in steps of SQLite's virtual machine: the same on every machine.

use std::cell::RefCell;
use std::collections::BTreeMap;

use rusqlite::trace::{TraceEvent, TraceEventCodes};
use rusqlite::{Connection, StatementStatus};

thread_local! {
    /// Steps of each statement that ended since the counting began.
    static STEPS: RefCell<BTreeMap<String, u64>> = const { RefCell::new(BTreeMap::new()) };
}

/// A connection whose statements are counted.
pub(in crate::store) fn watched(mut connection: Connection) -> Connection {
    connection.trace_v2(TraceEventCodes::SQLITE_TRACE_PROFILE, Some(note_statement)).expect("traces");
    connection
}

fn note_statement(event: TraceEvent<'_>) {
    if let TraceEvent::Profile(statement, _) = event {
        // Of a statement that runs several times it is the sum until now.
        let steps = u64::try_from(statement.get_status(StatementStatus::VmStep)).unwrap_or(0);
        STEPS.with_borrow_mut(|all| all.insert(statement.sql().into_owned(), steps));
    }
}

/// The steps of each statement of a question that is asked with one connection, on this thread.
pub(crate) fn count_steps(question: impl FnOnce()) -> BTreeMap<String, u64> {
    STEPS.take();
    question();
    STEPS.take()
}
