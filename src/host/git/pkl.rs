//! `hk.pkl`, as far as one has to understand Pkl to find `check = "…"` in it.

use std::ops::Range;

/// Shells whose words are those of POSIX.
const SHELLS: [&str; 5] = ["sh", "bash", "dash", "zsh", "ksh"];

/// The contents of the plain strings that are assigned to `check`, with their places. `None` when a step names a
/// shell that is not POSIX-like, or the text can't be parsed.
pub(super) fn checks(text: &str) -> Option<Vec<Range<usize>>> {
    let mut found = Vec::new();
    // The name and the equals sign before the current place.
    let mut name = "";
    let mut is_assigned = false;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let at = text.len() - rest.len();
        if let Some(comment) = rest.strip_prefix("//") {
            rest = comment.trim_start_matches(|c| c != '\n');
        } else if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/")?.1;
        } else if first == '"' || first == '#' && rest.trim_start_matches('#').starts_with('"') {
            let string = string(rest)?;
            let content = &rest[string.content.clone()];
            if is_assigned && name == "check" && string.is_plain && !content.contains('\\') {
                found.push(at + string.content.start..at + string.content.end);
            }
            if is_assigned && name == "shell" && !is_posix(content) {
                return None;
            }
            is_assigned = false;
            rest = &rest[string.end..];
        } else if first.is_alphabetic() || first == '_' {
            let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            (name, rest) = rest.split_at(length);
            is_assigned = false;
        } else if let Some(compared) = rest.strip_prefix("==") {
            is_assigned = false;
            rest = compared;
        } else {
            is_assigned = first == '=' || is_assigned && first.is_whitespace();
            rest = &rest[first.len_utf8()..];
        }
    }
    Some(found)
}

/// A string at the start of a text.
struct PklLiteral {
    content: Range<usize>,
    end: usize,
    /// In single quotation marks, without marks of its own.
    is_plain: bool,
}

fn string(text: &str) -> Option<PklLiteral> {
    let hashes = text.len() - text.trim_start_matches('#').len();
    let (quote, is_long) = if text[hashes..].starts_with("\"\"\"") { ("\"\"\"", true) } else { ("\"", false) };
    let (close, escape) = (format!("{quote}{}", "#".repeat(hashes)), format!("\\{}", "#".repeat(hashes)));
    let start = hashes + quote.len();
    let mut at = start;
    loop {
        let rest = text.get(at..)?;
        if rest.starts_with(&close) {
            break;
        }
        let first = rest.chars().next()?;
        if first == '\n' && !is_long {
            return None;
        }
        if let Some(escaped) = rest.strip_prefix(&escape) {
            // What an interpolation holds may be a string with quotation marks of its own.
            if escaped.starts_with('(') {
                return None;
            }
            at += escape.len() + escaped.chars().next()?.len_utf8();
        } else {
            at += first.len_utf8();
        }
    }
    Some(PklLiteral { content: start..at, end: at + close.len(), is_plain: hashes == 0 && !is_long })
}

fn is_posix(shell: &str) -> bool {
    let program = shell.split_whitespace().next().unwrap_or_default();
    SHELLS.contains(&program.rsplit('/').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<Vec<&str>> {
        checks(text).map(|places| places.into_iter().map(|place| &text[place]).collect())
    }

    #[test]
    fn plain_strings_that_are_assigned_to_check_are_found() {
        let text = "amends \"package://x#/Config.pkl\"\n// check = \"a\"\n/* check = \"b\" */\nhooks {\n  [\"é\"] { steps {\n    \
                    [\"check\"] { check = \"npm test\" ; fix = \"x\" }\n    [\"d\"] { check=\"eslint {{files}}\" }\n    \
                    [\"e\"] { check = \"\"\"\nlong \"c\"\n\"\"\" }\n    [\"f\"] { check = #\"raw\"# }\n    \
                    [\"g\"] { check = \"a \\\"b\\\"\" }\n    [\"h\"] { check_first = true; check = new Script { linux = \"l\" } }\n  }}\n}\n";
        assert_eq!(found(text), Some(vec!["npm test", "eslint {{files}}"]));
        assert_eq!(found("x = y.check == \"a\"\ncheck\n  =\n  \"b\""), Some(vec!["b"]));
    }

    #[test]
    fn what_is_beyond_us_is_left_alone() {
        for text in ["check = \"npm test\"\nshell = \"fish -c\"", "check = \"open", "a = \"\\(f(\"x\"))\"", "/* open"] {
            assert_eq!(found(text), None, "{text}");
        }
        assert_eq!(found("shell = \"/bin/bash -c\"\ncheck = \"x\""), Some(vec!["x"]));
    }
}
