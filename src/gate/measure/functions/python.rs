//! Functions of Python, by indentation.

use super::{FunctionDraft, is_string, join_names};
use crate::gate::measure::complexity::is_python_decision;
use crate::gate::measure::scanner::ScannedSource;

/// A function or a class whose body is being read.
struct PythonScope {
    indentation: usize,
    name: String,
    /// The index of the function; nothing for a class.
    function: Option<usize>,
}

/// A compound statement that an `else` or a `case` may belong to.
struct Compound {
    indentation: usize,
    kind: CompoundKind,
}

#[derive(Clone, Copy, PartialEq)]
enum CompoundKind {
    Loop,
    Try,
    Match { has_capture: bool },
    Other,
}

struct PythonParser<'s, 'a> {
    source: &'s ScannedSource<'a>,
    drafts: Vec<FunctionDraft>,
    scopes: Vec<PythonScope>,
    compounds: Vec<Compound>,
    /// The first token of the decorators before the current line.
    decorators: Option<usize>,
}

pub(super) fn find_functions(source: &ScannedSource<'_>) -> Vec<FunctionDraft> {
    let mut parser =
        PythonParser { source, drafts: Vec::new(), scopes: Vec::new(), compounds: Vec::new(), decorators: None };
    let mut first = 0;
    while first < source.tokens.len() {
        let end = end_of_line(source, first);
        parser.read_line(first, end);
        first = end;
    }
    parser.close_scopes(0, source.tokens.len());
    parser.drafts
}

/// The index behind the last token of the logical line that begins at `first`.
fn end_of_line(source: &ScannedSource<'_>, first: usize) -> usize {
    let mut index = first;
    loop {
        index = source.mate(index).max(index) + 1;
        let (Some(token), Some(previous)) = (source.tokens.get(index), source.tokens.get(index - 1)) else {
            return source.tokens.len();
        };
        let gap = source.text.get(previous.end as usize..token.start as usize).unwrap_or("");
        if gap.contains('\n') && !is_continued(gap) {
            return index;
        }
    }
}

/// Whether the text between two tokens joins all of its lines with backslashes.
fn is_continued(gap: &str) -> bool {
    let joined = gap.rsplit_once('\n').map_or("", |(joined, _)| joined);
    joined.split('\n').all(|line| !line.contains('#') && line.trim_end().ends_with('\\'))
}

fn indentation_of(source: &ScannedSource<'_>, index: usize) -> usize {
    let Some(token) = source.tokens.get(index) else { return 0 };
    let before = source.text.as_bytes().get(..token.start as usize).unwrap_or_default();
    let blanks = before.iter().rev().take_while(|byte| matches!(**byte, b' ' | b'\t' | 0x0c)).count();
    before[before.len() - blanks..]
        .iter()
        .fold(0, |column, byte| if *byte == b'\t' { column / 8 * 8 + 8 } else { column + 1 })
}

impl PythonParser<'_, '_> {
    fn read_line(&mut self, first: usize, end: usize) {
        let indentation = indentation_of(self.source, first);
        self.close_scopes(indentation, first);
        self.compounds.retain(|compound| compound.indentation <= indentation);
        if self.source.code(first) == "@" {
            self.decorators.get_or_insert(first);
            return;
        }
        let is_async = self.source.code(first) == "async" && self.source.is_word(first + 1);
        let start = first + usize::from(is_async);
        let head = self.decorators.take().unwrap_or(first);
        match self.source.code(start) {
            "def" if self.source.is_word(start + 1) => self.open_scope(indentation, head, first, start, end, true),
            "class" if self.source.is_word(start + 1) => self.open_scope(indentation, head, first, start, end, false),
            _ => self.read_statements(start, end, indentation),
        }
    }

    fn open_scope(
        &mut self,
        indentation: usize,
        head: usize,
        first: usize,
        start: usize,
        end: usize,
        is_function: bool,
    ) {
        let outer = self.scopes.last().map_or("", |scope| scope.name.as_str());
        let name = join_names(outer, self.source.text_of(start + 1));
        let colon = self.find_colon(start + 2, end);
        let function = is_function.then_some(self.drafts.len());
        if is_function {
            let mut draft = FunctionDraft::new(name.clone(), head, first);
            draft.end_token = end;
            draft.has_docstring = is_string(self.source, colon + 1);
            self.drafts.push(draft);
        }
        self.scopes.push(PythonScope { indentation, name, function });
        if colon + 1 < end {
            self.read_statements(colon + 1, end, indentation + 1);
        }
    }

    /// The colon behind a header, from `from` on; the last token of the line if there is none.
    fn find_colon(&self, from: usize, end: usize) -> usize {
        let mut index = from;
        while index < end {
            if self.source.code(index) == ":" {
                return index;
            }
            index = self.source.mate(index).max(index) + 1;
        }
        end.saturating_sub(1)
    }

    fn close_scopes(&mut self, indentation: usize, end_token: usize) {
        while self.scopes.last().is_some_and(|scope| scope.indentation >= indentation) {
            let Some(scope) = self.scopes.pop() else { return };
            if let Some(draft) = scope.function.and_then(|function| self.drafts.get_mut(function)) {
                draft.end_token = end_token.max(draft.first_token + 1);
            }
        }
    }

    fn add(&mut self, decisions: i32) {
        let function = self.scopes.last().and_then(|scope| scope.function);
        if let Some(draft) = function.and_then(|function| self.drafts.get_mut(function)) {
            draft.complexity = draft.complexity.saturating_add_signed(decisions).max(1);
        }
    }

    fn set_compound(&mut self, indentation: usize, kind: CompoundKind) {
        self.compounds.retain(|compound| compound.indentation < indentation);
        self.compounds.push(Compound { indentation, kind });
    }

    /// Reads the statements of a line that is no header of a function or class.
    fn read_statements(&mut self, first: usize, end: usize, indentation: usize) {
        let compound = self.compounds.last().filter(|compound| compound.indentation == indentation);
        let owner = compound.map(|compound| compound.kind);
        match self.source.code(first) {
            "for" | "while" => self.set_compound(indentation, CompoundKind::Loop),
            "if" | "with" => self.set_compound(indentation, CompoundKind::Other),
            "try" => self.set_compound(indentation, CompoundKind::Try),
            "except" if self.source.code(first + 1) == "*" => self.set_compound(indentation, CompoundKind::Other),
            "except" => self.add(1),
            "else" if matches!(owner, Some(CompoundKind::Loop | CompoundKind::Try)) => self.add(1),
            "match" if self.source.code(end.saturating_sub(1)) == ":" && self.source.code(end) == "case" => {
                self.set_compound(indentation, CompoundKind::Match { has_capture: false });
            }
            "case" if self.is_case(first, end, indentation) => {
                self.read_case(first, end);
                return;
            }
            _ => {}
        }
        self.count_decisions(first, end);
    }

    fn is_case(&self, first: usize, end: usize, indentation: usize) -> bool {
        let mut around = self.compounds.iter().rev().filter(|compound| compound.indentation < indentation);
        matches!(around.next(), Some(Compound { kind: CompoundKind::Match { .. }, .. }))
            && self.source.code(self.find_colon(first + 1, end)) == ":"
    }

    fn read_case(&mut self, first: usize, end: usize) {
        let indentation = indentation_of(self.source, first);
        self.add(1);
        let colon = self.find_colon(first + 1, end);
        let guard = (first + 1..colon).find(|index| self.source.code(*index) == "if");
        let is_capture = guard.unwrap_or(colon) == first + 2
            && self.source.is_word(first + 1)
            && !matches!(self.source.text_of(first + 1), "None" | "True" | "False");
        let mut around = self.compounds.iter_mut().rev().filter(|compound| compound.indentation < indentation);
        if let Some(Compound { kind: CompoundKind::Match { has_capture }, .. }) = around.next()
            && is_capture
            && !*has_capture
        {
            *has_capture = true;
            self.add(-1);
        }
        self.count_decisions(guard.map_or(colon, |guard| guard + 1), end);
    }

    /// Adds what decides within some tokens. An `assert` adds one, whatever it asserts.
    fn count_decisions(&mut self, first: usize, end: usize) {
        let mut is_statement_start = true;
        let mut is_assertion = false;
        let mut index = first;
        while index < end {
            let code = self.source.code(index);
            let starts_statement = is_statement_start;
            is_statement_start = matches!(code, ";" | ":");
            if code == ";" {
                is_assertion = false;
            } else if code == "assert" && starts_statement {
                self.add(1);
                is_assertion = true;
            } else if !is_assertion && self.source.is_word(index) && is_python_decision(code) {
                self.add(1);
            }
            index += 1;
        }
    }
}
