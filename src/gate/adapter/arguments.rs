//! The arguments that make a tool print what can be read, for commands that a policy writes in their plain form.

use super::Adapter;
use crate::gate::policy::MappedCommand;

/// A plain command as it is executed for its numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReadingCommand {
    /// Its words.
    pub words: Vec<String>,
    /// What reads its output; `None` when only the exit status counts.
    pub adapter: Option<Adapter>,
}

/// How a tool is made to print a report for one measure.
struct ReadingArguments {
    program: &'static str,
    measure: MappedCommand,
    adapter: Adapter,
    /// Options that go, with the number of values that each takes.
    dropped: &'static [(&'static str, usize)],
    added: &'static [&'static str],
}

/// By the documentation of each tool. radon's `-a`, `-s`, `-n` and its ranks are for people; gocyclo's `-over` is a
/// threshold of its own, which the checklist's condition replaces.
const READING: [ReadingArguments; 6] = [
    ReadingArguments {
        program: "eslint",
        measure: MappedCommand::Complexity,
        adapter: Adapter::Eslint,
        dropped: &[("--rule", 1), ("--format", 1), ("-f", 1)],
        added: &["--format", "json", "--rule", "complexity: [error, 0]"],
    },
    ReadingArguments {
        program: "eslint",
        measure: MappedCommand::Naming,
        adapter: Adapter::Eslint,
        dropped: &[("--format", 1), ("-f", 1)],
        added: &["--format", "json"],
    },
    ReadingArguments {
        program: "radon",
        measure: MappedCommand::Complexity,
        adapter: Adapter::Radon,
        dropped: &[
            ("-a", 0),
            ("-s", 0),
            ("-n", 1),
            ("-x", 1),
            ("-na", 0),
            ("-nb", 0),
            ("-nc", 0),
            ("-nd", 0),
            ("-ne", 0),
            ("-nf", 0),
        ],
        added: &["-j"],
    },
    ReadingArguments {
        program: "gocyclo",
        measure: MappedCommand::Complexity,
        adapter: Adapter::Gocyclo,
        dropped: &[("-over", 1), ("-top", 1), ("-avg", 0), ("-total", 0)],
        added: &["-over", "0"],
    },
    ReadingArguments {
        program: "luacheck",
        measure: MappedCommand::Complexity,
        adapter: Adapter::Luacheck,
        dropped: &[("--formatter", 1), ("--max-cyclomatic-complexity", 1), ("--no-unused", 0)],
        added: &["--only", "561", "--max-cyclomatic-complexity", "1", "--formatter", "plain", "--codes"],
    },
    ReadingArguments {
        program: "ruff",
        measure: MappedCommand::Naming,
        adapter: Adapter::Ruff,
        dropped: &[("--output-format", 1)],
        added: &["--output-format", "json"],
    },
];

/// The command that measures `measure` when a policy says `words`, whose tool is `program` at index `tool_at`. A tool that is
/// not known is executed as it is, and only its exit status counts.
pub(crate) fn reading_command(
    measure: MappedCommand,
    program: &str,
    tool_at: usize,
    words: &[String],
) -> ReadingCommand {
    let known = READING.iter().find(|row| row.program == program && row.measure == measure);
    let Some(row) = known else { return ReadingCommand { words: words.to_vec(), adapter: None } };
    let (runner, arguments) = words.split_at((tool_at + 1).min(words.len()));
    let mut found = runner.to_vec();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let dropped = row.dropped.iter().find_map(|(option, values)| match word.strip_prefix(option) {
            Some("") => Some(*values),
            // `--format=json` has its value.
            Some(value) if value.starts_with('=') => Some(0),
            _ => None,
        });
        match dropped {
            Some(values) => rest.by_ref().take(values).for_each(drop),
            None => found.push(word.clone()),
        }
    }
    found.extend(row.added.iter().map(|word| (*word).to_owned()));
    ReadingCommand { words: found, adapter: Some(row.adapter) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_commands_of_the_specification_print_reports() {
        let cases = [
            (MappedCommand::Complexity, "radon", "radon cc . -a -nc", "radon cc . -j"),
            (MappedCommand::Complexity, "gocyclo", "gocyclo -over 10 .", "gocyclo . -over 0"),
            (
                MappedCommand::Complexity,
                "luacheck",
                "luacheck . --config .luacheckrc",
                "luacheck . --config .luacheckrc --only 561 --max-cyclomatic-complexity 1 --formatter plain --codes",
            ),
            (MappedCommand::Naming, "ruff", "ruff check --output-format=full .", "ruff check . --output-format json"),
            (MappedCommand::Lint, "ruff", "ruff check .", "ruff check ."),
            (MappedCommand::Complexity, "lizard", "lizard -C 10", "lizard -C 10"),
        ];
        for (measure, program, line, expected) in cases {
            let words = shell_words::split(line).expect("words");
            assert_eq!(reading_command(measure, program, 0, &words).words.join(" "), expected);
        }
        let words = shell_words::split("npx eslint . --rule 'complexity: [error, 10]' --ext .ts").expect("words");
        let reading = reading_command(MappedCommand::Complexity, "eslint", 1, &words);
        let expected = ["npx", "eslint", ".", "--ext", ".ts", "--format", "json", "--rule", "complexity: [error, 0]"];
        assert_eq!(reading.words, expected);
        assert_eq!(reading.adapter, Some(Adapter::Eslint));
    }
}
