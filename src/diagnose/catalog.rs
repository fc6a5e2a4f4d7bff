//! All tool definitions, ready to match: which literals mean which rules, regexes compiled on first use.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use memchr::memmem;
use regex::bytes::Regex;
use serde_json::value::RawValue;

use crate::base::literals::Literals;
use crate::base::one_or_many::OneOrMany;

#[cfg(test)]
use super::definition;
use super::definition::{DefinitionRuleText, PackedFile, PackedRule, PackedTool, ToolText};
use super::first_bytes::FirstBytes;
use super::imported::ImportedFormat;
use super::rule_regex::compile_regex;

macro_rules! shipped {
    ($($name:literal)*) => {
        /// The shipped definitions as the build script leaves them, in the order in which they win.
        const SHIPPED: &[&str] = &[$(include_str!(concat!(env!("OUT_DIR"), "/definitions/", $name, ".json"))),*];
        /// The same as written, by name.
        #[cfg(test)]
        const WRITTEN: &[(&str, &str)] = &[$(($name, include_str!(concat!("definitions/", $name, ".toml")))),*];
    };
}

shipped! {
    "wrappers" "js-lint" "typescript" "js-test" "python" "rust" "go" "native-test" "native-build" "native" "jvm" "ruby" "php" "perl" "shell"
    "config" "languages" "r" "other"
}

/// A rule, not read and its regex not compiled before it is needed.
#[derive(Debug)]
pub(super) struct DefinitionRule {
    /// Index of its tool.
    pub tool: usize,
    text: CatalogRule,
    first: OnceLock<Box<FirstBytes>>,
    matcher: LazyDefinition,
    closing: LazyDefinition,
}

/// A rule as written.
#[derive(Debug)]
enum CatalogRule {
    /// Of the user or the project.
    Read(Box<DefinitionRuleText>),
    /// A shipped one, read on first use: an output needs a few of them.
    Packed(&'static RawValue, OnceLock<Box<DefinitionRuleText>>),
}

impl DefinitionRule {
    /// As written.
    pub(super) fn rule_text(&self) -> &DefinitionRuleText {
        match &self.text {
            CatalogRule::Read(text) => text,
            CatalogRule::Packed(json, text) => text.get_or_init(|| Box::new(DefinitionRuleText::from_packed(json))),
        }
    }

    /// What may match this text: the compiled regex; `None` where its first byte rules that out, or the regex is broken (a
    /// shipped one can't be, a test holds that).
    pub(super) fn matcher_for(&self, text: &[u8]) -> Option<&RuleMatcher> {
        let first = self.first.get_or_init(|| Box::new(FirstBytes::of_regex(&self.rule_text().regex)));
        first.may_begin(text).then(|| self.matcher.get(&self.rule_text().regex))?
    }

    /// How many of its regexes are compiled.
    #[cfg(test)]
    pub(super) fn compiled_count(&self) -> usize {
        [&self.matcher, &self.closing].into_iter().filter(|lazy| lazy.0.get().is_some()).count()
    }

    /// The compiled regex of a traceback's last line.
    pub(super) fn closing_matcher(&self) -> Option<&RuleMatcher> {
        self.closing.get(self.rule_text().closing.as_deref()?)
    }
}

/// A compiled regex, with what its groups say.
#[derive(Debug)]
pub(super) struct RuleMatcher {
    /// The regex.
    pub regex: Regex,
    /// Of each group that says something its number.
    pub groups: Vec<(usize, DefinitionGroup)>,
}

/// What a named group of a regex says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DefinitionGroup {
    /// `file`
    File,
    /// `package`: what the file is below, with dots for slashes.
    Package,
    /// `line`
    Line,
    /// `col`
    Col,
    /// `severity`
    Severity,
    /// `code`
    Code,
    /// `message`
    Message,
    /// `test`
    Test,
    /// `dir`
    Dir,
    /// `problems`: the tool's own count.
    Problems,
    /// `errors`, and `more_errors` to be added.
    Errors,
    /// `warnings`
    Warnings,
}

impl DefinitionGroup {
    fn by_name(name: &str) -> Option<Self> {
        Some(match name {
            "file" => DefinitionGroup::File,
            "package" => DefinitionGroup::Package,
            "line" => DefinitionGroup::Line,
            "col" => DefinitionGroup::Col,
            "severity" => DefinitionGroup::Severity,
            "code" => DefinitionGroup::Code,
            "message" => DefinitionGroup::Message,
            "test" => DefinitionGroup::Test,
            "dir" => DefinitionGroup::Dir,
            "problems" => DefinitionGroup::Problems,
            "errors" | "more_errors" => DefinitionGroup::Errors,
            "warnings" => DefinitionGroup::Warnings,
            _ => return None,
        })
    }
}

/// What a regex is compiled to at its first use.
#[derive(Debug, Default)]
struct LazyDefinition(OnceLock<Option<Box<RuleMatcher>>>);

impl LazyDefinition {
    fn get(&self, source: &str) -> Option<&RuleMatcher> {
        let compiled = self.0.get_or_init(|| {
            let regex = compile_regex(source).ok()?;
            let groups = regex.capture_names().enumerate();
            let groups = groups.filter_map(|(number, name)| Some((number, DefinitionGroup::by_name(name?)?))).collect();
            Some(Box::new(RuleMatcher { regex, groups }))
        });
        compiled.as_deref()
    }
}

/// All definitions.
#[derive(Debug)]
pub(super) struct Catalog {
    /// The tools, in the order in which they win.
    pub tools: Vec<ToolText>,
    /// Their rules, in the same order.
    pub rules: Vec<DefinitionRule>,
    /// What the tools import, with their indices.
    pub imported: Vec<(usize, ImportedFormat)>,
    literals: Vec<String>,
    meaning: Vec<Vec<LiteralMeaning>>,
}

/// An output of at most this many bytes is searched for each literal separately: an automaton over all of them takes
/// longer to build than a short output takes to diagnose.
const SHORT_BYTES_MAX: usize = 16 << 10;

/// The automaton has this many bytes of a literal, and what is behind them is compared where they are: of whole literals
/// it is several times as large, too large for a processor's cache.
const HEAD_BYTES: usize = 6;

/// Finds the literals that an output has.
#[derive(Debug)]
pub(super) struct Scanner<'c> {
    /// Of the literals' heads.
    automaton: Literals,
    /// By head: the literals that begin with it, by their numbers, each with what is behind the head.
    literals: Vec<Vec<(usize, &'c [u8])>>,
    /// By byte: the number of the literal that has no other, or [`NO_LITERAL`]. In the automaton such a one would be found
    /// several times in every line.
    bytes: [usize; 256],
}

const NO_LITERAL: usize = usize::MAX;

impl<'c> Scanner<'c> {
    /// For these literals in a text of `bytes` bytes.
    fn new(literals: impl Iterator<Item = (usize, &'c str)>, bytes: usize) -> Self {
        let mut by_head: HashMap<&[u8], Vec<_>, foldhash::fast::RandomState> = HashMap::default();
        let mut bytes_alone = [NO_LITERAL; 256];
        for (number, literal) in literals {
            if let [byte] = literal.as_bytes() {
                bytes_alone[usize::from(*byte)] = number;
                continue;
            }
            let (head, behind) = literal.as_bytes().split_at(literal.len().min(HEAD_BYTES));
            by_head.entry(head).or_default().push((number, behind));
        }
        let (heads, literals): (Vec<&[u8]>, Vec<_>) = by_head.into_iter().unzip();
        // Definitions are too small for it to fail.
        let automaton = Literals::new(heads, false, bytes).unwrap_or_else(|_| Literals::none());
        Scanner { automaton, literals, bytes: bytes_alone }
    }

    /// Calls `found` with the number of each literal in `line`; the same one may come up several times.
    pub(super) fn scan_line(&self, line: &[u8], mut found: impl FnMut(usize)) {
        for &byte in line {
            let literal = self.bytes[usize::from(byte)];
            if literal != NO_LITERAL {
                found(literal);
            }
        }
        self.automaton.each(line, |head, end| {
            let next = line.get(end);
            for (literal, behind) in &self.literals[head] {
                // One byte tells most of them apart, without a call.
                if behind.is_empty() || behind.first() == next && line[end..].starts_with(behind) {
                    found(*literal);
                }
            }
        });
    }
}

/// What it means that a literal was seen.
#[derive(Debug, Clone, Copy)]
pub(super) enum LiteralMeaning {
    /// This rule may match this line.
    Rule(usize),
    /// This tool's output is here.
    Marker(usize),
}

impl Catalog {
    /// Builds the catalogue from definitions.
    pub(super) fn new(tools: Vec<ToolText>) -> Self {
        let text = |rule: DefinitionRuleText| (rule.needs.clone(), CatalogRule::Read(Box::new(rule)));
        let parted = |mut tool: ToolText| {
            let rules = std::mem::take(&mut tool.rules);
            (tool, rules.into_iter().map(text).collect())
        };
        Self::from_tools(tools.into_iter().map(parted).collect())
    }

    /// Builds the catalogue from tools and their rules, each with what it needs.
    fn from_tools(mut tools: Vec<(ToolText, Vec<(OneOrMany, CatalogRule)>)>) -> Self {
        tools.sort_by_key(|(tool, _)| tool.last);
        let (literals, meaning) = literals_of(&tools);
        // A list that grows moves what it has.
        let mut rules = Vec::with_capacity(tools.iter().map(|(_, rules)| rules.len()).sum());
        let mut imported = Vec::new();
        let mut kept = Vec::with_capacity(tools.len());
        for (index, (mut tool, texts)) in tools.into_iter().enumerate() {
            imported.extend(std::mem::take(&mut tool.imported).into_iter().map(|imported| (index, imported)));
            let lazy = |(_, text)| DefinitionRule {
                tool: index,
                text,
                first: OnceLock::new(),
                matcher: LazyDefinition::default(),
                closing: LazyDefinition::default(),
            };
            rules.extend(texts.into_iter().map(lazy));
            kept.push(tool);
        }
        Catalog { tools: kept, rules, imported, literals, meaning }
    }

    /// What finds the literals in the lines of a text: exactly these pieces, or parts of them, are scanned then.
    pub(super) fn build_scanner<'t>(&self, pieces: impl Iterator<Item = Cow<'t, [u8]>>) -> Scanner<'_> {
        let mut text = Vec::new();
        let mut bytes = 0;
        for piece in pieces {
            bytes += piece.len();
            if bytes <= SHORT_BYTES_MAX {
                text.extend_from_slice(&piece);
                text.push(b'\n');
            }
        }
        let is_short = bytes <= SHORT_BYTES_MAX;
        let all = self.literals.iter().map(String::as_str).enumerate();
        let may_be_there = all.filter(|(_, literal)| !is_short || memmem::find(&text, literal.as_bytes()).is_some());
        Scanner::new(may_be_there, bytes)
    }

    /// How many literals there are.
    pub(super) fn literal_count(&self) -> usize {
        self.meaning.len()
    }

    /// What it means that this literal was seen.
    pub(super) fn meanings_of(&self, literal: usize) -> &[LiteralMeaning] {
        &self.meaning[literal]
    }
}

/// The shipped definitions.
pub(super) fn shipped_catalog() -> &'static Catalog {
    static CATALOG: LazyLock<Catalog> = LazyLock::new(|| {
        let text = |rule: PackedRule<'static>| (rule.needs, CatalogRule::Packed(rule.rule, OnceLock::new()));
        Catalog::from_tools(
            packed_tools().map(|packed| (packed.tool, packed.rules.into_iter().map(text).collect())).collect(),
        )
    });
    &CATALOG
}

/// The shipped definitions without their inline tests; read once, however many layers are put over them.
pub(super) fn shipped_tools() -> &'static [ToolText] {
    static TOOLS: LazyLock<Vec<ToolText>> = LazyLock::new(|| packed_tools().map(read_packed).collect());
    &TOOLS
}

fn packed_tools() -> impl Iterator<Item = PackedTool<'static>> {
    // A broken file would lose its tools: a test holds that none is.
    let files = SHIPPED.iter().filter_map(|json| serde_json::from_str::<PackedFile<'static>>(json).ok());
    files.flat_map(|file| file.tools)
}

/// A tool with all its rules read.
fn read_packed(packed: PackedTool<'_>) -> ToolText {
    let rules = packed.rules.iter().map(|packed| DefinitionRuleText::from_packed(packed.rule)).collect();
    ToolText { rules, ..packed.tool }
}

/// What tools and rules need, each text once, and what it means where it is seen.
fn literals_of(tools: &[(ToolText, Vec<(OneOrMany, CatalogRule)>)]) -> (Vec<String>, Vec<Vec<LiteralMeaning>>) {
    let (mut literals, mut meaning): (Vec<String>, Vec<Vec<LiteralMeaning>>) = (Vec::new(), Vec::new());
    let mut known: HashMap<&str, usize, foldhash::fast::RandomState> = HashMap::default();
    let markers = tools.iter().enumerate().map(|(index, (tool, _))| (LiteralMeaning::Marker(index), &tool.markers[..]));
    let rules = tools.iter().flat_map(|(_, rules)| rules).enumerate();
    let rules = rules.map(|(index, (needs, _))| (LiteralMeaning::Rule(index), needs.as_slice()));
    for (what, texts) in markers.chain(rules) {
        for text in texts {
            let at = *known.entry(text).or_insert_with(|| {
                literals.push(text.clone());
                meaning.push(Vec::new());
                literals.len() - 1
            });
            meaning[at].push(what);
        }
    }
    (literals, meaning)
}

/// The shipped definitions with their inline tests.
#[cfg(test)]
pub(super) fn tested_tools() -> Vec<ToolText> {
    WRITTEN.iter().flat_map(|(_, text)| definition::parse(text).expect("is sound").tools).collect()
}

#[cfg(test)]
mod tests;
