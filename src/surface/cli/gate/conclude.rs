//! What follows a verdict: files for other programs, alerts, and the ship.

use crate::gate::cycle::CyclePhase;
use crate::ops::gate::{self, GateAlert, GateStanding, SessionFiles, ShipEnd};
use crate::surface::cli::{CommandContext, Exit};

/// The end of an evaluation with all that follows from it.
pub(super) struct ConcludedEvaluation {
    /// The evaluation as it is then.
    pub standing: GateStanding,
    /// Lines for standard error, after what is printed.
    pub notes: Vec<String>,
    /// The exit code, where it is not the verdict's.
    pub exit: Option<Exit>,
}

/// Whether the approved tree is to be shipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShipWish {
    /// The caller asks for it.
    Asked,
    /// The caller does not ask for it; the user's settings may.
    Unasked,
    /// An earlier ship was interrupted: a person has to look first.
    Interrupted,
}

/// Writes the session files, alerts, and ships.
pub(super) fn conclude_evaluation(
    standing: GateStanding,
    wish: ShipWish,
    context: &mut CommandContext,
) -> anyhow::Result<ConcludedEvaluation> {
    let files = gate::write_session(&context.request, &standing);
    let mut concluded = ConcludedEvaluation { standing, notes: Vec::new(), exit: None };
    concluded.notes.extend(files.problems.iter().map(|problem| format!("verify-run: {problem}")));
    match concluded.standing.cycle.phase {
        CyclePhase::Escalated => concluded.alert(GateAlert::Escalated, None, &files, context),
        CyclePhase::Halted => concluded.alert(GateAlert::Halted, None, &files, context),
        _ => {}
    }
    let settings = &context.request.settings().gate.ship;
    let is_approved = concluded.standing.cycle.phase == CyclePhase::Approved;
    match wish {
        ShipWish::Interrupted if is_approved => concluded.exit = Some(Exit::Usage),
        ShipWish::Asked if is_approved => concluded.ship(true, &files, context)?,
        ShipWish::Asked => concluded.notes.push("verify-run: not shipped: the verdict is REJECT".to_owned()),
        ShipWish::Unasked if settings.always && !settings.command.is_empty() && is_approved => {
            concluded.ship(false, &files, context)?;
        }
        ShipWish::Interrupted | ShipWish::Unasked => {}
    }
    Ok(concluded)
}

impl ConcludedEvaluation {
    fn ship(&mut self, is_asked: bool, files: &SessionFiles, context: &mut CommandContext) -> anyhow::Result<()> {
        match gate::ship_tree(&context.request, &self.standing, files.report.as_deref())? {
            ShipEnd::Refused(why) => {
                self.notes.push(format!("verify-run: not shipped: {why}"));
                self.exit = is_asked.then_some(Exit::Usage);
            }
            ShipEnd::Shipped(shipped) => {
                self.notes.extend(shipped.output.iter().map(|line| format!("  {line}")));
                self.notes.push(format!("verify-run: shipped: {} on {}", shipped.commit, shipped.branch));
                self.standing = gate::last_evaluation(&context.request)?;
            }
            ShipEnd::Failed(failed) => {
                self.notes.extend(failed.output.iter().map(|line| format!("  {line}")));
                self.notes.push(format!("verify-run: SHIP_FAILED: {}", failed.why));
                self.standing = gate::last_evaluation(&context.request)?;
                self.alert(GateAlert::ShipFailed, Some(&failed.why), files, context);
                self.exit = Some(Exit::Usage);
            }
        }
        Ok(())
    }

    fn alert(&mut self, alert: GateAlert, reason: Option<&str>, files: &SessionFiles, context: &CommandContext) {
        let warning = gate::send_alert(&context.request, &self.standing, files, alert, reason);
        self.notes.extend(warning.map(|warning| format!("verify-run: warning: {warning}")));
    }
}
