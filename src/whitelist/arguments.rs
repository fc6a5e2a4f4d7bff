//! Arguments as rules see them: options with values, words, and what makes two runs the same check.

use super::encode::PROJECT;
use super::table::{RunnerRule, TextList};
use crate::base::bytes;

/// An argument as a rule's pattern: `--watch`, `-print-*`, `watch`.
///
/// An option also matches with a value (`--watch=all`) unless the value turns it off.
pub(super) fn matches_pattern(argument: &[u8], pattern: &[u8]) -> bool {
    if let Some(start) = pattern.strip_suffix(b"*") {
        return argument.starts_with(start);
    }
    match argument.strip_prefix(pattern) {
        Some(b"") => true,
        Some([b'=', value @ ..]) => {
            pattern.starts_with(b"-") && !matches!(value, b"false" | b"0" | b"no" | b"off" | b"False")
        }
        _ => false,
    }
}

/// The first pattern of `patterns` that `argument` matches.
pub(super) fn find_matching_pattern<'a>(argument: &[u8], mut patterns: TextList<'a>) -> Option<&'a [u8]> {
    patterns.find(|pattern| matches_pattern(argument, pattern))
}

/// Whether it is an option: it starts with a dash, or is a toolchain (`+nightly`).
pub(super) fn is_option(argument: &[u8]) -> bool {
    matches!(argument, [b'-', _, ..])
        || matches!(argument, [b'+', letter, ..] if letter.is_ascii_alphanumeric() || *letter == b'$')
}

/// `NAME=value`.
pub(super) fn is_assignment(argument: &[u8]) -> bool {
    let Some(end) = bytes::find_byte(argument, b'=') else { return false };
    let name = &argument[..end];
    name.first().is_some_and(|first| first.is_ascii_alphabetic() || *first == b'_')
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

/// A word that names a version: `20`, `v18.2`, `node@20`, `nightly`, `lts/*`.
pub(super) fn is_version(word: &[u8]) -> bool {
    let digits = word.strip_prefix(b"v").unwrap_or(word);
    digits.first().is_some_and(u8::is_ascii_digit)
        || word.contains(&b'@')
        || word.starts_with(b"lts")
        || matches!(word, b"stable" | b"beta" | b"nightly" | b"default" | b"latest" | b"node")
}

/// How many arguments an option takes up: itself, and the next one if that is its value.
pub(super) fn argument_width(argument: &[u8], lists: &[TextList<'_>]) -> usize {
    if lists.iter().any(|list| list.contains(argument)) { 2 } else { 1 }
}

/// The places of the leading words (arguments that are no options, no values of options and no assignments).
pub(super) struct WordPositions<'a, 'l> {
    pub arguments: &'a [&'a [u8]],
    pub value_options: &'l [TextList<'l>],
    pub at: usize,
}

impl Iterator for WordPositions<'_, '_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        while let Some(argument) = self.arguments.get(self.at) {
            if *argument == b"--" {
                return None;
            }
            if is_option(argument) {
                self.at += argument_width(argument, self.value_options);
                // `make -j 4 test`, but also `make -j test`.
                let is_counted =
                    is_in_list(COUNTED, argument) && !self.value_options.iter().any(|list| list.contains(argument));
                let next = self.arguments.get(self.at).filter(|_| is_counted);
                self.at += usize::from(next.is_some_and(|next| is_amount(next) || next.starts_with(b"$")));
            } else if is_assignment(argument) {
                self.at += 1;
            } else {
                self.at += 1;
                return Some(self.at - 1);
            }
        }
        None
    }
}

/// Finds the sub-command that `patterns` asks for. `None`: none of them is there.
///
/// The answer is the pattern's first spelling and the places of its words.
pub(super) fn find_sub_command<'p>(
    arguments: &[&[u8]],
    patterns: TextList<'p>,
    value_options: &[TextList<'_>],
) -> Option<SubCommandMatch<'p>> {
    let mut places = [0_usize; SubCommandMatch::WORDS_MAX];
    let mut count = 0;
    // A variable before the sub-command is one of options (`stack $ARGS test`).
    let is_fixed = |place: &usize| !arguments[*place].starts_with(b"$");
    for place in (WordPositions { arguments, value_options, at: 0 }).filter(is_fixed).take(SubCommandMatch::WORDS_MAX) {
        places[count] = place;
        count += 1;
    }
    // The first word may be the value of an option that no rule knows (`stack --verbosity error test`).
    let is_value = count > 1 && places[0].checked_sub(1).is_some_and(|before| may_have_value(arguments[before]));
    for skipped in 0..=usize::from(is_value) {
        for pattern in patterns {
            let canonical = pattern.split(|byte| *byte == b'|').next().unwrap_or_default();
            for spelling in pattern.split(|byte| *byte == b'|') {
                let words = match spelling {
                    b"" if count == 0 && (WordPositions { arguments, value_options, at: 0 }).next().is_none() => 0,
                    b"" => continue,
                    b"*" => 0,
                    _ => {
                        let mut here = places[skipped..count].iter().map(|place| arguments[*place]);
                        if !spelling.split(|byte| *byte == b' ').all(|wanted| here.next() == Some(wanted)) {
                            continue;
                        }
                        spelling.split(|byte| *byte == b' ').count()
                    }
                };
                places.rotate_left(skipped);
                return Some(SubCommandMatch { canonical, spelling, places, words });
            }
        }
    }
    None
}

/// Whether the next argument may be an option's value: a long one that has none yet.
fn may_have_value(argument: &[u8]) -> bool {
    argument.starts_with(b"--") && argument.len() > 2 && !argument.contains(&b'=')
}

/// As [`find_sub_command`], where the sub-command may be any word. A Gradle task may have its project's path before it; one of
/// sbt a `+`, words behind it, and others in the same argument (`+test`, `"testOnly a.B"`, `";clean;test"`).
pub(super) fn find_sub_command_anywhere<'p>(
    arguments: &[&[u8]],
    patterns: TextList<'p>,
    values: &[TextList<'_>],
) -> Option<SubCommandMatch<'p>> {
    // In Maven's goals and sbt's keys the colon is part of the name.
    let has_projects = !patterns.into_iter().any(|pattern| pattern.contains(&b':'));
    let words = (WordPositions { arguments, value_options: values, at: 0 }).map(|place| arguments[place]);
    let crossed = arguments.iter().filter_map(|argument| argument.strip_prefix(b"+"));
    let tasks = words.chain(crossed).flat_map(|word| word.split(|byte| *byte == b';'));
    for word in tasks.map(|task| task.trim_ascii().split(|byte| *byte == b' ').next().unwrap_or_default()) {
        let task = if has_projects || word.starts_with(b":") {
            word.rsplit(|byte| *byte == b':').next().unwrap_or(word)
        } else {
            word
        };
        let goal = if has_projects { None } else { maven_goal(word) };
        for pattern in patterns {
            if pattern == word
                || is_matching_task(task, pattern)
                || goal.is_some_and(|goal| is_maven_goal(goal, pattern))
            {
                // The word stays a selector: which of several tasks were asked for is what is checked.
                return Some(SubCommandMatch {
                    canonical: b"",
                    spelling: pattern,
                    places: [0; SubCommandMatch::WORDS_MAX],
                    words: 0,
                });
            }
        }
    }
    None
}

/// The plugin's short name and the goal of one that Maven gets in full:
/// `org.apache.maven.plugins:maven-jar-plugin:3.4:jar`.
fn maven_goal(word: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = bytes::find(word, b"-plugin:").or_else(|| bytes::find(word, b"-maven:"))?;
    let artifact = word[..colon].rsplit(|byte| *byte == b':').next()?;
    let plugin = artifact.strip_prefix(b"maven-").or_else(|| artifact.strip_suffix(b"-maven")).unwrap_or(artifact);
    let goal = word[colon..].rsplit(|byte| *byte == b':').next()?;
    Some((plugin, goal.split(|byte| *byte == b'@').next().unwrap_or(goal)))
}

/// Whether a pattern names the goal (`jar:jar`).
fn is_maven_goal((plugin, goal): (&[u8], &[u8]), pattern: &[u8]) -> bool {
    pattern.strip_prefix(plugin).and_then(|rest| rest.strip_prefix(b":")) == Some(goal)
}

/// Whether a task is the one of a pattern: `test`; `test*` for `testDebugUnitTest`, where a camelCase name goes on; `*Test`
/// for `jvmTest`. What Gradle's `cleanTest` removes is the task's results.
fn is_matching_task(task: &[u8], pattern: &[u8]) -> bool {
    match pattern {
        [b'*', ending @ ..] => {
            let is_removed =
                task.strip_prefix(b"clean").is_some_and(|rest| rest.first().is_some_and(u8::is_ascii_uppercase));
            task.len() > ending.len() && task.ends_with(ending) && !is_removed
        }
        [start @ .., b'*'] => {
            task.strip_prefix(start).is_some_and(|rest| rest.first().is_some_and(u8::is_ascii_uppercase))
        }
        _ => task == pattern,
    }
}

/// A sub-command that was found.
pub(super) struct SubCommandMatch<'p> {
    /// How the rule spells it first.
    pub canonical: &'p [u8],
    /// The spelling that matched.
    pub spelling: &'p [u8],
    places: [usize; SubCommandMatch::WORDS_MAX],
    words: usize,
}

impl SubCommandMatch<'_> {
    /// A sub-command has at most this many words.
    const WORDS_MAX: usize = 4;

    /// Where its words are.
    pub(super) fn word_positions(&self) -> &[usize] {
        &self.places[..self.words]
    }
}

/// Options that change neither what is checked nor the verdict, for every tool: reporters, colours, verbosity.
/// One text instead of a table, because a table of texts is relocated at every start.
const IGNORED: &str = " -q -qq -v -vv -vvv --quiet --verbose --silent --no-color --no-colors \
    --ansi --no-ansi --progress --no-progress --nocapture --no-capture --show-output --pretty --no-pretty \
    --fail-fast --failfast --no-fail-fast --exitfirst --bail --full-trace ";
/// The same with a value.
const IGNORED_WITH_VALUE: &str = " --reporter --reporters --format --formatter --output-format --message-format \
    --error-format --tb --junitxml --junit-xml --log-level --loglevel --durations --show-capture --maxfail \
    --cov-report --coverage-reporters --outputFile --output-file --console --verbosity ";
/// The same with a value that is one of [`COLOURS`], or without.
const COLOUR: &str = " --color --colour --colors ";
const COLOURS: &str = " always never auto on off yes no true false ";
/// How many at a time; the value is left out where it is a number.
const JOBS: &str = " -j -n --jobs --parallel --workers --maxWorkers --max-workers --threads --numprocesses \
    --concurrency --test-threads --parallel-threads ";

/// Options that may have how many at a time behind them.
const COUNTED: &str = " -j --jobs -l ";

fn is_in_list(list: &str, option: &[u8]) -> bool {
    list.split_ascii_whitespace().any(|item| item.as_bytes() == option)
}

fn is_amount(value: &[u8]) -> bool {
    matches!(value, b"auto" | b"logical")
        || (!value.is_empty() && value.iter().all(|byte| byte.is_ascii_digit() || *byte == b'%'))
}

/// What makes two calls of a tool the same check: paths, filters, packages, and the options that change what is
/// checked. Sorted by the caller. `skip` are the places of the sub-command.
pub(super) fn collect_selectors(
    arguments: &[&[u8]],
    skip: &[usize],
    value_options: &[TextList<'_>],
    ignore: TextList<'_>,
    out: &mut Vec<String>,
) {
    let mut at = 0;
    while let Some(&argument) = arguments.get(at) {
        let place = at;
        at += 1;
        if skip.contains(&place) || argument == b"--" {
            continue;
        }
        if !is_option(argument) {
            let path = argument.strip_prefix(b"./").filter(|rest| !rest.is_empty()).unwrap_or(argument);
            let path = path.strip_suffix(b"/").filter(|rest| !rest.is_empty()).unwrap_or(path);
            out.push(String::from_utf8_lossy(path).into_owned());
            continue;
        }
        let (option, value) = match bytes::find_byte(argument, b'=') {
            Some(end) => (&argument[..end], Some(&argument[end + 1..])),
            None => (argument, None),
        };
        let next = arguments.get(at).copied().filter(|next| !is_option(next) && *next != b"--");
        let with_equals = |list: TextList<'_>| list.into_iter().any(|item| item.strip_suffix(b"=") == Some(option));
        if is_in_list(IGNORED_WITH_VALUE, option) || with_equals(ignore) {
            at += usize::from(value.is_none() && next.is_some());
        } else if is_in_list(COLOUR, option) {
            at += usize::from(value.is_none() && next.is_some_and(|next| is_in_list(COLOURS, next)));
        } else if is_in_list(JOBS, option) {
            at += usize::from(value.is_none() && next.is_some_and(is_amount));
        } else if is_in_list(IGNORED, option)
            || ignore.contains(argument)
            || argument.strip_prefix(b"-j").is_some_and(is_amount)
        {
        } else if let Some(value) = next.filter(|_| value.is_none() && argument_width(argument, value_options) == 2) {
            at += 1;
            out.push(format!("{}={}", String::from_utf8_lossy(argument), String::from_utf8_lossy(value)));
        } else {
            out.push(String::from_utf8_lossy(argument).into_owned());
        }
    }
}

/// `project:script`, `project#script`, `+target`: the script and the project.
pub(super) fn split_project<'a>(runner: &RunnerRule<'_>, name: &'a [u8]) -> (&'a [u8], Option<&'a [u8]>) {
    let name = name.strip_prefix(b"+").unwrap_or(name);
    if runner.flags & PROJECT == 0 {
        return (name, None);
    }
    match name.iter().position(|byte| matches!(byte, b':' | b'#')) {
        Some(end) => (&name[end + 1..], Some(&name[..end])),
        None => (name, None),
    }
}
