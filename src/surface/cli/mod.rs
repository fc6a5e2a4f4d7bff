//! The command line: one file a subcommand, each with `Args` (its doc comment is the help), `run`, and printing.

mod again;
mod check_diff;
mod ci;
mod completions;
mod doctor;
mod exit;
mod fix;
mod hook;
mod init;
mod knowledge;
mod last;
mod lesson;
mod log;
mod man;
mod mcp;
mod memory;
mod outcome;
mod output;
mod parse;
mod pattern;
mod promote;
mod report;
pub mod run;
mod shell_init;
mod shims;
mod show;
mod stats;
mod store;
mod strategy;
mod task;
mod uninstall;
mod warn;
mod whitelist;

use std::ffi::{OsStr, OsString, c_int};

use clap::{CommandFactory, Parser, Subcommand};

pub use exit::Exit;
pub use output::Output;

use crate::config::{Environment, Places};
use crate::store::StoreError;

/// Run a check exactly as it is, and learn from its failure
///
/// `verify-run npm test` runs `npm test` with its own output, exit code and speed. If the command is a recognised
/// lint, test, type-check or build command and fails, the failure is recorded and a lesson file is written.
/// Anything else is executed in place.
#[derive(Debug, Parser)]
#[command(name = "verify-run", version, arg_required_else_help = true, override_usage = USAGE, after_help = RUN_OPTIONS)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

const USAGE: &str = "verify-run [RUN OPTIONS] [--] COMMAND [ARG]...\n       verify-run SUBCOMMAND [OPTIONS]";

const RUN_OPTIONS: &str = "\
Run options, before the command:
      --record           Record although the command is not a recognised check
      --no-record        Run only
      --only-checks      Refuse (exit code 125) anything but one recognised check by itself
      --sync             Record before returning
      --hint off|stderr  Say after a failure on standard error that it was seen before (or VERIFY_RUN_HINT)
      --shell LINE       Run LINE with sh -c
      --task TASK        What is being worked on (or VERIFY_RUN_TASK)
      --session SESSION  Who works on it in one sitting (or VERIFY_RUN_SESSION)
      --agent AGENT      Which kind of worker (or VERIFY_RUN_AGENT)
      --                 What follows is always a command

VERIFY_RUN_DISABLE=1 runs everything bare. The wrapper's own exit codes are those of env(1): 125 verify-run \
failed, 126 found but not executable, 127 not found.";

#[derive(Debug, Subcommand)]
#[command(disable_help_subcommand = true)]
enum Command {
    Last(last::Args),
    Log(log::Args),
    Show(show::Args),
    Again(again::Args),
    Lesson(lesson::Args),
    Pattern(pattern::Args),
    Fix(fix::Args),
    CheckDiff(check_diff::Args),
    Ci(ci::Args),
    Task(task::Args),
    Warn(warn::Args),
    Outcome(outcome::Args),
    Knowledge(knowledge::Args),
    Strategy(strategy::Args),
    Memory(memory::Args),
    Promote(promote::Args),
    Stats(stats::Args),
    Store(store::Args),
    Init(init::Args),
    Hook(hook::Args),
    Shims(shims::Args),
    Doctor(doctor::Args),
    Uninstall(uninstall::Args),
    Completions(completions::Args),
    Man(man::Args),
    Parse(parse::Args),
    Report(report::Args),
    Whitelist(whitelist::Args),
    Mcp(mcp::Args),
}

/// First words that are ours, now or in a later version. To run a program of such a name: `verify-run -- NAME`.
const RESERVED: [&str; 34] = [
    "last",
    "log",
    "show",
    "again",
    "lesson",
    "pattern",
    "fix",
    "check-diff",
    "task",
    "warn",
    "outcome",
    "knowledge",
    "strategy",
    "memory",
    "promote",
    "whitelist",
    "parse",
    "report",
    "stats",
    "init",
    "hook",
    "shims",
    "ci",
    "mcp",
    "store",
    "doctor",
    "uninstall",
    "completions",
    "man",
    "gate",
    "library",
    "dashboard",
    "help",
    "version",
];

/// Whether the first word belongs to the command-line parser instead of naming a command to run.
pub fn is_ours(first: &OsStr) -> bool {
    matches!(first.as_encoded_bytes(), b"-h" | b"--help" | b"-V" | b"--version")
        || RESERVED.iter().any(|word| first == *word)
}

/// What a subcommand gets from the process.
pub struct Context {
    /// The places of the working directory.
    pub places: Places,
    /// The variables that decided them.
    pub environment: Environment,
    /// Where to print.
    pub output: Output,
}

/// Parses `args` (without the program's name), runs the subcommand, and returns the exit code.
pub fn start(args: Vec<OsString>) -> c_int {
    let mut output = Output::from_process();
    let cli = match parse_args(args) {
        Ok(cli) => cli,
        Err(error) => return usage(&mut output, &error).code(),
    };
    let environment = Environment::from_process();
    let cwd = match std::env::current_dir() {
        Ok(cwd) => cwd,
        Err(error) => {
            output.error(&anyhow::Error::from(error).context("cannot find the working directory"));
            return Exit::Failure.code();
        }
    };
    let places = Places::find(&cwd, &environment);
    let mut context = Context { places, environment, output };
    let result = match cli.command {
        Command::Last(args) => last::run(&args, &mut context),
        Command::Log(args) => log::run(&args, &mut context),
        Command::Show(args) => show::run(&args, &mut context),
        Command::Again(args) => again::run(&args, &mut context),
        Command::CheckDiff(args) => check_diff::run(&args, &mut context),
        Command::Ci(args) => ci::run(&args, &mut context),
        Command::Task(args) => task::run(&args, &mut context),
        Command::Warn(args) => warn::run(&args, &mut context),
        Command::Outcome(args) => outcome::run(&args, &mut context),
        Command::Knowledge(args) => knowledge::run(&args, &mut context),
        Command::Strategy(args) => strategy::run(&args, &mut context),
        Command::Memory(args) => memory::run(&args, &mut context),
        Command::Promote(args) => promote::run(&args, &mut context),
        Command::Pattern(args) => pattern::run(&args, &mut context),
        Command::Fix(args) => fix::run(&args, &mut context),
        Command::Stats(args) => stats::run(&args, &mut context),
        Command::Store(args) => store::run(&args, &mut context),
        Command::Uninstall(args) => uninstall::run(&args, &mut context),
        Command::Lesson(args) => lesson::run(&args, &mut context),
        Command::Init(args) => init::run(&args, &mut context),
        Command::Hook(args) => hook::run(&args, &mut context),
        Command::Doctor(args) => doctor::run(&args, &mut context),
        Command::Shims(args) => shims::run(&args, &mut context),
        Command::Completions(args) => completions::run(&args, &mut context),
        Command::Man(args) => man::run(&args, &mut context),
        Command::Parse(args) => parse::run(&args, &mut context),
        Command::Report(args) => report::run(&args, &mut context),
        Command::Whitelist(args) => whitelist::run(&args, &mut context),
        Command::Mcp(args) => mcp::run(&args, &mut context),
    };
    match result {
        Ok(exit) => exit.code(),
        Err(error) => {
            context.output.error(&error);
            let damage = error.downcast_ref::<StoreError>().filter(|error| error.is_damage());
            if damage.is_some_and(|damage| crate::ops::store::heal(&context.places, &damage.to_string()).is_ok()) {
                context.output.note("the index was computed anew from the events: run the command again");
            }
            Exit::Failure.code()
        }
    }
}

fn parse_args(args: Vec<OsString>) -> Result<Cli, clap::Error> {
    let mut words = vec![OsString::from("verify-run")];
    // `verify-run help` and `verify-run version` are what people try first.
    let rest = match args.first().and_then(|first| first.to_str()) {
        Some("help") => {
            words.extend(args.into_iter().skip(1).chain([OsString::from("--help")]));
            Vec::new()
        }
        Some("version") => vec![OsString::from("--version")],
        Some(first) if RESERVED.contains(&first) && Cli::command().find_subcommand(first).is_none() => {
            let message = format!(
                "`{first}` is a word of a later version of verify-run\n\nhint: to run a program of this name, type \
                 `verify-run -- {first}`\n"
            );
            return Err(Cli::command().error(clap::error::ErrorKind::InvalidSubcommand, message));
        }
        _ => args,
    };
    words.extend(rest);
    Cli::try_parse_from(words)
}

fn usage(output: &mut Output, error: &clap::Error) -> Exit {
    let text = if output.colour() { error.render().ansi().to_string() } else { error.render().to_string() };
    if error.use_stderr() {
        output.note_as_is(&text);
        Exit::Usage
    } else {
        output.text(&text).map_or(Exit::Failure, |()| Exit::Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent_and_every_subcommand_is_reserved() {
        let command = Cli::command();
        command.clone().debug_assert();
        for subcommand in command.get_subcommands() {
            assert!(RESERVED.contains(&subcommand.get_name()), "{} is not reserved", subcommand.get_name());
        }
    }

    /// The texts of a command's help that clap wraps to the terminal.
    fn texts_of(command: &clap::Command) -> Vec<String> {
        let own = [
            command.get_about(),
            command.get_long_about(),
            command.get_before_help(),
            command.get_before_long_help(),
            command.get_after_help(),
            command.get_after_long_help(),
        ];
        let options = command.get_arguments().flat_map(|option| [option.get_help(), option.get_long_help()]);
        let mut texts: Vec<String> = own.into_iter().chain(options).flatten().map(ToString::to_string).collect();
        texts.extend(command.get_subcommands().flat_map(texts_of));
        texts
    }

    #[test]
    fn no_paragraph_of_the_help_is_wrapped_by_hand() {
        for text in texts_of(&Cli::command()) {
            let lines: Vec<&str> = text.lines().collect();
            for pair in lines.windows(2) {
                let is_laid_out =
                    pair[0].is_empty() || pair[0].ends_with(':') || pair[1].is_empty() || pair[1].starts_with(' ');
                assert!(is_laid_out, "one paragraph on two lines:\n{}\n{}", pair[0], pair[1]);
            }
        }
    }

    #[test]
    fn a_later_word_says_how_to_run_a_program_of_that_name() {
        let error = parse_args(vec!["gate".into()]).expect_err("not built yet");
        assert!(error.to_string().contains("verify-run -- gate"));
    }
}
