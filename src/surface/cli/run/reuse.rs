//! `--reuse`: a receipt instead of a run.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::base::text::one_line;
use crate::capture::{CheckedState, FinishedRun};
use crate::config::{Environment, Places};
use crate::ops::receipt::{CheckedCommand, ReuseOffer, offer_reuse, state_after};
use crate::ops::request::Request;
use crate::run::{self, FinishedCommand};

/// A run that may leave a receipt.
pub(super) struct ReusableRun {
    request: Request,
    /// Whether the command is an item of the gate's checklist.
    is_item: bool,
    offer: ReuseOffer,
}

impl ReusableRun {
    /// Looks for a receipt that covers the command, and says what was found.
    pub(super) fn begin(cwd: &Path, places: &Places, environment: &Environment, command: &CheckedCommand<'_>) -> Self {
        let request = Request::at_places(places.clone(), environment.clone()).with_cwd(cwd.to_owned());
        let offer = catch_unwind(AssertUnwindSafe(|| offer_reuse(&request, command)));
        let offer = offer.unwrap_or_else(|_| ReuseOffer {
            reused: None,
            not_reused: None,
            before: Err("verify-run failed internally".to_owned()),
        });
        offer.reused.iter().chain(&offer.not_reused).for_each(|line| say(line));
        ReusableRun { request, is_item: command.is_item, offer }
    }

    /// Whether a receipt covers the command: it need not run.
    pub(super) fn is_covered(&self) -> bool {
        self.offer.reused.is_some()
    }

    /// What a receipt of the run that ended is about; says why it can have none.
    pub(super) fn end(self, run: &FinishedRun, finished: &FinishedCommand) -> Option<Box<CheckedState>> {
        if !finished.ended.passed() {
            return None;
        }
        let (check, is_item) = (run.check.as_ref(), self.is_item);
        let command = CheckedCommand { argv: &run.argv, check, is_item, has_no_input: false, path: None };
        let was_said = self.offer.before.is_err() && self.offer.not_reused.is_some();
        let after =
            self.offer.before.and_then(|before| state_after(&self.request, &command, before, &run.copy(finished)));
        match after {
            Ok(state) => Some(Box::new(state)),
            Err(why) => {
                if !was_said {
                    say(&format!("verify-run: no receipt: {why}"));
                }
                None
            }
        }
    }
}

/// Says a line on standard error, where that is open.
fn say(line: &str) {
    if run::has_stderr() {
        run::say_on_stderr(&format!("{}\n", one_line(line)));
    }
}
