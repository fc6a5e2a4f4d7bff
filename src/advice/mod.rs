//! What is said before the next edit, and whether it helped: which warnings are due and how they read, who is shown
//! advice, what the mistakes that come back say about it, and what has earned a line that everybody reads. Pure; cannot
//! fail.

pub(crate) mod block;
pub(crate) mod diff;
pub(crate) mod formatter;
pub(crate) mod mention;
pub(crate) mod outcome;
pub(crate) mod promotion;
pub(crate) mod proposal;
pub(crate) mod ranking;
pub(crate) mod similarity;
pub(crate) mod strategy;
pub(crate) mod task;
mod trial;
mod warning;

pub(crate) use trial::{ArmTally, HoldoutTrial, TrialLift, TrialVerdict};
pub(crate) use warning::{ProvenRemedy, Warning, WarningFacts};
