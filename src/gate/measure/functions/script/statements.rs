//! Statements.

use super::{Parsed, ScriptParser, TokenKind, skip_type};

impl ScriptParser<'_, '_> {
    /// Parses statements up to the token at `end`, which it stops at, or to a closing bracket too many.
    pub(super) fn parse_statements(&mut self, end: usize) -> Parsed {
        while self.position < end {
            let before = self.position;
            self.parse_statement()?;
            if self.position == before {
                self.position += 1;
            }
        }
        self.position = end;
        Ok(())
    }

    pub(super) fn parse_block(&mut self) -> Parsed {
        let end = self.closing();
        self.position += 1;
        self.nest(|parser| parser.parse_statements(end))?;
        self.position = end + 1;
        Ok(())
    }

    fn parse_statement(&mut self) -> Parsed {
        self.statement = self.position;
        self.nest(Self::parse_any_statement)
    }

    fn parse_any_statement(&mut self) -> Parsed {
        self.name_hint = None;
        while self.code() == "@" {
            self.position += 1;
            self.parse_postfix()?;
        }
        if self.is_word() && self.code_ahead(1) == ":" && !matches!(self.code(), "default" | "case") {
            self.position += 2;
        }
        match self.code() {
            "{" => self.parse_block(),
            ";" => {
                self.position += 1;
                Ok(())
            }
            "if" | "for" | "while" | "do" | "switch" | "try" | "with" | "catch" => self.parse_control(),
            "return" | "throw" => {
                self.position += 1;
                if self.is_on_line() { self.parse_expression() } else { Ok(()) }
            }
            "break" | "continue" => {
                self.position += 1;
                self.position += usize::from(self.is_word() && self.is_on_line());
                Ok(())
            }
            "export" => self.parse_export(),
            "import" if !matches!(self.code_ahead(1), "(" | ".") => {
                self.skip_import();
                Ok(())
            }
            "const" | "let" | "var" | "using" if self.is_declaration() => self.parse_variables(),
            "function" | "async" | "class" => self.parse_declaration(),
            _ if self.is_typescript && self.is_word() && self.parse_typescript_statement()? => Ok(()),
            _ => {
                self.parse_expression()?;
                self.accept(";");
                Ok(())
            }
        }
    }

    fn parse_declaration(&mut self) -> Parsed {
        match self.code() {
            "function" => self.parse_function(self.position),
            "async" if self.code_ahead(1) == "function" && self.is_on_line_ahead(1) => {
                self.position += 1;
                self.parse_function(self.position - 1)
            }
            "class" if !matches!(self.code_ahead(1), "." | "=" | "(") => self.parse_class(),
            _ => {
                self.parse_expression()?;
                self.accept(";");
                Ok(())
            }
        }
    }

    fn is_declaration(&self) -> bool {
        if self.code() == "const" && self.code_ahead(1) == "enum" {
            return false;
        }
        self.is_word_ahead(1) && !matches!(self.code_ahead(1), "in" | "of" | "instanceof")
            || matches!(self.code_ahead(1), "{" | "[") && self.code() != "using"
    }

    fn parse_variables(&mut self) -> Parsed {
        self.position += 1;
        loop {
            let name = self.is_word().then(|| self.code());
            self.parse_target()?;
            self.accept("!");
            if self.code() == ":" {
                self.position = skip_type(self.source, self.position + 1);
            }
            if self.accept("=") {
                self.name_hint = name;
                self.parse_assignment(false)?;
            }
            if !self.accept(",") {
                break;
            }
        }
        self.accept(";");
        Ok(())
    }

    fn parse_parenthesised(&mut self) -> Parsed {
        if self.code() != "(" {
            return Ok(());
        }
        let end = self.closing();
        self.position += 1;
        self.parse_expressions(end)?;
        self.position = end + 1;
        Ok(())
    }

    /// Parses expressions, with whatever is between them, up to the token at `end`.
    pub(super) fn parse_expressions(&mut self, end: usize) -> Parsed {
        while self.position < end {
            let before = self.position;
            self.nest(Self::parse_expression)?;
            if self.position == before {
                self.position += 1;
            }
        }
        self.position = end;
        Ok(())
    }

    fn parse_control(&mut self) -> Parsed {
        match self.code() {
            "if" => self.parse_if(),
            "for" => self.parse_for(),
            "do" => {
                self.add_decision();
                self.position += 1;
                self.parse_statement()?;
                if self.accept("while") {
                    self.parse_parenthesised()?;
                }
                self.accept(";");
                Ok(())
            }
            "switch" => self.parse_switch(),
            "try" => self.parse_try(),
            word => {
                if word == "while" {
                    self.add_decision();
                }
                self.position += 1;
                self.parse_parenthesised()?;
                self.parse_statement()
            }
        }
    }

    fn parse_if(&mut self) -> Parsed {
        loop {
            self.add_decision();
            self.position += 1;
            self.parse_parenthesised()?;
            self.parse_statement()?;
            if !self.accept("else") {
                return Ok(());
            }
            if self.code() != "if" {
                return self.parse_statement();
            }
        }
    }

    fn parse_for(&mut self) -> Parsed {
        self.add_decision();
        self.position += 1;
        self.accept("await");
        if self.code() == "(" {
            let end = self.closing();
            self.position += 1;
            if matches!(self.code(), "const" | "let" | "var" | "using") {
                self.parse_variables()?;
            } else if matches!(self.code(), "{" | "[") {
                self.parse_target()?;
            }
            while self.position < end {
                let is_separator = matches!(self.code(), "of" | "in" | ";");
                self.position += usize::from(is_separator);
                let before = self.position;
                if self.position < end {
                    self.parse_expression()?;
                }
                self.position += usize::from(self.position == before && !is_separator);
            }
            self.position = end + 1;
        }
        self.parse_statement()
    }

    fn parse_switch(&mut self) -> Parsed {
        self.position += 1;
        self.parse_parenthesised()?;
        if self.code() != "{" {
            return Ok(());
        }
        let end = self.closing();
        self.position += 1;
        while self.position < end {
            let before = self.position;
            if self.code() == "case" {
                self.add_decision();
                self.position += 1;
                self.parse_expression()?;
                self.accept(":");
            } else if self.code() == "default" && self.code_ahead(1) == ":" {
                self.position += 2;
            } else {
                self.parse_statement()?;
            }
            self.position += usize::from(self.position == before);
        }
        self.position = end + 1;
        Ok(())
    }

    fn parse_try(&mut self) -> Parsed {
        self.position += 1;
        if self.code() == "{" {
            self.parse_block()?;
        }
        if self.accept("catch") {
            self.add_decision();
            if self.code() == "(" {
                let end = self.closing();
                self.position += 1;
                self.parse_target()?;
                self.position = end + 1;
            }
            if self.code() == "{" {
                self.parse_block()?;
            }
        }
        if self.accept("finally") && self.code() == "{" {
            self.parse_block()?;
        }
        Ok(())
    }

    fn parse_export(&mut self) -> Parsed {
        self.position += 1;
        match self.code() {
            "default" => {
                self.position += 1;
                match self.code() {
                    "function" | "async" | "class" | "@" | "abstract" | "interface" => self.parse_any_statement(),
                    _ => self.parse_expression(),
                }
            }
            "*" | "{" => {
                self.skip_import();
                Ok(())
            }
            "=" => {
                self.position += 1;
                self.parse_expression()
            }
            _ => self.parse_any_statement(),
        }
    }

    /// Skips the rest of an import or an export list, up to and with the name of its module.
    fn skip_import(&mut self) {
        let mut is_first = true;
        while let Some(kind) = self.kind() {
            if kind == TokenKind::Literal {
                self.position += 1;
                if matches!(self.code(), "with" | "assert") && self.code_ahead(1) == "{" {
                    self.position = self.source.mate(self.position + 1) + 1;
                }
                break;
            }
            let ends_list = !is_first && !self.is_on_line() && self.source.code(self.position - 1) == "}";
            if self.code() == ";" || ends_list && self.code() != "from" {
                break;
            }
            if self.code() == "=" {
                self.position += 1;
                break;
            }
            self.position = if self.code() == "{" { self.closing() + 1 } else { self.position + 1 };
            is_first = false;
        }
        self.accept(";");
    }

    /// Parses a statement that only TypeScript has; says whether it was one.
    fn parse_typescript_statement(&mut self) -> Result<bool, super::MeasureError> {
        let is_followed = self.is_word_ahead(1) && self.is_on_line_ahead(1);
        match self.code() {
            "declare" | "abstract" if is_followed => {
                self.position += 1;
                self.parse_any_statement()?;
            }
            "global" if self.code_ahead(1) == "{" => self.position += 1,
            "interface" if is_followed => {
                while self.position < self.source.tokens.len() && self.code() != "{" {
                    self.position =
                        if matches!(self.code(), "(" | "[") { self.closing() + 1 } else { self.position + 1 };
                    if self.code() == "<" {
                        self.skip_type_parameters();
                    }
                }
                self.position = self.closing() + 1;
            }
            "type" if is_followed && matches!(self.code_ahead(2), "=" | "<") => {
                self.position += 2;
                self.skip_type_parameters();
                if self.accept("=") {
                    self.position = skip_type(self.source, self.position);
                }
                self.accept(";");
            }
            "namespace" | "module" if self.kind_follows_module() => {
                while self.code() != "{" && self.is_on_line_ahead(1) {
                    self.position += 1;
                }
                if self.code() == "{" {
                    self.parse_block()?;
                }
            }
            "const" if self.code_ahead(1) == "enum" => {
                self.position += 1;
                self.parse_enum()?;
            }
            "enum" if is_followed => self.parse_enum()?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn kind_follows_module(&self) -> bool {
        let next = self.source.tokens.get(self.position + 1).map(|token| token.kind);
        matches!(next, Some(TokenKind::Word | TokenKind::Literal)) && self.is_on_line_ahead(1)
    }

    fn parse_enum(&mut self) -> Parsed {
        self.position += 2;
        if self.code() == "{" {
            let end = self.closing();
            self.position += 1;
            self.parse_expressions(end)?;
            self.position = end + 1;
        }
        Ok(())
    }
}
