//! `gate waive`, `gate reset`, `gate resolve`: decisions, for which a person answers with a name.

use super::phase::PhaseChoice;
use crate::base::refusal::Refusal;
use crate::base::text;
use crate::event::{GateResolution, GateWaiver, WorkPhase};
use crate::ops::gate;
use crate::surface::cli::{CommandContext, Exit};

#[derive(Debug, clap::Args)]
pub(super) struct WaiveArgs {
    /// Item to let pass, such as C2; POLICY for a weaker policy, MODEL for the reviewer's model
    #[arg(value_name = "ITEM", required_unless_present = "list")]
    item: Option<String>,
    /// Name of the person who answers for it
    #[arg(long, value_name = "NAME", required_unless_present = "list")]
    by: Option<String>,
    /// Why
    #[arg(long, value_name = "TEXT", required_unless_present = "list")]
    reason: Option<String>,
    /// Last day, such as 2026-12-31
    #[arg(long, value_name = "DATE", required_unless_present_any = ["list", "withdraw"])]
    until: Option<String>,
    /// Only findings in files that match this pattern
    #[arg(long, value_name = "GLOB")]
    file: Option<String>,
    /// List the waivers
    #[arg(long, exclusive = true)]
    list: bool,
    /// End an earlier waiver of the item
    #[arg(long)]
    withdraw: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct ResetArgs {
    /// Name of the person who answers for it
    #[arg(long, value_name = "NAME")]
    by: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Close the circuit breaker of this phase of the task instead of the gate's
    #[arg(long, value_name = "PHASE", value_enum, ignore_case = true)]
    phase: Option<PhaseChoice>,
}

#[derive(Debug, clap::Args)]
pub(super) struct ResolveArgs {
    /// Name of the person who decides
    #[arg(long, value_name = "NAME")]
    by: String,
    /// What to do
    #[arg(long, value_enum)]
    decision: DecisionChoice,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum DecisionChoice {
    /// Start attempts at 1 again
    Retry,
    /// Let this tree pass as it is
    Accept,
    /// Give the work up
    Abort,
}

pub(super) fn waive(args: &WaiveArgs, context: &mut CommandContext) -> anyhow::Result<Exit> {
    if args.list {
        return list_waivers(context);
    }
    let (item, by) = (args.item.clone().unwrap_or_default(), args.by.clone().unwrap_or_default());
    let until = match &args.until {
        Some(day) => gate::end_of_day(day)?,
        None => context.request.now(),
    };
    confirm_person(&by, context)?;
    let waiver = GateWaiver {
        item,
        until,
        file: args.file.clone(),
        reason: args.reason.clone().unwrap_or_default(),
        withdrawn: args.withdraw,
    };
    gate::waive_item(&context.request, &by, waiver)?;
    context.output.line(if args.withdraw { "withdrawn" } else { "waived" })?;
    Ok(Exit::Ok)
}

fn list_waivers(context: &mut CommandContext) -> anyhow::Result<Exit> {
    let waivers = gate::list_waivers(&context.request)?;
    let now = context.request.now();
    for (person, waiver) in &waivers {
        let file = waiver.file.as_ref().map_or_else(String::new, |file| format!(" in {file}"));
        let end = if waiver.until > now { "until" } else { "ended" };
        let line = format!("{}{file}: {} ({person}, {end} {})", waiver.item, waiver.reason, waiver.until.rfc3339());
        context.output.line(&text::one_line(&line))?;
    }
    if waivers.is_empty() {
        context.output.note("no waivers in this work tree");
    }
    Ok(Exit::Ok)
}

pub(super) fn reset(args: &ResetArgs, context: &mut CommandContext) -> anyhow::Result<Exit> {
    confirm_person(&args.by, context)?;
    match args.phase.map(PhaseChoice::phase) {
        None | Some(WorkPhase::Qa) => gate::reset_gate(&context.request, &args.by, &args.reason)?,
        Some(phase) => gate::reset_phase(&context.request, phase, &args.by, &args.reason)?,
    }
    context.output.line("reset")?;
    Ok(Exit::Ok)
}

pub(super) fn resolve(args: &ResolveArgs, context: &mut CommandContext) -> anyhow::Result<Exit> {
    confirm_person(&args.by, context)?;
    let decision = match args.decision {
        DecisionChoice::Retry => GateResolution::Retry,
        DecisionChoice::Accept => GateResolution::Accept,
        DecisionChoice::Abort => GateResolution::Abort,
    };
    gate::resolve_escalation(&context.request, &args.by, decision, &args.reason)?;
    context.output.line("resolved")?;
    Ok(Exit::Ok)
}

/// Has the person type the name on a terminal: a rail for agents, which can do what their user can.
pub(super) fn confirm_person(name: &str, context: &mut CommandContext) -> anyhow::Result<()> {
    let people = &context.request.settings().gate.people;
    if people.iter().any(|known| known == name.trim()) {
        return Ok(());
    }
    let typed = context.output.ask_text(&format!("Type your name ({name}) to confirm:"))?;
    match typed {
        Some(typed) if typed == name.trim() && !typed.is_empty() => Ok(()),
        Some(_) => Err(Refusal::usage("the name that was typed is another one: nothing was changed").into()),
        None => Err(Refusal::usage(
            "a person has to type the name on a terminal, or be in `gate.people`: nothing was changed",
        )
        .into()),
    }
}
