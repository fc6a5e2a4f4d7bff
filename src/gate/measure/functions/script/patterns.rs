//! Parameters and destructuring patterns: each default value decides once.

use super::{Parsed, ScriptParser, skip_type};

impl ScriptParser<'_, '_> {
    pub(super) fn parse_parameters(&mut self) -> Parsed {
        let end = self.closing();
        self.position += 1;
        while self.position < end {
            let before = self.position;
            self.parse_parameter()?;
            self.accept(",");
            self.position += usize::from(self.position == before);
        }
        self.position = end + 1;
        Ok(())
    }

    fn parse_parameter(&mut self) -> Parsed {
        while self.accept("@") {
            self.parse_postfix()?;
        }
        while matches!(self.code(), "public" | "private" | "protected" | "readonly" | "override")
            && (self.is_word_ahead(1) || matches!(self.code_ahead(1), "{" | "["))
        {
            self.position += 1;
        }
        self.accept("...");
        self.parse_target()?;
        self.accept("?");
        if self.code() == ":" {
            self.position = skip_type(self.source, self.position + 1);
        }
        self.parse_default_value()
    }

    fn parse_default_value(&mut self) -> Parsed {
        if self.accept("=") {
            self.add_decision();
            self.nest(|parser| parser.parse_assignment(false))?;
        }
        Ok(())
    }

    /// Parses what a value is bound to: a name, a pattern or a member of an object.
    pub(super) fn parse_target(&mut self) -> Parsed {
        match self.code() {
            "{" => self.nest(Self::parse_object_pattern),
            "[" => self.nest(Self::parse_array_pattern),
            _ if self.is_word() && !matches!(self.code_ahead(1), "." | "[" | "(" | "?.") => {
                self.position += 1;
                Ok(())
            }
            _ => self.nest(Self::parse_postfix),
        }
    }

    fn is_pattern(&self) -> bool {
        matches!(self.code(), "{" | "[") && !matches!(self.source.code(self.closing() + 1), "." | "[" | "(" | "?.")
    }

    fn parse_element(&mut self) -> Parsed {
        if self.is_pattern() || !matches!(self.code(), "{" | "[") {
            self.parse_target()?;
        } else {
            self.parse_postfix()?;
        }
        self.parse_default_value()
    }

    fn parse_array_pattern(&mut self) -> Parsed {
        let end = self.closing();
        self.position += 1;
        while self.position < end {
            let before = self.position;
            if !self.accept(",") {
                self.accept("...");
                self.parse_element()?;
            }
            self.position += usize::from(self.position == before);
        }
        self.position = end + 1;
        Ok(())
    }

    fn parse_object_pattern(&mut self) -> Parsed {
        let end = self.closing();
        self.position += 1;
        while self.position < end {
            let before = self.position;
            if self.accept("...") {
                self.parse_target()?;
            } else if self.code() != "," {
                self.parse_key()?;
                if self.accept(":") {
                    self.parse_element()?;
                } else {
                    self.parse_default_value()?;
                }
            }
            self.accept(",");
            self.position += usize::from(self.position == before);
        }
        self.position = end + 1;
        Ok(())
    }

    /// Parses the key of a property: a name, a string, a number or code in brackets.
    pub(super) fn parse_key(&mut self) -> Parsed {
        if self.code() == "[" {
            let end = self.closing();
            self.position += 1;
            self.parse_expressions(end)?;
            self.position = end + 1;
        } else if !matches!(self.code(), "," | "}" | "{" | "(" | ")" | "]" | ":" | "=" | ";") {
            self.position += 1;
        }
        Ok(())
    }
}
