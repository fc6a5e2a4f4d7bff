//! Built-in measures of source text: functions with their cyclomatic complexity, and duplicated blocks. Text goes in and
//! values come out: nothing here reads a file. `docs/gate-measures.md` says what is counted and how well it agrees with
//! the tools of each language.

mod complexity;
mod duplication;
mod functions;
mod rows;
mod scanner;
#[cfg(test)]
mod tests;

pub(crate) use duplication::{ChangedFile, DuplicationIndex, DuplicationMeasure};
pub(crate) use functions::{FunctionMeasure, find_earlier_version, measure_functions};
pub(crate) use rows::{CopyCandidates, KeptRows, ROWS_BYTES_MAX, RowHashes, RowKey, hash_rows};

/// The longest source text that is measured, in bytes.
pub(crate) const SOURCE_BYTES_MAX: usize = 2 * 1024 * 1024;

/// The most functions that are measured in one source text.
pub(crate) const SOURCE_FUNCTIONS_MAX: usize = 20_000;

/// A language that the built-in measures understand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum SourceLanguage {
    /// JavaScript, with JSX.
    JavaScript,
    /// TypeScript, with JSX.
    TypeScript,
    /// Python 3.
    Python,
    /// Go.
    Go,
    /// Lua 5.1 to 5.4.
    Lua,
    /// Rust.
    Rust,
    /// Java.
    Java,
}

impl SourceLanguage {
    /// The language of a file by the ending of its name; nothing for other files and for TypeScript declarations
    /// (`.d.ts`), which hold no code.
    pub(crate) fn from_path(path: &str) -> Option<Self> {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let (stem, ending) = name.rsplit_once('.')?;
        match ending {
            "js" | "mjs" | "cjs" | "jsx" => Some(Self::JavaScript),
            "ts" | "mts" | "cts" if stem.ends_with(".d") => None,
            "ts" | "mts" | "cts" | "tsx" => Some(Self::TypeScript),
            "py" | "pyi" => Some(Self::Python),
            "go" => Some(Self::Go),
            "lua" => Some(Self::Lua),
            "rs" => Some(Self::Rust),
            "java" => Some(Self::Java),
            _ => None,
        }
    }
}

/// Why a source text has no measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MeasureError {
    /// The text is longer than [`SOURCE_BYTES_MAX`].
    #[error("the file is larger than {} MiB", SOURCE_BYTES_MAX / 1024 / 1024)]
    TooLong,
    /// The text has more functions than [`SOURCE_FUNCTIONS_MAX`].
    #[error("the file has more than {SOURCE_FUNCTIONS_MAX} functions")]
    TooManyFunctions,
    /// The files of an index have more tokens than [`duplication::INDEX_TOKENS_MAX`].
    #[error("the tree has more than {} million tokens", duplication::INDEX_TOKENS_MAX / 1_000_000)]
    IndexFull,
    /// Brackets, blocks or expressions are nested too deeply.
    #[error("the code is nested too deeply")]
    TooDeep,
}
