//! The keys of this user: the one that signs, and the public key beside it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::base::file::{self, Durability};
use crate::base::private;
use crate::base::refusal::Refusal;
use crate::gate::receipt::dsse::{PrivateKey, PublicKey};
use crate::ops::request::Request;

/// The private key, in the configuration folder.
const PRIVATE_FILE: &str = "receipt-key.pem";
/// The public key beside it.
const PUBLIC_FILE: &str = "receipt-key.pub";
/// The folder beside it with the public keys whose receipts count here. Only a person puts one there: no setting of a
/// repository, and no record that is imported, names a key.
const ACCEPTED_FOLDER: &str = "receipt-keys";
/// Files in that folder that are read.
const ACCEPTED_MAX: usize = 64;
/// A larger file is not read, bytes.
pub(super) const FILE_BYTES_MAX: u64 = 1 << 20;

/// A new key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CreatedKey {
    /// Where others get the public key from.
    pub public: PathBuf,
    /// The key's id, hex.
    pub id: String,
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

/// The key that signs.
///
/// # Errors
/// When there is none, or it can't be read.
pub(super) fn read_own_key(request: &Request) -> anyhow::Result<PrivateKey> {
    let path = private_file(request)?;
    if path.symlink_metadata().is_err() {
        return Err(Refusal::not_found("there is no key to sign with").then_run("gate receipt key new").into());
    }
    let pem = private::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    PrivateKey::parse(&pem).with_context(|| path.display().to_string())
}

/// A public key in a PEM file.
///
/// # Errors
/// When it can't be read, or is none: a usage error.
pub(super) fn read_public_key(path: &Path) -> anyhow::Result<PublicKey> {
    let unusable = |why: String| Refusal::usage(format!("{}: {why}", path.display()));
    let pem = String::from_utf8(read_small(path).map_err(unusable)?).map_err(|_| unusable("not text".to_owned()))?;
    Ok(PublicKey::parse(&pem).map_err(|error| unusable(error.to_string()))?)
}

/// The public keys whose receipts count here. What can't be read, or belongs to another user, is none.
pub(super) fn accepted_keys(request: &Request) -> Vec<PublicKey> {
    let Ok(folder) = accepted_folder(request) else { return Vec::new() };
    if private::check_folder(&folder).is_err() {
        return Vec::new();
    }
    let mut files: Vec<PathBuf> =
        fs::read_dir(&folder).into_iter().flatten().flatten().map(|file| file.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "pub"));
    files.sort_unstable();
    let read = |file: &PathBuf| String::from_utf8(private::read_start(file, FILE_BYTES_MAX).ok()?).ok();
    files.iter().take(ACCEPTED_MAX).filter_map(|file| PublicKey::parse(&read(file)?).ok()).collect()
}

/// Where the accepted keys are.
///
/// # Errors
/// Without a configuration folder.
pub(super) fn accepted_folder(request: &Request) -> anyhow::Result<PathBuf> {
    Ok(config_dir(request)?.join(ACCEPTED_FOLDER))
}

/// Where the user's own public key is.
///
/// # Errors
/// Without a configuration folder.
pub(super) fn public_file(request: &Request) -> anyhow::Result<PathBuf> {
    Ok(config_dir(request)?.join(PUBLIC_FILE))
}

fn private_file(request: &Request) -> anyhow::Result<PathBuf> {
    Ok(config_dir(request)?.join(PRIVATE_FILE))
}

fn config_dir(request: &Request) -> anyhow::Result<PathBuf> {
    request.environment.config_dir().context("there is no configuration folder: HOME is not set")
}

/// A regular file of at most [`FILE_BYTES_MAX`].
///
/// # Errors
/// Why not, a lowercase fragment.
pub(super) fn read_small(path: &Path) -> Result<Vec<u8>, String> {
    let metadata = fs::metadata(path).map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("not a file".to_owned());
    }
    if metadata.len() > FILE_BYTES_MAX {
        return Err(format!("larger than {} KiB", FILE_BYTES_MAX >> 10));
    }
    file::read_start(path, FILE_BYTES_MAX).map_err(|error| error.to_string())
}
