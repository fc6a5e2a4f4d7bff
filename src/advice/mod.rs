//! What is said before the next edit, and whether it helped: who is shown advice, and what the mistakes that come back
//! say about it. Pure; cannot fail.

mod trial;

pub use trial::{Arm, Lift, Tally, Trial, Verdict};
