//! `docs/cli.md`: the help page of every subcommand, as it is printed.

use std::fmt::Write;
use std::{env, fs, path::Path};

use clap::Command;

use super::{Exit, overview};

const HEAD: &str = "\
# Command line reference

This page is generated from the program's own help (`verify-run SUBCOMMAND --help`). A test fails when it is out of date;
`UPDATE_DOCS=1 cargo nextest run --lib reference` writes it again.
";

/// The whole page, 100 columns wide.
fn render_reference() -> String {
    let mut page = HEAD.to_owned();
    page.push_str(
        "\n## Exit codes\n\nA run ends with the command's own exit code.\n\n| code | meaning |\n| --- | --- |\n",
    );
    for exit in Exit::LISTED {
        writeln!(page, "| {} | {} |", exit.code(), exit.meaning()).expect("a string takes it");
    }
    let mut command = overview::grouped_command().term_width(100);
    command.build();
    append_help(&mut page, &mut command, "verify-run");
    page
}

fn append_help(page: &mut String, command: &mut Command, path: &str) {
    let help = command.render_long_help().to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    write!(page, "\n## {path}\n\n```text\n{}\n```\n", help.join("\n").trim_end()).expect("a string takes it");
    for subcommand in command.get_subcommands_mut().filter(|subcommand| !subcommand.is_hide_set()) {
        let path = format!("{path} {}", subcommand.get_name());
        append_help(page, subcommand, &path);
    }
}

#[test]
fn the_reference_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/cli.md");
    let page = render_reference();
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &page).expect("writes docs/cli.md");
    }
    let written = fs::read_to_string(&path).expect("reads docs/cli.md");
    assert!(written == page, "docs/cli.md is out of date: UPDATE_DOCS=1 cargo nextest run --lib reference");
}
