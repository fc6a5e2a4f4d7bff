//! What is said before the next edit, and whether it helped: which warnings are due and how they read, who is shown
//! advice, and what the mistakes that come back say about it. Pure; cannot fail.

pub mod formatter;
pub mod outcome;
pub mod ranking;
pub mod similarity;
pub mod task;
mod trial;
mod warning;

pub use trial::{Arm, Lift, Tally, Trial, Verdict};
pub use warning::{Known, Warning, Worked};
