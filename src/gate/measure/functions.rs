//! Functions of a source text: where they are, how complex they are, whether they are documented, and which function of
//! an earlier version each one was.

mod braces;
mod go;
mod lua;
mod python;
mod script;
mod script_types;

use super::scanner::{Comment, ScannedSource, TokenKind, scan_source};
use super::{MeasureError, SOURCE_BYTES_MAX, SOURCE_FUNCTIONS_MAX, SourceLanguage};
use std::hash::BuildHasher;

/// How similar two bodies have to be, from 0 to 1, for their functions to be versions of each other.
const SIMILARITY_MIN: f64 = 0.8;

/// How many pairs of tokens a body needs to be recognised without its name.
const SHINGLES_MIN: usize = 8;

/// One function of a source text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FunctionMeasure {
    /// The name, with the names of what it is within: `Parser.parse`, `outer.inner`.
    pub(crate) name: String,
    /// The line of the keyword or the name that begins the function, from 1.
    pub(crate) first_line: u32,
    /// The last line, from 1.
    pub(crate) last_line: u32,
    /// The cyclomatic complexity, as the language's own tool counts it.
    pub(crate) complexity: u32,
    /// Whether a comment is directly above, a docstring or a comment within. Directives to tools are no comments.
    pub(crate) has_documentation: bool,
    /// Hashes of the pairs of neighbouring tokens, sorted, each once; tokens of nested functions are left out.
    pub(crate) body_tokens: Vec<u32>,
}

/// A function while its source is parsed.
#[derive(Debug, Clone)]
struct FunctionDraft {
    name: String,
    /// The first token of what a comment above belongs to: a decorator, an attribute or a modifier.
    head_token: usize,
    first_token: usize,
    /// The token behind the last one.
    end_token: usize,
    complexity: u32,
    has_body: bool,
    has_docstring: bool,
}

impl FunctionDraft {
    fn new(name: String, head_token: usize, first_token: usize) -> Self {
        let end_token = first_token + 1;
        Self { name, head_token, first_token, end_token, complexity: 1, has_body: true, has_docstring: false }
    }
}

/// The functions of a source text, by position.
pub(crate) fn measure_functions(language: SourceLanguage, text: &str) -> Result<Vec<FunctionMeasure>, MeasureError> {
    if text.len() > SOURCE_BYTES_MAX {
        return Err(MeasureError::TooLong);
    }
    let source = scan_source(language, text);
    let mut drafts = match language {
        SourceLanguage::JavaScript => script::find_functions(&source, false)?,
        SourceLanguage::TypeScript => script::find_functions(&source, true)?,
        SourceLanguage::Python => python::find_functions(&source),
        SourceLanguage::Go => go::find_functions(&source),
        SourceLanguage::Lua => lua::find_functions(&source),
        SourceLanguage::Rust => braces::find_rust_functions(&source),
        SourceLanguage::Java => braces::find_java_functions(&source),
    };
    drafts.retain(|draft| draft.has_body);
    if drafts.len() > SOURCE_FUNCTIONS_MAX {
        return Err(MeasureError::TooManyFunctions);
    }
    drafts.sort_by_key(|draft| (draft.first_token, std::cmp::Reverse(draft.end_token)));
    let shingles = collect_shingles(&source, &drafts);
    Ok(drafts
        .into_iter()
        .zip(shingles)
        .map(|(draft, body_tokens)| finish_function(&source, draft, body_tokens))
        .collect())
}

fn finish_function(source: &ScannedSource<'_>, draft: FunctionDraft, body_tokens: Vec<u32>) -> FunctionMeasure {
    let last_token = draft.end_token.saturating_sub(1).max(draft.first_token);
    FunctionMeasure {
        first_line: source.line_of(draft.first_token),
        last_line: source.last_line_of(last_token),
        complexity: draft.complexity,
        has_documentation: draft.has_docstring || has_comment(source, &draft, last_token),
        body_tokens,
        name: draft.name,
    }
}

/// Whether a comment ends on the line above the function or lies within it.
fn has_comment(source: &ScannedSource<'_>, draft: &FunctionDraft, last_token: usize) -> bool {
    let position = |index: usize| source.tokens.get(index).map_or(u32::MAX, |token| token.start);
    let (head, first, last) = (position(draft.head_token), position(draft.first_token), position(last_token));
    let next = source.comments.partition_point(|comment| comment.start < head);
    let head_line = source.line_of(draft.head_token);
    let is_above = next.checked_sub(1).and_then(|index| source.comments.get(index)).is_some_and(|comment| {
        let is_alone = draft.head_token == 0
            || source.tokens.get(draft.head_token - 1).is_none_or(|token| {
                token.end <= comment.start
                    && source.last_line_of(draft.head_token - 1) < comment_first_line(source, *comment)
            });
        is_alone && comment.last_line + 1 >= head_line && !is_directive(source, *comment)
    });
    let within = source.comments.get(next..).unwrap_or_default();
    is_above
        || within
            .iter()
            .take(COMMENTS_LOOKED_AT)
            .take_while(|comment| comment.start < last)
            .any(|comment| comment.start > first && !is_directive(source, *comment))
}

/// How many comments of a function are looked at for one that is no directive.
const COMMENTS_LOOKED_AT: usize = 1000;

fn comment_first_line(source: &ScannedSource<'_>, comment: Comment) -> u32 {
    let text = source.text.get(comment.start as usize..comment.end as usize).unwrap_or("");
    let breaks = text.bytes().filter(|byte| *byte == b'\n').count();
    comment.last_line.saturating_sub(u32::try_from(breaks).unwrap_or(0))
}

/// How comments begin that speak to a tool and explain nothing.
const DIRECTIVES: [&str; 15] = [
    "eslint",
    "prettier-",
    "@ts-",
    "istanbul",
    "c8 ignore",
    "noqa",
    "type:",
    "pylint:",
    "pyright:",
    "pragma:",
    "nolint",
    "go:",
    "luacheck:",
    "rustfmt",
    "NOSONAR",
];

fn is_directive(source: &ScannedSource<'_>, comment: Comment) -> bool {
    let text = source.text.get(comment.start as usize..comment.end as usize).unwrap_or("");
    let words = text.trim_start_matches(['/', '*', '#', '-', '!', ' ', '\t', '[']);
    words.trim().is_empty() || DIRECTIVES.iter().any(|directive| words.starts_with(directive))
}

/// For each function the hashes of its pairs of neighbouring tokens. A token belongs to the innermost function.
fn collect_shingles(source: &ScannedSource<'_>, drafts: &[FunctionDraft]) -> Vec<Vec<u32>> {
    let hasher = foldhash::fast::FixedState::with_seed(0);
    let mut shingles: Vec<Vec<u32>> = vec![Vec::new(); drafts.len()];
    let mut previous: Vec<u64> = vec![0; drafts.len()];
    let mut open: Vec<usize> = Vec::new();
    let mut next = 0;
    for index in 0..source.tokens.len() {
        while open.last().is_some_and(|innermost| drafts[*innermost].end_token <= index) {
            open.pop();
        }
        while drafts.get(next).is_some_and(|draft| draft.first_token <= index) {
            open.push(next);
            next += 1;
        }
        let Some(innermost) = open.last().copied() else { continue };
        let hash = hasher.hash_one(source.text_of(index));
        let pair = previous[innermost].rotate_left(17) ^ hash;
        previous[innermost] = hash;
        #[expect(clippy::cast_possible_truncation, reason = "half of a hash is a hash")]
        shingles[innermost].push((pair ^ pair >> 32) as u32);
    }
    for body in &mut shingles {
        body.sort_unstable();
        body.dedup();
    }
    shingles
}

/// The function of an earlier version of a file that `function` was: one of the same name, the most similar of them;
/// otherwise the one with the most similar body, if it is similar enough and its name is gone from `functions`, all
/// functions of the later version.
pub(crate) fn find_earlier_version<'a>(
    function: &FunctionMeasure,
    functions: &[FunctionMeasure],
    earlier: &'a [FunctionMeasure],
) -> Option<&'a FunctionMeasure> {
    let similarity = |other: &FunctionMeasure| compare_bodies(&function.body_tokens, &other.body_tokens);
    let is_anonymous = function.name.ends_with(ANONYMOUS);
    let same_name = earlier.iter().filter(|other| other.name == function.name && !is_anonymous);
    if let Some(found) = same_name.max_by(|left, right| similarity(left).total_cmp(&similarity(right))) {
        return Some(found);
    }
    if function.body_tokens.len() < SHINGLES_MIN {
        return None;
    }
    let is_gone = |name: &str| name.ends_with(ANONYMOUS) || functions.iter().all(|other| other.name != name);
    let similar = earlier.iter().map(|other| (similarity(other), other)).filter(|(value, _)| *value >= SIMILARITY_MIN);
    let mut similar: Vec<_> = similar.collect();
    similar.sort_by(|left, right| right.0.total_cmp(&left.0));
    similar.into_iter().map(|(_, other)| other).find(|other| is_gone(&other.name))
}

/// How similar two sorted sets are, from 0 to 1: twice what they share, by the sum of their sizes.
fn compare_bodies(left: &[u32], right: &[u32]) -> f64 {
    let (mut i, mut j, mut shared) = (0, 0, 0_u32);
    while let (Some(a), Some(b)) = (left.get(i), right.get(j)) {
        shared += u32::from(a == b);
        i += usize::from(a <= b);
        j += usize::from(b <= a);
    }
    let sizes = u32::try_from(left.len() + right.len()).unwrap_or(u32::MAX);
    if sizes == 0 { 1.0 } else { 2.0 * f64::from(shared) / f64::from(sizes) }
}

/// The name of a function without a name.
const ANONYMOUS: &str = "(anonymous)";

/// The first token of the declaration that the token at `index` is part of: behind the nearest `;`, `{` or `}`.
fn find_head(source: &ScannedSource<'_>, index: usize) -> usize {
    let mut head = index;
    for _ in 0..HEAD_STEPS_MAX {
        let Some(before) = head.checked_sub(1) else { break };
        match source.code(before) {
            ";" | "{" | "}" => break,
            ")" | "]" => head = source.mate(before).min(before),
            _ => head = before,
        }
    }
    head
}

/// How many tokens and brackets are looked at for the head of a declaration.
const HEAD_STEPS_MAX: usize = 64;

/// Joins the name of what a function is within and its own name.
fn join_names(outer: &str, name: &str) -> String {
    let outer = if outer.len() > NAME_BYTES_MAX { "…" } else { outer };
    if outer.is_empty() { name.to_owned() } else { format!("{outer}.{name}") }
}

/// The longest name that gets longer by a name within, in bytes.
const NAME_BYTES_MAX: usize = 200;

/// Whether a token is a string, or the first part of one.
fn is_string(source: &ScannedSource<'_>, index: usize) -> bool {
    source.tokens.get(index).is_some_and(|token| matches!(token.kind, TokenKind::Literal | TokenKind::Part))
}
