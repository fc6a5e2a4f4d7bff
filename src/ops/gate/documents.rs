//! Measures the items about documents: README, decision records, API documents, changelog.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context;

use super::change::Change;
use crate::base::file::read_start;
use crate::base::glob;
use crate::event::GateFinding;
use crate::gate::document::adr::{AdrInputs, adr_folders, is_adr_file, judge_adr};
use crate::gate::document::changelog::{ChangelogInputs, find_generators, judge_changelog, may_configure_generator};
use crate::gate::document::openapi::judge_openapi;
use crate::gate::document::public_name::find_public_names;
use crate::gate::document::readme::{ReadmeFeature, judge_readme};
use crate::gate::document::route::find_route_changes;
use crate::gate::document::{ChangedDocument, DocumentAnswer, DocumentFinding};
use crate::gate::judge::ItemEvidence;
use crate::gate::policy::{ChecklistItem, DocumentPlaces, Method, Metric, MetricValue};
use crate::gate::prp::{PRP_BYTES_MAX, Prp};
use crate::gate::stack::StackProject;
use crate::ops::request::Request;

/// Decision records that are read.
const RECORDS_MAX: usize = 500;
/// Words of a path that make a source file one of tests.
const TEST_WORDS: [&str; 5] = ["test", "tests", "spec", "__tests__", "fixtures"];

/// The PRP of a change.
#[derive(Debug)]
pub(super) struct LoadedPrp {
    /// Its path as given, relative to the root where it is inside.
    pub path: String,
    /// Its text.
    pub text: String,
    /// What it says.
    pub prp: Prp,
}

impl LoadedPrp {
    /// Reads a PRP; `path` as typed.
    ///
    /// # Errors
    /// When it can't be read, is too large, or its front matter is broken.
    pub(super) fn read(request: &Request, path: &Path) -> anyhow::Result<LoadedPrp> {
        let absolute = request.cwd.join(path);
        let name = request
            .places
            .relative(&absolute)
            .map_or_else(|| path.display().to_string(), |path| path.display().to_string());
        let bytes = read_start(&absolute, PRP_BYTES_MAX as u64 + 1).with_context(|| format!("cannot read {name}"))?;
        let text = String::from_utf8(bytes).map_err(|_| anyhow::anyhow!("{name} is not UTF-8"))?;
        let prp = Prp::parse(&text).with_context(|| format!("cannot use {name}"))?;
        Ok(LoadedPrp { path: name, text, prp })
    }
}

/// What documents are judged with.
pub(super) struct DocumentContext<'a> {
    /// The caller's request.
    pub request: &'a Request,
    /// The change.
    pub change: &'a Change,
    /// Where documents are.
    pub places: &'a DocumentPlaces,
    /// The projects that the change touches.
    pub projects: &'a [StackProject],
    /// The PRP.
    pub prp: Option<&'a LoadedPrp>,
    /// The feature's name.
    pub feature: &'a str,
}

/// A file of the tree with its text in the base.
struct DocumentTexts {
    path: String,
    before: Option<String>,
    after: Option<String>,
}

impl DocumentTexts {
    fn to_document(&self) -> ChangedDocument<'_> {
        ChangedDocument::compare_texts(&self.path, self.before.as_deref(), self.after.as_deref())
    }
}

impl DocumentContext<'_> {
    /// The evidence of an item that a method about documents measures.
    pub(super) fn measure_documents(&self, item: &ChecklistItem, method: Method) -> ItemEvidence {
        let judged = match method {
            Method::GrepReadme => self.judge_readme().map(|answer| (answer, Metric::ReadmeContainsFeature)),
            Method::CheckDocsAdr => self.judge_adr().map(|answer| (answer, Metric::AdrFileExists)),
            Method::ValidateOpenapi => self.judge_openapi().map(|answer| (answer, Metric::OpenapiValid)),
            Method::GrepChangelog => self.judge_changelog().map(|answer| (answer, Metric::ChangelogHasEntry)),
            Method::ParsePrpAndVerify | Method::CheckComplexityComments => {
                return ItemEvidence::unknown(item, format!("{} is not about documents", method.name()));
            }
        };
        match judged {
            Ok((answer, metric)) => evidence_of(answer, metric),
            Err(error) => ItemEvidence::unknown(item, format!("{error:#}")),
        }
    }

    fn judge_readme(&self) -> anyhow::Result<DocumentAnswer> {
        let mut wanted = BTreeSet::new();
        let dirs = self.projects.iter().map(|project| project.dir.as_str()).chain([""]);
        dirs.for_each(|dir| wanted.extend(self.nearest_readme(dir)));
        let texts = self.read(&wanted.into_iter().collect::<Vec<_>>())?;
        let readmes: Vec<ChangedDocument<'_>> = texts.iter().map(DocumentTexts::to_document).collect();
        let sources = self.source_changes();
        let public_names = find_public_names(&sources);
        let feature = ReadmeFeature {
            name: self.feature,
            slug: self.prp.map(|prp| prp.prp.slug(&prp.path)),
            aliases: self.prp.map_or(&[][..], |prp| &prp.prp.front_matter.aliases),
            public_names: &public_names,
        };
        Ok(judge_readme(&feature, &readmes))
    }

    /// The README of a folder or the next one above it.
    fn nearest_readme(&self, dir: &str) -> Option<String> {
        let mut dir = dir;
        loop {
            let in_dir = |name: &String| if dir.is_empty() { name.clone() } else { format!("{dir}/{name}") };
            let found =
                self.places.readme.iter().map(in_dir).find(|path| self.change.paths.binary_search(path).is_ok());
            if found.is_some() || dir.is_empty() {
                return found;
            }
            dir = dir.rsplit_once('/').map_or("", |(parent, _)| parent);
        }
    }

    fn judge_adr(&self) -> anyhow::Result<DocumentAnswer> {
        let named = self.change.read_documents(self.request, &[".adr-dir".to_owned()])?.pop().flatten();
        let folders = adr_folders(named.as_deref(), &self.places.adr, &self.change.paths);
        let records: Vec<String> =
            self.change.paths.iter().filter(|path| is_adr_file(path, &folders)).take(RECORDS_MAX).cloned().collect();
        let texts = self.read(&records)?;
        let records: Vec<ChangedDocument<'_>> = texts.iter().map(DocumentTexts::to_document).collect();
        let changes = self.changes();
        let new: BTreeSet<&str> = changes.iter().filter(|it| it.is_new()).map(|it| it.path).collect();
        let base_paths: Vec<String> =
            self.change.paths.iter().filter(|path| !new.contains(path.as_str())).cloned().collect();
        let messages: Vec<&str> = self.change.messages.iter().map(String::as_str).collect();
        Ok(judge_adr(&AdrInputs {
            places: &self.places.adr,
            records: &records,
            prp: self.prp.map(|prp| prp.text.as_str()),
            commit_messages: &messages,
            changes: &changes,
            base_paths: &base_paths,
        }))
    }

    /// The OpenAPI documents of the tree.
    pub(super) fn openapi_documents(&self) -> Vec<String> {
        let is_document = |path: &&String| self.places.openapi.iter().any(|place| glob::matches(place, path));
        self.change.paths.iter().filter(is_document).cloned().collect()
    }

    fn judge_openapi(&self) -> anyhow::Result<DocumentAnswer> {
        let texts = self.read(&self.openapi_documents())?;
        let documents: Vec<ChangedDocument<'_>> = texts.iter().map(DocumentTexts::to_document).collect();
        Ok(judge_openapi(&documents, &find_route_changes(&self.source_changes())))
    }

    fn judge_changelog(&self) -> anyhow::Result<DocumentAnswer> {
        let is_changelog = |path: &&String| self.places.changelog.iter().any(|place| glob::matches(place, path));
        let is_whole = |path: &&String| !path.contains('/') || path.ends_with("CHANGELOG.md");
        let paths: Vec<String> = self.change.paths.iter().filter(is_changelog).filter(is_whole).cloned().collect();
        let texts = self.read(&paths)?;
        let changelogs: Vec<ChangedDocument<'_>> = texts.iter().map(DocumentTexts::to_document).collect();
        let settings: Vec<String> =
            self.change.paths.iter().filter(|path| may_configure_generator(path)).cloned().collect();
        let settings_texts = self.change.read_documents(self.request, &settings)?;
        let files: Vec<(&str, &str)> = settings
            .iter()
            .zip(&settings_texts)
            .filter_map(|(path, text)| Some((path.as_str(), text.as_deref()?)))
            .collect();
        let messages: Vec<&str> = self.change.messages.iter().map(String::as_str).collect();
        Ok(judge_changelog(&ChangelogInputs {
            changelogs: &changelogs,
            changes: &self.changes(),
            generators: &find_generators(&files),
            commit_messages: &messages,
            places: &self.places.changelog,
        }))
    }

    /// The changed files.
    fn changes(&self) -> Vec<ChangedDocument<'_>> {
        self.change.files.iter().map(super::change::ChangedFile::to_document).collect()
    }

    /// The changed files that are no tests.
    fn source_changes(&self) -> Vec<ChangedDocument<'_>> {
        let is_test = |path: &str| {
            let mut words = path.split(['/', '.', '_', '-']);
            words.any(|word| TEST_WORDS.contains(&word.to_ascii_lowercase().as_str()))
        };
        self.changes().into_iter().filter(|change| !is_test(change.path)).collect()
    }

    fn read(&self, paths: &[String]) -> anyhow::Result<Vec<DocumentTexts>> {
        let before = self.change.read_base_documents(self.request, paths)?;
        let after = self.change.read_documents(self.request, paths)?;
        let texts = paths.iter().zip(before.into_iter().zip(after));
        Ok(texts.map(|(path, (before, after))| DocumentTexts { path: path.clone(), before, after }).collect())
    }
}

fn evidence_of(answer: DocumentAnswer, metric: Metric) -> ItemEvidence {
    let mut evidence = ItemEvidence::default();
    evidence.values.insert(Metric::NotApplicable, MetricValue::Fact(false));
    match answer {
        DocumentAnswer::Met { details } => {
            evidence.values.insert(metric, MetricValue::Fact(true));
            evidence.details.push(details);
        }
        DocumentAnswer::NotMet { findings } => {
            evidence.values.insert(metric, MetricValue::Fact(false));
            evidence.details.extend(findings.first().map(|finding| finding.message.clone()));
            evidence.findings.extend(findings.into_iter().map(finding_of));
        }
        DocumentAnswer::NotApplicable { reason } => evidence.not_applicable = Some(reason),
    }
    evidence
}

fn finding_of(finding: DocumentFinding) -> GateFinding {
    GateFinding { path: finding.path, line: finding.line, message: finding.message, ..GateFinding::default() }
}
