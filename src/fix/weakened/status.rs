//! Statuses of commands that a script no longer acts on: it ends before them, goes on after them, or only remarks that
//! one failed.

use std::sync::LazyLock;

use regex::Regex;

use super::WeakenedCheckCollector;
use super::language::FileRole;
use super::lazy::compile_regex;
use super::lexis::without_whitespace;
use super::rule::RuleSeverity;
use super::swallowed::{CATCHES, FAILS, TRIES};
use super::view::{DiffLine, DiffSide, FileView, HunkSides};
use crate::fix::patch::PatchChange;

/// Changed lines of a hunk that are compared.
const LINES_MAX: usize = 60;
/// Words of commands that check something.
static CHECKS: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"(?i)(?:^|[^\w-])(?:\w+[:_-])*(?:tests?|checks?|lint|verify|diff|cmp|validate|audit|scan|spec|coverage|typecheck|pytest|mypy|pyright|flake8|ruff|pylint|pycodestyle|eslint|tsc|jest|vitest|mocha|ctest|clippy|rspec|rubocop|phpunit|phpstan|psalm|tox|nox|golangci-lint|shellcheck|go\s+vet)(?:[:_-]\w+)*(?:$|[^\w-])")
        .expect("a regex")
});
/// Ends a script as one that succeeded.
static ENDS: LazyLock<Regex> = LazyLock::new(|| compile_regex(r"^\s*exit(?:\s+(?:0|77))?\s*;?\s*$").expect("a regex"));
/// What may stand below the end of a script and isn't done after it.
static CLOSES: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"^\s*(?:fi\b|else|elif|elseif|;;|esac|done|\}|\)|end\b|function\b|[\w.-]+\s*\(\)|catch\b|finally\b|exit\b|-\s)")
        .expect("a regex")
});
/// Begins what is done only if a command fails, or doesn't.
static ASKS: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"^\s*(?:-\s+)?(?:run:\s*)?if\s+(?:!\s*)?(?P<command>[^\[\s].*?)\s*(?:;\s*then)?\s*$")
        .expect("a regex")
});
/// Lets a script fail, or remembers that it has to.
static ACTS: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r"\b(?:exit|return|false|die|kill|throw)\b|\w\+?=|\+\+").expect("a regex"));
/// Takes the place of a command's status with that of another one.
static PIPED: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"^\s*(?:2>&1\s*)?\|&?\s*(?:tee|cat|head|tail|grep|ts|sed|awk|tr|less|sort)\b[^|&;]*$")
        .expect("a regex")
});
/// Asks for the status of what ran beside the script.
static WAITS: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r#"\bwait\s+(?:-n|["']?[$%\d])|\$!|\bjobs\s+-p"#).expect("a regex"));
/// Makes every failure count.
static STRICT: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r"\bset\s+-\w*e|errexit|^\s*#!.*\s-\w*e").expect("a regex"));
/// Scripts in a language that catches failures, and what they run.
static BUILDS: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"(?i)(?:^|/)(?:jenkinsfile[^/]*|[^/]*\.jenkinsfile|noxfile\.py|tasks\.py|fabfile\.py|setup\.py|[^/]*\.gradle(?:\.kts)?)$|(?:^|/)jenkins/[^/]+\.groovy$")
        .expect("a regex")
});

/// Marks what no longer makes a script fail.
pub(super) fn mark_statuses(sheet: &mut WeakenedCheckCollector<'_, '_>) {
    let views = sheet.views;
    for (file, view) in views.iter().enumerate().filter(|(_, view)| view.file.change == PatchChange::Modified) {
        if matches!(view.part, FileRole::Foreign | FileRole::Snapshot | FileRole::Document) {
            continue;
        }
        let is_script = ["shell", "yaml", "powershell"].iter().any(|own| view.is(own));
        let runs_commands =
            is_script || view.part == FileRole::Source && ["make", "json"].iter().any(|own| view.is(own));
        for sides in &view.hunks {
            let mut add = |id: &str, line: Option<&DiffLine<'_>>, severity| {
                if let Some(line) = line {
                    sheet.add_named(id, (file, DiffSide::New, line), severity, line.masked.text.trim());
                }
            };
            if is_script {
                add("script-ends-early", ends_early(sides), RuleSeverity::Certain);
                add("check-failure-remarked", remarks_failure(sides), RuleSeverity::Certain);
            }
            if runs_commands {
                add("status-replaced", goes_on(sides, view), RuleSeverity::Likely);
            }
            if BUILDS.is_match(&view.file.new) {
                add("check-failure-remarked", catches_failure(sides), RuleSeverity::Certain);
            }
        }
    }
}

/// The changed lines of a side that have any code.
fn changed<'s, 'p>(lines: &'s [DiffLine<'p>]) -> impl Iterator<Item = (usize, &'s DiffLine<'p>)> + Clone {
    lines.iter().enumerate().filter(|(_, line)| line.changed && !line.is_idle()).take(LINES_MAX)
}

/// A new end of a script above what it did before.
fn ends_early<'s, 'p>(sides: &'s HunkSides<'p>) -> Option<&'s DiffLine<'p>> {
    let had_end = || changed(&sides.old).any(|(_, line)| line.masked.code.contains("exit"));
    let is_early = |&(at, line): &(usize, &'s DiffLine<'p>)| {
        let above = sides.new[..at].iter().rfind(|line| !line.is_idle()).map_or("", |line| line.masked.code.trim_end());
        let below = sides.new[at + 1..].iter().find(|line| line.has_code());
        ENDS.is_match(&line.masked.code)
            && !above.ends_with(['\\', '{', '(', '&', '|'])
            && below
                .is_some_and(|next| !next.changed && next.indent == line.indent && !CLOSES.is_match(&next.masked.code))
    };
    changed(&sides.new).find(is_early).filter(|_| !had_end()).map(|(_, line)| line)
}

/// A command that was run and is only asked now whether it fails, while the script goes on.
fn remarks_failure<'s, 'p>(sides: &'s HunkSides<'p>) -> Option<&'s DiffLine<'p>> {
    let plain = |text: &str| without_whitespace(text.trim().trim_start_matches("- ").trim_start_matches("run:"));
    let (_, line) = changed(&sides.new).find(|&(at, line)| {
        let Some(groups) = ASKS.captures(&line.masked.text) else { return false };
        let command = plain(&groups["command"]);
        let was = changed(&sides.old).any(|(_, old)| plain(&old.masked.text) == command);
        let below = sides.new[at + 1..].iter();
        let block: Vec<&DiffLine<'_>> = below.take_while(|inner| inner.masked.code.trim() != "fi").collect();
        let is_whole = block.len() + at + 1 < sides.new.len();
        let acts = |inner: &&DiffLine<'_>| {
            let code = inner.masked.code.trim_start();
            !code.starts_with("echo") && !code.starts_with("printf") && ACTS.is_match(code)
        };
        was && CHECKS.is_match(&command_words(&groups["command"])) && is_whole && !block.iter().any(acts)
    })?;
    Some(line)
}

/// The words of a command, without what quotes and paths are around them.
fn command_words(text: &str) -> String {
    text.replace(['"', '\'', '/'], " ")
}

/// A check whose status another command's takes the place of: what it is piped to, what comes next, or none at all.
fn goes_on<'s, 'p>(sides: &'s HunkSides<'p>, view: &FileView<'_>) -> Option<&'s DiffLine<'p>> {
    let text = |line: &DiffLine<'_>| line.masked.text.trim().trim_end_matches([',', '"', '\'']).to_owned();
    let has = |regex: &Regex| view.all_lines(DiffSide::New).any(|line| regex.is_match(&line.masked.text));
    let is_bash = || {
        let bash = |line: &DiffLine<'_>| line.raw.contains("pipefail") || line.raw.trim() == "shell: bash";
        view.all_lines(DiffSide::New).any(bash)
    };
    let olds: Vec<String> = changed(&sides.old).map(|(_, line)| text(line)).collect();
    let loses = |line: &DiffLine<'_>| {
        let now = text(line);
        olds.iter().filter(|old| old.len() > 1 && CHECKS.is_match(&command_words(old))).any(|old| {
            let rest = now.strip_prefix(old.as_str()).unwrap_or_default();
            PIPED.is_match(rest) && !is_bash()
                || rest.trim() == "&" && !has(&WAITS)
                || is_unchained(old, &now) && !has(&STRICT)
        })
    };
    changed(&sides.new).find(|(_, line)| loses(line)).map(|(_, line)| line)
}

/// Whether commands that were done only while none failed are done one after the other.
fn is_unchained(old: &str, now: &str) -> bool {
    let links = |text: &str| text.matches("&&").count();
    let flat = |text: &str| without_whitespace(&text.replace("&&", ";"));
    links(now) < links(old) && flat(now) == flat(old)
}

/// The handler of a build's script that only says that a check failed, which nothing caught before.
fn catches_failure<'s, 'p>(sides: &'s HunkSides<'p>) -> Option<&'s DiffLine<'p>> {
    let was = |inner: &DiffLine<'_>| {
        let own = without_whitespace(&inner.masked.text);
        sides.old.iter().any(|old| without_whitespace(&old.masked.text) == own)
    };
    let found = changed(&sides.new).find(|&(at, line)| {
        let lines = &sides.new;
        let Some(opens) =
            lines[..at].iter().rposition(|open| open.indent == line.indent && TRIES.is_match(&open.masked.code))
        else {
            return false;
        };
        let handler = lines[at + 1..].iter().take_while(|inner| inner.indent > line.indent || !inner.has_code());
        let mut acts = handler.map(|inner| &inner.masked.code);
        CATCHES.is_match(&line.masked.code)
            && lines[opens].changed
            && lines[opens + 1..at]
                .iter()
                .any(|inner| was(inner) && CHECKS.is_match(&command_words(&inner.masked.text)))
            && !acts.any(|code| FAILS.is_match(code) || ACTS.is_match(code) || code.contains("error"))
    });
    found.map(|(_, line)| line)
}

/// What turns rules off up to where others turn them on again.
static OPENED: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"(?:eslint|stylelint|tslint|oxlint)[-:]disable(?:\s|$)|(?:rubocop|swiftlint|phpcs):disable\b|pylint:\s*disable|fmt:\s*off|clang-format\s+off|NOLINTBEGIN|CHECKSTYLE[.:]\s*OFF|isort:\s*off|@formatter:off|markdownlint-disable(?:\s|$)|yamllint\s+disable(?:\s|$)|pragma\s+warning\s+disable|diagnostic\s+push|scalastyle:off|prettier-ignore-start|ReSharper\s+disable\b")
        .expect("a regex")
});
/// What turns them on.
static CLOSED: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"(?:eslint|stylelint|tslint|oxlint)[-:]enable\b|(?:rubocop|swiftlint|phpcs):enable\b|pylint:\s*enable|fmt:\s*on\b|clang-format\s+on\b|NOLINTEND|CHECKSTYLE[.:]\s*ON\b|isort:\s*on\b|@formatter:on\b|markdownlint-enable|yamllint\s+enable|pragma\s+warning\s+restore|diagnostic\s+pop|scalastyle:on\b|prettier-ignore-end|ReSharper\s+restore\b")
        .expect("a regex")
});

/// Marks rules that are no longer turned on again where they were.
pub(super) fn mark_open_scopes(sheet: &mut WeakenedCheckCollector<'_, '_>) {
    let views = sheet.views;
    for (file, view) in views.iter().enumerate().filter(|(_, view)| view.file.change == PatchChange::Modified) {
        let judged =
            |line: &&DiffLine<'_>, regex: &Regex| regex.is_match(&line.masked.comment) || is_pragma(line, regex);
        let count = |side, regex: &Regex| view.changed_lines(side).filter(|line| judged(line, regex)).count();
        if view.language.is_none() || matches!(view.part, FileRole::Foreign | FileRole::Snapshot) {
            continue;
        }
        let (closed, closes) = (count(DiffSide::Old, &CLOSED), count(DiffSide::New, &CLOSED));
        if closed <= closes || count(DiffSide::Old, &OPENED) > count(DiffSide::New, &OPENED) {
            continue;
        }
        let line = view.changed_lines(DiffSide::Old).find(|line| judged(line, &CLOSED));
        if let Some(line) = line {
            sheet.add_named("rules-left-off", (file, DiffSide::Old, line), RuleSeverity::Certain, "");
        }
    }
}

/// Whether a line is a directive of a compiler with these words.
fn is_pragma(line: &DiffLine<'_>, regex: &Regex) -> bool {
    line.masked.code.trim_start().starts_with('#') && regex.is_match(&line.masked.code)
}
