//! The command line: one file a subcommand, each with `Args` (its doc comment is the help), `run`, and printing.

mod again;
mod check_diff;
mod ci;
mod completions;
mod dashboard;
mod doctor;
mod exit;
mod filter;
mod fix;
mod gate;
mod hook;
mod init;
#[cfg(test)]
pub(in crate::surface) mod json_reference;
mod knowledge;
mod last;
mod lesson;
mod library;
mod log;
mod man;
mod mcp;
mod memory;
mod outcome;
mod output;
mod overview;
mod parse;
mod pattern;
mod promote;
#[cfg(test)]
mod reference;
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

use clap::{FromArgMatches, Parser, Subcommand};

pub use exit::Exit;
pub use output::Output;

use crate::base::refusal::NextStep;
use crate::capture::Identity;
use crate::config::Environment;
use crate::ops::request::Request;
use crate::surface::failure::{FailureKind, FailureReport};

/// Run a check unchanged, and remember what failed and what fixed it
///
/// `verify-run npm test` runs `npm test` with the same output, exit code and speed. When a recognised lint, test,
/// type-check or build command fails, the failure is recorded; when it passes again, so is the fix. Any other command
/// is executed in place.
#[derive(Debug, Parser)]
#[command(name = "verify-run", version, override_usage = USAGE, after_help = RUN_OPTIONS)]
pub struct Cli {
    #[command(subcommand)]
    command: Subcommands,
}

const USAGE: &str = "verify-run [RUN OPTIONS] [--] COMMAND [ARG]...\n       verify-run SUBCOMMAND [OPTIONS]";

const RUN_OPTIONS: &str = "\
Run options, before the command:
      --record           Record the command even if it is not a recognised check
      --no-record        Run the command without recording it
      --only-checks      Refuse anything but one recognised check (exit 125)
      --reuse            Skip the check if it passed on this very tree
      --sync             Record before returning
      --hint off|stderr  Report known failures on stderr (or VERIFY_RUN_HINT)
      --shell LINE       Run LINE with sh -c
      --task TASK        Name of the task (or VERIFY_RUN_TASK)
      --session SESSION  Name of the session (or VERIFY_RUN_SESSION)
      --agent AGENT      Name of the agent (or VERIFY_RUN_AGENT)
      --                 Treat what follows as a command

VERIFY_RUN_DISABLE=1 runs every command without recording it. verify-run exits with the command's exit code, or with \
125 if it failed itself, 126 if the command is not executable, and 127 if it was not found.";

#[derive(Debug, Subcommand)]
#[command(disable_help_subcommand = true)]
enum Subcommands {
    Last(last::Args),
    Log(log::Args),
    Show(show::Args),
    Again(again::Args),
    Lesson(lesson::Args),
    Pattern(pattern::Args),
    Fix(fix::Args),
    CheckDiff(check_diff::Args),
    Gate(gate::Args),
    Ci(ci::Args),
    Task(task::Args),
    Warn(warn::Args),
    Outcome(outcome::Args),
    Knowledge(knowledge::Args),
    Strategy(strategy::Args),
    Memory(memory::Args),
    Promote(promote::Args),
    Library(library::Args),
    Stats(stats::Args),
    Dashboard(dashboard::Args),
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

impl Subcommands {
    /// What may take long in a subcommand that runs nothing of the user's.
    fn long_part(&self) -> Option<&'static str> {
        match self {
            Subcommands::Init(_) => Some("looking for agents and hooks"),
            Subcommands::Doctor(_) => Some("calling the hooks"),
            Subcommands::Store(args) => Some(args.long_part()),
            Subcommands::Last(_)
            | Subcommands::Log(_)
            | Subcommands::Show(_)
            | Subcommands::Lesson(_)
            | Subcommands::Pattern(_)
            | Subcommands::Fix(_)
            | Subcommands::Task(_)
            | Subcommands::Warn(_)
            | Subcommands::Knowledge(_)
            | Subcommands::Strategy(_)
            | Subcommands::Promote(_)
            | Subcommands::Library(_)
            | Subcommands::Stats(_) => Some("reading the records"),
            _ => None,
        }
    }
}

/// First words that are ours. To run a program of such a name: `verify-run -- NAME`.
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

/// Shared by the subcommands that print pages.
#[derive(Debug, clap::Args)]
struct PagingArgs {
    /// Show the result in $PAGER, on a terminal
    #[arg(long, global = true)]
    pager: bool,
}

/// What a subcommand gets from the process.
struct CommandContext {
    /// Where the subcommand works, and for whom.
    request: Request,
    /// Where to print.
    output: Output,
}

/// Parses `args` (without the program's name), runs the subcommand, and returns the exit code.
pub fn start(args: Vec<OsString>) -> c_int {
    let mut output = Output::from_process();
    if args.is_empty() {
        output.note_as_is(overview::FIRST_PAGE);
        return Exit::Usage.code();
    }
    let cli = match parse_args(args) {
        Ok(cli) => cli,
        Err(error) => return usage(&mut output, &error).code(),
    };
    let environment = Environment::from_process();
    let cwd = match std::env::current_dir() {
        Ok(cwd) => cwd,
        Err(error) => {
            let report = FailureReport::new(&anyhow::Error::from(error).context("cannot find the working directory"));
            output.failure(&report);
            return report.kind.exit().code();
        }
    };
    let caller = Request::identify_caller(Identity::default());
    let mut context = CommandContext { request: Request::new(cwd, environment, caller), output };
    if let Some(what) = cli.command.long_part() {
        context.output.busy(what);
    }
    let result = match cli.command {
        Subcommands::Last(args) => last::run(&args, &mut context),
        Subcommands::Log(args) => log::run(&args, &mut context),
        Subcommands::Show(args) => show::run(&args, &mut context),
        Subcommands::Again(args) => again::run(&args, &mut context),
        Subcommands::CheckDiff(args) => check_diff::run(&args, &mut context),
        Subcommands::Gate(args) => gate::run(&args, &mut context),
        Subcommands::Ci(args) => ci::run(&args, &mut context),
        Subcommands::Task(args) => task::run(&args, &mut context),
        Subcommands::Warn(args) => warn::run(&args, &mut context),
        Subcommands::Outcome(args) => outcome::run(&args, &mut context),
        Subcommands::Knowledge(args) => knowledge::run(&args, &mut context),
        Subcommands::Strategy(args) => strategy::run(&args, &mut context),
        Subcommands::Memory(args) => memory::run(&args, &mut context),
        Subcommands::Promote(args) => promote::run(&args, &mut context),
        Subcommands::Library(args) => library::run(&args, &mut context),
        Subcommands::Pattern(args) => pattern::run(&args, &mut context),
        Subcommands::Fix(args) => fix::run(&args, &mut context),
        Subcommands::Stats(args) => stats::run(&args, &mut context),
        Subcommands::Dashboard(args) => dashboard::run(&args, &mut context),
        Subcommands::Store(args) => store::run(&args, &mut context),
        Subcommands::Uninstall(args) => uninstall::run(&args, &mut context),
        Subcommands::Lesson(args) => lesson::run(&args, &mut context),
        Subcommands::Init(args) => init::run(&args, &mut context),
        Subcommands::Hook(args) => hook::run(&args, &mut context),
        Subcommands::Doctor(args) => doctor::run(&args, &mut context),
        Subcommands::Shims(args) => shims::run(&args, &mut context),
        Subcommands::Completions(args) => completions::run(&args, &mut context),
        Subcommands::Man(args) => man::run(&args, &mut context),
        Subcommands::Parse(args) => parse::run(&args, &mut context),
        Subcommands::Report(args) => report::run(&args, &mut context),
        Subcommands::Whitelist(args) => whitelist::run(&args, &mut context),
        Subcommands::Mcp(args) => mcp::run(&args, &mut context),
    };
    match result {
        Ok(exit) => exit.code(),
        Err(error) => report_failure(&mut context, &error).code(),
    }
}

/// Says why a subcommand failed, and mends what can be mended.
fn report_failure(context: &mut CommandContext, error: &anyhow::Error) -> Exit {
    let mut report = FailureReport::new(error);
    if report.kind == FailureKind::IndexDamaged
        && crate::ops::store::heal_index(&context.request, &report.message).is_ok()
    {
        let step = "the index was rebuilt from the events: run the command again";
        report.next = Some(NextStep::Do(step.to_owned()));
    }
    context.output.failure(&report);
    report.kind.exit()
}

fn parse_args(args: Vec<OsString>) -> Result<Cli, clap::Error> {
    let mut command = overview::grouped_command();
    let mut words = vec![OsString::from("verify-run")];
    // `verify-run help` and `verify-run version` are what people try first.
    let rest = match args.first().and_then(|first| first.to_str()) {
        Some("help") => {
            words.extend(args.into_iter().skip(1).chain([OsString::from("--help")]));
            Vec::new()
        }
        Some("version") => vec![OsString::from("--version")],
        _ => args,
    };
    words.extend(rest);
    Cli::from_arg_matches(&command.try_get_matches_from_mut(words)?)
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
    use clap::CommandFactory;

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
}
