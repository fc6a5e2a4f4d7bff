//! `gate criteria`: lists the acceptance criteria of a PRP with their evidence, and writes `qa-criteria.yml`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Serialize;

use super::change::{Change, gate_snapshot_options, read_change, read_tree};
use super::criteria::{ProjectTests, index_project};
use super::documents::LoadedPrp;
use super::policy::{PolicyFile, PolicyFiles, criteria_path};
use super::run::read_gate;
use super::trust::carry_approval;
use crate::base::file::{Durability, create_private_dir, write_atomic};
use crate::base::refusal::Refusal;
use crate::gate::criteria::edit::{CriteriaEdit, set_entry};
use crate::gate::criteria::file::{CriteriaFile, CriterionEvidence};
use crate::gate::criteria::link::{find_links, find_selected};
use crate::gate::prp::AcceptanceCriterion;
use crate::gate::stack::find_projects;
use crate::ops::reply::Reply;
use crate::ops::request::Request;

/// Tests that are named for a criterion.
const TESTS_MAX: usize = 5;

/// The criteria of a PRP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CriteriaList {
    /// The PRP, relative to the root.
    pub prp: String,
    /// The file with the links, relative to the root; absent before the first one.
    pub file: Option<String>,
    /// Why none of the file's links counts.
    pub stale: Option<String>,
    /// The criteria, in their order.
    pub criteria: Vec<CriterionPage>,
}

/// A criterion with what is to prove it. Whether that holds, an evaluation finds out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CriterionPage {
    /// `AC-2`
    pub id: String,
    /// What is asked, one line.
    pub text: String,
    /// The line in the PRP, from 1.
    pub line: u32,
    /// `test`, `command` or `manual` of a link that counts; `named` where tests name the criterion; else absent.
    pub kind: Option<&'static str>,
    /// The evidence: a selector, a command line, who has seen it, or the tests that name it.
    pub evidence: Vec<String>,
}

/// What `gate criteria link` and `confirm` wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WrittenLink {
    /// The file, relative to the root.
    pub file: String,
    /// Whether a person has to approve the file before its commands run.
    pub needs_approval: bool,
}

/// A link to write.
#[derive(Debug, Clone)]
pub(crate) struct LinkRequest<'a> {
    /// The PRP as typed; else that of the file, or of the last evaluation.
    pub prp: Option<&'a Path>,
    /// The criterion.
    pub id: &'a str,
    /// Its evidence.
    pub evidence: CriterionEvidence,
    /// Links that were made for other criteria are taken over.
    pub renews: bool,
}

/// The criteria of a PRP with their evidence. Runs nothing.
///
/// # Errors
/// When there is no PRP, a file is bad, or the work tree can't be read.
pub(crate) fn list_criteria(request: &Request, prp: Option<&Path>) -> anyhow::Result<Reply<CriteriaList>> {
    let known = KnownCriteria::read(request, prp)?;
    let (file, stale) = match &known.links {
        Some(links) => (Some(links.name()), known.stale_reason(&links.parsed)),
        None => (None, None),
    };
    let mut notes = Vec::new();
    let tests = match WorkTreeTests::read(request) {
        Ok(tests) => Some(tests),
        Err(error) => {
            notes.push(format!("tests that name criteria are not listed: {error:#}"));
            None
        }
    };
    let slug = known.prp.prp.slug(&known.prp.path);
    let criteria = known.prp.prp.criteria.iter();
    let page = |criterion: &AcceptanceCriterion| {
        let entry =
            known.links.as_ref().filter(|_| stale.is_none()).and_then(|links| links.entry(criterion, &known.prp));
        let named = || tests.as_ref().map_or_else(Vec::new, |tests| tests.naming(criterion, slug));
        let (kind, evidence) = match entry {
            Some(CriterionEvidence::Test { selector }) => (Some("test"), vec![selector.clone()]),
            Some(CriterionEvidence::Command { line }) => (Some("command"), vec![line.clone()]),
            Some(CriterionEvidence::Manual { by, at, note }) => (Some("manual"), vec![format!("{by}, {at}: {note}")]),
            None => {
                let named = named();
                ((!named.is_empty()).then_some("named"), named)
            }
        };
        let (id, text) = (criterion.id.clone(), criterion.text.clone());
        CriterionPage { id, text, line: criterion.line, kind, evidence }
    };
    let criteria = criteria.map(page).collect();
    Ok(Reply::new(CriteriaList { prp: known.prp.path.clone(), file, stale, criteria }, notes))
}

/// Writes the evidence of a criterion into `qa-criteria.yml`: into the one that counts, else into `.verify-run/`.
///
/// # Errors
/// When there is no such criterion, the file is bad or about other criteria, or it can't be written: then it is as before.
pub(crate) fn link_criterion(request: &Request, link: &LinkRequest<'_>) -> anyhow::Result<Reply<WrittenLink>> {
    let known = KnownCriteria::read(request, link.prp)?;
    let prp = &known.prp;
    let Some(criterion) = prp.prp.criterion(link.id) else {
        let ids: Vec<&str> = prp.prp.criteria.iter().map(|criterion| criterion.id.as_str()).collect();
        let message = format!("{} has no criterion {}: it has {}", prp.path, link.id, ids.join(", "));
        return Err(Refusal::not_found(message).into());
    };
    let removed = known.entries_to_drop(link)?;
    let edit = CriteriaEdit {
        prp: &prp.path,
        digest: &prp.prp.criteria_digest,
        id: &criterion.id,
        evidence: &link.evidence,
        removed: &removed,
    };
    let path = known.links.as_ref().map_or_else(|| criteria_path(&request.places), |links| links.path.clone());
    let name = known.links.as_ref().map_or_else(|| relative_name(request, &path), CriteriaLinks::name);
    let edited = set_entry(known.links.as_ref().map(|links| links.file.text.as_str()), &name, &edit)?;
    let mut notes = Vec::new();
    if edited.is_rewritten {
        notes.push(format!("{name} was written again as a whole: its comments are gone"));
    }
    notes.extend(removed.iter().map(|id| format!("removed {id}: it was about other criteria")));
    if let CriterionEvidence::Test { selector } = &link.evidence {
        notes.extend(missing_test(request, selector));
    }
    write_criteria(&path, &edited.text)?;
    let before = known.links.as_ref().map(|links| &links.file);
    // Not read again: what another process may have written meanwhile was approved by no person.
    let is_from_repository = request.places.relative(&path).is_some();
    let written = PolicyFile { name: Some(name.clone()), path: Some(path), text: edited.text, is_from_repository };
    let adds_command = matches!(link.evidence, CriterionEvidence::Command { .. });
    let needs_approval = !carry_approval(request, before, &written, adds_command)?;
    Ok(Reply::new(WrittenLink { file: name, needs_approval }, notes))
}

/// A new file, or the old one with a line changed; a link in its place is refused.
fn write_criteria(path: &Path, text: &str) -> anyhow::Result<()> {
    let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
    let folder = path.parent().unwrap_or(Path::new("/"));
    anyhow::ensure!(!is_link(path) && !is_link(folder), "{}: a link: nothing is written there", path.display());
    create_private_dir(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    write_atomic(path, text.as_bytes(), 0o644, Durability::Synced)
        .with_context(|| format!("cannot write {}", path.display()))
}

/// What to say of a selector that names no test of the work tree. It may be written later.
fn missing_test(request: &Request, selector: &str) -> Option<String> {
    let tests = WorkTreeTests::read(request).ok()?;
    let is_there = tests.projects.iter().any(|tests| !find_selected(&tests.index, selector).is_empty());
    (!is_there).then(|| format!("there is no test {selector} yet"))
}

fn relative_name(request: &Request, path: &Path) -> String {
    let relative = request.places.relative(path);
    relative.map_or_else(|| path.display().to_string(), |path| path.to_string_lossy().into_owned())
}

/// A PRP, and the file with its links.
struct KnownCriteria {
    prp: LoadedPrp,
    links: Option<CriteriaLinks>,
}

/// The file with the links, as it is.
struct CriteriaLinks {
    file: PolicyFile,
    path: PathBuf,
    parsed: CriteriaFile,
}

impl CriteriaLinks {
    fn read(file: PolicyFile) -> anyhow::Result<Option<Self>> {
        let parsed = CriteriaFile::parse(&file.text, file.name.as_deref().unwrap_or_default())?;
        Ok(file.path.clone().map(|path| CriteriaLinks { file, path, parsed }))
    }

    fn name(&self) -> String {
        self.file.name.clone().unwrap_or_else(|| self.path.display().to_string())
    }

    fn entry(&self, criterion: &AcceptanceCriterion, prp: &LoadedPrp) -> Option<&CriterionEvidence> {
        let is_it = |id: &str| prp.prp.criterion(id).is_some_and(|found| found.id == criterion.id);
        self.parsed.entries.iter().find(|entry| is_it(&entry.id)).map(|entry| &entry.evidence)
    }
}

impl KnownCriteria {
    /// Reads the PRP that is meant, and the file beside it or in `.verify-run/`.
    fn read(request: &Request, given: Option<&Path>) -> anyhow::Result<Self> {
        let absolute = given.map(|path| request.cwd.join(path));
        let files = |prp: Option<&Path>| PolicyFiles::load(&request.places, &request.environment, None, None, prp);
        let path = match &absolute {
            Some(path) => path.clone(),
            None => Self::find_prp(request, files(None)?.criteria_file)?,
        };
        let prp = LoadedPrp::read(request, &path)?;
        if prp.prp.criteria.is_empty() {
            return Err(Refusal::conflict(format!("{} has no acceptance criteria", prp.path)).into());
        }
        let links = files(Some(&path))?.criteria_file.map(CriteriaLinks::read).transpose()?.flatten();
        Ok(KnownCriteria { prp, links })
    }

    /// The PRP of the file with the links, else of the last evaluation.
    fn find_prp(request: &Request, file: Option<PolicyFile>) -> anyhow::Result<PathBuf> {
        let of_file = match file {
            Some(file) => CriteriaLinks::read(file)?.and_then(|links| links.parsed.prp),
            None => None,
        };
        let of_evaluation = || read_gate(request).ok()?.cycle()?.last.as_ref()?.start.prp.clone();
        let path = of_file.or_else(of_evaluation);
        let path = path.ok_or_else(|| Refusal::usage("which PRP has the criteria? give --prp FILE"))?;
        Ok(request.places.root.join(path))
    }

    /// Why the links are about other criteria than those of the PRP.
    fn stale_reason(&self, file: &CriteriaFile) -> Option<String> {
        match &file.prp {
            Some(prp) if *prp != self.prp.path => Some(format!("the links are about {prp}")),
            _ => file.stale_reason(&self.prp.prp),
        }
    }

    /// The entries that go, because they were made for other criteria.
    ///
    /// # Errors
    /// When there are such entries and the caller did not ask for taking them over.
    fn entries_to_drop(&self, link: &LinkRequest<'_>) -> anyhow::Result<Vec<String>> {
        let Some(links) = &self.links else { return Ok(Vec::new()) };
        let Some(stale) = self.stale_reason(&links.parsed).filter(|_| !links.parsed.entries.is_empty()) else {
            return Ok(Vec::new());
        };
        if !link.renews {
            let refusal = Refusal::conflict(format!("{}: {stale}", links.name()));
            return Err(refusal.then_do("read the links again, and give --renew to take them over").into());
        }
        let is_other_prp = links.parsed.prp.as_ref().is_some_and(|prp| *prp != self.prp.path);
        let goes = |entry: &&crate::gate::criteria::file::CriterionEntry| {
            // What a person has seen was another text.
            is_other_prp
                || matches!(entry.evidence, CriterionEvidence::Manual { .. })
                || self.prp.prp.criterion(&entry.id).is_none()
        };
        let named = |id: &str| self.prp.prp.criterion(id).map(|criterion| criterion.number);
        let dropped = links.parsed.entries.iter().filter(goes).map(|entry| entry.id.clone());
        Ok(dropped.filter(|id| named(id).is_none() || named(id) != named(link.id)).collect())
    }
}

/// The tests of the work tree, by project.
struct WorkTreeTests {
    projects: Vec<ProjectTests>,
}

impl WorkTreeTests {
    fn read(request: &Request) -> anyhow::Result<Self> {
        let policy = PolicyFiles::load(&request.places, &request.environment, None, None, None)?;
        let tree = read_tree(request, &gate_snapshot_options(request))?.tree;
        let change: Change = read_change(request, tree, Some("HEAD"))?;
        let projects = find_projects(&change.paths, &policy.mapping);
        let projects = projects.into_iter().map(|project| index_project(request, &change, project));
        Ok(WorkTreeTests { projects: projects.collect::<Result<_, _>>()? })
    }

    /// The tests that name a criterion: `tests/test_api.py:12 (test_ac_2)`.
    fn naming(&self, criterion: &AcceptanceCriterion, slug: &str) -> Vec<String> {
        let of_project = |tests: &ProjectTests| {
            let (links, _) = find_links(&tests.index, std::slice::from_ref(criterion), Some(slug));
            let tests = links.into_iter().filter_map(|link| {
                let test = tests.index.tests.get(link.test)?;
                let dir = if tests.project.dir.is_empty() { String::new() } else { format!("{}/", tests.project.dir) };
                Some(format!("{dir}{}:{} ({})", test.path, test.line, test.shown_name))
            });
            tests.collect::<Vec<_>>()
        };
        self.projects.iter().flat_map(of_project).take(TESTS_MAX).collect()
    }
}
