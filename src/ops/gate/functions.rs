//! `gate measure`: the functions of files with their complexity, as the gate counts them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::base::file::read_start;
use crate::gate::measure::{SOURCE_BYTES_MAX, SourceLanguage, measure_functions};
use crate::gate::stack::is_foreign_folder;
use crate::ops::request::Request;

/// A function of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MeasuredFunction {
    /// The file as it was named.
    pub path: PathBuf,
    /// The line where the function begins, from 1.
    pub line: u32,
    /// Its name, with the names of what it is within.
    pub name: String,
    /// Its cyclomatic complexity.
    pub complexity: u32,
}

/// The functions of these files and folders, in the order of the files; with notes about files that have no measure.
/// Folders of dependencies and outputs are left out unless they are named themselves.
pub(crate) fn list_functions(request: &Request, paths: &[PathBuf]) -> (Vec<MeasuredFunction>, Vec<String>) {
    let (mut functions, mut notes) = (Vec::new(), Vec::new());
    let mut files = Vec::new();
    for path in paths {
        collect_sources(&request.cwd.join(path), path, &mut files);
    }
    for (file, name) in files {
        let Some(language) = SourceLanguage::from_path(&name.to_string_lossy()) else {
            notes.push(format!("{}: no built-in measure reads this language", name.display()));
            continue;
        };
        let text = match read_start(&file, SOURCE_BYTES_MAX as u64 + 1) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) => {
                notes.push(format!("cannot read {}: {error}", name.display()));
                continue;
            }
        };
        match measure_functions(language, &text) {
            Ok(measured) => functions.extend(measured.into_iter().map(|function| MeasuredFunction {
                path: name.clone(),
                line: function.first_line,
                name: function.name,
                complexity: function.complexity,
            })),
            Err(error) => notes.push(format!("{}: {error}", name.display())),
        }
    }
    (functions, notes)
}

/// The source files at a path: the file itself, or those below the folder, sorted.
fn collect_sources(path: &Path, name: &Path, files: &mut Vec<(PathBuf, PathBuf)>) {
    if !path.is_dir() {
        files.push((path.to_owned(), name.to_owned()));
        return;
    }
    let mut entries: Vec<fs::DirEntry> = fs::read_dir(path).into_iter().flatten().flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let Ok(kind) = entry.file_type() else { continue };
        let file_name = entry.file_name();
        let (path, name) = (entry.path(), name.join(&file_name));
        let is_source = SourceLanguage::from_path(&file_name.to_string_lossy()).is_some();
        let is_left_out =
            is_foreign_folder(&file_name.to_string_lossy()) || file_name.as_encoded_bytes().starts_with(b".");
        if kind.is_dir() && !is_left_out || kind.is_file() && is_source {
            collect_sources(&path, &name, files);
        }
    }
}
