//! What is recorded: the state folder, the spool, the store, the snapshots.

use std::path::Path;

use crate::base::text::{self, count};
use crate::config::{Places, Settings};
use crate::fix::snapshot;
use crate::recorder;
use crate::store::{Index, SegmentFolder, StoreError, folder};

use super::finding::{CheckDepth, CheckStatus, Finding, new_finding, with_hint};

/// The state folder: can it be written?
pub(crate) fn check_state_folder(places: &Places) -> Finding {
    let dir: &Path = &places.state;
    let existing = dir.ancestors().find(|dir| dir.exists()).unwrap_or(dir);
    if existing != dir && !existing.is_dir() {
        let message = format!("the state folder can't be made: {} is a file", existing.display());
        return with_hint(
            new_finding("state", CheckStatus::Problem, message, Some(dir)),
            format!("rm {}", text::path(existing)),
        );
    }
    let mode = nix::unistd::AccessFlags::W_OK | nix::unistd::AccessFlags::X_OK;
    match nix::unistd::access(existing, mode) {
        Ok(()) if existing == dir => {
            new_finding("state", CheckStatus::Ok, "the state folder can be written", Some(dir))
        }
        Ok(()) => new_finding("state", CheckStatus::Ok, "no state yet: nothing was recorded here", Some(dir)),
        Err(error) => {
            let stand_in = places.fallbacks.first().map(|dir| dir.display().to_string()).unwrap_or_default();
            let message = format!("the state folder can't be written ({}); runs wait in {stand_in}", error.desc());
            with_hint(
                new_finding("state", CheckStatus::Problem, message, Some(dir)),
                format!("ls -ld {}", text::path(existing)),
            )
        }
    }
}

/// Runs that were not recorded yet, and spool files that could not be read. Recorded first, as every reader does.
pub(crate) fn check_waiting_runs(places: &Places) -> Vec<Finding> {
    let drained = if places.state.is_dir() || !recorder::pending_entries(places).is_empty() {
        recorder::drain_for_reading(places)
    } else {
        Ok(recorder::DrainReport::default())
    };
    let mut findings = Vec::new();
    match &drained {
        Err(error) => {
            let status = if error.is_newer() { CheckStatus::Warning } else { CheckStatus::Problem };
            findings
                .push(with_hint(new_finding("recorder", status, error.to_string(), None), "verify-run store status"));
        }
        Ok(drained) => {
            findings.extend(drained.notes.iter().map(|note| new_finding("recorder", CheckStatus::Warning, note, None)));
            findings.extend(drained.left.iter().map(|(path, reason)| {
                let message = format!("a run waits: {reason}");
                with_hint(new_finding("spool", CheckStatus::Warning, message, Some(path)), "verify-run doctor")
            }));
        }
    }
    let waiting = recorder::pending_entries(places)
        .into_iter()
        .filter(|pending| pending.kind == recorder::SpoolEntryKind::Run)
        .count();
    if waiting > 0 {
        let message = format!("{} not recorded yet", count(waiting, "run"));
        findings.push(with_hint(new_finding("spool", CheckStatus::Warning, message, None), "verify-run last"));
    }
    for path in recorder::bad_files(places) {
        let message = "a spool file cannot be recorded; the log in `store status` has the reason";
        findings.push(with_hint(
            new_finding("spool", CheckStatus::Problem, message, Some(&path)),
            format!("rm {}", text::path(&path)),
        ));
    }
    if findings.is_empty() {
        findings.push(new_finding("recorder", CheckStatus::Ok, "nothing waits to be recorded", None));
    }
    findings
}

/// Index and events. `heal_index` rebuilds a damaged index and says what it did.
pub(crate) fn check_store(
    places: &Places,
    depth: CheckDepth,
    heal_index: &dyn Fn(&str) -> Result<Vec<String>, StoreError>,
) -> Vec<Finding> {
    let path = places.state.index();
    let index = match Index::open_read(&path) {
        Ok(None) => return vec![new_finding("store", CheckStatus::Ok, "no store yet", Some(&path))],
        Ok(Some(index)) => index,
        Err(error) => {
            let status = if error.is_newer() { CheckStatus::Warning } else { CheckStatus::Problem };
            let hint = if error.is_newer() { "cargo install verify-run" } else { "verify-run store rebuild" };
            return vec![with_hint(new_finding("store", status, error.to_string(), Some(&path)), hint)];
        }
    };
    let mut findings = Vec::new();
    let checked = match depth {
        CheckDepth::Whole => index.check_integrity().and_then(|damage| Ok((damage, index.count_rows().map(Some)?))),
        CheckDepth::Brief => Ok((None, None)),
    };
    match checked {
        Ok((None, None)) => {}
        Ok((None, Some(counts))) => {
            let counted = [(counts.runs, "run"), (counts.failures, "failure"), (counts.patterns, "pattern")];
            let message = counted.map(|(n, noun)| count(n, noun)).join(", ");
            findings.push(new_finding("store", CheckStatus::Ok, message, Some(&path)));
        }
        Ok((Some(damage), _)) => {
            drop(index);
            findings.push(heal_store(places, heal_index, &damage));
        }
        Err(error) if error.is_damage() => {
            drop(index);
            findings.push(heal_store(places, heal_index, &error.to_string()));
        }
        Err(error) => {
            let message = error.to_string();
            findings.push(with_hint(
                new_finding("store", CheckStatus::Problem, message, Some(&path)),
                "verify-run store rebuild",
            ));
        }
    }
    for path in folder::files_moved_aside(&places.state) {
        let message = "this occupied the place of a file of verify-run; it was moved aside and is not used";
        findings.push(with_hint(
            new_finding("state", CheckStatus::Warning, message, Some(&path)),
            format!("ls -ld {}", text::path(&path)),
        ));
    }
    for torn in SegmentFolder::new(places.state.events()).torn_files() {
        let message = "the last event was cut off (by a crash or a full disk); everything before it is kept";
        findings.push(with_hint(
            new_finding("events", CheckStatus::Warning, message, Some(&torn)),
            format!("rm {}", text::path(&torn)),
        ));
    }
    findings
}

/// A damaged index is rebuilt at once: it holds nothing that the events don't.
fn heal_store(places: &Places, heal_index: &dyn Fn(&str) -> Result<Vec<String>, StoreError>, damage: &str) -> Finding {
    let path = places.state.index();
    match heal_index(damage) {
        Ok(notes) => new_finding("store", CheckStatus::Warning, notes.join("; "), Some(&path)),
        Err(error) => {
            let message = format!("the index is damaged: {damage}; {error}");
            with_hint(new_finding("store", CheckStatus::Problem, message, Some(&path)), "verify-run store rebuild")
        }
    }
}

/// The work trees at the runs, of this work tree.
pub(crate) fn check_snapshots(places: &Places, settings: &Settings, depth: CheckDepth) -> Option<Finding> {
    let objects = places.state.objects();
    if !settings.snapshot.enabled {
        let message = "disabled: changes between a failure and the next pass are unknown";
        return Some(new_finding("snapshots", CheckStatus::Ok, message, None));
    }
    let work_trees = snapshot::folder_statuses(&places.state);
    let work_tree = work_trees.iter().find(|work_tree| work_tree.root.path() == places.root)?;
    if let Some(why) = &work_tree.skipped {
        let again =
            work_tree.not_before.map_or_else(String::new, |at| format!("; the next try is after {}", at.local()));
        let message = format!("the last one was abandoned: {why}{again}");
        let hint = "see snapshot.time_ms in verify-run.toml, or turn them off with snapshot.enabled = false";
        return Some(with_hint(new_finding("snapshots", CheckStatus::Warning, message, Some(&objects)), hint));
    }
    if depth == CheckDepth::Brief {
        return None;
    }
    let trees = Index::open_read(&places.state.index()).ok().flatten().and_then(|index| index.list_trees().ok());
    let trees = count(trees.map_or(0, |trees| trees.len()), "tree");
    let kibibytes = snapshot::folder_size(&places.state).div_ceil(1024);
    Some(new_finding("snapshots", CheckStatus::Ok, format!("{trees}, {kibibytes} KiB"), Some(&objects)))
}

/// The promoted lines in CLAUDE.md or AGENTS.md.
pub(crate) fn check_promotions(places: &Places) -> Option<Finding> {
    let rows = Index::open_read(&places.state.index()).ok().flatten()?.list_promotions().ok()?;
    let approved = rows.iter().filter(|row| row.state == crate::event::PromotionState::Approved).count();
    let message = format!("{} promoted; `verify-run promote list` shows pending proposals", count(approved, "line"));
    (approved > 0).then(|| new_finding("promotions", CheckStatus::Ok, message, None))
}
