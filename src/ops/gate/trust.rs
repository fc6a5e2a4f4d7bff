//! Which policy files of a work tree a person approved, by their content. Kept in the user's state folder: neither the
//! repository nor its git folder, which an archive can bring along, can approve itself.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::policy::{PolicyFile, PolicyFiles, needs_person};
use crate::base::clock::Timestamp;
use crate::base::file::{Durability, create_private_dir, write_atomic};
use crate::base::lossless::Lossless;
use crate::base::private;
use crate::config::{Environment, Places};
use crate::ops::request::Request;

/// Version of the file.
const TRUST_SCHEMA: u32 = 1;
/// Approvals of a work tree; the oldest go.
const APPROVALS_MAX: usize = 100;
/// Size of the file, bytes.
const TRUST_BYTES_MAX: u64 = 16 << 20;

/// The approvals of a work tree, as they are kept.
#[derive(Debug, Serialize, Deserialize)]
struct TrustFile {
    schema: u32,
    root: Lossless,
    approvals: Vec<Approval>,
}

/// A person approved this content of a file.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Approval {
    file: String,
    digest: String,
    at: Timestamp,
    /// What was approved, to show what changed since.
    text: String,
}

/// A file whose commands may not run yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct UntrustedFile {
    /// Relative to the root.
    pub file: String,
    /// Digest of its content.
    pub digest: String,
    /// Its content.
    #[serde(skip)]
    pub text: String,
    /// The content that was approved last, where one was.
    #[serde(skip)]
    pub approved: Option<String>,
}

/// What is approved and what is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TrustReview {
    /// Files that a person approved as they are now, relative to the root.
    pub trusted: Vec<String>,
    /// The others.
    pub untrusted: Vec<UntrustedFile>,
}

impl TrustReview {
    /// Whether the commands of this file may run.
    pub(crate) fn is_trusted(&self, file: &PolicyFile) -> bool {
        let is_listed = |name: &String| self.trusted.contains(name);
        !file.is_from_repository || file.name.as_ref().is_some_and(is_listed)
    }
}

/// Compares the policy files of a work tree with what was approved.
///
/// # Errors
/// When the approvals can't be read, or a newer verify-run wrote them.
pub(crate) fn review_trust(
    places: &Places,
    environment: &Environment,
    policy: &PolicyFiles,
) -> anyhow::Result<TrustReview> {
    let approvals = match trust_path(places, environment) {
        Some(path) => read_trust(&path)?.map_or_else(Vec::new, |kept| kept.approvals),
        None => Vec::new(),
    };
    let mut review = TrustReview { trusted: Vec::new(), untrusted: Vec::new() };
    for file in policy.repository_files() {
        let (Some(name), digest) = (file.name.clone(), digest_of(&file.text)) else { continue };
        let mut earlier = approvals.iter().rev().filter(|approval| approval.file == name);
        if earlier.clone().any(|approval| approval.digest == digest) {
            review.trusted.push(name);
        } else {
            let approved = earlier.next().map(|approval| approval.text.clone());
            review.untrusted.push(UntrustedFile { file: name, digest, text: file.text.clone(), approved });
        }
    }
    Ok(review)
}

/// Whether a person approved this text of a file, now or before.
///
/// # Errors
/// When the approvals can't be read.
pub(super) fn is_approved(places: &Places, environment: &Environment, file: &str, text: &str) -> anyhow::Result<bool> {
    let Some(path) = trust_path(places, environment) else { return Ok(false) };
    let approvals = read_trust(&path)?.map_or_else(Vec::new, |kept| kept.approvals);
    let digest = digest_of(text);
    Ok(approvals.iter().any(|approval| approval.file == file && approval.digest == digest))
}

/// Approves these files as they are.
///
/// # Errors
/// When the approvals can't be read or written.
pub(crate) fn approve_files(
    places: &Places,
    environment: &Environment,
    files: &[UntrustedFile],
    now: Timestamp,
) -> anyhow::Result<()> {
    let path = trust_path(places, environment).context("cannot keep an approval: HOME is not set")?;
    let mut kept = read_trust(&path)?.map_or_else(Vec::new, |kept| kept.approvals);
    kept.extend(files.iter().map(|file| Approval {
        file: file.file.clone(),
        digest: file.digest.clone(),
        at: now,
        text: file.text.clone(),
    }));
    let excess = kept.len().saturating_sub(APPROVALS_MAX);
    kept.drain(..excess);
    let trust = TrustFile { schema: TRUST_SCHEMA, root: canonical_root(places), approvals: kept };
    if let Some(folder) = path.parent() {
        create_private_dir(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    write_atomic(&path, &serde_json::to_vec(&trust)?, 0o600, Durability::Synced)
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Approves a file with the links of criteria that verify-run itself has changed, where a person had approved it as it was
/// before, or nothing in it needed that. Whether it may be used as it is now.
///
/// # Errors
/// When the approvals can't be read or written.
pub(super) fn carry_approval(
    request: &Request,
    before: Option<&PolicyFile>,
    now: &PolicyFile,
    adds_command: bool,
) -> anyhow::Result<bool> {
    let Some(name) = now.name.clone().filter(|_| now.is_from_repository && needs_person(now)) else { return Ok(true) };
    let (places, environment) = (&request.places, &request.environment);
    let approvals = match trust_path(places, environment) {
        Some(path) => read_trust(&path)?.map_or_else(Vec::new, |kept| kept.approvals),
        None => Vec::new(),
    };
    let is_approved = |file: &PolicyFile| {
        let digest = digest_of(&file.text);
        approvals.iter().any(|approval| approval.file == name && approval.digest == digest)
    };
    let was_fine = before.is_none_or(|before| !needs_person(before) || is_approved(before));
    if !was_fine || adds_command {
        return Ok(is_approved(now));
    }
    let digest = digest_of(&now.text);
    let file = UntrustedFile { file: name, digest, text: now.text.clone(), approved: None };
    approve_files(places, environment, &[file], request.now())?;
    Ok(true)
}

/// Forgets every approval of this work tree. Whether there was one.
///
/// # Errors
/// When they can't be removed.
pub(crate) fn revoke_trust(places: &Places, environment: &Environment) -> anyhow::Result<bool> {
    let Some(path) = trust_path(places, environment) else { return Ok(false) };
    match fs::remove_file(&path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).with_context(|| format!("cannot remove {}", path.display())),
    }
}

/// One digest over all policy files of the work tree, to pin them where no person is asked. `None` without such a file.
pub(crate) fn policy_digest(policy: &PolicyFiles) -> Option<String> {
    let files = policy.repository_files();
    let mut hasher = blake3::Hasher::new();
    for file in &files {
        for part in [file.name.as_deref().unwrap_or_default(), &file.text] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
    }
    (!files.is_empty()).then(|| format!("blake3:{}", hasher.finalize().to_hex()))
}

fn digest_of(text: &str) -> String {
    format!("blake3:{}", blake3::hash(text.as_bytes()).to_hex())
}

/// The work tree by its real path: a copy elsewhere has to be approved again.
fn canonical_root(places: &Places) -> Lossless {
    Lossless::from(&fs::canonicalize(&places.root).unwrap_or_else(|_| places.root.clone()))
}

fn trust_path(places: &Places, environment: &Environment) -> Option<PathBuf> {
    let folder = environment.state_dir()?.join("trust");
    let name = blake3::hash(canonical_root(places).display().as_bytes()).to_hex();
    Some(folder.join(format!("{}.json", &name[..32])))
}

fn read_trust(path: &Path) -> anyhow::Result<Option<TrustFile>> {
    let bytes = match private::read_start(path, TRUST_BYTES_MAX) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let trust: TrustFile = serde_json::from_slice(&bytes)
        .with_context(|| format!("cannot read {}: hint: run `verify-run gate trust --revoke`", path.display()))?;
    anyhow::ensure!(trust.schema <= TRUST_SCHEMA, "{} was written by a newer verify-run", path.display());
    Ok(Some(trust))
}
