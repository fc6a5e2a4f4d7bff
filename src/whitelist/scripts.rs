//! Names of scripts and targets: `test:unit`, `check-types`, `lintFix`.

use super::CheckKind;
use super::layer::KINDS;
use super::table::{ScriptNameRules, TextList};

/// A name has at most this many parts; one with more is not a check.
const PARTS_MAX: usize = 16;

/// What a script's name says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScriptNameMeaning<'a> {
    /// A check of this kind.
    Check(CheckKind),
    /// This part of it says that it changes things or does not end.
    Denied(&'a [u8]),
    /// Nothing.
    Nothing,
}

/// Reads a name. The words of all layers count; a later layer's words add to an earlier one's.
pub(super) fn interpret_target_name<'a>(name: &'a [u8], layers: &[ScriptNameRules<'_>]) -> ScriptNameMeaning<'a> {
    interpret_name(name, layers, ScriptNameOwner::Target)
}

/// Reads the name of a file that is run, without its extension.
pub(super) fn interpret_file_name<'a>(file: ScriptFile<'a>, layers: &[ScriptNameRules<'_>]) -> ScriptNameMeaning<'a> {
    match interpret_name(
        file.name,
        layers,
        if file.is_program { ScriptNameOwner::Program } else { ScriptNameOwner::Shell },
    ) {
        // `node test/index.js`, `./tests/run.sh`.
        ScriptNameMeaning::Nothing if file.is_in_tests && !is_helper(file.name) => {
            ScriptNameMeaning::Check(task_kind(file.name, layers).unwrap_or(CheckKind::Test))
        }
        // `.travis/script.sh`.
        ScriptNameMeaning::Nothing if file.is_in_ci && is_among(" script run main all job ", file.name) => {
            ScriptNameMeaning::Check(CheckKind::Test)
        }
        read => read,
    }
}

/// What has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScriptNameOwner {
    Target,
    /// A file of the shell's, or of no known language.
    Shell,
    /// A file of another language. Data is analysed and models are tested by those, too, so less is made of their names.
    Program,
}

/// A project's file that is run.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScriptFile<'a> {
    /// Without its folders and extension.
    pub name: &'a [u8],
    /// Of another language than the shell's.
    pub is_program: bool,
    /// In a folder of tests.
    pub is_in_tests: bool,
    /// In a folder of what CI runs.
    pub is_in_ci: bool,
}

impl<'a> ScriptFile<'a> {
    fn new(path: &'a [u8], name: &'a [u8], is_program: bool) -> Self {
        const TESTS: &str = " test tests spec specs __tests__ e2e testing unittests ";
        const OTHERS: &str = " bench benches benchmark benchmarks perf fixtures helpers support utils util tools data \
             scripts examples manual ";
        let folders = || path.split(|byte| *byte == b'/').rev().skip(1);
        // `t/basic.t` is what Perl calls a test.
        let is_in_tests = path.ends_with(b".t")
            || folders().any(|folder| is_among(TESTS, folder)) && !folders().any(|folder| is_among(OTHERS, folder));
        let is_in_ci = folders().any(|folder| is_among(" .travis travis .ci ci .circleci appveyor .appveyor ", folder));
        ScriptFile { name, is_program, is_in_tests, is_in_ci }
    }
}

/// A script's file by its path; `None` where the path is none of a project's script. A file without an extension is one
/// where its folder is named.
pub(super) fn script_file_at(path: &[u8]) -> Option<ScriptFile<'_>> {
    const SHELLS: &str = " sh bash zsh fish ps1 bat cmd exe ";
    const PROGRAMS: &str = " py rb pl t js mjs cjs ts mts cts php lua tcl R r hs exs jl lisp scm rkt groovy dart kts cljs \
         clj fsx csx nim cr swift kt raku go rs coffee ";
    const ELSEWHERE: [&[u8]; 6] = [b"/tmp/", b"/var/", b"/usr/", b"/etc/", b"/opt/", b"/bin/"];
    let is_plain = path.iter().all(|byte| byte.is_ascii_alphanumeric() || b"/._-+@~".contains(byte) || *byte >= 0x80);
    if !is_plain || ELSEWHERE.iter().any(|start| path.starts_with(start)) {
        return None;
    }
    let base = path.rsplit(|byte| *byte == b'/').next()?;
    let dot = base.iter().rposition(|byte| *byte == b'.');
    let Some(dot) = dot else {
        let is_named = path.len() > base.len() && !path.starts_with(b"/");
        return is_named.then(|| ScriptFile::new(path, base, false));
    };
    let has = |list: &str| list.split_ascii_whitespace().any(|known| known.as_bytes() == &base[dot + 1..]);
    let is_program = !has(SHELLS);
    (!is_program || has(PROGRAMS)).then(|| ScriptFile::new(path, &base[..dot], is_program))
}

fn interpret_name<'a>(
    name: &'a [u8],
    layers: &[ScriptNameRules<'_>],
    called: ScriptNameOwner,
) -> ScriptNameMeaning<'a> {
    let mut room: [&[u8]; PARTS_MAX] = [b""; PARTS_MAX];
    let Some(parts) = split_name(name, &mut room) else { return ScriptNameMeaning::Nothing };
    let is_asking = parts.iter().any(|part| is_among(ASKING, part));
    // What is done before a push or a commit is no push.
    let is_before = |at: usize| at > 0 && parts[at - 1].eq_ignore_ascii_case(b"pre");
    let builds = parts.len() > 1 && is_building(parts[0]);
    let asks_first = parts.len() == 2 && is_among(ASKING, parts[0]);
    let is_allowed = |part: &[u8]| asks_first && is_among(DONE, part) || builds && is_among(SETTINGS, part);
    // `test-start-webpack` tests what a start does; `test:start` starts something.
    let is_tested = |at: usize| {
        at > 0
            && at + 1 < parts.len()
            && is_among(" test tests ", parts[0])
            && is_among(" start stop restart ", parts[at])
    };
    let makes = |at: usize| at == 0 && parts.len() > 1 && is_among(" new create add ", parts[0]);
    let denied = parts.iter().enumerate().find(|(at, part)| {
        makes(*at)
            || is_in_any_layer(layers, part, |scripts| scripts.deny)
                && !is_before(*at)
                && !is_allowed(part)
                && !is_tested(*at)
            || !is_asking && is_in_any_layer(layers, part, |scripts| scripts.deny_unasked)
    });
    if let Some((_, part)) = denied {
        return ScriptNameMeaning::Denied(part);
    }
    // The server's tests and a server for tests look the same; what is linted or built of it doesn't run it.
    if let Some(last) = parts.last().filter(|last| is_in_any_layer(layers, last, |scripts| scripts.deny_last))
        && !is_asking
        && (parts.len() == 1 || !is_building(parts[0]))
        && matches!(named_kind(parts[0], layers), None | Some(CheckKind::Test | CheckKind::Build))
    {
        return ScriptNameMeaning::Denied(last);
    }
    if let Some(last) = parts.last().filter(|_| called == ScriptNameOwner::Shell && is_helper(name)) {
        return ScriptNameMeaning::Denied(last);
    }
    let is_program = called == ScriptNameOwner::Program;
    let begins = |parts: &[&[u8]]| {
        let may = |scripts: &ScriptNameRules<'_>| begins_with(parts, scripts.targets) && !is_program;
        layers.iter().any(|scripts| begins_a_check(parts, scripts) || may(scripts))
    };
    let is_prefixed = parts.len() > 1 && is_in_any_layer(layers, parts[0], |scripts| scripts.prefixes);
    let has_inside = || {
        let ends_so = |part: &[u8]| layers.iter().any(|scripts| has_stem(part, scripts.stems, true));
        let has = |part: &&[u8]| is_in_any_layer(layers, part, |scripts| scripts.inside) || ends_so(part);
        parts.len() > 1 && !is_program && parts.iter().any(has)
    };
    let ends = || {
        let last = parts.last().filter(|_| parts.len() > 1);
        last.is_some_and(|last| {
            is_in_any_layer(layers, last, |scripts| scripts.endings)
                || called != ScriptNameOwner::Target && is_in_any_layer(layers, last, |scripts| scripts.file_endings)
        })
    };
    if begins(parts) || is_prefixed && begins(&parts[1..]) || has_inside() || ends() {
        ScriptNameMeaning::Check(kind_of_parts(parts, layers))
    } else {
        ScriptNameMeaning::Nothing
    }
}

/// What a task is that another name represents: an environment of tox, the argument of a project's own script. `None`
/// where the name has no known meaning.
pub(super) fn task_kind(name: &[u8], layers: &[ScriptNameRules<'_>]) -> Option<CheckKind> {
    let mut room: [&[u8]; PARTS_MAX] = [b""; PARTS_MAX];
    let parts = split_name(name, &mut room)?;
    parts.iter().any(|part| named_kind(part, layers).is_some()).then(|| kind_of_parts(parts, layers))
}

/// Whether a name is a formatter's, which is a check only with an option that says so.
pub(super) fn is_formatter(name: &[u8], layers: &[ScriptNameRules<'_>]) -> bool {
    let mut room: [&[u8]; PARTS_MAX] = [b""; PARTS_MAX];
    let parts = split_name(name, &mut room).unwrap_or_default();
    !parts.iter().any(|part| is_in_any_layer(layers, part, |scripts| scripts.deny))
        && parts.iter().any(|part| is_in_any_layer(layers, part, |scripts| scripts.formatters))
}

/// Whether a target of make is a file that is made (`lib.a`, `docs/manual.pdf`), or the platform that all is made for.
pub(super) fn is_made_file(target: &[u8]) -> bool {
    const PLATFORMS: &str = " linux darwin macos macosx osx windows win32 win64 mingw cygwin freebsd openbsd netbsd solaris \
         32bit 64bit i386 i686 x86 x86_64 amd64 arm64 aarch64 armv7 riscv64 wasm32 ";
    const MADE: &str =
        " o a so obj lib dll dylib exe elf bin hex wasm js css html pdf dvi ps info epub jar war whl pyd rpm deb ";
    let end = target.iter().rposition(|byte| *byte == b'.').filter(|end| *end > 0);
    is_among(PLATFORMS, target)
        || end.is_some_and(|end| MADE.split_ascii_whitespace().any(|made| made.as_bytes() == &target[end + 1..]))
}

/// Whether a file takes the name of what it does as its argument: `./ci.sh lint`, `python tasks.py test`.
pub(super) fn is_driver(name: &[u8], layers: &[ScriptNameRules<'_>]) -> bool {
    let mut room: [&[u8]; PARTS_MAX] = [b""; PARTS_MAX];
    let last = split_name(name, &mut room).and_then(|parts| parts.last());
    last.is_some_and(|last| is_in_any_layer(layers, last, |scripts| scripts.drivers))
}

/// A list of a layer's words.
type ScriptWordPicker = for<'s> fn(&ScriptNameRules<'s>) -> TextList<'s>;

fn is_in_any_layer(layers: &[ScriptNameRules<'_>], part: &[u8], pick: ScriptWordPicker) -> bool {
    layers.iter().any(|layer| pick(layer).any(|word| word.eq_ignore_ascii_case(part)))
}

/// The parts of a name; `None` where it has too many.
fn split_name<'r, 'a>(name: &'a [u8], room: &'r mut [&'a [u8]; PARTS_MAX]) -> Option<&'r [&'a [u8]]> {
    let mut count = 0;
    for part in (ScriptNameParts { name }) {
        *room.get_mut(count)? = part;
        count += 1;
    }
    Some(&room[..count])
}

fn begins_with(parts: &[&[u8]], mut words: TextList<'_>) -> bool {
    words.any(|word| {
        let mut wanted = word.split(|byte| *byte == b'-');
        let mut here = parts.iter();
        wanted.all(|wanted| here.next().is_some_and(|part| part.eq_ignore_ascii_case(wanted)))
    })
}

fn begins_a_check(parts: &[&[u8]], scripts: &ScriptNameRules<'_>) -> bool {
    let Some(first) = parts.first() else { return false };
    begins_with(parts, scripts.words) || has_stem(first, scripts.stems, false)
}

/// Whether a part ends as one of `stems` says, or begins so where that counts as well.
fn has_stem(part: &[u8], mut stems: TextList<'_>, ends_only: bool) -> bool {
    stems.any(|stem| match stem {
        [b'*', ending @ ..] => part.len() > ending.len() && ends_with(part, ending) && !is_among(NO_TESTS, part),
        _ => !ends_only && starts_with(part, stem) && part[stem.len()..].iter().all(u8::is_ascii_alphanumeric),
    })
}

fn starts_with(part: &[u8], start: &[u8]) -> bool {
    part.get(..start.len()).is_some_and(|found| found.eq_ignore_ascii_case(start))
}

fn ends_with(part: &[u8], end: &[u8]) -> bool {
    part.len() >= end.len() && part[part.len() - end.len()..].eq_ignore_ascii_case(end)
}

/// Parts that ask for something to be so, and what may be beside them without saying what.
const ASKING: &str = " check checks verify validate ensure assert ";
const UNSPECIFIC: &str = " all ci full quick fast local my run do pre post x everything extra basic main test tests ";

/// Whether a shell's file of this name is called by tests and is none: `bin/test-daemon`.
fn is_helper(name: &[u8]) -> bool {
    const HELPERS: &str = " spawn daemon helper helpers fixture fixtures stub stubs mock mocks ";
    (ScriptNameParts { name }).last().is_some_and(|last| is_among(HELPERS, last))
}

/// Whether what is built by this name is taken away again, or put somewhere.
pub(super) fn is_no_product(name: &[u8]) -> bool {
    const TAKEN_AWAY: &str = " clean distclean install uninstall fix ";
    (ScriptNameParts { name }).any(|part| is_among(TAKEN_AWAY, part))
}

/// Whether a project's target does nothing but run it, so that the project's name says what it is (`nx run e2e:run`).
pub(super) fn is_plain_run(name: &[u8]) -> bool {
    is_among(" run execute exec ", name)
}

/// Words that only end like a test.
const NO_TESTS: &str = " latest contest attest protest fastest greatest shortest detest contests protests healthcheck \
     healthchecks paycheck paychecks lightest fittest gtest googletest backtest backtests speedtest loadtest ";

/// First parts of targets that are built.
const MADE: &str = " all lib libs shared binary binaries kernel modules world production ";

fn is_building(part: &[u8]) -> bool {
    starts_with(part, b"build") || starts_with(part, b"compil")
}

/// Words that keep a name from being a check's, and only say how something is built (`build:release`).
const SETTINGS: &str = " release debug dev ";

/// Denied words that are allowed right behind `check` or `verify`: what that step left is looked at.
const DONE: &str = " install uninstall release publish upgrade migrate rollback setup ";

/// Whether a word is a setting of what is built.
pub(super) fn is_setting(part: &[u8]) -> bool {
    is_among(SETTINGS, part) || is_among(" server ui ", part)
}

fn is_among(list: &str, part: &[u8]) -> bool {
    list.split_ascii_whitespace().any(|word| word.as_bytes().eq_ignore_ascii_case(part))
}

/// A test, unless the name says something else.
fn kind_of_parts(parts: &[&[u8]], layers: &[ScriptNameRules<'_>]) -> CheckKind {
    let says = |place: usize| parts.iter().any(|part| says_kind(part, place, layers));
    let said = (0..KINDS.len()).find(|place| says(*place)).map(|place| ORDER[place]);
    let first = parts.first().and_then(|first| named_kind(first, layers));
    match (said, first) {
        // `lint:tests`, `typecheck-tests`; but `lint:types` and `lint:format` are what they say last.
        (Some(CheckKind::Test), Some(first @ (CheckKind::Lint | CheckKind::Type | CheckKind::Format))) => return first,
        (Some(CheckKind::Lint), Some(CheckKind::Lint)) if parts.len() == 2 => {
            return match named_kind(parts[1], layers) {
                Some(own @ (CheckKind::Type | CheckKind::Format)) => own,
                _ => CheckKind::Lint,
            };
        }
        (Some(CheckKind::Lint | CheckKind::Type | CheckKind::Format), _) if is_building(parts[0]) => {
            return CheckKind::Build;
        }
        _ => {}
    }
    // `check-links` and `verify-vendor` look at the project; `check` and `check-all` may be anything.
    if matches!(said, None | Some(CheckKind::Build))
        && !parts.iter().any(|part| is_building(part))
        && parts.iter().any(|part| is_among(ASKING, part))
        && parts.iter().any(|part| !is_among(ASKING, part) && !is_among(UNSPECIFIC, part))
    {
        return CheckKind::Lint;
    }
    let is_made = said.is_none() && is_among(MADE, parts[0]);
    let kind = if is_made { CheckKind::Build } else { said.unwrap_or(CheckKind::Test) };
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
fn named_kind(part: &[u8], layers: &[ScriptNameRules<'_>]) -> Option<CheckKind> {
    (0..KINDS.len()).find(|place| says_kind(part, *place, layers)).map(|place| ORDER[place])
}

/// Whether a part has a word for the kind at this place of [`ORDER`]: begins with it, is it where it is short, or ends with
/// one that is written `*word`.
fn says_kind(part: &[u8], place: usize, layers: &[ScriptNameRules<'_>]) -> bool {
    let has = |word: &[u8]| match word {
        [b'*', ending @ ..] => ends_with(part, ending),
        [_] | [_, _] | [_, _, _] => part.eq_ignore_ascii_case(word),
        _ => starts_with(part, word),
    };
    layers.iter().any(|scripts| {
        let mut words = scripts.kinds[place];
        words.any(has)
    })
}

/// The kinds in the order in which the lists of words have them.
const ORDER: [CheckKind; KINDS.len()] =
    [CheckKind::Test, CheckKind::Lint, CheckKind::Type, CheckKind::Format, CheckKind::Build];

/// Whether a part says that files are written, which is a check where they are only compared (`update-docs.sh --check`).
pub(super) fn is_comparing(part: &[u8], arguments: &[&[u8]]) -> bool {
    const WRITERS: &str = " update updates generate generated codegen gen regenerate regen sync bump changelog ";
    is_among(WRITERS, part) && arguments.iter().any(|argument| is_among(" --check --check-only --verify ", argument))
}

/// Where a part ends in which something is asked of something (`checkdocs`), and not a word that begins so (`checkout`).
fn check_prefix_end(part: &[u8]) -> Option<usize> {
    const OTHERS: &str = " out outs sum sums point points pointing pointer list lists mark marks box boxes ers ing ins \
         able ups mate ";
    let rest = part.strip_prefix(b"check")?;
    let end = rest.iter().position(|byte| !byte.is_ascii_lowercase()).unwrap_or(rest.len());
    (end > 2 && !is_among(OTHERS, &rest[..end])).then_some(b"check".len())
}

/// The parts of a name: between `:`, `-`, `_`, `.`, `/`, where a small letter is followed by a capital one, and behind
/// `check`.
struct ScriptNameParts<'a> {
    name: &'a [u8],
}

impl<'a> Iterator for ScriptNameParts<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let is_separator = |byte: u8| matches!(byte, b':' | b'-' | b'_' | b'.' | b'/');
        let start = self.name.iter().position(|byte| !is_separator(*byte))?;
        let name = &self.name[start..];
        let end = check_prefix_end(name)
            .or_else(|| {
                (1..name.len()).find(|&at| {
                    is_separator(name[at]) || (name[at - 1].is_ascii_lowercase() && name[at].is_ascii_uppercase())
                })
            })
            .unwrap_or(name.len());
        self.name = &name[end..];
        Some(&name[..end])
    }
}
