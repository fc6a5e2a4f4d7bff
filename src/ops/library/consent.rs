//! Consent to run jobs of a work tree. Kept in the user's state folder: neither the repository nor its git folder, which an
//! archive can bring along, can give it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};

use crate::base::clock::Timestamp;
use crate::base::file::{Durability, create_private_dir, write_atomic};
use crate::base::lossless::Lossless;
use crate::base::private;
use crate::base::refusal::Refusal;
use crate::config::LearnWork;
use crate::ops::reply::Reply;
use crate::ops::request::Request;

/// Version of the file.
const CONSENT_SCHEMA: u32 = 1;
/// Size of the file, bytes.
const CONSENT_BYTES_MAX: u64 = 64 << 10;

/// Consent as it is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct ConsentFile {
    schema: u32,
    root: Lossless,
    person: String,
    at: Timestamp,
}

/// What `library init --json` prints: whether jobs of this work tree may run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct LibraryConsent {
    /// Whether jobs may run here.
    pub may_run: bool,
    /// The person who agreed.
    pub person: Option<String>,
    /// When.
    pub at: Option<Timestamp>,
}

/// The consent for this work tree.
///
/// # Errors
/// When it can't be read, or a newer verify-run wrote it.
pub(crate) fn read_consent(request: &Request) -> anyhow::Result<LibraryConsent> {
    let kept = match consent_path(request) {
        Some(path) => read_file(&path)?,
        None => None,
    };
    let kept = kept.filter(|kept| kept.root == canonical_root(request));
    Ok(LibraryConsent {
        may_run: kept.is_some(),
        person: kept.as_ref().map(|kept| kept.person.clone()),
        at: kept.map(|kept| kept.at),
    })
}

/// Records that `person` agrees that jobs of this work tree run.
///
/// # Errors
/// When it can't be written.
pub(crate) fn give_consent(request: &Request, person: &str) -> anyhow::Result<Reply<LibraryConsent>> {
    if request.places.repository.is_none() {
        bail!(Refusal::conflict("jobs need a git work tree").then_do("change into a git work tree"));
    }
    let path = consent_path(request).context("cannot keep the consent: HOME is not set")?;
    let (root, person) = (canonical_root(request), person.to_owned());
    let kept = ConsentFile { schema: CONSENT_SCHEMA, root, person, at: request.now() };
    if let Some(folder) = path.parent() {
        create_private_dir(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    write_atomic(&path, &serde_json::to_vec(&kept)?, 0o600, Durability::Synced)
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(read_consent(request)?.into())
}

/// Forgets the consent for this work tree.
///
/// # Errors
/// When it can't be removed.
pub(crate) fn withdraw_consent(request: &Request) -> anyhow::Result<Reply<LibraryConsent>> {
    if let Some(path) = consent_path(request) {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot remove {}", path.display()));
            }
            _ => {}
        }
    }
    Ok(LibraryConsent { may_run: false, person: None, at: None }.into())
}

/// Refuses to run anything where no person agreed to it, or the settings forbid it.
///
/// # Errors
/// Why nothing may run.
pub(super) fn require_consent(request: &Request) -> anyhow::Result<()> {
    if request.settings().learn.work == LearnWork::Off {
        bail!(Refusal::usage("jobs are turned off by the setting learn.work"));
    }
    if !read_consent(request)?.may_run {
        bail!(
            Refusal::usage("no person agreed that jobs run checks of this work tree in the background")
                .then_run("library init")
        );
    }
    Ok(())
}

/// The work tree by its real path: a copy elsewhere needs a consent of its own.
fn canonical_root(request: &Request) -> Lossless {
    let root = &request.places.root;
    Lossless::from(&fs::canonicalize(root).unwrap_or_else(|_| root.clone()))
}

fn consent_path(request: &Request) -> Option<PathBuf> {
    let folder = request.environment.state_dir()?.join("consent");
    let name = blake3::hash(canonical_root(request).display().as_bytes()).to_hex();
    Some(folder.join(format!("{}.json", &name[..32])))
}

fn read_file(path: &Path) -> anyhow::Result<Option<ConsentFile>> {
    let bytes = match private::read_start(path, CONSENT_BYTES_MAX) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let kept: ConsentFile = serde_json::from_slice(&bytes)
        .with_context(|| format!("cannot read {}: hint: run `verify-run library init --withdraw`", path.display()))?;
    anyhow::ensure!(kept.schema <= CONSENT_SCHEMA, "{} was written by a newer verify-run", path.display());
    Ok(Some(kept))
}
