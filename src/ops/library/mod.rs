//! The learning pipeline and the pattern library: what tasks leave to learn from, jobs that show it again, pages and the
//! decisions about them.

mod alert;
mod candidate;
mod capture;
mod check;
mod consent;
mod course;
mod folder;
mod harvest;
mod harvest_change;
mod idle;
mod job_change;
mod job_decision;
mod job_folder;
mod job_page;
mod job_trial;
mod job_writer;
mod manual;
mod page_list;
mod page_shapes;
mod page_writer;
mod promotable;
mod proof;
mod reduction;
mod reintroduced;
mod removal;
mod retention;
mod review;
mod runner;
mod scenario_guesses;
mod scenario_inputs;
mod served;
mod standing;
mod stats;
mod trial_lab;
mod wording;
mod work;

pub(in crate::ops) use candidate::ensure_inside_root;
pub(crate) use candidate::{CandidatePage, CandidatePageOutcome, write_candidate_page};
pub(crate) use capture::{keep_waiting_trees, start_capture};
pub(crate) use check::{LibraryFinding, check_library, library_findings};
pub(crate) use consent::{LibraryConsent, give_consent, withdraw_consent};
pub(crate) use harvest::{HarvestReply, HarvestRequest, harvest_at_exit, harvest_into, harvest_now};
pub(crate) use job_decision::{JobReview, JobReviewDecision, review_job};
pub(crate) use job_page::{JobPage, JobSummary, list_jobs, show_job};
pub(crate) use manual::write_scenario_template;
pub(crate) use page_list::{PageList, PageSummary, list_pages, show_page};
pub(crate) use promotable::withheld_patterns;
pub(crate) use proof::{export_proof, proof_commands, readme_branch, verify_page};
pub(crate) use reintroduced::find_deprecated_changes;
pub(crate) use removal::{job_files, remove_job_files};
pub(crate) use review::{PageReview, PageReviewDecision, review_page};
pub(crate) use served::{ActivePages, ServedPage, ServedPages, find_served_pages};
pub(crate) use stats::{LibraryStats, collect_stats};
pub(crate) use work::{WorkRequest, jobs_without_isolation, work_on_jobs};
#[cfg(test)]
pub(crate) use {
    check::LibraryCheck,
    job_page::JobList,
    manual::ScenarioTemplate,
    page_list::PageDetail,
    proof::{ExportedProof, PageVerification},
    review::PageDecisionReply,
    work::WorkReply,
};
