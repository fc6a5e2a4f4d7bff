//! Receipts: evidence that a check passed on exactly this tree.

mod attest;
mod import;
mod keys;
mod observe;
mod own;
mod reuse;
mod signed;
mod versions;

use std::ffi::OsString;

use anyhow::Context;
use serde::Serialize;

pub(crate) use attest::{VerifiedReceipt, VerifyRequest, export_statement, verify_receipt};
pub(crate) use import::{ImportedReceipt, import_receipt};
pub(crate) use keys::create_key;
pub(crate) use observe::{CheckedCommand, ObservedState, observe_isolated_state};
pub(crate) use reuse::{
    ReceiptLookup, ReuseOffer, age_refusal, check_finished, offer_isolated_reuse, offer_reuse, state_after,
    state_between,
};
pub(crate) use versions::ask_versions;

use super::reply::Reply;
use super::request::Request;
use crate::base::clock::Timestamp;
use crate::base::lossless::Lossless;
use crate::base::refusal::Refusal;
use crate::event::Receipt;
use crate::store::{ReceiptDoubt, ReceiptFilter};
use crate::whitelist::Whitelist;

/// A receipt in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ReceiptBrief {
    /// `e-…`
    pub id: String,
    /// The command, redacted.
    pub command: String,
    /// Where it ran, relative to the top of the work tree.
    pub dir: String,
    /// The git tree, hex.
    pub tree: String,
    /// Tests that ran, of a check that tests.
    pub tests: Option<u64>,
    /// When the command ended.
    pub ended_at: Timestamp,
}

impl ReceiptBrief {
    fn from_receipt(receipt: &Receipt) -> Self {
        ReceiptBrief {
            id: receipt.receipt.clone(),
            command: shell_words::join(receipt.argv.iter().map(Lossless::display)),
            dir: receipt.dir.display(),
            tree: receipt.state.tree.clone(),
            tests: receipt.tests,
            ended_at: receipt.ended_at,
        }
    }
}

/// Receipts of a work tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ReceiptList {
    /// The newest first.
    pub receipts: Vec<ReceiptBrief>,
}

/// A receipt with what speaks against it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ReceiptPage {
    /// The receipt as it is recorded.
    #[serde(flatten)]
    pub receipt: Receipt,
    /// Why it is not reused, whatever the files are; absent when nothing is known.
    pub doubt: Option<String>,
}

/// Whether a receipt covers a command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ReceiptCheckReply {
    /// Whether the command need not run again.
    pub covered: bool,
    /// The receipt that covers it, else the newest one of the command.
    pub receipt: Option<ReceiptBrief>,
    /// Why it is not covered.
    pub reason: Option<String>,
    /// The files that differ from the receipt's tree, relative to the root, up to a limit.
    pub files: Vec<String>,
}

/// The newest receipts of the work tree, up to `limit`.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn list_receipts(request: &Request, limit: usize) -> anyhow::Result<Reply<ReceiptList>> {
    let reading = request.open_for_reading()?;
    let root = Lossless::from(&request.places.root);
    let found = match &reading.index {
        Some(index) => index.list_receipts(&reading.segments, ReceiptFilter::Root(&root), limit)?,
        None => Vec::new(),
    };
    let receipts = found.iter().map(ReceiptBrief::from_receipt).collect();
    Ok(Reply::new(ReceiptList { receipts }, reading.notes))
}

/// The receipt of an id.
///
/// # Errors
/// When there is none, or the store can't be read.
pub(crate) fn show_receipt(request: &Request, id: &str) -> anyhow::Result<Reply<ReceiptPage>> {
    let reading = request.open_for_reading()?;
    let index = reading.index.as_ref().ok_or_else(no_receipt)?;
    let receipt = index.find_receipt(&reading.segments, id)?;
    let doubt = index.doubt_of_receipt(&receipt)?.map(|doubt| doubt_text(doubt).to_owned());
    let doubt = doubt.or_else(|| reuse::age_refusal(request, receipt.ended_at));
    Ok(Reply::new(ReceiptPage { receipt, doubt }, reading.notes))
}

/// Whether a receipt covers a command as it would run now, or with `staged` in a work tree that is what a commit would
/// have. Runs nothing.
///
/// # Errors
/// When the command is no recognised check, what it depends on can't be known, or the store can't be read.
pub(crate) fn check_receipt(
    request: &Request,
    argv: &[OsString],
    staged: bool,
) -> anyhow::Result<Reply<ReceiptCheckReply>> {
    let whitelist = Whitelist::open(&request.places, &request.environment);
    let check = whitelist.decide_command(argv).into_check();
    let reading = request.open_for_reading()?;
    let mut command = CheckedCommand { argv, check: check.as_ref(), is_item: false, has_no_input: false, path: None };
    // It may be an item of a checklist.
    let item = CheckedCommand { is_item: true, ..command };
    if !reuse::has_receipt(request, &reading, &command)? && reuse::has_receipt(request, &reading, &item)? {
        command = item;
    } else if check.is_none() {
        return Err(Refusal::usage("not a recognised check").then_run("whitelist explain COMMAND").into());
    }
    let mut observed = observe::observe_state(request, &command).map_err(Refusal::conflict)?;
    if staged {
        observed.state.tree =
            observe::staged_tree(request).map_err(Refusal::conflict).context("cannot read the index")?;
    }
    let answer = match &reading.index {
        Some(index) => {
            let store = reuse::ReceiptStore { index, segments: &reading.segments };
            reuse::find_cover(request, store, &command, &observed, reuse::WantedCover::Closest)?
        }
        None => None,
    };
    let reply = match answer {
        None => ReceiptCheckReply { reason: Some("no receipt of this command".to_owned()), ..Default::default() },
        Some(cover) => ReceiptCheckReply {
            covered: cover.obstacle.is_none(),
            receipt: cover.receipt,
            reason: cover.obstacle.as_ref().map(|obstacle| obstacle.text.clone()),
            files: cover.obstacle.map(|obstacle| obstacle.files).unwrap_or_default(),
        },
    };
    Ok(Reply::new(reply, reading.notes))
}

fn no_receipt() -> Refusal {
    Refusal::not_found("no receipts are recorded here").then_do("run a check with `verify-run --reuse COMMAND`")
}

fn doubt_text(doubt: ReceiptDoubt) -> &'static str {
    match doubt {
        ReceiptDoubt::Flaky => "the check is flaky",
        ReceiptDoubt::Weakened => "the check was weakened before it passed",
        ReceiptDoubt::FailedSince => "it failed since",
        ReceiptDoubt::FailedHere => "it failed on these files here",
    }
}
