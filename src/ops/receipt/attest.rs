//! Receipts for others: in-toto statements, signed envelopes, keys.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Serialize;

use super::no_receipt;
use crate::base::file::{self, Durability};
use crate::base::lossless::Lossless;
use crate::base::private;
use crate::base::refusal::Refusal;
use crate::gate::receipt::dsse::{Envelope, EnvelopeError, PrivateKey, PublicKey};
use crate::gate::receipt::statement::{StatedCommand, Statement};
use crate::ops::reply::Reply;
use crate::ops::request::Request;
use crate::store::ReceiptFilter;

/// A larger file is not read, bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// The private key, in the configuration folder.
const PRIVATE_FILE: &str = "receipt-key.pem";
/// The public key beside it.
const PUBLIC_FILE: &str = "receipt-key.pub";

/// An exported receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExportedReceipt {
    /// The statement, or the envelope around it: one JSON document.
    pub document: String,
}

/// A new key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CreatedKey {
    /// Where others get the public key from.
    pub public: PathBuf,
    /// The key's id, hex.
    pub id: String,
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
    /// The public key that has to have signed it; without one, the user's own.
    pub key: Option<&'a Path>,
}

/// Whether a file proves what was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct VerifiedReceipt {
    /// Whether it does.
    pub verified: bool,
    /// Why not.
    pub reason: Option<String>,
    /// The git tree that the file is about, once the signature is verified.
    pub tree: Option<String>,
    /// The command that the file is about, once the signature is verified.
    pub command: Option<String>,
}

impl VerifiedReceipt {
    fn refused(reason: impl ToString) -> Self {
        VerifiedReceipt { verified: false, reason: Some(reason.to_string()), tree: None, command: None }
    }
}

/// The receipt of an id, else the newest of the work tree, as a statement, signed on request.
///
/// # Errors
/// When there is none, there is no key to sign with, or the store can't be read.
pub(crate) fn export_receipt(
    request: &Request,
    id: Option<&str>,
    sign: bool,
) -> anyhow::Result<Reply<ExportedReceipt>> {
    let reading = request.open_for_reading()?;
    let index = reading.index.as_ref().ok_or_else(no_receipt)?;
    let receipt = match id {
        Some(id) => index.find_receipt(&reading.segments, id)?,
        None => {
            let root = Lossless::from(&request.places.root);
            let newest = index.list_receipts(&reading.segments, ReceiptFilter::Root(&root), 1)?.pop();
            newest.ok_or_else(no_receipt)?
        }
    };
    let name = receipt.root.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
    let statement = Statement::from_receipt(&receipt, &name).to_json();
    let document = if sign { read_own_key(request)?.sign(&statement).to_json() } else { statement };
    Ok(Reply::new(ExportedReceipt { document }, reading.notes))
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
    let pem = read_small(key).map_err(|why| unusable(key, why))?;
    let pem = String::from_utf8(pem).map_err(|_| unusable(key, "not text".to_owned()))?;
    let key = PublicKey::parse(&pem).map_err(|error| unusable(key, error.to_string()))?;
    let payload = match envelope.open(&key) {
        Ok(payload) => payload,
        Err(error @ EnvelopeError::NotSigned(_)) => return Ok(VerifiedReceipt::refused(error).into()),
        Err(error) => return Err(unusable(asked.file, error.to_string()).into()),
    };
    let statement = Statement::parse(&payload).map_err(|error| unusable(asked.file, error.to_string()))?;
    let command = asked.command.map(|line| stated_command(request, line)).transpose()?;
    let reason = statement.prove(asked.tree, command.as_ref()).err().map(|mismatch| mismatch.to_string());
    Ok(VerifiedReceipt {
        verified: reason.is_none(),
        reason,
        tree: statement.tree().map(str::to_owned),
        command: Some(statement.command_line()),
    }
    .into())
}

/// Makes a key to sign with, for this user alone.
///
/// # Errors
/// When there is one already, or the configuration folder can't be written.
pub(crate) fn create_key(request: &Request) -> anyhow::Result<CreatedKey> {
    let (private, public) = (private_file(request)?, public_file(request)?);
    if let Some(known) = [&private, &public].into_iter().find(|file| file.symlink_metadata().is_ok()) {
        let refusal = Refusal::conflict(format!("there is a key already: {}", known.display()));
        return Err(refusal.then_do("remove it if nothing that it signed is needed any more").into());
    }
    if let Some(folder) = private.parent() {
        file::create_private_dir(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    let mut seed = [0; 32];
    crate::base::ids::fill_random(&mut seed).then_some(()).context("the system has no random bytes")?;
    let key = PrivateKey::from_seed(&seed);
    let write = |path: &Path, pem: String, mode| {
        file::write_atomic(path, pem.as_bytes(), mode, Durability::Synced)
            .with_context(|| format!("cannot write {}", path.display()))
    };
    write(&private, key.to_pem(), 0o600)?;
    write(&public, key.public_key().to_pem(), 0o644)?;
    Ok(CreatedKey { public, id: key.public_key().key_id() })
}

fn read_own_key(request: &Request) -> anyhow::Result<PrivateKey> {
    let path = private_file(request)?;
    if path.symlink_metadata().is_err() {
        return Err(Refusal::not_found("there is no key to sign with").then_run("gate receipt key new").into());
    }
    let pem = private::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    PrivateKey::parse(&pem).with_context(|| path.display().to_string())
}

fn private_file(request: &Request) -> anyhow::Result<PathBuf> {
    Ok(config_dir(request)?.join(PRIVATE_FILE))
}

fn public_file(request: &Request) -> anyhow::Result<PathBuf> {
    Ok(config_dir(request)?.join(PUBLIC_FILE))
}

fn config_dir(request: &Request) -> anyhow::Result<PathBuf> {
    request.environment.config_dir().context("there is no configuration folder: HOME is not set")
}

fn read_small(path: &Path) -> Result<Vec<u8>, String> {
    let metadata = fs::metadata(path).map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("not a file".to_owned());
    }
    if metadata.len() > FILE_BYTES_MAX {
        return Err(format!("larger than {} KiB", FILE_BYTES_MAX >> 10));
    }
    file::read_start(path, FILE_BYTES_MAX).map_err(|error| error.to_string())
}

/// A command line in the working directory, as a statement has it.
fn stated_command(request: &Request, line: &str) -> anyhow::Result<StatedCommand> {
    let argv = shell_words::split(line).map_err(|error| Refusal::usage(format!("--command: {error}")))?;
    let dir = request.places.relative(&request.cwd).unwrap_or_default();
    Ok(StatedCommand { argv, dir: Lossless::from(&dir).display() })
}
