//! Failures that no longer fail a test: caught, reported as a remark, or of a test that runs only under a condition now.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use super::language::{FileRole, Language};
use super::lazy::compile_regex;
use super::lexis::{identifiers_of, without_whitespace};
use super::rule::{RuleKind, RuleSeverity, WeakenedRules};
use super::rule_match::{applies_to, match_rule};
use super::view::{DiffLine, DiffSide, FileView};
use super::{WeakenedCheckCollector, loosened};
use crate::fix::patch::PatchChange;

/// Waits for an error.
pub(super) static WANTS_ERROR: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"(?i)\b(?:assert_?(?:throws|raises?|error)|(?:pytest\.)?raises|expect_?(?:error|warning|exception)|to_?throw\w*|throws_ok|has_error|assertFails\w*|shouldThrow|assertThrows)\b|\bexpected\s*=\s*\w+\.class|\.rejects\b|\bcheck_raises\b")
        .expect("a regex")
});
/// Goes on after an error.
static OUTLIVES: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"^\s*(?:try\b|begin\s*$|eval\s*\{|catch\s+\w+:)|\b(?:pcall|suppress|suppressWarnings|runCatching)\b\s*[({]|\.catch\(\s*\(|\btry\(")
        .expect("a regex")
});
/// Ends the test as failed.
static ENDS_TEST: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"(?i)\b(?:fail\w*|flunk|panic!?|die|unreachable\w*|raise\s+Assertion\w*|throw\s+new|done)\b|^\s*(?:else:|\}?\s*else\b)")
        .expect("a regex")
});
/// Lines of a block that are looked at.
const BLOCK_LINES_MAX: usize = 40;
/// Changed lists of a hunk that are compared.
const LISTS_MAX: usize = 50;
/// Lines of a list.
const LIST_LINES_MAX: usize = 12;
/// Lines of a script that are a test.
const SCRIPT_LINES_MIN: usize = 3;
/// Attributes above one function.
const ATTRIBUTES_MAX: usize = 3;
/// Catches a failure.
pub(super) static CATCHES: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r"^\s*(?:\}\s*)?(?:except\b|catch\b|rescue\b)").expect("a regex"));
/// Begins what a failure is caught in.
pub(super) static TRIES: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r"^\s*(?:try\b|begin\s*$)").expect("a regex"));
/// Passes a failure on.
pub(super) static FAILS: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"\b(?:raise|throw|fail\w*|abort|panic|die|Fatalf?|Errorf?|reject|exit|assert\w*|expect|skip\w*|Skip\w*|xfail)\b|\?;")
        .expect("a regex")
});
/// Says something and goes on.
static REMARKS: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"^\s*(?:\w+\.)*(?:Logf?|warn(?:ing)?|log|info|debug|print(?:ln|f|k)?|eprintln|fprintf|puts|g_test_message|g_message|g_warning|g_printerr|diag|note|echo)\b!?\s*[(\s]")
        .expect("a regex")
});
/// Makes a test fail.
static FAILURES: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"\b(?:fail\w*|Fatalf?|Errorf?|panic|abort|g_error|g_test_fail\w*|errx?|die|raise|throw|assert\w*|ASSERT\w*|EXPECT\w*|expect)\b")
        .expect("a regex")
});
/// Begins a part of a file that is there only sometimes.
static CONDITION: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r"^\s*(?:#\s*)?(?:if|IF|ifdef|ifndef|ifeq|ifneq)\b").expect("a regex"));
/// Ends it.
static CONDITION_END: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r"^\s*(?:#\s*)?(?i:endif|else|elseif|elif|end|fi)\b|^\s*\}").expect("a regex"));

/// Opens a branch and does nothing else.
static BRANCH: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r"^\s*(?:\}\s*)?(?:(?:if|unless|else)\b.*[{):]|else)\s*$").expect("a regex"));

/// Whether a line says something and goes on.
pub(super) fn is_remark(line: &DiffLine<'_>) -> bool {
    REMARKS.is_match(&line.masked.code)
}

/// Whether a line can't make a test fail: a remark, or the condition of one.
pub(super) fn is_idle(line: &DiffLine<'_>) -> bool {
    is_remark(line) || BRANCH.is_match(&line.masked.code)
}

/// The handler in `body` that lets an assertion fail without a word, which nothing caught before.
pub(super) fn mark_caught<'s, 'p>(
    before: &[&DiffLine<'_>],
    body: &[&'s DiffLine<'p>],
    added: &[&'s DiffLine<'p>],
    language: &Language,
) -> Option<&'s DiffLine<'p>> {
    let is_added = |line: &DiffLine<'_>| added.iter().any(|other| std::ptr::eq(*other, line));
    let was = |line: &DiffLine<'_>| {
        let own = without_whitespace(&line.masked.text);
        before.iter().any(|old| without_whitespace(&old.masked.text) == own)
    };
    body.iter().enumerate().find_map(|(at, line)| {
        if !is_added(line) || !CATCHES.is_match(&line.masked.code) {
            return None;
        }
        let handler = body[at + 1..].iter().take_while(|inner| !inner.has_code() || inner.indent > line.indent);
        if FAILS.is_match(&line.masked.code) || handler.into_iter().any(|inner| FAILS.is_match(&inner.masked.code)) {
            return None;
        }
        let opens =
            body[..at].iter().rposition(|open| open.indent == line.indent && TRIES.is_match(&open.masked.code))?;
        let guarded = || body[opens + 1..at].iter().filter(|inner| language.asserts.is_match(&inner.masked.code));
        (is_added(body[opens]) && guarded().any(|inner| was(inner))).then_some(*line)
    })
}

/// The remark in the place of a failure that said the same.
pub(super) fn mark_remarked<'s, 'p>(
    removed: &[&DiffLine<'_>],
    added: &[&'s DiffLine<'p>],
    language: &Language,
) -> Option<&'s DiffLine<'p>> {
    let fails = |line: &DiffLine<'_>| {
        let code = &line.masked.code;
        language.asserts.is_match(code) || FAILURES.is_match(code)
    };
    if added.iter().any(|line| fails(line)) {
        return None;
    }
    let words = |line: &DiffLine<'_>| identifiers_of(&line.masked.text).map(str::to_owned).collect::<HashSet<_>>();
    added.iter().copied().filter(|line| REMARKS.is_match(&line.masked.code)).find(|line| {
        let now = words(line);
        removed.iter().filter(|old| fails(old)).any(|old| {
            let shared = words(old).intersection(&now).count();
            shared >= 2 && 2 * shared >= now.len()
        })
    })
}

/// Marks new conditions around a test that was unconditional.
pub(super) fn mark_conditions(sheet: &mut WeakenedCheckCollector<'_, '_>) {
    let views = sheet.views;
    for (file, view) in views.iter().enumerate() {
        let builds = ["build", "cmake", "make"];
        let Some(language) = view.language else { continue };
        let judged = (view.part == FileRole::Test || builds.contains(&language.name.as_str()))
            && view.file.change == PatchChange::Modified
            && !matches!(view.part, FileRole::Foreign | FileRole::Snapshot | FileRole::Document);
        if !judged {
            continue;
        }
        // What a script of tests does is what it tests.
        let is_script = view.part == FileRole::Test && ["shell", "test-script"].contains(&language.name.as_str());
        for sides in &view.hunks {
            let before: Vec<&DiffLine<'_>> =
                sides.old.iter().filter(|line| line.changed && CONDITION.is_match(&line.masked.code)).collect();
            let is_new = |line: &DiffLine<'_>| {
                before.is_empty() || before.iter().any(|old| is_tighter(&old.masked.text, &line.masked.text))
            };
            let was = |inner: &DiffLine<'_>| {
                let own = without_whitespace(&inner.masked.text);
                sides.old.iter().any(|old| without_whitespace(&old.masked.text) == own)
            };
            // CMake's own option is on where its module is there.
            let is_default = |line: &DiffLine<'_>| {
                line.masked.code.contains("BUILD_TESTING")
                    && sides.new.iter().any(|other| other.masked.code.trim_start().starts_with("include(CTest)"))
            };
            let found = sides.new.iter().enumerate().find(|(at, line)| {
                line.changed
                    && CONDITION.is_match(&line.masked.code)
                    && is_new(line)
                    && !is_default(line)
                    && (block_lines(&sides.new, *at).any(|inner| {
                        (registers_test(sheet.rules, view, inner) || language.defines_test(&inner.masked.text))
                            && was(inner)
                    }) || is_script
                        && block_lines(&sides.new, *at).filter(|inner| was(inner)).count() >= SCRIPT_LINES_MIN)
            });
            if let Some((_, line)) = found {
                sheet.add_named("test-conditional", (file, DiffSide::New, line), RuleSeverity::Certain, "");
            }
        }
    }
}

/// Whether a condition asks for what another one asked, and for something more.
fn is_tighter(before: &str, after: &str) -> bool {
    let stem = |text: &str| {
        let text = text.trim().trim_end_matches("then").trim_end();
        text.trim_end_matches([';', ')', ']', '{', ':', ' ']).to_owned()
    };
    let after = stem(after);
    let rest = after.strip_prefix(&stem(before)).map(|rest| rest.trim_start_matches([')', ']', ' ']));
    rest.is_some_and(|rest| ["AND ", "&&", "and ", "-a "].iter().any(|word| rest.starts_with(word)))
}

/// What decides which builds have a test or a file of tests, and which jobs have a step.
static BUILDS: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"^\s*(?:#!?\[\s*cfg(?:_attr)?\(|//go:build\s|//\s*\+build\s|if:.*\b(?:matrix|runner)\.)")
        .expect("a regex")
});

/// Marks such conditions that got narrower.
pub(super) fn fewer_builds(sheet: &mut WeakenedCheckCollector<'_, '_>) {
    let views = sheet.views;
    for (file, view) in views.iter().enumerate() {
        let id = match (view.part, view.language.map(|own| own.name.as_str())) {
            (FileRole::Test | FileRole::Source, Some("rust")) => "rust-skip-if",
            (FileRole::Test, Some("go")) => "go-build-constraint",
            (FileRole::Source, Some("yaml")) => "step-conditional",
            _ => continue,
        };
        for sides in &view.hunks {
            let conditions = |lines: &'_ [DiffLine<'_>]| -> Vec<usize> {
                (0..lines.len()).filter(|&at| lines[at].changed && BUILDS.is_match(lines[at].raw)).collect()
            };
            let (old, new) = (conditions(&sides.old), conditions(&sides.new));
            if old.len() != new.len() {
                continue;
            }
            let narrowed = |&(old, new): &(usize, usize)| {
                is_narrowed(sides.old[old].raw, sides.new[new].raw)
                    && (id != "rust-skip-if" || view.part == FileRole::Test || is_by_test(&sides.new, new))
            };
            if let Some((_, at)) = old.into_iter().zip(new).find(narrowed) {
                sheet.add_named(id, (file, DiffSide::New, &sides.new[at]), RuleSeverity::Certain, "");
            }
        }
    }
}

/// Whether an attribute beside the one at `at` makes a function a test.
fn is_by_test(lines: &[DiffLine<'_>], at: usize) -> bool {
    let near = lines.iter().skip(at.saturating_sub(ATTRIBUTES_MAX)).take(2 * ATTRIBUTES_MAX + 1);
    near.map(|line| line.masked.code.trim()).any(|code| code.starts_with("#[") && code.contains("test"))
}

/// Whether a condition holds in fewer builds than before: one more has to be so, or must not.
fn is_narrowed(before: &str, after: &str) -> bool {
    let operators = ["cfg", "cfg_attr", "any", "all", "not", "build", "go"];
    let words = |text: &'_ str| -> HashSet<String> {
        let values = text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-' | '.'));
        values.filter(|word| !word.is_empty() && !operators.contains(word)).map(str::to_owned).collect()
    };
    let (was, now) = (words(before), words(after));
    let narrows =
        ["all(", "not(", "&&", "!", "ignore"].iter().any(|sign| after.trim_start_matches("#!").contains(sign));
    narrows && now.len() > was.len() && was.is_subset(&now)
}

/// A test's cases or a check's arguments, on one line.
static LISTED: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"\bparametrize\(|\.each\(\s*\[|\brange\s+\[\]|^\s*for\s+[\w, ()]+\s+in\s+\S|\bfor\s*\(.*:\s*(?:\[|\{|List|Arrays)|\.each\s+do\b|\bfixture\(.*\bparams\s*=|@(?:Value|Csv|Enum)Source|#\[values\(|\.forEach\(|\bValues\(|\bwithData\(|->with\(\s*\[|\barguments:\s*\[|\bGENERATE\(|<-\s*\[|\bfor\s+\w+\s+in\s+\(")
        .expect("a regex")
});
/// Tests that a build is given by their names.
static LISTING: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r"(?i)^\s*(?:add_|set\()?\w*tests?\w*\s*(?:\(|=)?").expect("a regex"));
/// A check with explicit targets.
static CHECKED: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r#"^\s*(?:[@-]\s*)?(?:["']?[\w:-]+["']?\s*[:=]\s*)?["']?(?:(?:python[0-9.]*\s+-m|poetry\s+run|uv\s+run|npx|hatch\s+run)\s+)?(?:mypy|pyright|flake8|ruff(?:\s+check)?|pylint|bandit|pydocstyle|eslint|stylelint|shellcheck|rubocop|phpstan|psalm|pytest|py\.test|codespell|vulture|black\s+--check|isort\s+--check|make|tox|nox)\s"#)
        .expect("a regex")
});

/// Marks lists on one line that got shorter and are otherwise the same: cases of a test, paths that a check is given.
pub(super) fn mark_shortened(sheet: &mut WeakenedCheckCollector<'_, '_>) {
    let views = sheet.views;
    for (file, view) in views.iter().enumerate().filter(|(_, view)| view.file.change == PatchChange::Modified) {
        let (rule, listed) = match (view.part, view.language.map(|own| own.name.as_str())) {
            (FileRole::Test, Some(language)) if !["cmake", "build"].contains(&language) => {
                ("test-cases-shortened", &LISTED)
            }
            (FileRole::Source, Some("yaml" | "make" | "shell" | "ini" | "toml" | "json" | "python")) => {
                ("check-narrowed", &CHECKED)
            }
            (FileRole::Source | FileRole::Test, Some("cmake" | "build")) => ("test-cases-shortened", &LISTING),
            _ => continue,
        };
        for sides in &view.hunks {
            let changed = |lines: &'_ [DiffLine<'_>]| -> Vec<usize> {
                let listed = |line: &DiffLine<'_>| line.changed && listed.is_match(&line.masked.text);
                (0..lines.len()).filter(|&at| listed(&lines[at])).collect()
            };
            let (old, new) = (changed(&sides.old), changed(&sides.new));
            if old.len() != new.len() || old.len() > LISTS_MAX {
                continue;
            }
            let literal = view.part == FileRole::Test && !["shell", "cmake", "build"].iter().any(|own| view.is(own));
            let text = |lines: &[DiffLine<'_>], at: usize| {
                if literal { read_list(&lines[at..]) } else { lines[at].masked.text.clone() }
            };
            let before: Vec<String> = old.iter().map(|&was| text(&sides.old, was)).collect();
            let shorter = |at: &&usize| {
                let now = text(&sides.new, **at);
                let now = listed_words(&now, literal);
                before.iter().any(|was| is_shortened(&listed_words(was, literal), &now, literal))
            };
            if let Some(&at) = new.iter().find(shorter) {
                sheet.add_named(rule, (file, DiffSide::New, &sides.new[at]), RuleSeverity::Certain, "");
            }
        }
    }
}

/// What marks one case, and the call that it is an argument of.
static CASE_MARKS: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r",\s*marks\s*=\s*[\w.]+(?:\([^()]*\))?|\b(?:pytest\.)?param\b").expect("a regex"));

/// The statement that begins on the first of `lines`, without the marks of cases.
fn read_list(lines: &[DiffLine<'_>]) -> String {
    let lines: Vec<&DiffLine<'_>> = lines.iter().take(LIST_LINES_MAX).collect();
    CASE_MARKS.replace_all(&loosened::join_statement(&lines, lines[0]), "").into_owned()
}

/// The words of a line, without what separates them. Literals keep their quotes.
fn listed_words(text: &str, literal: bool) -> Vec<&str> {
    // The quote that a literal is in.
    let mut open = None;
    let separates = |c: char| match c {
        '"' | '\'' if !literal => true,
        '"' | '\'' => {
            open = match open {
                None => Some(c),
                Some(quote) if quote == c => None,
                inside => inside,
            };
            false
        }
        _ => open.is_none() && matches!(c, ' ' | '\t' | ',' | '[' | ']' | '(' | ')' | '{' | '}' | ';'),
    };
    text.split(separates).filter(|word| !word.is_empty()).collect()
}

/// A target of a build, or an environment, that checks something.
static CHECK_TARGET: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(
        r"(?i)lint|test|check|verify|spec|typ(?:e|ing)|fmt|format|cov|e2e|audit|integration|mypy|flake8|^py\d",
    )
    .expect("a regex")
});
/// What a checker is asked to do.
const SUBCOMMANDS: [&str; 6] = ["analyse", "analyze", "check", "lint", "run", "test"];

/// Whether a word gives what follows a name (`lint: flake8`, `python -m mypy`).
fn is_named(word: &&&str) -> bool {
    word.ends_with([':', '=']) || ["python", "python3", "-m", "-", "npx", "run"].contains(word)
}

/// Whether `now` is `was` without some values (or paths, where they need not be literals), in the same order.
fn is_shortened(was: &[&str], now: &[&str], literal: bool) -> bool {
    let mut rest = now.iter().peekable();
    let gone: Vec<&str> = was.iter().copied().filter(|word| rest.next_if(|next| *next == word).is_none()).collect();
    // `torch.float32`, `Cart`: names of values.
    let is_name = |word: &str| {
        word.starts_with(char::is_uppercase) || word.contains('.') && word.starts_with(char::is_alphabetic)
    };
    let is_literal = |word: &str| {
        is_name(word) || word.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit() || "\"'`".contains(c))
    };
    let is_value = |word: &&str| {
        if literal { is_literal(word) } else { !word.starts_with(['-', '$', '#', '&', '|', '>']) }
    };
    // Of a list of literals one may be all that is left; where words may be anything, most of them have to be.
    let is_left = if literal { now.iter().any(|word| is_literal(word)) } else { gone.len() * 2 < was.len() + 1 };
    // A checker without paths has them in its settings.
    let is_path = |word: &&&str| is_value(word) && !SUBCOMMANDS.contains(word);
    // Other targets of a build check nothing.
    let builds = !literal && was.iter().any(|word| matches!(*word, "make" | "tox" | "nox"));
    if builds && !gone.iter().all(|target| CHECK_TARGET.is_match(target)) {
        return false;
    }
    let settled = !literal && gone.len() > 1 && now.iter().skip_while(is_named).skip(1).all(|word| !is_path(&word));
    rest.next().is_none() && !gone.is_empty() && is_left && !settled && gone.iter().all(is_value)
        || !literal && looks_at_part(was, now)
}

/// Whether `now` looks at a part where `was` looked at the whole folder: `flake8 cart` for `flake8 .`.
fn looks_at_part(was: &[&str], now: &[&str]) -> bool {
    let mut others = was.iter().zip(now).filter(|(was, now)| was != now);
    let Some((was_path, now_path)) = others.next() else { return false };
    was.len() == now.len()
        && others.next().is_none()
        && matches!(*was_path, "." | "./" | "./..." | "**/*")
        && now_path.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_')
}

/// The lines under the condition at `at`.
fn block_lines<'s, 'p>(lines: &'s [DiffLine<'p>], at: usize) -> impl Iterator<Item = &'s DiffLine<'p>> {
    let indent = lines[at].indent;
    let marked = lines[at].masked.code.trim_start().starts_with(['#', 'i', 'I']);
    let keyword = lines[at].masked.code.trim().ends_with([')', ':', '{', ';']) && !lines[at].masked.code.contains('#');
    let ends = |line: &DiffLine<'_>| line.masked.code.trim_start().to_ascii_lowercase().starts_with("endif");
    let flat = marked
        && (!keyword || lines[at + 1..].iter().any(ends))
        && lines[at + 1..].iter().find(|line| line.has_code()).is_some_and(|line| line.indent <= indent);
    lines[at + 1..]
        .iter()
        .take(BLOCK_LINES_MAX)
        .take_while(move |line| {
            let ends = line.indent <= indent && CONDITION_END.is_match(&line.masked.code);
            !ends && (flat || !line.has_code() || line.indent > indent || line.masked.code.trim() == "{")
        })
        .filter(|line| line.has_code())
}

/// Whether a line says that there is a test.
fn registers_test(rules: &WeakenedRules, view: &FileView<'_>, line: &DiffLine<'_>) -> bool {
    let mut candidates = rules.candidate_rules(line.raw, &[]).into_iter().map(|index| &rules.rules[index]);
    candidates.any(|rule| {
        rule.text.family == "deleted-test"
            && rule.text.kind == RuleKind::Removed
            && rule.text.below.is_none()
            && applies_to(rule, view, DiffSide::New)
            && match_rule(rule, line).is_some()
            && !rule.is_excused(line.raw)
    })
}
/// What goes on after an error that had to come, where nothing waits for it any more.
pub(super) fn mark_outlived<'s, 'p>(
    removed: &[&DiffLine<'_>],
    added: &[&'s DiffLine<'p>],
    language: &Language,
) -> Option<&'s DiffLine<'p>> {
    let any_added = |regex: &Regex| added.iter().any(|line| regex.is_match(&line.masked.code));
    let outlives = added.iter().find(|line| OUTLIVES.is_match(&line.masked.code))?;
    let asserts = |lines: &[&DiffLine<'_>]| {
        let code = lines.iter().map(|line| &line.masked.code);
        code.filter(|code| language.asserts.is_match(code) && !WANTS_ERROR.is_match(code)).count()
    };
    let is_caught = !any_added(&WANTS_ERROR) && !any_added(&ENDS_TEST) && asserts(added) <= asserts(removed);
    is_caught.then_some(*outlives)
}
