//! `errorformat` of Vim (`:help errorformat`), interpreted as `quickfix.c` does it: patterns are tried in their order,
//! case doesn't count, and `%E`, `%W`, `%I`, `%N` and `%A` begin a message that `%C` and `%Z` go on with.

use regex::bytes::{Captures, Regex, RegexBuilder};

use super::MatcherHit;
use super::vim::{FILE_NAME_CHARACTER, ScanfPart, translate_parts};
use crate::base::limits::{BLOCK_LINES_MAX, DEFINITION_REGEX_BYTES_MAX, DEFINITION_RULES_MAX};
use crate::base::one_or_many::OneOrMany;
use crate::diagnose::{Severity, engine};

/// A list of patterns.
#[derive(Debug, Clone)]
pub(crate) struct ErrorFormat {
    patterns: Vec<ErrorformatPattern>,
}

#[derive(Debug, Clone)]
struct ErrorformatPattern {
    regex: Regex,
    /// One of `DXAEWINCZGOPQ`.
    prefix: Option<char>,
    /// `+` or `-`.
    flag: Option<char>,
    /// `%>`: the next line is tried from this pattern on.
    stays: bool,
}

impl ErrorFormat {
    /// One text is split at its commas, as `:set errorformat` does it; of several, each is one pattern, as reviewdog
    /// takes them.
    ///
    /// # Errors
    /// The pattern and what is wrong with it.
    pub(crate) fn parse(texts: &OneOrMany) -> Result<Self, String> {
        let texts = match texts {
            OneOrMany::One(text) => split_formats(text),
            OneOrMany::Many(texts) => texts.clone(),
        };
        if texts.len() > DEFINITION_RULES_MAX {
            return Err(format!("more than {DEFINITION_RULES_MAX} patterns"));
        }
        let pattern = |text: &String| ErrorformatPattern::parse(text).map_err(|reason| format!("`{text}`: {reason}"));
        Ok(ErrorFormat { patterns: texts.iter().map(pattern).collect::<Result<_, _>>()? })
    }

    /// What is seen in `lines`.
    pub(crate) fn run(&self, lines: &[&str]) -> Vec<MatcherHit> {
        let mut state = ErrorformatState::default();
        for (at, line) in lines.iter().enumerate() {
            self.match_line(&mut state, at, line);
        }
        state.seen.retain(|seen| seen.file.is_some() || seen.severity.is_some() && !seen.message.is_empty());
        state.seen
    }

    fn match_line(&self, state: &mut ErrorformatState, at: usize, line: &str) {
        let mut line = line;
        let mut rest_only = false;
        // `%O`, `%P` and `%Q` may leave a rest to be looked at, once for each file name in the line.
        for _ in 0..RESTS_MAX {
            let start = std::mem::take(&mut state.start);
            let tried = self.patterns.iter().enumerate().skip(start);
            let fits = |pattern: &ErrorformatPattern| match pattern.prefix {
                Some('C' | 'Z') => state.open.is_some(),
                Some('O' | 'P' | 'Q') => true,
                _ => !rest_only,
            };
            let found = tried
                .filter(|(_, pattern)| fits(pattern))
                .find_map(|(index, pattern)| Some((index, pattern, pattern.regex.captures(line.as_bytes())?)));
            let Some((index, pattern, captures)) = found else {
                state.open = None;
                return;
            };
            if pattern.stays {
                state.start = index;
            }
            let rest = state.apply_pattern(pattern, &ErrorformatFields::take_fields(&captures, line), at);
            match rest {
                Some(rest) => line = &line[line.len() - rest..],
                None => return,
            }
            rest_only = true;
        }
    }
}

/// File names in one line.
const RESTS_MAX: usize = 32;

/// At commas that have no backslash before them; the backslash goes.
fn split_formats(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let last = parts.len() - 1;
        match c {
            '\\' => {
                parts[last].push('\\');
                parts[last].extend(rest.next());
            }
            ',' => {
                while rest.next_if_eq(&' ').is_some() {}
                parts.push(String::new());
            }
            c => parts[last].push(c),
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

impl ErrorformatPattern {
    fn parse(text: &str) -> Result<Self, String> {
        let chars: Vec<char> = text.chars().collect();
        let mut parts = vec![ScanfPart::Vim('^')];
        let (mut prefix, mut flag, mut stays) = (None, None, false);
        let mut named = String::new();
        let mut at = 0;
        while let Some(&c) = chars.get(at) {
            at += 1;
            if c == '\\' && at < chars.len() {
                parts.push(ScanfPart::Vim(chars[at]));
                at += 1;
                continue;
            }
            if c != '%' {
                if ".*^$~[".contains(c) {
                    parts.push(ScanfPart::Vim('\\'));
                }
                parts.push(ScanfPart::Vim(c));
                continue;
            }
            let Some(&item) = chars.get(at) else { return Err("ends in `%`".to_owned()) };
            at += 1;
            if let Some(field) = field_regex(item, chars.get(at).copied()) {
                if named.contains(item) {
                    return Err(format!("`%{item}` occurs twice"));
                }
                named.push(item);
                parts.push(ScanfPart::Done(format!("(?P<{item}>{field})")));
                continue;
            }
            match item {
                '*' => at = scan_set(&chars, at, &mut parts)?,
                '#' => parts.push(ScanfPart::Vim('*')),
                '%' | '\\' | '.' | '^' | '$' | '~' | '[' => parts.push(ScanfPart::Vim(item)),
                '>' => stays = true,
                _ if at == 2 => {
                    let mut item = item;
                    if matches!(item, '+' | '-') {
                        flag = Some(item);
                        item = chars.get(at).copied().unwrap_or(' ');
                        at += 1;
                    }
                    if !"DXAEWINCZGOPQ".contains(item) {
                        return Err(format!("`%{item}` is not known at the start"));
                    }
                    prefix = Some(item);
                }
                _ => return Err(format!("`%{item}` is not known")),
            }
        }
        parts.push(ScanfPart::Vim('$'));
        let regex = RegexBuilder::new(&translate_parts(&parts)?)
            .unicode(false)
            .case_insensitive(true)
            .size_limit(DEFINITION_REGEX_BYTES_MAX)
            .dfa_size_limit(DEFINITION_REGEX_BYTES_MAX)
            .build()
            .map_err(|error| error.to_string().lines().last().unwrap_or_default().to_owned())?;
        Ok(ErrorformatPattern { regex, prefix, flag, stays })
    }
}

/// The regex of a field that is followed by `next`.
fn field_regex(item: char, next: Option<char>) -> Option<String> {
    Some(match item {
        'f' => match next {
            None => ".+".to_owned(),
            Some('\\' | '%') => format!("{FILE_NAME_CHARACTER}+"),
            Some(_) => ".+?".to_owned(),
        },
        'b' | 'n' | 'l' | 'e' | 'c' | 'k' | 'v' => "[0-9]+".to_owned(),
        't' => ".".to_owned(),
        'm' | 's' | 'o' => ".+".to_owned(),
        'r' => ".*".to_owned(),
        'p' => "[- \\t.]*".to_owned(),
        _ => return None,
    })
}

/// `%*[…]` and `%*\d`; the position after it.
fn scan_set(chars: &[char], at: usize, parts: &mut Vec<ScanfPart>) -> Result<usize, String> {
    let mut end = at;
    match chars.get(end) {
        Some('[') => {
            end += 1 + usize::from(chars.get(end + 1) == Some(&'^'));
            // The first one may be a `]`.
            end += 1;
            while chars.get(end).is_some_and(|c| *c != ']') {
                end += 1;
            }
            if end >= chars.len() {
                return Err("`%*[` is not closed".to_owned());
            }
            end += 1;
        }
        Some('\\') if at + 1 < chars.len() => end += 2,
        _ => return Err("`%*` needs `[` or `\\` after it".to_owned()),
    }
    parts.extend(chars[at..end].iter().map(|c| ScanfPart::Vim(*c)));
    parts.extend([ScanfPart::Vim('\\'), ScanfPart::Vim('+')]);
    Ok(end)
}

/// What a line said.
#[derive(Debug, Default)]
struct ErrorformatFields {
    file: Option<String>,
    line: Option<u32>,
    col: Option<u32>,
    kind: Option<char>,
    number: Option<String>,
    message: Option<String>,
    whole: String,
    /// Bytes of `%r`.
    rest: usize,
}

impl ErrorformatFields {
    fn take_fields(captures: &Captures<'_>, line: &str) -> Self {
        let text = |name: &str| {
            let bytes = captures.name(name)?.as_bytes();
            Some(String::from_utf8_lossy(bytes).into_owned())
        };
        let number = |name: &str| text(name)?.parse::<u32>().ok().filter(|number| *number > 0);
        ErrorformatFields {
            file: text("f").map(|file| file.trim().to_owned()).filter(|file| !file.is_empty()),
            line: number("l"),
            col: number("c").or_else(|| number("v")).or_else(|| text("p").map(|pointer| pointed_column(&pointer))),
            kind: text("t").and_then(|kind| kind.chars().next()),
            number: text("n"),
            message: text("m"),
            whole: line.to_owned(),
            rest: captures.name("r").map_or(0, |rest| rest.len()),
        }
    }
}

/// The column that a pointer line (`%p`) points at: tabs go to the next multiple of eight.
fn pointed_column(pointer: &str) -> u32 {
    let column = pointer.bytes().fold(0, |column: u32, byte| match byte {
        b'\t' => (column / 8 + 1) * 8,
        _ => column.saturating_add(1),
    });
    column.saturating_add(1)
}

/// What is remembered between lines.
#[derive(Debug, Default)]
struct ErrorformatState {
    seen: Vec<MatcherHit>,
    /// The message that `%C` and `%Z` go on with: its index, and whether its lines are left out (`%-C`).
    open: Option<Option<usize>>,
    /// Where the next line's patterns start.
    start: usize,
    dirs: Vec<String>,
    files: Vec<String>,
}

impl ErrorformatState {
    /// Applies a matching pattern; the bytes of the line that are still to be looked at.
    fn apply_pattern(&mut self, pattern: &ErrorformatPattern, fields: &ErrorformatFields, at: usize) -> Option<usize> {
        let left_out = pattern.flag == Some('-');
        match pattern.prefix {
            Some('D') => self.dirs.extend(fields.file.clone()),
            Some('X') => {
                self.dirs.pop();
            }
            Some('O' | 'P' | 'Q') => {
                match pattern.prefix {
                    Some('P') => self.files.extend(fields.file.clone()),
                    Some('Q') => {
                        self.files.pop();
                    }
                    _ => {}
                }
                return (fields.rest > 0).then_some(fields.rest);
            }
            Some('C' | 'Z') => {
                // With `-`, too: what it keeps out are lines that would begin something.
                if let Some(Some(open)) = self.open {
                    self.go_on(open, pattern, fields, at);
                }
                if pattern.prefix == Some('Z') {
                    self.open = None;
                }
            }
            Some('G') => {
                if left_out && self.open.is_some() {
                    self.open = Some(None);
                }
            }
            prefix => {
                let begins = prefix.is_some();
                if left_out {
                    self.open = if begins || self.open.is_some() { Some(None) } else { None };
                } else {
                    self.seen.push(self.new_seen(pattern, fields, at));
                    if begins || matches!(self.open, Some(Some(_))) {
                        self.open = Some(Some(self.seen.len() - 1));
                    }
                }
            }
        }
        None
    }

    fn new_seen(&self, pattern: &ErrorformatPattern, fields: &ErrorformatFields, at: usize) -> MatcherHit {
        let kind = fields.kind.or(pattern.prefix.filter(|prefix| "EWIN".contains(*prefix)));
        let message = if pattern.flag == Some('+') { Some(&fields.whole) } else { fields.message.as_ref() };
        let known = self.files.last().filter(|_| self.dirs.is_empty());
        MatcherHit {
            lines: vec![at],
            file: fields.file.clone().or_else(|| known.cloned()),
            line: fields.line,
            col: fields.col,
            severity: kind.and_then(severity_of_kind),
            code: fields.number.clone(),
            message: message.map(|message| message.trim().to_owned()).unwrap_or_default(),
            dir: self.dirs.last().cloned(),
        }
    }

    fn go_on(&mut self, open: usize, pattern: &ErrorformatPattern, fields: &ErrorformatFields, at: usize) {
        let seen = &mut self.seen[open];
        if seen.lines.len() >= BLOCK_LINES_MAX {
            return;
        }
        seen.lines.push(at);
        let message = if pattern.flag == Some('+') { Some(&fields.whole) } else { fields.message.as_ref() };
        if let Some(message) = message.map(|message| message.trim()).filter(|message| !message.is_empty()) {
            if !seen.message.is_empty() {
                seen.message.push('\n');
            }
            seen.message.push_str(message);
        }
        seen.code = seen.code.take().or_else(|| fields.number.clone());
        seen.severity = seen.severity.or(fields.kind.and_then(severity_of_kind));
        seen.line = seen.line.or(fields.line);
        seen.col = seen.col.or(fields.col);
        if seen.file.is_none() {
            seen.file.clone_from(&fields.file);
            seen.dir = self.dirs.last().cloned();
        }
    }
}

fn severity_of_kind(kind: char) -> Option<Severity> {
    engine::severity_of_word(kind.encode_utf8(&mut [0; 4]))
}
