//! A compiled layer, read in place: a name is looked up by binary search, and only the rules it leads to are decoded.
//!
//! The bytes come from [`super::encode`] in this same program, so a malformed table is a bug; reading one gives
//! empty answers instead of a panic all the same, because this is on the run path.

use std::borrow::Cow;

use super::encode::{MAGIC, MODULE, PATH_ONLY, RUNNER};
use super::{CheckKind, ExitMeaning};

/// The shipped layer.
const SHIPPED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/whitelist.bin"));

const KINDS: [CheckKind; 5] = [CheckKind::Test, CheckKind::Lint, CheckKind::Type, CheckKind::Format, CheckKind::Build];
const MEANINGS: [ExitMeaning; 3] = [ExitMeaning::Findings, ExitMeaning::DidNotRun, ExitMeaning::Empty];

/// A compiled layer.
#[derive(Debug, Clone)]
pub(super) struct CompiledLayer {
    bytes: Cow<'static, [u8]>,
}

/// A list of texts in a table.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TextList<'a> {
    bytes: &'a [u8],
}

impl<'a> Iterator for TextList<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.bytes.split_first()?;
        let (text, rest) = rest.split_at_checked(usize::from(*length))?;
        self.bytes = rest;
        Some(text)
    }
}

impl<'a> TextList<'a> {
    /// Whether there is nothing in it.
    pub(super) fn is_empty(self) -> bool {
        self.bytes.is_empty()
    }

    /// Whether `text` is in it.
    pub(super) fn contains(mut self, text: &[u8]) -> bool {
        self.any(|item| item == text)
    }

    /// The value after `key` in a list of pairs.
    pub(super) fn find_value(mut self, key: &[u8]) -> Option<&'a [u8]> {
        while let (Some(name), Some(value)) = (self.next(), self.next()) {
            if name == key {
                return Some(value);
            }
        }
        None
    }
}

/// A rule for a tool.
#[derive(Debug, Clone, Copy)]
pub(super) struct ToolRule<'a> {
    pub flags: u16,
    pub kind: CheckKind,
    pub name: &'a str,
    pub language: &'a str,
    pub paths: TextList<'a>,
    pub sub: TextList<'a>,
    pub need: TextList<'a>,
    pub need_for: TextList<'a>,
    pub contains: TextList<'a>,
    pub deny: TextList<'a>,
    pub fixes: TextList<'a>,
    pub kind_of: TextList<'a>,
    pub value_options: TextList<'a>,
    pub dir_options: TextList<'a>,
    pub ignore: TextList<'a>,
    pub task_options: TextList<'a>,
    exit: &'a [u8],
    pub bins: TextList<'a>,
    pub evidence: &'a str,
}

/// A rule for a runner. Fields as in [`super::layer::WhitelistRunner`].
#[derive(Debug, Clone, Copy)]
pub(super) struct RunnerRule<'a> {
    pub flags: u16,
    pub then: u8,
    pub name: &'a str,
    pub skip: u8,
    pub script: &'a [u8],
    pub manifest: &'a str,
    pub paths: TextList<'a>,
    pub sub: TextList<'a>,
    pub deny: TextList<'a>,
    pub value_options: TextList<'a>,
    pub dir_options: TextList<'a>,
    pub select_options: TextList<'a>,
    pub select_flags: TextList<'a>,
    pub line_options: TextList<'a>,
    pub module_options: TextList<'a>,
    pub command_options: TextList<'a>,
    pub script_options: TextList<'a>,
}

/// A rule.
#[derive(Debug, Clone, Copy)]
pub(super) enum WhitelistRule<'a> {
    Tool(ToolRule<'a>),
    Runner(RunnerRule<'a>),
}

impl<'a> WhitelistRule<'a> {
    pub(super) fn name(&self) -> &'a str {
        match self {
            WhitelistRule::Tool(tool) => tool.name,
            WhitelistRule::Runner(runner) => runner.name,
        }
    }

    pub(super) fn flags(&self) -> u16 {
        match self {
            WhitelistRule::Tool(tool) => tool.flags,
            WhitelistRule::Runner(runner) => runner.flags,
        }
    }

    fn required_paths(&self) -> TextList<'a> {
        match self {
            WhitelistRule::Tool(tool) => tool.paths,
            WhitelistRule::Runner(runner) => runner.paths,
        }
    }
}

impl ToolRule<'_> {
    /// What an exit code means, where it was measured.
    pub(super) fn exit_meaning(&self, code: u8) -> Option<ExitMeaning> {
        self.exit
            .as_chunks::<3>()
            .0
            .iter()
            .find(|[first, last, _]| (*first..=*last).contains(&code))
            .and_then(|[_, _, meaning]| MEANINGS.get(usize::from(*meaning)).copied())
    }

    /// Whether anything is known about its exit codes.
    pub(super) fn has_exit_codes(&self) -> bool {
        !self.exit.is_empty()
    }
}

/// The words of script names; see [`super::layer::WhitelistScripts`].
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ScriptNameRules<'a> {
    pub words: TextList<'a>,
    pub targets: TextList<'a>,
    pub prefixes: TextList<'a>,
    pub stems: TextList<'a>,
    pub endings: TextList<'a>,
    pub file_endings: TextList<'a>,
    pub inside: TextList<'a>,
    pub formatters: TextList<'a>,
    pub check_args: TextList<'a>,
    pub drivers: TextList<'a>,
    pub deny: TextList<'a>,
    pub deny_unasked: TextList<'a>,
    pub deny_last: TextList<'a>,
    pub deny_args: TextList<'a>,
    /// In the order of [`super::layer::KINDS`].
    pub kinds: [TextList<'a>; 5],
}

/// The parts of a table, in the order of its header.
#[derive(Clone, Copy)]
enum LayerSection {
    Index,
    Removed,
    Rules,
    Every,
    Scripts,
    Packages,
}

impl CompiledLayer {
    /// The shipped layer.
    pub(super) fn from_shipped() -> Self {
        CompiledLayer { bytes: Cow::Borrowed(SHIPPED) }
    }

    /// A layer compiled at run time.
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        debug_assert!(bytes.starts_with(&MAGIC));
        CompiledLayer { bytes: Cow::Owned(bytes) }
    }

    fn read_u32(&self, at: usize) -> usize {
        let bytes = self.bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, |bytes| u32::from_le_bytes(bytes) as usize)
    }

    fn section_offset(&self, part: LayerSection) -> usize {
        self.read_u32(MAGIC.len() + part as usize * 4)
    }

    fn reader_at(&self, at: usize) -> LayerReader<'_> {
        LayerReader { bytes: self.bytes.get(at..).unwrap_or_default() }
    }

    /// The rules that name the program `base`, called as `path`; in the file's order.
    pub(super) fn program_rules(&self, base: &[u8], path: &[u8]) -> Vec<WhitelistRule<'_>> {
        let rules = self.rule_numbers(base).filter_map(|number| {
            let rule = self.rule_at(usize::from(number & !PATH_ONLY));
            let here = number & PATH_ONLY == 0 || rule.required_paths().any(|wanted| ends_with_path(path, wanted));
            here.then_some(rule)
        });
        rules.collect()
    }

    /// The rules for `python -m module`.
    pub(super) fn module_rules(&self, module: &[u8]) -> Vec<WhitelistRule<'_>> {
        let mut key = Vec::with_capacity(module.len() + 1);
        key.push(MODULE);
        key.extend_from_slice(module);
        self.rule_numbers(&key).map(|number| self.rule_at(usize::from(number))).collect()
    }

    fn rule_numbers(&self, key: &[u8]) -> impl Iterator<Item = u16> {
        let entry = self.find_entry(key).unwrap_or_default();
        entry.as_chunks::<2>().0.iter().map(|bytes| u16::from_le_bytes(*bytes))
    }

    /// The rule numbers under `key`, as bytes.
    fn find_entry(&self, key: &[u8]) -> Option<&[u8]> {
        let index = self.section_offset(LayerSection::Index);
        let (mut low, mut high) = (0, self.read_u32(index));
        while low < high {
            let middle = usize::midpoint(low, high);
            let mut entry = self.reader_at(self.read_u32(index + 4 + middle * 4));
            match entry.read_text().cmp(key) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => {
                    let count = usize::from(entry.read_byte());
                    return entry.bytes.get(..count * 2);
                }
            }
        }
        None
    }

    /// The names of programs that some rule has, but those that are only known by a path, and modules.
    pub(super) fn program_names(&self) -> impl Iterator<Item = &[u8]> {
        let index = self.section_offset(LayerSection::Index);
        (0..self.read_u32(index)).filter_map(move |place| {
            let mut entry = self.reader_at(self.read_u32(index + 4 + place * 4));
            let name = entry.read_text();
            let count = usize::from(entry.read_byte());
            let rules = entry.read_bytes(count * 2).as_chunks::<2>().0;
            let is_free = |rule: &[u8; 2]| u16::from_le_bytes(*rule) & PATH_ONLY == 0;
            (name.first() != Some(&MODULE) && rules.iter().any(is_free)).then_some(name)
        })
    }

    /// Every rule.
    pub(super) fn all_rules(&self) -> impl Iterator<Item = WhitelistRule<'_>> {
        (0..self.read_u32(self.section_offset(LayerSection::Rules))).map(|number| self.rule_at(number))
    }

    fn rule_at(&self, number: usize) -> WhitelistRule<'_> {
        let mut reader = self.reader_at(self.read_u32(self.section_offset(LayerSection::Rules) + 4 + number * 4));
        let flags = u16::from_le_bytes([reader.read_byte(), reader.read_byte()]);
        if flags & RUNNER != 0 {
            WhitelistRule::Runner(reader.read_runner(flags))
        } else {
            WhitelistRule::Tool(reader.read_tool(flags))
        }
    }

    /// Names of rules of lower layers that this layer takes out.
    pub(super) fn removed_names(&self) -> TextList<'_> {
        self.reader_at(self.section_offset(LayerSection::Removed)).read_list()
    }

    /// Arguments that make any call no check; the second list only when alone.
    pub(super) fn denied_arguments(&self) -> (TextList<'_>, TextList<'_>) {
        let mut reader = self.reader_at(self.section_offset(LayerSection::Every));
        (reader.read_list(), reader.read_list())
    }

    /// The words of script names.
    pub(super) fn script_name_rules(&self) -> ScriptNameRules<'_> {
        let mut reader = self.reader_at(self.section_offset(LayerSection::Scripts));
        ScriptNameRules {
            words: reader.read_list(),
            targets: reader.read_list(),
            prefixes: reader.read_list(),
            stems: reader.read_list(),
            endings: reader.read_list(),
            file_endings: reader.read_list(),
            inside: reader.read_list(),
            formatters: reader.read_list(),
            check_args: reader.read_list(),
            drivers: reader.read_list(),
            deny: reader.read_list(),
            deny_unasked: reader.read_list(),
            deny_last: reader.read_list(),
            deny_args: reader.read_list(),
            kinds: std::array::from_fn(|_| reader.read_list()),
        }
    }

    /// The program of a package.
    pub(super) fn package_program(&self, package: &[u8]) -> Option<&[u8]> {
        self.reader_at(self.section_offset(LayerSection::Packages)).read_list().find_value(package)
    }
}

/// Whether `path` ends with `wanted` at the beginning of a component.
fn ends_with_path(path: &[u8], wanted: &[u8]) -> bool {
    let wanted = wanted.strip_prefix(b"./").unwrap_or(wanted);
    path.strip_suffix(wanted).is_some_and(|before| before.is_empty() || before.ends_with(b"/"))
}

struct LayerReader<'a> {
    bytes: &'a [u8],
}

impl<'a> LayerReader<'a> {
    fn read_bytes(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.bytes.split_at_checked(length).unwrap_or_default();
        self.bytes = rest;
        taken
    }

    fn read_byte(&mut self) -> u8 {
        self.read_bytes(1).first().copied().unwrap_or(0)
    }

    fn read_text(&mut self) -> &'a [u8] {
        let length = usize::from(self.read_byte());
        self.read_bytes(length)
    }

    fn read_str(&mut self) -> &'a str {
        std::str::from_utf8(self.read_text()).unwrap_or_default()
    }

    fn read_list(&mut self) -> TextList<'a> {
        let length = u16::from_le_bytes([self.read_byte(), self.read_byte()]);
        TextList { bytes: self.read_bytes(usize::from(length)) }
    }

    fn read_tool(mut self, flags: u16) -> ToolRule<'a> {
        ToolRule {
            flags,
            kind: KINDS.get(usize::from(self.read_byte())).copied().unwrap_or(CheckKind::Test),
            name: self.read_str(),
            language: self.read_str(),
            paths: self.read_list(),
            sub: self.read_list(),
            need: self.read_list(),
            need_for: self.read_list(),
            contains: self.read_list(),
            deny: self.read_list(),
            fixes: self.read_list(),
            kind_of: self.read_list(),
            value_options: self.read_list(),
            dir_options: self.read_list(),
            ignore: self.read_list(),
            task_options: self.read_list(),
            exit: {
                let count = usize::from(self.read_byte());
                self.read_bytes(count * 3)
            },
            bins: self.read_list(),
            evidence: self.read_str(),
        }
    }

    fn read_runner(mut self, flags: u16) -> RunnerRule<'a> {
        RunnerRule {
            flags,
            then: self.read_byte(),
            name: self.read_str(),
            skip: self.read_byte(),
            script: self.read_text(),
            manifest: self.read_str(),
            paths: self.read_list(),
            sub: self.read_list(),
            deny: self.read_list(),
            value_options: self.read_list(),
            dir_options: self.read_list(),
            select_options: self.read_list(),
            select_flags: self.read_list(),
            line_options: self.read_list(),
            module_options: self.read_list(),
            command_options: self.read_list(),
            script_options: self.read_list(),
        }
    }
}
