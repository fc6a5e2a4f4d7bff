//! `gate criteria`: the acceptance criteria of a PRP and what proves them.

use std::path::PathBuf;

use super::decide::confirm_person;
use crate::base::refusal::Refusal;
use crate::base::text::one_line;
use crate::gate::criteria::file::CriterionEvidence;
use crate::ops::gate::{self, CriteriaList, LinkRequest};
use crate::surface::cli::{CommandContext, Exit, Output};

/// List acceptance criteria, and link them to what proves them
///
/// Links are written into qa-criteria.yml: the one beside the PRP if it is there, else .verify-run/qa-criteria.yml.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Option<CriteriaAction>,
}

#[derive(Debug, clap::Subcommand)]
enum CriteriaAction {
    /// List the criteria of a PRP with their evidence (default)
    List {
        #[command(flatten)]
        prp: PrpArgs,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Link a criterion to the test or the command that proves it
    Link {
        /// Criterion, such as AC-2
        #[arg(value_name = "CRITERION")]
        id: String,
        /// Test, such as tests/test_api.py::test_page_size
        #[arg(value_name = "SELECTOR", required_unless_present = "command")]
        selector: Option<String>,
        /// Command that has to pass; a person has to approve it with `gate trust`
        #[arg(long, value_name = "LINE", conflicts_with = "selector")]
        command: Option<String>,
        #[command(flatten)]
        prp: PrpArgs,
        #[command(flatten)]
        renewal: RenewalArgs,
    },
    /// Confirm a criterion that no test proves, in the name of a person
    Confirm {
        /// Criterion, such as AC-3
        #[arg(value_name = "CRITERION")]
        id: String,
        /// Name of the person who has seen it
        #[arg(long, value_name = "NAME")]
        by: String,
        /// What was seen
        #[arg(long, value_name = "TEXT")]
        note: String,
        #[command(flatten)]
        prp: PrpArgs,
        #[command(flatten)]
        renewal: RenewalArgs,
    },
}

#[derive(Debug, clap::Args)]
struct PrpArgs {
    /// PRP with the criteria (default: that of the links, else of the last evaluation)
    #[arg(long, value_name = "FILE")]
    prp: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct RenewalArgs {
    /// Take over links that were made before the criteria changed; confirmations are dropped
    #[arg(long)]
    renew: bool,
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    match &args.action {
        None => list(None, false, context),
        Some(CriteriaAction::List { prp, json }) => list(prp.prp.as_deref(), *json, context),
        Some(CriteriaAction::Link { id, selector, command, prp, renewal }) => {
            let evidence = match (selector, command) {
                (Some(selector), _) => CriterionEvidence::Test { selector: plain(selector)? },
                (None, command) => {
                    let line = plain(command.as_deref().unwrap_or_default())?;
                    if shell_words::split(&line).map_or(true, |words| words.is_empty()) {
                        return Err(Refusal::usage("a quote of the command is not closed").into());
                    }
                    CriterionEvidence::Command { line }
                }
            };
            link(&LinkRequest { prp: prp.prp.as_deref(), id, evidence, renews: renewal.renew }, context)
        }
        Some(CriteriaAction::Confirm { id, by, note, prp, renewal }) => {
            confirm_person(by, context)?;
            let at = context.request.now().local_day();
            let evidence = CriterionEvidence::Manual { by: plain(by)?, at, note: plain(note)? };
            link(&LinkRequest { prp: prp.prp.as_deref(), id, evidence, renews: renewal.renew }, context)
        }
    }
}

/// A value of the file: one line, not empty.
fn plain(text: &str) -> anyhow::Result<String> {
    let text = text.trim();
    if text.is_empty() || text.chars().any(char::is_control) {
        return Err(Refusal::usage("give one line of text without control characters").into());
    }
    Ok(text.to_owned())
}

fn list(prp: Option<&std::path::Path>, is_json: bool, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let reply = gate::list_criteria(&context.request, prp)?;
    context.output.reply(&reply, is_json, print_list)?;
    Ok(Exit::Ok)
}

fn print_list(list: &CriteriaList, output: &mut Output) -> anyhow::Result<()> {
    let row = |criterion: &gate::CriterionPage| {
        let evidence = match criterion.kind {
            Some(kind) => format!("{kind}: {}", one_line(&criterion.evidence.join(", "))),
            None => "nothing".to_owned(),
        };
        vec![criterion.id.clone(), one_line(&criterion.text), evidence]
    };
    let rows: Vec<Vec<String>> = list.criteria.iter().map(row).collect();
    output.table(&["id", "criterion", "evidence"], &rows)?;
    if let (Some(file), Some(stale)) = (&list.file, &list.stale) {
        output.note(&format!("{}: {}: no link counts", one_line(file), one_line(stale)));
    }
    Ok(())
}

fn link(link: &LinkRequest<'_>, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let written = gate::link_criterion(&context.request, link)?;
    context.output.line(&format!("wrote {}", one_line(&written.data.file)))?;
    context.output.notes(&written.notes);
    if written.data.needs_approval {
        context.output.note("hint: run `verify-run gate trust`");
    }
    Ok(Exit::Ok)
}
