//! Expressions.

use super::{Parsed, ScriptParser, TokenKind};
use crate::gate::measure::functions::script_types::{skip_type, skip_type_arguments};

impl<'a> ScriptParser<'_, 'a> {
    pub(super) fn parse_expression(&mut self) -> Parsed {
        loop {
            let before = self.position;
            self.parse_assignment(false)?;
            if !self.accept(",") || self.position == before {
                return Ok(());
            }
        }
    }

    /// Parses an expression without commas. `is_before_colon`: a colon behind it belongs to a condition around it.
    pub(super) fn parse_assignment(&mut self, is_before_colon: bool) -> Parsed {
        self.nest(|parser| parser.parse_operands(is_before_colon))
    }

    fn parse_operands(&mut self, is_before_colon: bool) -> Parsed {
        loop {
            if self.is_arrow_function(is_before_colon) {
                return self.parse_arrow_function();
            }
            if self.skip_prefix() {
                continue;
            }
            let before = self.position;
            if matches!(self.code(), "{" | "[") && self.source.code(self.closing() + 1) == "=" {
                self.parse_target()?;
            } else {
                self.parse_postfix()?;
            }
            if self.position == before && self.code() != "?" {
                return Ok(());
            }
            if !self.parse_operator(before)? {
                return Ok(());
            }
        }
    }

    /// Skips a prefix operator. Says whether an operand has to follow.
    fn skip_prefix(&mut self) -> bool {
        match self.code() {
            "!" | "~" | "+" | "-" | "++" | "--" | "..." => {}
            "typeof" | "void" | "delete" | "await" | "new" | "yield" => {
                if matches!(self.code_ahead(1), ")" | "]" | "}" | "," | ";" | ":" | "=>" | "=" | "" | "in" | "of" | "?")
                    && self
                        .source
                        .tokens
                        .get(self.position + 1)
                        .is_none_or(|token| matches!(token.kind, TokenKind::Word | TokenKind::Punctuation))
                {
                    return false;
                }
                if self.code() == "new" && self.code_ahead(1) == "." {
                    return false;
                }
                if self.code() == "yield" && !self.is_on_line_ahead(1) {
                    return false;
                }
                if self.code() == "yield" && self.code_ahead(1) == "*" {
                    self.position += 1;
                }
            }
            "<" if self.is_typescript => {
                let Some(behind) = skip_type_arguments(self.source, self.position) else { return false };
                self.position = behind;
                return true;
            }
            _ => return false,
        }
        self.name_hint = None;
        self.position += 1;
        true
    }

    /// Parses the operator behind an operand that began at `operand`. Says whether another operand follows.
    fn parse_operator(&mut self, operand: usize) -> Result<bool, super::MeasureError> {
        loop {
            match self.code() {
                "&&" | "||" | "??" | "&&=" | "||=" | "??=" => self.add_decision(),
                "?" => {
                    self.add_decision();
                    self.position += 1;
                    self.name_hint = None;
                    self.parse_assignment(true)?;
                    return Ok(self.accept(":"));
                }
                "as" | "satisfies" if self.is_typescript && self.is_on_line() => {
                    self.position += 1;
                    self.position =
                        if self.code() == "const" { self.position + 1 } else { skip_type(self.source, self.position) };
                    continue;
                }
                "=" => {
                    self.name_hint = (self.position > operand && self.source.is_word(self.position - 1))
                        .then(|| self.source.code(self.position - 1));
                    self.position += 1;
                    return Ok(true);
                }
                ">" => {
                    while matches!(self.code_ahead(1), ">" | ">=") {
                        self.position += 1;
                    }
                }
                "+" | "-" | "*" | "/" | "%" | "**" | "<" | "<<" | "<=" | ">=" | "==" | "!=" | "===" | "!==" | "&"
                | "|" | "^" | "+=" | "-=" | "*=" | "/=" | "%=" | "**=" | "<<=" | "&=" | "|=" | "^=" | "in"
                | "instanceof" => {}
                _ => return Ok(false),
            }
            self.name_hint = None;
            self.position += 1;
            return Ok(true);
        }
    }

    pub(super) fn parse_postfix(&mut self) -> Parsed {
        let before = self.position;
        self.parse_primary()?;
        if self.position == before {
            return Ok(());
        }
        loop {
            match self.code() {
                "." => self.position += 2,
                "?." => {
                    self.add_decision();
                    self.position += 1;
                    self.position += usize::from(self.is_word());
                }
                "(" | "[" => {
                    let end = self.closing();
                    self.position += 1;
                    self.name_hint = None;
                    self.parse_expressions(end)?;
                    self.position = end + 1;
                }
                "++" | "--" if self.is_on_line() => self.position += 1,
                "!" if self.is_typescript && self.is_on_line() => self.position += 1,
                "<" if self.is_typescript => match skip_type_arguments(self.source, self.position) {
                    Some(behind) if self.can_follow_type_arguments(behind) => self.position = behind,
                    _ => return Ok(()),
                },
                _ if self.is_template() => self.parse_parts()?,
                _ => return Ok(()),
            }
        }
    }

    fn can_follow_type_arguments(&self, index: usize) -> bool {
        let Some(token) = self.source.tokens.get(index) else { return true };
        match token.kind {
            TokenKind::Punctuation => {
                matches!(
                    self.source.code(index),
                    "(" | ")" | "]" | "}" | "," | ";" | ":" | "{" | "." | "?." | "=" | "&&" | "||"
                )
            }
            TokenKind::Part | TokenKind::Literal => self.source.text_of(index).starts_with('`'),
            TokenKind::Word => matches!(self.source.code(index), "implements" | "as"),
            _ => false,
        }
    }

    fn is_template(&self) -> bool {
        matches!(self.kind(), Some(TokenKind::Part | TokenKind::Literal))
            && self.source.text_of(self.position).starts_with('`')
    }

    fn parse_primary(&mut self) -> Parsed {
        match self.kind() {
            Some(TokenKind::Number | TokenKind::LastPart) => {
                self.position += 1;
                return Ok(());
            }
            Some(TokenKind::Literal | TokenKind::Part) => return self.parse_parts(),
            _ => {}
        }
        match self.code() {
            "function" => self.parse_function(self.position),
            "async" if self.code_ahead(1) == "function" && self.is_on_line_ahead(1) => {
                self.position += 1;
                self.parse_function(self.position - 1)
            }
            "class" => self.parse_class(),
            "@" => {
                self.position += 1;
                self.parse_postfix()
            }
            "(" => {
                let end = self.closing();
                self.position += 1;
                self.parse_expressions(end)?;
                self.position = end + 1;
                Ok(())
            }
            "[" => {
                let end = self.closing();
                self.position += 1;
                self.name_hint = None;
                self.parse_expressions(end)?;
                self.position = end + 1;
                Ok(())
            }
            "{" => {
                self.name_hint = None;
                self.nest(Self::parse_object)
            }
            "case" | "default" | "else" | "catch" | "finally" | "in" | "of" | "instanceof" => Ok(()),
            _ if self.is_word() => {
                self.position += 1;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Parses a string, or a template string or JSX element with its code in braces.
    fn parse_parts(&mut self) -> Parsed {
        while self.kind() == Some(TokenKind::Part) {
            self.position += 1;
            if self.code() != "{" {
                return Ok(());
            }
            let end = self.closing();
            self.position += 1;
            self.parse_expressions(end)?;
            self.position = end + 1;
        }
        if matches!(self.kind(), Some(TokenKind::LastPart | TokenKind::Literal)) {
            self.position += 1;
        }
        Ok(())
    }

    fn is_arrow_function(&self, is_before_colon: bool) -> bool {
        let mut index = self.position;
        if self.source.code(index) == "async" && self.is_on_line_ahead(1) && self.source.code(index + 1) != "=>" {
            if !self.source.is_word(index + 1) && !matches!(self.source.code(index + 1), "(" | "<") {
                return false;
            }
            index += 1;
        }
        if self.source.is_word(index) {
            return self.source.code(index + 1) == "=>";
        }
        if self.is_typescript && self.source.code(index) == "<" {
            match super::skip_type_parameters(self.source, index) {
                Some(behind) => index = behind,
                None => return false,
            }
        }
        if self.source.code(index) != "(" {
            return false;
        }
        let end = self.source.mate(index);
        match self.source.code(end + 1) {
            "=>" => end > index,
            ":" if self.is_typescript => {
                let has_types = end == index + 1
                    || matches!(self.source.code(index + 2), ":" | "?")
                    || matches!(self.source.code(index + 1), "{" | "[" | "...");
                (!is_before_colon || has_types) && self.source.code(skip_type(self.source, end + 2)) == "=>"
            }
            _ => false,
        }
    }

    fn parse_arrow_function(&mut self) -> Parsed {
        let first = self.position;
        let name: Option<&'a str> = self.name_hint.take();
        let head = if name.is_some() { self.statement } else { first };
        self.parse_as_function(name, head, first, |parser| {
            if parser.code() == "async" && parser.code_ahead(1) != "=>" {
                parser.position += 1;
            }
            if parser.code() == "<" {
                parser.skip_type_parameters();
            }
            if parser.code() == "(" {
                parser.parse_parameters()?;
                if parser.code() == ":" {
                    parser.position = skip_type(parser.source, parser.position + 1);
                }
            } else {
                parser.position += 1;
            }
            parser.accept("=>");
            if parser.code() == "{" {
                parser.parse_block()?;
            } else {
                parser.parse_assignment(false)?;
            }
            Ok(true)
        })
    }
}
