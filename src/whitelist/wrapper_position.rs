//! Where the wrapper may be inserted into a shell line without changing the rest or its meaning.

use super::program::base_name;
use super::recognise::{CheckSearch, change_of_directory};
use super::resolution::Resolution;
use super::{Check, Whitelist};
use crate::command::{LineStep, ShellLine, SimpleCommand};

/// A longer line is left alone, bytes.
const LINE_BYTES_MAX: usize = 64 * 1024;
/// What the shell itself does with the command behind it: the wrapper is a program and comes after.
const BEFORE_A_COMMAND: [&str; 5] = ["time", "command", "exec", "noglob", "nocorrect"];
/// With these in a line its text is looked at (`set -x`, `jobs`), or a name may mean something else than a program.
const TELLING: [&str; 12] =
    ["eval", "trap", "jobs", "fg", "bg", "alias", "unalias", "shopt", "enable", "hash", "history", "builtin"];
/// What may bring programs that weren't there before.
const PREPARING: [&str; 12] =
    ["source", ".", "export", "nvm", "fnm", "mise", "conda", "micromamba", "asdf", "rbenv", "pyenv", "workon"];

/// A place for the wrapper in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrapperPosition {
    /// Byte offset in the line, where the command's first word starts.
    pub at: usize,
    /// The command's words from there on, quotes removed.
    pub words: Vec<String>,
    /// The folder that it runs in, seen from the line's, as far as the line says.
    pub dir: Option<String>,
    /// What it checks.
    pub check: Check,
    /// Something before it in the line may have brought its program.
    pub prepared: bool,
}

impl Whitelist {
    /// The places in a line where the wrapper may be, in the line's order: right before each simple command that is a
    /// check. None where anything in the line leaves a doubt: where it can't be parsed without running it, where it has a loop, where the
    /// wrapper is already there, where the shell is asked to print what it runs, or where `PATH` is replaced.
    pub fn wrapper_positions(&self, line: &str) -> Vec<WrapperPosition> {
        if line.len() > LINE_BYTES_MAX {
            return Vec::new();
        }
        let Some(parsed) = ShellLine::parse(line).ok().filter(|parsed| !parsed.has_loop) else { return Vec::new() };
        let mut trails = vec![Resolution::default()];
        let (mut found, mut prepared) = (Vec::new(), false);
        for step in &parsed.steps {
            let Some(here) = trails.last_mut() else { break };
            match step {
                LineStep::Open => {
                    let inner = here.clone();
                    trails.push(inner);
                }
                LineStep::Close => drop(trails.pop()),
                LineStep::Run(simple) => {
                    let words: Vec<&[u8]> = simple.words.iter().map(String::as_bytes).collect();
                    match command_effect(simple) {
                        CommandEffect::Doubt => return Vec::new(),
                        CommandEffect::Prepares => prepared = true,
                        CommandEffect::None => {}
                    }
                    if let Some(dir) = change_of_directory(&words) {
                        here.enter_directory(dir);
                    } else if let Some((start, check)) = self.find_wrapped_check(simple, &words, here) {
                        found.push(WrapperPosition {
                            at: simple.starts[start],
                            words: simple.words[start..].to_vec(),
                            dir: here.dir.clone(),
                            check,
                            prepared,
                        });
                    }
                }
            }
        }
        found
    }

    /// The check that a simple command is, and at which word its program is named.
    fn find_wrapped_check(
        &self,
        simple: &SimpleCommand,
        words: &[&[u8]],
        trail: &Resolution,
    ) -> Option<(usize, Check)> {
        let start = simple.words.iter().position(|word| !BEFORE_A_COMMAND.contains(&word.as_str()))?;
        // An option of what precedes it (`command -v npm`, `time -p make test`), or a name that isn't known yet.
        if simple.words[start].starts_with(['-', '$', '~', '*', '?', '[', '{', '%']) {
            return None;
        }
        let mut search = CheckSearch::new(self);
        let check = search.find_in_command(&words[start..], trail)?;
        // A watcher doesn't end with the check, and its exit code is no verdict.
        if search.has_own_status {
            return None;
        }
        let alone = !search.beside && !check.elsewhere && simple.assignments.is_empty();
        Some((start, Check { alone, ..check }))
    }
}

/// What a simple command does to those after it.
enum CommandEffect {
    None,
    Prepares,
    Doubt,
}

fn command_effect(simple: &SimpleCommand) -> CommandEffect {
    let named = simple.words.first().map_or("", String::as_str);
    // `$(NAME)` is a variable to make, and a command to a shell.
    let is_substituted = named.starts_with("$(");
    let is_wrapped = simple.words.iter().any(|word| base_name(word.as_bytes()) == b"verify-run");
    let disabled = |text: &String| text.starts_with("VERIFY_RUN_DISABLE=");
    let texts = || simple.assignments.iter().chain(&simple.words);
    if is_substituted || is_wrapped || TELLING.contains(&named) || is_tracing(simple) || texts().any(disabled) {
        return CommandEffect::Doubt;
    }
    let path = texts().filter_map(|text| text.strip_prefix("PATH="));
    let mut extends = false;
    for value in path {
        if !(value.contains("$PATH") || value.contains("${PATH}")) {
            return CommandEffect::Doubt;
        }
        extends = true;
    }
    // Substitutions before a name are run by the shell, in the order in which it always runs them, but what they are is
    // not looked into.
    if simple.assignments.iter().any(|text| text.contains("$(") || text.contains('`')) && !simple.words.is_empty() {
        return CommandEffect::Doubt;
    }
    if extends || PREPARING.contains(&named) { CommandEffect::Prepares } else { CommandEffect::None }
}

/// `set -x`, `set -o verbose`: the shell prints the line, or parts of it.
fn is_tracing(simple: &SimpleCommand) -> bool {
    let short = |word: &str| word.starts_with('-') && !word.starts_with("--") && word.contains(['x', 'v']);
    let long = |word: &str| matches!(word, "xtrace" | "verbose");
    simple.words.first().is_some_and(|word| word == "set")
        && simple.words[1..].iter().any(|word| short(word) || long(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(line: &str) -> String {
        let mut text = line.to_owned();
        for opening in Whitelist::shipped_only().wrapper_positions(line).iter().rev() {
            text.insert_str(opening.at, "W ");
        }
        text
    }

    #[test]
    fn it_stands_right_before_each_check_and_nothing_else_moves() {
        let cases = [
            ("npm test", "W npm test"),
            ("cd web && npm test 2>&1 | tail -40", "cd web && W npm test 2>&1 | tail -40"),
            ("FOO=1 npx -y eslint . || true", "FOO=1 W npx -y eslint . || true"),
            ("npm test; echo $?", "W npm test; echo $?"),
            ("eslint . && tsc --noEmit && vitest run", "W eslint . && W tsc --noEmit && W vitest run"),
            ("(cd a; 'npm' test) # b", "(cd a; W 'npm' test) # b"),
            (">out 2>&1 time npm test", ">out 2>&1 time W npm test"),
            ("exec npm test", "exec W npm test"),
            ("npm test \"$(git rev-parse HEAD)\" &", "W npm test \"$(git rev-parse HEAD)\" &"),
            ("! npm test", "! W npm test"),
            ("export PATH=\"$HOME/bin:$PATH\"\ncargo test", "export PATH=\"$HOME/bin:$PATH\"\nW cargo test"),
            ("timeout 60 pytest -q", "W timeout 60 pytest -q"),
        ];
        for (line, expected) in cases {
            assert_eq!(wrapped(line), expected);
        }
    }

    #[test]
    fn in_doubt_nothing_is_touched() {
        let lines = [
            "ls && git status",
            "verify-run npm test",
            "/usr/bin/verify-run -- npm test && tsc --noEmit",
            "VERIFY_RUN_DISABLE=1 npm test",
            "set -x; npm test",
            "set -euxo pipefail; npm test",
            "set -o xtrace; npm test",
            "trap 'echo $BASH_COMMAND' DEBUG; npm test",
            "npm test & jobs",
            "PATH=/opt/bin npm test",
            "PATH=/opt/bin; npm test",
            "A=$(id) npm test",
            "npm() { :; }; npm test",
            "eval 'PATH=/opt/bin' && npm test",
            "x=$(npm test)",
            "watchexec -- npm test",
            "cargo watch -x test",
            "git rebase -x 'npm test' main",
            "test -z \"$(gofmt -l .)\"",
            "for i in 1 2; do npm test; done",
            "npm test <<EOF\nx\nEOF",
            "eval npm test",
            "command -v npm test",
            "$RUN npm test",
            "$PYTHON -m pytest",
            "{envpython} -m pytest",
            "$(MAKE) test; npm test",
            "npm test 'unfinished",
            "alias npm=pnpm; npm test",
        ];
        for line in lines {
            assert_eq!(wrapped(line), line);
        }
    }

    #[test]
    fn what_may_bring_a_program_is_noticed() {
        let prepared = |line: &str| Whitelist::shipped_only().wrapper_positions(line)[0].prepared;
        assert!(prepared(". .venv/bin/activate && pytest"));
        assert!(prepared("nvm use 22 && npm test"));
        assert!(!prepared("cd web && npm test"));
        assert!(!prepared("npm test && . x"));
    }
}
