//! `gate status --phase`: the circuit breaker of a phase, from the recorded runs of the task.

use crate::base::text::one_line;
use crate::event::WorkPhase;
use crate::ops::gate::{self, PhasePage};
use crate::surface::cli::{CommandContext, Exit, Output};

/// A phase as it is typed.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
#[value(rename_all = "UPPER")]
pub(in crate::surface::cli) enum PhaseChoice {
    /// Tests are written that fail
    Red,
    /// They are made to pass
    Green,
    /// The code gets better
    Refactor,
    /// Documentation is written
    Document,
    /// The quality gate judges
    Qa,
}

impl PhaseChoice {
    pub(in crate::surface::cli) fn phase(self) -> WorkPhase {
        match self {
            PhaseChoice::Red => WorkPhase::Red,
            PhaseChoice::Green => WorkPhase::Green,
            PhaseChoice::Refactor => WorkPhase::Refactor,
            PhaseChoice::Document => WorkPhase::Document,
            PhaseChoice::Qa => WorkPhase::Qa,
        }
    }
}

pub(super) fn status(choice: PhaseChoice, is_json: bool, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let reply = gate::phase_status(&context.request, choice.phase())?;
    context.output.reply(&reply, is_json, print_page)?;
    Ok(Exit::Ok)
}

/// Lines as in the status block of the gate.
fn print_page(page: &PhasePage, output: &mut Output) -> anyhow::Result<()> {
    let passing = page.passing.map(|passing| format!("  PASSING: {passing}\n")).unwrap_or_default();
    output.text(&format!(
        "PHASE: {}\nTASK: {}\nRUNS: {}\n\nTESTS:\n{passing}  FAILING: {}\n\nCIRCUIT_BREAKER:\n  STATE: {}\n  \
         NO_PROGRESS_COUNT: {}\n  SAME_ERROR_COUNT: {}\n\nRECOMMENDATION: {}\n",
        page.phase,
        one_line(&page.task),
        page.runs,
        page.failing,
        page.circuit_breaker,
        page.no_progress_count,
        page.same_error_count,
        one_line(&page.recommendation),
    ))
}
