//! Installing: what is written into the configuration of hosts, the record of what was there before, and the way back.

mod error;
mod ledger;
mod plan;
mod removal;
mod site;
mod status;
mod transaction;

pub(crate) use error::InstallError;
pub(crate) use plan::{InstallOptions, InstallPlan, apply_plan, plan_installation};
pub(crate) use removal::{RemovalOutcome, RemovalReport, uninstall_hosts};
pub(crate) use status::{InstallState, InstallStatus, InstalledFile, find_status};
