//! The file that a line goes into: the nearest one that agents read with the files concerned.

use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, ensure};

use crate::advice::promotion::common_folder;
use crate::base::file::read_start;
use crate::config::Places;
use crate::ops::request::Request;
use crate::retrieval::promotions::PromotionItem;

/// A file of instructions, bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Read by Claude Code; where there is one, it reads no `AGENTS.md`.
const CLAUDE: &str = "CLAUDE.md";
/// Read by the others, and by Claude Code where there is no `CLAUDE.md`.
const AGENTS: &str = "AGENTS.md";
/// Its files are read by Claude Code with the files that they name (`paths:`).
const RULES: &str = ".claude/rules";
/// Files that a rule names when no pattern fits them.
const RULE_FILES_MAX: usize = 5;

/// Where a person wants it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TargetOptions {
    /// In this file, relative to the root.
    pub target: Option<PathBuf>,
    /// In a file of `.claude/rules` of its own.
    pub rules: bool,
}

/// The file, relative to the root; it need not be there.
///
/// # Errors
/// When the file that was asked for is none that may be written.
pub(super) fn find_target(request: &Request, wanted: &TargetOptions, item: &PromotionItem) -> anyhow::Result<PathBuf> {
    let rule = || Path::new(RULES).join(format!("verify-run-{}.md", item.id));
    if wanted.rules {
        return Ok(rule());
    }
    if let Some(target) = wanted.target.as_ref().or(request
        .settings()
        .promotion
        .target
        .as_ref()
        .filter(|_| !request.settings().promotion.rules))
    {
        let is_plain = target.components().all(|part| matches!(part, Component::Normal(name) if name != ".git"));
        let is_markdown = target.extension().is_some_and(|kind| kind == "md" || kind == "mdc");
        ensure!(is_plain && is_markdown, "{} is not a Markdown file inside the project", target.display());
        return Ok(target.clone());
    }
    if request.settings().promotion.rules {
        return Ok(rule());
    }
    let inside = |path: &str| Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    let files: Vec<_> = item.files.iter().filter(|(path, _)| inside(path)).cloned().collect();
    Ok(nearest_target(&request.places.root, &common_folder(&files, request.settings().promotion.coverage)))
}

/// From the folder up the first that has such a file; else `AGENTS.md` at the top. A `CLAUDE.md` is never made: beside it
/// an `AGENTS.md` would not be read any more.
fn nearest_target(root: &Path, folder: &str) -> PathBuf {
    let is_file = |path: &Path| fs::metadata(root.join(path)).is_ok_and(|metadata| metadata.is_file());
    for folder in Path::new(folder).ancestors() {
        let (claude, agents) = (folder.join(CLAUDE), folder.join(AGENTS));
        if is_file(&claude) && !(is_file(&agents) && imports_agents(&root.join(&claude))) {
            return claude;
        }
        if is_file(&agents) {
            return agents;
        }
    }
    let hidden = Path::new(".claude").join(CLAUDE);
    if is_file(&hidden) { hidden } else { PathBuf::from(AGENTS) }
}

/// Whether a `CLAUDE.md` has the `AGENTS.md` beside it read with it: then one place is enough for all.
fn imports_agents(claude: &Path) -> bool {
    let text = read_text(claude).ok().flatten().unwrap_or_default();
    text.lines().any(|line| matches!(line.trim(), "@AGENTS.md" | "@./AGENTS.md"))
}

/// What a new file of `.claude/rules` starts with; nothing of another file.
pub(super) fn rule_file_head(target: &Path, item: &PromotionItem) -> String {
    if !target.starts_with(RULES) {
        return String::new();
    }
    let files = item.files.iter().take(RULE_FILES_MAX).map(|(path, _)| path);
    let paths: Vec<&String> = item.glob.as_ref().map_or_else(|| files.collect(), |glob| vec![glob]);
    if paths.is_empty() {
        return String::new();
    }
    // A JSON string is a YAML string, too.
    let lines: String = paths.iter().map(|path| format!("  - {}\n", yaml_string(path))).collect();
    format!("---\npaths:\n{lines}---\n")
}

fn yaml_string(path: &str) -> String {
    serde_json::to_string(&crate::base::text::one_line(path)).unwrap_or_default()
}

/// Where the file really is: behind a link, but never outside of the project.
pub(super) fn resolve_target(places: &Places, target: &Path) -> anyhow::Result<PathBuf> {
    let path = places.root.join(target);
    let link = fs::symlink_metadata(&path).is_ok();
    let real =
        if link { path.canonicalize().with_context(|| format!("cannot follow {}", path.display()))? } else { path };
    crate::ops::library::ensure_inside_root(&places.root, &real)
        .with_context(|| format!("cannot write {}", places.root.join(target).display()))?;
    let git = places.repository.as_ref().map(|_| places.root.join(".git"));
    ensure!(git.is_none_or(|git| !real.starts_with(git)), "{} leads into .git", target.display());
    Ok(real)
}

/// The text of a file; `None` when there is none.
///
/// # Errors
/// When it is no text, or too long.
pub(super) fn read_text(path: &Path) -> anyhow::Result<Option<String>> {
    let bytes = match read_start(path, FILE_BYTES_MAX + 1) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    ensure!(bytes.len() as u64 <= FILE_BYTES_MAX, "{} is larger than {FILE_BYTES_MAX} bytes", path.display());
    let text = String::from_utf8(bytes).ok();
    text.map(Some).with_context(|| format!("{} is not UTF-8", path.display()))
}
