//! Interactive shells, on a terminal: others change PATH, and before the next command the shims are in front again.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;

use verify_run::run::CommandEnd;

use super::super::{folder, recorded, script};
use super::home;
use crate::sandbox::{Sandbox, VERIFY_RUN, need, skip, tools};
use crate::terminal::Terminal;

const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

/// A user at a shell.
struct Person<'a> {
    sandbox: &'a Sandbox,
    terminal: Option<Terminal>,
    lines: usize,
    /// Checks that were run.
    checks: usize,
}

impl<'a> Person<'a> {
    /// Sits down at a shell that reads its own files.
    fn at(sandbox: &'a Sandbox, shell: &str) -> Option<Self> {
        let invocation = sandbox.bare(need(shell)?).arg("-i").env("MISE_OFFLINE", "1");
        let mut person = Person { sandbox, terminal: Some(Terminal::start(invocation)), lines: 0, checks: 0 };
        person.says("true", "");
        Some(person)
    }

    /// Types a line, and waits until the shell has printed `wanted` and then is done with it.
    #[track_caller]
    fn says(&mut self, line: &str, wanted: &str) {
        self.lines += 1;
        self.types(&format!("{line}\n"));
        if !wanted.is_empty() {
            self.sees(wanted);
        }
        // What is typed is on the screen, too: only the shell takes this together.
        self.types(&format!("echo do\"ne-{}-\"it\n", self.lines));
        self.sees(&format!("done-{}-it", self.lines));
    }

    #[track_caller]
    fn types(&mut self, text: &str) {
        self.terminal.as_mut().expect("a terminal").types(text);
    }

    #[track_caller]
    fn sees(&self, text: &str) {
        self.terminal.as_ref().expect("a terminal").shows(text);
    }

    /// A check is what the shim makes of it, and prints `output`.
    #[track_caller]
    fn checks(&mut self, output: &str) {
        self.checks += 1;
        let shim = folder(self.sandbox).join("eslint").display().to_string();
        self.says("command -v eslint", &format!("{shim}\r\n"));
        self.says(&format!("eslint run-{}", self.checks), output);
    }

    /// Ends the shell. What was on the screen; what had to be recorded was.
    #[track_caller]
    fn leaves(mut self) -> String {
        self.types("exit 0\n");
        let (ended, bytes) = self.terminal.take().expect("a terminal").ends();
        let screen = String::from_utf8_lossy(&bytes).into_owned();
        assert_eq!(ended, CommandEnd::Exit(0), "{screen}");
        let wanted: Vec<String> = (1..=self.checks).map(|number| format!("eslint run-{number}")).collect();
        assert_eq!(recorded(self.sandbox), wanted, "{screen}");
        screen
    }
}

impl Drop for Person<'_> {
    fn drop(&mut self) {
        if let Some(terminal) = self.terminal.as_ref().filter(|_| std::thread::panicking()) {
            let _ = std::io::stderr().write_all(format!("the screen:\n{}\n", terminal.screen()).as_bytes());
        }
    }
}

/// Adds lines to the file that an interactive shell reads, before our own line or after it.
fn configure(sandbox: &Sandbox, shell: &str, before: &str, after: &str) {
    let name = match shell {
        "fish" => ".config/fish/config.fish",
        "zsh" => ".zshrc",
        _ => ".bashrc",
    };
    let file = sandbox.home().join(name);
    let own = fs::read_to_string(&file).expect("the start-up file");
    fs::write(&file, format!("{before}\n{own}\n{after}\n")).expect("the start-up file");
}

#[test]
fn a_virtual_environment_comes_behind_the_shims() {
    let Some(python) = need("python3") else { return };
    for shell in SHELLS {
        let sandbox = home();
        let venv = sandbox.bare(&python).args(["-m", "venv", "--without-pip", "venv"]).outcome();
        assert_eq!(venv.ended, CommandEnd::Exit(0), "{}", venv.stderr());
        script(&sandbox.path("venv/bin/eslint"), "#!/bin/sh\necho \"of the environment\"; exit 3\n");
        let Some(mut person) = Person::at(&sandbox, shell) else { continue };
        person.checks("linted");
        let file = if shell == "fish" { "venv/bin/activate.fish" } else { "venv/bin/activate" };
        person.says(&format!(". {file}"), "");
        person.checks("of the environment");
        person.says("echo at: $VIRTUAL_ENV", &format!("at: {}", sandbox.path("venv").display()));
        person.says("deactivate", "");
        person.checks("linted");
        person.leaves();
    }
}

#[test]
fn direnv_comes_behind_the_shims() {
    let Some(direnv) = need("direnv") else { return };
    for shell in SHELLS {
        for first in [true, false] {
            let sandbox = home();
            let hook = match shell {
                "fish" => format!("{} hook fish | source", direnv.display()),
                _ => format!("eval \"$({} hook {shell})\"", direnv.display()),
            };
            if first {
                configure(&sandbox, shell, &hook, "")
            } else {
                configure(&sandbox, shell, "", &hook)
            }
            sandbox.write("inner/.envrc", "PATH_add own\nexport INSIDE=yes\n");
            script(&sandbox.path("inner/own/eslint"), "#!/bin/sh\necho \"of the folder\"; exit 3\n");
            let allowed = sandbox.bare(&direnv).args(["allow", "inner"]).outcome();
            assert_eq!(allowed.ended, CommandEnd::Exit(0), "{}", allowed.stderr());
            let Some(mut person) = Person::at(&sandbox, shell) else { continue };
            person.checks("linted");
            person.says("cd inner", "");
            person.says("echo inside: $INSIDE", "inside: yes");
            person.checks("of the folder");
            person.says("cd ..", "");
            person.checks("linted");
            person.leaves();
        }
    }
}

#[test]
fn mise_comes_behind_the_shims() {
    let Some(mise) = need("mise") else { return };
    // It puts its own folder on PATH, which has to be one without other programs.
    let mise = fs::canonicalize(mise).expect("the program itself");
    for shell in SHELLS {
        for first in [true, false] {
            let sandbox = home();
            let activate = match shell {
                "fish" => format!("{} activate fish | source", mise.display()),
                _ => format!("eval \"$({} activate {shell})\"", mise.display()),
            };
            if first {
                configure(&sandbox, shell, &activate, "")
            } else {
                configure(&sandbox, shell, "", &activate)
            }
            sandbox.write("inner/mise.toml", "[env]\nINSIDE = \"yes\"\n_.path = [\"own\"]\n");
            script(&sandbox.path("inner/own/eslint"), "#!/bin/sh\necho \"of the folder\"; exit 3\n");
            let trusted = sandbox.bare(&mise).args(["trust", "inner/mise.toml"]).env("MISE_OFFLINE", "1").outcome();
            assert_eq!(trusted.ended, CommandEnd::Exit(0), "{}", trusted.stderr());
            let Some(mut person) = Person::at(&sandbox, shell) else { continue };
            person.checks("linted");
            person.says("cd inner", "");
            person.says("echo inside: $INSIDE", "inside: yes");
            person.checks("of the folder");
            person.says("cd ..", "");
            person.checks("linted");
            person.leaves();
        }
    }
}

#[test]
fn starship_and_we_leave_each_other_alone() {
    let Some(starship) = need("starship") else { return };
    for shell in SHELLS {
        for first in [true, false] {
            let sandbox = home();
            let init = match shell {
                "fish" => format!("{} init fish | source", starship.display()),
                _ => format!("eval \"$({} init {shell})\"", starship.display()),
            };
            if first {
                configure(&sandbox, shell, &init, "")
            } else {
                configure(&sandbox, shell, "", &init)
            }
            // A prompt of one character, which says how the last command ended.
            let prompt = "add_newline = false\nformat = \"$status$character\"\n[status]\ndisabled = false\n\
                          format = \"<ended $status>\"\n[character]\nformat = \"ready \"\n";
            fs::write(sandbox.home().join(".config/starship.toml"), prompt).expect("its configuration");
            let Some(mut person) = Person::at(&sandbox, shell) else { continue };
            person.says("sh -c 'exit 9'", "<ended 9>");
            let more = if shell == "fish" { "set -gx PATH /nowhere $PATH" } else { "PATH=/nowhere:$PATH" };
            person.says(more, "");
            person.checks("linted");
            person.sees("<ended 3>");
            person.leaves();
        }
    }
}

#[test]
fn what_others_have_put_before_the_prompt_of_bash_stays() {
    let cases = [
        ("PROMPT_COMMAND='seen=$?; '", ""),
        ("PROMPT_COMMAND='seen=$? # the status'", ""),
        ("PROMPT_COMMAND=(': first' 'seen=$?')", ""),
        ("note() { seen=$?; }; PROMPT_COMMAND=note", ""),
        // Whoever comes later, before us or after us.
        ("", "PROMPT_COMMAND='seen=$?;'${PROMPT_COMMAND}"),
        ("", "PROMPT_COMMAND=${PROMPT_COMMAND}';seen=$?'"),
        ("trap 'traps=$((traps + 1))' DEBUG; PROMPT_COMMAND='seen=$?'", ""),
    ];
    for (before, after) in cases {
        let sandbox = home();
        configure(&sandbox, "bash", before, after);
        let Some(mut person) = Person::at(&sandbox, "bash") else { return };
        person.says("sh -c 'exit 9'; false; (exit 7)", "");
        // (`says` has typed an echo since, which ended well.)
        person.types("(exit 7)\n");
        person.says("echo \"seen: $seen\"", "seen: 7");
        person.types("(exit 6)\n");
        person.says("echo \"status: $?\"", "status: 6");
        if before.contains("trap") {
            // Its own command is the last one, with us and without.
            person.says("trap -p DEBUG", "trap -- 'traps=$((traps + 1))' DEBUG");
        } else {
            person.types("true one two\n");
            person.says("echo \"last: $_\"", "last: two");
        }
        person.says("PATH=/nowhere:$PATH", "");
        person.checks("linted");
        person.leaves();
    }
}

#[test]
fn statuses_and_last_words_stay_what_they_were() {
    for shell in SHELLS {
        let sandbox = home();
        let Some(mut person) = Person::at(&sandbox, shell) else { continue };
        // Whether PATH has to be put right or not.
        for change in ["true", if shell == "fish" { "set -gx PATH /nowhere $PATH" } else { "PATH=/nowhere:$PATH" }] {
            person.types(&format!("{change}; sh -c 'exit 6'\n"));
            person.says(if shell == "fish" { "echo status: $status" } else { "echo status: $?" }, "status: 6");
            if shell != "fish" {
                person.types(&format!("{change}; true one {change:.2}two\n"));
                person.says("echo \"last: $_\"", &format!("last: {change:.2}two"));
            }
        }
        person.checks("linted");
        person.leaves();
    }
}

#[test]
fn strict_shells_live_on() {
    for (shell, strict) in [("bash", "set -eu; set -o pipefail"), ("zsh", "setopt err_exit no_unset")] {
        for early in [true, false] {
            let sandbox = home();
            if early {
                configure(&sandbox, shell, strict, "");
            }
            let Some(mut person) = Person::at(&sandbox, shell) else { continue };
            if !early {
                person.says(strict, "");
            }
            person.says("PATH=/nowhere:$PATH", "");
            // A failure that ends no strict shell.
            person.types("! true\n");
            person.says("echo still here | tr a-z A-Z", "STILL HERE");
            person.says("command -v eslint", &format!("{}\r\n", folder(&sandbox).join("eslint").display()));
            person.leaves();
        }
    }
}

#[test]
fn reading_our_line_again_changes_nothing() {
    for shell in SHELLS {
        let sandbox = home();
        let init = match shell {
            "fish" => format!("{VERIFY_RUN} init fish | source"),
            _ => format!("eval \"$({VERIFY_RUN} init {shell})\""),
        };
        configure(&sandbox, shell, "", &init);
        let Some(mut person) = Person::at(&sandbox, shell) else { continue };
        person.says(&init, "");
        person.says("PATH=/nowhere:$PATH true", "");
        let count = match shell {
            "bash" => "echo \"hooks: $(printf '%s\\n' \"${PROMPT_COMMAND[@]}\" | grep -c __verify_run_front)\"",
            "zsh" => "echo \"hooks: $(print -l $precmd_functions | grep -c __verify_run_front)\"",
            _ => "echo \"hooks: \"(functions --handlers | grep -c 'fish_prompt.*__verify_run_front')",
        };
        person.says(count, "hooks: 1");
        let count = match shell {
            "fish" => "echo \"places: \"(string match -r 'verify-run/shims$' $PATH | count)",
            _ => "echo \"places: $(echo \"$PATH\" | tr : '\\n' | grep -c 'verify-run/shims$')\"",
        };
        person.says(count, "places: 1");
        person.checks("linted");
        let screen = person.leaves();
        assert!(!screen.contains("__verify_run_front:"), "{screen}");
    }
}

#[test]
fn bash_preexec_goes_on_working() {
    let own = tools().join("bash-preexec.sh");
    let place = [own.as_path(), std::path::Path::new("/usr/share/bash-preexec/bash-preexec.sh")];
    let Some(file) = place.into_iter().find(|file| file.is_file()) else { return skip("bash-preexec is missing") };
    for first in [true, false] {
        let sandbox = home();
        let hooks = "started() { begun=$1; }; ended() { seen=$?; }\n\
                     preexec_functions+=(started); precmd_functions+=(ended)";
        let load = format!("source {}\n{hooks}", file.display());
        if first {
            configure(&sandbox, "bash", &load, "")
        } else {
            configure(&sandbox, "bash", "", &load)
        }
        let Some(mut person) = Person::at(&sandbox, "bash") else { return };
        person.types("(exit 7)\n");
        person.says("echo \"seen: $seen, begun: $begun\"", "seen: 7, begun: echo \"seen");
        person.types("true one two\n");
        person.says("echo \"last: $_\"", "last: two");
        person.says("PATH=/nowhere:$PATH", "");
        person.checks("linted");
        // A failure doesn't keep the next command from running where hooks may do that.
        person.says("shopt -s extdebug; (exit 5)", "");
        person.types("(exit 5)\n");
        person.says("echo \"status: $?\"", "status: 5");
        person.leaves();
    }
}

#[test]
fn words_are_completed() {
    for shell in SHELLS {
        let sandbox = home();
        symlink(VERIFY_RUN, sandbox.home().parent().expect("the sandbox").join("bin/verify-run")).expect("a link");
        if shell == "zsh" {
            configure(&sandbox, shell, "", "autoload -Uz compinit && compinit -u -D");
        }
        let Some(mut person) = Person::at(&sandbox, shell) else { continue };
        for _ in 0..2 {
            // The answer ends the word, so what follows is the next one.
            person.types("verify-run comple\t");
            person.sees("completions");
            person.types("--help\n");
            person.says("", "Print a completion script for a shell");
        }
        person.leaves();
    }
}

#[test]
fn a_prompt_starts_no_process() {
    let Some(strace) = need("strace") else { return };
    for shell in SHELLS {
        let Some(program) = need(shell) else { continue };
        let sandbox = home();
        let started = |times: usize| {
            let init = sandbox.verify_run(["init", shell]).prints();
            let again = match shell {
                "fish" => format!("for i in (seq {times}); set -gx PATH /nowhere $PATH; __verify_run_front; end"),
                _ => format!("for i in {{1..{times}}}; do PATH=/nowhere:$PATH; __verify_run_front; done"),
            };
            let file = sandbox.write("script", format!("{init}\n{again}\n"));
            let log = sandbox.tmp().join("calls");
            let traced = sandbox.bare(&strace).args(["-f", "-qq", "-e", "trace=clone,clone3,fork,vfork", "-o"]);
            let outcome = traced.arg(&log).arg(&program).arg(file).outcome();
            assert_eq!((outcome.ended, outcome.stderr()), (CommandEnd::Exit(0), ""));
            fs::read_to_string(log).expect("the calls").lines().filter(|line| !line.contains("resumed")).count()
        };
        // `seq` is one of fish's.
        assert_eq!(started(20), started(2), "{shell}");
    }
}
