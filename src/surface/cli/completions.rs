//! `verify-run completions`: the script of a shell, and what that script asks for at each Tab.

mod words;

use std::ffi::OsString;

use clap::CommandFactory;
use clap_complete::Shell;

use super::{Cli, CommandContext, Exit};
use crate::base::text::{ellipsis, one_line};
use crate::ops::ids;
use words::Completion;

/// What a candidate is about, bytes.
const ABOUT_BYTES_MAX: usize = 60;

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Name of the shell
    shell: Shell,
    /// Print completions of the last of these words; called by the scripts
    #[arg(last = true, hide = true)]
    words: Option<Vec<OsString>>,
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    if let Some(words) = &args.words {
        return complete(words, context);
    }
    let script = match args.shell {
        Shell::Bash => include_str!("../../../hooks/shell/complete.bash").to_owned(),
        Shell::Zsh => include_str!("../../../hooks/shell/complete.zsh").to_owned(),
        Shell::Fish => include_str!("../../../hooks/shell/complete.fish").to_owned(),
        other => {
            let mut script = Vec::new();
            clap_complete::generate(other, &mut Cli::command(), "verify-run", &mut script);
            String::from_utf8(script)?
        }
    };
    context.output.text(&script)?;
    Ok(Exit::Ok)
}

/// One candidate a line, a tab, and what it is about. Lines that begin with a colon tell the script to do more: `:files`
/// to offer files, `:command N` to complete as if the line began at word N.
fn complete(words: &[OsString], context: &mut CommandContext) -> anyhow::Result<Exit> {
    let mut text = String::new();
    for completion in words::complete(words) {
        match completion {
            Completion::Word(word, about) => text.push_str(&line(&word, &about)),
            Completion::Ids(kind, start) => {
                let ids = ids::list_ids(&context.request, kind).into_iter();
                text.extend(ids.filter(|(id, _)| id.starts_with(&start)).map(|(id, about)| line(&id, &about)));
            }
            Completion::Files => text.push_str(":files\n"),
            Completion::CommandAt(at) => text.push_str(&format!(":command {at}\n")),
        }
    }
    context.output.text(&text)?;
    Ok(Exit::Ok)
}

fn line(word: &str, about: &str) -> String {
    let about = ellipsis(&one_line(about), ABOUT_BYTES_MAX);
    format!("{}\t{about}\n", one_line(word))
}
