//! Functions, classes and objects.

use super::{Parsed, ScriptParser, TokenKind, skip_type};
use crate::gate::measure::functions::ANONYMOUS;

impl<'a> ScriptParser<'_, 'a> {
    /// Parses a function at `function`; `first` is its first token, which may be `async`.
    pub(super) fn parse_function(&mut self, first: usize) -> Parsed {
        let hint = self.name_hint.take();
        self.position += 1;
        self.accept("*");
        let own_name = self.is_word().then(|| self.code());
        self.position += usize::from(own_name.is_some());
        let name = own_name.or(hint);
        let head = if name.is_some() { self.statement } else { first };
        self.parse_as_function(name, head, first, Self::parse_signature_and_body)
    }

    pub(super) fn parse_class(&mut self) -> Parsed {
        let hint = self.name_hint.take();
        self.position += 1;
        let own_name = (self.is_word() && !matches!(self.code(), "extends" | "implements")).then(|| self.code());
        self.position += usize::from(own_name.is_some());
        self.skip_type_parameters();
        if self.accept("extends") {
            self.nest(Self::parse_postfix)?;
            self.skip_type_parameters();
        }
        if self.accept("implements") {
            while self.code() != "{" && self.position < self.source.tokens.len() {
                let before = self.position;
                self.position = skip_type(self.source, self.position);
                self.position += usize::from(self.position == before);
            }
        }
        if self.code() != "{" {
            return Ok(());
        }
        self.enter_name(own_name.or(hint).unwrap_or(ANONYMOUS));
        let statement = self.statement;
        let parsed = self.nest(Self::parse_class_body);
        self.statement = statement;
        self.names.pop();
        parsed
    }

    fn parse_class_body(&mut self) -> Parsed {
        let end = self.closing();
        self.position += 1;
        while self.position < end {
            let before = self.position;
            self.statement = self.position;
            self.parse_member()?;
            self.position += usize::from(self.position == before);
        }
        self.position = end + 1;
        Ok(())
    }

    fn parse_member(&mut self) -> Parsed {
        if self.accept(";") {
            return Ok(());
        }
        while self.accept("@") {
            self.parse_postfix()?;
        }
        let first = self.position;
        while self.is_modifier() {
            if self.code() == "static" && self.code_ahead(1) == "{" {
                self.position += 1;
                return self.parse_as_function(Some("static"), self.statement, first, |parser| {
                    parser.parse_block()?;
                    Ok(true)
                });
            }
            self.position += 1;
        }
        self.accept("*");
        let name = self.key_name();
        self.parse_key()?;
        if matches!(self.code(), "?" | "!") {
            self.position += 1;
        }
        if matches!(self.code(), "(" | "<") {
            return self.parse_as_function(name, self.statement, first, Self::parse_signature_and_body);
        }
        if self.code() == ":" {
            self.position = skip_type(self.source, self.position + 1);
        }
        if self.accept("=") {
            let value = self.position;
            self.parse_as_function(name, self.statement, value, |parser| {
                parser.parse_assignment(false)?;
                Ok(true)
            })?;
        }
        Ok(())
    }

    /// Whether the current word modifies the member that follows.
    fn is_modifier(&self) -> bool {
        let is_known = matches!(
            self.code(),
            "static"
                | "async"
                | "get"
                | "set"
                | "public"
                | "private"
                | "protected"
                | "readonly"
                | "abstract"
                | "override"
                | "declare"
                | "accessor"
        );
        is_known
            && !matches!(self.code_ahead(1), "(" | "=" | ";" | "}" | "?" | "!" | ":" | "<" | ",")
            && (self.code() != "async" || self.is_on_line_ahead(1))
    }

    /// The name that the key at the current token gives.
    fn key_name(&self) -> Option<&'a str> {
        let text = self.source.text_of(self.position);
        match self.kind() {
            Some(TokenKind::Word | TokenKind::Number) => Some(text),
            Some(TokenKind::Literal) => Some(text.trim_matches(['"', '\''])),
            _ => None,
        }
    }

    pub(super) fn parse_object(&mut self) -> Parsed {
        let end = self.closing();
        self.position += 1;
        let statement = self.statement;
        while self.position < end {
            let before = self.position;
            self.statement = self.position;
            self.parse_property()?;
            self.accept(",");
            self.position += usize::from(self.position == before);
        }
        self.statement = statement;
        self.position = end + 1;
        Ok(())
    }

    fn parse_property(&mut self) -> Parsed {
        if self.accept("...") {
            return self.parse_assignment(false);
        }
        let first = self.position;
        while matches!(self.code(), "async" | "get" | "set")
            && !matches!(self.code_ahead(1), "," | ":" | "(" | "}" | "=" | "<")
        {
            self.position += 1;
        }
        self.accept("*");
        let name = self.key_name();
        self.parse_key()?;
        match self.code() {
            "(" | "<" => self.parse_as_function(name, self.statement, first, Self::parse_signature_and_body),
            ":" => {
                self.position += 1;
                self.name_hint = name;
                self.parse_assignment(false)
            }
            "=" => {
                self.position += 1;
                self.add_decision();
                self.parse_assignment(false)
            }
            _ => Ok(()),
        }
    }
}
