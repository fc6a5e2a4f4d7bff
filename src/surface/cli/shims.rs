//! `verify-run shims install|uninstall|status`.

use super::{CommandContext, Exit, Output};
use crate::base::text::count;
use crate::host::shims::{ShimOptions, ShimStanding, ShimState, ShimStatus, ShimsReply};
use crate::ops::shims;

/// Record checks that are called by their own names
///
/// With a shim, `npm test` means `verify-run -- npm test`; a command that is not a check is executed in place. The shim
/// looks for the real program on PATH at each call.
///
/// JSON: docs/json.md
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: ShimsCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ShimsCommand {
    /// Create or repair shims
    ///
    /// Without names, for the programs of the whitelist that are on PATH or in the project's virtual environment,
    /// except programs that start others (shells, env, sudo, compilers, git). Files in the folder that are not shims
    /// are left alone.
    Install {
        /// Programs, even if they are not on PATH
        #[arg(value_name = "NAME", conflicts_with = "all")]
        names: Vec<String>,
        /// All programs of the whitelist that are on PATH
        #[arg(long)]
        all: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove shims (default: all)
    Uninstall {
        /// Programs
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show which programs have a shim, and whether the shims come first on PATH
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let folder = shims::find_folder(&context.request)?;
    match &args.command {
        ShimsCommand::Install { names, all, json } => {
            let wanted = match (names.is_empty(), all) {
                (false, _) => ShimOptions::Named(names.clone()),
                (true, true) => ShimOptions::All,
                (true, false) => ShimOptions::Usual,
            };
            let done = shims::install_shims(&context.request, &folder, &wanted)?;
            context.output.reply(&done, *json, |done, output| {
                print_done(done, output)?;
                advise(folder.path_status(), output);
                Ok(())
            })?;
        }
        ShimsCommand::Uninstall { names, json } => {
            let done = shims::uninstall_shims(&folder, names)?;
            context.output.reply(&done, *json, print_done)?;
        }
        ShimsCommand::Status { json } => {
            let status = shims::shim_status(&context.request, &folder);
            context.output.reply(&status, *json, print_status)?;
        }
    }
    Ok(Exit::Ok)
}

fn print_done(done: &ShimsReply, output: &mut Output) -> anyhow::Result<()> {
    let lists = [
        ("made", &done.made),
        ("mended", &done.mended),
        ("removed", &done.removed),
        ("left alone, not verify-run's:", &done.foreign),
    ];
    for (what, names) in lists.into_iter().filter(|(_, names)| !names.is_empty()) {
        output.line(&format!("{what} {}", names.join(" ")))?;
    }
    if lists.iter().all(|(_, names)| names.is_empty()) {
        output.line("nothing to do")?;
    }
    output.line(&format!(
        "{} in {}",
        count(done.made.len() + done.mended.len() + done.kept.len(), "shim"),
        done.folder.display()
    ))
}

fn print_status(status: &ShimStatus, output: &mut Output) -> anyhow::Result<()> {
    let path =
        |path: &Option<std::path::PathBuf>| path.as_ref().map_or(String::new(), |path| path.display().to_string());
    let rows: Vec<Vec<String>> = status
        .programs
        .iter()
        .map(|entry| {
            let found = if entry.by.is_some() { &entry.by } else { &entry.program };
            vec![entry.name.clone(), word(entry.state).to_owned(), path(found)]
        })
        .map(|row| row.into_iter().map(|cell| crate::base::text::one_line(&cell)).collect())
        .collect();
    output.table(&["program", "shim", "found"], &rows)?;
    if status.programs.iter().any(|entry| matches!(entry.state, ShimState::New | ShimState::Stale)) {
        output.note("to create and repair shims: verify-run shims install");
    }
    advise(status.path_status, output);
    Ok(())
}

fn word(state: ShimState) -> &'static str {
    match state {
        ShimState::Ready => "ready",
        ShimState::New => "new",
        ShimState::Missing => "missing",
        ShimState::Shadowed => "shadowed",
        ShimState::Stale => "stale",
        ShimState::Foreign => "foreign",
    }
}

/// What to type so that the shims are what names find.
fn advise(path_status: ShimStanding, output: &mut Output) {
    let what = match path_status {
        ShimStanding::NotInstalled | ShimStanding::InFront => return,
        ShimStanding::NotOnPath => "the shims are not on PATH",
        ShimStanding::Shadowed => "other folders come before the shims on PATH",
    };
    output.note(&format!("{what}; to put them in front, in this shell and in later ones, add to its start-up file:"));
    let shell = std::env::var("SHELL").unwrap_or_default();
    output.note(match shell.rsplit('/').next() {
        Some("fish") => "  type -q verify-run; and verify-run init fish | source",
        Some("zsh") => "  command -v verify-run >/dev/null && eval \"$(verify-run init zsh)\"",
        _ => "  command -v verify-run >/dev/null && eval \"$(verify-run init bash)\"",
    });
}
