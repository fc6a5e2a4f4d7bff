//! Receipts and verdicts for others: in-toto statements and signed envelopes.

use std::path::Path;

use serde::Serialize;

use super::keys::{public_file, read_own_key, read_public_key, read_small};
use super::own::is_own_receipt;
use super::versions::{place_of, stated_toolchain};
use super::{doubt_text, no_receipt};
use crate::base::lossless::Lossless;
use crate::base::refusal::Refusal;
use crate::config::ReceiptEnvironment;
use crate::event::Receipt;
use crate::gate::receipt::dsse::{Envelope, EnvelopeError};
use crate::gate::receipt::{
    CheckStatement, StatedCommand, StatedToolchain, Statement, StatementDemand, VerdictStatement,
};
use crate::ops::gate::evaluation_by_id;
use crate::ops::reading::StoreReader;
use crate::ops::reply::Reply;
use crate::ops::request::Request;
use crate::store::{ReceiptFilter, own_writer};

/// What a secret was replaced by in the words of a command begins so.
const REDACTED: &str = "[redacted:";

/// An exported receipt or verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExportedStatement {
    /// The statement, or the envelope around it: one JSON document.
    pub document: String,
}

/// What a file has to prove.
#[derive(Debug, Clone)]
pub(crate) struct VerifyRequest<'a> {
    /// The file with the statement or envelope.
    pub file: &'a Path,
    /// The git tree that it has to be about, hex.
    pub tree: Option<&'a str>,
    /// The command line that it has to be about.
    pub command: Option<&'a str>,
    /// Properties that a verdict has to have; without any the approval.
    pub properties: &'a [String],
    /// The public key that has to have signed it; without one, the user's own.
    pub key: Option<&'a Path>,
}

/// Whether a file proves what was asked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct VerifiedReceipt {
    /// Whether it does.
    pub verified: bool,
    /// Why not.
    pub reason: Option<String>,
    /// The git tree that the file is about, once the signature is verified.
    pub tree: Option<String>,
    /// The command that the file is about, once the signature is verified; absent of a verdict.
    pub command: Option<String>,
    /// What the file says of a tree that the gate judged, once the signature is verified; empty of a check.
    pub properties: Vec<String>,
}

impl VerifiedReceipt {
    fn refused(reason: impl ToString) -> Self {
        VerifiedReceipt { reason: Some(reason.to_string()), ..VerifiedReceipt::default() }
    }
}

/// The statement of a receipt (`e-…`) or of an evaluation of the gate (`g-…`); without an id that of the newest receipt of
/// the work tree. Signed on request: then only what was recorded here.
///
/// # Errors
/// When there is none, there is no key to sign with, it was recorded elsewhere, or the store can't be read.
pub(crate) fn export_statement(
    request: &Request,
    id: Option<&str>,
    sign: bool,
) -> anyhow::Result<Reply<ExportedStatement>> {
    let mut reading = request.open_for_reading()?;
    let mut notes = std::mem::take(&mut reading.notes);
    let statement = match id.filter(|id| id.starts_with("g-")) {
        Some(id) => export_verdict(request, &reading, id, sign)?,
        None => export_receipt(request, &reading, id, sign, &mut notes)?,
    };
    let document = if sign { read_own_key(request)?.sign(&statement).to_json() } else { statement };
    Ok(Reply::new(ExportedStatement { document }, notes))
}

fn export_receipt(
    request: &Request,
    reading: &StoreReader,
    id: Option<&str>,
    is_signed: bool,
    notes: &mut Vec<String>,
) -> anyhow::Result<String> {
    let index = reading.index.as_ref().ok_or_else(no_receipt)?;
    let receipt = match id {
        Some(id) => index.find_receipt(&reading.segments, id)?,
        None => {
            let root = Lossless::from(&request.places.root);
            let newest = index.list_receipts(&reading.segments, ReceiptFilter::Root(&root), 1)?.pop();
            newest.ok_or_else(no_receipt)?
        }
    };
    if is_signed && !is_own_receipt(&request.places, index, &reading.segments, &receipt)? {
        return Err(refuse_foreign(&receipt.receipt).into());
    }
    if is_signed && let Some(doubt) = index.doubt_of_receipt(&receipt)? {
        let (id, doubt) = (&receipt.receipt, doubt_text(doubt));
        return Err(Refusal::conflict(format!("{id} proves nothing: {doubt}")).into());
    }
    let toolchain = toolchain_of(request, &receipt).map_err(|why| notes.push(why)).ok();
    Ok(CheckStatement::from_receipt(&receipt, &folder_name(&receipt.root), toolchain.flatten().as_ref()).to_json())
}

/// What another machine can compare of a receipt; `None` where the settings don't ask for it.
///
/// # Errors
/// A note: why there is nothing that it could compare.
fn toolchain_of(request: &Request, receipt: &Receipt) -> Result<Option<StatedToolchain>, String> {
    if request.settings().receipts.environment != ReceiptEnvironment::Toolchain {
        return Ok(None);
    }
    let note = |why: &str| format!("other machines cannot reuse {}: {why}", receipt.receipt);
    let is_exact = |word: &Lossless| word.0.to_str().is_some_and(|text| !text.contains(REDACTED));
    if !receipt.argv.iter().chain([&receipt.dir]).all(is_exact) {
        return Err(note("its command line is not recorded as it was"));
    }
    let state = receipt.state.toolchain.as_ref();
    let state = state.ok_or_else(|| note("with which versions and contents it passed is not recorded"))?;
    let (argv, dir) = place_of(request, receipt);
    stated_toolchain(request, &argv, &dir, state).map(Some).map_err(|unknown| note(&unknown.to_string()))
}

fn export_verdict(request: &Request, reading: &StoreReader, id: &str, is_signed: bool) -> anyhow::Result<String> {
    let standing = evaluation_by_id(request, id)?;
    let view = standing.view().ok_or_else(|| Refusal::not_found(format!("the evaluation {id} has no verdict")))?;
    let evaluation = view.evaluation.id.as_str();
    let is_own = match (&reading.index, own_writer(&request.places.state)) {
        (Some(index), Some(writer)) => index.is_own_evaluation(evaluation, &writer)?,
        _ => false,
    };
    if is_signed && !is_own {
        return Err(refuse_foreign(evaluation).into());
    }
    Ok(VerdictStatement::from_evaluation(&view, &folder_name(&Lossless::from(&request.places.root))).to_json())
}

fn refuse_foreign(id: &str) -> Refusal {
    Refusal::conflict(format!("{id} was recorded elsewhere: a signature would claim it for this machine"))
}

fn folder_name(root: &Lossless) -> String {
    root.path().file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Whether a file is a signed statement that proves what is asked.
///
/// # Errors
/// When the file or the key can't be read, or is neither: a usage error.
pub(crate) fn verify_receipt(request: &Request, asked: &VerifyRequest<'_>) -> anyhow::Result<Reply<VerifiedReceipt>> {
    let unusable = |what: &Path, why: String| Refusal::usage(format!("{}: {why}", what.display()));
    let bytes = read_small(asked.file).map_err(|why| unusable(asked.file, why))?;
    let is_envelope = serde_json::from_slice::<serde_json::Value>(&bytes)
        .map_err(|error| unusable(asked.file, format!("not JSON: {error}")))?
        .get("payloadType")
        .is_some();
    if !is_envelope {
        Statement::parse(&bytes).map_err(|error| unusable(asked.file, error.to_string()))?;
        return Ok(VerifiedReceipt::refused("it is not signed").into());
    }
    let envelope = Envelope::parse(&bytes).map_err(|error| unusable(asked.file, error.to_string()))?;
    let own = public_file(request)?;
    let key = match asked.key {
        Some(key) => key,
        None if own.exists() => &own,
        None => return Err(Refusal::usage("which key has to have signed it? give --key FILE").into()),
    };
    let payload = match envelope.open(&read_public_key(key)?) {
        Ok(payload) => payload,
        Err(error @ EnvelopeError::NotSigned(_)) => return Ok(VerifiedReceipt::refused(error).into()),
        Err(error) => return Err(unusable(asked.file, error.to_string()).into()),
    };
    let statement = Statement::parse(&payload).map_err(|error| unusable(asked.file, error.to_string()))?;
    let command = asked.command.map(|line| stated_command(request, line)).transpose()?;
    let demand = StatementDemand { tree: asked.tree, command: command.as_ref(), properties: asked.properties };
    let reason = statement.prove(demand).err().map(|mismatch| mismatch.to_string());
    let tree = statement.tree().map(str::to_owned);
    let (command, properties) = match &statement {
        Statement::Check(statement) => (Some(statement.command_line()), Vec::new()),
        Statement::Verdict(statement) => (None, statement.properties().to_vec()),
    };
    Ok(VerifiedReceipt { verified: reason.is_none(), reason, tree, command, properties }.into())
}

/// A command line in the working directory, as a statement has it.
fn stated_command(request: &Request, line: &str) -> anyhow::Result<StatedCommand> {
    let argv = shell_words::split(line).map_err(|error| Refusal::usage(format!("--command: {error}")))?;
    let dir = request.places.relative(&request.cwd).unwrap_or_default();
    Ok(StatedCommand { argv, dir: Lossless::from(&dir).display() })
}
