//! What is in `hooks/git` and `.pre-commit-hooks.yaml` for people to copy.

use super::*;
use crate::sandbox::need;

/// A file of this repository.
fn own(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("a project file")
}

#[test]
fn each_example_is_what_installing_makes_of_the_bare_one() {
    let guard = "sh -c 'command -v verify-run >/dev/null && exec verify-run -- \"$@\"; exec \"$@\"' verify-run ";
    let examples = [
        ("hooks/git/lefthook.yml", "lefthook.yml"),
        ("hooks/git/husky", ".husky/pre-commit"),
        ("hooks/git/hk.pkl", "hk.pkl"),
        ("hooks/git/pre-commit-config.yaml", ".pre-commit-config.yaml"),
    ];
    for (example, name) in examples {
        let text = own(example);
        let sandbox = repository(false);
        let bare = text.replace(GUARD, "").replace(guard, "");
        assert_ne!(bare, text, "{example}");
        sandbox.write(name, &bare);
        assert_eq!(apply(&sandbox, &HookSettings::default()), [], "{example}");
        assert_eq!(sandbox.read(name), text, "{example}");
    }
}

#[test]
fn each_example_is_valid_for_its_manager() {
    let cases: [(&str, &str, &str, &[&str]); 4] = [
        ("lefthook", "hooks/git/lefthook.yml", "lefthook.yml", &["validate"]),
        ("hk", "hooks/git/hk.pkl", "hk.pkl", &["validate"]),
        ("pre-commit", "hooks/git/pre-commit-config.yaml", ".pre-commit-config.yaml", &["validate-config"]),
        ("pre-commit", ".pre-commit-hooks.yaml", ".pre-commit-hooks.yaml", &["validate-manifest"]),
    ];
    for (program, source, name, arguments) in cases {
        if need(program).is_none() {
            continue;
        }
        let sandbox = repository(false);
        sandbox.write(name, own(source));
        let outcome = sandbox.bare(program).args(arguments).outcome();
        assert_eq!(outcome.ended, CommandEnd::Exit(0), "{source}: {}{}", outcome.stdout(), outcome.stderr());
    }
}

#[test]
fn the_hooks_that_this_repository_offers_to_pre_commit_work() {
    if need("pre-commit").is_none() || need("ruff").is_none() {
        return;
    }
    let ours = repository(false);
    ours.write(".pre-commit-hooks.yaml", own(".pre-commit-hooks.yaml"));
    ours.commit("Hooks");
    let rev = ours.git(["rev-parse", "HEAD"]);
    let sandbox = repository(true);
    let config = format!(
        "repos:\n- repo: {}\n  rev: {}  hooks:\n    - {{ id: verify-run-system, args: [ruff, check], types: [python] }}\n",
        ours.work().display(),
        rev
    );
    sandbox.write(".pre-commit-config.yaml", config);
    let problems = apply(&sandbox, &HookSettings::default());
    assert_eq!(problems.len(), 1, "what other repositories run is not edited: {problems:?}");
    write_many(&sandbox);
    sandbox.bare("pre-commit").arg("install-hooks").prints();
    let run = || sandbox.bare("pre-commit").args(["run", "--all-files"]).outcome();
    let failed = run();
    assert_eq!(failed.ended, CommandEnd::Exit(1), "{}{}", failed.stdout(), failed.stderr());
    assert_eq!(runs(&sandbox).len(), 1, "one run, however many files: {:?}", runs(&sandbox));
    uninstall(&sandbox);
    let bare = run();
    assert_eq!((bare.ended, bare.stdout()), (failed.ended, failed.stdout()));
}

fn write_many(sandbox: &Sandbox) {
    (0..24).for_each(|n| drop(sandbox.write(format!("f{n:02}.py"), WRONG)));
    sandbox.git(["add", "--all"]);
}
