//! `gate plan`: what an evaluation would run. It runs nothing.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::change::{read_paths, read_tree_and_base};
use super::policy::PolicyFiles;
use super::trust::{UntrustedFile, review_trust};
use crate::fix::find_tool;
use crate::gate::plan::{PlannedItem, PlannedPolicy, PolicyOrigin, plan_items};
use crate::gate::policy::ChangeKind;
use crate::gate::stack::{StackProject, find_projects, is_foreign_folder, judged_projects};
use crate::ops::request::Request;

/// Files of a work tree that are looked at for markers.
const FILES_MAX: usize = 50_000;
/// Levels of folders.
const DEPTH_MAX: usize = 12;

/// What to plan.
#[derive(Debug, Clone, Default)]
pub(crate) struct PlanRequest {
    /// A checklist to use instead of the one that is looked up.
    pub checklist: Option<PathBuf>,
    /// A tools mapping to use instead.
    pub mapping: Option<PathBuf>,
    /// The kind of the change.
    pub kind: Option<ChangeKind>,
    /// The revision that the change is compared with.
    pub base: Option<String>,
}

/// What `gate plan --json` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct GatePlan {
    /// The checklist's file; `null` when it is shipped.
    pub checklist: Option<String>,
    /// The mapping's file; `null` when it is shipped.
    pub mapping: Option<String>,
    /// The projects, in the order of their folders.
    pub projects: Vec<PlannedProject>,
    /// The items, in the order of the checklist.
    pub items: Vec<PlannedItem>,
    /// Files whose commands do not run before a person approved them.
    pub untrusted: Vec<UntrustedFile>,
}

/// A project of the work tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PlannedProject {
    /// The folder, relative to the root; empty for the root.
    pub dir: String,
    /// Its stack.
    pub stack: String,
    /// The file that marks it.
    pub marker: String,
}

/// Plans an evaluation of the change; of the whole work tree where that cannot be compared with anything.
///
/// # Errors
/// When a policy file is broken, with file and line.
pub(crate) fn plan_gate(request: &Request, wanted: &PlanRequest) -> anyhow::Result<GatePlan> {
    let (places, environment) = (&request.places, &request.environment);
    let search_path = std::env::var_os("PATH").unwrap_or_default();
    let policy = PolicyFiles::load(places, environment, wanted.checklist.as_deref(), wanted.mapping.as_deref(), None)?;
    let review = review_trust(places, environment, &policy)?;
    let origin =
        |file: &super::policy::PolicyFile| PolicyOrigin { file: file.name.clone(), trusted: review.is_trusted(file) };
    let (checklist_origin, mapping_origin) = (origin(&policy.checklist_file), origin(&policy.mapping_file));
    let read = || {
        let (taken, base) = read_tree_and_base(request, wanted.base.as_deref())?;
        read_paths(request, &taken.tree, &base.tree)
    };
    let projects = match (read(), &wanted.base) {
        (Err(error), Some(_)) => return Err(error),
        (Err(_), None) => find_projects(&list_files(&places.root), &policy.mapping),
        (Ok((paths, changed)), _) => judged_projects(find_projects(&paths, &policy.mapping), &changed),
    };
    let planned = PlannedPolicy {
        checklist: &policy.checklist,
        checklist_origin: &checklist_origin,
        mapping: &policy.mapping,
        mapping_origin: &mapping_origin,
    };
    let find = |name: &str, dir: &str| find_tool(name, &places.root.join(dir), &places.root, &search_path);
    let items = plan_items(planned, &projects, wanted.kind, &find);
    let brief =
        |project: StackProject| PlannedProject { dir: project.dir, stack: project.stack, marker: project.marker };
    Ok(GatePlan {
        checklist: policy.checklist_file.name.clone(),
        mapping: policy.mapping_file.name.clone(),
        projects: projects.into_iter().map(brief).collect(),
        items,
        untrusted: review.untrusted,
    })
}

/// The files of a work tree, relative to it, sorted; without dependencies, outputs, hidden folders and other repositories.
fn list_files(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![(root.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let path = entry.path();
            if kind.is_dir() {
                let is_repository = path.join(".git").exists();
                if depth < DEPTH_MAX && !name.starts_with('.') && !is_foreign_folder(&name) && !is_repository {
                    folders.push((path, depth + 1));
                }
            } else if found.len() < FILES_MAX
                && let Ok(relative) = path.strip_prefix(root)
            {
                found.push(relative.to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    found
}
