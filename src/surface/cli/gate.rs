//! `verify-run gate`.

mod conclude;
mod criteria;
mod decide;
mod isolate;
pub(super) mod phase;
mod policy;
mod receipt;

use std::path::PathBuf;
use std::time::Duration;

use conclude::{ShipWish, conclude_evaluation};

use super::{CommandContext, Exit};
use crate::base::file::{Durability, write_atomic};
use crate::base::text;
use crate::config::Problem;
use crate::event::{GateItem, GateItemStatus, GateOutcome};
use crate::gate::cycle::{CyclePhase, has_unknown_implementer};
use crate::gate::policy::ChangeKind;
use crate::gate::report::{render_report, render_status_block};
use crate::host::interrupt::end_commands_on;
use crate::ops::gate::{self, EvaluationEnd, EvaluationOptions, GateStanding, PartialEvaluation};
use crate::ops::library;
use crate::ops::reply::Reply;
use crate::report::EvaluationFormat;
use crate::run::is_ignored;
use anyhow::Context as _;
use nix::sys::signal::Signal;

/// Decide whether a change is done, by a checklist
///
/// The gate judges what a change touches by a checklist, with the tools of each stack. The verdict is computed from exit
/// codes and figures and is bound to the git tree that was checked: APPROVE or REJECT. An item that cannot be measured does not pass.
///
/// Exit codes of `gate run`: 0 approved, 1 rejected, 2 no verdict, 3 escalated to a person, 4 circuit breaker open, 5 only
/// some items were asked for.
///
/// JSON: docs/json.md
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: GateAction,
}

#[derive(Debug, clap::Subcommand)]
enum GateAction {
    /// Evaluate the change of this work tree
    Run(RunArgs),
    /// Show what an evaluation would run, and run nothing
    Plan(policy::PlanArgs),
    /// Show the last evaluation, and evaluate nothing
    Status(StatusArgs),
    /// Show the report of an evaluation
    Show {
        /// Id of the evaluation, or a unique prefix of it (default: the last one)
        #[arg(value_name = "EVALUATION")]
        evaluation: Option<String>,
        /// What to print
        #[arg(long, value_enum, default_value_t = GateFormat::Markdown)]
        format: GateFormat,
    },
    /// Say that the work on the evaluated tree is done
    Signal {
        /// Withdraw the signal
        #[arg(long)]
        withdraw: bool,
    },
    /// Let an item pass until a date, in the name of a person
    Waive(decide::WaiveArgs),
    /// Close the circuit breaker, in the name of a person
    Reset(decide::ResetArgs),
    /// Decide after an escalation, in the name of a person
    Resolve(decide::ResolveArgs),
    Criteria(criteria::Args),
    /// Approve the commands of this repository's policy files
    Trust(policy::TrustArgs),
    /// Write the shipped policy into .verify-run/
    Init {
        /// Make .prp-session/ too, hidden from git, for the state and the reports of evaluations
        #[arg(long)]
        session: bool,
    },
    /// Print the functions of files with their cyclomatic complexity
    Measure {
        /// Files and folders
        #[arg(value_name = "PATH", required = true)]
        paths: Vec<PathBuf>,
    },
    Isolate(isolate::Args),
    Receipt(receipt::Args),
}

/// The policy files of a call.
#[derive(Debug, clap::Args)]
struct PolicyArgs {
    /// Checklist to use instead of the one that is looked up
    #[arg(long, value_name = "FILE")]
    checklist: Option<PathBuf>,
    /// Tools mapping to use instead of the one that is looked up
    #[arg(long, value_name = "FILE")]
    mapping: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct RunArgs {
    #[command(flatten)]
    files: PolicyArgs,
    /// PRP of the feature, with its acceptance criteria
    #[arg(long, value_name = "FILE", conflicts_with = "no_prp")]
    prp: Option<PathBuf>,
    /// The change has no PRP
    #[arg(long)]
    no_prp: bool,
    /// Name of the feature (default: from the PRP, else the branch)
    #[arg(long, value_name = "NAME")]
    feature: Option<String>,
    /// Kind of the change: feature, fix, refactor, docs or chore
    #[arg(long, value_name = "KIND", value_parser = parse_kind)]
    kind: Option<ChangeKind>,
    /// Commit or branch to compare with (default: where the branch left the main one)
    #[arg(long, value_name = "REVISION")]
    base: Option<String>,
    /// Only these items, such as F1,C2; there is no verdict then
    #[arg(long, value_name = "ITEMS", value_delimiter = ',')]
    only: Vec<String>,
    /// Run every command, whatever passed on this very tree before
    #[arg(long)]
    fresh: bool,
    /// Run every command on a copy of the tree, without network and effects outside
    #[arg(long)]
    isolated: bool,
    /// Stop at the first blocking item that does not pass; the rest is not evaluated
    #[arg(long)]
    fail_fast: bool,
    /// Say that the work is done, if the verdict is APPROVE
    #[arg(long)]
    exit_signal: bool,
    /// Language model that wrote the change (may be repeated)
    #[arg(long, value_name = "MODEL")]
    implementer_model: Vec<String>,
    /// Ship the approved tree with the command of your own settings, if the work may end
    #[arg(long, conflicts_with = "only")]
    ship: bool,
    /// Digest of the policy files that may run commands (from `gate trust --digest`)
    #[arg(long, value_name = "DIGEST")]
    trust: Option<String>,
    /// File to write the report to
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// What to print
    #[arg(long, value_enum, default_value_t = GateFormat::Text)]
    format: GateFormat,
    /// Print JSON, as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum GateFormat {
    /// The items, what is wrong, and the status block
    Text,
    /// The whole report in Markdown
    Markdown,
    /// The status block
    Block,
    /// JSON
    Json,
    /// SARIF 2.1.0
    Sarif,
    /// JUnit XML
    Junit,
    /// GitHub's workflow commands, and the report on the job's page
    Github,
}

impl GateFormat {
    /// The format of the stage that renders documents for CI systems; `None` of what this surface renders.
    fn document(self) -> Option<EvaluationFormat> {
        match self {
            GateFormat::Sarif => Some(EvaluationFormat::Sarif),
            GateFormat::Junit => Some(EvaluationFormat::Junit),
            GateFormat::Github => Some(EvaluationFormat::Github),
            GateFormat::Text | GateFormat::Markdown | GateFormat::Block | GateFormat::Json => None,
        }
    }
}

#[derive(Debug, clap::Args)]
struct StatusArgs {
    /// Print the status block
    #[arg(long)]
    block: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "block")]
    json: bool,
    /// Exit with 0 only if the tree as it is now is approved and signalled as done
    #[arg(long, conflicts_with_all = ["block", "json"])]
    can_exit: bool,
    /// Show the circuit breaker of this phase of the task instead, from its recorded runs
    #[arg(long, value_name = "PHASE", value_enum, ignore_case = true, conflicts_with_all = ["block", "can_exit"])]
    phase: Option<phase::PhaseChoice>,
}

fn parse_kind(name: &str) -> Result<ChangeKind, String> {
    ChangeKind::from_name(name).ok_or_else(|| {
        let names = ChangeKind::ALL.map(|(_, name)| name).join(", ");
        format!("use one of {names}")
    })
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let outcome = match &args.action {
        GateAction::Run(args) => evaluate(args, context),
        GateAction::Plan(args) => policy::plan(args, context),
        GateAction::Status(args) => status(args, context),
        GateAction::Show { evaluation, format } => show(evaluation.as_deref(), *format, context),
        GateAction::Signal { withdraw } => signal(*withdraw, context),
        GateAction::Waive(args) => decide::waive(args, context),
        GateAction::Reset(args) => decide::reset(args, context),
        GateAction::Resolve(args) => decide::resolve(args, context),
        GateAction::Criteria(args) => criteria::run(args, context),
        GateAction::Trust(args) => policy::trust(args, context),
        GateAction::Init { session } => policy::init(*session, context),
        GateAction::Measure { paths } => measure(paths, context),
        GateAction::Isolate(args) => isolate::run(args, context),
        GateAction::Receipt(args) => return receipt::run(args, context),
    };
    // Without a verdict every reason has one exit code, which callers tell apart from a REJECT.
    outcome.or_else(|error| {
        context.output.failure(&crate::surface::failure::FailureReport::new(&error));
        Ok(Exit::Usage)
    })
}

/// Commands of an evaluation have this long to end after a signal that ends it.
const ENDING_TIME: Duration = Duration::from_secs(5);

/// Ends the commands of an evaluation with it, unless the caller wants it to survive the signal.
fn end_commands_with_evaluation() -> std::io::Result<()> {
    let signals = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];
    let heard: Vec<Signal> = signals.into_iter().filter(|signal| !is_ignored(*signal as i32)).collect();
    end_commands_on(&heard, ENDING_TIME)
}

fn evaluate(args: &RunArgs, context: &mut CommandContext) -> anyhow::Result<Exit> {
    end_commands_with_evaluation()?;
    let options = EvaluationOptions {
        checklist: args.files.checklist.clone(),
        mapping: args.files.mapping.clone(),
        prp: args.prp.clone(),
        has_no_prp: args.no_prp,
        feature: args.feature.clone(),
        kind: args.kind,
        base: args.base.clone(),
        only: args.only.clone(),
        signals_exit: args.exit_signal,
        implementer_models: args.implementer_model.clone(),
        is_fresh: args.fresh,
        fails_fast: args.fail_fast,
        trusted_digest: args.trust.clone(),
        is_isolated: args.isolated,
    };
    note_settings(context);
    check_conclusion(args, context)?;
    let format = if args.json { GateFormat::Json } else { args.format };
    if format == GateFormat::Text {
        context.output.busy("checking");
    }
    let mut interrupted = None;
    let end = gate::run_gate(&context.request, &options, &mut |what| interrupted = Some(what));
    interrupted.iter().for_each(|what| context.output.note(&format!("verify-run: {what}")));
    match end? {
        EvaluationEnd::Judged(standing) => {
            let wish = match (interrupted.is_some(), args.ship) {
                (true, _) => ShipWish::Interrupted,
                (false, true) => ShipWish::Asked,
                (false, false) => ShipWish::Unasked,
            };
            let concluded = conclude_evaluation(*standing, wish, context)?;
            let standing = concluded.standing;
            print_standing(&standing, format, context)?;
            harvest_where_work_may_end(&standing, context)?;
            note_memory(&standing, context);
            if format == GateFormat::Github {
                standing.append_to_job_page().iter().for_each(|problem| context.output.note(problem));
            }
            concluded.notes.iter().for_each(|note| context.output.note(note));
            if let (Some(path), Some(view)) = (&args.report, standing.view()) {
                gate::check_report_path(&context.request, path)?;
                let report = render_report(&view, standing.style);
                write_atomic(path, report.as_bytes(), 0o644, Durability::Cached)
                    .with_context(|| format!("cannot write {}", path.display()))?;
            }
            Ok(concluded.exit.unwrap_or(Exit::Answer(exit_code(&standing))))
        }
        EvaluationEnd::Stopped(standing) => print_stopped(&standing, format, context),
        EvaluationEnd::Partial(items) => {
            let partial = PartialEvaluation { items };
            if format == GateFormat::Json {
                context.output.json(&Reply::from(partial))?;
            } else if let Some(format) = format.document() {
                context.output.text(&partial.render_as(&context.request, format))?;
            } else {
                partial.items.iter().try_for_each(|item| print_item(item, context))?;
                context.output.note("verify-run: no verdict: only some items were evaluated");
            }
            Ok(Exit::Answer(5))
        }
        EvaluationEnd::Untrusted(files) => {
            context.output.note("verify-run: nothing was run: commands of these files are not approved");
            files.iter().for_each(|file| context.output.note(&format!("  {}", text::one_line(&file.file))));
            context.output.note("hint: run `verify-run gate trust`");
            Ok(Exit::Usage)
        }
    }
}

/// Says why nothing was evaluated, and what a person can do.
fn print_stopped(standing: &GateStanding, format: GateFormat, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let (why, hint) = match standing.cycle.phase {
        CyclePhase::Escalated => (
            "three trees were rejected: a person has to decide",
            "gate resolve --by NAME --decision retry --reason WHY",
        ),
        _ => ("the circuit breaker is open: a person has to close it", "gate reset --by NAME --reason WHY"),
    };
    context.output.note(&format!("verify-run: nothing was evaluated: {why}"));
    print_standing(standing, format, context)?;
    context.output.note(&format!("hint: run `verify-run {hint}`"));
    Ok(Exit::Answer(exit_code(standing)))
}

/// Says which memory was not asked: that decides nothing.
fn note_memory(standing: &GateStanding, context: &mut CommandContext) {
    let warning = standing.view().and_then(|view| view.evaluation.outcome.memory.warning.as_deref());
    if let Some(warning) = warning {
        context.output.note(&format!("verify-run: WARNING: {}", text::one_line(warning)));
    }
}

/// Names the settings of the gate that do not hold.
fn note_settings(context: &mut CommandContext) {
    let is_ours = |problem: &&Problem| problem.line.is_none() || problem.reason.contains("gate.");
    let note = |problem: &Problem| {
        let line = problem.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("warning: {}{line}: {}", problem.file.display(), text::one_line(&problem.reason))
    };
    let notes: Vec<String> = context.request.settings_problems().iter().filter(is_ours).map(note).collect();
    notes.iter().for_each(|note| context.output.note(note));
}

/// Checks what follows a verdict before anything runs: where the report goes, and whether the tree can be shipped.
fn check_conclusion(args: &RunArgs, context: &mut CommandContext) -> anyhow::Result<()> {
    if let Some(path) = &args.report {
        gate::check_report_path(&context.request, path)?;
    }
    if args.ship {
        gate::check_ship_settings(&context.request)?;
    }
    Ok(())
}

/// 0 approved, 1 rejected, 3 escalated, 4 halted.
fn exit_code(standing: &GateStanding) -> u8 {
    match standing.cycle.phase {
        CyclePhase::Approved | CyclePhase::Shipped => 0,
        CyclePhase::Escalated => 3,
        CyclePhase::Halted => 4,
        CyclePhase::Rejected | CyclePhase::Idle => 1,
    }
}

fn print_standing(standing: &GateStanding, format: GateFormat, context: &mut CommandContext) -> anyhow::Result<()> {
    let Some(view) = standing.view() else { return Ok(()) };
    match format {
        GateFormat::Sarif | GateFormat::Junit | GateFormat::Github => {
            if let Some(format) = format.document() {
                context.output.text(&standing.render_as(format))?;
            }
            Ok(())
        }
        GateFormat::Json => {
            let document = standing.to_document().context("nothing was evaluated")?;
            context.output.json(&Reply::from(document))
        }
        GateFormat::Markdown => context.output.text(&render_report(&view, standing.style)),
        GateFormat::Block => context.output.text(&render_status_block(&view)),
        GateFormat::Text => {
            let outcome = &view.evaluation.outcome;
            outcome.items.iter().try_for_each(|item| print_item(item, context))?;
            for issue in &outcome.issues {
                context.output.line(&format!("❌ {}: {}", issue.kind, text::one_line(&issue.message)))?;
            }
            review_lines(outcome).iter().try_for_each(|line| context.output.line(line))?;
            context.output.line("")?;
            context.output.text(&render_status_block(&view))?;
            for difference in &view.evaluation.start.differences {
                context.output.note(&format!("verify-run: since the last evaluation, {}", text::one_line(difference)));
            }
            context.output.note(&format!("Report: verify-run gate show {}", view.evaluation.id));
            Ok(())
        }
    }
}

/// A line for each issue of a review, and what is wrong with the review itself.
fn review_lines(outcome: &GateOutcome) -> Vec<String> {
    let mut lines = Vec::new();
    if has_unknown_implementer(outcome) {
        lines.push("⚠️  MODEL: it is not known which model wrote the change".to_owned());
    }
    let Some(review) = &outcome.review else { return lines };
    for issue in &review.issues {
        let icon = if issue.blocking { "❌ " } else { "⚠️  " };
        let line = issue.line.map_or_else(String::new, |line| format!(":{line}"));
        let place = issue.path.as_ref().map_or_else(String::new, |path| format!("{path}{line}: "));
        lines.push(format!("{icon}REVIEW: {}{}", text::one_line(&place), text::one_line(&issue.message)));
    }
    lines.extend(review.warning.iter().map(|warning| format!("⚠️  REVIEW: {}", text::one_line(warning))));
    lines
}

/// One line for an item, and one for each of its first findings.
fn print_item(item: &GateItem, context: &mut CommandContext) -> anyhow::Result<()> {
    const FINDINGS_MAX: usize = 5;
    let icon = match (item.status, item.blocking) {
        (GateItemStatus::Pass, _) => "✅ ",
        (GateItemStatus::NotApplicable, _) => "–  ",
        (GateItemStatus::Waived, _) | (_, false) => "⚠️  ",
        (GateItemStatus::Fail | GateItemStatus::NotEvaluated, true) => "❌ ",
    };
    let state = match item.status {
        GateItemStatus::NotEvaluated => "not evaluated",
        GateItemStatus::NotApplicable => "not applicable",
        GateItemStatus::Waived => "waived",
        GateItemStatus::Pass | GateItemStatus::Fail => "",
    };
    let reason = item.reason.as_deref().unwrap_or_default();
    // What the first finding says is not said twice.
    let is_repeated = item.findings.first().is_some_and(|finding| finding.message == item.details);
    let parts = [state, reason, if is_repeated { "" } else { item.details.as_str() }];
    let said: Vec<String> = parts.iter().filter(|part| !part.is_empty()).map(|part| text::one_line(part)).collect();
    let said = if said.is_empty() { String::new() } else { format!(" ({})", said.join(": ")) };
    context.output.line(&format!("{icon}{} {}{said}", item.id, text::one_line(&item.criterion)))?;
    if item.status != GateItemStatus::Fail {
        return Ok(());
    }
    for finding in item.findings.iter().take(FINDINGS_MAX) {
        let line = finding.line.map_or_else(String::new, |line| format!(":{line}"));
        let place = finding.path.as_ref().map_or_else(String::new, |path| format!("{path}{line}: "));
        context.output.line(&format!("     {}{}", text::one_line(&place), text::one_line(&finding.message)))?;
    }
    let more = item.findings.len().saturating_sub(FINDINGS_MAX) as u64 + item.findings_cut;
    if more > 0 {
        context.output.line(&format!("     and {more} more"))?;
    }
    Ok(())
}

fn status(args: &StatusArgs, context: &mut CommandContext) -> anyhow::Result<Exit> {
    if let Some(phase) = args.phase {
        return phase::status(phase, args.json, context);
    }
    let standing = gate::last_evaluation(&context.request)?;
    if args.can_exit {
        let can_exit = gate::can_exit(&context.request, &standing.cycle)?;
        return Ok(if can_exit { Exit::Ok } else { Exit::Failure });
    }
    let format = match (args.json, args.block) {
        (true, _) => GateFormat::Json,
        (_, true) => GateFormat::Block,
        _ => GateFormat::Text,
    };
    print_standing(&standing, format, context)?;
    Ok(Exit::Ok)
}

fn show(evaluation: Option<&str>, format: GateFormat, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let standing = match evaluation {
        Some(id) => gate::evaluation_by_id(&context.request, id)?,
        None => gate::last_evaluation(&context.request)?,
    };
    print_standing(&standing, format, context)?;
    Ok(Exit::Ok)
}

fn signal(is_withdrawn: bool, context: &mut CommandContext) -> anyhow::Result<Exit> {
    gate::signal_exit(&context.request, is_withdrawn)?;
    let standing = gate::last_evaluation(&context.request)?;
    harvest_where_work_may_end(&standing, context)?;
    let files = gate::write_session(&context.request, &standing);
    print_standing(&standing, GateFormat::Block, context)?;
    files.problems.iter().for_each(|problem| context.output.note(&format!("verify-run: {problem}")));
    Ok(Exit::Ok)
}

/// Queues what the task leaves to learn from, once both gates let its work end.
fn harvest_where_work_may_end(standing: &GateStanding, context: &CommandContext) -> anyhow::Result<()> {
    if exit_code(standing) == 0 && gate::can_exit(&context.request, &standing.cycle)? {
        library::harvest_at_exit(&context.request);
    }
    Ok(())
}

/// A line for each function: complexity, place, name.
fn measure(paths: &[PathBuf], context: &mut CommandContext) -> anyhow::Result<Exit> {
    let (functions, notes) = gate::list_functions(&context.request, paths);
    let lines: String = functions
        .iter()
        .map(|it| {
            let (path, name) = (text::one_line(&it.path.to_string_lossy()), text::one_line(&it.name));
            format!("{:>4} {path}:{} {name}\n", it.complexity, it.line)
        })
        .collect();
    context.output.text(&lines)?;
    context.output.notes(&notes);
    Ok(if notes.is_empty() { Exit::Ok } else { Exit::Failure })
}
