//! A tool definition as it is written: TOML, one file for a tool or a family.
//!
//! ```toml
//! [[tool]]
//! name = "eslint"
//! from = "eslint 9.39 and 8.57, stylish"   # whose real output the rules were written from
//! tools = ["eslint"]                       # names of the whitelist; a run of one of them prefers these rules
//! category = "lint_error"
//! did_not_run = [2]                        # exit codes that mean the tool did not do its job
//!
//! [[tool.rule]]
//! kind = "file"
//! needs = ["/"]                            # one of these literals is in every line the regex matches
//! regex = '^(?P<file>/.+)$'
//!
//! [[tool.test]]
//! input = "…"
//! expect = [{ file = "/a.js", line = 2 }]
//! ```
//!
//! A regex is matched on the bytes of one line (its first `LINE_MATCH_BYTES_MAX`), classes are ASCII. Its named groups
//! are `file`, `line`, `col`, `severity`, `code`, `message`, `test`, `dir`, and `package` (a dotted name that gives
//! the folder of `file`).
//!
//! A `summary`, `section_start` or `section_end` may have the groups `problems`, `errors`, `more_errors` and `warnings`:
//! the numbers of the tool's own closing line. When fewer were read than it says, the diagnosis says so and keeps the
//! lines that no rule knew.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::imported::ImportedFormat;
use super::{Category, Severity};
use crate::base::one_or_many::OneOrMany;

/// What a matching line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum DefinitionKind {
    /// One diagnostic or failing test on one line.
    Item,
    /// The first line of one that goes on as `body` says.
    Start,
    /// A line of the open block; its groups fill what the block has not said yet.
    Continue,
    /// The last line of the open block.
    End,
    /// The file that the following items are in.
    File,
    /// The folder that following paths are relative to, until `dir_leave`.
    DirEnter,
    /// Back to the folder before.
    DirLeave,
    /// The folder of the items above it since the last such line (`FAIL example.com/shop/pkg/calc 0.01s`).
    DirAfter,
    /// The folder of all of this tool's paths from here on (`rootdir: /app/backend`).
    DirBase,
    /// The test that following items belong to.
    TestName,
    /// A part of the output begins; rules with `when` hold only inside theirs.
    SectionStart,
    /// It ends, and with it an open block.
    SectionEnd,
    /// A place on the stack: never an error on its own.
    Frame,
    /// Belongs to the item before it and is no error.
    Note,
    /// The tool's own count; kept, never an item.
    Summary,
    /// Noise: never kept, never looked at by other layers.
    Drop,
}

impl DefinitionKind {
    /// The word in the file.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            DefinitionKind::Item => "item",
            DefinitionKind::Start => "start",
            DefinitionKind::Continue => "continue",
            DefinitionKind::End => "end",
            DefinitionKind::File => "file",
            DefinitionKind::DirEnter => "dir_enter",
            DefinitionKind::DirLeave => "dir_leave",
            DefinitionKind::DirAfter => "dir_after",
            DefinitionKind::DirBase => "dir_base",
            DefinitionKind::TestName => "test_name",
            DefinitionKind::SectionStart => "section_start",
            DefinitionKind::SectionEnd => "section_end",
            DefinitionKind::Frame => "frame",
            DefinitionKind::Note => "note",
            DefinitionKind::Summary => "summary",
            DefinitionKind::Drop => "drop",
        }
    }
}

/// How a block goes on after its first line. Blank lines at its end are not part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum DefinitionBody {
    /// It doesn't.
    #[default]
    None,
    /// Lines indented deeper than the first one, and blank ones.
    Deeper,
    /// Until a blank line.
    Paragraph,
    /// Indented lines, and a source line that is followed by a line of carets.
    Snippet,
    /// Until an `end`, `section_end` or the next block of the same tool.
    Open,
    /// Lines indented deeper, then one more that is not: a traceback with its exception.
    Traceback,
    /// Until the blank line that follows its stack: the message before it may look like anything.
    Stack,
    /// Lines indented deeper, and any others before a stack that comes soon: what was thrown may print a difference or more of
    /// what it knows between its message and its stack.
    Thrown,
}

/// Which frame of a stack says where the error is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FrameChoice {
    /// The first one inside the project.
    #[default]
    First,
    /// The last one: "most recent call last".
    Last,
}

/// A rule.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DefinitionRuleText {
    /// What a matching line is.
    pub kind: DefinitionKind,
    /// Literals, one of which is in every line that the regex matches.
    pub needs: OneOrMany,
    /// Matched on one line; without it, the literal at the start of the line is enough.
    pub regex: String,
    /// How the block goes on.
    #[serde(default)]
    pub body: DefinitionBody,
    /// The severity where the line doesn't say it; an error by default. That of a `continue` becomes its item's.
    pub severity: Option<Severity>,
    /// The category where it differs from the tool's.
    pub category: Option<Category>,
    /// Whether this line alone says what the whole run is (`No tests found`).
    #[serde(default)]
    pub decides: bool,
    /// For `continue`: the group `test` goes on with the name of a test that is on several lines before the block's
    /// first blank one; this joins them.
    pub join: Option<String>,
    /// Whether it is an item only if further lines belong to it (`✖ suite` above its failing tests).
    #[serde(default)]
    pub needs_body: bool,
    /// Blank lines that are at least before it; the start of a section is as good as two.
    #[serde(default)]
    pub blank_before: usize,
    /// A fixed code.
    pub code: Option<String>,
    /// What precedes the group `code` to make it the tool's own name for it (`clippy::`).
    pub code_prefix: Option<String>,
    /// A fixed message, of a line that only names a file.
    pub message: Option<String>,
    /// Whether the tool breaks a long message at a width: it goes on in the next lines until one ends in `[code]`.
    #[serde(default)]
    pub wraps: bool,
    /// For `continue`, and the first `frame`: whether the line is as good as the message.
    #[serde(default)]
    pub vital: bool,
    /// For `continue`: whether its message and code take the place of the block's (`Caused by: …`).
    #[serde(default)]
    pub replaces: bool,
    /// The section that begins (`section_start`).
    pub section: Option<String>,
    /// The section that the rule holds in.
    pub when: Option<String>,
    /// For `body = "traceback"`: matched on the closing line.
    pub closing: Option<String>,
    /// Whether it is an item only if a later line says that its test failed (`=== RUN` of `go test -v`).
    #[serde(default)]
    pub tentative: bool,
    /// Whether the line below it is the test's name in any case.
    #[serde(default)]
    pub test_next: bool,
    /// For `continue`: the next line that can be a message is the block's, not what was printed before.
    #[serde(default)]
    pub message_next: bool,
    /// Whether it is an item only if its tool found nothing else in its file, or nothing at all where it names none: a
    /// summary after the failures.
    #[serde(default)]
    pub repeats: bool,
    /// Whether the whole body is noise (kept is the first line only).
    #[serde(default)]
    pub body_is_noise: bool,
}

/// A tool.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolText {
    /// The name that items carry.
    pub name: String,
    /// The tool's version that the rules were written from, or the document; the shipped ones must say it.
    #[serde(default)]
    #[cfg_attr(not(test), expect(dead_code, reason = "read by the test suite"))]
    pub from: String,
    /// Names of the whitelist that mean this tool.
    #[serde(default)]
    pub tools: Vec<String>,
    /// The tool's rules hold only if one of these literals is in the output, or the command names the tool.
    #[serde(default)]
    pub markers: Vec<String>,
    /// What its items are.
    pub category: Option<Category>,
    /// What a failed run of it is, by the whitelist's name, where that differs from `category`.
    #[serde(default)]
    pub category_of: std::collections::BTreeMap<String, Category>,
    /// What a failed run of it without any item is.
    pub empty: Option<Category>,
    /// Exit codes that mean the tool did not do its job, regardless of its output.
    #[serde(default)]
    pub did_not_run: Vec<u8>,
    /// Whether its warnings, too, make it fail.
    #[serde(default)]
    pub warnings_fail: bool,
    /// Which frame says where the error is.
    #[serde(default)]
    pub frames: FrameChoice,
    /// Whether a count of it includes what it printed before an earlier count: cargo shows a diagnostic once for all
    /// targets of a package, and each target counts it.
    #[serde(default)]
    pub counts_all: bool,
    /// Whether its items are what the check is for: a runner of checks of several kinds.
    #[serde(default)]
    pub by_kind: bool,
    /// Whether its frames, folders and noise hold inside blocks of every tool.
    #[serde(default)]
    pub shared: bool,
    /// Whether others win where both match.
    #[serde(default)]
    pub last: bool,
    /// The rules; earlier ones win.
    #[serde(default, rename = "rule")]
    pub rules: Vec<DefinitionRuleText>,
    /// Files with problem matchers of VS Code or GitHub, relative to the definition's folder.
    pub matcher: Option<OneOrMany>,
    /// Patterns of Vim's `errorformat`: one text as `:set` has it, or one pattern each.
    pub errorformat: Option<OneOrMany>,
    /// What those two are, once they were read.
    #[serde(skip)]
    pub imported: Vec<ImportedFormat>,
    /// Inline tests.
    #[serde(default, rename = "test")]
    pub tests: Vec<TestText>,
}

impl ToolText {
    /// All categories that it names.
    pub(super) fn all_categories(&self) -> impl Iterator<Item = &Category> {
        let own = self.category.iter().chain(&self.empty).chain(self.category_of.values());
        let rules = self.rules.iter().filter_map(|rule| rule.category.as_ref());
        own.chain(rules).chain(self.tests.iter().filter_map(|test| test.category.as_ref()))
    }
}

/// An inline test of a definition.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TestText {
    /// The output.
    pub input: String,
    /// The whitelist's name of the tool that ran, if it was seen.
    pub tool: Option<String>,
    /// The exit code; 1 by default.
    pub exit: Option<u8>,
    /// The failing items, in order.
    pub expect: Vec<ExpectText>,
    /// The category of the run.
    pub category: Option<Category>,
    /// All affected files, sorted.
    pub files: Option<Vec<String>>,
    /// How many problems the tool counts and how many were read, where that is less; none expected by default.
    #[serde(default)]
    pub short: Vec<(usize, usize)>,
    /// What must be in the kept lines.
    #[serde(default)]
    pub keep: Vec<String>,
    /// What must not.
    #[serde(default)]
    pub drop: Vec<String>,
}

/// What an item has to say; what is not named is not compared.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExpectText {
    /// The file as printed or resolved.
    pub file: Option<String>,
    /// The line.
    pub line: Option<u32>,
    /// The column.
    pub col: Option<u32>,
    /// The severity.
    pub severity: Option<Severity>,
    /// The code.
    pub code: Option<String>,
    /// What the message starts with.
    pub message: Option<String>,
    /// The test's name.
    pub test: Option<String>,
}

/// The only version of the format so far: the value of `verify_run_schema`.
pub(super) const SCHEMA: i64 = 1;

/// A file of definitions.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DefinitionFileText {
    /// [`SCHEMA`], also where it isn't said.
    pub verify_run_schema: Option<i64>,
    /// Names of definitions of lower layers that no longer hold.
    #[serde(default)]
    pub remove: Vec<String>,
    /// The tools.
    #[serde(default, rename = "tool")]
    pub tools: Vec<ToolText>,
    /// Detectors of patterns: understood where patterns are.
    #[serde(default, rename = "detector")]
    #[expect(dead_code, reason = "only their place in the file is known here")]
    pub detectors: Vec<serde::de::IgnoredAny>,
}

/// A file of shipped definitions as the build script leaves it.
#[derive(Debug, Deserialize)]
pub(super) struct PackedFile<'a> {
    /// The tools.
    #[serde(borrow, rename = "tool")]
    pub tools: Vec<PackedTool<'a>>,
}

/// A tool with its rules beside it.
#[derive(Debug, Deserialize)]
pub(super) struct PackedTool<'a> {
    /// The tool, without rules.
    pub tool: ToolText,
    /// Its rules; earlier ones win.
    #[serde(borrow)]
    pub rules: Vec<PackedRule<'a>>,
}

/// A rule that isn't read yet.
#[derive(Debug, Deserialize)]
pub(super) struct PackedRule<'a> {
    /// [`DefinitionRuleText::needs`].
    pub needs: OneOrMany,
    /// The rule as JSON.
    #[serde(borrow)]
    pub rule: &'a RawValue,
}

impl DefinitionRuleText {
    /// A shipped rule, from [`PackedRule::rule`].
    pub(super) fn from_packed(json: &RawValue) -> Self {
        serde_json::from_str(json.get()).expect("a shipped rule, read in a test")
    }
}

/// Reads a file of definitions.
///
/// # Errors
/// What TOML or the shape above does not allow, with line and column.
pub(super) fn parse(text: &str) -> Result<DefinitionFileText, toml::de::Error> {
    toml::from_str(text)
}
