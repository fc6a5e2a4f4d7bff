//! The first page: subcommands in groups for `--help`, and a short page for a bare `verify-run`.

use std::fmt::Write;

use clap::builder::StyledStr;
use clap::{Command, CommandFactory};

use super::Cli;

/// Subcommands by what they are for, in the order of a user's first weeks.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Run and check", &["again", "gate", "check-diff", "ci", "report", "parse", "whitelist"]),
    ("Look back", &["last", "log", "show", "lesson", "pattern", "fix", "stats", "dashboard"]),
    ("Learn", &["warn", "task", "outcome", "knowledge", "strategy", "memory", "promote", "library"]),
    ("Set up", &["init", "hook", "shims", "mcp", "completions", "man"]),
    ("Maintain", &["doctor", "store", "uninstall"]),
];

/// What a bare `verify-run` prints.
pub(super) const FIRST_PAGE: &str = "\
verify-run COMMAND runs a check unchanged and remembers what failed and what fixed it.

  verify-run npm test             Run a check and record how it ends
  verify-run last                 Show how the last check here ended
  verify-run fix list             List failures and what fixed them
  verify-run warn --files FILE    Show what went wrong in a file before
  verify-run init                 Set up coding agents and git hooks in this project

All commands: verify-run --help. One of them: verify-run fix --help.
";

/// The command line with its subcommands listed in groups.
pub(super) fn grouped_command() -> Command {
    let mut command = Cli::command();
    let width = GROUPS.iter().flat_map(|(_, names)| *names).map(|name| name.len()).max().unwrap_or(0);
    let header = *command.get_styles().get_header();
    let literal = *command.get_styles().get_literal();
    let mut list = StyledStr::new();
    for (title, names) in GROUPS {
        // Writing into a string cannot fail.
        let _ = writeln!(list, "{header}{title}:{header:#}");
        for name in names {
            let about = command.find_subcommand(name).and_then(|sub| sub.get_about().cloned()).unwrap_or_default();
            let _ = writeln!(list, "  {literal}{name:width$}{literal:#}  {about}");
        }
        let _ = writeln!(list);
    }
    command = command.before_help("").help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}{header}Options:{header:#}\n{{options}}{{after-help}}\n",
        list.ansi()
    ));
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subcommand_is_in_one_group() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        grouped.sort_unstable();
        let command = Cli::command();
        let mut all: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        all.sort_unstable();
        assert_eq!(grouped, all);
    }

    #[test]
    fn every_line_of_the_overview_fits_into_80_columns() {
        let help = grouped_command().term_width(80).render_help().to_string();
        let long: Vec<&str> = help.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(long.is_empty(), "{}", long.join("\n"));
        assert!(FIRST_PAGE.lines().all(|line| line.len() <= 90));
    }
}
