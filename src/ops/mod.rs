//! The verbs, one function each, shared by every surface.

pub mod check_diff;
pub mod curate;
pub mod definitions;
pub mod doctor;
pub mod entry;
pub mod exchange;
pub mod explain;
pub mod fix;
pub mod hint;
mod identity;
mod knowledge;
pub mod last;
pub mod lesson;
pub mod library;
pub mod memory;
pub mod outcome;
pub mod pattern;
pub mod promote;
pub mod reading;
pub mod record;
pub mod report;
pub mod stats;
pub mod store;
pub mod strategy;
pub mod task;
pub mod uninstall;
pub mod warn;
