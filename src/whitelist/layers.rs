//! The layers of the whitelist: shipped, user, repository.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::arguments;
use super::encode::{self, VERSIONED};
use super::layer::{WhitelistError, WhitelistLayer};
use super::program::without_version;
use super::recognise::CheckSearch;
use super::resolution::Resolution;
use super::table::{CompiledLayer, ScriptNameRules, WhitelistRule};
use super::{Check, CheckDecision, CheckKind, ExitMeaning, command_key_parts};
use crate::base::bytes;
use crate::base::file::read_start;
use crate::base::limits::CONFIG_FILE_BYTES_MAX;
use crate::base::text::line_number;
use crate::config::{Environment, Places, Problem};

/// The file's name, in the user's folder and at a repository's root.
const FILE: &str = "whitelist.toml";

/// The whitelist in force.
#[derive(Debug)]
pub struct Whitelist {
    /// The repository's layer, then the user's: the first one that has a say decides.
    upper: Vec<WhitelistFile>,
    shipped: CompiledLayer,
    /// The project's top, where it matters which files are its own.
    root: Option<PathBuf>,
}

/// A layer from a file. It is parsed when a command comes that it may have a say in.
#[derive(Debug)]
struct WhitelistFile {
    file: PathBuf,
    text: Vec<u8>,
    /// A string in it may be written in another way than between two quotes.
    other_strings: bool,
    table: OnceCell<Option<CompiledLayer>>,
}

/// A rule as `whitelist list` shows it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    pub fn shipped_only() -> Self {
        Whitelist { upper: Vec::new(), shipped: CompiledLayer::from_shipped(), root: None }
    }

    /// All layers for a place, for the run path: the user's and the repository's files are parsed only when a
    /// command comes that they may have a say in, so what is wrong with them is not known. See [`Whitelist::load`].
    pub fn open(places: &Places, environment: &Environment) -> Self {
        let files = Self::layer_files(places, environment);
        Whitelist {
            upper: files.into_iter().filter_map(|file| read_whitelist_file(&file).ok().flatten()).collect(),
            ..Self::shipped_only()
        }
    }

    /// As [`Whitelist::open`], with every layer parsed and everything that is wrong with them.
    pub fn load(places: &Places, environment: &Environment) -> (Self, Vec<Problem>) {
        let mut problems = Vec::new();
        let mut upper = Vec::new();
        for file in Self::layer_files(places, environment) {
            match read_whitelist_file(&file) {
                Ok(None) => {}
                Ok(Some(layer)) => {
                    problems.extend(layer.find_problems());
                    upper.push(layer);
                }
                Err(reason) => {
                    problems.push(problem_from_error(&file, WhitelistError { line: None, reason, fatal: true }))
                }
            }
        }
        let whitelist = Whitelist { upper, ..Self::shipped_only() };
        problems.extend(whitelist.idle_removals());
        (whitelist, problems)
    }

    /// Where the layers above the shipped one are looked for; the strongest first.
    pub fn layer_files(places: &Places, environment: &Environment) -> Vec<PathBuf> {
        let user = environment.config_dir().map(|dir| dir.join(FILE));
        std::iter::once(places.root.join(FILE)).chain(user).collect()
    }

    /// Whether `argv` is a check.
    pub fn decide_command(&self, argv: &[OsString]) -> CheckDecision {
        let words: Vec<&[u8]> = argv.iter().map(|word| word.as_bytes()).collect();
        let mut search = CheckSearch::new(self);
        match search.find_in_command(&words, &Resolution::default()) {
            Some(check) => CheckDecision::Check(Check { alone: !search.beside && !check.elsewhere, ..check }),
            None => CheckDecision::NotACheck { why: search.reason.to_string() },
        }
    }

    /// Whether `argv` is a check by the user's and the shipped rules, and brings nothing along that is run: what
    /// `--only-checks` asks for besides [`Check::alone`]. Rules of the repository don't count: whoever wrote them would
    /// decide what may run here.
    ///
    /// # Errors
    /// Why not, for people.
    pub fn ensure_confined(&self, argv: &[&[u8]], root: &Path) -> Result<(), String> {
        let theirs = root.join(FILE);
        let upper = self.upper.iter().filter(|layer| layer.file != theirs).map(|layer| WhitelistFile {
            file: layer.file.clone(),
            text: layer.text.clone(),
            other_strings: layer.other_strings,
            table: OnceCell::new(),
        });
        let trusted = Whitelist { upper: upper.collect(), root: Some(root.to_owned()), ..Self::shipped_only() };
        let mut search = CheckSearch::new_strict(&trusted);
        if search.find_in_command(argv, &Resolution::default()).is_none() {
            return Err(format!("without the project's own {FILE}, {}", search.reason));
        }
        let run = |argument| format!("`{argument}` may run or write files outside the project");
        search.foreign.map_or(Ok(()), |argument| Err(run(argument)))
    }

    /// The project's top; see [`Whitelist::ensure_confined`].
    pub(super) fn project_root(&self) -> Option<&[u8]> {
        self.root.as_ref().map(|root| root.as_os_str().as_bytes())
    }

    /// Whether a shell line has a check in it; the first one names it.
    pub fn decide_line(&self, line: &str) -> CheckDecision {
        let mut search = CheckSearch::new(self);
        match search.find_in_line(line, &Resolution::default()) {
            Some(check) => CheckDecision::Check(check),
            None => CheckDecision::NotACheck { why: search.reason.to_string() },
        }
    }

    /// The tool class of the check that a command line in `cwd` names; `None` of one that is not a check.
    pub(crate) fn tool_class(&self, root: &Path, cwd: &Path, line: &str) -> Option<String> {
        let check = self.decide_line(line).into_check()?;
        let argv: Vec<OsString> = shell_words::split(line).ok()?.into_iter().map(Into::into).collect();
        Some(command_key_parts(root, cwd, Some(&check), &argv).subject)
    }

    /// Every name of a program that some rule in force has, sorted; those that are known by a path are left out.
    pub fn program_names(&self) -> BTreeSet<String> {
        let names = self.compiled_layers().flat_map(|(_, _, table)| table.program_names());
        let known = names.filter(|name| self.has_program_rule(name));
        known.filter_map(|name| Some(std::str::from_utf8(name).ok()?.to_owned())).collect()
    }

    /// Whether some rule in force names this program.
    pub fn names_program(&self, name: &OsStr) -> bool {
        self.has_program_rule(name.as_bytes())
    }

    /// What a non-zero exit code of `tool` means; [`ExitMeaning::Mixed`] for everything that was not measured.
    pub fn exit_meaning(&self, tool: &str, code: u8) -> ExitMeaning {
        let measured = self.find_tool(tool).and_then(|(_, rule)| rule.exit_meaning(code));
        measured.unwrap_or(if matches!(code, 126 | 127) { ExitMeaning::DidNotRun } else { ExitMeaning::Mixed })
    }

    /// The kind of a tool, by its name.
    pub fn tool_kind(&self, tool: &str) -> Option<CheckKind> {
        self.find_tool(tool).map(|(_, rule)| rule.kind)
    }

    /// Every tool in force, in the files' order, the strongest layer first.
    pub fn list_rules(&self) -> Vec<ListedRule> {
        let mut listed = Vec::new();
        for (place, layer, table) in self.compiled_layers() {
            for rule in table.all_rules() {
                if let WhitelistRule::Tool(tool) = rule
                    && !self.is_overridden(tool.name, place)
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

    fn find_tool(&self, name: &str) -> Option<(usize, super::table::ToolRule<'_>)> {
        self.compiled_layers().find_map(|(place, _, table)| {
            let tool = table.all_rules().find_map(|rule| match rule {
                WhitelistRule::Tool(tool) if tool.name == name => Some(tool),
                _ => None,
            })?;
            (!self.is_overridden(name, place)).then_some((place, tool))
        })
    }

    /// The layers, the strongest first, with their places.
    fn compiled_layers(&self) -> impl Iterator<Item = (usize, Option<&Path>, &CompiledLayer)> {
        let upper = self.upper.iter().enumerate();
        upper
            .filter_map(|(place, layer)| Some((place, Some(layer.file.as_path()), layer.compiled_layer()?)))
            .chain(std::iter::once((self.upper.len(), None, &self.shipped)))
    }

    /// Whether a stronger layer than the one at `place` replaces or removes the rule.
    fn is_overridden(&self, name: &str, place: usize) -> bool {
        self.upper[..place.min(self.upper.len())].iter().any(|layer| {
            layer.may_contain_name(name.as_bytes())
                && layer.compiled_layer().is_some_and(|table| {
                    table.removed_names().contains(name.as_bytes()) || table.all_rules().any(|rule| rule.name() == name)
                })
        })
    }

    /// The rules for a program, the strongest first. If none names it, those for its name without a version.
    pub(super) fn program_rules(&self, base: &[u8], path: &[u8]) -> Vec<WhitelistRule<'_>> {
        let rules = self.visible_rules(base, |table| table.program_rules(base, path));
        if !rules.is_empty() {
            return rules;
        }
        let Some(stem) = without_version(base) else { return rules };
        let mut rules = self.visible_rules(stem, |table| table.program_rules(stem, path));
        rules.retain(|rule| rule.flags() & VERSIONED != 0);
        rules
    }

    /// The rules for `python -m module`.
    pub(super) fn module_rules(&self, module: &[u8]) -> Vec<WhitelistRule<'_>> {
        self.visible_rules(module, |table| table.module_rules(module))
    }

    fn visible_rules<'a>(
        &'a self,
        name: &[u8],
        find: impl Fn(&'a CompiledLayer) -> Vec<WhitelistRule<'a>>,
    ) -> Vec<WhitelistRule<'a>> {
        let mut rules = Vec::new();
        for (place, layer) in self.upper.iter().enumerate() {
            if layer.may_contain_name(name)
                && let Some(table) = layer.compiled_layer()
            {
                rules.extend(find(table).into_iter().filter(|rule| !self.is_overridden(rule.name(), place)));
            }
        }
        rules.extend(find(&self.shipped).into_iter().filter(|rule| !self.is_overridden(rule.name(), self.upper.len())));
        rules
    }

    /// Whether any rule names the program.
    pub(super) fn has_program_rule(&self, base: &[u8]) -> bool {
        !self.program_rules(base, base).is_empty()
    }

    /// The program of a package.
    pub(super) fn package_program(&self, package: &[u8]) -> Option<&[u8]> {
        let upper = self
            .upper
            .iter()
            .filter(|layer| layer.contains_text(b"packages"))
            .filter_map(WhitelistFile::compiled_layer);
        upper.chain(std::iter::once(&self.shipped)).find_map(|table| table.package_program(package))
    }

    /// The words of script names of every layer.
    pub(super) fn script_name_rules(&self) -> Vec<ScriptNameRules<'_>> {
        let upper =
            self.upper.iter().filter(|layer| layer.contains_text(b"scripts")).filter_map(WhitelistFile::compiled_layer);
        upper.chain(std::iter::once(&self.shipped)).map(CompiledLayer::script_name_rules).collect()
    }

    /// The argument that makes any call no check.
    pub(super) fn denied_everywhere<'a>(&self, arguments: &[&'a [u8]]) -> Option<&'a [u8]> {
        let upper =
            self.upper.iter().filter(|layer| layer.contains_text(b"every")).filter_map(WhitelistFile::compiled_layer);
        for table in upper.chain(std::iter::once(&self.shipped)) {
            let (deny, deny_alone) = table.denied_arguments();
            let alone = if let [alone] = arguments { Some(alone) } else { None };
            let found = arguments.iter().find(|argument| arguments::find_matching_pattern(argument, deny).is_some());
            if let Some(argument) = found.or(alone.filter(|alone| deny_alone.contains(alone))) {
                return Some(argument);
            }
        }
        None
    }

    /// Names in `remove` that no lower layer has.
    fn idle_removals(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (place, layer) in self.upper.iter().enumerate() {
            let Some(table) = layer.compiled_layer() else { continue };
            for name in table.removed_names() {
                let name = String::from_utf8_lossy(name).into_owned();
                let lower = self.compiled_layers().filter(|(lower, ..)| *lower > place);
                if !lower.into_iter().any(|(_, _, table)| table.all_rules().any(|rule| rule.name() == name)) {
                    let reason = format!("`remove` names `{name}`, but no earlier layer has a rule of this name");
                    problems.push(problem_from_error(
                        &layer.file,
                        WhitelistError { line: layer.find_line(&name), reason, fatal: false },
                    ));
                }
            }
        }
        problems
    }
}

impl WhitelistFile {
    fn compiled_layer(&self) -> Option<&CompiledLayer> {
        self.table.get_or_init(|| self.compile_layer().ok().flatten()).as_ref()
    }

    fn compile_layer(&self) -> Result<Option<CompiledLayer>, WhitelistError> {
        let fault = |reason: String| WhitelistError { line: None, reason, fatal: true };
        let text = std::str::from_utf8(&self.text).map_err(|error| {
            let line = line_number(&self.text, error.valid_up_to());
            WhitelistError { line: Some(line), reason: "is not UTF-8".to_owned(), fatal: true }
        })?;
        let Some(layer) = WhitelistLayer::parse(text)? else { return Ok(None) };
        encode::encode_layer(&layer).map(|bytes| Some(CompiledLayer::new(bytes))).map_err(fault)
    }

    fn find_problems(&self) -> Vec<Problem> {
        let faults = match self.compile_layer() {
            Err(fault) => vec![fault],
            Ok(_) => match std::str::from_utf8(&self.text).map(|text| (WhitelistLayer::parse(text), text)) {
                Ok((Ok(Some(layer)), text)) => layer.find_errors(text),
                _ => Vec::new(),
            },
        };
        faults.into_iter().map(|fault| problem_from_error(&self.file, fault)).collect()
    }

    /// Whether the file may have a rule or program of this name: a string in TOML is between quotes, and only a
    /// script's folders may come before a program's name in it. Where strings may be written otherwise (escapes,
    /// several lines), the answer is yes.
    fn may_contain_name(&self, name: &[u8]) -> bool {
        let is_quoted = |at: usize| {
            let before = at.checked_sub(1).and_then(|at| self.text.get(at));
            let after = self.text.get(at + name.len());
            matches!(before, Some(b'"' | b'\'' | b'/')) && matches!(after, Some(b'"' | b'\''))
        };
        self.other_strings || bytes::find_all(&self.text, name).any(is_quoted)
    }

    fn contains_text(&self, text: &[u8]) -> bool {
        bytes::find(&self.text, text).is_some()
    }

    fn find_line(&self, text: &str) -> Option<usize> {
        let at = bytes::find(&self.text, text.as_bytes())?;
        Some(line_number(&self.text, at))
    }
}

/// Reads a file if it is a layer. The reason when there is one that can't be read.
fn read_whitelist_file(file: &Path) -> Result<Option<WhitelistFile>, String> {
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
    Ok(Some(WhitelistFile { file: file.to_owned(), text, other_strings, table: OnceCell::new() }))
}

fn problem_from_error(file: &Path, fault: WhitelistError) -> Problem {
    let next = "correct it, then run `verify-run whitelist check`";
    let hint = if fault.fatal { format!("the file is left out until then: {next}") } else { next.to_owned() };
    Problem { file: file.to_owned(), line: fault.line, reason: fault.reason, hint, used: !fault.fatal, warning: false }
}
