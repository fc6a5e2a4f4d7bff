//! Compiles a layer into the compact form that [`super::table`] reads: one run of bytes without pointers.
//!
//! The shipped layer is compiled by the build script and lies in the program as it is: a static table of string
//! slices would be relocated at every start of a position-independent executable. The other layers are compiled
//! when they are read.
//!
//! ```text
//! magic                             4 bytes
//! offsets of the parts              6 × u32: index, names, rules, every, scripts, packages
//! index                             u32 count, count × u32 offset, sorted by key
//!   entry: key (text), u8 count, count × u16 rule  (bit 15: only under one of the rule's paths)
//! names of removed rules            list
//! rules                             u32 count, count × u32 offset
//! every, scripts                    lists, see `every` and `scripts` below
//! packages                          list of pairs, sorted
//!
//! text: u8 length, bytes            list: u16 length in bytes, texts
//! ```

use std::collections::BTreeMap;

use super::kind::CheckKind;
use super::layer::{Codes, KINDS, Layer, Runner, Scripts, Then, Tool};

/// The first bytes of a compiled layer.
pub const MAGIC: [u8; 4] = *b"VRW1";
/// Set on a rule number in the index: the program's path has to end with one of the rule's paths.
pub const PATH_ONLY: u16 = 1 << 15;
/// Before a module's name in the index.
pub const MODULE: u8 = 1;

/// Flags of a tool, in its first two bytes.
pub const TOOL_ANYWHERE: u16 = 1;
pub const TOOL_INTERPRETER: u16 = 1 << 1;
pub const TOOL_WRAPPER: u16 = 1 << 2;
pub const VERSIONED: u16 = 1 << 3;
/// The rule is a runner.
pub const RUNNER: u16 = 1 << 4;
pub const ASSIGNMENTS: u16 = 1 << 5;
pub const DASHDASH: u16 = 1 << 6;
pub const PACKAGES: u16 = 1 << 7;
pub const OR_COMMAND: u16 = 1 << 8;
pub const MANY: u16 = 1 << 9;
pub const PROJECT: u16 = 1 << 10;
pub const LATE_OPTIONS: u16 = 1 << 11;
pub const ELSEWHERE: u16 = 1 << 12;
pub const SKIP_SELECTS: u16 = 1 << 13;
pub const SKIP_VERSIONS: u16 = 1 << 14;

/// Compiles `layer`.
///
/// # Errors
/// A lowercase fragment, when something in it is longer than the form can hold.
pub fn encode(layer: &Layer) -> Result<Vec<u8>, String> {
    let mut out = Writer { bytes: MAGIC.to_vec() };
    let parts = out.bytes.len();
    out.bytes.resize(parts + 6 * 4, 0);
    let mut index: BTreeMap<Vec<u8>, Vec<u16>> = BTreeMap::new();
    let mut rules = Vec::new();
    for tool in &layer.tool {
        add_to_index(&mut index, rules.len(), &tool.bins, &tool.modules)?;
        rules.push(out.bytes.len());
        out.tool(tool)?;
    }
    for runner in &layer.runner {
        add_to_index(&mut index, rules.len(), &runner.bins, &[])?;
        rules.push(out.bytes.len());
        out.runner(runner)?;
    }
    let mut entries = Vec::new();
    for (key, numbers) in &index {
        entries.push(out.bytes.len());
        out.text(key)?;
        out.byte(numbers.len())?;
        for number in numbers {
            out.bytes.extend_from_slice(&number.to_le_bytes());
        }
    }
    let mut offsets = vec![out.offsets(&entries)?];
    offsets.push(out.bytes.len());
    out.list(&layer.remove)?;
    let rules = out.offsets(&rules)?;
    offsets.push(rules);
    offsets.push(out.bytes.len());
    out.list(&layer.every.deny)?;
    out.list(&layer.every.deny_alone)?;
    offsets.push(out.bytes.len());
    out.scripts(&layer.scripts)?;
    offsets.push(out.bytes.len());
    out.list(layer.packages.iter().flat_map(|(package, bin)| [package, bin]))?;
    for (place, offset) in offsets.into_iter().enumerate() {
        let offset = u32::try_from(offset).map_err(|_| "is too large".to_owned())?;
        out.bytes[parts + place * 4..parts + place * 4 + 4].copy_from_slice(&offset.to_le_bytes());
    }
    Ok(out.bytes)
}

fn add_to_index(
    index: &mut BTreeMap<Vec<u8>, Vec<u16>>,
    rule: usize,
    bins: &[String],
    modules: &[String],
) -> Result<(), String> {
    let number = u16::try_from(rule).ok().filter(|number| *number < PATH_ONLY).ok_or("has too many rules")?;
    for bin in bins {
        match bin.rsplit_once('/') {
            Some((_, base)) => index.entry(base.as_bytes().to_vec()).or_default().push(number | PATH_ONLY),
            None => index.entry(bin.as_bytes().to_vec()).or_default().push(number),
        }
    }
    for module in modules {
        let mut key = vec![MODULE];
        key.extend_from_slice(module.as_bytes());
        index.entry(key).or_default().push(number);
    }
    Ok(())
}

struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    fn byte(&mut self, value: usize) -> Result<(), String> {
        let value = u8::try_from(value).map_err(|_| "has more than 255 rules for one program")?;
        self.bytes.push(value);
        Ok(())
    }

    fn text(&mut self, text: &[u8]) -> Result<(), String> {
        let length = u8::try_from(text.len())
            .map_err(|_| format!("has a text longer than 255 bytes: `{}`", String::from_utf8_lossy(text)))?;
        self.bytes.push(length);
        self.bytes.extend_from_slice(text);
        Ok(())
    }

    fn list<T: AsRef<str>>(&mut self, items: impl IntoIterator<Item = T>) -> Result<(), String> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0, 0]);
        for item in items {
            self.text(item.as_ref().as_bytes())?;
        }
        let length = u16::try_from(self.bytes.len() - start - 2).map_err(|_| "has a list longer than 64 KiB")?;
        self.bytes[start..start + 2].copy_from_slice(&length.to_le_bytes());
        Ok(())
    }

    /// Writes a count and the offsets; where that starts.
    fn offsets(&mut self, offsets: &[usize]) -> Result<usize, String> {
        let start = self.bytes.len();
        for value in std::iter::once(&offsets.len()).chain(offsets) {
            let value = u32::try_from(*value).map_err(|_| "is too large")?;
            self.bytes.extend_from_slice(&value.to_le_bytes());
        }
        Ok(start)
    }

    fn tool(&mut self, tool: &Tool) -> Result<(), String> {
        let flags = [
            (tool.anywhere, TOOL_ANYWHERE),
            (tool.interpreter, TOOL_INTERPRETER),
            (tool.wrapper, TOOL_WRAPPER),
            (tool.versioned, VERSIONED),
        ];
        self.flags(&flags);
        self.bytes.push(kind_number(tool.kind));
        self.text(tool.name.as_bytes())?;
        self.text(tool.language.as_bytes())?;
        self.list(tool.bins.iter().filter(|bin| bin.contains('/')))?;
        self.list(&tool.sub)?;
        self.list(&tool.need)?;
        // A requirement of one sub-command: the sub-command, its arguments, an empty text as the end.
        self.list(tool.need_for.iter().flat_map(|(sub, needs)| {
            std::iter::once(sub.as_str()).chain(needs.iter().map(String::as_str)).chain(std::iter::once(""))
        }))?;
        self.list(&tool.contains)?;
        self.list(&tool.deny)?;
        self.list(&tool.fixes)?;
        self.list(tool.kind_of.iter().flat_map(|(sub, kind)| [sub.as_str(), KINDS[usize::from(kind_number(*kind))]]))?;
        self.list(&tool.value_options)?;
        self.list(&tool.dir_options)?;
        self.list(&tool.ignore)?;
        self.list(&tool.task_options)?;
        let start = self.bytes.len();
        self.bytes.push(0);
        let meanings = [&tool.exit.findings, &tool.exit.did_not_run, &tool.exit.empty];
        for (meaning, codes) in (0_u8..).zip(meanings) {
            for (first, last) in codes.iter().filter_map(Codes::bounds) {
                self.bytes.extend_from_slice(&[first, last, meaning]);
                self.bytes[start] = self.bytes[start].checked_add(1).ok_or("has too many exit codes")?;
            }
        }
        self.list(tool.bins.iter().filter(|bin| !bin.contains('/')))?;
        self.text(tool.evidence.as_bytes())
    }

    fn runner(&mut self, runner: &Runner) -> Result<(), String> {
        let flags = [
            (true, RUNNER),
            (runner.versioned, VERSIONED),
            (runner.assignments, ASSIGNMENTS),
            (runner.dashdash, DASHDASH),
            (runner.packages, PACKAGES),
            (runner.or_command, OR_COMMAND),
            (runner.many, MANY),
            (runner.project, PROJECT),
            (runner.late_options, LATE_OPTIONS),
            (runner.elsewhere, ELSEWHERE),
            (runner.skip_selects, SKIP_SELECTS),
            (runner.skip_versions, SKIP_VERSIONS),
        ];
        self.flags(&flags);
        self.bytes.push(then_number(runner.then));
        self.text(runner.name.as_bytes())?;
        self.bytes.push(runner.skip);
        self.text(runner.script.as_bytes())?;
        self.text(runner.manifest.as_bytes())?;
        self.list(runner.bins.iter().filter(|bin| bin.contains('/')))?;
        self.list(&runner.sub)?;
        self.list(&runner.deny)?;
        self.list(&runner.value_options)?;
        self.list(&runner.dir_options)?;
        self.list(&runner.select_options)?;
        self.list(&runner.select_flags)?;
        self.list(&runner.line_options)?;
        self.list(&runner.module_options)?;
        self.list(&runner.command_options)?;
        self.list(&runner.script_options)
    }

    fn flags(&mut self, flags: &[(bool, u16)]) {
        let bits = flags.iter().filter(|(set, _)| *set).fold(0, |bits, (_, bit)| bits | bit);
        self.bytes.extend_from_slice(&bits.to_le_bytes());
    }

    fn scripts(&mut self, scripts: &Scripts) -> Result<(), String> {
        self.list(&scripts.words)?;
        self.list(&scripts.targets)?;
        self.list(&scripts.prefixes)?;
        self.list(&scripts.stems)?;
        self.list(&scripts.endings)?;
        self.list(&scripts.file_endings)?;
        self.list(&scripts.inside)?;
        self.list(&scripts.formatters)?;
        self.list(&scripts.check_args)?;
        self.list(&scripts.drivers)?;
        self.list(&scripts.deny)?;
        self.list(&scripts.deny_unasked)?;
        self.list(&scripts.deny_last)?;
        self.list(&scripts.deny_args)?;
        for kind in KINDS {
            self.list(scripts.kinds.get(kind).into_iter().flatten())?;
        }
        Ok(())
    }
}

/// A kind's place in [`KINDS`].
fn kind_number(kind: CheckKind) -> u8 {
    match kind {
        CheckKind::Test => 0,
        CheckKind::Lint => 1,
        CheckKind::Type => 2,
        CheckKind::Format => 3,
        CheckKind::Build => 4,
    }
}

fn then_number(then: Then) -> u8 {
    match then {
        Then::Command => 0,
        Then::Script => 1,
        Then::Scripts => 2,
        Then::File => 3,
        Then::Line => 4,
        Then::Again => 5,
    }
}
