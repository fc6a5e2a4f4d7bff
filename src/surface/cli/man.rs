//! `verify-run man`.

use clap::{Command, CommandFactory};

use super::{Cli, CommandContext, Exit};

use crate::base::refusal::Refusal;

/// Print a manual page (roff)
///
/// Read it with `verify-run man lesson show | man -l -`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Subcommand, such as `lesson show`
    #[arg(value_name = "SUBCOMMAND")]
    words: Vec<String>,
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let text = page(&args.words)?;
    context.output.text(&text)?;
    Ok(Exit::Ok)
}

fn page(words: &[String]) -> anyhow::Result<String> {
    let mut top = Cli::command();
    top.build();
    let mut command: &Command = &top;
    for word in words {
        let Some(found) = command.find_subcommand(word) else {
            let (name, known) = (command.get_bin_name().unwrap_or("verify-run"), command.get_subcommands());
            let known: Vec<&str> = known.filter(|sub| !sub.is_hide_set()).map(Command::get_name).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            anyhow::bail!(Refusal::usage(format!("`{word}` is no subcommand of {name}; there are: {known}")));
        };
        command = found;
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    let mut text = String::from_utf8(page)?;
    if words.is_empty() {
        text.push_str(".SH \"EXIT STATUS\"\n");
        for exit in Exit::LISTED {
            text.push_str(&format!(".TP\n{}\n{}\n", exit.code(), exit.meaning().replace('-', "\\-")));
        }
    }
    // Only the page that is printed exists: what it refers to is named as it is typed.
    for sub in command.get_subcommands() {
        let page = sub.get_display_name().unwrap_or_default().replace('-', "\\-");
        let typed = sub.get_bin_name().unwrap_or_default().replace('-', "\\-");
        text = text.replace(&format!("{page}(1)"), &typed);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn every_subcommand_has_a_page_and_none_refers_to_another_page() {
        let mut top = Cli::command();
        top.build();
        let mut waiting: Vec<(Vec<String>, &Command)> = vec![(Vec::new(), &top)];
        while let Some((path, command)) = waiting.pop() {
            let text = page(&path).expect("a page");
            assert!(text.starts_with(".ie ") && text.contains(".SH SYNOPSIS"), "{path:?}");
            // env(1) is there.
            let pages = text.split_whitespace().filter(|word| word.contains("(1)") && word.contains("verify"));
            assert_eq!(pages.collect::<Vec<_>>(), Vec::<&str>::new(), "{path:?} refers to another page");
            let below = command.get_subcommands().filter(|sub| !sub.is_hide_set());
            waiting.extend(below.map(|sub| ([path.clone(), vec![sub.get_name().to_owned()]].concat(), sub)));
        }
        let text = page(&words("lesson")).expect("a page");
        assert!(text.contains("verify\\-run lesson show"), "{text}");
        assert!(!text.contains("EXIT STATUS"), "{text}");
        let top = page(&[]).expect("a page");
        assert!(top.contains(".SH \"EXIT STATUS\"\n.TP\n0\nsuccess\n.TP\n1\n"), "{top}");
    }

    #[test]
    fn a_word_that_is_no_subcommand_is_refused_with_those_there_are() {
        let error = page(&words("fix shw")).expect_err("a typo").to_string();
        assert!(error.starts_with("`shw` is no subcommand of verify-run fix; there are: list, show"), "{error}");
    }
}
