//! What is recognisable without knowing the tool: severity words by their position, and places that look like one.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use memchr::memchr3;
use memchr::memmem::Finder;
use regex::bytes::{Captures, Regex};

use crate::base::limits::LINE_MATCH_BYTES_MAX;
use crate::base::text::prefix;

use super::Severity;
use super::engine::{self, Frame};
use super::rule_regex::constant_regex;

/// How strongly a line points to a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FailureStrength {
    /// It has a word for failure somewhere.
    Weak,
    /// It says so where tools say so.
    Strong,
}

/// What may precede the word: a line that is drawn before a heading, the sign of a quotation, a time, a bracketed label,
/// a program's name or a location.
const BEFORE: &str = r"^[ \t]*(?:(?:--|(?:[*#>]|\xe2[\x94\x95][\x80\x81\x90]){1,4})[ \t]+)?(?:(?:\[[^\]]{1,40}\]|[0-9][0-9:.,TZ+-]{4,30}|[A-Za-z][A-Za-z0-9_.-]{0,30}:)[ \t]+){0,3}(?:[^ \t:]+:[0-9]+(?::[0-9]+)?:?[ \t]+)?";

static STRONG: LazyLock<Regex> = LazyLock::new(|| {
    constant_regex(&format!(
        "{BEFORE}(?:{})",
        [
            r"(?i:error|fatal|fatal error|critical|panic|err!)(?:\[[^\]]+\])?(?::|!|[ \t]+[^ \t:=|0-9]|$)",
            r"\[(?i:error|fatal|fail|failed)\]",
            r"(?:ERROR|FATAL|FAIL|FAILED|FAILURE|CRITICAL|Failed|Failure)(?:[ \t:!]|$)|FAILURES:$",
            r"(?i:(?:build|compile|compilation|parser?|parsing|syntax|type|validation|schema|template|linker|link|internal) errors?):",
            r"(?:[A-Za-z_][A-Za-z0-9_.]*::?)*[A-Z][A-Za-z0-9_]*(?:Error|Exception|Failure|Fault)(?::|[ \t]*\[|[ \t]+\(|$)",
            r"not ok(?:[ \t]|$)",
            r".{1,400}(?:(?:[ \t]|\.\.\.)[ \t]?\[?(?:FAILED|FAIL|ERROR)\]?|\.\.\.[ \t]?failed)(?:!?$|: [^ ])",
            r"(?:✖|✘|×|✗|❌|\[-\])[ \t]",
            r"\*\* \((?:[A-Z][A-Za-z.]*|throw|exit|EXIT)[^)]*\)",
            r".{1,400} at [^ ]+ line [0-9]+\.$",
            r"Uncaught |Unhandled |Segmentation fault|Aborted|Killed$|Traceback \(|Caused by:",
        ]
        .join("|")
    ))
});

static STRONG_ANYWHERE: LazyLock<Regex> = LazyLock::new(|| {
    constant_regex(
        r"command not found|\b[Dd]ead (?:link|anchor)s?\b|\b[Bb]roken (?:link|anchor|reference)s?\b|: not found$|[0-9]:ERROR \[|No such file or directory|No space left on device|Disk quota exceeded|Read-only file system|Too many open files|Cannot allocate memory|[Nn]o module named|[Cc]annot find (?:module|package)|undefined reference to|[Pp]ermission denied|core dumped|panicked at|Assertion .* failed|: syntax error|(?:^|[^A-Za-z0-9_\x22'`-])(?:[Ee]rror|ERROR)(?: [A-Z]{1,6}[0-9]+)?: [^ 0-9]|[Uu]nknown option|unrecognized (?:option|argument)|(?:[A-Z][A-Za-z]*Error|[A-Z][A-Za-z]*Exception)(?::|\))",
    )
});

static WEAK: LazyLock<Regex> = LazyLock::new(|| {
    constant_regex(
        r"(?:^|[^A-Za-z0-9_./-])(?i:errors?|failed|failures?|fails|failing|exceptions?|fatal|invalid|missing|unexpected|cannot|can't|unable|denied|expected|undefined|mismatch|violations?|exceed(?:s|ed)|timed out|timeout|refused|aborted|could not|couldn't|not found|not defined|never defined|unresolved|unbound|violation|forgot|should (?:be|have|not)|must (?:be|have|not))(?:$|[^A-Za-z0-9_./-]|[.,:;](?:$|[ \t]))",
    )
});

/// Counts of nothing, and words about errors that did not happen.
static HARMLESS: LazyLock<Regex> = LazyLock::new(|| {
    constant_regex(
        r"(?i)(?:^|[^0-9.])0+(?:\.0+)?%?[ \t]+(?:errors?|fail(?:ed|ures?)|exceptions?|warnings?|problems?|issues?|violations?|offenses?)|(?:errors?|failed|failures?|exceptions?)(?:[ \t]+[a-z]+)?[ \t]*[:=][ \t]*(?:0+(?:\.0+%?)?|none)(?:$|[^0-9.])|(?:no|without|non-fatal)[ \t]+(?:errors?|failures?|problems?|issues?|warnings?|violations?|offenses?)|[ \t]+error [0-9]+ \(ignored\)$|^(?:\[[A-Z]+\] )?Picked up _?JAVA_[A-Z_]*OPTIONS: |^[ \t]*(?:ok|PASS|PASSED|passed|✓|✔|√)[ \t:]|[ \t](?:ok|PASSED|PASS|passed|OK)$",
    )
});

/// Whether the line says that something failed, and how sure it is.
pub(super) fn line_strength(line: &str) -> Option<FailureStrength> {
    let bytes = prefix(line, LINE_MATCH_BYTES_MAX).as_bytes();
    if !may_matter(bytes) {
        return None;
    }
    let strong = || STRONG.is_match(bytes) || STRONG_ANYWHERE.is_match(bytes);
    if !WEAK.is_match(bytes) && !strong() {
        return None;
    }
    if HARMLESS.is_match(bytes) {
        return None;
    }
    Some(if strong() { FailureStrength::Strong } else { FailureStrength::Weak })
}

/// Whether a line says that warnings made the run fail (`warnings found and -Werror specified`).
pub(super) fn warnings_fail(lines: &[&str]) -> bool {
    static WORDS: LazyLock<[Finder; 2]> = LazyLock::new(|| ["arning", "-Werror"].map(Finder::new));
    static STRICT: LazyLock<Regex> = LazyLock::new(|| {
        constant_regex(
            r"(?i)\bwarnings? (?:found )?and -Werror|\bunder -W?(?:error|fatal)|warnings?[- ]as[- ]errors?|warnings? (?:are |is |were |being )?treated as errors?|treat(?:ed|ing)? (?:all )?warnings? as|(?:due to|because of|aborted with|failed with|too many|exceeds? maximum|maximum) (?:[0-9]+ )?warnings?|(?:fatal|--max)[- ]warnings|warnings? in strict mode|-Werror\b.*(?:specified|enabled|set)",
        )
    });
    let says = |line: &&str| {
        let line = prefix(line, LINE_MATCH_BYTES_MAX).as_bytes();
        WORDS.iter().any(|word| word.find(line).is_some()) && STRICT.is_match(line)
    };
    lines.iter().any(says)
}

/// Whether a line says that something is right, and nothing else: a passed test, a file without issues.
pub(super) fn is_harmless(line: &str) -> bool {
    let bytes = prefix(line, LINE_MATCH_BYTES_MAX).as_bytes();
    HARMLESS.is_match(bytes) && !WEAK.is_match(bytes)
}

/// Whether a line is a count in which nothing failed (`Tests run: 3, Failures: 0, Errors: 0`).
pub(super) fn counts_nothing(line: &str) -> bool {
    static SOME: LazyLock<Regex> = LazyLock::new(|| {
        constant_regex(
            r"(?i)(?:^|[^0-9.])[1-9][0-9]*[ \t]+(?:[a-z]+ )?(?:errors?|fail|exceptions?|warnings?|problems?|violations?)|(?:errors?|failed|failures?|fail|exceptions?)[ \t]*[:=][ \t]*[1-9]",
        )
    });
    let bytes = prefix(line, LINE_MATCH_BYTES_MAX).as_bytes();
    bytes.contains(&b'0') && HARMLESS.is_match(bytes) && !SOME.is_match(bytes)
}

/// How deep a line is, bytes.
pub(super) fn indent_width(text: &str) -> usize {
    text.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// Whether a line only says that a command failed which has said why itself.
pub(super) fn is_wrapper(line: &str) -> bool {
    static WRAPPER: LazyLock<Regex> = LazyLock::new(|| {
        constant_regex(
            r"^(?:npm ERR!|npm error)|^[ \t]*(?:[a-z]*make(?:\[[0-9]+\])?: )?\*\*\* .*Error [0-9]+|: recipe for target '|^error Command failed|ELIFECYCLE|exit(?:ed with)?(?: exit)? (?:status|code):? [0-9]+[.)]?$|The command .* (?:exited with|failed)|returned (?:a )?non-zero exit|^(?:##\[error\])?Process completed with exit code|^travis_",
        )
    });
    WRAPPER.is_match(prefix(line, LINE_MATCH_BYTES_MAX).as_bytes())
}

/// Whether a line that is no deeper than the one before still belongs to it: a frame, or a side of a comparison.
pub(super) fn is_detail(line: &str) -> bool {
    static DETAIL: LazyLock<Regex> = LazyLock::new(|| {
        constant_regex(
            r"^[ \t]*(?:at |from |in [`']|\.\.\.$|Caused(?: by|:)|Also: {3}|\.\.\. [0-9]+ more|#[0-9]+ |(?i:expected|actual|got|received|left|right|reason|diff|stack ?trace|message|but was|but|to equal|value|hint|note|help|details?)[a-z ]*:|[|^~+>]|[-+]{1,3} ?[^ -]|\*\* \(|[^ ]+:[0-9]+:in )",
        )
    });
    DETAIL.is_match(prefix(line, LINE_MATCH_BYTES_MAX).as_bytes())
}

/// Whether a line is one of a stack, as Java, JavaScript, Python, Ruby, C# and debuggers print it.
pub(super) fn is_frame(line: &str) -> bool {
    static FRAME: LazyLock<Regex> = LazyLock::new(|| {
        constant_regex(
            r#"^[ \t]*(?:#[ ])?(?:at [^ ]|File "[^"]+", line [0-9]|\.\.\. [0-9]+ (?:more|common)|Caused(?: by)?: |Also: {3}|from [^ ]+:[0-9]+:in |[^ ]+:[0-9]+:in [`']|#[0-9]+:? |[0-9]+: \(?[A-Za-z<(]|--- End of |\([a-z_]+[^)]*\) [^ ]+:[0-9]+: )"#,
        )
    });
    FRAME.is_match(prefix(line, LINE_MATCH_BYTES_MAX).as_bytes())
}

/// Whether a line only says that a stack follows, whose last line says why.
pub(super) fn is_announcement(line: &str) -> bool {
    line.contains("Traceback (most recent call last)") || line.trim_end().ends_with("stack backtrace:")
}

/// Whether a line is a side of a comparison, or of a difference between two texts.
pub(super) fn is_comparison(line: &str) -> bool {
    static COMPARISON: LazyLock<Regex> = LazyLock::new(|| {
        constant_regex(
            r"^[ \t]*(?:E[ \t]+)?(?:(?i:expected|actual|got|but got|received|have|want|wanted|left|right|found|but was|but|passed in|reason|result (?:was|should have been))[a-z ()]*[:=]|(?:have|want) \(|[Ee]xpected |[-+] ?[^-+ \t])|^E[ \t].* != ",
        )
    });
    COMPARISON.is_match(prefix(line, LINE_MATCH_BYTES_MAX).as_bytes())
}

/// Whether a line begins a difference between two texts: it names the sides (`--- Expected`, `+ Received  + 1`, `+ expected
/// - actual`, as phpunit, jest and mocha print it), says where in them (`@@ -1,4 +1,5 @@`) or what it is (pytest's `Full diff:`).
pub(super) fn is_difference_head(line: &str) -> bool {
    static HEAD: LazyLock<Regex> = LazyLock::new(|| {
        let side = "(?i:expected|actual|received|snapshot)";
        constant_regex(&format!(
            r"^[ \t]*(?:E[ \t]+)?(?:@@ |(?:---|\+\+\+) [^ ]|[-+] {side}(?:[ \t]+[-+] (?:{side}|[0-9]+))?[ \t]*$)|^E[ \t]+Full diff:$"
        ))
    });
    line.trim_start().starts_with(['@', '-', '+', 'E']) && HEAD.is_match(prefix(line, LINE_MATCH_BYTES_MAX).as_bytes())
}

/// The file that the head of a difference names (`--- src/a.py`), as formatters print what they would change.
pub(super) fn differing_file(line: &str) -> Option<&str> {
    let side = line.strip_prefix("--- ").or_else(|| line.strip_prefix("+++ "))?;
    let file = side.split('\t').next()?.trim_end();
    looks_like_a_file(file).then_some(file)
}

/// Whether a line is one of source with its number before a bar, as compilers show it under what they say.
pub(super) fn is_source(line: &str) -> bool {
    static SOURCE: LazyLock<Regex> = LazyLock::new(|| {
        constant_regex(
            r"^[ \t]*(?:>|\xe2\x9d\xb1)?[ \t]*[0-9]+(?:[ \t]+[0-9]+)?[ \t]*(?:\||\xe2\x94[\x82\x83])(?:[ \t]|$)",
        )
    });
    let begins = |c: char| c.is_ascii_digit() || matches!(c, '>' | '❱');
    line.trim_start().starts_with(begins) && SOURCE.is_match(prefix(line, LINE_MATCH_BYTES_MAX).as_bytes())
}

/// Whether a line is part of a piece of source that is drawn with lines around it (`2 │ .a {`, `  ╵`, `    ^^^`).
pub(super) fn is_drawing(line: &str) -> bool {
    let text = line.trim();
    let drawn = |c: char| ('─'..='╿').contains(&c) || matches!(c, '^' | '~' | '|' | '-' | '.' | ' ');
    is_source(line) || text.starts_with(|c: char| ('─'..='╿').contains(&c) || c == '|') || text.chars().all(drawn)
}

/// Whether a line is a title with lines drawn on both sides of it (`── Failure: total ─────`).
pub(super) fn is_title(line: &str) -> bool {
    let text = line.trim();
    let Some(mark) = text.chars().next().filter(|mark| matches!(mark, '─' | '━' | '═')) else {
        return false;
    };
    let (inner, drawn) = (text.trim_matches(mark), 2 * mark.len_utf8());
    let (before, after) = (text.trim_start_matches(mark), text.trim_end_matches(mark));
    let is_drawn = |rest: &str| text.len() - rest.len() >= drawn;
    is_drawn(before) && is_drawn(after) && inner.starts_with(' ') && inner.ends_with(' ')
}

/// Whether a line is source with its number, or the marks below one.
pub(super) fn is_drawn(line: &str) -> bool {
    let mark = |c: char| ('─'..='╿').contains(&c) || matches!(c, '^' | '~' | '|' | ' ' | '\t');
    is_source(line) || line.bytes().any(|byte| byte != b' ') && line.chars().all(mark)
}

/// How bad the mark before a message says that it is.
pub(super) fn marked_severity(line: &str) -> Option<Severity> {
    line.trim_start().starts_with(['⚠', '!']).then_some(Severity::Warning)
}

/// Whether a line advises what to do; what is shown below it is no part of what was found.
pub(super) fn is_advice(line: &str) -> bool {
    let text = line.trim_start().trim_start_matches("= ");
    ["help: ", "hint: ", "Hint: ", "Help: ", "Did you mean:"].iter().any(|word| text.starts_with(word))
}

/// Whether a line is a record of a program's log, with its time and its level.
pub(super) fn is_log_record(line: &str) -> bool {
    static RECORD: LazyLock<Regex> = LazyLock::new(|| {
        constant_regex(concat!(
            // a time, then how bad
            r"^[ \t]*\[?(?:\[[^\]]{1,40}\][ \t]*)?(?:[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[ T,:])?[0-9]{2}:[0-9]{2}:[0-9]{2}[.,0-9]*(?:Z|[ ]?[+-][0-9]{2}:?[0-9]{2})?\]?[ \t]+[^:]{0,40}?(?i:error|warn|fatal|severe|critical)",
            // how bad, then a time
            r"|^[ \t]*\[?(?:ERROR|WARN(?:ING)?|FATAL|CRITICAL|SEVERE)\]?:?[ \t]+\[?[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[ T]",
            // Python's default, glog, logfmt, JSON
            r"|^(?:ERROR|WARNING|CRITICAL):[A-Za-z_][A-Za-z0-9_.]*:",
            r"|^[EWF][0-9]{4} [0-9:.]{8,15} +[0-9]+ [^ ]+:[0-9]+\] ",
            r#"|(?:^|[ \t])(?:level|lvl|severity)=\"?(?i:error|warn|fatal|crit)|^\{.{0,200}\"(?:level|severity|levelname)\":[ ]?\"(?i:error|warn|fatal|crit)"#,
        ))
    });
    RECORD.is_match(prefix(line, LINE_MATCH_BYTES_MAX).as_bytes())
}

/// What the regexes need of a line: one of these is in every line that they match.
const WORDS: [&str; 61] = [
    "err",
    "fail",
    "fatal",
    "exception",
    "panic",
    "not ok",
    "dead link",
    "dead anchor",
    "broken link",
    "broken anchor",
    "broken reference",
    "✖",
    "✘",
    "×",
    "✗",
    "❌",
    "critical",
    "uncaught",
    "unhandled",
    "fault",
    "abort",
    "killed",
    "traceback",
    "caused by",
    "not found",
    "no such",
    "no module",
    "no space left",
    "read-only",
    "too many open",
    "cannot",
    "can't",
    "unable",
    "undefined",
    "denied",
    "core dumped",
    "assertion",
    "unknown",
    "unrecognized",
    "invalid",
    "missing",
    "unexpected",
    "expected",
    "mismatch",
    "violation",
    "exceed",
    "timed out",
    "timeout",
    "refused",
    "could not",
    "couldn't",
    "not defined",
    "never defined",
    "unresolved",
    "unbound",
    "forgot",
    " line ",
    "should ",
    "must ",
    "[-]",
    "** (",
];

/// A cheap look before the regexes.
fn may_matter(line: &[u8]) -> bool {
    let build = |kind| {
        let mut builder = AhoCorasick::builder();
        builder.kind(Some(kind)).ascii_case_insensitive(true).build(WORDS).expect("constant literals")
    };
    // One that is built fast, for every recorder builds it; and one that is several times as fast, for very many lines.
    static FEW: OnceLock<AhoCorasick> = OnceLock::new();
    static MANY: OnceLock<AhoCorasick> = OnceLock::new();
    static LOOKS: AtomicUsize = AtomicUsize::new(0);
    let automaton = match LOOKS.fetch_add(1, Ordering::Relaxed) {
        ..MANY_LOOKS => FEW.get_or_init(|| build(AhoCorasickKind::ContiguousNFA)),
        _ => MANY.get_or_init(|| build(AhoCorasickKind::DFA)),
    };
    automaton.is_match(line)
}

/// Lines from which on the faster automaton is worth the time that it takes to build.
const MANY_LOOKS: usize = 4_000;

/// The places that a line names, in order. URLs, times, `host:port` and numbers are none.
pub(super) fn find_locations(line: &str) -> Vec<Frame<'_>> {
    static PLACES: LazyLock<[Regex; 4]> = LazyLock::new(|| {
        // A drive is one letter: the last of `file:///` is none.
        let path = r#"(?P<file>(?:\b[A-Za-z]:[\\/])?[^ \t:()\[\]"'`<>|=,;*?]+)"#;
        [
            constant_regex(&format!(r"{path}:(?P<line>[0-9]{{1,7}})(?::(?P<col>[0-9]{{1,5}}))?(?:[^0-9A-Za-z/]|$)")),
            constant_regex(&format!(r"{path}\((?P<line>[0-9]{{1,7}})(?:[,:][ ]?(?P<col>[0-9]{{1,5}}))?\)")),
            constant_regex(&format!(r#"{path}["']?,?[ ](?:on[ ]|at[ ])?line[ :](?P<line>[0-9]{{1,7}})"#)),
            constant_regex(&format!(r"{path}::[A-Za-z_]")),
        ]
    });
    let line = prefix(line, LINE_MATCH_BYTES_MAX);
    if !line.bytes().any(|byte| byte.is_ascii_digit()) && !line.contains("::") {
        return Vec::new();
    }
    let mut found = Vec::new();
    for regex in PLACES.iter() {
        for captures in regex.captures_iter(line.as_bytes()) {
            found.extend(capture_location(line, &captures));
        }
        if !found.is_empty() {
            break;
        }
    }
    found
}

fn capture_location<'a>(line: &'a str, captures: &Captures<'a>) -> Option<Frame<'a>> {
    let group = captures.name("file")?;
    let file = std::str::from_utf8(group.as_bytes()).ok()?;
    let number = |name: &str| std::str::from_utf8(captures.name(name)?.as_bytes()).ok()?.parse().ok();
    // The word that the match is in may be an address of which it is only the end.
    let word = line.get(..group.start())?.rsplit([' ', '\t', '(', '"', '\'', '<']).next()?;
    let file = if word == "file:" { file.strip_prefix("//")? } else { file };
    let address = word.ends_with(':') && (file.starts_with("//") || word.contains("://"));
    let behind = captures.name("line").and_then(|number| line.get(number.end()..));
    let version = behind.is_some_and(is_version);
    (!address && !version && looks_like_a_file(file)).then(|| Frame {
        file,
        line: number("line").filter(|&line| line > 0),
        col: number("col"),
    })
}

/// Whether a number goes on as a version (`shop/api:1.2.0-beta1`, `org.tukaani:xz:1.9:test`): what precedes the colon is
/// no file.
pub(super) fn is_version(behind: &str) -> bool {
    let scope = behind.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit()).strip_prefix(':');
    let scope = scope.map(|text| text.split(char::is_whitespace).next().unwrap_or(""));
    if scope.is_some_and(|scope| MAVEN_SCOPES.contains(&scope)) {
        return true;
    }
    let Some(minor) = behind.strip_prefix('.') else { return false };
    let rest = minor.trim_start_matches(|c: char| c.is_ascii_digit());
    let next = |mark| rest.strip_prefix(mark).and_then(|behind: &str| behind.bytes().next());
    rest.len() < minor.len()
        && (next('.').is_some_and(|byte| byte.is_ascii_digit())
            || next('-').is_some_and(|byte| byte.is_ascii_alphabetic()))
}

/// What Maven prints behind the version of a dependency.
const MAVEN_SCOPES: &[&str] = &["compile", "provided", "runtime", "test", "system", "import"];

/// The place that a line begins with, as compilers and linters print it (`a b.go:3:1: …`, `a.cs(3,1): …`).
pub(super) fn leading_place(line: &str) -> Option<Frame<'_>> {
    static LEADING: LazyLock<[Regex; 2]> = LazyLock::new(|| {
        let path = r"^[ \t]*(?:[A-Za-z]+: )?(?P<file>(?:[A-Za-z]:[\\/])?[^:*?<>|\t]*[^:*?<>|\t ])";
        [
            constant_regex(&format!(
                r"{path}:(?P<line>[0-9]{{1,7}})(?:[:.](?P<col>[0-9]{{1,5}}))?(?:-[0-9:]+)?(?::|[ \t])[ \t]*[^ \t0-9]"
            )),
            constant_regex(&format!(
                r"{path}[ ]?\((?P<line>[0-9]{{1,7}})(?:[,:][ ]?(?P<col>[0-9]{{1,5}}))?(?:[,-][0-9,]+)?\)[ ]?:?[ \t]"
            )),
        ]
    });
    let line = prefix(line, LINE_MATCH_BYTES_MAX);
    if !line.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    LEADING.iter().find_map(|regex| capture_location(line, &regex.captures(line.as_bytes())?))
}

/// How bad a line is that begins with a place: by the first word after it.
pub(super) fn severity_of(line: &str) -> Severity {
    static WORD: LazyLock<Regex> = LazyLock::new(|| {
        constant_regex(
            r"(?i)(?:[:0-9)\]>-]|^)[ \t]*[\[(]?(?P<word>fatal error|error|warning|warn|note|info|hint|style|convention|refactor)[\])]?(?::|[ \t]|\[|,|$)",
        )
    });
    let captures = WORD.captures(prefix(line, LINE_MATCH_BYTES_MAX).as_bytes());
    let word = captures.as_ref().and_then(|captures| std::str::from_utf8(captures.name("word")?.as_bytes()).ok());
    word.and_then(engine::severity_of_word).unwrap_or(Severity::Error)
}

/// A name with a letter and an extension, or with a folder: no number, version, address or time.
pub(super) fn looks_like_a_file(file: &str) -> bool {
    if memchr3(b'.', b'/', b'\\', file.as_bytes()).is_none() {
        return !file.contains(' ') && KNOWN_NAMES.contains(&file);
    }
    if file.contains("://") || file.contains("  ") || file.starts_with("//") || file.ends_with('/') {
        return false;
    }
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let extension = name
        .rsplit_once('.')
        .map(|(stem, extension)| (!stem.is_empty() || name.starts_with('.')) && is_extension(extension));
    let letters = name.bytes().any(|byte| byte.is_ascii_alphabetic() || byte >= 0x80);
    letters && (extension == Some(true) || (file.contains('/') && extension.is_none()) || KNOWN_NAMES.contains(&name))
}

/// Files without an extension that tools speak of.
const KNOWN_NAMES: &[&str] = &[
    "Makefile",
    "makefile",
    "GNUmakefile",
    "Dockerfile",
    "Rakefile",
    "Gemfile",
    "Jenkinsfile",
    "BUILD",
    "WORKSPACE",
    "Vagrantfile",
    "Justfile",
    "justfile",
    "Podfile",
    "Procfile",
    "Containerfile",
    "Snakefile",
    "SConstruct",
    "Brewfile",
    "PKGBUILD",
    "APKBUILD",
];

fn is_extension(text: &str) -> bool {
    (1..=12).contains(&text.len())
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_has_lines_on_both_sides() {
        for title in ["── Failure ('a.R:3'): total ────", "══ Failed tests ═══", "  ━━ x ━━"]
        {
            assert!(is_title(title), "{title}");
        }
        for other in ["─ x ─", "────────", "── x", "x ──", "── x ══", "== x ==", ""]
        {
            assert!(!is_title(other), "{other}");
        }
    }

    #[test]
    fn severity_is_read_by_position() {
        for strong in [
            "error: bad thing",
            "12:31:07 ERROR test_checkout failed: lib/checkout.py:88: AssertionError",
            "ERROR: Coverage low",
            "  not ok - refunds",
            "[!] RollupError: x",
            "sh: 1: jest: not found",
            "foo.c:3:1: error: expected ';'",
            "make: fatal: x",
            "java.lang.NullPointerException: x",
            "✖ 1 problem",
            "FAILED tests/a.py::b",
            "Error [ERR_X]: y",
        ] {
            assert_eq!(line_strength(strong), Some(FailureStrength::Strong), "{strong}");
        }
        for weak in ["3 tests failed today", "the build failed"] {
            assert_eq!(line_strength(weak), Some(FailureStrength::Weak), "{weak}");
        }
        for none in [
            "  ok - error_handling (0 errors, 0 failed)",
            "Error rate: 0.00%   Failed requests: 0   Exceptions: none",
            "log: src/errors/failed.ts loaded without error",
            "docs: file:///usr/share/doc/error/failed.html",
            "0 errors",
            "compiling errorItem.cpp",
            "[000001] processed record 17 ok",
            "test_error_path_0 PASSED",
            "errors: 0, warnings: 0",
        ] {
            assert_eq!(line_strength(none), None, "{none}");
        }
    }

    #[test]
    fn records_of_logs_are_told_from_what_tools_say() {
        for record in [
            "2026-05-05T10:00:00Z ERROR [worker] job failed: lib/w.js:88:11",
            "2026-05-05 10:00:00,123 - shop - CRITICAL - no answer",
            "[2026-05-05 10:00:00] production.ERROR: no answer",
            "ERROR 2026-05-05 10:00:00,123 views no answer",
            "ERROR:root:cannot reach the server",
            "E0505 10:00:00.123456   77 a.go:33] no answer",
            "time=x level=error msg=\"no answer\"",
            "{\"ts\":1,\"level\":\"error\",\"msg\":\"no answer\"}",
        ] {
            assert!(is_log_record(record), "{record}");
        }
        for said in
            ["ERROR: no answer", "error[E1]: bad", "a.c:3: error: bad", "ERROR in ./src/a.js 2:1", "E0505 is a code"]
        {
            assert!(!is_log_record(said), "{said}");
        }
    }

    #[test]
    fn counts_in_which_nothing_failed_are_told() {
        for none in [
            "Tests run: 3, Failures: 0, Errors: 0, Skipped: 1",
            "PASS: a (0 failures, 0 errors)",
            "12 passed, 0 failed",
        ] {
            assert!(counts_nothing(none), "{none}");
        }
        for some in [
            "Tests run: 3, Failures: 1, Errors: 0",
            "2 errors, 0 warnings",
            "1 failed, 0 errors",
            "expected 0 but was 3",
        ] {
            assert!(!counts_nothing(some), "{some}");
        }
    }

    #[test]
    fn places_are_told_from_urls_times_and_addresses() {
        let one = |line: &str| {
            find_locations(line)
                .into_iter()
                .map(|place| (place.file.to_owned(), place.line, place.col))
                .collect::<Vec<_>>()
        };
        assert_eq!(one("at src/a.ts:14:3 - x"), [("src/a.ts".to_owned(), Some(14), Some(3))]);
        assert_eq!(one(r"C:\src\a.c(12,3): error"), [(r"C:\src\a.c".to_owned(), Some(12), Some(3))]);
        assert_eq!(one("at t/01-calc.t line 5."), [("t/01-calc.t".to_owned(), Some(5), None)]);
        assert_eq!(one("at: \"file:///p/a.test.js:5:7\""), [("/p/a.test.js".to_owned(), Some(5), Some(7))]);
        for none in [
            "12:34:56 done",
            "2026-03-04T12:30:00.000Z [x] 192.168.0.1:8080",
            "http://10.1.2.3:8080/deploy/app.js:443 ok",
            "https://registry.example.com:8443/pkg",
            "localhost:3000",
            "node/20.11.0 v1.2.3-rc.0 ratio 16:9",
            "Time: 0:00:01",
        ] {
            assert_eq!(one(none), [], "{none}");
        }
    }
}
