//! Diagnostics with a place, whatever tool printed them: what precedes the place, the place, what follows it.
//!
//! The forms are those that compilers, linters and interpreters share (GNU coding standards 4.4, MSBuild's canonical
//! errors, the `line N` family of older compilers, PHP's and Perl's sentences); the list of separators was held against
//! Vim's `errorformat` defaults. A line is read from its start; only a line that says how bad it is may have its place
//! at the end.

use std::sync::LazyLock;

use memchr::memchr;
use regex::bytes::{Captures, Regex};

use crate::base::limits::LINE_MATCH_BYTES_MAX;
use crate::base::text::prefix;

use super::Severity;
use super::engine::{Frame, severity_of_word};
use super::generic::{self, looks_like_a_file};
use super::rule_regex::constant_regex;

mod languages;

use languages::{LINE, translated_severity};

/// A diagnostic as one line says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LocatedLine {
    /// The file as printed; `None` for standard input, and where only a line is named.
    pub file: Option<String>,
    /// Whether the file is only a word, or a name with a blank in it, which has to be a file of the project's to count.
    pub is_plain: bool,
    /// 1-based.
    pub line: u32,
    /// 1-based.
    pub col: Option<u32>,
    /// How bad, where the line says so.
    pub severity: Option<Severity>,
    /// Rule or error code.
    pub code: Option<String>,
    /// What is left.
    pub message: String,
}

/// Words that say how bad, as they precedes or follows a place.
const SEVERITY: &str = r"(?:internal compiler |internal |fatal |syntax |type |compile |performance |parse |catastrophic |command line |hard |recoverable )?(?:error|warning|errors?|fatal|warn|info|information|note|notice|hint|remark|style|convention|refactor|performance|portability|failure|critical|questionable|extension|obsolescent|severe|caution|suggestion)";

/// What a line says, if it says where.
pub(super) fn read_located(line: &str) -> Option<LocatedLine> {
    let line = prefix(line, LINE_MATCH_BYTES_MAX).trim();
    if !may_locate(line.as_bytes()) || line.contains("://") && !line.contains(": ") {
        return None;
    }
    let before = TextBeforeLocation::before_location(line);
    let leading = read_leading(&before);
    // What has a blank in it is more often a sentence with a place at its end.
    let (named, spaced) = match leading {
        Some(said) if said.is_plain && said.file.as_deref().is_some_and(|file| file.contains(' ')) => {
            (None, Some(said))
        }
        said => (said, None),
    };
    named.or_else(|| read_bulleted(&before)).or_else(|| read_trailing(line, &before)).or(spaced)
}

/// Whether a line says that there is an error in a file.
pub(super) fn says_error(line: &str) -> bool {
    let said = line.contains("rror").then(|| read_located(line)).flatten();
    said.is_some_and(|said| said.severity == Some(Severity::Error) && said.file.is_some())
}

/// A message, its place and its rule between bullets (`error • no such name • lib/a.dart:3:5 • undefined_name`, older: `… at
/// lib/a.dart:3:5 • …`).
fn read_bulleted(before: &TextBeforeLocation<'_>) -> Option<LocatedLine> {
    static PLACE: LazyLock<Regex> = LazyLock::new(|| {
        constant_regex(
            r"^(?:(?P<message>.+) at )?(?P<file>[^ \t:*?<>|]+):(?P<line>[0-9]{1,7})(?::(?P<col>[0-9]{1,5}))?$",
        )
    });
    let severity = before.severity?;
    let mut fields = before.rest.split(" • ").map(str::trim);
    let mut message = fields.next().filter(|first| first.len() < before.rest.len())?;
    let mut place = PLACE.captures(message.as_bytes());
    if place.is_none() {
        place = PLACE.captures(fields.next()?.as_bytes());
    }
    let place = place?;
    message = captured_text(&place, "message").unwrap_or(message);
    let file = captured_text(&place, "file").filter(|file| looks_like_a_file(file))?;
    let rule = before.rest.rsplit(" • ").next().map(str::trim).filter(|rule| is_name(rule));
    Some(LocatedLine {
        file: Some(file.to_owned()),
        is_plain: false,
        line: captured_number(&place, "line").filter(|&line| line > 0)?,
        col: captured_number(&place, "col"),
        severity: Some(severity),
        code: rule.map(str::to_owned).or_else(|| before.code.clone()),
        message: message.to_owned(),
    })
}

/// Whether a line may have a place: none of what reads one finds anything where it has not.
pub(super) fn may_hold_place(line: &str) -> bool {
    may_locate(prefix(line, LINE_MATCH_BYTES_MAX).trim().as_bytes())
}

/// A cheap look before the regexes: a number where a place has one, and not as a time, a size or a count has it.
fn may_locate(line: &[u8]) -> bool {
    let starts = (1..line.len()).filter(|&at| line[at].is_ascii_digit() && !line[at - 1].is_ascii_digit());
    starts.into_iter().any(|at| {
        let before = &line[..at - 1];
        let next = line[at..].iter().find(|byte| !byte.is_ascii_digit());
        match line[at - 1] {
            b':' => {
                let digits = before.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
                match before[..before.len() - digits] {
                    // 2026-03-04T12:30
                    [.., zone, b'T'] if zone.is_ascii_digit() && digits == 2 => false,
                    // a.scss 2:13
                    [.., last, b' '] if digits > 0 && (last == b':' || last.is_ascii_alphanumeric()) => {
                        ends_with_extension(&before[..before.len() - digits - 1])
                    }
                    [.., last] if digits > 0 => last.is_ascii_alphabetic() || last == b'_',
                    [.., last] => !matches!(last, b':' | b' ' | b'\t') || before.ends_with(b"ine"),
                    [] => false,
                }
            }
            b'(' => matches!(next, Some(b')' | b',' | b':' | b'|' | b'-' | b'.')),
            b'[' => next == Some(&b',') || before.ends_with(b":"),
            b',' => before.ends_with(b"\"") || next == Some(&b'|'),
            b' ' | b'\t' => {
                let before = before.trim_ascii_end();
                let english = [b"ine".as_slice(), b"ine:", b"ine :", b"ines", b"\"", b"\","];
                english.iter().any(|word| before.ends_with(word))
                    || LINE.iter().any(|word| before.ends_with(word.as_bytes()))
            }
            b'=' => before.ends_with(b"line"),
            b'@' => next == Some(&b':') && ends_with_extension(before),
            last => last >= 0x80 && LINE.iter().any(|word| line[..at].ends_with(word.as_bytes())),
        }
    })
}

/// Whether a text ends with a name that has an extension, maybe before a colon.
fn ends_with_extension(text: &[u8]) -> bool {
    let text = text.strip_suffix(b":").unwrap_or(text);
    let extension = text.iter().rev().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    extension > 0
        && text[..text.len() - extension].ends_with(b".")
        && text[text.len() - extension].is_ascii_alphabetic()
}

/// A line that is only a place, as some tools print it below or above the message (` --> a.rs:1:2`).
pub(super) struct BarePlace<'a> {
    /// The place.
    pub place: Frame<'a>,
    /// Whether a colon says that the message is below.
    pub colon: bool,
    /// Whether an arrow or a box says that the line above is the message.
    pub framed: bool,
}

/// The place that a line is, if it is nothing else.
pub(super) fn bare_place(line: &str) -> Option<BarePlace<'_>> {
    static BARE: LazyLock<[Regex; 3]> = LazyLock::new(|| {
        // What an arrow or a box announces may have any name.
        let any = r"(?P<file>(?:[A-Za-z]:[\\/])?[^\t:*?<>|\[]+?(?:\[[^\]:]+\][^\t:*?<>|\[]*)*)";
        let word = r"(?P<word>(?:[A-Za-z]:[\\/])?[^ \t:()\[\]<>|,;*?]+|\.{0,2}/[^\t :*?<>|]+)";
        let line = r"(?P<line>[0-9]{1,7})";
        let col = r"(?P<col>[0-9]{1,5})";
        let place =
            format!(r"(?::{line}(?::{col})?|\((?P<line2>[0-9]{{1,7}})(?:,(?P<col2>[0-9]{{1,5}}))?\))(?:-[0-9:]+)?");
        [
            constant_regex(&format!(
                r"^(?:(?P<frame>-+>|=+>|:::|(?:╭|┌|├|└|╰|,)(?:─|┴|┬|-|=)+(?:>|▸)?)[ \t]*(?:(?:in|at|from)[ \t]+)?[\[(]?[ \t]*{any}|(?:(?:at|in|from|@|At|In|From)[ \t]+|(?:[Ll]ocation|[Ff]ile|[Pp]ath|[Ss]ource|[Ww]here|[Pp]osition|[Oo]rigin)[ \t]*[:=][ \t]*)?\[?{word}){place}[ \t]*[\])]?(?:[ \t]|─)*(?P<colon>:?)$"
            )),
            // OCaml: a name in quotes, the colon behind the columns
            constant_regex(&format!(
                r#"^File "(?P<file>[^"]+)", lines? {line}(?:-[0-9]+)?(?:, characters? {col}(?:-[0-9]+)?)?(?P<colon>:)$"#
            )),
            // sass: a blank before the line, and what the place is behind it
            constant_regex(&format!(r"^{word}[ ]{line}:{col}(?P<colon>:?)(?:[ ]{{2,}}[a-z@].*)?$")),
        ]
    });
    let printed = prefix(line, LINE_MATCH_BYTES_MAX);
    let line = printed.trim();
    let ends = line.ends_with(|c: char| c.is_ascii_digit() || matches!(c, ':' | ')' | ']' | '─'));
    // Only sass says more behind its place.
    let deep = printed.starts_with([' ', '\t']) && line.contains("  ");
    if !(ends || deep) || !may_locate(line.as_bytes()) {
        return None;
    }
    let captures = BARE.iter().skip(if ends { 0 } else { 2 }).find_map(|bare| bare.captures(line.as_bytes()))?;
    let file = captured_text(&captures, "word").or_else(|| captured_text(&captures, "file"))?.trim_end();
    let number = |names: [&str; 2]| names.iter().find_map(|name| captured_number(&captures, name));
    let place = Frame { file, line: number(["line", "line2"]).filter(|&line| line > 0), col: number(["col", "col2"]) };
    let colon = captured_text(&captures, "colon").is_some();
    let framed = captured_text(&captures, "frame").is_some();
    (looks_like_a_file(file) && place.line.is_some()).then_some(BarePlace { place, colon, framed })
}

/// A row below the file that it speaks of: a line and a column, or a line and how bad it is, which may come first
/// (`ERROR: 3:1  no-console  …`).
pub(super) fn read_row(line: &str) -> Option<LocatedRow> {
    static ROW: LazyLock<Regex> = LazyLock::new(|| {
        constant_regex(
            r"^[ \t|]*(?P<word>[Ll]ine[ :]+|L|#|\[)?(?P<line>[0-9]{1,7})(?:[:,](?P<col>[0-9]{1,5}))?(?:-[0-9]{1,7}(?::[0-9]{1,5})?)?[\]:]*(?P<rest>[ \t|:,].*[A-Za-z].*)$",
        )
    });
    let line = prefix(line, LINE_MATCH_BYTES_MAX).trim_end();
    let leading = line.split_once(": ").filter(|(_, row)| row.starts_with(|c: char| c.is_ascii_digit()));
    let leading = leading.and_then(|(word, row)| Some((severity_of_word(word.trim_start())?, row)));
    let line = leading.map_or(line, |(_, row)| row);
    if !line.starts_with([' ', '\t', 'l', 'L', '|']) && !line.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let captures = ROW.captures(line.as_bytes())?;
    let said = TextAfterLocation::behind_location(captured_text(&captures, "rest")?);
    let col = captured_number(&captures, "col");
    let worded = captured_text(&captures, "word").is_some_and(|word| word.trim_start().starts_with(['l', 'L']));
    // A number alone before text is a line of source.
    let sure = said.severity.is_some() || col.is_some() || worded;
    let line = captured_number(&captures, "line").filter(|&line| line > 0 && sure && !said.message.is_empty())?;
    Some(LocatedRow(LocatedLine {
        file: None,
        is_plain: false,
        line,
        col,
        severity: leading.map(|(severity, _)| severity).or(said.severity),
        code: said.code,
        message: said.message.to_owned(),
    }))
}

/// A diagnostic whose file is named above it.
pub(super) struct LocatedRow(LocatedLine);

impl LocatedRow {
    /// … in this file.
    pub(super) fn in_file(self, file: &str) -> LocatedLine {
        LocatedLine { file: Some(file.to_owned()), ..self.0 }
    }
}

/// How bad a line says that something is before it says anything else (`[WARNING] …`, `error[E1]: …`).
pub(super) fn said_first(line: &str) -> Option<Severity> {
    static WORD: LazyLock<Regex> = LazyLock::new(|| {
        constant_regex(&format!(
            r"^[ \t]*(?:[^ \t:]+: )?\[?(?i:(?P<severity>{SEVERITY}))(?:\]|\[[^\]]+\])?(?::|[ \t]|$)"
        ))
    });
    let captures = WORD.captures(prefix(line, 200).as_bytes())?;
    severity_of_words(captured_text(&captures, "severity")?)
}

fn captured_text<'a>(captures: &Captures<'a>, name: &str) -> Option<&'a str> {
    std::str::from_utf8(captures.name(name)?.as_bytes()).ok().filter(|text| !text.is_empty())
}

fn captured_number(captures: &Captures<'_>, name: &str) -> Option<u32> {
    captured_text(captures, name)?.parse().ok()
}

/// The severity of the last word that has one: `internal compiler error`, `Extension(NAG)`.
fn severity_of_words(words: &str) -> Option<Severity> {
    let words = words.to_ascii_lowercase();
    let known = |word: &str| match word {
        "failure" | "errors" => Some(Severity::Error),
        "questionable" | "caution" => Some(Severity::Warning),
        "remark" | "notice" | "extension" | "obsolescent" => Some(Severity::Info),
        _ => severity_of_word(word),
    };
    words.split(|c: char| !c.is_ascii_alphabetic()).rev().find_map(known)
}

/// The text before a place: times, labels, numbers, words.
struct TextBeforeLocation<'a> {
    rest: &'a str,
    severity: Option<Severity>,
    code: Option<String>,
}

impl<'a> TextBeforeLocation<'a> {
    fn before_location(line: &'a str) -> Self {
        static STEPS: LazyLock<[Regex; 8]> = LazyLock::new(|| {
            [
                // Questa: a code in parentheses
                constant_regex(r"^\((?P<coded>[a-z]+-[0-9]{1,6})\)[ \t]+"),
                // Verilator: how bad and a code after a per cent sign
                constant_regex(r"^%(?P<label>Error|Warning)(?:-(?P<cadence>[A-Z0-9]+))?:[ \t]+"),
                // Cadence: how bad and a code after a star
                constant_regex(r"^\*(?P<letter>[EWNF]),(?P<cadence>[A-Z0-9]+)[ :]+"),
                // a time, a share of the work, a build node, a number in a list or of a line, a bullet
                constant_regex(
                    r"^(?:[0-9]{2,4}[-/:.][0-9][0-9:.,TZ/+-]*|\[[0-9 ][0-9 :.,TZ/+%-]*\]|[0-9]{1,3}%|[0-9]{1,6}[.)]|[-*|>#=]{1,3}|\xe2[\x80-\xbf][\x80-\xbf]|\xc3\x97)(?:[ \t]+|$)|^[0-9]{1,4}(?::[0-9]{1,4})?>[ \t]*|^##\[(?:error|warning)\][ \t]*|^[0-9]{1,6}\t[ \t]*",
                ),
                // a label in brackets
                constant_regex(r"^\[[ ]?(?P<label>[A-Za-z][^\]\[/\\]{0,40})\][ \t:]+"),
                // how bad, and the word before the file
                constant_regex(&format!(
                    r"^(?i:(?:(?P<severity>{SEVERITY})(?:\[(?P<code>[^\]]+)\]|\([A-Za-z0-9]+\))?(?:[ \t]*:[ \t]*|[ \t]+(?:in|at|on|-|[(]))?[ \t]*)(?:(?:in|at|file)[ \t]+)?)"
                )),
                // a program or an annotation before a colon
                constant_regex(
                    r"^(?P<label>C/C\+\+|[A-Za-z][A-Za-z0-9_+-]*(?:[ ][A-Za-z0-9#_+-]+){0,2}(?:\([A-Za-z0-9]+\))?):(?:\((?P<letter>[A-Z])\))?[ \t]+",
                ),
                constant_regex(r"^(?:(?:in|at|In|At|file|File)[ \t]+|file://)"),
            ]
        });
        let mut this = TextBeforeLocation { rest: line, severity: None, code: None };
        for _ in 0..6 {
            let step = STEPS.iter().find_map(|step| step.captures(this.rest.as_bytes()));
            let Some(captures) = step else { break };
            let length = captures.get(0).map_or(0, |all| all.as_bytes().len());
            let Some(rest) = this.rest.get(length..).filter(|_| length > 0) else { break };
            // `error.c:3: …` begins with a file, not with a severity.
            if captured_text(&captures, "severity").is_some()
                && rest.starts_with(['.', '/', '-', '_', '\\'])
                && captures.get(0).is_some_and(|all| all.as_bytes().last().is_some_and(u8::is_ascii_alphabetic))
            {
                break;
            }
            // `[a.c:3:1] …` is a place.
            if captured_text(&captures, "label").is_some_and(|label| may_locate(label.as_bytes())) {
                break;
            }
            let label = captured_text(&captures, "label").and_then(severity_of_words);
            let letter = captured_text(&captures, "letter").and_then(severity_of_word);
            let label_letter =
                captured_text(&captures, "label").filter(|label| label.len() == 1).and_then(severity_of_word);
            let said =
                captured_text(&captures, "severity").and_then(severity_of_words).or(letter).or(label).or(label_letter);
            this.severity = said.or(this.severity);
            let code = ["code", "cadence", "coded"].iter().find_map(|name| captured_text(&captures, name));
            let code = code.or_else(|| captured_text(&captures, "label").filter(|label| is_code(label)));
            this.code = code.map(str::to_owned).or(this.code);
            this.rest = rest;
        }
        this
    }
}

/// A place at the start, and what the line says behind it.
fn read_leading(before: &TextBeforeLocation<'_>) -> Option<LocatedLine> {
    static PLACES: LazyLock<[Regex; 9]> = LazyLock::new(|| {
        // A path may have a space in it where it begins like one; where it does not, only if it is one of the project's.
        let path = r"(?P<file>(?:[A-Za-z]:[\\/]|\.{0,2}[\\/])[^:*?\x22<>|\t]*?[^:*?\x22<>|\t ,]|[^ \t:*?\x22'`<>|()\[\],;=]+|(?P<spaced>[^ \t:*?\x22'`<>|()\[\],;=]+(?:[ ][^ \t:*?\x22'`<>|()\[\],;=]+){1,4}\.[A-Za-z][A-Za-z0-9]{0,7})|<std(?:in|out)>|\{standard input\}|<string>)";
        let end = r"(?P<rest>(?:[^0-9A-Za-z/\\].*)?)$";
        let line = r"(?P<line>[0-9]{1,7})";
        let col = r"(?P<col>[0-9]{1,5})";
        [
            constant_regex(&format!(
                r"^\[?[\x22'](?P<file>[^\x22']+?)[ ]*[\x22'](?:,[ ]*(?:WARNING|ERROR|REMARK)![ ]*(?:at[ ])?line[ ]|[,:]?[ ]*(?:(?:at|on)[ ])?[Ll]ines?[ :]+|,[ ]*|:|[ ]+|[ ]*\(){line}(?:(?:[.:/|,][ ]?|,?[ ]\(?col(?:umn)?[.:]*[ ]?){col})?(?:-[0-9]+)?[)\]]*{end}"
            )),
            constant_regex(&format!(
                r"^{path}(?::[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)?:{line}(?:[:.,]{col})?(?:-[0-9]+(?:[:.][0-9]+)?)?{end}"
            )),
            constant_regex(&format!(
                r"^@?{path}[ ]?:?[ ]?\((?:at[ ])?(?:line[ ])?{line}(?:[,:.|][ ]?{col})?(?:[,-][ ]?[0-9]+)*\){end}"
            )),
            constant_regex(&format!(r"^{path}:?\[{line}(?:,[ ]?{col})?\]{end}")),
            constant_regex(&format!(
                r"^{path}[,:]?[ ](?:(?:(?:at|on)[ ])?[Ll]ine[ :]+|(?:{translated})[ ]?){line}(?:(?:[.:]|,?[ ]?(?:col(?:umn)?|char)[.:]*[ ]?){col})?{end}",
                translated = LINE.join("|")
            )),
            constant_regex(&format!(r"^\({path},{line}(?:\|{col})?\){end}")),
            constant_regex(&format!(r"^\[(?:[A-Z]+:)?{path}:{line}(?::{col})?\]{end}")),
            constant_regex(&format!(r"^{path}:?[ ]{line}:{col}(?:-[0-9]+(?::[0-9]+)?)?{end}")),
            constant_regex(&format!(r"^{path}@{line}:{col}{end}")),
        ]
    });
    let rest = before.rest;
    let may_be = leading_signs(rest);
    for (index, place) in PLACES.iter().enumerate().filter(|(index, _)| may_be[*index]) {
        let Some(captures) = place.captures(rest.as_bytes()) else { continue };
        let (Some(file), Some(line)) = (captured_text(&captures, "file"), captured_number(&captures, "line")) else {
            continue;
        };
        let is_spaced = captured_text(&captures, "spaced").is_some();
        let is_plain = !is_file(file, index == 0) || is_spaced;
        if line == 0 || is_plain && !is_spaced && !(is_name(file) && captured_number(&captures, "col").is_some()) {
            continue;
        }
        let behind = captured_text(&captures, "rest").unwrap_or("");
        let number_end = captures.name("line").and_then(|number| rest.get(number.end()..));
        if number_end.is_some_and(generic::is_version) || index == 0 && is_size(behind) {
            continue;
        }
        // `a.log 12:30 started` has a time.
        if index == SPACED && before.severity.is_none() && !behind.starts_with(':') {
            continue;
        }
        let said = TextAfterLocation::behind_location(behind);
        if said.message.is_empty() && !behind.starts_with(':') && before.severity.is_none() {
            continue;
        }
        if is_plain && !is_spaced && said.severity.or(before.severity).is_none() && said.code.is_none() {
            continue;
        }
        return Some(LocatedLine {
            file: (!is_stdin(file)).then(|| file.to_owned()),
            is_plain,
            line,
            col: captured_number(&captures, "col"),
            severity: said.severity.or(before.severity),
            code: said.code.or_else(|| before.code.clone()),
            message: said.message.to_owned(),
        });
    }
    None
}

/// What each form of [`read_leading`] needs, in their order.
fn leading_signs(text: &str) -> [bool; 9] {
    let has = |sign: u8| memchr(sign, text.as_bytes()).is_some();
    let begins = |signs: &[char]| text.starts_with(signs);
    let (colon, blank) = (has(b':'), has(b' '));
    let (round, square) = (begins(&['(']), begins(&['[']));
    [begins(&['[', '"', '\'']), colon, has(b'('), has(b'['), blank, round, square, colon && blank, has(b'@')]
}

/// Whether the number before a text counts what a file has (`"de.po" 7097 lines`).
fn is_size(behind: &str) -> bool {
    let word = behind.trim_start().split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    matches!(
        word,
        "line" | "lines" | "byte" | "bytes" | "characters" | "messages" | "rows" | "KB" | "MB" | "kB" | "KiB"
    )
}

/// The place that is parted from its file by a blank, among those of [`read_leading`].
const SPACED: usize = 7;

fn is_stdin(file: &str) -> bool {
    matches!(file, "stdin" | "<stdin>" | "<stdout>" | "<string>" | "{standard input}" | "-" | "/dev/stdin")
}

/// Whether a text may be the name of a script without an extension.
fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

/// Whether a label is a rule's code (`FC001`).
fn is_code(label: &str) -> bool {
    let digits = label.bytes().rev().take_while(u8::is_ascii_digit).count();
    let letters = &label[..label.len() - digits];
    (2..=7).contains(&digits) && !letters.is_empty() && letters.bytes().all(|byte| byte.is_ascii_uppercase())
}

fn is_file(file: &str, quoted: bool) -> bool {
    let option = |mark: &str| {
        let behind = file.match_indices(mark).map(|(at, _)| &file[at + mark.len()..]);
        behind.into_iter().any(|behind| behind.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-'))
    };
    let option = file.contains("  ") || option(" -") || option(" /");
    is_stdin(file)
        || !option && (looks_like_a_file(file) || quoted && file.contains(['/', '\\']) && !file.contains("://"))
}

/// The text after a place.
struct TextAfterLocation<'a> {
    severity: Option<Severity>,
    code: Option<String>,
    message: &'a str,
}

impl<'a> TextAfterLocation<'a> {
    fn behind_location(text_behind: &'a str) -> Self {
        static WORD: LazyLock<Regex> = LazyLock::new(|| {
            constant_regex(&format!(
                r"^:?(?:\{{[^}}]*\}})*[ \t:|,-]*(?:col(?:umn)?[ :.]*[0-9]+[ :.)]*)?[\[(]?(?:(?i:severity-)?(?i:(?P<severity>{SEVERITY}|low|medium|high|[ewcrfin]\b)))[\])]?(?:[ \t:!|,\[(-]|$)"
            ))
        });
        static CODE: LazyLock<Regex> = LazyLock::new(|| {
            constant_regex(
                r"^[ \t:|,-]*(?:\[(?P<bracket>[A-Za-z][A-Za-z0-9_./:-]{1,60})[^\]]*\]|\((?P<letter>[A-Z])\)|(?P<code>#[0-9]+(?:-[A-Z])?|[A-Z]{1,10}-?[0-9]{2,7}|[0-9]{3,5}-[0-9]{2,4})(?:[ ]\((?P<level>[A-Z])\))?(?:[: \t]))[ \t:]*",
            )
        });
        static LAST: LazyLock<Regex> = LazyLock::new(|| {
            constant_regex(r"[ \t][\[(](?P<code>-?[A-Za-z][A-Za-z0-9]*(?:[_./:-][A-Za-z0-9]+)*[0-9]*)[\])]$")
        });
        let mut this = TextAfterLocation { severity: None, code: None, message: text_behind };
        if let Some(captures) = WORD.captures(text_behind.as_bytes()) {
            let word = captures.name("severity");
            this.severity = word.and_then(|word| std::str::from_utf8(word.as_bytes()).ok()).and_then(severity_of_words);
            this.message = word.and_then(|word| text_behind.get(word.end()..)).unwrap_or(text_behind);
            this.message = this.message.trim_start_matches([']', ')', ' ']);
        } else if let Some((severity, message)) = translated_severity(text_behind) {
            (this.severity, this.message) = (Some(severity), message);
        }
        if let Some(captures) = CODE.captures(this.message.as_bytes()) {
            let code = captured_text(&captures, "bracket").or_else(|| captured_text(&captures, "code"));
            let letter = captured_text(&captures, "letter").or_else(|| captured_text(&captures, "level"));
            this.severity =
                this.severity.or_else(|| letter.and_then(severity_of_word)).or_else(|| code.and_then(worded_exactly));
            this.code =
                code.filter(|code| worded_exactly(code).is_none()).map(|code| code.trim_start_matches('#').to_owned());
            let length = captures.get(0).map_or(0, |all| all.end());
            this.message = this.message.get(length..).unwrap_or(this.message);
        }
        this.message = this.message.trim_matches([' ', '\t', ':', '|', ',', '-', '!']);
        if this.code.is_none()
            && let Some(captures) = LAST.captures(this.message.as_bytes())
        {
            this.code = captured_text(&captures, "code").map(str::to_owned);
        }
        this
    }
}

fn worded_exactly(code: &str) -> Option<Severity> {
    (code.len() > 1).then(|| severity_of_word(code)).flatten()
}

/// A place at the end of a sentence that says how bad it is, or that only errors are written with.
fn read_trailing(line: &str, before: &TextBeforeLocation<'_>) -> Option<LocatedLine> {
    static SENTENCES: LazyLock<[Regex; 5]> = LazyLock::new(|| {
        let path = r"(?P<file>(?:[A-Za-z]:[\\/])?[^ \t:*?\x22'`<>|()\[\],;]+)";
        [
            // PHP and Perl
            constant_regex(&format!(
                r"^(?P<message>.+) (?:in {path} on line|at {path2} line) (?P<line>[0-9]{{1,7}})(?:[.,; ]|$)",
                path2 = path.replace("<file>", "<file2>")
            )),
            constant_regex(&format!(
                r"^(?P<message>.+?)[ ]?[\[(][Ff]ile:? ?{path}, ?[Ll]ine:? ?(?P<line>[0-9]{{1,7}})(?:, ?[Cc]ol(?:umn)?:? ?(?P<col>[0-9]{{1,5}}))?[\])]"
            )),
            // scalastyle
            constant_regex(&format!(
                r"^[a-z]+ file={path}(?: message=(?P<message>.*?))? line=(?P<line>[0-9]{{1,7}})(?: column=(?P<col>[0-9]{{1,5}}))?$"
            )),
            // the file first, the line last
            constant_regex(&format!(
                r"^{path}(?::| -)[ ](?P<message>.+?)[ ]?,?[ ][\[(]?(?:(?:at|on|near) )?line:? (?P<line>[0-9]{{1,7}})(?:,? col(?:umn)?:? (?P<col>[0-9]{{1,5}}))?[\])]?\.?$"
            )),
            // at the end of the line
            constant_regex(&format!(
                r"^(?P<message>.+?)(?::| at| in)? [\[(]?{path}:(?P<line>[0-9]{{1,7}})(?::(?P<col>[0-9]{{1,5}}))?[\])]?\.?$"
            )),
        ]
    });
    static NO_FILE: LazyLock<Regex> = LazyLock::new(|| {
        constant_regex(
            r"^(?P<message>.*?[A-Za-z].*?)[ ,;:-]*(?:\(|\b(?:at|on|near) )?line (?P<line>[0-9]{1,7})[,:]? ?(?:and )?col(?:umn)? (?P<col>[0-9]{1,5})",
        )
    });
    let says = before.severity.is_some() || before.code.is_some();
    let may = says || line.contains("line ") || line.contains("ine:");
    if !may || line.contains("://") {
        return None;
    }
    let severity = before.severity.or_else(|| said_first(line));
    for (index, sentence) in SENTENCES.iter().enumerate() {
        if index == SENTENCES.len() - 1 && severity.is_none() && before.code.is_none() {
            continue;
        }
        let Some(captures) = sentence.captures(line.as_bytes()) else { continue };
        let file = captured_text(&captures, "file")
            .or_else(|| captured_text(&captures, "file2"))
            .filter(|file| looks_like_a_file(file) || *file == "-");
        let (Some(file), Some(line)) = (file, captured_number(&captures, "line").filter(|&line| line > 0)) else {
            continue;
        };
        return Some(LocatedLine {
            file: (file != "-").then(|| file.to_owned()),
            is_plain: false,
            line,
            col: captured_number(&captures, "col"),
            severity,
            code: before.code.clone(),
            message: captured_text(&captures, "message").unwrap_or("").trim().to_owned(),
        });
    }
    let captures = NO_FILE.captures(line.as_bytes())?;
    Some(LocatedLine {
        file: None,
        is_plain: false,
        line: captured_number(&captures, "line").filter(|&line| line > 0)?,
        col: captured_number(&captures, "col"),
        severity,
        code: None,
        message: captured_text(&captures, "message")
            .unwrap_or("")
            .trim_end_matches(" at")
            .trim_end_matches(" on")
            .to_owned(),
    })
}

#[cfg(test)]
mod tests;
