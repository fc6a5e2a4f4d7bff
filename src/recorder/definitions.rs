//! Tool definitions of the user and the project: read here, understood in [`crate::diagnose`].

use std::fs;
use std::path::{Path, PathBuf};

use crate::base::file::read_start;
use crate::base::limits::{CONFIG_FILE_BYTES_MAX, DEFINITION_FILES_MAX};
use crate::config::{CategoryTable, Environment, Places, Problem};
use crate::diagnose::{self, DefinitionFault, DefinitionFile, DefinitionSet};

/// The strongest layer.
const PROJECT: usize = 0;

/// The definitions of a place with their files and problems.
pub(crate) struct LoadedDefinitions {
    /// The definitions in force.
    pub definitions: DefinitionSet,
    /// The files they come from, the strongest layer first; without the shipped ones.
    pub files: Vec<DefinitionFile>,
    /// What is wrong with them.
    pub problems: Vec<Problem>,
}

/// The definitions for a place, which may name `categories`. Never fails: a file that can't be used is a problem, and the
/// others hold.
pub(crate) fn load_definitions(
    places: &Places,
    environment: &Environment,
    categories: &CategoryTable,
) -> LoadedDefinitions {
    let (files, mut faults) = read_definitions(places, environment);
    let (definitions, more) = DefinitionSet::from_layers(&files, categories);
    faults.extend(more);
    LoadedDefinitions { definitions, files, problems: faults.into_iter().map(to_problem).collect() }
}

/// The files alone, for their detectors: reading the definitions in them takes longer than a hook has.
pub(crate) fn definition_files(places: &Places, environment: &Environment) -> Vec<DefinitionFile> {
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

/// A fault of a definition, with what to do about it.
pub(crate) fn to_problem(fault: DefinitionFault) -> Problem {
    let next = "correct it, then run `verify-run whitelist check`";
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
