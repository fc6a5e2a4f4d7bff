//! What every step of recording works with.

use super::drained::DrainReport;
use super::in_flight::InFlight;
use super::projects::Projects;
use crate::store::Store;

/// One drain at work: the open store, what is known of the projects, what runs beside it, and what it did so far.
pub(super) struct Recorder<'a> {
    pub projects: &'a mut Projects,
    pub in_flight: &'a mut InFlight,
    pub store: &'a mut Store,
    pub report: &'a mut DrainReport,
}
