//! What has to be written so that agents call us.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Agent, ConfigPart, ConfigPiece, HookWishes, McpServerEntry, checks, instructions};
use crate::advice::block::{self, BlockError};
use crate::base::file::read_start;
use crate::base::limits::CONFIG_FILE_BYTES_MAX;
use crate::config::Problem;
use crate::host::change::{ConfigFileChange, InstallScope, InstallSite};
use crate::host::document::json::{self, JsonEntry};
use crate::host::document::toml::TomlTable;
use crate::host::document::yaml::YamlKeys;
use crate::host::document::{EditError, WrittenDocument, toml, yaml};
use crate::host::file::{self, EditableFile, quoted};

/// What a file that tells where an entry comes from says.
const COMMENT: &str = "Added by `verify-run init`; `verify-run hook uninstall` removes it.";
/// The name under which instructions are a host.
const EVERYBODY: &str = "instructions";
/// A hook of Cline's, with `EVENT` in the place of the moment.
const SCRIPT: &str = include_str!("../../../hooks/agent/cline/hook.sh");

/// What to set up.
pub struct AgentPlanOptions<'a> {
    /// For these agents.
    pub agents: &'a [&'static Agent],
    /// In whose settings.
    pub scope: InstallScope,
    /// The MCP server, too.
    pub servers: bool,
    /// The instructions for everybody else, too.
    pub instructions: bool,
    /// What the user wants of hooks.
    pub wishes: HookWishes,
    /// Commands that may run without asking, as checks.
    pub allow: &'a [String],
}

/// The texts of a file around the last time that we wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenTexts {
    /// What was in it before us; empty where there was no file.
    pub before: String,
    /// What we made of it.
    pub after: String,
}

impl WrittenTexts {
    /// As editing a document takes them.
    pub fn borrowed(&self) -> WrittenDocument<'_> {
        WrittenDocument { before: &self.before, after: &self.after }
    }
}

/// Finds the texts of a file by its path.
pub type WrittenTextLookup<'a> = &'a dyn Fn(&Path) -> Option<WrittenTexts>;

/// A file to write, and for whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFileEdit {
    /// Names of agents; `instructions` for those without a name.
    pub hosts: Vec<&'static str>,
    /// What is written.
    pub change: ConfigFileChange,
    /// It is as it should be: there is nothing to write.
    pub is_done: bool,
    /// What would be written if there was no such file.
    pub alone: String,
    /// Its entries are as an earlier version wrote them.
    pub is_outdated: bool,
}

/// What has to be written for agents.
#[derive(Debug, Default)]
pub struct AgentPlan {
    /// Every file that is ours to write, also those that are as they should be.
    pub edits: Vec<AgentFileEdit>,
    /// Files that are left alone.
    pub problems: Vec<Problem>,
    /// What else there is to say.
    pub notes: Vec<String>,
}

/// The content to write into a file.
enum PlannedContent {
    Json(Vec<JsonEntry>),
    Toml(TomlTable),
    Yaml(YamlKeys),
    Whole { text: String, executable: bool },
    Lines(Vec<String>),
    Block,
}

/// A file's text and the content to write into it.
#[derive(Default)]
struct FilledText {
    text: String,
    /// A part of it was as an earlier version wrote it.
    is_outdated: bool,
}

/// A file and the content to write into it.
struct HostFile {
    hosts: Vec<&'static str>,
    whys: Vec<String>,
    content: PlannedContent,
}

/// What has to be written at this site.
pub fn plan(site: &InstallSite, wanted: &AgentPlanOptions<'_>, writings: WrittenTextLookup<'_>) -> AgentPlan {
    let mut plan = AgentPlan::default();
    let top = match (&site.home, wanted.scope) {
        (Some(home), InstallScope::User) => home.as_path(),
        (None, InstallScope::User) => return plan,
        (_, InstallScope::Project | InstallScope::Local) => site.root.as_path(),
    };
    let mut sheets = BTreeMap::new();
    for agent in wanted.agents {
        for piece in agent.pieces(wanted.scope) {
            if wanted.servers || !matches!(piece.what, ConfigPart::Server(_)) {
                put(&mut sheets, top, site, agent, piece, wanted);
            }
        }
        allow(&mut sheets, agent, wanted);
    }
    if wanted.instructions && wanted.scope == InstallScope::Project {
        let sheet = HostFile {
            hosts: vec![EVERYBODY],
            whys: vec!["instructions for agents".into()],
            content: PlannedContent::Block,
        };
        sheets.insert(instructions::file(&site.root), sheet);
    }
    for (relative, sheet) in sheets {
        let found = match file::editable(top, &relative) {
            Ok(found) => found,
            Err(problem) => {
                plan.problems.push(problem);
                continue;
            }
        };
        let writing = writings(&found.path);
        let written = writing.as_ref().map(WrittenTexts::borrowed);
        match sheet.content.fill(&found, written, &mut plan.notes) {
            Err(problem) => plan.problems.push(problem),
            Ok(filled) => {
                let nothing = EditableFile { path: found.path.clone(), text: None };
                let alone = sheet.content.fill(&nothing, None, &mut Vec::new()).unwrap_or_default().text;
                plan.edits.push(sheet.edit(found, filled, alone));
            }
        }
    }
    plan
}

fn put(
    sheets: &mut BTreeMap<PathBuf, HostFile>,
    top: &Path,
    site: &InstallSite,
    agent: &'static Agent,
    piece: &ConfigPiece,
    wanted: &AgentPlanOptions<'_>,
) {
    let program = site.program.as_str();
    let there = piece.paths.iter().find(|path| top.join(path).symlink_metadata().is_ok());
    let Some(path) = there.or(piece.paths.first()) else { return };
    let (why, content) = match &piece.what {
        ConfigPart::Hooks(form) => {
            // Whoever wanted that once wants it still.
            let wished = read_start(&top.join(path), CONFIG_FILE_BYTES_MAX).unwrap_or_default();
            let has = |words: &str| memchr::memmem::find(&wished, words.as_bytes()).is_some();
            let rewrite = wanted.wishes.rewrite || has(" pre-tool --rewrite");
            let stop = wanted.wishes.stop || has(&format!(" hook {} stop", agent.name));
            ("hooks", PlannedContent::Json(form.entries(agent.name, program, HookWishes { rewrite, stop })))
        }
        ConfigPart::Server(McpServerEntry::Toml) => ("MCP server", PlannedContent::Toml(table(program))),
        ConfigPart::Server(server) => ("MCP server", PlannedContent::Json(vec![server.entry(program)])),
        ConfigPart::Script(moment) => {
            let text = SCRIPT.replace("EVENT", moment);
            ("a hook", PlannedContent::Whole { text, executable: true })
        }
        ConfigPart::Plugin(text) => ("a plugin", PlannedContent::Whole { text: (*text).to_owned(), executable: false }),
        ConfigPart::Checks => {
            let keys = checks::keys(top, program, COMMENT);
            if keys.keys.is_empty() {
                return;
            }
            ("its own checks, with verify-run in front", PlannedContent::Yaml(keys))
        }
    };
    add(sheets, PathBuf::from(path), agent.name, format!("{}: {why}", agent.title), content);
}

fn add(
    sheets: &mut BTreeMap<PathBuf, HostFile>,
    path: PathBuf,
    host: &'static str,
    why: String,
    content: PlannedContent,
) {
    let sheet = sheets.entry(path).or_insert_with(|| HostFile {
        hosts: Vec::new(),
        whys: Vec::new(),
        content: match &content {
            PlannedContent::Lines(_) => PlannedContent::Lines(Vec::new()),
            _ => PlannedContent::Json(Vec::new()),
        },
    });
    if !sheet.hosts.contains(&host) {
        sheet.hosts.push(host);
    }
    sheet.whys.push(why);
    match (&mut sheet.content, content) {
        (PlannedContent::Json(entries), PlannedContent::Json(more)) => {
            entries.extend(more.into_iter().filter(|entry| !entries.contains(entry)).collect::<Vec<_>>());
        }
        (PlannedContent::Lines(lines), PlannedContent::Lines(more)) => lines.extend(more),
        (place, other) => *place = other,
    }
}

/// Rules that let these commands run unasked, as checks and nothing else.
fn allow(sheets: &mut BTreeMap<PathBuf, HostFile>, agent: &'static Agent, wanted: &AgentPlanOptions<'_>) {
    let commands = wanted.allow;
    if commands.is_empty() {
        return;
    }
    let line = |command: &String| format!("verify-run --only-checks -- {command}");
    let why = format!("{}: {} may run without asking", agent.title, commands.join(", "));
    if agent.name == "claude" {
        let rule = |command| JsonEntry::Element {
            path: vec!["permissions", "allow"],
            value: json!(format!("Bash({})", line(command))),
            earlier: Vec::new(),
        };
        let entries = commands.iter().map(rule).collect();
        let local = wanted.scope == InstallScope::Local;
        let file = if local { ".claude/settings.local.json" } else { ".claude/settings.json" };
        add(sheets, file.into(), agent.name, why, PlannedContent::Json(entries));
    } else if agent.name == "codex" {
        let rule = |command| {
            let words = shell_words::split(&line(command)).unwrap_or_default();
            let (pattern, example) = (json!(words), json!(line(command)));
            format!("prefix_rule(pattern={pattern}, decision=\"allow\", justification=\"a check\", match=[{example}])")
        };
        let rules = commands.iter().map(rule).collect();
        add(sheets, ".codex/rules/verify-run.rules".into(), agent.name, why, PlannedContent::Lines(rules));
    }
}

fn table(program: &str) -> TomlTable {
    TomlTable {
        path: vec!["mcp_servers", "verify-run"],
        lines: format!("command = {}\nargs = [\"mcp\"]\n", Value::from(program)),
        comment: COMMENT.to_owned(),
    }
}

impl McpServerEntry {
    fn entry(self, program: &str) -> JsonEntry {
        let (path, value) = match self {
            McpServerEntry::Plain | McpServerEntry::Toml => {
                ("mcpServers", json!({"command": program, "args": ["mcp"]}))
            }
            McpServerEntry::VsCode => ("servers", json!({"type": "stdio", "command": program, "args": ["mcp"]})),
            McpServerEntry::Crush => ("mcp", json!({"type": "stdio", "command": program, "args": ["mcp"]})),
            McpServerEntry::OpenCode => ("mcp", json!({"type": "local", "command": [program, "mcp"], "enabled": true})),
            McpServerEntry::Copilot => {
                ("mcpServers", json!({"type": "local", "command": program, "args": ["mcp"], "tools": ["*"]}))
            }
        };
        JsonEntry::Member { path: vec![path], key: "verify-run", value }
    }
}

impl PlannedContent {
    /// The file's text with this in it.
    fn fill(
        &self,
        found: &EditableFile,
        written: Option<WrittenDocument<'_>>,
        notes: &mut Vec<String>,
    ) -> Result<FilledText, Problem> {
        let text = found.text.as_deref().unwrap_or_default();
        let troubled = |trouble: EditError| file::troubled(&found.path, trouble);
        let mut is_outdated = false;
        let text = match self {
            PlannedContent::Json(entries) => {
                let added = json::add(text, entries, written).map_err(troubled)?;
                let path = found.path.display();
                notes.extend(added.kept.iter().map(|name| format!("{path}: `{name}` is yours and stays as it is")));
                is_outdated = added.upgraded > 0;
                added.text
            }
            PlannedContent::Toml(table) => toml::add(text, table).map_err(troubled)?.unwrap_or_else(|| text.to_owned()),
            PlannedContent::Yaml(keys) => yaml::add(text, keys).map_err(troubled)?.unwrap_or_else(|| text.to_owned()),
            PlannedContent::Lines(lines) => {
                let missing = lines.iter().filter(|line| text.lines().all(|there| there != line.as_str()));
                let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
                missing.fold(format!("{text}{gap}"), |text, line| format!("{text}{line}\n"))
            }
            PlannedContent::Whole { text: whole, .. } => {
                let is_ours = found.text.is_none() || text == whole || written.is_some_and(|it| it.after == text);
                if !is_ours {
                    let path = quoted(&found.path);
                    let reason = "left alone: another file has this name".to_owned();
                    let hint = format!("mv {path} {path}.mine && verify-run init");
                    let (file, line) = (found.path.clone(), None);
                    return Err(Problem { file, line, reason, hint, used: false, warning: true });
                }
                whole.clone()
            }
            PlannedContent::Block => {
                block::with_instructions(text, instructions::TEXT).map_err(|error| troubled(of(&error)))?
            }
        };
        Ok(FilledText { text, is_outdated })
    }
}

/// The value of an entry.
pub(super) fn value(entry: &JsonEntry) -> &Value {
    match entry {
        JsonEntry::Member { value, .. } | JsonEntry::Element { value, .. } => value,
    }
}

/// What is wrong with the marks of a block.
pub fn of(error: &BlockError) -> EditError {
    let (line, reason) = match error {
        BlockError::Edited { line } => (Some(*line), "the lines between verify-run's marks were edited".to_owned()),
        BlockError::Broken { line, what } => (Some(*line), (*what).to_owned()),
        BlockError::Full { .. } => (None, error.to_string()),
    };
    EditError { line, reason, by_hand: true }
}

impl HostFile {
    fn edit(self, found: EditableFile, filled: FilledText, alone: String) -> AgentFileEdit {
        let executable = matches!(self.content, PlannedContent::Whole { executable: true, .. });
        let FilledText { text: after, is_outdated } = filled;
        let is_done = found.text.as_ref() == Some(&after);
        let change = ConfigFileChange {
            path: found.path,
            why: self.whys.join("; "),
            before: found.text.map(String::into_bytes),
            after: after.into_bytes(),
            executable,
        };
        AgentFileEdit { hosts: self.hosts, change, is_done, alone, is_outdated }
    }
}
