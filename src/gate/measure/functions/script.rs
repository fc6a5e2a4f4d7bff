//! Functions of JavaScript and TypeScript: a parser that knows statements, expressions and patterns, but no precedence.

mod classes;
mod expressions;
mod patterns;
mod statements;

use super::script_types::{skip_type, skip_type_parameters};
use super::{ANONYMOUS, FunctionDraft, join_names};
use crate::gate::measure::scanner::{ScannedSource, TokenKind};
use crate::gate::measure::{MeasureError, SOURCE_FUNCTIONS_MAX};

/// How deep statements and expressions may be nested.
const NESTING_MAX: usize = 200;

type Parsed = Result<(), MeasureError>;

struct ScriptParser<'s, 'a> {
    source: &'s ScannedSource<'a>,
    position: usize,
    drafts: Vec<FunctionDraft>,
    /// The open functions, innermost last.
    open: Vec<usize>,
    /// The names of the open functions and classes, each joined with the ones around it.
    names: Vec<String>,
    /// The name that a function gets by where its value goes.
    name_hint: Option<&'a str>,
    /// The first token of the current statement or member.
    statement: usize,
    nesting: usize,
    is_typescript: bool,
}

pub(super) fn find_functions(
    source: &ScannedSource<'_>,
    is_typescript: bool,
) -> Result<Vec<FunctionDraft>, MeasureError> {
    let mut parser = ScriptParser {
        source,
        position: 0,
        drafts: Vec::new(),
        open: Vec::new(),
        names: Vec::new(),
        name_hint: None,
        statement: 0,
        nesting: 0,
        is_typescript,
    };
    while parser.position < source.tokens.len() {
        parser.parse_statements(source.tokens.len())?;
        parser.position += 1;
    }
    Ok(parser.drafts)
}

impl<'a> ScriptParser<'_, 'a> {
    fn code(&self) -> &'a str {
        self.source.code(self.position)
    }

    fn code_ahead(&self, offset: usize) -> &'a str {
        self.source.code(self.position + offset)
    }

    fn kind(&self) -> Option<TokenKind> {
        self.source.tokens.get(self.position).map(|token| token.kind)
    }

    fn is_word(&self) -> bool {
        self.kind() == Some(TokenKind::Word)
    }

    fn is_word_ahead(&self, offset: usize) -> bool {
        self.source.is_word(self.position + offset)
    }

    /// Goes on behind the current token if it is `code`.
    fn accept(&mut self, code: &str) -> bool {
        let is_there = self.code() == code;
        self.position += usize::from(is_there);
        is_there
    }

    /// The index of the bracket that closes the one at the current token, or the end of the text if there is none.
    fn closing(&self) -> usize {
        let mate = self.source.mate(self.position);
        if mate > self.position { mate } else { self.source.tokens.len() }
    }

    /// Whether no line break is between the current token and the one before.
    fn is_on_line(&self) -> bool {
        self.is_on_line_ahead(0)
    }

    fn is_on_line_ahead(&self, offset: usize) -> bool {
        let index = self.position + offset;
        index > 0 && self.source.line_of(index) == self.source.last_line_of(index - 1)
    }

    /// Adds one to the complexity of the innermost function.
    fn add_decision(&mut self) {
        if let Some(innermost) = self.open.last() {
            let complexity = &mut self.drafts[*innermost].complexity;
            *complexity = complexity.saturating_add(1);
        }
    }

    /// Parses one level deeper.
    fn nest(&mut self, parse: impl FnOnce(&mut Self) -> Parsed) -> Parsed {
        if self.nesting >= NESTING_MAX {
            return Err(MeasureError::TooDeep);
        }
        self.nesting += 1;
        let parsed = parse(self);
        self.nesting -= 1;
        parsed
    }

    fn enter_name(&mut self, name: &str) {
        let joined = join_names(self.names.last().map_or("", String::as_str), name);
        self.names.push(joined);
    }

    /// Parses a function whose first token is `first`; `head` is what a comment above belongs to.
    fn parse_as_function(
        &mut self,
        name: Option<&str>,
        head: usize,
        first: usize,
        parse: impl FnOnce(&mut Self) -> Result<bool, MeasureError>,
    ) -> Parsed {
        if self.drafts.len() >= SOURCE_FUNCTIONS_MAX.saturating_mul(2) {
            return Err(MeasureError::TooManyFunctions);
        }
        self.name_hint = None;
        self.enter_name(name.unwrap_or(ANONYMOUS));
        let index = self.drafts.len();
        self.drafts.push(FunctionDraft::new(self.names.last().cloned().unwrap_or_default(), head, first));
        self.open.push(index);
        let mut has_body = false;
        let statement = self.statement;
        let parsed = self.nest(|parser| {
            has_body = parse(parser)?;
            Ok(())
        });
        self.statement = statement;
        self.open.pop();
        self.names.pop();
        self.drafts[index].has_body = has_body;
        self.drafts[index].end_token = self.position.max(first + 1);
        parsed
    }

    /// Parses the parameters, the return type and the body. Says whether there is a body.
    fn parse_signature_and_body(&mut self) -> Result<bool, MeasureError> {
        self.skip_type_parameters();
        if self.code() == "(" {
            self.parse_parameters()?;
        }
        if self.code() == ":" {
            self.position = skip_type(self.source, self.position + 1);
        }
        if self.code() != "{" {
            return Ok(false);
        }
        self.parse_block()?;
        Ok(true)
    }

    fn skip_type_parameters(&mut self) {
        if self.code() == "<"
            && let Some(behind) = skip_type_parameters(self.source, self.position)
        {
            self.position = behind;
        }
    }
}
