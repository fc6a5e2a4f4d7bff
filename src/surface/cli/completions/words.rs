//! What completes a word of a command line: the subcommands and options of the command-line parser, the run options, the
//! ids that an argument takes, or another command's own completion.

use std::ffi::{OsStr, OsString};

use clap::builder::ValueHint;
use clap::{Arg, ArgAction, Command, CommandFactory};

use crate::ops::ids::RecordKind;
use crate::surface::cli::{Cli, is_ours};

/// Run options, whether they take a value, and what they do.
const RUN_OPTIONS: [(&str, bool, &str); 9] = [
    ("--record", false, "Record the command even if it is not a recognised check"),
    ("--no-record", false, "Run the command without recording it"),
    ("--only-checks", false, "Refuse anything but one recognised check"),
    ("--sync", false, "Record before returning"),
    ("--hint", true, "Report known failures on stderr"),
    ("--shell", true, "Run a line with sh -c"),
    ("--task", true, "Name of the task"),
    ("--session", true, "Name of the session"),
    ("--agent", true, "Name of the agent"),
];
/// Options that are ours when they come first.
const OWN_OPTIONS: [(&str, &str); 2] = [("--help", "Print help"), ("--version", "Print version")];
/// Values of `--hint`.
const HINTS: [&str; 2] = ["off", "stderr"];
/// Names of values that are paths.
const PATHS: [&str; 4] = ["FILE", "PATH", "DIR", "GLOB"];

/// What completes a word, or who knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Completion {
    /// This word, with what it is about.
    Word(String, String),
    /// The ids of this kind that start so.
    Ids(RecordKind, String),
    /// Files.
    Files,
    /// What the shell knows of the command that begins with this word.
    CommandAt(usize),
}

/// What completes the last of `words`, which follow the program's name. An empty list is an empty word.
pub(super) fn complete(words: &[OsString]) -> Vec<Completion> {
    let words: Vec<&str> = words.iter().map(|word| word.to_str().unwrap_or_default()).collect();
    let (current, before) = words.split_last().map_or(("", &[][..]), |(current, before)| (*current, before));
    if let Some(first) = before.first()
        && is_ours(OsStr::new(first))
    {
        return Cli::command()
            .find_subcommand(first)
            .map(|found| argument(found, &before[1..], current))
            .unwrap_or_default();
    }
    run_option(before, current)
}

/// Completes a word before the command, or hands on to the command.
fn run_option(before: &[&str], current: &str) -> Vec<Completion> {
    let mut at = 0;
    while let Some(word) = before.get(at) {
        if *word == "--" {
            return vec![Completion::CommandAt(at + 1)];
        }
        if !word.starts_with('-') {
            return vec![Completion::CommandAt(at)];
        }
        let takes_value = RUN_OPTIONS.iter().any(|(name, takes, _)| name == word && *takes);
        at += 1 + usize::from(takes_value);
        if at > before.len() {
            return if *word == "--hint" { values(&HINTS, "", current) } else { Vec::new() };
        }
    }
    if let Some(value) = current.strip_prefix("--hint=") {
        return values(&HINTS, "--hint=", value);
    }
    if current.starts_with('-') {
        let own = OWN_OPTIONS.iter().filter(|_| before.is_empty());
        let own = own.map(|(name, about)| (*name, *about));
        let options = RUN_OPTIONS.iter().map(|(name, _, about)| (*name, *about)).chain(own);
        return options.filter(|(name, _)| name.starts_with(current)).map(|(name, about)| word(name, about)).collect();
    }
    let mut found = vec![Completion::CommandAt(before.len())];
    if before.is_empty() {
        found.extend(subcommands(&Cli::command(), current));
    }
    found
}

/// Completes a word of a subcommand.
fn argument(top: &Command, words: &[&str], current: &str) -> Vec<Completion> {
    let (mut command, mut names) = (top, vec![top.get_name().to_owned()]);
    let (mut positionals, mut options_end) = (0, false);
    let mut pending: Option<&Arg> = None;
    for word in words {
        if pending.take().is_some() {
            continue;
        }
        if options_end || !word.starts_with('-') || *word == "-" {
            match command.find_subcommand(word).filter(|_| positionals == 0 && !options_end) {
                Some(found) => {
                    command = found;
                    names.push(found.get_name().to_owned());
                }
                None => positionals += 1,
            }
        } else if *word == "--" {
            options_end = true;
        } else if !word.contains('=') {
            pending = option(command, top, word).filter(|arg| takes_value(arg));
        }
    }
    if let Some(arg) = pending {
        return value(arg, &names, "", current);
    }
    if !options_end
        && let Some((name, start)) = current.split_once('=')
        && let Some(arg) = option(command, top, name)
    {
        return value(arg, &names, &format!("{name}="), start);
    }
    if !options_end && current.starts_with('-') {
        return options(command, top, current);
    }
    let mut found: Vec<Completion> = subcommands(command, current).collect();
    // The last positional takes all that follow where it may be repeated.
    let all: Vec<&Arg> = command.get_positionals().filter(|arg| !arg.is_hide_set()).collect();
    let is_many = |arg: &&&Arg| arg.get_num_args().is_some_and(|count| count.max_values() > 1);
    if let Some(arg) = all.get(positionals).or_else(|| all.last().filter(is_many)) {
        found.extend(value(arg, &names, "", current));
    }
    found
}

/// The option that is called so; those of the topmost subcommand may be for all below it.
fn option<'a>(command: &'a Command, top: &'a Command, word: &str) -> Option<&'a Arg> {
    let own = command.get_arguments();
    let is_it = |arg: &&Arg| match word.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        None => {
            word.strip_prefix('-').and_then(|rest| rest.chars().next()) == arg.get_short() && arg.get_short().is_some()
        }
    };
    own.chain(top.get_arguments().filter(|arg| arg.is_global_set())).find(is_it)
}

fn takes_value(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Set | ArgAction::Append)
}

fn options(command: &Command, top: &Command, current: &str) -> Vec<Completion> {
    let globals = top.get_arguments().filter(|arg| arg.is_global_set());
    let mut found: Vec<Completion> = Vec::new();
    for arg in command.get_arguments().chain(globals).filter(|arg| !arg.is_hide_set()) {
        let Some(name) = arg.get_long().map(|long| format!("--{long}")) else { continue };
        let completion = word(&name, &arg.get_help().map(ToString::to_string).unwrap_or_default());
        if name.starts_with(current) && !found.contains(&completion) {
            found.push(completion);
        }
    }
    found.extend("--help".starts_with(current).then(|| word("--help", "Print help")));
    found
}

fn subcommands(command: &Command, current: &str) -> impl Iterator<Item = Completion> {
    let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name().starts_with(current));
    let about = |sub: &Command| sub.get_about().map(ToString::to_string).unwrap_or_default();
    shown.map(|sub| word(sub.get_name(), &about(sub))).collect::<Vec<_>>().into_iter()
}

/// The values of an argument that begin with `start`, each behind `prefix`.
fn value(arg: &Arg, names: &[String], prefix: &str, start: &str) -> Vec<Completion> {
    let possible: Vec<String> =
        arg.get_possible_values().iter().filter(|it| !it.is_hide_set()).map(|it| it.get_name().to_owned()).collect();
    if !possible.is_empty() {
        return values(&possible, prefix, start);
    }
    if prefix.is_empty()
        && let Some(kind) = ids(arg, names)
    {
        return vec![Completion::Ids(kind, start.to_owned())];
    }
    let is_path = arg.get_value_names().into_iter().flatten().any(|name| PATHS.contains(&name.as_str()));
    let is_hinted = matches!(arg.get_value_hint(), ValueHint::AnyPath | ValueHint::FilePath | ValueHint::DirPath);
    if is_path || is_hinted { vec![Completion::Files] } else { Vec::new() }
}

fn values<T: AsRef<str>>(values: &[T], prefix: &str, start: &str) -> Vec<Completion> {
    let fitting = values.iter().map(AsRef::as_ref).filter(|value: &&str| value.starts_with(start));
    fitting.map(|value| word(&format!("{prefix}{value}"), "")).collect()
}

fn word(word: &str, about: &str) -> Completion {
    // What follows a colon is for those who read the help.
    Completion::Word(word.to_owned(), about.lines().next().unwrap_or_default().to_owned())
}

/// What an argument's ids are of.
fn ids(arg: &Arg, names: &[String]) -> Option<RecordKind> {
    let subcommand = names.first().map(String::as_str)?;
    match (subcommand, arg.get_id().as_str()) {
        ("lesson", "id") => Some(RecordKind::Lesson),
        ("pattern", "id" | "into") | (_, "pattern") => Some(RecordKind::Pattern),
        ("fix", "id") | (_, "from_fix") => Some(RecordKind::Fix),
        ("knowledge", "id" | "into" | "with") => Some(RecordKind::Entry),
        ("show", "run") => Some(RecordKind::Run),
        ("task", "id") | (_, "task") => Some(RecordKind::Task),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(words: &[&str]) -> Vec<String> {
        let words: Vec<OsString> = words.iter().map(Into::into).collect();
        let text = |completion| match completion {
            Completion::Word(word, _) => word,
            Completion::Ids(kind, start) => format!("{kind:?} {start}"),
            Completion::Files => ":files".to_owned(),
            Completion::CommandAt(at) => format!(":command {at}"),
        };
        complete(&words).into_iter().map(text).collect()
    }

    #[test]
    fn the_first_word_is_a_subcommand_or_a_command() {
        assert_eq!(shown(&["les"]), [":command 0", "lesson"]);
        assert_eq!(shown(&["npm"]), [":command 0"]);
        assert!(shown(&[""]).contains(&"doctor".to_owned()));
        assert_eq!(shown(&["--rec"]), ["--record"]);
        assert_eq!(shown(&["--ver"]), ["--version"]);
    }

    #[test]
    fn what_follows_a_command_is_the_command_s() {
        assert_eq!(shown(&["npm", "ru"]), [":command 0"]);
        assert_eq!(shown(&["--sync", "--", "npm", "ru"]), [":command 2"]);
        assert_eq!(shown(&["--task", "t", "npm", "run", ""]), [":command 2"]);
        assert_eq!(shown(&["--sync", "les"]), [":command 1"]);
        assert_eq!(shown(&["--hint", ""]), ["off", "stderr"]);
        assert_eq!(shown(&["--hint=o"]), ["--hint=off"]);
        assert_eq!(shown(&["--task", ""]), Vec::<String>::new());
    }

    #[test]
    fn subcommands_options_and_values_past_the_first_word() {
        assert_eq!(shown(&["fix", "s"]), ["show"]);
        assert_eq!(shown(&["check-diff", "--js"]), ["--json"]);
        assert!(shown(&["stats", "--"]).contains(&"--json".to_owned()));
        assert_eq!(shown(&["completions", "zs"]), ["zsh"]);
        assert_eq!(shown(&["memory", "recall", "--type", "learn"]), ["learning"]);
        assert_eq!(shown(&["memory", "recall", "--type=learn"]), ["--type=learning"]);
        assert!(shown(&["knowledge", "show", "--j"]).contains(&"--json".to_owned()), "an option for all");
    }

    #[test]
    fn ids_and_files_where_they_are_taken() {
        assert_eq!(shown(&["lesson", "show", "l-4"]), ["Lesson l-4"]);
        assert_eq!(shown(&["fix", "show", ""]), ["Fix "]);
        assert_eq!(shown(&["pattern", "merge", "p-1", "--into", ""]), ["Pattern "]);
        assert_eq!(shown(&["knowledge", "pin", ""]), ["Entry "]);
        assert_eq!(shown(&["show", ""]), ["Run "]);
        assert_eq!(shown(&["warn", "--files", ""]), [":files"]);
        assert_eq!(shown(&["lesson", "show", "l-1", ""]), Vec::<String>::new());
    }
}
