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
pub struct Table {
    bytes: Cow<'static, [u8]>,
}

/// A list of texts in a table.
#[derive(Debug, Clone, Copy, Default)]
pub struct List<'a> {
    bytes: &'a [u8],
}

impl<'a> Iterator for List<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.bytes.split_first()?;
        let (text, rest) = rest.split_at_checked(usize::from(*length))?;
        self.bytes = rest;
        Some(text)
    }
}

impl<'a> List<'a> {
    /// Whether there is nothing in it.
    pub fn is_empty(self) -> bool {
        self.bytes.is_empty()
    }

    /// Whether `text` is in it.
    pub fn has(mut self, text: &[u8]) -> bool {
        self.any(|item| item == text)
    }

    /// The value after `key` in a list of pairs.
    pub fn value(mut self, key: &[u8]) -> Option<&'a [u8]> {
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
pub struct Tool<'a> {
    pub flags: u16,
    pub kind: CheckKind,
    pub name: &'a str,
    pub language: &'a str,
    pub paths: List<'a>,
    pub sub: List<'a>,
    pub need: List<'a>,
    pub need_for: List<'a>,
    pub contains: List<'a>,
    pub deny: List<'a>,
    pub fixes: List<'a>,
    pub kind_of: List<'a>,
    pub value_options: List<'a>,
    pub dir_options: List<'a>,
    pub ignore: List<'a>,
    pub task_options: List<'a>,
    exit: &'a [u8],
    pub bins: List<'a>,
    pub evidence: &'a str,
}

/// A rule for a runner. Fields as in [`super::layer::Runner`].
#[derive(Debug, Clone, Copy)]
pub struct Runner<'a> {
    pub flags: u16,
    pub then: u8,
    pub name: &'a str,
    pub skip: u8,
    pub script: &'a [u8],
    pub manifest: &'a str,
    pub paths: List<'a>,
    pub sub: List<'a>,
    pub deny: List<'a>,
    pub value_options: List<'a>,
    pub dir_options: List<'a>,
    pub select_options: List<'a>,
    pub select_flags: List<'a>,
    pub line_options: List<'a>,
    pub module_options: List<'a>,
    pub command_options: List<'a>,
    pub script_options: List<'a>,
}

/// A rule.
#[derive(Debug, Clone, Copy)]
pub enum Rule<'a> {
    Tool(Tool<'a>),
    Runner(Runner<'a>),
}

impl<'a> Rule<'a> {
    pub fn name(&self) -> &'a str {
        match self {
            Rule::Tool(tool) => tool.name,
            Rule::Runner(runner) => runner.name,
        }
    }

    pub fn flags(&self) -> u16 {
        match self {
            Rule::Tool(tool) => tool.flags,
            Rule::Runner(runner) => runner.flags,
        }
    }

    fn paths(&self) -> List<'a> {
        match self {
            Rule::Tool(tool) => tool.paths,
            Rule::Runner(runner) => runner.paths,
        }
    }
}

impl Tool<'_> {
    /// What an exit code means, where it was measured.
    pub fn exit(&self, code: u8) -> Option<ExitMeaning> {
        self.exit
            .as_chunks::<3>()
            .0
            .iter()
            .find(|[first, last, _]| (*first..=*last).contains(&code))
            .and_then(|[_, _, meaning]| MEANINGS.get(usize::from(*meaning)).copied())
    }

    /// Whether anything is known about its exit codes.
    pub fn has_exit_codes(&self) -> bool {
        !self.exit.is_empty()
    }
}

/// The words of script names; see [`super::layer::Scripts`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Scripts<'a> {
    pub words: List<'a>,
    pub targets: List<'a>,
    pub prefixes: List<'a>,
    pub stems: List<'a>,
    pub endings: List<'a>,
    pub file_endings: List<'a>,
    pub inside: List<'a>,
    pub formatters: List<'a>,
    pub check_args: List<'a>,
    pub drivers: List<'a>,
    pub deny: List<'a>,
    pub deny_unasked: List<'a>,
    pub deny_last: List<'a>,
    pub deny_args: List<'a>,
    /// In the order of [`super::layer::KINDS`].
    pub kinds: [List<'a>; 5],
}

/// The parts of a table, in the order of its header.
#[derive(Clone, Copy)]
enum Part {
    Index,
    Removed,
    Rules,
    Every,
    Scripts,
    Packages,
}

impl Table {
    /// The shipped layer.
    pub fn shipped() -> Self {
        Table { bytes: Cow::Borrowed(SHIPPED) }
    }

    /// A layer compiled at run time.
    pub fn new(bytes: Vec<u8>) -> Self {
        debug_assert!(bytes.starts_with(&MAGIC));
        Table { bytes: Cow::Owned(bytes) }
    }

    fn u32(&self, at: usize) -> usize {
        let bytes = self.bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, |bytes| u32::from_le_bytes(bytes) as usize)
    }

    fn part(&self, part: Part) -> usize {
        self.u32(MAGIC.len() + part as usize * 4)
    }

    fn reader(&self, at: usize) -> Reader<'_> {
        Reader { bytes: self.bytes.get(at..).unwrap_or_default() }
    }

    /// The rules that name the program `base`, called as `path`; in the file's order.
    pub fn programs(&self, base: &[u8], path: &[u8]) -> Vec<Rule<'_>> {
        let rules = self.numbers(base).filter_map(|number| {
            let rule = self.rule(usize::from(number & !PATH_ONLY));
            let here = number & PATH_ONLY == 0 || rule.paths().any(|wanted| ends_with_path(path, wanted));
            here.then_some(rule)
        });
        rules.collect()
    }

    /// The rules for `python -m module`.
    pub fn modules(&self, module: &[u8]) -> Vec<Rule<'_>> {
        let mut key = Vec::with_capacity(module.len() + 1);
        key.push(MODULE);
        key.extend_from_slice(module);
        self.numbers(&key).map(|number| self.rule(usize::from(number))).collect()
    }

    fn numbers(&self, key: &[u8]) -> impl Iterator<Item = u16> {
        let entry = self.find(key).unwrap_or_default();
        entry.as_chunks::<2>().0.iter().map(|bytes| u16::from_le_bytes(*bytes))
    }

    /// The rule numbers under `key`, as bytes.
    fn find(&self, key: &[u8]) -> Option<&[u8]> {
        let index = self.part(Part::Index);
        let (mut low, mut high) = (0, self.u32(index));
        while low < high {
            let middle = usize::midpoint(low, high);
            let mut entry = self.reader(self.u32(index + 4 + middle * 4));
            match entry.text().cmp(key) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => {
                    let count = usize::from(entry.byte());
                    return entry.bytes.get(..count * 2);
                }
            }
        }
        None
    }

    /// The names of programs that some rule has, but those that are only known by a path, and modules.
    pub fn program_names(&self) -> impl Iterator<Item = &[u8]> {
        let index = self.part(Part::Index);
        (0..self.u32(index)).filter_map(move |place| {
            let mut entry = self.reader(self.u32(index + 4 + place * 4));
            let name = entry.text();
            let count = usize::from(entry.byte());
            let rules = entry.take(count * 2).as_chunks::<2>().0;
            let is_free = |rule: &[u8; 2]| u16::from_le_bytes(*rule) & PATH_ONLY == 0;
            (name.first() != Some(&MODULE) && rules.iter().any(is_free)).then_some(name)
        })
    }

    /// Every rule.
    pub fn rules(&self) -> impl Iterator<Item = Rule<'_>> {
        (0..self.u32(self.part(Part::Rules))).map(|number| self.rule(number))
    }

    fn rule(&self, number: usize) -> Rule<'_> {
        let mut reader = self.reader(self.u32(self.part(Part::Rules) + 4 + number * 4));
        let flags = u16::from_le_bytes([reader.byte(), reader.byte()]);
        if flags & RUNNER != 0 { Rule::Runner(reader.runner(flags)) } else { Rule::Tool(reader.tool(flags)) }
    }

    /// Names of rules of lower layers that this layer takes out.
    pub fn removed(&self) -> List<'_> {
        self.reader(self.part(Part::Removed)).list()
    }

    /// Arguments that make any call no check; the second list only when alone.
    pub fn every(&self) -> (List<'_>, List<'_>) {
        let mut reader = self.reader(self.part(Part::Every));
        (reader.list(), reader.list())
    }

    /// The words of script names.
    pub fn scripts(&self) -> Scripts<'_> {
        let mut reader = self.reader(self.part(Part::Scripts));
        Scripts {
            words: reader.list(),
            targets: reader.list(),
            prefixes: reader.list(),
            stems: reader.list(),
            endings: reader.list(),
            file_endings: reader.list(),
            inside: reader.list(),
            formatters: reader.list(),
            check_args: reader.list(),
            drivers: reader.list(),
            deny: reader.list(),
            deny_unasked: reader.list(),
            deny_last: reader.list(),
            deny_args: reader.list(),
            kinds: std::array::from_fn(|_| reader.list()),
        }
    }

    /// The program of a package.
    pub fn package(&self, package: &[u8]) -> Option<&[u8]> {
        self.reader(self.part(Part::Packages)).list().value(package)
    }
}

/// Whether `path` ends with `wanted` at the beginning of a component.
fn ends_with_path(path: &[u8], wanted: &[u8]) -> bool {
    let wanted = wanted.strip_prefix(b"./").unwrap_or(wanted);
    path.strip_suffix(wanted).is_some_and(|before| before.is_empty() || before.ends_with(b"/"))
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.bytes.split_at_checked(length).unwrap_or_default();
        self.bytes = rest;
        taken
    }

    fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    fn text(&mut self) -> &'a [u8] {
        let length = usize::from(self.byte());
        self.take(length)
    }

    fn str(&mut self) -> &'a str {
        std::str::from_utf8(self.text()).unwrap_or_default()
    }

    fn list(&mut self) -> List<'a> {
        let length = u16::from_le_bytes([self.byte(), self.byte()]);
        List { bytes: self.take(usize::from(length)) }
    }

    fn tool(mut self, flags: u16) -> Tool<'a> {
        Tool {
            flags,
            kind: KINDS.get(usize::from(self.byte())).copied().unwrap_or(CheckKind::Test),
            name: self.str(),
            language: self.str(),
            paths: self.list(),
            sub: self.list(),
            need: self.list(),
            need_for: self.list(),
            contains: self.list(),
            deny: self.list(),
            fixes: self.list(),
            kind_of: self.list(),
            value_options: self.list(),
            dir_options: self.list(),
            ignore: self.list(),
            task_options: self.list(),
            exit: {
                let count = usize::from(self.byte());
                self.take(count * 3)
            },
            bins: self.list(),
            evidence: self.str(),
        }
    }

    fn runner(mut self, flags: u16) -> Runner<'a> {
        Runner {
            flags,
            then: self.byte(),
            name: self.str(),
            skip: self.byte(),
            script: self.text(),
            manifest: self.str(),
            paths: self.list(),
            sub: self.list(),
            deny: self.list(),
            value_options: self.list(),
            dir_options: self.list(),
            select_options: self.list(),
            select_flags: self.list(),
            line_options: self.list(),
            module_options: self.list(),
            command_options: self.list(),
            script_options: self.list(),
        }
    }
}
