//! `gate`: evaluates a change against a checklist, and remembers what was judged and decided.

mod alert;
mod base_findings;
mod base_policy;
mod change;
mod copies;
mod criteria;
mod decide;
mod documents;
mod evidence;
mod execute;
mod formats;
mod functions;
mod host;
mod implementers;
mod isolate;
mod isolated;
mod items;
mod jobs;
mod judged_functions;
mod kept;
mod links;
mod measurement;
mod measures;
mod memory;
mod memory_server;
mod openapi;
mod own_program;
mod patience;
mod phase;
mod plan;
mod policy;
mod record;
mod red;
mod red_trial;
mod review;
mod run;
mod session;
mod ship;
mod status;
mod tool_output;
mod trust;
mod watch;

pub(crate) use alert::{GateAlert, send_alert};
pub(crate) use decide::{end_of_day, list_waivers, reset_gate, resolve_escalation, signal_exit, waive_item};
pub(crate) use functions::list_functions;
pub(crate) use host::{answer_stop, session_notice};
pub(in crate::ops) use isolate::open_lab;
pub(crate) use isolate::{IsolatedCommand, run_isolated};
pub(crate) use links::{CriteriaList, CriterionPage, LinkRequest, link_criterion, list_criteria};
#[cfg(test)]
pub(crate) use phase::TaskPhasePage;
pub(crate) use phase::{PhasePage, announce_phase, current_phase, phase_status, reset_phase};
pub(crate) use plan::{GatePlan, PlanRequest, plan_gate};
pub(crate) use policy::{PolicyFiles, write_policy};
pub(in crate::ops) use red_trial::is_of_tests;
pub(crate) use run::{EvaluationEnd, EvaluationOptions, GateStanding, PartialEvaluation, run_gate};
pub(crate) use session::{
    SessionFiles, check_report_path, create_session_folder, has_session_exclusion, remove_session_folder, write_session,
};
pub(crate) use ship::{ShipEnd, check_ship_settings, ship_tree};
pub(crate) use status::{GateDocument, can_exit, evaluation_by_id, last_evaluation, show_cycle, show_evaluation};
pub(crate) use trust::{TrustReview, UntrustedFile, approve_files, policy_digest, review_trust, revoke_trust};
