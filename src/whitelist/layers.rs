//! The layers of the whitelist: shipped, user, repository.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::arguments;
use super::encode::{self, VERSIONED};
use super::layer::{Fault, Layer};
use super::program::without_version;
use super::recognise::Search;
use super::table::{Rule, Scripts, Table};
use super::trail::Trail;
use super::{Check, CheckKind, Decision, ExitMeaning};
use crate::base::bytes;
use crate::base::file::read_start;
use crate::base::limits::CONFIG_FILE_BYTES_MAX;
use crate::config::{Environment, Places, Problem};

/// The file's name, in the user's folder and at a repository's root.
const FILE: &str = "whitelist.toml";

/// The whitelist in force.
#[derive(Debug)]
pub struct Whitelist {
    /// The repository's layer, then the user's: the first one that has a say decides.
    upper: Vec<FileLayer>,
    shipped: Table,
    /// The project's top, where it matters which files are its own.
    root: Option<PathBuf>,
}

/// A layer from a file. It is parsed when a command comes that it may have a say in.
#[derive(Debug)]
struct FileLayer {
    file: PathBuf,
    text: Vec<u8>,
    /// A string in it may be written in another way than between two quotes.
    other_strings: bool,
    table: OnceCell<Option<Table>>,
}

/// A rule as `whitelist list` shows it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ListedRule {
    /// The tool's name.
    pub tool: String,
    /// Its kind.
    pub kind: CheckKind,
    /// The language it is for.
    pub language: String,
    /// The programs it is called by.
    pub programs: Vec<String>,
    /// `shipped`, or the file.
    pub layer: String,
    /// Where its exit codes come from; empty if the output has to tell what a code means.
    pub exit_codes: String,
}

impl Whitelist {
    /// The shipped layer alone.
    pub fn shipped() -> Self {
        Whitelist { upper: Vec::new(), shipped: Table::shipped(), root: None }
    }

    /// All layers for a place, for the run path: the user's and the repository's files are parsed only when a
    /// command comes that they may have a say in, so what is wrong with them is not known. See [`Whitelist::load`].
    pub fn open(places: &Places, environment: &Environment) -> Self {
        let files = Self::files(places, environment);
        Whitelist {
            upper: files.into_iter().filter_map(|file| read(&file).ok().flatten()).collect(),
            ..Self::shipped()
        }
    }

    /// As [`Whitelist::open`], with every layer parsed and everything that is wrong with them.
    pub fn load(places: &Places, environment: &Environment) -> (Self, Vec<Problem>) {
        let mut problems = Vec::new();
        let mut upper = Vec::new();
        for file in Self::files(places, environment) {
            match read(&file) {
                Ok(None) => {}
                Ok(Some(layer)) => {
                    problems.extend(layer.problems());
                    upper.push(layer);
                }
                Err(reason) => problems.push(problem(&file, Fault { line: None, reason, fatal: true })),
            }
        }
        let whitelist = Whitelist { upper, ..Self::shipped() };
        problems.extend(whitelist.idle_removals());
        (whitelist, problems)
    }

    /// Where the layers above the shipped one are looked for; the strongest first.
    pub fn files(places: &Places, environment: &Environment) -> Vec<PathBuf> {
        let user = environment.config_dir().map(|dir| dir.join(FILE));
        std::iter::once(places.root.join(FILE)).chain(user).collect()
    }

    /// Whether `argv` is a check.
    pub fn decide(&self, argv: &[OsString]) -> Decision {
        let words: Vec<&[u8]> = argv.iter().map(|word| word.as_bytes()).collect();
        let mut search = Search::new(self);
        match search.command(&words, &Trail::default()) {
            Some(check) => Decision::Check(Check { alone: !search.beside && !check.elsewhere, ..check }),
            None => Decision::NotACheck { why: search.reason.to_string() },
        }
    }

    /// Whether `argv` is a check by the user's and the shipped rules, and brings nothing along that is run: what
    /// `--only-checks` asks for besides [`Check::alone`]. Rules of the repository don't count: whoever wrote them would
    /// decide what may run here.
    ///
    /// # Errors
    /// Why not, for people.
    pub fn confine(&self, argv: &[&[u8]], root: &Path) -> Result<(), String> {
        let theirs = root.join(FILE);
        let upper = self.upper.iter().filter(|layer| layer.file != theirs).map(|layer| FileLayer {
            file: layer.file.clone(),
            text: layer.text.clone(),
            other_strings: layer.other_strings,
            table: OnceCell::new(),
        });
        let trusted = Whitelist { upper: upper.collect(), root: Some(root.to_owned()), ..Self::shipped() };
        let mut search = Search::strict(&trusted);
        if search.command(argv, &Trail::default()).is_none() {
            return Err(format!("without the project's own {FILE}, {}", search.reason));
        }
        let run = |argument| format!("`{argument}` may run or write what is not the project's");
        search.foreign.map_or(Ok(()), |argument| Err(run(argument)))
    }

    /// The project's top; see [`Whitelist::confine`].
    pub(super) fn root(&self) -> Option<&[u8]> {
        self.root.as_ref().map(|root| root.as_os_str().as_bytes())
    }

    /// Whether a shell line has a check in it; the first one names it.
    pub fn decide_line(&self, line: &str) -> Decision {
        let mut search = Search::new(self);
        match search.line(line, &Trail::default()) {
            Some(check) => Decision::Check(check),
            None => Decision::NotACheck { why: search.reason.to_string() },
        }
    }

    /// Every name of a program that some rule in force has, sorted; those that are known by a path are left out.
    pub fn program_names(&self) -> BTreeSet<String> {
        let names = self.tables().flat_map(|(_, _, table)| table.program_names());
        let known = names.filter(|name| self.knows(name));
        known.filter_map(|name| Some(std::str::from_utf8(name).ok()?.to_owned())).collect()
    }

    /// Whether some rule in force names this program.
    pub fn names_program(&self, name: &OsStr) -> bool {
        self.knows(name.as_bytes())
    }

    /// What a non-zero exit code of `tool` means; [`ExitMeaning::Mixed`] for everything that was not measured.
    pub fn exit_meaning(&self, tool: &str, code: u8) -> ExitMeaning {
        let measured = self.tool(tool).and_then(|(_, rule)| rule.exit(code));
        measured.unwrap_or(if matches!(code, 126 | 127) { ExitMeaning::DidNotRun } else { ExitMeaning::Mixed })
    }

    /// The kind of a tool, by its name.
    pub fn kind(&self, tool: &str) -> Option<CheckKind> {
        self.tool(tool).map(|(_, rule)| rule.kind)
    }

    /// Every tool in force, in the files' order, the strongest layer first.
    pub fn list(&self) -> Vec<ListedRule> {
        let mut listed = Vec::new();
        for (place, layer, table) in self.tables() {
            for rule in table.rules() {
                if let Rule::Tool(tool) = rule
                    && !self.hidden(tool.name, place)
                {
                    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                    listed.push(ListedRule {
                        tool: tool.name.to_owned(),
                        kind: tool.kind,
                        language: tool.language.to_owned(),
                        programs: tool.bins.chain(tool.paths).map(text).collect(),
                        layer: layer.map_or_else(|| "shipped".to_owned(), |file| file.display().to_string()),
                        exit_codes: if tool.has_exit_codes() { tool.evidence.to_owned() } else { String::new() },
                    });
                }
            }
        }
        listed
    }

    fn tool(&self, name: &str) -> Option<(usize, super::table::Tool<'_>)> {
        self.tables().find_map(|(place, _, table)| {
            let tool = table.rules().find_map(|rule| match rule {
                Rule::Tool(tool) if tool.name == name => Some(tool),
                _ => None,
            })?;
            (!self.hidden(name, place)).then_some((place, tool))
        })
    }

    /// The layers, the strongest first, with their places.
    fn tables(&self) -> impl Iterator<Item = (usize, Option<&Path>, &Table)> {
        let upper = self.upper.iter().enumerate();
        upper
            .filter_map(|(place, layer)| Some((place, Some(layer.file.as_path()), layer.table()?)))
            .chain(std::iter::once((self.upper.len(), None, &self.shipped)))
    }

    /// Whether a stronger layer than the one at `place` replaces or removes the rule.
    fn hidden(&self, name: &str, place: usize) -> bool {
        self.upper[..place.min(self.upper.len())].iter().any(|layer| {
            layer.may_name(name.as_bytes())
                && layer.table().is_some_and(|table| {
                    table.removed().has(name.as_bytes()) || table.rules().any(|rule| rule.name() == name)
                })
        })
    }

    /// The rules for a program, the strongest first. If none names it, those for its name without a version.
    pub(super) fn programs(&self, base: &[u8], path: &[u8]) -> Vec<Rule<'_>> {
        let rules = self.rules(base, |table| table.programs(base, path));
        if !rules.is_empty() {
            return rules;
        }
        let Some(stem) = without_version(base) else { return rules };
        let mut rules = self.rules(stem, |table| table.programs(stem, path));
        rules.retain(|rule| rule.flags() & VERSIONED != 0);
        rules
    }

    /// The rules for `python -m module`.
    pub(super) fn modules(&self, module: &[u8]) -> Vec<Rule<'_>> {
        self.rules(module, |table| table.modules(module))
    }

    fn rules<'a>(&'a self, name: &[u8], find: impl Fn(&'a Table) -> Vec<Rule<'a>>) -> Vec<Rule<'a>> {
        let mut rules = Vec::new();
        for (place, layer) in self.upper.iter().enumerate() {
            if layer.may_name(name)
                && let Some(table) = layer.table()
            {
                rules.extend(find(table).into_iter().filter(|rule| !self.hidden(rule.name(), place)));
            }
        }
        rules.extend(find(&self.shipped).into_iter().filter(|rule| !self.hidden(rule.name(), self.upper.len())));
        rules
    }

    /// Whether any rule names the program.
    pub(super) fn knows(&self, base: &[u8]) -> bool {
        !self.programs(base, base).is_empty()
    }

    /// The program of a package.
    pub(super) fn package(&self, package: &[u8]) -> Option<&[u8]> {
        let upper = self.upper.iter().filter(|layer| layer.has(b"packages")).filter_map(FileLayer::table);
        upper.chain(std::iter::once(&self.shipped)).find_map(|table| table.package(package))
    }

    /// The words of script names of every layer.
    pub(super) fn scripts(&self) -> Vec<Scripts<'_>> {
        let upper = self.upper.iter().filter(|layer| layer.has(b"scripts")).filter_map(FileLayer::table);
        upper.chain(std::iter::once(&self.shipped)).map(Table::scripts).collect()
    }

    /// The argument that makes any call no check.
    pub(super) fn denied_everywhere<'a>(&self, arguments: &[&'a [u8]]) -> Option<&'a [u8]> {
        let upper = self.upper.iter().filter(|layer| layer.has(b"every")).filter_map(FileLayer::table);
        for table in upper.chain(std::iter::once(&self.shipped)) {
            let (deny, deny_alone) = table.every();
            let alone = if let [alone] = arguments { Some(alone) } else { None };
            let found = arguments.iter().find(|argument| arguments::matched(argument, deny).is_some());
            if let Some(argument) = found.or(alone.filter(|alone| deny_alone.has(alone))) {
                return Some(argument);
            }
        }
        None
    }

    /// Names in `remove` that no lower layer has.
    fn idle_removals(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (place, layer) in self.upper.iter().enumerate() {
            let Some(table) = layer.table() else { continue };
            for name in table.removed() {
                let name = String::from_utf8_lossy(name).into_owned();
                let lower = self.tables().filter(|(lower, ..)| *lower > place);
                if !lower.into_iter().any(|(_, _, table)| table.rules().any(|rule| rule.name() == name)) {
                    let reason = format!("`remove` names `{name}`, which no rule below this file is called");
                    problems.push(problem(&layer.file, Fault { line: layer.line_with(&name), reason, fatal: false }));
                }
            }
        }
        problems
    }
}

impl FileLayer {
    fn table(&self) -> Option<&Table> {
        self.table.get_or_init(|| self.compile().ok().flatten()).as_ref()
    }

    fn compile(&self) -> Result<Option<Table>, Fault> {
        let fault = |reason: String| Fault { line: None, reason, fatal: true };
        let text = std::str::from_utf8(&self.text).map_err(|error| {
            let line = 1 + self.text[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
            Fault { line: Some(line), reason: "is not UTF-8".to_owned(), fatal: true }
        })?;
        let Some(layer) = Layer::parse(text)? else { return Ok(None) };
        encode::encode(&layer).map(|bytes| Some(Table::new(bytes))).map_err(fault)
    }

    fn problems(&self) -> Vec<Problem> {
        let faults = match self.compile() {
            Err(fault) => vec![fault],
            Ok(_) => match std::str::from_utf8(&self.text).map(|text| (Layer::parse(text), text)) {
                Ok((Ok(Some(layer)), text)) => layer.faults(text),
                _ => Vec::new(),
            },
        };
        faults.into_iter().map(|fault| problem(&self.file, fault)).collect()
    }

    /// Whether the file may have a rule or program of this name: a string in TOML stands between quotes, and only
    /// a script's folders may come before a program's name in it. Where strings may be written otherwise (escapes,
    /// several lines), the answer is yes.
    fn may_name(&self, name: &[u8]) -> bool {
        let is_quoted = |at: usize| {
            let before = at.checked_sub(1).and_then(|at| self.text.get(at));
            let after = self.text.get(at + name.len());
            matches!(before, Some(b'"' | b'\'' | b'/')) && matches!(after, Some(b'"' | b'\''))
        };
        self.other_strings || bytes::find_all(&self.text, name).any(is_quoted)
    }

    fn has(&self, text: &[u8]) -> bool {
        bytes::find(&self.text, text).is_some()
    }

    fn line_with(&self, text: &str) -> Option<usize> {
        let at = bytes::find(&self.text, text.as_bytes())?;
        Some(1 + self.text[..at].iter().filter(|byte| **byte == b'\n').count())
    }
}

/// Reads a file if it is a layer. The reason when there is one that can't be read.
fn read(file: &Path) -> Result<Option<FileLayer>, String> {
    let text = match read_start(file, CONFIG_FILE_BYTES_MAX + 1) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        read => read.map_err(|error| format!("cannot be read: {error}"))?,
    };
    if bytes::find(&text, b"verify_run_schema").is_none() {
        return Ok(None);
    }
    if text.len() as u64 > CONFIG_FILE_BYTES_MAX {
        return Err(format!("is larger than {CONFIG_FILE_BYTES_MAX} bytes"));
    }
    let other = [&b"\\"[..], b"\"\"\"", b"'''"];
    let other_strings = other.iter().any(|mark| bytes::find(&text, mark).is_some());
    Ok(Some(FileLayer { file: file.to_owned(), text, other_strings, table: OnceCell::new() }))
}

fn problem(file: &Path, fault: Fault) -> Problem {
    let next = "correct it, then type `verify-run whitelist check`";
    let hint = if fault.fatal { format!("the file is left out until then: {next}") } else { next.to_owned() };
    Problem { file: file.to_owned(), line: fault.line, reason: fault.reason, hint, used: !fault.fatal, warning: false }
}
