//! Secrets out, before anything is written: each is replaced by `[redacted:<kind>]` and counted.
//!
//! One aho-corasick pass over literals that every secret has beside or in it; a hit is judged by a small matcher that
//! looks at its neighbourhood only. No regex, so 16 MiB of output cost one linear scan. A secret that has a shape of
//! its own (`ghp_…`, a JWT, a private key) is taken wherever it is (`formats`). A service whose keys have none is
//! known by its name and their length (`providers`). Anything else needs a name in front of it (`password=`,
//! `"token": `), and the weaker the name, the more the value itself must look like a secret: `Unexpected token: foo`
//! is what parsers print all day. Then copies of what was found are looked for, also those that a tool has cut
//! (`cut`).
//!
//! Redacting twice changes nothing: a marker is never a value.

mod alphabet;
mod carriers;
mod commands;
mod cut;
mod formats;
mod name;
mod names;
mod pem;
mod providers;
mod token;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use crate::base::literals::{LONG_TEXT_BYTES_MIN, Literals};
use crate::base::lossless::Lossless;
use crate::base::text::{ellipsis, one_line};

/// Names and schemes are read this far to either side of a hit, bytes.
const NAME_BYTES_MAX: usize = 128;
/// A value is judged by at most this many bytes; all of it is replaced.
const VALUE_BYTES_MAX: usize = 512;
/// A text of at most this many bytes is searched without an automaton.
const LINE_BYTES_MAX: usize = 512;
/// A name or a line that a person or an agent gave, bytes.
const NAME_TEXT_BYTES_MAX: usize = 500;
/// How what was replaced begins.
const MARKER: &[u8] = b"[redacted:";

/// A text is looked at again where something was found in it, this many times.
const ROUNDS_MAX: usize = 4;

/// What a literal announces.
#[derive(Debug, Clone, Copy)]
enum LiteralKind {
    /// A token that begins with it.
    Prefix(&'static formats::PrefixedFormat),
    /// A token that has it inside.
    Inside(&'static formats::EmbeddedFormat),
    /// A service whose keys are recognised by their length.
    Provider(&'static providers::Provider),
    /// A name that announces a value.
    Name(names::NameWeight),
    /// Anything else.
    Form(fn(&[u8], Range<usize>) -> Option<Secret>),
    /// `-----END `: what is above it.
    PemEnd,
}

/// The literals, with what each announces.
static SIGNS: LazyLock<Vec<(&str, LiteralKind)>> = LazyLock::new(|| {
    let mut table: Vec<(&str, LiteralKind)> = vec![
        (".ey", LiteralKind::Form(token::find_jwt)),
        ("eyJ", LiteralKind::Form(token::jwt_start)),
        ("ZXlK", LiteralKind::Form(token::encoded_jwt)),
        ("bearer", LiteralKind::Form(carriers::find_bearer)),
        ("basic ", LiteralKind::Form(token::find_basic)),
        ("authorization", LiteralKind::Form(carriers::find_authorization)),
        ("-H ", LiteralKind::Form(carriers::find_header)),
        ("--header", LiteralKind::Form(carriers::find_header)),
        ("cookie", LiteralKind::Form(carriers::find_cookie)),
        ("sig=", LiteralKind::Form(carriers::find_signature)),
        ("signature=", LiteralKind::Form(carriers::find_signature)),
        ("machine ", LiteralKind::Form(carriers::find_netrc)),
        ("private-lines:", LiteralKind::Form(carriers::private_lines)),
        ("://", LiteralKind::Form(carriers::url_credentials)),
        ("-----BEGIN ", LiteralKind::Form(pem::from_header)),
        ("-----END ", LiteralKind::PemEnd),
    ];
    table.extend(commands::program_names().map(|program| (program, LiteralKind::Form(commands::on_line))));
    table.extend(formats::PREFIXED.iter().map(|format| (format.prefix, LiteralKind::Prefix(format))));
    table.extend(formats::INSIDE.iter().map(|format| (format.literal, LiteralKind::Inside(format))));
    table.extend(providers::PROVIDERS.iter().map(|provider| (provider.name, LiteralKind::Provider(provider))));
    table.extend(names::NAMES.iter().map(|&(name, weight)| (name, LiteralKind::Name(weight))));
    table
});

/// What finds the literals in a text of this many bytes.
fn sign_finder(bytes: usize) -> &'static Literals {
    let build = |bytes| Literals::new(SIGNS.iter().map(|(literal, _)| literal), true, bytes).expect("a small table");
    static SHORT: OnceLock<Literals> = OnceLock::new();
    static LONG: OnceLock<Literals> = OnceLock::new();
    if bytes < LONG_TEXT_BYTES_MIN { &SHORT } else { &LONG }.get_or_init(|| build(bytes))
}

/// Calls `found` with the number of a literal and where it ends, for every occurrence, in the order of the ends.
fn each_literal(text: &[u8], mut found: impl FnMut(usize, usize)) {
    if text.len() > LINE_BYTES_MAX {
        return sign_finder(text.len()).each(text, found);
    }
    // A name or a path needs no automaton, which takes longer to build than many of them take to read.
    static STARTS: LazyLock<Vec<Vec<usize>>> = LazyLock::new(|| {
        let mut starts = vec![Vec::new(); 256];
        for (number, (literal, _)) in SIGNS.iter().enumerate() {
            starts[usize::from(literal.as_bytes()[0].to_ascii_lowercase())].push(number);
        }
        starts
    });
    let mut hits: Vec<(usize, usize)> = Vec::new();
    for at in 0..text.len() {
        for &number in &STARTS[usize::from(text[at].to_ascii_lowercase())] {
            let literal = SIGNS[number].0.as_bytes();
            if text.get(at..at + literal.len()).is_some_and(|part| part.eq_ignore_ascii_case(literal)) {
                hits.push((at + literal.len(), number));
            }
        }
    }
    hits.sort_unstable_by_key(|&(end, number)| (end, std::cmp::Reverse(SIGNS[number].0.len()), number));
    hits.into_iter().for_each(|(end, number)| found(number, end));
}

/// A secret's place and what to call it.
#[derive(Debug)]
struct Secret {
    range: Range<usize>,
    kind: &'static str,
}

/// A text for an event: one line, bounded, without secrets. `None` when nothing is left of it.
pub(crate) fn sanitize_name(text: &str) -> Option<String> {
    let text = one_line(&redact_text(text).0);
    let text = ellipsis(text.trim(), NAME_TEXT_BYTES_MAX);
    (!text.is_empty()).then_some(text)
}

/// `text` with every secret replaced by `[redacted:<kind>]`, and how many there were.
///
/// Borrowed when there were none. Give it whole output, not single lines: a private key spans many, and a value that
/// is found beside its name is also replaced where it is alone.
pub fn redact_text(text: &str) -> (Cow<'_, str>, usize) {
    let mut values = cut::ReplacedValues::default();
    let (mut redacted, mut count) = redact_once(text, &mut values);
    // What was taken out may have been what made the next one look like a word of a sentence.
    let mut again = count;
    for _ in 1..ROUNDS_MAX {
        if again == 0 {
            break;
        }
        let (clean, copies) = values.replace_in(&redacted);
        let (text, more) = redact_once(&clean, &mut values);
        again = copies + more;
        if again > 0 {
            redacted = Cow::Owned(text.into_owned());
            count += again;
        }
    }
    (redacted, count)
}

fn redact_once<'a>(text: &'a str, values: &mut cut::ReplacedValues) -> (Cow<'a, str>, usize) {
    let bytes = text.as_bytes();
    let mut out = String::new();
    let (mut copied, mut count) = (0, 0);
    each_literal(bytes, |literal, end| {
        let (literal, sign) = SIGNS[literal];
        let start = end - literal.len();
        if start < copied {
            return;
        }
        let Some(secret) = judge_sign(bytes, copied, sign, start..end) else { return };
        // One that begins before its literal may begin in what is out already.
        if secret.range.start < copied {
            return;
        }
        // The matchers cut at ASCII bytes only, so both ends are character boundaries.
        values.add_value(&text[secret.range.clone()], secret.kind);
        out.push_str(&text[copied..secret.range.start]);
        out.push_str("[redacted:");
        out.push_str(secret.kind);
        out.push(']');
        copied = secret.range.end;
        count += 1;
    });
    if count == 0 {
        return (Cow::Borrowed(text), 0);
    }
    out.push_str(&text[copied..]);
    (Cow::Owned(out), count)
}

/// [`redact_args`] of a recorded command line. An argument that isn't UTF-8 keeps its bytes unless there is a secret between them.
pub fn redact_arguments(argv: &[Lossless]) -> Vec<Lossless> {
    // Together, because an option's name is what tells that the next argument is a secret.
    let texts: Vec<String> = argv.iter().map(Lossless::display).collect();
    let (clean, _) = redact_args(&texts);
    let each = argv.iter().zip(texts.iter().zip(clean));
    each.map(|(arg, (text, clean))| if *text == clean { arg.clone() } else { Lossless::from(&clean) }).collect()
}

/// A command's arguments with their secrets replaced, and how many there were.
///
/// Knows more than [`redact_text`] does from text alone: the argument after `--password` or `--token` is a value, whatever
/// it looks like.
pub fn redact_args<S: AsRef<str>>(args: &[S]) -> (Vec<String>, usize) {
    let mut count = 0;
    let mut value_of = None;
    let mut redacted: Vec<String> = Vec::with_capacity(args.len());
    for (number, arg) in args.iter().enumerate() {
        let arg = arg.as_ref();
        let before = number.checked_sub(1).map_or("", |number| args[number].as_ref());
        let named = value_of.take().filter(|_| !arg.starts_with('-') && !name::is_marker(arg));
        let shown = match named {
            Some(kind) => Some(format!("[redacted:{kind}]")),
            None => value_behind(before, arg),
        };
        let (text, n) = shown.map_or_else(|| redact_argument(arg), |text| (text, 1));
        if named.is_none() {
            value_of = name::flag_kind(arg);
        }
        count += n;
        redacted.push(text);
    }
    count += replace_passwords(args, &mut redacted);
    (redacted, count)
}

/// An argument that the one before it makes a key or a header with one.
fn value_behind(before: &str, arg: &str) -> Option<String> {
    if name::is_key_flag(before) && !arg.starts_with('-') && alphabet::is_opaque(arg.as_bytes(), 10) {
        return Some("[redacted:key]".to_owned());
    }
    if !matches!(before, "-H" | "--header") {
        return None;
    }
    let range = carriers::header_value(arg.as_bytes())?;
    Some(format!("{}[redacted:header]{}", &arg[..range.start], &arg[range.end..]))
}

/// What only the program tells: `curl -u user:password`.
fn replace_passwords<S: AsRef<str>>(args: &[S], redacted: &mut [String]) -> usize {
    let mut count = 0;
    for at in 0..args.len() {
        let program = args[at].as_ref().rsplit('/').next().unwrap_or_default();
        let words: Vec<&str> = redacted[at + 1..].iter().map(String::as_str).collect();
        if let Some((number, range)) = commands::password_in(program.as_bytes(), &words) {
            let word = &mut redacted[at + 1 + number];
            if word.is_char_boundary(range.start) && word.is_char_boundary(range.end) {
                word.replace_range(range, "[redacted:password]");
                count += 1;
            }
        }
    }
    count
}

/// A single argument: `--token=…`, or any text.
fn redact_argument(arg: &str) -> (String, usize) {
    let (mut text, mut count) = (arg.to_owned(), 0);
    // A value that was taken out may have had the first `=`, before that of the flag.
    for _ in 0..ROUNDS_MAX {
        if let Some((flag, value)) = text.split_once('=')
            && let Some(kind) = name::flag_kind(flag)
            && !value.is_empty()
            && !name::is_marker(value)
        {
            // What ends like a flag's name may be a whole address.
            let (flag, n) = redact_text(flag);
            return (format!("{flag}=[redacted:{kind}]"), count + 1 + n);
        }
        let (redacted, n) = redact_text(&text);
        if n == 0 {
            break;
        }
        (text, count) = (redacted.into_owned(), count + n);
    }
    (text, count)
}

/// `copied` bytes are out already: no secret starts before.
fn judge_sign(text: &[u8], copied: usize, sign: LiteralKind, hit: Range<usize>) -> Option<Secret> {
    match sign {
        LiteralKind::Prefix(format) => token::with_prefix(text, hit, format),
        LiteralKind::Inside(format) => token::token_around(text, hit, format),
        LiteralKind::Provider(provider) => providers::key_beside(text, hit, provider),
        LiteralKind::Name(weight) => name::find_assignment(text, hit, weight),
        LiteralKind::Form(find) => find(text, hit),
        LiteralKind::PemEnd => pem::from_footer(text, copied, hit),
    }
}

/// The end of the run of bytes that satisfy `keep`, from `start`, at most `max` further.
fn run_end(text: &[u8], start: usize, max: usize, keep: impl Fn(u8) -> bool) -> usize {
    let end = text.len().min(start.saturating_add(max));
    text[start..end].iter().position(|&b| !keep(b)).map_or(end, |n| start + n)
}

/// The start of the run of bytes that satisfy `keep` and end at `end`, at most `max` back.
fn run_start(text: &[u8], end: usize, max: usize, keep: impl Fn(u8) -> bool) -> usize {
    let start = end.saturating_sub(max);
    text[start..end].iter().rposition(|&b| !keep(b)).map_or(start, |n| start + n + 1)
}

#[cfg(test)]
mod tests;
