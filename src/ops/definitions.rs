//! Tool definitions of the user and the project: read here, understood in [`crate::diagnose`].

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::base::file::{Durability, read_start, write_atomic};
use crate::base::limits::{CONFIG_FILE_BYTES_MAX, DEFINITION_FILES_MAX};
use crate::config::{Categories, Environment, Places, Problem, Settings};
use crate::diagnose::{self, Category, DefinitionFault, DefinitionFile, Definitions};
use crate::pattern::detector::DetectorRegistry;
use crate::whitelist::{CheckKind, Whitelist};

/// The strongest layer.
const PROJECT: usize = 0;

/// What was read.
pub(crate) struct Loaded {
    /// The definitions in force.
    pub definitions: Definitions,
    /// The files they come from, the strongest layer first; without the shipped ones.
    pub files: Vec<DefinitionFile>,
    /// What is wrong with them.
    pub problems: Vec<Problem>,
}

/// The definitions for a place, which may name `categories`. Never fails: a file that can't be used is a problem, and the
/// others hold.
pub(crate) fn load_definitions(places: &Places, environment: &Environment, categories: &Categories) -> Loaded {
    let (files, mut faults) = read_definitions(places, environment);
    let (definitions, more) = Definitions::from_layers(&files, categories);
    faults.extend(more);
    Loaded { definitions, files, problems: faults.into_iter().map(to_problem).collect() }
}

/// The files alone, for their detectors: reading the definitions in them takes longer than a hook has.
pub(super) fn definition_files(places: &Places, environment: &Environment) -> Vec<DefinitionFile> {
    read_definitions(places, environment).0
}

fn read_definitions(places: &Places, environment: &Environment) -> (Vec<DefinitionFile>, Vec<DefinitionFault>) {
    let mut files = Vec::new();
    let mut faults = Vec::new();
    for (layer, dir) in places.definition_dirs(environment).into_iter().enumerate() {
        for (index, file) in list_definition_files(&dir).into_iter().enumerate() {
            let text = if index < DEFINITION_FILES_MAX {
                text_of(&file)
            } else {
                Err(format!("more than {DEFINITION_FILES_MAX} files in this folder"))
            };
            match text {
                Ok(text) => {
                    let names = diagnose::attachment_names(&text).into_iter();
                    let attached = names.map(|name| {
                        (name.clone(), read_attached_file(&file, &name, layer_boundary(&dir, layer, places)))
                    });
                    files.push(DefinitionFile { attached: attached.collect(), file, layer, text });
                }
                Err(reason) => faults.push(DefinitionFault { file, line: None, reason, without: Some("the file") }),
            }
        }
    }
    (files, faults)
}

/// As [`load_definitions`], with every regex compiled and every inline test run.
pub(crate) fn check_definitions(places: &Places, environment: &Environment) -> Loaded {
    let categories = Settings::load(places, environment).0.categories;
    let mut loaded = load_definitions(places, environment, &categories);
    let faults = loaded.definitions.check_files(&loaded.files);
    let (_, detectors) = DetectorRegistry::new(&loaded.files, &categories);
    loaded.problems.extend(faults.into_iter().chain(detectors).map(to_problem));
    loaded.problems.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    loaded
}

/// What `whitelist new` is asked for.
pub(crate) struct NewToolOptions<'a> {
    /// The tool's name: letters, digits, `.`, `_`, `-`.
    pub name: &'a str,
    /// What it does.
    pub kind: CheckKind,
    /// The program it is called by.
    pub program: &'a str,
    /// For the user everywhere, instead of for this project.
    pub user: bool,
    /// Some of its output.
    pub sample: &'a [u8],
}

/// What `whitelist new` wrote.
pub(crate) struct Created {
    /// The definition.
    pub definition: PathBuf,
    /// The whitelist that the program was added to; `None` when it is a check already.
    pub whitelist: Option<PathBuf>,
    /// Problems that the definition finds in the sample.
    pub found: usize,
}

/// Writes a definition made from a sample and, if the program is no check yet, a rule for it.
///
/// # Errors
/// A bad name, a definition that is there already, a sample that says nothing, or a file that can't be written.
pub(crate) fn create_tool(
    places: &Places,
    environment: &Environment,
    wanted: &NewToolOptions<'_>,
) -> anyhow::Result<Created> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if !wanted.name.starts_with(|c: char| c.is_ascii_alphanumeric()) || !wanted.name.chars().all(plain) {
        anyhow::bail!("`{}` is no name for a tool: use letters, digits, `.`, `_` and `-`", wanted.name.escape_debug());
    }
    let dirs = places.definition_dirs(environment);
    let dir = dirs.get(usize::from(wanted.user)).context("there is no home folder; leave --user away")?;
    let definition = dir.join(format!("{}.toml", wanted.name));
    if definition.exists() {
        anyhow::bail!("{} is there already; edit it, or remove it first", definition.display());
    }
    let category = match wanted.kind {
        CheckKind::Test => Category::TestFailure,
        CheckKind::Lint | CheckKind::Format => Category::LintError,
        CheckKind::Type => Category::TypeError,
        CheckKind::Build => Category::BuildError,
    };
    let skeleton = diagnose::draft_skeleton(wanted.name, category, wanted.sample).map_err(anyhow::Error::msg)?;
    let whitelist = add_rule(places, environment, wanted)?;
    write_new_file(&definition, skeleton.text.as_bytes())?;
    Ok(Created { definition, whitelist, found: skeleton.found })
}

/// Adds a rule for the program to the layer's whitelist; `None` when it is a check already.
fn add_rule(
    places: &Places,
    environment: &Environment,
    wanted: &NewToolOptions<'_>,
) -> anyhow::Result<Option<PathBuf>> {
    let (known, _) = Whitelist::load(places, environment);
    if known.tool_kind(wanted.name).is_some() {
        return Ok(None);
    }
    let files = Whitelist::layer_files(places, environment);
    let file = files.get(usize::from(wanted.user)).context("there is no home folder; leave --user away")?;
    let mut text = match read_start(file, CONFIG_FILE_BYTES_MAX) {
        Ok(bytes) => String::from_utf8(bytes).with_context(|| format!("{} is not UTF-8", file.display()))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => "verify_run_schema = 1\n".to_owned(),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", file.display())),
    };
    if !text.contains("verify_run_schema") {
        anyhow::bail!("{} is somebody else's: it has no `verify_run_schema = 1`", file.display());
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

/// The folder's definition files, by name.
fn list_definition_files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_ours = |path: &PathBuf| {
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        !hidden && path.extension().is_some_and(|extension| extension == "toml")
    };
    let mut files: Vec<PathBuf> = entries.filter(is_ours).collect();
    files.sort();
    files
}

/// What a definition's files have to be inside of: a cloned repository must not have the user's other files read.
fn layer_boundary<'a>(dir: &'a Path, layer: usize, places: &'a Places) -> &'a Path {
    if layer == PROJECT { &places.root } else { dir }
}

/// The text of a file that a definition names.
fn read_attached_file(definition: &Path, name: &str, boundary: &Path) -> Result<String, String> {
    let file = definition.parent().unwrap_or(boundary).join(name);
    let resolve = |path: &Path| path.canonicalize().map_err(|error| format!("cannot be read: {error}"));
    if !resolve(&file)?.starts_with(resolve(boundary)?) {
        return Err(format!("is not below {}", boundary.display()));
    }
    text_of(&file)
}

/// A file's text. The error is a reason for people.
fn text_of(file: &Path) -> Result<String, String> {
    let bytes = read_start(file, CONFIG_FILE_BYTES_MAX + 1).map_err(|error| format!("cannot be read: {error}"))?;
    if bytes.len() as u64 > CONFIG_FILE_BYTES_MAX {
        return Err(format!("is larger than {CONFIG_FILE_BYTES_MAX} bytes"));
    }
    String::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned())
}

fn to_problem(fault: DefinitionFault) -> Problem {
    let next = "correct it, then type `verify-run whitelist check`";
    let hint = fault.without.map_or_else(|| next.to_owned(), |what| format!("{what} is left out until then: {next}"));
    Problem {
        file: fault.file,
        line: fault.line,
        reason: fault.reason,
        hint,
        used: fault.without != Some("the file"),
        warning: false,
    }
}
