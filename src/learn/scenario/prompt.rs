//! Commands and tests that were named when a task was given: quoted in backticks, or on a line that begins with `$`.

/// Commands of one prompt.
const COMMANDS_MAX: usize = 10;
/// Words that only a shell understands: such a line is no argument vector.
const SHELL_MARKS: [&str; 7] = ["|", ";", "&", ">", "<", "$(", "`"];

/// The lines that may be commands, in their order, each as its words. What needs a shell is left out.
pub(crate) fn quoted_commands(prompt: &str) -> Vec<Vec<String>> {
    let mut lines: Vec<&str> = Vec::new();
    for line in prompt.lines() {
        if let Some(command) = line.trim_start().strip_prefix("$ ") {
            lines.push(command);
            continue;
        }
        // Every second part is between backticks.
        lines.extend(line.split('`').skip(1).step_by(2));
    }
    let words = |line: &str| {
        let needs_shell = SHELL_MARKS.iter().any(|mark| line.contains(mark));
        if needs_shell { None } else { shell_words::split(line).ok().filter(|words| !words.is_empty()) }
    };
    lines.into_iter().filter_map(words).take(COMMANDS_MAX).collect()
}

/// The words of a prompt that are one of these paths, in their order.
pub(crate) fn named_files<'a>(prompt: &str, mut is_file: impl FnMut(&str) -> bool + 'a) -> Vec<String> {
    let is_edge = |c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\'' | ',' | '(' | ')' | ':' | ';');
    let mut found: Vec<String> = Vec::new();
    for word in prompt.split(is_edge) {
        let word = word.trim_start_matches("./").trim_end_matches('.');
        if word.contains('.') && !found.iter().any(|known| known == word) && is_file(word) {
            found.push(word.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_stand_in_backticks_or_behind_a_dollar_sign() {
        let prompt = "Make `pytest -q tests/test_a.py` pass.\n$ npm test\nNot `a | b`, not `$(x)`, not this: pytest";
        let commands: Vec<String> = quoted_commands(prompt).iter().map(|words| words.join(" ")).collect();
        assert_eq!(commands, ["pytest -q tests/test_a.py", "npm test"]);
        assert!(quoted_commands("$ rm -rf x; y").is_empty());
    }

    #[test]
    fn tests_are_named_by_their_paths() {
        let is_file = |word: &str| ["tests/test_a.py", "b.test.ts"].contains(&word);
        assert_eq!(
            named_files("see ./tests/test_a.py, (b.test.ts) and c.py.", is_file),
            ["tests/test_a.py", "b.test.ts"]
        );
    }
}
