//! Scripts with their checks recorded do what they do bare, whatever shell reads them, with verify-run and without.

use super::*;
use crate::sandbox::need;

/// Hooks as people write them. `npm`, `eslint` and `pytest` say how they were called.
const SCRIPTS: [&str; 24] = [
    "npm test",
    "npm test; echo $?",
    "npm test && eslint . || echo failed",
    "set -e\nnpm run lint\neslint .\necho not reached",
    "set -eu\nout=$(npm test 2>&1) || echo \"$out\"\n",
    "cd sub && npm test; cd ..; eslint .",
    "(cd sub; pytest -q) | cat; eslint a.js >out.txt; cat out.txt",
    "VALUE='a b' OTHER=$HOME eslint . | sed \"s,$HOME,H,\"",
    "if npm test; then echo yes; else echo no $?; fi",
    "if ! eslint .; then exit 9; fi",
    "for d in sub .; do (cd $d && pytest \"$d\") || echo \"$d: $?\"; done",
    "case $0 in *x*) npm test;; *) eslint .;; esac",
    "case $1 in\n  eslint|pytest) npm test ;;\n  *) eslint 'a  b' \"$@\"\nesac",
    "cat <<EOF\nnpm test\n$(echo in)\nEOF\neslint . <<'E'\nnpm test\nE\nnpm test",
    "check() { eslint \"$1\" && npm test; }\ncheck 'a  *'; echo $?",
    "npm() { echo mine; }\nnpm test; eslint .",
    "exec eslint . # the last one",
    "time=5; eslint --x=$time .; command npm test",
    "IFS=:\nset -- a:b\neslint $1 .; pytest $1",
    "npm test & wait $!; echo $?",
    "trap 'echo bye' EXIT\npytest -q\nexit 4",
    "{ npm test; eslint .; } 2>&1 | cat",
    "eslint \\\n  . \\\n  'x y'\nnpm \\\n test",
    "while read -r f; do eslint \"$f\" </dev/null; done <<E\na.js\nb c.js\nE\n",
];
/// Only of shells that know it.
const SCRIPTS_OF_BASH: [&str; 5] = [
    "set -euo pipefail\nIFS=$'\\n\\t'\nnpm test || echo $?\neslint . | cat",
    "[[ -d sub && a < b ]] && eslint .; npm test |& cat",
    "set -o pipefail; npm test | cat; echo $? ${PIPESTATUS[0]}",
    "files=(a 'b c'); eslint \"${files[@]}\"; (( 1 + 1 ))",
    "function f { pytest \"$@\"; }; f <(echo x) | sed 's,/dev/fd/[0-9]*,FD,'",
];

fn sandbox(has_verify_run: bool) -> Sandbox {
    let sandbox = repository(has_verify_run);
    for (name, code) in [("npm", 3), ("eslint", 0), ("pytest", 1)] {
        let says = "printf '[%s]' \"${0##*/}\" \"$@\" \"${VALUE-}\" \"${PWD##*/}\"; echo";
        sandbox.tool(name, &format!("{says}\necho oops >&2\nexit {code}"));
    }
    sandbox.write("sub/a", "");
    sandbox
}

#[test]
fn a_recorded_script_does_what_it_does_bare() {
    let shells = ["sh", "dash", "bash", "zsh"];
    let (with, without) = (sandbox(true), sandbox(false));
    let mut recorded = 0;
    for shell in shells {
        if need(shell).is_none() {
            continue;
        }
        let scripts = SCRIPTS.iter().chain(if shell == "bash" { &SCRIPTS_OF_BASH[..] } else { &[] });
        for script in scripts {
            write_hook(&with, ".git/hooks/pre-push", script);
            apply(&with, &HookSettings::default());
            let after = with.read(".git/hooks/pre-push");
            assert_eq!(after.replace(GUARD, ""), **script);
            recorded += after.matches(GUARD).count();
            let run = |sandbox: &Sandbox, text: &str| {
                let outcome = sandbox.bare(shell).args(["-c", text, "hook", "a b"]).outcome();
                (outcome.ended, outcome.stdout().to_owned(), outcome.stderr().to_owned())
            };
            let bare = run(&without, script);
            assert_eq!(run(&without, &after), bare, "{shell}, without verify-run: {after}");
            assert_eq!(run(&with, &after), bare, "{shell}, recorded: {after}");
            with.settle();
        }
    }
    assert!(recorded > 4 * 30, "{recorded}");
}
