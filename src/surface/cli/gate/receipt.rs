//! `verify-run gate receipt`.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::base::text::{count, one_line};
use crate::ops::receipt::{
    self, ImportedReceipt, ReceiptBrief, ReceiptCheckReply, ReceiptList, ReceiptPage, VerifiedReceipt, VerifyRequest,
};
use crate::surface::cli::{CommandContext, Exit, Output};

/// Digits of a tree in a list.
const TREE_DIGITS: usize = 12;

/// List, check, export and verify receipts
#[derive(Debug, clap::Args)]
pub(in crate::surface::cli) struct Args {
    #[command(subcommand)]
    action: ReceiptAction,
}

#[derive(Debug, clap::Subcommand)]
enum ReceiptAction {
    /// List receipts of the work tree, newest first
    List {
        /// Maximum number of receipts
        #[arg(long, default_value_t = 20, value_name = "N")]
        limit: usize,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a receipt
    Show {
        /// Id, or a unique prefix of it
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Exit with 0 if a receipt covers a command, else with 1; runs nothing
    Check {
        /// Check what a commit would have, not the files of the work tree
        #[arg(long)]
        staged: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// The command and its arguments
        #[arg(last = true, required = true, value_name = "COMMAND")]
        command: Vec<OsString>,
    },
    /// Print a receipt, or a verdict of the gate, as an in-toto statement
    Export {
        /// Id of a receipt or an evaluation, or a unique prefix of it (default: the newest receipt)
        id: Option<String>,
        /// Print a signed DSSE envelope
        #[arg(long)]
        sign: bool,
    },
    /// Record a receipt that an accepted key signed on another machine
    Import {
        /// File with the envelope
        file: PathBuf,
    },
    /// Exit with 0 if a signed statement proves a pass or an approval, else with 1
    Verify {
        /// File with the envelope
        file: PathBuf,
        /// Git tree that it has to be about
        #[arg(long, value_name = "TREE")]
        tree: Option<String>,
        /// Command line that it has to be about, run in this folder
        #[arg(long, value_name = "LINE")]
        command: Option<String>,
        /// Property that a verdict has to have (default: VERIFY_RUN_GATE_APPROVED)
        #[arg(long, value_name = "NAME", conflicts_with = "command")]
        property: Vec<String>,
        /// Public key that has to have signed it (default: your own)
        #[arg(long, value_name = "FILE")]
        key: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Manage the key that signs
    Key {
        #[command(subcommand)]
        action: KeyAction,
    },
}

#[derive(Debug, clap::Subcommand)]
enum KeyAction {
    /// Create the key
    New,
}

pub(in crate::surface::cli) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let CommandContext { request, output } = context;
    match &args.action {
        ReceiptAction::List { limit, json } => {
            output.reply(&receipt::list_receipts(request, *limit)?, *json, print_list)?;
        }
        ReceiptAction::Show { id, json } => output.reply(&receipt::show_receipt(request, id)?, *json, print_page)?,
        ReceiptAction::Check { staged, json, command } => {
            let reply = receipt::check_receipt(request, command, *staged)?;
            output.reply(&reply, *json, print_check)?;
            return Ok(if reply.data.covered { Exit::Ok } else { Exit::Failure });
        }
        ReceiptAction::Export { id, sign } => {
            let reply = receipt::export_statement(request, id.as_deref(), *sign)?;
            output.notes(&reply.notes);
            output.line(&reply.data.document)?;
        }
        ReceiptAction::Import { file } => {
            let reply = receipt::import_receipt(request, file)?;
            output.notes(&reply.notes);
            let ImportedReceipt { receipt, key } = &reply.data;
            let id = one_line(&receipt.id);
            output.line(&format!("{id}\t{}\tsigned by {key}", one_line(&receipt.command)))?;
        }
        ReceiptAction::Verify { file, tree, command, property, key, json } => {
            let (tree, command) = (tree.as_deref(), command.as_deref());
            let asked = VerifyRequest { file, tree, command, properties: property, key: key.as_deref() };
            let reply = receipt::verify_receipt(request, &asked)?;
            output.reply(&reply, *json, print_verified)?;
            return Ok(if reply.data.verified { Exit::Ok } else { Exit::Failure });
        }
        ReceiptAction::Key { action: KeyAction::New } => {
            let created = receipt::create_key(request)?;
            output.line(&format!("{}\t{}", created.public.display(), created.id))?;
        }
    }
    Ok(Exit::Ok)
}

fn print_verified(found: &VerifiedReceipt, output: &mut Output) -> anyhow::Result<()> {
    match (&found.reason, &found.command) {
        (Some(why), _) => output.line(&format!("not verified: {}", one_line(why))),
        (None, Some(command)) => output.line(&format!("verified: {}", one_line(command))),
        (None, None) => output.line(&format!("verified: {}", one_line(&found.properties.join(" ")))),
    }
}

fn print_list(list: &ReceiptList, output: &mut Output) -> anyhow::Result<()> {
    if list.receipts.is_empty() {
        output.note("no receipts: `verify-run --reuse COMMAND` leaves one when COMMAND passes");
        return Ok(());
    }
    let rows: Vec<Vec<String>> = list.receipts.iter().map(row).collect();
    output.table(&["id", "passed", "tree", "tests", "command"], &rows)
}

fn row(receipt: &ReceiptBrief) -> Vec<String> {
    let folder = if receipt.dir.is_empty() { String::new() } else { format!(" (in {})", receipt.dir) };
    vec![
        receipt.id.clone(),
        receipt.ended_at.local(),
        receipt.tree.chars().take(TREE_DIGITS).collect(),
        receipt.tests.map(|tests| tests.to_string()).unwrap_or_default(),
        one_line(&format!("{}{folder}", receipt.command)),
    ]
}

fn print_page(page: &ReceiptPage, output: &mut Output) -> anyhow::Result<()> {
    let receipt = &page.receipt;
    let line = shell_words::join(receipt.argv.iter().map(|word| word.display()));
    output.title(&format!("{} {line}", receipt.receipt))?;
    output.field("folder", &receipt.dir.display())?;
    output.field("passed", &receipt.ended_at.local())?;
    output.field("run", &receipt.run.to_string())?;
    if let Some(tests) = receipt.tests {
        output.field("ran", &count(tests, "test"))?;
    }
    output.field("tree", &receipt.state.tree)?;
    let names =
        |parts: &std::collections::BTreeMap<String, String>| parts.keys().cloned().collect::<Vec<_>>().join(" ");
    for (path, tree) in &receipt.state.submodules {
        output.field(&format!("submodule {}", one_line(path)), tree)?;
    }
    output.field("programs", &names(&receipt.state.programs.parts))?;
    output.field("variables", &names(&receipt.state.environment.parts))?;
    output.field("dependencies", &names(&receipt.state.dependencies.parts))?;
    page.doubt.as_ref().map_or(Ok(()), |doubt| output.field("not reused", doubt))
}

fn print_check(reply: &ReceiptCheckReply, output: &mut Output) -> anyhow::Result<()> {
    match (&reply.reason, &reply.receipt) {
        (None, Some(receipt)) => output.line(&format!("{}\tpassed {}", receipt.id, receipt.ended_at.local())),
        (reason, _) => {
            output.line(&format!("not covered: {}", one_line(reason.as_deref().unwrap_or_default())))?;
            reply.files.iter().try_for_each(|file| output.line(&one_line(file)))
        }
    }
}
