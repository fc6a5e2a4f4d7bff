//! Words for how much is let through: the level from which a check fails, how bad a finding is called, how strict a
//! preset is; and paths of checks that lead deeper than before.

use std::sync::LazyLock;

use regex::Regex;

use super::WeakenedCheckCollector;
use super::language::FileRole;
use super::lazy::{LazySet, compile_regex};
use super::lexis::without_whitespace;
use super::rule::RuleSeverity;
use super::view::{DiffLine, DiffSide, FileView};
use crate::fix::patch::PatchChange;

/// Changed lines of a hunk that are compared.
const LINES_MAX: usize = 60;
/// A level from which on a check fails.
static FAILS_FROM: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r#"(?i)^(?P<key>.*(?:\bshellcheck\b.*\s-S|--severity|--(?:min(?:imum)?-)?severity(?:-threshold|-level|-cutoff)?|--audit-level|--fail-level|--fail-on(?:-severity)?|--failure-threshold|--min-level|["'\s](?:audit-level|fail[_-]on(?:[_-]severity)?|fail[_-]level|failure-threshold|error-on|severity[_-](?:cutoff|threshold)|min[_-]severity|minAlertLevel|fail-on-severity))["']?\s*[:=\s]\s*["']*)(?P<word>[a-z]+)(?:[^\w,]|$)"#)
        .expect("a regex")
});
/// How bad a finding is called.
static CALLED: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r#"(?i)^(?P<key>.*(?:\b(?:severity|level)["']?\s*[:=]\s*|<property\s+name="severity"\s+value=)["']?)(?P<word>[a-z]+)\b"#)
        .expect("a regex")
});
/// The same where a rule's name is the key.
static CALLED_BY_RULE: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r#"^(?P<key>\s*"\w+"\s*:\s*(?:\{\s*"level"\s*:\s*)?")(?P<word>error|warn|info)""#).expect("a regex")
});
/// Files that configure linters.
static LINTERS: LazyLock<LazySet> = LazyLock::new(|| {
    LazySet::from_sources(&[
        r"(?:^|/)\.?(?:eslint|stylelint|oxlint|tslint|rubocop|swiftlint|golangci|detekt|ktlint|credo|biome|phpcs|phpmd|checkstyle|pmd|ansible-lint|sqlfluff|editorconfig|globalconfig|flowconfig|commitlint|markdownlint|yamllint|hadolint|htmlhint|spectral|redocly|vale|buf|luacheck)[^/]*$",
        r"(?:^|/)(?:[^/]*(?:checkstyle|pmd|spotbugs|lint)[^/]*\.xml|analysis_options\.yaml|[^/]*\.ruleset|[tj]sconfig[^/]*\.json|pyrightconfig\.json|pyproject\.toml|phpstan[^/]*\.neon[^/]*)$",
    ])
});

/// How much a check lets through that fails from this level on.
fn threshold_rank(word: &str) -> Option<u8> {
    Some(match word.to_ascii_lowercase().as_str() {
        "any" | "all" | "style" | "hint" | "note" | "info" | "infos" | "information" | "negligible" | "unknown" => 1,
        "low" => 2,
        "warn" | "warning" | "warnings" | "moderate" | "medium" => 3,
        "error" | "errors" | "high" => 4,
        "critical" | "fatal" => 5,
        "none" | "never" | "off" | "ignore" => 6,
        _ => return None,
    })
}

/// How bad a finding is.
fn severity_rank(word: &str) -> Option<u8> {
    Some(match word.to_ascii_lowercase().as_str() {
        "hint" | "suggestion" | "convention" | "refactor" | "info" | "information" => 1,
        "warn" | "warning" => 2,
        "error" | "fatal" => 3,
        // What is no finding at all is turned off.
        _ => return None,
    })
}

/// How much a preset of this name asks for.
fn preset_rank(word: &str) -> Option<u8> {
    Some(match word.to_ascii_lowercase().as_str() {
        "all" | "strictest" | "stricttypechecked" | "strict-type-checked" => 9,
        "strict" | "production" => 7,
        "shared" | "recommendedtypechecked" | "recommended-type-checked" | "recommended-requiring-type-checking" => 6,
        "recommended" | "safety" | "vue3-recommended" => 5,
        "strongly-recommended" | "vue3-strongly-recommended" | "moderate" => 4,
        "basic" => 3,
        "essential" | "vue3-essential" | "min" | "minimal" | "base" => 2,
        "off" => 0,
        _ => return None,
    })
}

/// Marks levels that were moved, presets that got laxer, and paths that lead deeper.
pub(super) fn mark_levels(sheet: &mut WeakenedCheckCollector<'_, '_>) {
    let views = sheet.views;
    for (file, view) in views.iter().enumerate().filter(|(_, view)| view.file.change == PatchChange::Modified) {
        if view.part != FileRole::Source && view.part != FileRole::Test {
            continue;
        }
        let configures = LINTERS.is_match(&view.file.new);
        for sides in &view.hunks {
            let changed = |side| {
                let lines: &[DiffLine<'_>] = sides.side_lines(side);
                lines.iter().filter(|line| line.changed && !line.is_idle()).take(LINES_MAX).collect::<Vec<_>>()
            };
            let (old, new) = (changed(DiffSide::Old), changed(DiffSide::New));
            for line in &new {
                let now = line.masked.text.as_str();
                let lowered = |change: &dyn Fn(&str, &str) -> Option<String>| {
                    old.iter().find_map(|old| change(&old.masked.text, now))
                };
                let found = lowered(&fails_later)
                    .or_else(|| lowered(&is_called_less).filter(|_| configures))
                    .or_else(|| lowered(&is_called_less_by_rule).filter(|_| view.file.new.contains("biome.json")))
                    .map(|change| ("level-lowered", change))
                    .or_else(|| lowered(&asks_less).filter(|_| configures).map(|change| ("preset-laxer", change)))
                    .or_else(|| {
                        let deeper = lowered(&leads_deeper)
                            .filter(|_| says_what_is_checked(view) && !now.contains("install"))?;
                        let is_split =
                            new.iter().filter(|other| other.masked.text.contains(first_folder(&deeper))).count() > 1;
                        let moves = |other: &FileView<'_>| {
                            other.file.change != PatchChange::Modified && other.file.new.contains(deeper.as_str())
                        };
                        (!is_split && !views.iter().any(moves)).then_some(("check-deeper", deeper))
                    });
                if let Some((id, change)) = found {
                    sheet.add_named(id, (file, DiffSide::New, line), RuleSeverity::Certain, &change);
                }
            }
        }
    }
}

/// `low to high`, where a check fails later.
fn fails_later(old: &str, new: &str) -> Option<String> {
    moved(&FAILS_FROM, old, new, |was, now| Some(threshold_rank(now)? > threshold_rank(was)?))
}

fn is_called_less(old: &str, new: &str) -> Option<String> {
    moved(&CALLED, old, new, |was, now| Some(severity_rank(now)? < severity_rank(was)?))
}

fn is_called_less_by_rule(old: &str, new: &str) -> Option<String> {
    moved(&CALLED_BY_RULE, old, new, |was, now| Some(severity_rank(now)? < severity_rank(was)?))
}

/// The two words of the same key, where the one is weaker than the other.
fn moved(regex: &Regex, old: &str, new: &str, is_weaker: impl Fn(&str, &str) -> Option<bool>) -> Option<String> {
    let (was, now) = (regex.captures(old)?, regex.captures(new)?);
    let same = without_whitespace(&was["key"]) == without_whitespace(&now["key"]);
    let weaker = same && is_weaker(&was["word"], &now["word"])?;
    weaker.then(|| format!("{} to {}", &was["word"], &now["word"]))
}

/// The words of two lines that are the same but for one.
fn one_other_word<'l>(old: &'l str, new: &'l str, is_word: impl Fn(char) -> bool) -> Option<(&'l str, &'l str)> {
    let words =
        |text: &'l str| -> Vec<&'l str> { text.split(|c: char| !is_word(c)).filter(|word| !word.is_empty()).collect() };
    let (was, now) = (words(old), words(new));
    let mut others = was.iter().zip(&now).filter(|(was, now)| was != now);
    let (was_word, now_word) = others.next()?;
    (was.len() == now.len() && others.next().is_none()).then_some((*was_word, *now_word))
}

/// `strict to recommended`, where a preset asks for less.
fn asks_less(old: &str, new: &str) -> Option<String> {
    let (was, now) = one_other_word(old, new, |c| c.is_alphanumeric() || c == '-' || c == '_')?;
    let is_preset = ["extends", "config", "profile", "preset", "include", "mode", "/", "package:"];
    let known = is_preset.iter().any(|word| new.to_ascii_lowercase().contains(word));
    (known && preset_rank(now)? < preset_rank(was)?).then(|| format!("{was} to {now}"))
}

/// Lines that give a check its paths.
static GIVES_PATHS: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"(?i)\b(?:pytest|py\.test|jest|vitest|mocha|rspec|phpunit|behat|go\s+(?:test|vet)|nosetests|unittest|stestr|trial|prove|bats|ava|playwright\s+test|cypress|mypy|pyright|flake8|ruff|pylint|eslint|stylelint|shellcheck|rubocop|golangci-lint|staticcheck|phpstan|psalm|bandit|tests?\s+glob|test_files|test_suite|testpaths|testMatch|spec_files|pattern|rake\s+spec)\b")
        .expect("a regex")
});

/// The path that a check is given, where it was given one that this one is in.
fn leads_deeper(old: &str, new: &str) -> Option<String> {
    if !GIVES_PATHS.is_match(new) {
        return None;
    }
    let (was, now) = one_other_word(old, new, |c| c.is_alphanumeric() || "_-./*".contains(c))?;
    let separator = if new.contains("test_suite") { '.' } else { '/' };
    let folders = |path: &str| -> Vec<String> {
        let path = path.trim_start_matches("./").trim_end_matches(separator);
        path.split(separator).filter(|part| !["**", "*", "...", "."].contains(part)).map(str::to_owned).collect()
    };
    let (before, after) = (folders(was), folders(now));
    // A path, not a version or an option, and no file that was moved.
    let last = before.last().map_or("", String::as_str);
    let is_path = now.contains(separator) && !now.starts_with(['-', '/']) && !was.starts_with('-');
    let is_whole = separator == '.' || last.contains('*') || !last.contains('.');
    let begins =
        before.first().is_none_or(|first| after.first() == Some(first)) && (was.starts_with('.') || !before.is_empty());
    let mut rest = after.iter();
    let contains = before.iter().all(|part| rest.any(|other| other == part));
    (is_path && is_whole && begins && contains && after.len() > before.len()).then(|| now.to_owned())
}

/// Whether a file is one that says what is checked.
fn says_what_is_checked(view: &FileView<'_>) -> bool {
    let known = ["yaml", "shell", "make", "ini", "toml", "json", "ruby", "docker", "javascript"];
    let name = view.file.new.rsplit('/').next().unwrap_or_default();
    known.iter().any(|own| view.is(own)) || ["setup.py", "noxfile.py", "tasks.py"].contains(&name)
}

/// The folder that a path begins with.
fn first_folder(path: &str) -> &str {
    path.trim_start_matches("./").split(['/', '*']).next().unwrap_or(path)
}
