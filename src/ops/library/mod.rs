//! The learning pipeline and the pattern library: what tasks leave to learn from, jobs that show it again, pages and the
//! decisions about them.

mod alert;
mod candidate;
mod capture;
mod consent;
mod course;
mod folder;
mod harvest;
mod job_change;
mod job_decision;
mod job_folder;
mod job_page;
mod job_trial;
mod job_writer;
mod manual;
mod page_list;
mod page_writer;
mod proof;
mod reduction;
mod retention;
mod review;
mod runner;
mod scenario_inputs;
mod served;
mod standing;
mod trial_lab;
mod wording;
mod work;

pub(in crate::ops) use candidate::ensure_inside_root;
pub(crate) use candidate::{CandidatePage, CandidatePageOutcome, write_candidate_page};
pub(crate) use consent::{LibraryConsent, give_consent, withdraw_consent};
pub(crate) use harvest::{HarvestReply, HarvestRequest, harvest_at_exit, harvest_now};
pub(crate) use job_decision::{JobReview, JobReviewDecision, review_job};
pub(crate) use job_page::{JobPage, JobSummary, list_jobs, show_job};
pub(crate) use manual::write_scenario_template;
pub(crate) use page_list::{PageList, PageSummary, list_pages, show_page};
pub(crate) use proof::{export_proof, verify_page};
pub(crate) use review::{PageReview, PageReviewDecision, review_page};
pub(crate) use served::{ServedPage, find_served_pages};
pub(crate) use work::{WorkRequest, work_on_jobs};
#[cfg(test)]
pub(crate) use {
    job_page::JobList,
    manual::ScenarioTemplate,
    page_list::PageDetail,
    proof::{ExportedProof, PageVerification},
    review::PageDecisionReply,
    work::WorkReply,
};
