//! Why a lab could not be entered.

use std::io;

use crate::lab::plan::{EnterStep, LabReport};

/// A step on the way in that failed.
#[derive(Debug)]
pub(super) struct EnterFailure {
    step: EnterStep,
    what: String,
    error: io::Error,
}

/// A failure at this step: what could not be done, and why.
pub(super) fn at_step(step: EnterStep, what: &str, error: io::Error) -> EnterFailure {
    EnterFailure { step, what: what.to_owned(), error }
}

impl EnterFailure {
    /// The answer to the process outside.
    pub(super) fn to_report(&self) -> LabReport {
        let said = self.error.to_string();
        let said = said.split(" (os error").next().unwrap_or_default();
        let what = format!("{}: {said}", self.what);
        LabReport::Failed { step: self.step, errno: self.error.raw_os_error().unwrap_or(0), what }
    }
}
