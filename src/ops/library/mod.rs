//! The learning pipeline and the pattern library: what tasks leave to learn from, jobs that show it again, pages and the
//! decisions about them.

mod alert;
mod candidate;
mod capture;
mod harvest;

pub(in crate::ops) use candidate::ensure_inside_root;
pub(crate) use candidate::{CandidatePage, CandidatePageOutcome, write_candidate_page};
pub(crate) use capture::capture_waiting;
pub(crate) use harvest::{HarvestReply, HarvestRequest, HarvestedJob, SkippedFix, harvest};
