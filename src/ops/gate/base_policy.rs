//! The policy of the base judges a change that edits the policy.

use super::change::{Change, gate_snapshot_options};
use super::policy::{CHECKLIST_PLACES, PolicyFile, find_checklist_outside};
use super::run::Evaluation;
use super::trust::is_approved;
use crate::event::{GateIssue, GateIssueKind};
use crate::fix::patch::PatchChange;
use crate::fix::snapshot::GitObjectReader;
use crate::gate::cycle::WorkTreeGate;
use crate::gate::policy::{Checklist, ItemSource, weaker_items};

/// The largest checklist that is read of the base, bytes.
const CHECKLIST_BYTES_MAX: u64 = 1 << 20;

/// The checklist that the base would have been judged by.
struct BaseChecklist {
    name: String,
    text: String,
    checklist: Checklist,
}

impl Evaluation<'_> {
    /// What the checklist demands less of than that of the base, which judges then.
    ///
    /// # Errors
    /// When git can't be asked, or approvals can't be read.
    pub(super) fn policy_issues(&mut self, change: &Change, gate: &WorkTreeGate) -> anyhow::Result<Vec<GateIssue>> {
        let Some(base) = self.base_checklist(change)? else { return Ok(Vec::new()) };
        let weaker = weaker_items(&base.checklist, &self.policy.checklist);
        let now = self.request.now();
        let is_waived = gate.waivers.iter().any(|(_, waiver)| waiver.item == "POLICY" && waiver.until > now);
        if weaker.is_empty() || is_waived {
            return Ok(Vec::new());
        }
        let given = self.options.checklist.is_some();
        let own = self.policy.checklist_file.name.clone().unwrap_or_else(|| "the shipped checklist".to_owned());
        let what = match (given, own == base.name) {
            (true, _) => format!("the checklist {own}, given by --checklist, is weaker than {}", base.name),
            (false, true) => format!("the change makes {own} weaker"),
            (false, false) => format!("the change puts {own} in the place of {}, which is stricter", base.name),
        };
        // What it would run may not be approved.
        let judges = if self.may_run(&base)? {
            self.policy.checklist = base.checklist;
            "the list of the base judges"
        } else {
            "commands of the list of the base are not approved, so that it cannot judge"
        };
        let message = format!("{what}: {}; {judges}", weaker.join(", "));
        Ok(vec![GateIssue { kind: GateIssueKind::Policy, message }])
    }

    /// The checklist of the base's tree; where it has none, and the caller gives one, the one that would count else.
    fn base_checklist(&self, change: &Change) -> anyhow::Result<Option<BaseChecklist>> {
        for place in CHECKLIST_PLACES {
            if let Some(text) = self.base_text(change, place)? {
                // One that cannot be read judged nothing.
                let checklist = Checklist::parse(&text, place).ok();
                return Ok(checklist.map(|checklist| BaseChecklist { name: place.to_owned(), text, checklist }));
            }
        }
        if self.options.checklist.is_none() {
            return Ok(None);
        }
        let PolicyFile { name, text, .. } = find_checklist_outside(&self.request.places, &self.request.environment)?;
        let name = name.unwrap_or_else(|| "the shipped checklist".to_owned());
        let checklist = Checklist::parse(&text, &name).ok();
        Ok(checklist.map(|checklist| BaseChecklist { name, text, checklist }))
    }

    /// The text of a file in the base, also of one that the change moves or removes.
    fn base_text(&self, change: &Change, path: &str) -> anyhow::Result<Option<String>> {
        let is_changed = change.patch.files.iter().any(|file| file.old == path && file.change != PatchChange::Added);
        if !is_changed {
            let is_new = change.patch.files.iter().any(|file| file.new == path);
            let texts = change.read_documents(self.request, &[path.to_owned()])?;
            return Ok(texts.into_iter().next().flatten().filter(|_| !is_new));
        }
        let failed = |skipped| anyhow::anyhow!("cannot read the base: {skipped}");
        let options = gate_snapshot_options(self.request);
        let reader = GitObjectReader::open_blobs(&self.request.places, &options).map_err(failed)?;
        let blobs = reader.find_blobs(&[(change.base.tree.clone(), path)]).map_err(failed)?;
        Ok(reader.read_texts_up_to(&blobs, CHECKLIST_BYTES_MAX).map_err(failed)?.pop().flatten())
    }

    /// Whether every command of the base's list may run: it is in the list that is approved, or a person approved this very
    /// text before.
    fn may_run(&self, base: &BaseChecklist) -> anyhow::Result<bool> {
        let approved: Vec<&ItemSource> = self.policy.checklist.items().map(|item| &item.source).collect();
        let mut commands = base.checklist.items().filter(|item| matches!(item.source, ItemSource::Command { .. }));
        if commands.all(|item| approved.contains(&&item.source)) {
            return Ok(true);
        }
        is_approved(&self.request.places, &self.request.environment, &base.name, &base.text)
    }
}
