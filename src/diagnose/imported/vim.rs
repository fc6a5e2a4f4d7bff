//! Regexes of Vim, "magic" as `errorformat` has them (`:help pattern`), in the words of the `regex` crate.

/// A part of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ScanfPart {
    /// A character of a Vim pattern.
    Vim(char),
    /// A regex of the `regex` crate, taken as it is.
    Done(String),
}

/// The pattern in the other dialect.
///
/// # Errors
/// What the `regex` crate does not have (lookaround, `\zs`), and what is not known.
pub(super) fn translate_parts(parts: &[ScanfPart]) -> Result<String, String> {
    let mut out = String::new();
    let mut at = 0;
    while let Some(part) = parts.get(at) {
        at += 1;
        match part {
            ScanfPart::Done(regex) => out.push_str(regex),
            ScanfPart::Vim('\\') => at = translate_escape(parts, at, &mut out)?,
            ScanfPart::Vim('[') => at = translate_class(parts, at, &mut out),
            ScanfPart::Vim(c @ ('*' | '.' | '^' | '$')) => out.push(*c),
            ScanfPart::Vim(c) => append_literal(*c, &mut out),
        }
    }
    Ok(out)
}

/// A character that means itself.
fn append_literal(c: char, out: &mut String) {
    if c.is_ascii_punctuation() && !matches!(c, '<' | '>') {
        out.push('\\');
    }
    out.push(c);
}

fn vim_character(parts: &[ScanfPart], at: usize) -> Option<char> {
    match parts.get(at) {
        Some(ScanfPart::Vim(c)) => Some(*c),
        _ => None,
    }
}

/// What follows a backslash; the position after it.
fn translate_escape(parts: &[ScanfPart], at: usize, out: &mut String) -> Result<usize, String> {
    let Some(c) = vim_character(parts, at) else { return Err("a `\\` with nothing after it".to_owned()) };
    let known = match c {
        '(' => "(?:",
        ')' => ")",
        '|' => "|",
        '+' => "+",
        '?' | '=' => "?",
        '<' | '>' => "\\b",
        'd' => "[0-9]",
        'D' => "[^0-9]",
        's' => "[ \\t]",
        'S' => "[^ \\t]",
        'w' => "[0-9A-Za-z_]",
        'W' => "[^0-9A-Za-z_]",
        'a' => "[A-Za-z]",
        'A' => "[^A-Za-z]",
        'l' => "[a-z]",
        'L' => "[^a-z]",
        'u' => "[A-Z]",
        'U' => "[^A-Z]",
        'x' => "[0-9A-Fa-f]",
        'X' => "[^0-9A-Fa-f]",
        'o' => "[0-7]",
        'h' => "[A-Za-z_]",
        'i' | 'k' => "[0-9A-Za-z_\\x80-\\xFF]",
        'f' => FILE_NAME_CHARACTER,
        'p' => "[^\\x00-\\x1F\\x7F]",
        'e' => "\\x1B",
        't' => "\\t",
        'r' => "\\r",
        'b' => "\\x08",
        'n' => "\\n",
        '%' if vim_character(parts, at + 1) == Some('(') => {
            out.push_str("(?:");
            return Ok(at + 2);
        }
        '{' => return translate_repetition(parts, at + 1, out),
        '@' | 'z' | '&' | '%' | '_' | 'v' | 'V' | 'c' | 'C' | '1'..='9' => {
            return Err(format!("`\\{c}` can't be used here"));
        }
        c => {
            append_literal(c, out);
            return Ok(at + 1);
        }
    };
    out.push_str(known);
    Ok(at + 1)
}

/// A character of a file name, `'isfname'` on Unix.
pub(super) const FILE_NAME_CHARACTER: &str = "[0-9A-Za-z/.\\-_+,#$%~=\\x80-\\xFF]";

/// `\{n,m}`, `\{-n,m}`.
fn translate_repetition(parts: &[ScanfPart], at: usize, out: &mut String) -> Result<usize, String> {
    let mut inside = String::new();
    let mut at = at;
    loop {
        match vim_character(parts, at) {
            Some('}') => break,
            Some('\\') if vim_character(parts, at + 1) == Some('}') => {
                at += 1;
                break;
            }
            Some(c) => inside.push(c),
            None => return Err("a `\\{` is not closed".to_owned()),
        }
        at += 1;
    }
    let (lazy, counts) = inside.strip_prefix('-').map_or(("", inside.as_str()), |counts| ("?", counts));
    let (from, to) = counts.split_once(',').map_or((counts, None), |(from, to)| (from, Some(to)));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(from) || !to.is_none_or(digits) {
        return Err(format!("`\\{{{inside}}}` is not a repetition"));
    }
    let from = if from.is_empty() { "0" } else { from };
    match to {
        _ if counts.is_empty() => out.push('*'),
        None => out.push_str(&format!("{{{from}}}")),
        Some(to) => out.push_str(&format!("{{{from},{to}}}")),
    }
    out.push_str(lazy);
    Ok(at + 1)
}

/// `[…]`; the position after it. A `[` that is not closed means itself.
fn translate_class(parts: &[ScanfPart], at: usize, out: &mut String) -> usize {
    let mut end = at + usize::from(vim_character(parts, at) == Some('^'));
    end += usize::from(vim_character(parts, end) == Some(']'));
    while vim_character(parts, end).is_some_and(|c| c != ']') {
        end += 1;
    }
    if vim_character(parts, end) != Some(']') {
        out.push_str("\\[");
        return at;
    }
    let inside: Vec<char> = (at..end).filter_map(|at| vim_character(parts, at)).collect();
    let mut class = String::new();
    let mut index = 0;
    if inside.first() == Some(&'^') {
        class.push('^');
        index = 1;
    }
    while let Some(&c) = inside.get(index) {
        let next = inside.get(index + 1).copied();
        index += 1;
        match (c, next) {
            ('\\', Some(escaped @ ('e' | 't' | 'r' | 'b' | 'n'))) => {
                class.push_str(match escaped {
                    'e' => "\\x1B",
                    't' => "\\t",
                    'r' => "\\r",
                    'b' => "\\x08",
                    _ => "\\n",
                });
                index += 1;
            }
            ('\\', Some(escaped @ ('\\' | ']' | '^' | '-'))) => {
                class.push('\\');
                class.push(escaped);
                index += 1;
            }
            ('-', _) => class.push('-'),
            (c, _) if c.is_ascii_punctuation() && !matches!(c, '<' | '>') => {
                class.push('\\');
                class.push(c);
            }
            (c, _) => class.push(c),
        }
    }
    let wide = !class.is_ascii();
    out.push_str(if wide { "(?u:[" } else { "[" });
    out.push_str(&class);
    out.push_str(if wide { "])" } else { "]" });
    end + 1
}
