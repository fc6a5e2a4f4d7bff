//! The instructions for agents without hooks, in the file that they read.

use std::path::{Path, PathBuf};

use crate::advice::block;
use crate::base::file::read_start;
use crate::base::limits::CONFIG_FILE_BYTES_MAX;

/// What the block says.
pub(super) const TEXT: &str = include_str!("../../../hooks/agent/instructions.md");

/// Read by Claude Code; where there is one, it reads no `AGENTS.md`.
const CLAUDE: [&str; 2] = ["CLAUDE.md", ".claude/CLAUDE.md"];
/// Read by the others, and by Claude Code where there is no `CLAUDE.md`.
const AGENTS: &str = "AGENTS.md";

/// The file for the instructions, relative; it need not be there. There is one: agents with hooks get them from the
/// hooks.
///
/// A `CLAUDE.md` is never made: beside it an `AGENTS.md` would not be read any more.
pub(super) fn file(root: &Path) -> PathBuf {
    let is_file = |name: &str| root.join(name).is_file();
    let told = CLAUDE.into_iter().chain([AGENTS]).find(|name| block::has_instructions(&text(&root.join(name))));
    let claude = CLAUDE.into_iter().find(|name| is_file(name));
    PathBuf::from(told.or(claude.filter(|_| !is_file(AGENTS))).unwrap_or(AGENTS))
}

fn text(path: &Path) -> String {
    String::from_utf8_lossy(&read_start(path, CONFIG_FILE_BYTES_MAX).unwrap_or_default()).into_owned()
}

/// The file that keeps Claude Code from reading the instructions, if one does.
pub fn displacing(root: &Path) -> Option<PathBuf> {
    let claude = CLAUDE.into_iter().map(|name| root.join(name)).find(|path| path.is_file())?;
    let imports = text(&claude).lines().any(|line| matches!(line.trim(), "@AGENTS.md" | "@./AGENTS.md"));
    (root.join(AGENTS).is_file() && !imports).then_some(claude)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_file_is_the_one_that_is_read() {
        let dir = tempfile::tempdir().expect("a folder");
        let top = dir.path();
        assert_eq!(file(top), Path::new("AGENTS.md"), "none is there");
        fs::create_dir(top.join(".claude")).expect("a folder");
        fs::write(top.join(".claude/CLAUDE.md"), "").expect("written");
        assert_eq!(file(top), Path::new(".claude/CLAUDE.md"));
        fs::write(top.join("CLAUDE.md"), "").expect("written");
        assert_eq!((file(top), displacing(top)), (PathBuf::from("CLAUDE.md"), None));
        fs::write(top.join("AGENTS.md"), "").expect("written");
        assert_eq!((file(top), displacing(top)), (PathBuf::from("AGENTS.md"), Some(top.join("CLAUDE.md"))));
        fs::write(top.join("CLAUDE.md"), "# Rules\n@AGENTS.md\n").expect("written");
        assert_eq!((file(top), displacing(top)), (PathBuf::from("AGENTS.md"), None));
        let told = block::with_instructions("", TEXT).expect("there are none");
        fs::write(top.join("CLAUDE.md"), told).expect("written");
        assert_eq!(file(top), Path::new("CLAUDE.md"), "they are there already");
    }
}
