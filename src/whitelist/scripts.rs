//! Names of scripts and targets: `test:unit`, `check-types`, `lintFix`.

use super::CheckKind;
use super::layer::KINDS;
use super::table::{List, Scripts};

/// A name has at most so many parts; one with more is no check.
const PARTS_MAX: usize = 16;

/// What a script's name says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named<'a> {
    /// A check of this kind.
    Check(CheckKind),
    /// This part of it says that it changes things or does not end.
    Denied(&'a [u8]),
    /// Nothing.
    Nothing,
}

/// Reads a name. The words of all layers count; a later layer's words add to an earlier one's.
pub fn named<'a>(name: &'a [u8], layers: &[Scripts<'_>]) -> Named<'a> {
    read(name, layers, |_| List::default())
}

/// Reads the name of a file that is run, without its extension.
pub fn named_file<'a>(name: &'a [u8], layers: &[Scripts<'_>]) -> Named<'a> {
    read(name, layers, |scripts| scripts.file_endings)
}

/// The name of a script's file without its folders and extension; `None` where the path is none of a project's script. A
/// file without an extension is one where its folder is named.
pub fn file_name(path: &[u8]) -> Option<&[u8]> {
    const EXTENSIONS: &str =
        " sh bash zsh fish py rb pl t js mjs cjs ts mts cts php lua tcl R r ps1 hs exs jl lisp scm rkt groovy ";
    const ELSEWHERE: [&[u8]; 6] = [b"/tmp/", b"/var/", b"/usr/", b"/etc/", b"/opt/", b"/bin/"];
    let is_plain = path.iter().all(|byte| byte.is_ascii_alphanumeric() || b"/._-+@~".contains(byte) || *byte >= 0x80);
    if !is_plain || ELSEWHERE.iter().any(|start| path.starts_with(start)) {
        return None;
    }
    let base = path.rsplit(|byte| *byte == b'/').next()?;
    let dot = base.iter().rposition(|byte| *byte == b'.');
    let known =
        dot.is_some_and(|dot| EXTENSIONS.split_ascii_whitespace().any(|known| known.as_bytes() == &base[dot + 1..]));
    match dot.filter(|_| known) {
        Some(dot) => Some(&base[..dot]),
        None => (dot.is_none() && path.len() > base.len() && !path.starts_with(b"/")).then_some(base),
    }
}

fn read<'a>(name: &'a [u8], layers: &[Scripts<'_>], more_endings: for<'s> fn(&Scripts<'s>) -> List<'s>) -> Named<'a> {
    let mut parts: [&[u8]; PARTS_MAX] = [b""; PARTS_MAX];
    let mut count = 0;
    for part in (Parts { name }) {
        if count == PARTS_MAX {
            return Named::Nothing;
        }
        parts[count] = part;
        count += 1;
    }
    let parts = &parts[..count];
    let in_any = |part: &[u8], pick: for<'s> fn(&Scripts<'s>) -> List<'s>| {
        layers.iter().any(|layer| pick(layer).any(|word| word.eq_ignore_ascii_case(part)))
    };
    if let Some(part) = parts.iter().find(|part| in_any(part, |scripts| scripts.deny)) {
        return Named::Denied(part);
    }
    let begins = |parts: &[&[u8]]| layers.iter().any(|scripts| begins_a_check(parts, scripts));
    let behind_prefix = parts.len() > 1 && in_any(parts[0], |scripts| scripts.prefixes) && begins(&parts[1..]);
    let ends = || {
        let last = parts.last().filter(|_| parts.len() > 1);
        last.is_some_and(|last| in_any(last, |scripts| scripts.endings) || in_any(last, more_endings))
    };
    if begins(parts) || behind_prefix || ends() { Named::Check(kind(parts, layers)) } else { Named::Nothing }
}

fn begins_a_check(parts: &[&[u8]], scripts: &Scripts<'_>) -> bool {
    let Some(first) = parts.first() else { return false };
    let mut words = scripts.words;
    let word = words.any(|word| {
        let mut wanted = word.split(|byte| *byte == b'-');
        let mut here = parts.iter();
        wanted.all(|wanted| here.next().is_some_and(|part| part.eq_ignore_ascii_case(wanted)))
    });
    let mut stems = scripts.stems;
    word || stems.any(|stem| {
        first.get(..stem.len()).is_some_and(|start| start.eq_ignore_ascii_case(stem))
            && first[stem.len()..].iter().all(u8::is_ascii_alphanumeric)
    })
}

/// A test, unless the name says something else.
fn kind(parts: &[&[u8]], layers: &[Scripts<'_>]) -> CheckKind {
    let says = |place: usize| parts.iter().any(|part| says_kind(part, place, layers));
    let kind = (0..KINDS.len()).find(|place| says(*place)).map_or(CheckKind::Test, |place| ORDER[place]);
    // `test:format` of a group of scripts (`test:spec`, `test:types`) is what its own name says.
    match (parts, kind) {
        ([_, own], CheckKind::Test) => match named_kind(own, layers) {
            Some(own @ (CheckKind::Lint | CheckKind::Type | CheckKind::Format)) => own,
            _ => kind,
        },
        _ => kind,
    }
}

/// What one part says.
fn named_kind(part: &[u8], layers: &[Scripts<'_>]) -> Option<CheckKind> {
    (0..KINDS.len()).find(|place| says_kind(part, *place, layers)).map(|place| ORDER[place])
}

/// Whether a part begins with a word for the kind at this place of [`ORDER`].
fn says_kind(part: &[u8], place: usize, layers: &[Scripts<'_>]) -> bool {
    let begins = |word: &[u8]| part.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    layers.iter().any(|scripts| {
        let mut words = scripts.kinds[place];
        words.any(begins)
    })
}

/// The kinds in the order in which the lists of words have them.
const ORDER: [CheckKind; KINDS.len()] =
    [CheckKind::Test, CheckKind::Lint, CheckKind::Type, CheckKind::Format, CheckKind::Build];

/// The parts of a name: between `:`, `-`, `_`, `.`, `/`, and where a small letter is followed by a capital one.
struct Parts<'a> {
    name: &'a [u8],
}

impl<'a> Iterator for Parts<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let is_separator = |byte: u8| matches!(byte, b':' | b'-' | b'_' | b'.' | b'/');
        let start = self.name.iter().position(|byte| !is_separator(*byte))?;
        let name = &self.name[start..];
        let end = (1..name.len())
            .find(|&at| is_separator(name[at]) || (name[at - 1].is_ascii_lowercase() && name[at].is_ascii_uppercase()))
            .unwrap_or(name.len());
        self.name = &name[end..];
        Some(&name[..end])
    }
}
