//! The change of a task as a whole, for tasks in which nothing failed that was recorded: its own tests have to show it.

use super::job_trial::job_snapshot_options;
use crate::base::ids::{self, IdKind};
use crate::event::{HarvestNovelty, HarvestRecord, HarvestTrees, HarvestTrigger};
use crate::fix::patch::{Patch, PatchChange};
use crate::fix::snapshot::{DiffScope, find_base, work_tree_changes};
use crate::learn::scenario::is_code;
use crate::ops::gate::is_of_tests;
use crate::ops::request::Request;
use crate::store::{Index, StoreError};

/// The job about what the task changed since its base, if it is new and there is anything to show. Unless a person asks for
/// it, a change without tests is left out: nothing could fail without it. Where git can't be asked there is none.
///
/// # Errors
/// When the store can't be read.
pub(super) fn whole_change(
    request: &Request,
    index: &Index,
    task: &str,
    trigger: HarvestTrigger,
) -> Result<Option<(String, HarvestRecord)>, StoreError> {
    let options = job_snapshot_options(request);
    let Ok(base) = find_base(&request.places, None, &options) else { return Ok(None) };
    let Some(commit) = base.commit else { return Ok(None) };
    let Ok(patch) = work_tree_changes(&request.places.root, &DiffScope::Range(commit)) else { return Ok(None) };
    if !is_worth_showing(&patch, trigger) {
        return Ok(None);
    }
    let digest = digest_patch(&patch);
    let id = ids::short(IdKind::Job, format!("{task}\0{}\0{digest}", base.tree).as_bytes());
    if !index.job_steps(&id)?.is_empty() {
        return Ok(None);
    }
    let trees = HarvestTrees { before: Some(base.tree), ..HarvestTrees::default() };
    let novelty = HarvestNovelty { is_new_shape: true, ..HarvestNovelty::default() };
    Ok(Some((id, HarvestRecord { trees, novelty, ..HarvestRecord::default() })))
}

fn is_worth_showing(patch: &Patch, trigger: HarvestTrigger) -> bool {
    let kept = || patch.files.iter().filter(|file| file.change != PatchChange::Deleted).map(|file| file.new.as_str());
    let changes_sources = patch.files.iter().any(|file| is_code(&file.new) && !is_of_tests(&file.new));
    let changes_tests = kept().any(|path| is_of_tests(path) && is_code(path));
    changes_sources && (changes_tests || trigger == HarvestTrigger::Asked)
}

/// What tells one change from another.
fn digest_patch(patch: &Patch) -> String {
    let mut hasher = blake3::Hasher::new();
    for file in &patch.files {
        hasher.update(format!("{:?}\0{}\0{}\0", file.change, file.old, file.new).as_bytes());
        for line in file.hunks.iter().flat_map(|hunk| &hunk.lines) {
            hasher.update(format!("{:?}\0{}\0", line.kind, line.text).as_bytes());
        }
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_by_its_own_tests() {
        let worth = |files: &[&str], trigger| {
            let text: String =
                files.iter().map(|file| format!("diff --git a/{file} b/{file}\n@@ -1 +1 @@\n-a\n+b\n")).collect();
            is_worth_showing(&Patch::parse(text.as_bytes()), trigger)
        };
        assert!(worth(&["calc.py", "tests/test_calc.py"], HarvestTrigger::TaskDone));
        assert!(!worth(&["calc.py", "README.md"], HarvestTrigger::TaskDone));
        assert!(worth(&["calc.py"], HarvestTrigger::Asked));
        assert!(!worth(&["tests/test_calc.py"], HarvestTrigger::Asked));
    }

    #[test]
    fn another_change_has_another_digest() {
        let digest = |line: &str| {
            digest_patch(&Patch::parse(format!("diff --git a/a b/a\n@@ -1 +1 @@\n-a\n+{line}\n").as_bytes()))
        };
        assert_eq!(digest("b"), digest("b"));
        assert_ne!(digest("b"), digest("c"));
    }
}
