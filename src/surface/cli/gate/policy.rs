//! `gate plan`, `gate trust`, `gate init`: the policy, and which of its commands may run.

use super::{PolicyArgs, parse_kind};
use crate::base::text;
use crate::gate::plan::{PlannedItem, PlannedSource};
use crate::gate::policy::ChangeKind;
use crate::ops::gate::{self, GatePlan, PlanRequest, PolicyFiles, TrustReview, UntrustedFile};
use crate::ops::reply::Reply;
use crate::surface::cli::{CommandContext, Exit};

#[derive(Debug, clap::Args)]
pub(super) struct PlanArgs {
    #[command(flatten)]
    files: PolicyArgs,
    /// Kind of the change: feature, fix, refactor, docs or chore
    #[arg(long, value_name = "KIND", value_parser = parse_kind)]
    kind: Option<ChangeKind>,
    /// Commit or branch to compare with (default: where the branch left the main one)
    #[arg(long, value_name = "REVISION")]
    base: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct TrustArgs {
    #[command(flatten)]
    files: PolicyArgs,
    /// Show what is approved and what is not
    #[arg(long)]
    show: bool,
    /// Forget every approval of this repository
    #[arg(long, conflicts_with_all = ["show", "digest"])]
    revoke: bool,
    /// Print one digest over the policy files
    #[arg(long, conflicts_with = "show")]
    digest: bool,
}

pub(super) fn plan(args: &PlanArgs, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let files = &args.files;
    let wanted = PlanRequest {
        checklist: files.checklist.clone(),
        mapping: files.mapping.clone(),
        kind: args.kind,
        base: args.base.clone(),
    };
    let plan = gate::plan_gate(&context.request, &wanted)?;
    if args.json {
        context.output.json(&Reply::from(plan))?;
    } else {
        print_plan(&plan, context)?;
    }
    Ok(Exit::Ok)
}

fn print_plan(plan: &GatePlan, context: &mut CommandContext) -> anyhow::Result<()> {
    let file = |name: &Option<String>| name.as_deref().map_or("shipped".to_owned(), text::one_line);
    context.output.line(&format!("checklist: {}", file(&plan.checklist)))?;
    context.output.line(&format!("tools: {}", file(&plan.mapping)))?;
    for project in &plan.projects {
        let dir = if project.dir.is_empty() { "." } else { &project.dir };
        context.output.line(&format!("project: {dir} ({}, by {})", project.stack, project.marker))?;
    }
    for item in &plan.items {
        print_item(item, context)?;
    }
    for file in &plan.untrusted {
        let file = text::one_line(&file.file);
        context.output.note(&format!("{file}: its commands are not approved"));
    }
    if !plan.untrusted.is_empty() {
        context.output.note("hint: run `verify-run gate trust`");
    }
    Ok(())
}

fn print_item(item: &PlannedItem, context: &mut CommandContext) -> anyhow::Result<()> {
    let place = match (&item.dir, &item.stack) {
        (Some(dir), Some(stack)) if dir.is_empty() => format!(" ({stack})"),
        (Some(dir), Some(stack)) => format!(" ({dir}, {stack})"),
        _ => String::new(),
    };
    let source = match &item.source {
        PlannedSource::Command { line, argv, is_shell, adapter, .. } => {
            let executed = if *is_shell { format!("sh -c {line}") } else { quoted_words(argv) };
            let read_by = adapter.map_or(String::new(), |adapter| format!(", read as {adapter}"));
            if executed == *line || *is_shell {
                format!("{executed}{read_by}")
            } else {
                format!("{line} → {executed}{read_by}")
            }
        }
        PlannedSource::Builtin { measure } => format!("built-in {measure}"),
        PlannedSource::Method { method } => format!("method {method}"),
        PlannedSource::Nothing => "nothing".to_owned(),
    };
    let blocking = if item.blocking { "" } else { ", not blocking" };
    context.output.line(&format!("{}{place}: {source}{blocking}", item.item))?;
    item.notes.iter().try_for_each(|note| context.output.line(&format!("  {note}")))
}

/// The words of a command as they are typed; placeholders stay readable.
fn quoted_words(words: &[String]) -> String {
    let quoted =
        |word: &String| if word.starts_with('{') { word.clone() } else { shell_words::quote(word).into_owned() };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

fn load_policy(files: &PolicyArgs, context: &CommandContext) -> anyhow::Result<PolicyFiles> {
    PolicyFiles::load(
        &context.request.places,
        &context.request.environment,
        files.checklist.as_deref(),
        files.mapping.as_deref(),
        None,
    )
}

pub(super) fn trust(args: &TrustArgs, context: &mut CommandContext) -> anyhow::Result<Exit> {
    if args.revoke {
        return revoke_approvals(context);
    }
    if args.digest {
        return print_digest(&args.files, context);
    }
    review_policy(&args.files, args.show, context)
}

fn review_policy(files: &PolicyArgs, is_show: bool, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let policy = load_policy(files, context)?;
    let review = gate::review_trust(&context.request.places, &context.request.environment, &policy)?;
    print_review(&review, context)?;
    if is_show || review.untrusted.is_empty() {
        return Ok(if review.untrusted.is_empty() { Exit::Ok } else { Exit::Failure });
    }
    if !context.output.ask("Approve these files as they are? Their commands run when the gate runs.")? {
        context.output.note("verify-run: nothing was approved: a person has to answer `y` on a terminal");
        return Ok(Exit::Usage);
    }
    gate::approve_files(
        &context.request.places,
        &context.request.environment,
        &review.untrusted,
        context.request.now(),
    )?;
    context.output.line("approved")?;
    Ok(Exit::Ok)
}

fn print_review(review: &TrustReview, context: &mut CommandContext) -> anyhow::Result<()> {
    if review.trusted.is_empty() && review.untrusted.is_empty() {
        return context.output.line("This repository has no policy files of its own. There is nothing to approve.");
    }
    for file in &review.trusted {
        context.output.line(&format!("approved: {}", text::one_line(file)))?;
    }
    for file in &review.untrusted {
        print_untrusted(file, context)?;
    }
    Ok(())
}

/// A new file whole, a changed one as a diff.
fn print_untrusted(file: &UntrustedFile, context: &mut CommandContext) -> anyhow::Result<()> {
    let name = text::one_line(&file.file);
    match &file.approved {
        None => {
            context.output.line(&format!("not approved: {name}"))?;
            file.text.lines().try_for_each(|line| context.output.line(&format!("  {line}")))
        }
        Some(approved) => {
            context.output.line(&format!("changed since it was approved: {name}"))?;
            let diff = similar::TextDiff::from_lines(approved.as_str(), file.text.as_str());
            let unified = diff.unified_diff().context_radius(2).to_string();
            unified.lines().try_for_each(|line| context.output.line(&format!("  {line}")))
        }
    }
}

fn revoke_approvals(context: &mut CommandContext) -> anyhow::Result<Exit> {
    let had_any = gate::revoke_trust(&context.request.places, &context.request.environment)?;
    context.output.line(if had_any { "revoked" } else { "Nothing was approved." })?;
    Ok(Exit::Ok)
}

fn print_digest(files: &PolicyArgs, context: &mut CommandContext) -> anyhow::Result<Exit> {
    match gate::policy_digest(&load_policy(files, context)?) {
        Some(digest) => context.output.line(&digest)?,
        None => context.output.note("verify-run: this repository has no policy files of its own"),
    }
    Ok(Exit::Ok)
}

pub(super) fn init(has_session: bool, context: &mut CommandContext) -> anyhow::Result<Exit> {
    if has_session && gate::create_session_folder(&context.request.places)? {
        context.output.line("made .prp-session, hidden by .git/info/exclude")?;
    }
    let written = gate::write_policy(&context.request.places)?;
    for file in &written {
        context.output.line(&format!("wrote {file}"))?;
    }
    if written.is_empty() {
        context.output.line("The policy files are there already.")?;
    } else {
        context.output.note("hint: run `verify-run gate plan`");
    }
    Ok(Exit::Ok)
}
