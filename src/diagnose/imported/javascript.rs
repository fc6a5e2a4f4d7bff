//! Regexes of JavaScript, as problem matchers have them (ECMA-262, Annex B), in the words of the `regex` crate.
//! Groups keep their numbers.

use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::Chars;

/// The regex in the other dialect.
///
/// # Errors
/// What the `regex` crate does not have: lookaround and back-references.
pub(super) fn translate_regex(source: &str) -> Result<String, String> {
    let mut out = String::with_capacity(source.len() + 8);
    let mut rest = source.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' => translate_escape(&mut rest, &mut out, false)?,
            '[' => translate_class(&mut rest, &mut out)?,
            '(' => translate_group(&mut rest, &mut out)?,
            // A brace that begins no repetition means itself.
            '{' if !is_repetition(rest.clone()) => out.push_str("\\{"),
            '}' | ']' if !closes_class(&out) => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    Ok(out)
}

/// Whether the text so far ends in an open repetition, which a `}` closes.
fn closes_class(out: &str) -> bool {
    let digits = out.trim_end_matches(|c: char| c.is_ascii_digit() || c == ',');
    digits.ends_with('{') && !digits.ends_with("\\{")
}

fn is_repetition(rest: Peekable<Chars<'_>>) -> bool {
    let inside: String = rest.take_while(|c| *c != '}').collect();
    let (from, to) = inside.split_once(',').unwrap_or((inside.as_str(), ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    !from.is_empty() && inside.len() < 8 && digits(from) && digits(to)
}

fn translate_group(rest: &mut Peekable<Chars<'_>>, out: &mut String) -> Result<(), String> {
    out.push('(');
    if rest.peek() != Some(&'?') {
        return Ok(());
    }
    rest.next();
    let next = rest.next();
    match (next, rest.peek()) {
        (Some(':'), _) => out.push_str("?:"),
        (Some('<'), Some('=' | '!')) => return Err("lookbehind can't be used here".to_owned()),
        (Some('<'), _) => out.push_str("?P<"),
        (Some('=' | '!'), _) => return Err("lookahead can't be used here".to_owned()),
        _ => return Err("an unknown kind of `(?` group".to_owned()),
    }
    Ok(())
}

/// What follows a backslash.
fn translate_escape(rest: &mut Peekable<Chars<'_>>, out: &mut String, in_class: bool) -> Result<(), String> {
    let Some(c) = rest.next() else { return Err("ends in a backslash".to_owned()) };
    match c {
        'd' | 'D' | 'w' | 'W' | 's' | 'S' | 't' | 'n' | 'r' | 'f' | 'v' => {
            out.push('\\');
            out.push(c);
        }
        'b' if in_class => out.push_str("\\x08"),
        'b' | 'B' => {
            out.push('\\');
            out.push(c);
        }
        '0' => out.push_str("\\x00"),
        '1'..='9' => return Err("a back-reference can't be used here".to_owned()),
        'k' => return Err("a back-reference can't be used here".to_owned()),
        'u' | 'x' => {
            let want = if c == 'u' { 4 } else { 2 };
            let digits: String = rest.clone().take(want).collect();
            match u32::from_str_radix(&digits, 16) {
                Ok(code) if digits.len() == want => {
                    rest.by_ref().take(want).for_each(drop);
                    let _ = write!(out, "\\x{{{code:X}}}");
                }
                _ => out.push(c),
            }
        }
        c if c.is_ascii_punctuation() && !matches!(c, '<' | '>') => {
            out.push('\\');
            out.push(c);
        }
        c => out.push(c),
    }
    Ok(())
}

fn translate_class(rest: &mut Peekable<Chars<'_>>, out: &mut String) -> Result<(), String> {
    let negated = rest.next_if_eq(&'^').is_some();
    if rest.next_if_eq(&']').is_some() {
        // `[^]` is any character, `[]` none.
        out.push_str(if negated { "(?s:.)" } else { "[^\\x00-\\xFF]" });
        return Ok(());
    }
    let mut inside = String::new();
    loop {
        match rest.next() {
            None => return Err("a `[` is not closed".to_owned()),
            Some(']') => break,
            Some('\\') => translate_escape(rest, &mut inside, true)?,
            // Set operations of the `regex` crate.
            Some(c @ ('[' | '&' | '~')) => {
                inside.push('\\');
                inside.push(c);
            }
            Some('-') if inside.ends_with('-') && !inside.ends_with("\\-") => inside.push_str("\\-"),
            Some(c) => inside.push(c),
        }
    }
    // Beyond ASCII a class has to be one of characters instead of bytes.
    let wide = !inside.is_ascii() || inside.contains("\\x{");
    let (open, close) = if wide { ("(?u:[", "])") } else { ("[", "]") };
    out.push_str(open);
    if negated {
        out.push('^');
    }
    out.push_str(&inside);
    out.push_str(close);
    Ok(())
}
