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
use super::layer::{
    ExitCodeRange, KINDS, RunnerTarget, WhitelistLayer, WhitelistRunner, WhitelistScripts, WhitelistTool,
};

/// The first bytes of a compiled layer.
pub(super) const MAGIC: [u8; 4] = *b"VRW1";
/// Set on a rule number in the index: the program's path has to end with one of the rule's paths.
pub(super) const PATH_ONLY: u16 = 1 << 15;
/// Before a module's name in the index.
pub(super) const MODULE: u8 = 1;

/// Flags of a tool, in its first two bytes.
pub(super) const TOOL_ANYWHERE: u16 = 1;
pub(super) const TOOL_INTERPRETER: u16 = 1 << 1;
pub(super) const TOOL_WRAPPER: u16 = 1 << 2;
pub(super) const VERSIONED: u16 = 1 << 3;
/// The rule is a runner.
pub(super) const RUNNER: u16 = 1 << 4;
pub(super) const ASSIGNMENTS: u16 = 1 << 5;
pub(super) const DASHDASH: u16 = 1 << 6;
pub(super) const PACKAGES: u16 = 1 << 7;
pub(super) const OR_COMMAND: u16 = 1 << 8;
pub(super) const MANY: u16 = 1 << 9;
pub(super) const PROJECT: u16 = 1 << 10;
pub(super) const LATE_OPTIONS: u16 = 1 << 11;
pub(super) const ELSEWHERE: u16 = 1 << 12;
pub(super) const SKIP_SELECTS: u16 = 1 << 13;
pub(super) const SKIP_VERSIONS: u16 = 1 << 14;
pub(super) const OWN_STATUS: u16 = 1 << 15;

/// Compiles `layer`.
///
/// # Errors
/// A lowercase fragment, when something in it is longer than the form can hold.
pub(super) fn encode_layer(layer: &WhitelistLayer) -> Result<Vec<u8>, String> {
    let mut out = LayerWriter { bytes: MAGIC.to_vec() };
    let parts = out.bytes.len();
    out.bytes.resize(parts + 6 * 4, 0);
    let mut index: BTreeMap<Vec<u8>, Vec<u16>> = BTreeMap::new();
    let mut rules = Vec::new();
    for tool in &layer.tool {
        add_to_index(&mut index, rules.len(), &tool.bins, &tool.modules)?;
        rules.push(out.bytes.len());
        out.write_tool(tool)?;
    }
    for runner in &layer.runner {
        add_to_index(&mut index, rules.len(), &runner.bins, &[])?;
        rules.push(out.bytes.len());
        out.write_runner(runner)?;
    }
    let mut entries = Vec::new();
    for (key, numbers) in &index {
        entries.push(out.bytes.len());
        out.write_text(key)?;
        out.write_byte(numbers.len())?;
        for number in numbers {
            out.bytes.extend_from_slice(&number.to_le_bytes());
        }
    }
    let mut offsets = vec![out.write_offsets(&entries)?];
    offsets.push(out.bytes.len());
    out.write_list(&layer.remove)?;
    let rules = out.write_offsets(&rules)?;
    offsets.push(rules);
    offsets.push(out.bytes.len());
    out.write_list(&layer.every.deny)?;
    out.write_list(&layer.every.deny_alone)?;
    offsets.push(out.bytes.len());
    out.write_scripts(&layer.scripts)?;
    offsets.push(out.bytes.len());
    out.write_list(layer.packages.iter().flat_map(|(package, bin)| [package, bin]))?;
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

struct LayerWriter {
    bytes: Vec<u8>,
}

impl LayerWriter {
    fn write_byte(&mut self, value: usize) -> Result<(), String> {
        let value = u8::try_from(value).map_err(|_| "has more than 255 rules for one program")?;
        self.bytes.push(value);
        Ok(())
    }

    fn write_text(&mut self, text: &[u8]) -> Result<(), String> {
        let length = u8::try_from(text.len())
            .map_err(|_| format!("has a text longer than 255 bytes: `{}`", String::from_utf8_lossy(text)))?;
        self.bytes.push(length);
        self.bytes.extend_from_slice(text);
        Ok(())
    }

    fn write_list<T: AsRef<str>>(&mut self, items: impl IntoIterator<Item = T>) -> Result<(), String> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0, 0]);
        for item in items {
            self.write_text(item.as_ref().as_bytes())?;
        }
        let length = u16::try_from(self.bytes.len() - start - 2).map_err(|_| "has a list longer than 64 KiB")?;
        self.bytes[start..start + 2].copy_from_slice(&length.to_le_bytes());
        Ok(())
    }

    /// Writes a count and the offsets; where that starts.
    fn write_offsets(&mut self, offsets: &[usize]) -> Result<usize, String> {
        let start = self.bytes.len();
        for value in std::iter::once(&offsets.len()).chain(offsets) {
            let value = u32::try_from(*value).map_err(|_| "is too large")?;
            self.bytes.extend_from_slice(&value.to_le_bytes());
        }
        Ok(start)
    }

    fn write_tool(&mut self, tool: &WhitelistTool) -> Result<(), String> {
        let flags = [
            (tool.anywhere, TOOL_ANYWHERE),
            (tool.interpreter, TOOL_INTERPRETER),
            (tool.wrapper, TOOL_WRAPPER),
            (tool.versioned, VERSIONED),
        ];
        self.write_flags(&flags);
        self.bytes.push(kind_number(tool.kind));
        self.write_text(tool.name.as_bytes())?;
        self.write_text(tool.language.as_bytes())?;
        self.write_list(tool.bins.iter().filter(|bin| bin.contains('/')))?;
        self.write_list(&tool.sub)?;
        self.write_list(&tool.need)?;
        // A requirement of one sub-command: the sub-command, its arguments, an empty text as the end.
        self.write_list(tool.need_for.iter().flat_map(|(sub, needs)| {
            std::iter::once(sub.as_str()).chain(needs.iter().map(String::as_str)).chain(std::iter::once(""))
        }))?;
        self.write_list(&tool.contains)?;
        self.write_list(&tool.deny)?;
        self.write_list(&tool.fixes)?;
        self.write_list(
            tool.kind_of.iter().flat_map(|(sub, kind)| [sub.as_str(), KINDS[usize::from(kind_number(*kind))]]),
        )?;
        self.write_list(&tool.value_options)?;
        self.write_list(&tool.dir_options)?;
        self.write_list(&tool.ignore)?;
        self.write_list(&tool.task_options)?;
        let start = self.bytes.len();
        self.bytes.push(0);
        let meanings = [&tool.exit.findings, &tool.exit.did_not_run, &tool.exit.empty];
        for (meaning, codes) in (0_u8..).zip(meanings) {
            for (first, last) in codes.iter().filter_map(ExitCodeRange::bounds) {
                self.bytes.extend_from_slice(&[first, last, meaning]);
                self.bytes[start] = self.bytes[start].checked_add(1).ok_or("has too many exit codes")?;
            }
        }
        self.write_list(tool.bins.iter().filter(|bin| !bin.contains('/')))?;
        self.write_text(tool.evidence.as_bytes())
    }

    fn write_runner(&mut self, runner: &WhitelistRunner) -> Result<(), String> {
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
            (runner.own_status, OWN_STATUS),
        ];
        self.write_flags(&flags);
        self.bytes.push(target_number(runner.then));
        self.write_text(runner.name.as_bytes())?;
        self.bytes.push(runner.skip);
        self.write_text(runner.script.as_bytes())?;
        self.write_text(runner.manifest.as_bytes())?;
        self.write_list(runner.bins.iter().filter(|bin| bin.contains('/')))?;
        self.write_list(&runner.sub)?;
        self.write_list(&runner.deny)?;
        self.write_list(&runner.value_options)?;
        self.write_list(&runner.dir_options)?;
        self.write_list(&runner.select_options)?;
        self.write_list(&runner.select_flags)?;
        self.write_list(&runner.line_options)?;
        self.write_list(&runner.module_options)?;
        self.write_list(&runner.command_options)?;
        self.write_list(&runner.script_options)
    }

    fn write_flags(&mut self, flags: &[(bool, u16)]) {
        let bits = flags.iter().filter(|(set, _)| *set).fold(0, |bits, (_, bit)| bits | bit);
        self.bytes.extend_from_slice(&bits.to_le_bytes());
    }

    fn write_scripts(&mut self, scripts: &WhitelistScripts) -> Result<(), String> {
        self.write_list(&scripts.words)?;
        self.write_list(&scripts.targets)?;
        self.write_list(&scripts.prefixes)?;
        self.write_list(&scripts.stems)?;
        self.write_list(&scripts.endings)?;
        self.write_list(&scripts.file_endings)?;
        self.write_list(&scripts.inside)?;
        self.write_list(&scripts.formatters)?;
        self.write_list(&scripts.check_args)?;
        self.write_list(&scripts.drivers)?;
        self.write_list(&scripts.deny)?;
        self.write_list(&scripts.deny_unasked)?;
        self.write_list(&scripts.deny_last)?;
        self.write_list(&scripts.deny_args)?;
        for kind in KINDS {
            self.write_list(scripts.kinds.get(kind).into_iter().flatten())?;
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

fn target_number(then: RunnerTarget) -> u8 {
    match then {
        RunnerTarget::Command => 0,
        RunnerTarget::Script => 1,
        RunnerTarget::Scripts => 2,
        RunnerTarget::File => 3,
        RunnerTarget::Line => 4,
        RunnerTarget::Again => 5,
    }
}
