//! `library check` and `library stats`.

use crate::base::text::{count, one_line};
use crate::ops::library::{self, LibraryFinding, LibraryStats};
use crate::surface::cli::{CommandContext, Exit, Output};

#[derive(Debug, clap::Args)]
pub(super) struct CheckArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct StatsArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn check(args: &CheckArgs, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let reply = library::check_library(&context.request)?;
    context.output.reply(&reply, args.json, |check, output| {
        if check.findings.is_empty() {
            output.note("no problems in the pattern library");
        }
        check.findings.iter().try_for_each(|finding| print_finding(finding, output))
    })?;
    Ok(if reply.data.findings.is_empty() { Exit::Ok } else { Exit::Failure })
}

fn print_finding(finding: &LibraryFinding, output: &mut Output) -> anyhow::Result<()> {
    output.line(&format!("{}: {} [{}]", one_line(&finding.path), one_line(&finding.why), finding.kind.as_str()))
}

pub(super) fn stats(args: &StatsArgs, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let reply = library::collect_stats(&context.request)?;
    context.output.reply(&reply, args.json, print_stats)?;
    Ok(Exit::Ok)
}

fn print_stats(stats: &LibraryStats, output: &mut Output) -> anyhow::Result<()> {
    let LibraryStats { validation, review, regressions, hygiene, throughput, lab } = stats;
    output.field(
        "validation",
        &format!("{} of {} proven, {} failed", validation.proven, count(validation.jobs, "job"), validation.failed),
    )?;
    let causes: Vec<String> = validation.causes.iter().map(|(cause, jobs)| format!("{cause} {jobs}")).collect();
    if !causes.is_empty() {
        output.field("root causes", &causes.join(", "))?;
    }
    let hours = validation.stalled_hours.map_or_else(String::new, |hours| format!(", resolved in {hours} h (median)"));
    output.field(
        "waiting for a person",
        &format!("{}, {} with damaged trees{hours}", validation.waiting_for_person, validation.stalled),
    )?;
    let hours = review.hours.map_or_else(String::new, |hours| format!(", decided in {hours} h (median)"));
    output.field(
        "review",
        &format!(
            "{} approved ({} without proof), {} rejected, {} undecided{hours}",
            review.approved, review.unproven, review.rejected, review.candidates
        ),
    )?;
    output.field("regressions", &format!("{} caught, {} escaped", regressions.caught, regressions.escaped))?;
    output.field(
        "hygiene",
        &format!(
            "{} deprecated, {} proposed, {} ({} not served)",
            hygiene.deprecated,
            hygiene.proposed,
            count(hygiene.findings, "finding"),
            hygiene.not_served
        ),
    )?;
    output.field("pages", &format!("{}, {}", count(throughput.pages, "page"), count(throughput.proofs, "proof")))?;
    output.field("use", &use_text(stats))?;
    output.field("lab", &format!("{}, {:.1} min", count(lab.runs, "run"), lab.minutes))
}

/// How often pages were applied where they were shown and where they were held out.
fn use_text(stats: &LibraryStats) -> String {
    let it = &stats.throughput;
    let without = match it.held_out {
        0 => "; no task was held out yet, so the effect is not known".to_owned(),
        held_out => format!("; applied in {} of {held_out} without being shown", it.applied_anyway),
    };
    format!("applied in {} of {} in which a page was shown{without}", it.applied, count(it.shown, "task"))
}
