//! What is said before the next edit, and whether it helped: which warnings are due and how they read, who is shown
//! advice, what the mistakes that come back say about it, and what has earned a line that everybody reads. Pure; cannot
//! fail.

pub mod block;
pub mod diff;
pub mod formatter;
pub mod mention;
pub mod outcome;
pub mod promotion;
pub mod proposal;
pub mod ranking;
pub mod similarity;
pub mod strategy;
pub mod task;
mod trial;
mod warning;

pub use trial::{Arm, TrialLift, ArmTally, HoldoutTrial, TrialVerdict};
pub use warning::{WarningFacts, Warning, ProvenRemedy, prevention_text};
