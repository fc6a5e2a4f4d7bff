//! What in a change asks for an architecture decision record.

use std::collections::BTreeSet;

use super::ChangedDocument;
use super::heading::{document_lines, find_headings, has_word};
use super::manifest::{ManifestFormat, dependency_names};
use crate::base::glob;

/// Triggers of a change; further ones are not looked for.
pub(crate) const TRIGGERS_MAX: usize = 100;

/// What is looked for, for people.
pub(crate) const LOOKED_FOR: &str = "a heading about a decision or the architecture in the PRP, new entries in dependency \
     manifests, migrations, new service or container files, new top-level modules, changed public API files";

/// Words of a heading about a decision.
const DECISION_WORDS: [&str; 14] = [
    "decision",
    "decisions",
    "architecture",
    "architectural",
    "adr",
    "adrs",
    "decisão",
    "decisões",
    "decisao",
    "decisoes",
    "arquitetura",
    "arquitectura",
    "decisión",
    "decisiones",
];
const MIGRATIONS: [&str; 4] = ["**/migrations/**", "**/migrate/**", "**/alembic/versions/**", "**/db/changelog/**"];
const SERVICE_FILES: [&str; 16] = [
    "**/Dockerfile",
    "**/Dockerfile.*",
    "**/*.Dockerfile",
    "**/Containerfile",
    "**/docker-compose*.{yml,yaml}",
    "**/compose*.{yml,yaml}",
    "**/*.tf",
    "**/Chart.yaml",
    "**/kustomization.yaml",
    "**/*.service",
    "**/Procfile",
    "**/fly.toml",
    "**/serverless.{yml,yaml}",
    "**/Pulumi.yaml",
    "**/{k8s,kubernetes}/**/*.{yml,yaml}",
    "**/app.yaml",
];
const API_FILES: [&str; 9] = [
    "**/openapi*.{yml,yaml,json}",
    "**/swagger*.{yml,yaml,json}",
    "**/asyncapi*.{yml,yaml,json}",
    "**/*.proto",
    "**/*.{graphql,graphqls}",
    "**/*.{wsdl,thrift,avsc}",
    "**/*.api.md",
    "**/index.d.ts",
    "**/*.smithy",
];
/// Folders whose children are modules.
const MODULE_PARENTS: [&str; 9] = ["src", "lib", "packages", "crates", "apps", "services", "internal", "pkg", "cmd"];
/// Folders at the top that hold no module.
const OTHER_FOLDERS: [&str; 17] = [
    "test",
    "tests",
    "spec",
    "specs",
    "docs",
    "doc",
    "examples",
    "scripts",
    "fixtures",
    "benches",
    "e2e",
    "__tests__",
    "node_modules",
    "vendor",
    "target",
    "dist",
    "migrations",
];
const SOURCES: [&str; 14] =
    ["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "py", "go", "rs", "java", "kt", "lua"];

/// What asks for a decision record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DecisionTriggerKind {
    /// A heading of the PRP.
    PrpHeading,
    /// A new dependency.
    Dependency,
    /// A new migration.
    Migration,
    /// A new service or container file.
    ServiceFile,
    /// A new module at the top of the tree.
    TopLevelModule,
    /// A public API file with other contents.
    PublicApi,
}

/// A place in a change that asks for a decision record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DecisionTrigger {
    /// What it is.
    pub kind: DecisionTriggerKind,
    /// The file; `None` for the PRP.
    pub path: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// A lowercase fragment for people.
    pub reason: String,
}

/// The triggers in a PRP and a change. `base_paths` are the files of the base.
pub(crate) fn find_triggers(
    prp: Option<&str>,
    changes: &[ChangedDocument<'_>],
    base_paths: &[String],
) -> Vec<DecisionTrigger> {
    let mut found = Vec::new();
    for heading in find_headings(&document_lines(prp.unwrap_or_default())) {
        if has_word(&heading.title, &DECISION_WORDS) {
            let reason = format!("the PRP has the heading \"{}\"", super::shown(&heading.title));
            let kind = DecisionTriggerKind::PrpHeading;
            found.push(DecisionTrigger { kind, path: None, line: Some(heading.line), reason });
        }
    }
    let base_modules: BTreeSet<&str> = base_paths.iter().filter_map(|path| module_of(path)).collect();
    let mut new_modules = BTreeSet::new();
    for change in changes {
        found.extend(new_dependencies(change));
        let mut add = |kind, reason: &str| {
            let path = Some(change.path.to_owned());
            found.push(DecisionTrigger { kind, path, line: None, reason: reason.to_owned() });
        };
        let is_of = |patterns: &[&str]| patterns.iter().any(|pattern| glob::matches(pattern, change.path));
        if change.is_new() && is_of(&MIGRATIONS) && !change.path.ends_with("__init__.py") {
            add(DecisionTriggerKind::Migration, "a new migration");
        }
        if change.is_new() && is_of(&SERVICE_FILES) {
            add(DecisionTriggerKind::ServiceFile, "a new service or container file");
        }
        if change.before != change.after && is_of(&API_FILES) {
            add(DecisionTriggerKind::PublicApi, "a changed public API file");
        }
        if let Some(module) = module_of(change.path).filter(|module| change.is_new() && !base_modules.contains(module))
            && new_modules.insert(module)
        {
            add(DecisionTriggerKind::TopLevelModule, &format!("a new top-level module `{}`", super::shown(module)));
        }
        if found.len() >= TRIGGERS_MAX {
            break;
        }
    }
    found.truncate(TRIGGERS_MAX);
    found
}

fn new_dependencies(change: &ChangedDocument<'_>) -> Vec<DecisionTrigger> {
    let Some(format) = ManifestFormat::of_path(change.path) else { return Vec::new() };
    let before = dependency_names(format, change.before.unwrap_or_default());
    let after = dependency_names(format, change.after.unwrap_or_default());
    let line_of = |name: &str| change.added_texts().find(|(_, line)| line.contains(name)).map(|(number, _)| number);
    let trigger = |name: &String| DecisionTrigger {
        kind: DecisionTriggerKind::Dependency,
        path: Some(change.path.to_owned()),
        line: line_of(name),
        reason: format!("a new dependency `{}`", super::shown(name)),
    };
    after.difference(&before).take(TRIGGERS_MAX).map(trigger).collect()
}

/// The folder of a source file that is a module at the top: `billing` of `billing/a.py`, `src/billing` of
/// `src/billing/a.py`.
fn module_of(path: &str) -> Option<&str> {
    let (_, extension) = path.rsplit_once('.')?;
    let (first, rest) = path.split_once('/')?;
    if !SOURCES.contains(&extension) || first.starts_with('.') || OTHER_FOLDERS.contains(&first) {
        return None;
    }
    if !MODULE_PARENTS.contains(&first) {
        return Some(first);
    }
    let (second, _) = rest.split_once('/')?;
    (!OTHER_FOLDERS.contains(&second)).then(|| &path[..first.len() + 1 + second.len()])
}
