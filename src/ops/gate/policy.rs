//! Where the checklist and the tools mapping are read from. One file of each wins whole, so that a policy can be read in
//! one place.

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::base::file::{Durability, create_private_dir, write_atomic};
use crate::base::private;
use crate::base::yaml::YAML_BYTES_MAX;
use crate::config::{Environment, Places};
use crate::event::GatePolicyFile;
use crate::gate::criteria::file::{CriteriaFile, CriterionEntry, CriterionEvidence};
use crate::gate::policy::{Checklist, ItemSource, SHIPPED_CHECKLIST, SHIPPED_MAPPING, ToolsMapping};
use crate::gate::receipt::sha256_hex;

/// Folders of a repository that may hold the policy, the first one first.
const REPOSITORY_FOLDERS: [&str; 2] = [".verify-run", "claude/lib"];
/// The file of the checklist.
const CHECKLIST: &str = "qa-checklist.yml";
/// The file of the tools mapping.
const MAPPING: &str = "qa-tools-mapping.yml";
/// The file that links acceptance criteria to their evidence.
const CRITERIA: &str = "qa-criteria.yml";

/// Where a repository may have its checklist, the first place first.
pub(super) const CHECKLIST_PLACES: [&str; 2] = [".verify-run/qa-checklist.yml", "claude/lib/qa-checklist.yml"];

/// A policy file as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PolicyFile {
    /// Its name for people: relative to the root where it is in the work tree; `None` when it is shipped.
    pub name: Option<String>,
    /// Its path; `None` when it is shipped.
    pub path: Option<PathBuf>,
    /// Its text.
    pub text: String,
    /// Whether it is in the work tree, so that a person has to approve its commands.
    pub is_from_repository: bool,
}

/// The files that decide, and what they say.
#[derive(Debug)]
pub(crate) struct PolicyFiles {
    /// The checklist's file.
    pub checklist_file: PolicyFile,
    /// The checklist.
    pub checklist: Checklist,
    /// The mapping's file.
    pub mapping_file: PolicyFile,
    /// The tools mapping.
    pub mapping: ToolsMapping,
    /// The links of acceptance criteria, beside the PRP or in `.verify-run/`.
    pub criteria_file: Option<PolicyFile>,
}

impl PolicyFiles {
    /// Reads the policy of a work tree. `checklist` and `mapping` name files to use instead of those that are looked up.
    ///
    /// # Errors
    /// When a file can't be read, or says something wrong: with file and line.
    pub(crate) fn load(
        places: &Places,
        environment: &Environment,
        checklist: Option<&Path>,
        mapping: Option<&Path>,
        prp: Option<&Path>,
    ) -> anyhow::Result<PolicyFiles> {
        let checklist_file = find_policy_file(places, environment, checklist, CHECKLIST, SHIPPED_CHECKLIST)?;
        let mapping_file = find_policy_file(places, environment, mapping, MAPPING, SHIPPED_MAPPING)?;
        let name = |file: &PolicyFile, shipped: &str| file.name.clone().unwrap_or_else(|| format!("shipped {shipped}"));
        Ok(PolicyFiles {
            checklist: Checklist::parse(&checklist_file.text, &name(&checklist_file, CHECKLIST))?,
            mapping: ToolsMapping::parse(&mapping_file.text, &name(&mapping_file, MAPPING))?,
            checklist_file,
            mapping_file,
            criteria_file: find_criteria_file(places, prp)?,
        })
    }

    /// The files that decide, each with its digest.
    pub(crate) fn digests(&self) -> Vec<GatePolicyFile> {
        let shipped = [(&self.checklist_file, CHECKLIST), (&self.mapping_file, MAPPING)];
        let files = shipped.into_iter().chain(self.criteria_file.as_ref().map(|file| (file, CRITERIA)));
        let digest = |(file, name): (&PolicyFile, &str)| GatePolicyFile {
            name: file.name.clone().unwrap_or_else(|| format!("shipped {name}")),
            sha256: sha256_hex(file.text.as_bytes()),
        };
        files.map(digest).collect()
    }

    /// The files in the work tree that name commands of their own, which a person has to approve.
    pub(crate) fn repository_files(&self) -> Vec<&PolicyFile> {
        let has_commands = [
            (
                &self.checklist_file,
                self.checklist.items().any(|item| matches!(item.source, ItemSource::Command { .. })),
            ),
            (&self.mapping_file, self.mapping_file.text != SHIPPED_MAPPING),
        ];
        let named = has_commands.into_iter().filter(|(_, has_commands)| *has_commands).map(|(file, _)| file);
        let criteria = self.criteria_file.iter().filter(|file| needs_person(file));
        named.chain(criteria).filter(|file| file.is_from_repository).collect()
    }
}

/// Whether a file with the links of criteria names commands, or says what a person has seen. Links to tests alone run
/// nothing but tests. A file that can't be read is no better than its worst line.
pub(super) fn needs_person(file: &PolicyFile) -> bool {
    let is_test = |entry: &CriterionEntry| matches!(entry.evidence, CriterionEvidence::Test { .. });
    let parsed = CriteriaFile::parse(&file.text, CRITERIA);
    !parsed.is_ok_and(|parsed| parsed.entries.iter().all(is_test))
}

/// Where a new file with the links of criteria is written.
pub(super) fn criteria_path(places: &Places) -> PathBuf {
    places.root.join(REPOSITORY_FOLDERS[0]).join(CRITERIA)
}

fn find_criteria_file(places: &Places, prp: Option<&Path>) -> anyhow::Result<Option<PolicyFile>> {
    let beside = prp.and_then(Path::parent).map(|folder| folder.join(CRITERIA));
    let folders = REPOSITORY_FOLDERS.map(|folder| places.root.join(folder).join(CRITERIA));
    let found = beside.into_iter().chain(folders).find(|path| path.symlink_metadata().is_ok());
    found.map(|path| read_policy_file(places, path)).transpose()
}

fn find_policy_file(
    places: &Places,
    environment: &Environment,
    given: Option<&Path>,
    name: &str,
    shipped: &str,
) -> anyhow::Result<PolicyFile> {
    if let Some(path) = given {
        let path = std::path::absolute(path).with_context(|| format!("cannot find {}", path.display()))?;
        return read_policy_file(places, path);
    }
    for folder in REPOSITORY_FOLDERS {
        let path = places.root.join(folder).join(name);
        if path.symlink_metadata().is_ok() {
            return read_policy_file(places, path);
        }
    }
    find_outside(places, environment, name, shipped)
}

/// The checklist for a repository that has none: the user's own, else the shipped one.
///
/// # Errors
/// When the user's file can't be read.
pub(super) fn find_checklist_outside(places: &Places, environment: &Environment) -> anyhow::Result<PolicyFile> {
    find_outside(places, environment, CHECKLIST, SHIPPED_CHECKLIST)
}

fn find_outside(places: &Places, environment: &Environment, name: &str, shipped: &str) -> anyhow::Result<PolicyFile> {
    if let Some(path) = environment.config_dir().map(|dir| dir.join(name)).filter(|path| path.is_file()) {
        return read_policy_file(places, path);
    }
    Ok(PolicyFile { name: None, path: None, text: shipped.to_owned(), is_from_repository: false })
}

fn read_policy_file(places: &Places, path: PathBuf) -> anyhow::Result<PolicyFile> {
    let relative = places.relative(&path).map(|path| path.to_string_lossy().into_owned());
    let name = relative.clone().unwrap_or_else(|| path.display().to_string());
    let bytes = private::read_start(&path, YAML_BYTES_MAX + 1).with_context(|| format!("cannot read {name}"))?;
    anyhow::ensure!(bytes.len() as u64 <= YAML_BYTES_MAX, "{name} is larger than {YAML_BYTES_MAX} bytes");
    let text = String::from_utf8(bytes).map_err(|_| anyhow::anyhow!("{name} is not UTF-8"))?;
    Ok(PolicyFile { name: Some(name), path: Some(path), text, is_from_repository: relative.is_some() })
}

/// Writes the shipped policy into `.verify-run/` of the work tree; a file that is there stays. The files that were written,
/// relative to the root.
///
/// # Errors
/// When a file can't be written.
pub(crate) fn write_policy(places: &Places) -> anyhow::Result<Vec<String>> {
    let folder = places.root.join(REPOSITORY_FOLDERS[0]);
    let mut written = Vec::new();
    for (name, text) in [(CHECKLIST, SHIPPED_CHECKLIST), (MAPPING, SHIPPED_MAPPING)] {
        let path = folder.join(name);
        if path.symlink_metadata().is_ok() {
            continue;
        }
        create_private_dir(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        write_atomic(&path, text.as_bytes(), 0o644, Durability::Synced)
            .with_context(|| format!("cannot write {}", path.display()))?;
        written.push(format!("{}/{name}", REPOSITORY_FOLDERS[0]));
    }
    Ok(written)
}
