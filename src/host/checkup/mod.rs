//! Whether the hosts reach verify-run: what is installed, what the shells find, and what hooks reply in a trial.

mod agents;
mod finding;
mod shells;
mod trial;

pub(crate) use agents::host_findings;
pub(crate) use finding::{CheckStatus, Finding, new_finding, with_hint};
