//! `verify-run promote`.

use std::path::PathBuf;

use super::{CommandContext, Exit, Output, PagingArgs};
use crate::advice::block::EditPolicy;
use crate::advice::promotion::ProofStrength;
use crate::base::text::{count, one_line};
use crate::event::PromotionState;
use crate::ops::promote::review::{self, DecidedPromotion, PromotionDecision, PromotionReview};
use crate::ops::promote::{self, PromotionDetail, TargetOptions};
use crate::retrieval::promotions::PromotionItem;

/// Review proposals for CLAUDE.md and AGENTS.md
///
/// Patterns that warnings prevent, and remedies that help, are proposed automatically. Nothing is written until a
/// person approves it, with a name and a reason. Approved text goes into a marked block of the nearest CLAUDE.md or
/// AGENTS.md and can be rolled back, which restores the file byte for byte. A promoted pattern causes no more warnings;
/// if it recurs, or is not seen for a long time, its retirement is proposed.
///
/// JSON: docs/json.md
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: PromoteAction,
    #[command(flatten)]
    paging: PagingArgs,
}

#[derive(Debug, clap::Subcommand)]
enum PromoteAction {
    /// List pending proposals, strong ones first
    List {
        /// Include decided and withdrawn proposals
        #[arg(long)]
        all: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a proposal with its evidence, its history and the exact diff
    Show {
        /// Id or a unique prefix, or the id of the pattern or entry
        id: String,
        #[command(flatten)]
        wanted: TargetArgs,
        /// Print only the diff, for `git apply`
        #[arg(long, conflicts_with = "json")]
        diff: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Approve proposals and write them; all of them or none
    Approve {
        #[command(flatten)]
        said: ReviewerArgs,
        #[command(flatten)]
        wanted: TargetArgs,
        /// What to do with edits inside the block
        #[arg(long, value_parser = ["keep"])]
        edits: Option<String>,
    },
    /// Reject proposals; they are not proposed again
    Reject {
        #[command(flatten)]
        said: ReviewerArgs,
    },
    /// Roll back approved proposals
    Rollback {
        #[command(flatten)]
        said: ReviewerArgs,
        /// What to do with edits inside the block
        #[arg(long, value_parser = ["keep"])]
        edits: Option<String>,
    },
}

#[derive(Debug, clap::Args)]
struct TargetArgs {
    /// File to write, relative to the top of the project
    #[arg(long, value_name = "FILE", conflicts_with = "rules")]
    target: Option<PathBuf>,
    /// Write a rule file in `.claude/rules`, which is loaded with the files it is about
    #[arg(long)]
    rules: bool,
}

impl TargetArgs {
    fn wanted(&self) -> TargetOptions {
        TargetOptions { target: self.target.clone(), rules: self.rules }
    }
}

#[derive(Debug, clap::Args)]
struct ReviewerArgs {
    /// Ids, or unique prefixes of them
    #[arg(required = true)]
    ids: Vec<String>,
    /// Name of the person who decides (default: git's user.name)
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Reason
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let edits = |edits: &Option<String>| if edits.is_some() { EditPolicy::Keep } else { EditPolicy::Refuse };
    context.output.use_pager(args.paging.pager);
    match &args.action {
        PromoteAction::List { all, json } => list(context, *all, *json),
        PromoteAction::Show { id, wanted, diff, json } => {
            let shown = promote::show_promotion(&context.request, id, &wanted.wanted())?;
            context.output.reply(&shown, *json, |shown, output| {
                if *diff {
                    output.text(&shown.diff)?
                } else {
                    print_page(shown, output)?
                }
                shown.refused.iter().for_each(|refused| output.note(refused));
                Ok(())
            })?;
            Ok(if shown.data.refused.is_some() { Exit::Failure } else { Exit::Ok })
        }
        PromoteAction::Approve { said, wanted, edits: kept } => {
            decide(context, PromotionDecision::Approve, said, wanted.wanted(), edits(kept))
        }
        PromoteAction::Reject { said } => {
            decide(context, PromotionDecision::Reject, said, TargetOptions::default(), EditPolicy::Refuse)
        }
        PromoteAction::Rollback { said, edits: kept } => {
            decide(context, PromotionDecision::RollBack, said, TargetOptions::default(), edits(kept))
        }
    }
}

fn list(context: &mut CommandContext, all: bool, json: bool) -> anyhow::Result<Exit> {
    let list = promote::list_promotions(&context.request, all)?;
    context.output.reply(&list, json, |list, output| {
        let rows: Vec<Vec<String>> = list.promotions.iter().map(row).collect();
        if rows.is_empty() {
            output.note("no pending proposals");
            return Ok(());
        }
        output.list_title(&count(rows.len(), if all { "line" } else { "pending proposal" }))?;
        output.table(&["id", "state", "proof", "file", "line", "why"], &rows)
    })?;
    Ok(Exit::Ok)
}

fn row(item: &PromotionItem) -> Vec<String> {
    let state = match (&item.retirement, item.state) {
        (Some(_), PromotionState::Approved) => "retire?",
        (_, PromotionState::Approved) if item.missing => "missing",
        (_, PromotionState::Pending) if item.lapsed.is_some() => "lapsed",
        (_, state) => state.as_str(),
    };
    let strength = if item.label.strength == ProofStrength::Strong { "strong" } else { "weak" };
    let why = item.retirement.as_ref().or(item.reason.as_ref()).or(item.lapsed.as_ref()).unwrap_or(&item.label.reason);
    let target = item.target.to_string_lossy();
    [&item.id, state, strength, &target, &item.title, why].iter().map(|text| one_line(text)).collect()
}

fn print_page(shown: &PromotionDetail, output: &mut Output) -> anyhow::Result<()> {
    let mut text = crate::base::text::printable(&shown.markdown);
    if let Some(why) = &shown.item.retirement {
        text.push_str(&format!("\n## Retirement proposed\n\n{why}.\n"));
    }
    if let Some(why) = &shown.item.lapsed {
        text.push_str(&format!("\n## No longer proposed\n\n{}.\n", one_line(why)));
    }
    if !shown.history.is_empty() {
        text.push_str("\n## History\n\n");
    }
    for change in &shown.history {
        let who = change.person.as_deref().or(change.agent.as_deref()).map(|who| format!(" by {}", one_line(who)));
        let target = change.target.as_deref().map(|target| format!(" into {}", one_line(target)));
        text.push_str(&format!(
            "- {} {}{}{}: {}\n",
            output.when(change.at),
            change.change.as_str().replace('_', " "),
            target.unwrap_or_default(),
            who.unwrap_or_default(),
            one_line(&change.reason)
        ));
    }
    output.text(&text)
}

fn decide(
    context: &mut CommandContext,
    decision: PromotionDecision,
    said: &ReviewerArgs,
    wanted: TargetOptions,
    edits: EditPolicy,
) -> anyhow::Result<Exit> {
    let (ids, person, reason) = (said.ids.clone(), said.by.clone(), said.reason.clone());
    let review = PromotionReview { decision, ids, person, reason, wanted, edits, shown: None };
    let decided = review::review_promotions(&context.request, &review)?;
    context.output.reply(&decided, said.json, |decided, output| {
        decided.promotions.iter().try_for_each(|one| print_decided(one, output))
    })?;
    Ok(Exit::Ok)
}

fn print_decided(one: &DecidedPromotion, output: &mut Output) -> anyhow::Result<()> {
    let file = one.target.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    let bytes = match one.as_before {
        Some(true) => "\tas before",
        Some(false) => "\tchanged since",
        None => "",
    };
    output.line(&format!("{}\t{}\t{file}{bytes}", one.id, one.state.as_str()))
}
