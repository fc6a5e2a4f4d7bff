//! `report`: a recorded run in the formats that CI systems and editors read.

use super::request::Request;
use crate::base::lossless::Lossless;
use crate::report::ReportedRun;
use crate::store::StoreError;

/// The run to report on: by the id of a run, failure, lesson or pattern (its newest run), else the last one of this
/// work tree. `None` if nothing is recorded. With notes for standard error.
///
/// # Errors
/// No such id, an ambiguous one, or the store can't be read.
pub(crate) fn find_reported_run(
    request: &Request,
    id: Option<&str>,
) -> Result<(Option<ReportedRun>, Vec<String>), StoreError> {
    let reading = request.open_for_reading()?;
    let Some(index) = &reading.index else {
        return match id {
            Some(id) => Err(StoreError::NoSuchId { id: id.to_owned() }),
            None => Ok((None, reading.notes)),
        };
    };
    let id = match id {
        Some(id) => index.runs_of_id(id)?.into_iter().map(|run| run.to_string()).max(),
        None => index.last_run(&Lossless::from(&request.places.root), request.now())?.map(|run| run.id),
    };
    let Some(id) = id else { return Ok((None, reading.notes)) };
    let record = index.read_run(&reading.segments, &id)?;
    Ok((record.map(|record| ReportedRun { id, record }), reading.notes))
}
