//! Which folders of a work tree are projects, and of which stack. A list of paths in, projects out.

use std::collections::{BTreeMap, BTreeSet};

use super::policy::{StackMarkers, ToolsMapping};
use crate::base::glob;

/// Projects of a work tree; a larger monorepo is judged by the first ones.
const PROJECTS_MAX: usize = 200;
/// Folders of dependencies and outputs: no project is in them.
const FOREIGN_FOLDERS: [&str; 10] =
    ["node_modules", "vendor", "target", "dist", "build", ".venv", "venv", "site-packages", "third_party", ".tox"];

/// Whether a folder of this name holds dependencies or outputs.
pub(crate) fn is_foreign_folder(name: &str) -> bool {
    FOREIGN_FOLDERS.contains(&name)
}

/// A folder with the markers of a stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StackProject {
    /// The folder, relative to the root, with `/`; empty for the root.
    pub dir: String,
    /// The stack.
    pub stack: String,
    /// The marker that decided it.
    pub marker: String,
}

impl StackProject {
    /// Whether a path is in the folder.
    pub(crate) fn contains_path(&self, path: &str) -> bool {
        self.dir.is_empty() || path.strip_prefix(&self.dir).is_some_and(|rest| rest.starts_with('/'))
    }
}

/// The projects among these files (paths relative to the root, with `/`), in the order of their folders. Each folder has
/// the first stack of the mapping whose markers are in it.
pub(crate) fn find_projects(files: &[String], mapping: &ToolsMapping) -> Vec<StackProject> {
    let mut folders: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in files {
        if file.split('/').any(is_foreign_folder) {
            continue;
        }
        let (dir, name) = file.rsplit_once('/').unwrap_or(("", file));
        folders.entry(dir).or_default().insert(name);
        // A marker may be a folder: each parent knows that it is there.
        let mut dir = dir;
        while !dir.is_empty() {
            let (parent, _) = dir.rsplit_once('/').unwrap_or(("", dir));
            let name_with_slash = &file[if parent.is_empty() { 0 } else { parent.len() + 1 }..=dir.len()];
            folders.entry(parent).or_default().insert(name_with_slash);
            dir = parent;
        }
    }
    let mut found = Vec::new();
    for (dir, names) in folders {
        let decided = mapping.detection.iter().find_map(|markers| Some((markers, find_marker(markers, &names)?)));
        if let Some((markers, marker)) = decided {
            found.push(StackProject { dir: dir.to_owned(), stack: markers.stack.clone(), marker });
        }
        if found.len() == PROJECTS_MAX {
            break;
        }
    }
    found
}

/// The marker that these names have; `None` when the folder is not of this stack.
fn find_marker(markers: &StackMarkers, names: &BTreeSet<&str>) -> Option<String> {
    let find = |marker: &String| names.iter().find(|name| glob::matches(marker, name)).map(|name| (*name).to_owned());
    if markers.excluded.iter().any(|marker| find(marker).is_some()) {
        return None;
    }
    let found: Vec<String> = markers.markers.iter().filter_map(find).collect();
    if markers.needs_all && found.len() < markers.markers.len() {
        return None;
    }
    found.into_iter().next()
}

/// The projects that a change touches: each changed file belongs to the deepest project around it.
fn touched_projects<'a>(projects: &'a [StackProject], changed: &[String]) -> Vec<&'a StackProject> {
    let owner = |path: &String| {
        let around = projects.iter().filter(|project| project.contains_path(path));
        around.max_by_key(|project| project.dir.len())
    };
    let dirs: BTreeSet<&str> = changed.iter().filter_map(owner).map(|project| project.dir.as_str()).collect();
    projects.iter().filter(|project| dirs.contains(project.dir.as_str())).collect()
}

/// The projects that a change is judged in: those that it touches; the root's when it touches none.
pub(crate) fn judged_projects(projects: Vec<StackProject>, changed: &[String]) -> Vec<StackProject> {
    let touched: Vec<StackProject> = touched_projects(&projects, changed).into_iter().cloned().collect();
    let is_root = |project: &StackProject| project.dir.is_empty();
    match (touched.is_empty(), projects.iter().any(is_root)) {
        (false, _) => touched,
        (true, true) => projects.into_iter().filter(is_root).collect(),
        (true, false) => projects,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::policy::SHIPPED_MAPPING;

    fn projects(files: &[&str]) -> Vec<String> {
        let mapping = ToolsMapping::parse(SHIPPED_MAPPING, "shipped").expect("the shipped mapping");
        let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
        let found = find_projects(&files, &mapping);
        found.iter().map(|it| format!("{}={} by {}", it.dir, it.stack, it.marker)).collect()
    }

    #[test]
    fn each_folder_has_the_first_stack_whose_markers_are_in_it() {
        assert_eq!(projects(&["package.json", "tsconfig.json", "a.ts"]), ["=node_typescript by package.json"]);
        assert_eq!(projects(&["package.json", "a.js"]), ["=javascript by package.json"]);
        assert_eq!(projects(&["requirements.txt"]), ["=python by requirements.txt"]);
        assert_eq!(projects(&["lua/init.lua"]), ["=lua by lua/"]);
        assert_eq!(projects(&["x-1.rockspec"]), ["=lua by x-1.rockspec"]);
        assert_eq!(projects(&["go.mod", "main.go"]), ["=golang by go.mod"]);
        assert!(projects(&["README.md", "node_modules/x/package.json", "a/target/Cargo.toml"]).is_empty());
    }

    #[test]
    fn a_monorepo_has_a_project_for_each_folder_and_a_change_touches_the_deepest() {
        let files = ["package.json", "web/package.json", "web/tsconfig.json", "api/pyproject.toml", "api/src/a.py"];
        let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
        let mapping = ToolsMapping::parse(SHIPPED_MAPPING, "shipped").expect("the shipped mapping");
        let found = find_projects(&files, &mapping);
        let dirs: Vec<&str> = found.iter().map(|it| it.dir.as_str()).collect();
        assert_eq!(dirs, ["", "api", "web"]);
        let touched = touched_projects(&found, &["api/src/a.py".into(), "apix/b.py".into()]);
        assert_eq!(touched.iter().map(|it| it.dir.as_str()).collect::<Vec<_>>(), ["", "api"]);
    }
}
