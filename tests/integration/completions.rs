//! Completion in the shells themselves: subcommands past the first word, ids, and the wrapped command's own words.

use std::os::unix::fs::symlink;

use verify_run::run::CommandEnd;

use crate::sandbox::{Sandbox, VERIFY_RUN, need};
use crate::terminal::Terminal;

/// A project with a recorded failure, and a command that has a completion of its own.
fn scene() -> Sandbox {
    let sandbox = Sandbox::repository();
    sandbox.write("src/a.js", "foo\n");
    sandbox.tool("eslint", "printf '%s\\n' \"\n$PWD/src/a.js\n  1:1  error  foo is not defined  no-undef\n\"; exit 1");
    sandbox.tool("packer", "");
    let link = sandbox.tool("verify-run", "");
    std::fs::remove_file(&link).expect("a stub");
    symlink(VERIFY_RUN, &link).expect("a link");
    let run = sandbox.verify_run(["--sync", "eslint", "src"]).outcome();
    assert_eq!(run.ended, CommandEnd::Exit(1), "{}", run.stderr());
    sandbox
}

/// The id of the only pattern here.
fn pattern(sandbox: &Sandbox) -> String {
    let list = sandbox.verify_run(["pattern", "list", "--json"]).prints_json();
    list["patterns"][0]["id"].as_str().expect("a pattern").to_owned()
}

/// Types a line with a Tab at its end, waits for what it becomes, and throws it away.
#[track_caller]
fn becomes(terminal: &mut Terminal, typed: &str, completed: &str) {
    terminal.types(format!("{typed}\t"));
    terminal.shows(completed);
    terminal.types("\u{15}");
}

fn on_a_terminal(sandbox: &Sandbox, shell: &str, options: &[&str], start: &str) {
    let mut terminal = Terminal::start(sandbox.bare(shell).args(options).env("PS1", "> ").env("HISTFILE", "/dev/null"));
    terminal.types(format!("{start}; echo re''ady\n"));
    terminal.shows("ready");
    becomes(&mut terminal, "verify-run fix s", "fix show");
    becomes(&mut terminal, "verify-run check-diff --js", "check-diff --json");
    becomes(&mut terminal, "verify-run doct", "verify-run doctor");
    let id = pattern(sandbox);
    becomes(&mut terminal, &format!("verify-run pattern show {}", &id[..4]), &format!("show {id}"));
    becomes(&mut terminal, "verify-run packer al", "packer alpha-target");
    becomes(&mut terminal, "verify-run --sync -- packer al", "-- packer alpha-target");
    becomes(&mut terminal, "verify-run packe", "verify-run packer");
    becomes(&mut terminal, "verify-run memory recall --type=learn", "--type=learning");
    terminal.types("exit\n");
    terminal.ends();
}

#[test]
fn bash_completes_past_the_first_word() {
    let start = "eval \"$(verify-run completions bash)\"; complete -W 'alpha-target beta-target' packer";
    on_a_terminal(&scene(), "bash", &["--norc", "--noprofile", "-i"], start);
}

#[test]
fn bash_hands_on_to_functions_with_the_line_from_the_command_on() {
    let sandbox = scene();
    // What a command's function is given, with its line.
    let script = "
        eval \"$(verify-run completions bash)\"
        _packer() { COMPREPLY=(\"$1|$2|$3|$COMP_CWORD|$COMP_LINE|$COMP_POINT\"); }
        complete -F _packer packer
        COMP_WORDS=(verify-run --sync -- packer run al); COMP_CWORD=5
        COMP_LINE='verify-run --sync -- packer run al'; COMP_POINT=${#COMP_LINE}
        _verify_run verify-run al run
        printf '%s\\n' \"${COMPREPLY[@]}\"";
    let said = sandbox.bare("bash").args(["--norc", "-c", script]).prints();
    assert_eq!(said, "packer|al|run|2|packer run al|13\n");
}

#[test]
fn zsh_completes_past_the_first_word() {
    let Some(_) = need("zsh") else { return };
    let start = "autoload -Uz compinit; compinit -u -D; eval \"$(verify-run completions zsh)\"; \
                 _packer() { compadd alpha-target beta-target }; compdef _packer packer";
    on_a_terminal(&scene(), "zsh", &["-f", "-i"], start);
}

#[test]
fn fish_completes_past_the_first_word() {
    let Some(_) = need("fish") else { return };
    let sandbox = scene();
    let id = pattern(&sandbox);
    let complete = |line: &str| {
        let script = format!(
            "verify-run completions fish | source; complete --command packer --no-files --arguments 'alpha-target \
             beta-target'; complete --do-complete '{line}'"
        );
        let said = sandbox.bare("fish").args(["--no-config", "-c", &script]).prints();
        said.lines().map(|line| line.split('\t').next().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(complete("verify-run fix s"), ["show"]);
    assert_eq!(complete("verify-run check-diff --js"), ["--json"]);
    assert_eq!(complete(&format!("verify-run pattern show {}", &id[..4])), [id]);
    assert_eq!(complete("verify-run packer al"), ["alpha-target"]);
    assert_eq!(complete("verify-run --sync -- packer al"), ["alpha-target"]);
    assert!(complete("verify-run packe").contains(&"packer".to_owned()));
    assert_eq!(complete("verify-run doct"), ["doctor"]);
    assert_eq!(complete("verify-run memory recall --type=learn"), ["--type=learning"]);
}

#[test]
fn what_is_not_found_gets_a_hint_and_keeps_its_code() {
    let sandbox = scene();
    let outcome = sandbox.verify_run(["lessons"]).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(127));
    assert_eq!(
        outcome.stderr(),
        "verify-run: cannot run 'lessons': No such file or directory\nhint: run `verify-run lesson`\n"
    );
    let outcome = sandbox.verify_run(["no-such-thing"]).outcome();
    assert_eq!((outcome.ended, outcome.stderr().lines().count()), (CommandEnd::Exit(127), 1));
    sandbox.tool("lessons", "exit 3");
    sandbox.verify_run(["lessons"]).expect(CommandEnd::Exit(3), "", "");
}

#[test]
fn uninstall_names_the_lines_of_start_up_files() {
    let sandbox = scene();
    let rc = sandbox.home().join(".bashrc");
    std::fs::write(&rc, "# eval \"$(verify-run init bash)\"\n\neval \"$(verify-run init bash)\"\n").expect("written");
    let outcome = sandbox.verify_run(["uninstall"]).outcome();
    let line = format!("{}:3 loads verify-run when a shell starts: delete that line\n", rc.display());
    assert!(outcome.stderr().contains(&line), "{}", outcome.stderr());
    assert_eq!(outcome.stderr().matches("loads verify-run").count(), 1);
}
