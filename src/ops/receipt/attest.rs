//! Receipts and verdicts for others: in-toto statements and signed envelopes.

use std::path::Path;

use serde::Serialize;

use super::keys::{public_file, read_own_key, read_public_key, read_small};
use super::no_receipt;
use crate::base::lossless::Lossless;
use crate::base::refusal::Refusal;
use crate::event::{EventBody, Receipt};
use crate::gate::receipt::dsse::{Envelope, EnvelopeError};
use crate::gate::receipt::{CheckStatement, StatedCommand, Statement, StatementDemand, VerdictStatement};
use crate::ops::gate::evaluation_by_id;
use crate::ops::reading::StoreReader;
use crate::ops::reply::Reply;
use crate::ops::request::Request;
use crate::store::{ReceiptFilter, own_writer};

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
    let reading = request.open_for_reading()?;
    let statement = match id.filter(|id| id.starts_with("g-")) {
        Some(id) => export_verdict(request, &reading, id, sign)?,
        None => export_receipt(request, &reading, id, sign)?,
    };
    let document = if sign { read_own_key(request)?.sign(&statement).to_json() } else { statement };
    Ok(Reply::new(ExportedStatement { document }, reading.notes))
}

fn export_receipt(
    request: &Request,
    reading: &StoreReader,
    id: Option<&str>,
    is_signed: bool,
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
    if is_signed && !is_own_receipt(request, reading, &receipt)? {
        return Err(refuse_foreign(&receipt.receipt).into());
    }
    Ok(CheckStatement::from_receipt(&receipt, &folder_name(&receipt.root)).to_json())
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

/// Whether the receipt was recorded here.
fn is_own_receipt(request: &Request, reading: &StoreReader, receipt: &Receipt) -> anyhow::Result<bool> {
    let (Some(index), Some(writer)) = (&reading.index, own_writer(&request.places.state)) else { return Ok(false) };
    let id = receipt.event_id().to_string();
    let recorded = index.read_event(&reading.segments, &id)?.map(|event| event.body);
    let is_it = matches!(recorded, Some(EventBody::Receipt(recorded)) if *recorded == *receipt);
    Ok(is_it && index.is_own_event(&id, &writer)?)
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
