//! `verify-run whitelist list|check|explain|new`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{CommandContext, Exit, Output};
use crate::base::text::{count, one_line};
use crate::command::KeyParts;
use crate::config::Problem;
use crate::ops::definitions::{self, NewToolOptions};
use crate::ops::reply::Reply;
use crate::whitelist::{Check, CheckDecision, CheckKind, ListedRule, Whitelist, command_key_parts};

/// List, explain and test which commands are checks
///
/// JSON: docs/json.md
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: WhitelistCommand,
}

#[derive(Debug, clap::Subcommand)]
enum WhitelistCommand {
    /// List the tools that are recognised
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Check the whitelist files and the tool definitions with their tests; exit code 1 if one is wrong
    Check {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Add a tool: write a definition, with a test, from a sample of its output
    ///
    /// Writes the definition to .verify-run/tools/NAME.toml, and a rule that makes the program a check to
    /// whitelist.toml if there is none. The files explain their content; after a change run `verify-run whitelist
    /// check`, which runs the tests.
    New {
        /// Name of the tool in lessons
        name: String,
        /// Kind of check
        #[arg(long, value_enum, default_value = "lint")]
        kind: CheckKindArg,
        /// Name of the program (default: NAME)
        #[arg(long)]
        program: Option<String>,
        /// Add it for all projects (~/.config/verify-run) instead of for this one
        #[arg(long)]
        user: bool,
        /// File with a sample of its output; `-` reads standard input
        sample: PathBuf,
    },
    /// Explain how a command line is recognised
    Explain {
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// A shell line as one argument, or a command as several
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "LINE")]
        line: Vec<OsString>,
    },
}

/// What `whitelist list --json` prints.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct WhitelistListReply {
    /// The rules in the order in which they are tried.
    tools: Vec<ListedRule>,
}

/// What `whitelist check --json` prints.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct WhitelistCheckReply {
    /// The problems, by file.
    problems: Vec<Problem>,
}

/// What `whitelist explain --json` prints; `null` and empty for what is not recognised.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct WhitelistExplainReply {
    /// Whether the line is a check.
    recognised: bool,
    /// The tool that runs.
    tool: Option<String>,
    /// What the check does.
    kind: Option<CheckKind>,
    /// What the tool is run through, outermost first, such as `npx`.
    via: Vec<String>,
    /// The rule that decides, or why the line is not a check.
    why: String,
    /// Where the tool runs, relative to the root.
    dir: Option<String>,
    /// Paths and filters that narrow the check.
    selectors: Vec<String>,
    /// Other checks in the same line.
    also: Vec<String>,
    /// Whether the exit status is the check's own.
    status_is_own: bool,
    /// Whether the check runs on another machine or in a container.
    elsewhere: bool,
    /// Whether the tool changes files.
    fixes: bool,
    /// The command key: equal for the same check.
    key: Option<String>,
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let (whitelist, problems) = Whitelist::load(&context.request.places, &context.request.environment);
    match &args.command {
        WhitelistCommand::List { json } => {
            let reply = Reply::from(WhitelistListReply { tools: whitelist.list_rules() });
            context.output.reply(&reply, *json, print_rules)?;
            Ok(Exit::Ok)
        }
        WhitelistCommand::Check { json } => {
            let loaded = definitions::check_definitions(&context.request);
            let files = Whitelist::layer_files(&context.request.places, &context.request.environment).into_iter();
            let files = files.filter(|file| file.exists()).chain(loaded.files.into_iter().map(|file| file.file));
            let files: Vec<String> = files.map(|file| file.display().to_string()).collect();
            let problems = problems.into_iter().chain(loaded.problems).collect();
            let reply = Reply::from(WhitelistCheckReply { problems });
            context.output.reply(&reply, *json, |reply, output| print_problems(&reply.problems, &files, output))?;
            Ok(if reply.data.problems.is_empty() { Exit::Ok } else { Exit::Failure })
        }
        WhitelistCommand::New { name, kind, program, user, sample } => {
            let program = program.as_deref().unwrap_or(name);
            let sample = super::parse::read(sample)?;
            new(&NewToolOptions { name, kind: (*kind).into(), program, user: *user, sample: &sample }, context)
        }
        WhitelistCommand::Explain { json, line } => explain(&whitelist, line, *json, context),
    }
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum CheckKindArg {
    Test,
    Lint,
    Type,
    Format,
    Build,
}

impl From<CheckKindArg> for CheckKind {
    fn from(kind: CheckKindArg) -> Self {
        match kind {
            CheckKindArg::Test => CheckKind::Test,
            CheckKindArg::Lint => CheckKind::Lint,
            CheckKindArg::Type => CheckKind::Type,
            CheckKindArg::Format => CheckKind::Format,
            CheckKindArg::Build => CheckKind::Build,
        }
    }
}

fn new(wanted: &NewToolOptions<'_>, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let created = definitions::create_tool(&context.request, wanted)?;
    let shown = |file: &Path| {
        let relative = context.request.places.relative(file).unwrap_or_else(|| file.as_os_str().to_owned());
        one_line(&relative.to_string_lossy())
    };
    let found = count(created.found, "problem");
    let mut lines = vec![format!("wrote {}: {found} found in the sample", shown(&created.definition))];
    if let Some(file) = &created.whitelist {
        let (program, kind) = (one_line(wanted.program), wanted.kind.as_str());
        lines.push(format!("wrote {}: `{program}` is a {kind} check now", shown(file)));
    }
    lines.push("next: read what its test expects, then run `verify-run whitelist check`".to_owned());
    lines.iter().try_for_each(|line| context.output.line(line))?;
    Ok(Exit::Ok)
}

fn print_rules(reply: &WhitelistListReply, output: &mut Output) -> anyhow::Result<()> {
    let row = |rule: &ListedRule| {
        let layer = one_line(&rule.layer);
        [rule.tool.clone(), rule.kind.as_str().to_owned(), rule.language.clone(), rule.programs.join(" "), layer]
            .map(|cell| one_line(&cell))
            .to_vec()
    };
    let rows: Vec<Vec<String>> = reply.tools.iter().map(row).collect();
    output.table(&["tool", "kind", "language", "programs", "layer"], &rows)
}

fn print_problems(problems: &[Problem], files: &[String], output: &mut Output) -> anyhow::Result<()> {
    if problems.is_empty() {
        let read = if files.is_empty() { "only the shipped list is in force".to_owned() } else { files.join(", ") };
        output.line(&format!("no problems: {}", one_line(&read)))?;
    }
    for problem in problems {
        let line = problem.line.map_or_else(String::new, |line| format!("{line}:"));
        let place = format!("{}:{line}", problem.file.display());
        output.line(&one_line(&format!("{place} {}", problem.reason)))?;
        output.line(&format!("  hint: {}", one_line(&problem.hint)))?;
    }
    Ok(())
}

fn explain(whitelist: &Whitelist, line: &[OsString], json: bool, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let decision = match line {
        [line] => whitelist.decide_line(&line.to_string_lossy()),
        argv => whitelist.decide_command(argv),
    };
    let (reply, text) = match decision {
        CheckDecision::NotACheck { why } => {
            let text = format!("not a check: {}\n", one_line(&why));
            (WhitelistExplainReply::refused(why), text)
        }
        CheckDecision::Check(check) => {
            let parts = command_key_parts(&context.request.places.root, &context.request.cwd, Some(&check), &[]);
            let text = in_words(&check, &parts);
            (WhitelistExplainReply::of(check, &parts), text)
        }
    };
    context.output.reply(&reply.into(), json, |_, output| output.text(&text))?;
    Ok(Exit::Ok)
}

impl WhitelistExplainReply {
    fn refused(why: String) -> Self {
        WhitelistExplainReply {
            recognised: false,
            tool: None,
            kind: None,
            via: Vec::new(),
            why,
            dir: None,
            selectors: Vec::new(),
            also: Vec::new(),
            status_is_own: false,
            elsewhere: false,
            fixes: false,
            key: None,
        }
    }

    fn of(check: Check, parts: &KeyParts) -> Self {
        WhitelistExplainReply {
            recognised: true,
            tool: Some(check.tool),
            kind: Some(check.kind),
            via: check.via,
            why: check.why,
            dir: check.dir,
            selectors: check.selectors,
            also: check.also,
            status_is_own: check.status_is_own,
            elsewhere: check.elsewhere,
            fixes: check.fixes,
            key: Some(parts.hash()),
        }
    }
}

fn in_words(check: &Check, parts: &KeyParts) -> String {
    let mut lines = vec![format!("{}: a {} check", check.tool, check.kind.as_str()), format!("  why: {}", check.why)];
    let mut add = |name: &str, values: &[String]| {
        if !values.is_empty() {
            lines.push(format!("  {name}: {}", values.join(", ")));
        }
    };
    add("seen through", &check.via);
    add("runs in", &check.dir.clone().into_iter().collect::<Vec<_>>());
    add("checks", &check.selectors);
    add("also in the line", &check.also);
    let notes = [
        (!check.status_is_own, "the line's status is not the check's: a pass of the line proves nothing about it"),
        (check.elsewhere, "runs in a container or on another machine"),
        (check.fixes, "may repair files"),
    ];
    lines.extend(notes.iter().filter(|(holds, _)| *holds).map(|(_, note)| format!("  note: {note}")));
    let folder = parts.directory.display().to_string();
    let folder = if folder.is_empty() { "the top folder".to_owned() } else { folder };
    lines.push(format!("  key: {} ({}, {}, in {folder})", parts.hash(), parts.subject, parts.kind));
    lines.iter().map(|line| format!("{}\n", one_line(line))).collect()
}
