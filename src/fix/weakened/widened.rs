//! Conditions of skips that hold in more cases than before: one more reason to skip, one more thing to have before the
//! test runs.
//!
//! A line and the one in its place are compared. Where all that differs is something put in, or taken out, the words
//! around it say whether it skips more: `skip_if(a || b)` for `skip_if(a)`, `assumeTrue(a && b)` for `assumeTrue(a)`.

use std::sync::LazyLock;

use regex::Regex;

use super::lazy::compile_regex;
use super::lexis::without_whitespace;
use super::rule::RuleSeverity;
use super::view::{DiffLine, DiffSide, HunkSides};
use super::{WeakenedCheckCollector, view};

/// Says under which condition a test is skipped (`skips`) or runs.
static CONDITIONAL: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(concat!(
        r"(?:\b(?:(?P<skips>(?i:\w*skip_?(?:all|test|if)?|xfail|omit(?:_if)?|pend(?:ing)?(?:_if)?|disabled?(?:_?(?:if|on)\w*)?|assume_?(?:false|not)))",
        r"|(?i:skip_?unless|skip_if_not|omit_unless|(?:run|only|enabled?)_?(?:if|when|on)\w*|enabled|assume\w*)|if:)|^#\s*(?:el)?if)(?:\W|$)"
    ))
    .expect("a regex")
});
/// The same behind a condition.
static CHOSEN: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"^[^?]*\?\s*(?:(?P<skips>(?:\w+\.)+(?:skip|todo)\b)|(?:\w+\.)*\w+\s*:\s*(?:\w+\.)+(?:skip|todo)\b)")
        .expect("a regex")
});
/// Begins a condition that must not hold, behind what it is of.
static UNLESS: LazyLock<Regex> = LazyLock::new(|| compile_regex(r"\sunless\s").expect("a regex"));
/// Turns a condition round.
static DENIAL: LazyLock<Regex> = LazyLock::new(|| compile_regex(r"(?:!|\bnot)\s*$").expect("a regex"));
/// What brackets that hold one of several values come behind.
static ONE_OF: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r"(?:\bin|\bany(?:_?of)?|(?:Enabled|Disabled)On\w+)\s*$").expect("a regex"));
/// One of two reasons is enough; both have to be there.
static OPERATOR: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r"(?P<or>\|\||\bor\b|\s\|\s|\s-o\s)|(?P<and>&&|\band\b|\s-a\s)").expect("a regex"));

/// Begins a condition of what follows.
static CONDITION: LazyLock<Regex> = LazyLock::new(|| compile_regex(r"^\s*if\b").expect("a regex"));
/// Leaves a test without a failure.
static LEAVES: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"^\s*(?:(?:return\s*;?|exit\s+(?:77|0)|continue\s*;?)\s*$|(?:raise\s+)?(?:\w+\.)*[sS]kip\w*\s*\()")
        .expect("a regex")
});
/// Says that a test is skipped, or what it would have needed.
static SAYS_WHY: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"(?i)\bskip|\brequire[sd]\b|\bneeds?\b|support|available|\bonly\b|\bexit\s+77\b").expect("a regex")
});

/// Lines of one condition.
const LINES_MAX: usize = 6;

/// Marks the conditions of test files that skip in more cases.
pub(super) fn mark_widened(sheet: &mut WeakenedCheckCollector<'_, '_>) {
    let views = sheet.views;
    for (file, hunk, name) in view::hunks_of_tests(views) {
        let sides = &views[file].hunks[hunk];
        let pairs = replaced_pairs(sides);
        let widened = |(old, new): &(&DiffLine<'_>, &DiffLine<'_>)| {
            is_widened(old, new) == Some(true) || leaves_test_more(sides, old, new)
        };
        let mut found: Vec<&DiffLine<'_>> = pairs.into_iter().filter(widened).map(|(_, line)| line).collect();
        if found.is_empty() {
            found.extend(find_widened_over_lines(sides));
        }
        for line in found {
            sheet.add_named("skip-widened", (file, DiffSide::New, line), RuleSeverity::Certain, name);
        }
    }
}

/// The lines of a hunk between the same unchanged ones, old and new: those that were changed.
type ChangedRun<'s, 'p> = Vec<&'s DiffLine<'p>>;

fn changed_runs<'s, 'p>(lines: &'s [DiffLine<'p>]) -> Vec<ChangedRun<'s, 'p>> {
    let mut runs: Vec<ChangedRun<'s, 'p>> = vec![Vec::new()];
    for line in lines {
        if line.changed {
            runs.last_mut().expect("one run at least").push(line);
        } else {
            runs.push(Vec::new());
        }
    }
    runs
}

/// The changed lines of a hunk that are in each other's place, old and new: of two runs of as many lines between the
/// same unchanged ones.
fn replaced_pairs<'s, 'p>(sides: &'s HunkSides<'p>) -> Vec<(&'s DiffLine<'p>, &'s DiffLine<'p>)> {
    let pairs = changed_runs(&sides.old).into_iter().zip(changed_runs(&sides.new));
    pairs.filter(|(old, new)| old.len() == new.len()).flat_map(|(old, new)| old.into_iter().zip(new)).collect()
}

/// The first line of a condition that was written over several lines, or is now, and skips in more cases.
fn find_widened_over_lines<'s, 'p>(sides: &'s HunkSides<'p>) -> Option<&'s DiffLine<'p>> {
    let kept: Vec<&DiffLine<'_>> = sides.new.iter().filter(|line| !line.changed).collect();
    let pairs = changed_runs(&sides.old).into_iter().zip(changed_runs(&sides.new)).enumerate();
    let mut pairs = pairs.filter(|(_, (old, new))| !old.is_empty() && old.len() <= new.len() && new.len() <= LINES_MAX);
    pairs.find_map(|(at, (old, new))| {
        // What it is an argument of may be above.
        let head = at.checked_sub(1).map(|at| kept[at].masked.code.trim_end()).filter(|code| code.ends_with('('));
        let joined = |lines: &[&DiffLine<'_>]| {
            let codes = head.into_iter().chain(lines.iter().map(|line| line.masked.code.trim()));
            codes.collect::<Vec<_>>().join(" ").replace("( ", "(")
        };
        (is_condition_widened(&joined(&old), &joined(&new)) == Some(true)).then(|| new[0])
    })
}

/// Whether a line of a hunk skips in fewer cases than the one whose place it took.
pub(super) fn skips_less(sides: &HunkSides<'_>, line: &DiffLine<'_>) -> bool {
    let pairs = replaced_pairs(sides);
    pairs.into_iter().any(|(old, new)| std::ptr::eq(new, line) && is_widened(old, new) == Some(false))
}

/// Whether `new` is a condition with one more reason than `old`, under which a test ends as one that can't run here.
fn leaves_test_more(sides: &HunkSides<'_>, old: &DiffLine<'_>, new: &DiffLine<'_>) -> bool {
    if !CONDITION.is_match(&old.masked.code) {
        return false;
    }
    let (was, is) = (plain(&old.masked.text), plain(&new.masked.text));
    let Some(change) = Change::between(&was, &is) else { return false };
    let widens = match change.operator() {
        Some(Operator::Or) => change.is_added,
        Some(Operator::And) => !change.is_added,
        None => false,
    };
    let widens = widens && denials(change.before) == 0 && !change.before.contains("not in ");
    let below = sides.new.iter().skip_while(|line| !std::ptr::eq(*line, new)).skip(1);
    let block: Vec<_> = below.take_while(|line| line.indent > new.indent && !line.changed).take(LINES_MAX).collect();
    let leaves = |line: &DiffLine<'_>| line.indent == block[0].indent && LEAVES.is_match(&line.masked.code);
    let says = |line: &DiffLine<'_>| SAYS_WHY.is_match(&line.masked.text);
    widens && block.iter().any(|line| leaves(line)) && block.iter().any(|line| says(line))
}

/// Whether `new` skips in more cases than `old`, or in fewer, if that is all that differs.
fn is_widened(old: &DiffLine<'_>, new: &DiffLine<'_>) -> Option<bool> {
    is_condition_widened(&old.masked.code, &new.masked.code)
}

fn is_condition_widened(old: &str, new: &str) -> Option<bool> {
    let (old, new) = (plain(old), plain(new));
    let change = Change::between(&old, &new)?;
    let (before, after) = (change.before, change.after);
    let word = CONDITIONAL.captures(before).or_else(|| CHOSEN.captures(after))?;
    let turned = usize::from(UNLESS.is_match(before)) + denials(before);
    let skips = word.name("skips").is_some() == turned.is_multiple_of(2);
    // Another reason to skip, or one thing less that has to be there for it.
    let widens = match change.operator()? {
        Operator::Or => change.is_added,
        Operator::And => !change.is_added,
    };
    Some(widens == skips)
}

/// Code without what is no difference: blanks but one, and the brackets of a single value of an annotation.
fn plain(code: &str) -> String {
    let words = code.split_whitespace().collect::<Vec<_>>().join(" ");
    if words.starts_with('@') { words.replace(['{', '}'], "") } else { words }
}

/// What an operator does to a condition.
enum Operator {
    Or,
    And,
}

/// What one text has more than another.
struct Change<'t> {
    before: &'t str,
    after: &'t str,
    more: &'t str,
    /// Whether the new text has it, and not the old one.
    is_added: bool,
}

impl<'t> Change<'t> {
    fn between(old: &'t str, new: &'t str) -> Option<Self> {
        let is_added = new.len() > old.len();
        let (short, long) = if is_added { (old, new) } else { (new, old) };
        let same = |pair: &(char, char)| pair.0 == pair.1;
        let above: usize = short.chars().zip(long.chars()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
        let ends = short[above..].chars().rev().zip(long[above..].chars().rev());
        let below: usize = ends.take_while(same).map(|(c, _)| c.len_utf8()).sum();
        // Brackets around what was there are no other condition.
        let rest = short[above..short.len() - below].chars().all(|c| "() ".contains(c));
        let more = &long[above..long.len() - below];
        let (before, after) = (&long[..above], &long[long.len() - below..]);
        (rest && !more.trim().is_empty()).then_some(Change { before, after, more, is_added })
    }

    /// How it goes together with the rest: by an operator, or as one of several values.
    fn operator(&self) -> Option<Operator> {
        if let Some(operator) = OPERATOR.captures(self.more) {
            return Some(if operator.name("or").is_some() { Operator::Or } else { Operator::And });
        }
        let more = without_whitespace(self.more);
        let is_value = more.starts_with(',') != more.ends_with(',') && !more.contains('=');
        let open = open_brackets(self.before).pop();
        let lists =
            open.is_some_and(|at| self.before[at..].starts_with(['[', '{']) || ONE_OF.is_match(&self.before[..at]));
        (is_value && lists).then_some(Operator::Or)
    }
}

/// The places of the brackets that `text` opens and doesn't close.
fn open_brackets(text: &str) -> Vec<usize> {
    let mut open = Vec::new();
    for (at, sign) in text.char_indices() {
        match sign {
            '(' | '[' | '{' => open.push(at),
            ')' | ']' | '}' => drop(open.pop()),
            _ => {}
        }
    }
    open
}

/// How many of the brackets that `text` opens turn round what they hold.
fn denials(text: &str) -> usize {
    open_brackets(text).into_iter().filter(|&at| DENIAL.is_match(&text[..at])).count()
}
