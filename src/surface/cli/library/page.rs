//! `library list`, `show`, `approve`, `reject`, `deprecate` and `restore`.

use std::path::PathBuf;

use crate::base::text::{count, one_line, printable};
use crate::event::LibraryFolderName;
use crate::ops::library::{self, PageReview, PageReviewDecision, PageSummary};
use crate::surface::cli::{CommandContext, Exit};

#[derive(Debug, clap::Args)]
pub(super) struct ListArgs {
    /// Only pages that wait for a decision
    #[arg(long, group = "folder")]
    candidates: bool,
    /// Only pages that were approved
    #[arg(long, group = "folder")]
    active: bool,
    /// Only pages that are not for agents any more
    #[arg(long, group = "folder")]
    deprecated: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct ShowArgs {
    /// Id of the page or a unique prefix
    id: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct ReviewArgs {
    /// Id of the page or a unique prefix
    id: String,
    /// Name of the person who decides
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Reason
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct ApproveArgs {
    #[command(flatten)]
    said: ReviewArgs,
    /// Approve it though it is not proven
    #[arg(long)]
    accept_unproven: bool,
    /// Active page that it replaces
    #[arg(long, value_name = "ID")]
    supersedes: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub(super) struct DeprecateArgs {
    #[command(flatten)]
    said: ReviewArgs,
    /// Page that replaces it
    #[arg(long, value_name = "ID")]
    superseded_by: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(super) struct VerifyArgs {
    /// Id of the page or a unique prefix
    id: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct ExportArgs {
    /// Id of the page or a unique prefix
    id: String,
    /// The git bundle to write
    #[arg(long, value_name = "FILE", required_unless_present = "tar")]
    bundle: Option<PathBuf>,
    /// Write the approved tree as a tar archive, the same bytes each time
    #[arg(long, value_name = "FILE")]
    tar: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn list(args: &ListArgs, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let folder = match (args.candidates, args.active, args.deprecated) {
        (true, _, _) => Some(LibraryFolderName::Candidates),
        (_, true, _) => Some(LibraryFolderName::Active),
        (_, _, true) => Some(LibraryFolderName::Deprecated),
        _ => None,
    };
    let list = library::list_pages(&context.request, folder)?;
    context.output.reply(&list, args.json, |list, output| {
        for page in &list.unreadable {
            output.note(&format!("{} is no page: {}", one_line(&page.path), one_line(&page.why)));
        }
        if list.pages.is_empty() {
            output.note("no pages");
            return Ok(());
        }
        output.list_title(&count(list.pages.len(), "page"))?;
        let rows: Vec<Vec<String>> = list.pages.iter().map(row).collect();
        output.table(&["page", "folder", "evidence", "served", "title"], &rows)
    })?;
    Ok(Exit::Ok)
}

fn row(page: &PageSummary) -> Vec<String> {
    let folder = page.folder.map(|folder| folder.as_str()).unwrap_or_default();
    let served = if page.served { "served" } else { "not served" };
    let claim = page.claim.as_ref().map(|claim| format!(" ({})", claim.claim_text())).unwrap_or_default();
    let evidence = format!("{}{claim}", page.evidence);
    [page.id.as_str(), folder, &evidence, served, &page.title].iter().map(|text| one_line(text)).collect()
}

pub(super) fn show(args: &ShowArgs, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let page = library::show_page(&context.request, &args.id)?;
    context.output.reply(&page, args.json, |page, output| {
        output.text(&printable(&page.markdown))?;
        if let Some(why) = &page.summary.why_not {
            output.note(&format!("agents do not get to read it: {}", one_line(why)));
        }
        if let Some(claim) = &page.summary.claim {
            output.note(&claim.claim_text());
        }
        for decision in &page.decisions {
            let when = output.when(decision.at);
            let (person, reason) = (one_line(&decision.person), one_line(&decision.reason));
            output.note(&format!("{} {when} by {person}: {reason}", decision.decision));
        }
        Ok(())
    })?;
    Ok(Exit::Ok)
}

pub(super) fn verify(args: &VerifyArgs, context: &mut CommandContext) -> anyhow::Result<Exit> {
    context.output.busy("running the proof");
    let verified = library::verify_page(&context.request, &args.id)?;
    context.output.reply(&verified, args.json, |verified, output| {
        let result = if verified.holds { "holds" } else { "does not hold" };
        output.line(&format!("{}\t{result}\t{}", verified.id, one_line(&verified.why)))
    })?;
    Ok(if verified.data.holds { Exit::Ok } else { Exit::Failure })
}

pub(super) fn export(args: &ExportArgs, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let exported = library::export_proof(&context.request, &args.id, args.bundle.as_deref(), args.tar.as_deref())?;
    context.output.reply(&exported, args.json, |exported, output| {
        if let (Some(tar), Some(digest)) = (&exported.tar, &exported.tarball_digest) {
            output.line(&format!("{digest}\t{}", tar.display()))?;
        }
        let Some(bundle) = &exported.bundle else { return Ok(()) };
        let (bundle, tag) = (bundle.display().to_string(), &exported.tag);
        let bundle = shell_words::quote(&bundle).into_owned();
        let branch = library::readme_branch(tag);
        output.line(&format!("git clone --quiet --branch {branch} {bundle} proof && cd proof"))?;
        let shown = library::proof_commands(tag, &exported.command, &exported.dir);
        shown.iter().try_for_each(|command| output.line(command))
    })?;
    Ok(Exit::Ok)
}

pub(super) fn approve(args: &ApproveArgs, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let mut review = review_of(&args.said, PageReviewDecision::Approve);
    (review.accept_unproven, review.supersedes) = (args.accept_unproven, args.supersedes.clone());
    decide(&review, args.said.json, context)
}

pub(super) fn reject(args: &ReviewArgs, context: &mut CommandContext) -> anyhow::Result<Exit> {
    decide(&review_of(args, PageReviewDecision::Reject), args.json, context)
}

pub(super) fn deprecate(args: &DeprecateArgs, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let mut review = review_of(&args.said, PageReviewDecision::Deprecate);
    review.replaced_by.clone_from(&args.superseded_by);
    decide(&review, args.said.json, context)
}

pub(super) fn restore(args: &ReviewArgs, context: &mut CommandContext) -> anyhow::Result<Exit> {
    decide(&review_of(args, PageReviewDecision::Restore), args.json, context)
}

fn review_of(said: &ReviewArgs, decision: PageReviewDecision) -> PageReview {
    PageReview {
        decision,
        id: said.id.clone(),
        person: said.by.clone(),
        reason: said.reason.clone(),
        accept_unproven: false,
        supersedes: Vec::new(),
        replaced_by: None,
        shown: None,
    }
}

fn decide(review: &PageReview, json: bool, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let decided = library::review_page(&context.request, review)?;
    context.output.reply(&decided, json, |decided, output| {
        let folder = decided.folder.map_or("rejected", |folder| folder.as_str());
        output.line(&format!("{}\t{folder}\t{}", decided.id, decided.path.as_deref().unwrap_or_default()))?;
        decided.deprecated.iter().try_for_each(|id| output.line(&format!("{id}\tdeprecated\t")))
    })?;
    Ok(Exit::Ok)
}
