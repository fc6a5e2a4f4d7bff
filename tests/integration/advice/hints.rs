//! The hint at the failure itself.

use verify_run::run::CommandEnd;

use super::{UNDEFINED, fail, linter};
use crate::sandbox::{Invocation, Outcome, Sandbox};

/// A linter that failed in one task, with time enough for a hint on a busy machine.
fn known() -> Sandbox {
    let sandbox = linter();
    sandbox.write("verify-run.toml", "[advice]\nhint_ms = 60000\n");
    fail(&sandbox, "A", "web/a.js", UNDEFINED);
    sandbox
}

fn again<'a>(sandbox: &'a Sandbox, options: &[&'a str]) -> Invocation<'a> {
    let arguments = options.iter().copied().chain(["--task", "B", "eslint", "."]);
    sandbox.verify_run(arguments).env("FILE", sandbox.path("web/a.js")).env("MESSAGE", UNDEFINED)
}

/// What the linter printed itself, and its code.
#[track_caller]
fn is_untouched(outcome: &Outcome, sandbox: &Sandbox) {
    let file = sandbox.path("web/a.js");
    let wanted = format!("\n{}\n  1:1  error  {UNDEFINED}\n\n✖ 1 problem (1 error)\n", file.display());
    assert_eq!((outcome.ended, outcome.stdout()), (CommandEnd::Exit(1), wanted.as_str()));
}

#[test]
fn a_hint_says_on_standard_error_how_often_it_was_seen_and_is_off_by_default() {
    let sandbox = known();
    let off = again(&sandbox, &[]).outcome();
    is_untouched(&off, &sandbox);
    assert_eq!(off.stderr(), "");
    sandbox.settle();
    for on in [again(&sandbox, &["--hint", "stderr"]), again(&sandbox, &[]).env("VERIFY_RUN_HINT", "stderr")] {
        let outcome = on.outcome();
        is_untouched(&outcome, &sandbox);
        let hint = outcome.stderr();
        assert!(hint.starts_with("verify-run: seen before: 'x' is not defined (eslint no-undef), "), "{hint}");
        assert!(hint.contains(" in 2 tasks [p-") && hint.lines().count() == 1, "{hint}");
        sandbox.settle();
    }
    let option_wins = again(&sandbox, &["--hint=off"]).env("VERIFY_RUN_HINT", "stderr").outcome();
    assert_eq!(option_wins.stderr(), "");
}

#[test]
fn a_hint_names_what_fixed_it() {
    let sandbox = known();
    sandbox.write("web/a.js", "import x from 'x'\n");
    sandbox.write("verify-run.toml", "[advice]\nhint_ms = 60000\n[snapshot]\nenabled = true\n");
    sandbox.commit("All of it");
    fail(&sandbox, "A", "web/a.js", UNDEFINED);
    sandbox.write("web/a.js", "import x from 'x'\n");
    let pass = sandbox.verify_run(["--sync", "--task", "A", "eslint", "."]).env("FILE", "").env("MESSAGE", "");
    assert_eq!(pass.outcome().ended, CommandEnd::Exit(0));
    sandbox.write("web/a.js", "x");
    let outcome = again(&sandbox, &["--hint", "stderr"]).outcome();
    is_untouched(&outcome, &sandbox);
    let hint = outcome.stderr();
    assert!(hint.contains("; fixed by ") && hint.contains("import x from 'x'"), "{hint}");
    assert!(hint.contains("(1 of 1 times, unconfirmed) [p-"), "{hint}");
}

#[test]
fn a_hint_is_silent_where_there_is_nothing_to_say_or_nobody_to_say_it_to() {
    let sandbox = known();
    let hint = ["--hint", "stderr"];
    let new = again(&sandbox, &hint).env("MESSAGE", "Something else entirely  no-else").outcome();
    assert_eq!((new.ended, new.stderr()), (CommandEnd::Exit(1), ""), "never seen before");
    let passing = again(&sandbox, &hint).env("MESSAGE", "").outcome();
    assert_eq!((passing.ended, passing.stderr()), (CommandEnd::Exit(0), ""));
    let off = again(&sandbox, &hint).env("ENABLE_QA_WARNINGS", "0").outcome();
    is_untouched(&off, &sandbox);
    assert_eq!(off.stderr(), "");
    let closed = again(&sandbox, &hint).closed_fd(2).outcome();
    is_untouched(&closed, &sandbox);
    sandbox.settle();
    // Too late is never.
    sandbox.write("verify-run.toml", "[advice]\nhint_ms = 1\n");
    let late = again(&sandbox, &hint).outcome();
    is_untouched(&late, &sandbox);
    assert_eq!(late.stderr(), "");
    // Nothing was recorded here yet.
    let fresh = linter();
    fresh.write("web/a.js", "x");
    assert_eq!(again(&fresh, &hint).outcome().stderr(), "");
}
