//! `whitelist check` and `whitelist new`: checks the definitions of the user and the project, and drafts one from a sample.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::request::Request;
use crate::base::file::{Durability, read_start, write_atomic};
use crate::base::limits::CONFIG_FILE_BYTES_MAX;
use crate::base::refusal::Refusal;
use crate::diagnose::{self, Category};
use crate::pattern::detector::DetectorRegistry;
use crate::recorder::definitions::{LoadedDefinitions, load_definitions, to_problem};
use crate::whitelist::{CheckKind, Whitelist};

/// As [`load_definitions`], with every regex compiled and every inline test run.
pub(crate) fn check_definitions(request: &Request) -> LoadedDefinitions {
    let categories = &request.settings().categories;
    let mut loaded = load_definitions(&request.places, &request.environment, categories);
    let faults = loaded.definitions.check_files(&loaded.files);
    let (_, detectors) = DetectorRegistry::new(&loaded.files, categories);
    loaded.problems.extend(faults.into_iter().chain(detectors).map(to_problem));
    loaded.problems.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    loaded
}

/// What `whitelist new` is asked for.
pub(crate) struct NewToolOptions<'a> {
    /// The tool's name: letters, digits, `.`, `_`, `-`.
    pub name: &'a str,
    pub kind: CheckKind,
    /// The program it is called by.
    pub program: &'a str,
    /// For the user everywhere, instead of for this project.
    pub user: bool,
    /// Some of its output.
    pub sample: &'a [u8],
}

/// What `whitelist new` wrote.
pub(crate) struct CreatedDefinition {
    pub definition: PathBuf,
    /// The whitelist that the program was added to; `None` when it is a check already.
    pub whitelist: Option<PathBuf>,
    /// Problems that the definition finds in the sample.
    pub found: usize,
}

/// Writes a definition made from a sample and, if the program is not a check yet, a rule for it.
///
/// # Errors
/// A bad name, a definition that is there already, a sample without a failure, or a file that can't be written.
pub(crate) fn create_tool(request: &Request, wanted: &NewToolOptions<'_>) -> anyhow::Result<CreatedDefinition> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if !wanted.name.starts_with(|c: char| c.is_ascii_alphanumeric()) || !wanted.name.chars().all(plain) {
        let name = wanted.name.escape_debug();
        anyhow::bail!(Refusal::usage(format!("`{name}` is no name for a tool: use letters, digits, `.`, `_` and `-`")));
    }
    let dirs = request.places.definition_dirs(&request.environment);
    let dir = dirs.get(usize::from(wanted.user)).context("there is no home folder; omit --user")?;
    let definition = dir.join(format!("{}.toml", wanted.name));
    if definition.exists() {
        let message = format!("{} is there already", definition.display());
        anyhow::bail!(Refusal::conflict(message).then_do("edit it, or remove it first"));
    }
    let category = match wanted.kind {
        CheckKind::Test => Category::TestFailure,
        CheckKind::Lint | CheckKind::Format => Category::LintError,
        CheckKind::Type => Category::TypeError,
        CheckKind::Build => Category::BuildError,
    };
    let skeleton = diagnose::draft_skeleton(wanted.name, category, wanted.sample).map_err(anyhow::Error::msg)?;
    let whitelist = add_rule(request, wanted)?;
    write_new_file(&definition, skeleton.text.as_bytes())?;
    Ok(CreatedDefinition { definition, whitelist, found: skeleton.found })
}

/// Adds a rule for the program to the layer's whitelist; `None` when it is a check already.
fn add_rule(request: &Request, wanted: &NewToolOptions<'_>) -> anyhow::Result<Option<PathBuf>> {
    let (known, _) = Whitelist::load(&request.places, &request.environment);
    if known.tool_kind(wanted.name).is_some() {
        return Ok(None);
    }
    let files = Whitelist::layer_files(&request.places, &request.environment);
    let file = files.get(usize::from(wanted.user)).context("there is no home folder; omit --user")?;
    let mut text = match read_start(file, CONFIG_FILE_BYTES_MAX) {
        Ok(bytes) => String::from_utf8(bytes).with_context(|| format!("{} is not UTF-8", file.display()))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => "verify_run_schema = 1\n".to_owned(),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", file.display())),
    };
    if !text.contains("verify_run_schema") {
        anyhow::bail!("{} is not a verify-run file: it has no `verify_run_schema = 1`", file.display());
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let (name, kind, program) = (wanted.name, wanted.kind.as_str(), wanted.program.escape_default());
    text.push_str(&format!("\n[[tool]]\nname = \"{name}\"\nkind = \"{kind}\"\nbins = [\"{program}\"]\n"));
    write_new_file(file, text.as_bytes())?;
    Ok(Some(file.clone()))
}

fn write_new_file(file: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let made = file.parent().map_or(Ok(()), fs::create_dir_all);
    let written = made.and_then(|()| write_atomic(file, bytes, 0o644, Durability::Cached));
    written.with_context(|| format!("cannot write {}", file.display()))
}
