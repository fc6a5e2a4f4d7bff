use std::os::unix::fs::{PermissionsExt, symlink};

use proptest::prelude::*;

use super::*;
use crate::command::{LineStep, ShellLine};

/// A repository's root with these files.
fn site(files: &[(&str, &str)]) -> (tempfile::TempDir, InstallSite) {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir_all(folder.path().join(".git/hooks")).expect("a folder");
    for name in ["objects", "refs"] {
        fs::create_dir_all(folder.path().join(".git").join(name)).expect("a folder");
    }
    fs::write(folder.path().join(".git/HEAD"), "ref: refs/heads/main\n").expect("a file");
    for (name, text) in files {
        let file = folder.path().join(name);
        fs::create_dir_all(file.parent().expect("a parent")).expect("a folder");
        fs::write(&file, text).expect("a file");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("a mode");
    }
    let root = folder.path().to_owned();
    let git_hooks = Some(root.join(".git/hooks"));
    (folder, InstallSite { root, home: None, git_hooks, program: "verify-run".into() })
}

fn planned(site: &InstallSite, hooks: &HookSettings) -> PlannedHost {
    plan(site, &Whitelist::shipped_only(), hooks)
}

/// What the plan makes of each file, by its path below the root.
fn after(site: &InstallSite, planned: &PlannedHost) -> Vec<(String, String)> {
    let path = |change: &ConfigFileChange| change.path.strip_prefix(&site.root).expect("below").display().to_string();
    let text = |change: &ConfigFileChange| String::from_utf8(change.after.clone()).expect("UTF-8");
    planned.changes.iter().map(|change| (path(change), text(change))).collect()
}

/// Writes what is planned; nothing is planned after that.
#[track_caller]
fn apply(site: &InstallSite, hooks: &HookSettings) -> Vec<Problem> {
    let first = planned(site, hooks);
    for change in &first.changes {
        assert_eq!(change.before, fs::read(&change.path).ok(), "{}", change.path.display());
        fs::write(&change.path, &change.after).expect("a file");
    }
    let again = after(site, &planned(site, hooks));
    assert!(again.is_empty(), "planned twice: {again:?}");
    first.problems
}

fn marked(script: &str) -> Option<String> {
    let whitelist = Whitelist::shipped_only();
    let places = script::commands(script, &|text| whitelist.decide_line(text).into_check().is_some())?;
    Some(plain::with(script, &places, "@"))
}

#[test]
fn the_checks_of_a_script_are_found_where_they_begin() {
    let cases = [
        ("npm test", "@npm test"),
        ("#!/bin/sh\nset -e\n# npm test\n\tnpm test # all\n", "#!/bin/sh\nset -e\n# npm test\n\t@npm test # all\n"),
        ("cd web && CI=1 npm test 2>&1 | tail -5; echo $?", "cd web && CI=1 @npm test 2>&1 | tail -5; echo $?"),
        ("if ! npm test; then exit 1; fi", "if ! @npm test; then exit 1; fi"),
        ("npm run lint && npm test || exit 1", "@npm run lint && @npm test || exit 1"),
        ("(cd a; npm test) & { eslint .; }", "(cd a; @npm test) & { @eslint .; }"),
        ("exec npm test \\\n  -- --ci\neslint .", "exec @npm test \\\n  -- --ci\n@eslint ."),
        ("for f in a b; do eslint \"$f\"; done", "for f in a b; do @eslint \"$f\"; done"),
        (
            "case $1 in\n  eslint|pytest) npm test;;\n  (*) pytest\nesac\nruff check",
            "case $1 in\n  eslint|pytest) @npm test;;\n  (*) @pytest\nesac\n@ruff check",
        ),
        ("cat <<EOF\nnpm test\nEOF\nnpm test\n", "cat <<EOF\nnpm test\nEOF\n@npm test\n"),
        (
            "cat <<-'A B' <<C\nnpm test\n\tA B\npytest\nC\npytest",
            "cat <<-'A B' <<C\nnpm test\n\tA B\npytest\nC\n@pytest",
        ),
        (
            "echo 'npm test\nnpm test' \"\n$(npm test \")\")\nnpm test\"\nnpm test",
            "echo 'npm test\nnpm test' \"\n$(npm test \")\")\nnpm test\"\n@npm test",
        ),
        (
            "out=$(npm test) x=`npm test`\nnpm test >\"$out\" 2>/dev/null",
            "out=$(npm test) x=`npm test`\n@npm test >\"$out\" 2>/dev/null",
        ),
        ("[[ -f a && b < c ]] && npm test", "[[ -f a && b < c ]] && @npm test"),
        (
            "test -n \"$CI\" || npx eslint $(git diff --name-only)",
            "test -n \"$CI\" || @npx eslint $(git diff --name-only)",
        ),
        ("IFS=$'\\n\\t'\nIFS=, read -r a b\nnpm test", "IFS=$'\\n\\t'\nIFS=, read -r a b\n@npm test"),
        ("x() { npm test; }\nx", "x() { @npm test; }\nx"),
        ("while read -r l; do :; done < f\nnpm test <&3", "while read -r l; do :; done < f\n@npm test <&3"),
        ("a[0]=x npm test", "a[0]=x @npm test"),
        ("2>&1 npm test\n>log pytest", "2>&1 @npm test\n>log @pytest"),
        ("echo $((1 + (2))) ${x#a} ${y:-'}'}; npm test", "echo $((1 + (2))) ${x#a} ${y:-'}'}; @npm test"),
    ];
    for (script, expected) in cases {
        assert_eq!(marked(script).as_deref(), Some(expected), "{script}");
    }
}

/// Lines of commands, with the places of their programs.
fn lines_of_commands() -> impl Strategy<Value = (String, Vec<usize>)> {
    let before = vec!["", "A=1 ", "A='x y' B=$(c; d) ", ">log ", "2>&1 "];
    let words = vec![
        "x",
        "'; npm'",
        "\"$(a \")\" | b)\"",
        "${x:-'}'}",
        "$(c })",
        "a\\ b",
        "é",
        "`f;g`",
        "$'k\\'l'",
        "2",
        "\\\n",
        "x#y",
    ];
    let redirections = vec!["", "", " >f", " 2>&1", " <<<'a b'", " &>$x"];
    let command = (
        prop::sample::select(before),
        prop::collection::vec(prop::sample::select(words), 0..4),
        prop::sample::select(redirections),
        prop::sample::select(vec![" && ", "||", "; ", " | ", "\n", " & ", "\n# it's\n"]),
        prop::sample::select(vec![("", ""), ("", ""), ("(", ")"), ("{ ", "; }"), ("! ", "")]),
    );
    prop::collection::vec(command, 1..5).prop_map(|commands| {
        let (mut line, mut places) = (String::new(), Vec::new());
        for (at, (before, words, redirection, join, (open, close))) in commands.into_iter().enumerate() {
            line.push_str(open);
            line.push_str(before);
            places.push(line.len());
            line.push_str(&format!("program{at} {}{redirection}{close}{join}", words.join(" ")));
        }
        line.push_str("end");
        places.push(line.len() - "end".len());
        (line, places)
    })
}

proptest! {
    /// A line is distinguished alike when it is recognised and when a script with it is edited.
    #[test]
    fn a_line_and_a_script_have_their_programs_in_the_same_places((text, places) in lines_of_commands()) {
        let line = ShellLine::parse(&text).expect("a line");
        let starts = line.steps.iter().filter_map(|step| match step {
            LineStep::Run(simple) => simple.starts.first().copied(),
            _ => None,
        });
        prop_assert_eq!(starts.collect::<Vec<_>>(), places.clone());
        prop_assert_eq!(script::commands(&text, &|_| true), Some(places));
    }
}

#[test]
fn a_word_with_an_escape_where_a_case_has_its_in_is_no_endless_script() {
    assert_eq!(marked("case a \\b in\nx) npm test;;\nesac\n"), None);
    assert_eq!(marked("case a \\\n\n in x) npm test;; esac").as_deref(), Some("case a \\\n\n in x) @npm test;; esac"));
}

#[test]
fn what_only_looks_like_a_check_in_a_script_is_left() {
    let scripts = [
        "npm() { command npm \"$@\"; }\nnpm test",
        "function npm { :; }\nnpm test",
        "alias npm='echo'\nnpm test",
        "$run npm test",
        "\"$run\" npm test",
        "$(command -v verify-run >/dev/null && echo verify-run && echo --) npm test",
        "verify-run npm test",
        "command -v eslint",
        "exec -a x npm test",
        "npm test <<EOF\nEOF\n",
        "echo npm test",
        "[[ $a = ']]' && npm test ]]",
        "\"A=1\" npm test",
        "npm run watch",
        "set -ex\nnpm test",
        "set -o xtrace\nnpm test",
        "IFS=,\nnpm test",
        "local IFS=''; npm test",
        "echo() { printf '%s' \"$*\"; }\nnpm test",
    ];
    for script in scripts {
        assert_eq!(marked(script).as_deref(), Some(script), "{script}");
    }
    for script in [
        "echo 'x",
        "npm test; }}; )",
        "cat <<EOF\nnpm test",
        "case x in",
        "((i++)",
        "a $(",
        "x `",
        "for ((;;)); do npm test; done",
    ] {
        assert_eq!(marked(script).filter(|marked| marked != script), None, "{script}");
    }
    let deep = "\"$(".repeat(100_000);
    assert_eq!(marked(&deep), None);
}

#[test]
fn nothing_makes_the_reading_of_a_script_fail() {
    let parts = [
        "npm test",
        "'",
        "\"",
        "$(",
        ")",
        "`",
        "\\",
        "<<E\n",
        "\n",
        "E\n",
        ";",
        ";;",
        "case x in ",
        "esac",
        "{",
        "}",
        "#",
        "é",
        "$'",
        "<(",
        "[[ ",
        " ",
        "(",
        "((",
        "&",
        "|",
    ];
    let mut seed = 7_u64;
    for _ in 0..20_000 {
        let mut script = String::new();
        for _ in 0..seed % 9 + 1 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            script.push_str(parts[usize::try_from(seed >> 33).expect("small") % parts.len()]);
        }
        seed = seed.wrapping_add(1);
        let places = script::commands(&script, &|_| true).unwrap_or_default();
        assert!(places.is_sorted() && places.iter().all(|place| script.is_char_boundary(*place)), "{script:?}");
    }
}

const LEFTHOOK_YML: &str = "\
# ours
pre-commit:
  parallel: true   # fast
  skip:
    - run: npm test
  commands:
    lint: { glob: \"*.js\", run: \"npx eslint {staged_files}\", files: npm test }
    types:
      run: cd web && npx tsc --noEmit
  jobs:
    - name: é
      run: |
        set -e
        npm test
    - group:
        jobs:
          - run: 'pytest -q'
          - run: echo \"a\\tb\"
pre-push:
  jobs:
    - run: >-
        cargo
        test
output: [summary]
";

#[test]
fn lefthook_s_jobs_are_recorded_and_everything_else_stays() {
    let (_folder, site) = site(&[("lefthook.yml", LEFTHOOK_YML)]);
    let expected = LEFTHOOK_YML
        .replace("\"npx eslint", &format!("\"{GUARD}npx eslint"))
        .replace("npx tsc", &format!("{GUARD}npx tsc"))
        .replace("        npm test\n    -", &format!("        {GUARD}npm test\n    -"))
        .replace("pytest", &format!("{GUARD}pytest"))
        .replace("cargo\n", &format!("{GUARD}cargo\n"));
    let hooks = HookSettings::default();
    assert_eq!(after(&site, &planned(&site, &hooks)), [("lefthook.yml".to_owned(), expected)]);
    assert_eq!(apply(&site, &hooks), []);
}

#[test]
fn lefthook_gets_the_hooks_of_the_settings_that_it_has_none_of() {
    let (_folder, site) = site(&[("lefthook.yml", LEFTHOOK_YML.trim_end())]);
    let hooks = HookSettings {
        commit_msg: vec!["npx commitlint --edit \"$1\"".into(), "echo '#: {x}'".into()],
        pre_push: vec!["npm test".into()],
        ..HookSettings::default()
    };
    let problems = apply(&site, &hooks);
    let text = fs::read_to_string(site.root.join("lefthook.yml")).expect("a file");
    let added = format!(
        "output: [summary]\ncommit-msg:\n  jobs:\n    - run: |\n        {GUARD}npx commitlint --edit \"$1\"\n    - run: \
         |\n        echo '#: {{x}}'\n"
    );
    assert!(text.ends_with(&added), "{text}");
    // It has a pre-push of its own, with another command.
    assert_eq!(problems.len(), 0, "`npm test` is in the file: {problems:?}");
    let hooks = HookSettings { pre_push: vec!["npm run e2e".into()], ..HookSettings::default() };
    let problems = planned(&site, &hooks).problems;
    assert!(
        problems[0].reason.contains("no effect on pre-push") && problems[0].hint.contains("verify-run init"),
        "{problems:?}"
    );
}

const PRE_COMMIT_YAML: &str = "\
repos:
- repo: https://example.invalid/ruff
  rev: v1
  hooks: [{ id: ruff }, { id: ruff-format }]
- repo: local
  hooks:
    - id: eslint # fast
      name: eslint
      entry: npx eslint
      language: system
    - { id: py, name: py, entry: \"pytest\", args: [-q], language: system, pass_filenames: false }
    - id: sub
      name: sub
      language: unsupported
      entry: 'cargo'
      args: [\"clippy\"]
    - {id: d, name: d, entry: eslint, language: docker_image}
    - {id: n, name: n, entry: echo, language: system}
";

#[test]
fn pre_commit_s_local_hooks_are_recorded_and_everything_else_stays() {
    let (_folder, site) = site(&[(".pre-commit-config.yaml", PRE_COMMIT_YAML)]);
    let guard = precommit::GUARD;
    let expected = PRE_COMMIT_YAML
        .replace("entry: npx eslint", &format!("entry: {guard}npx eslint"))
        .replace("\"pytest\"", &format!("\"{}pytest\"", guard.replace('"', "\\\"")))
        .replace("'cargo'", &format!("'{}cargo'", guard.replace('\'', "''")));
    let hooks = HookSettings::default();
    assert_eq!(after(&site, &planned(&site, &hooks)), [(".pre-commit-config.yaml".to_owned(), expected)]);
    let problems = apply(&site, &hooks);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].warning && problems[0].reason.contains("2 hooks"), "{problems:?}");
}

#[test]
fn husky_and_hk_are_recorded() {
    let hk = "amends \"package://x#/Config.pkl\"\nhooks { [\"pre-commit\"] { steps { [\"e\"] { check = \"eslint {{files}}\" } } } }\n";
    let husky = ". \"$(dirname -- \"$0\")/_/husky.sh\"\nnpm test\n";
    let (_folder, site) = site(&[(".husky/pre-commit", husky), (".husky/_/pre-commit", "npm test\n"), ("hk.pkl", hk)]);
    let hooks = HookSettings { pre_push: vec!["pytest".into()], ..HookSettings::default() };
    let expected = [
        (".husky/pre-commit".to_owned(), husky.replace("npm", &format!("{GUARD}npm"))),
        ("hk.pkl".to_owned(), hk.replace("eslint", &format!("{GUARD}eslint"))),
        (".husky/pre-push".to_owned(), format!("{GUARD}pytest\n")),
    ];
    assert_eq!(after(&site, &planned(&site, &hooks)), expected);
    assert_eq!(apply(&site, &hooks), []);
}

#[test]
fn a_plain_hook_is_recorded_and_a_manager_s_or_a_program_is_left() {
    let hook = "#!/usr/bin/env bash\nnpm test || exit 1\n";
    let (_folder, site) = site(&[
        (".git/hooks/pre-commit", hook),
        (
            ".git/hooks/pre-push",
            "#!/bin/sh\n# File generated by pre-commit: https://pre-commit.com\nexec pre-commit run\n",
        ),
        (".git/hooks/commit-msg", "#!/usr/bin/env python3\npytest\n"),
        (".git/hooks/post-merge", "\u{7f}ELF\0npm test"),
        (".git/hooks/pre-commit.sample", "npm test\n"),
    ]);
    let expected = (".git/hooks/pre-commit".to_owned(), hook.replace("npm", &format!("{GUARD}npm")));
    let found = planned(&site, &HookSettings::default());
    assert!(!found.changes[0].executable, "it keeps its mode");
    assert_eq!(after(&site, &found), [expected]);
    assert_eq!(apply(&site, &HookSettings::default()), []);
}

#[test]
fn a_hook_that_git_ignores_is_left_and_stays_ignored() {
    let (_folder, site) = site(&[(".git/hooks/pre-commit", "#!/bin/sh\nnpm test\n")]);
    let hook = site.root.join(".git/hooks/pre-commit");
    fs::set_permissions(hook, fs::Permissions::from_mode(0o644)).expect("a mode");
    assert_eq!(planned(&site, &HookSettings::default()).changes, []);
    let hooks = HookSettings { pre_commit: vec!["pytest".into()], ..HookSettings::default() };
    let modes: Vec<_> = planned(&site, &hooks).changes.iter().map(|change| change.executable).collect();
    assert_eq!(modes, [false, true], "pre-commit.local, then pre-commit");
}

#[test]
fn the_settings_make_a_hook_and_one_that_is_there_comes_first() {
    let (_folder, mut site) = site(&[(".git/hooks/pre-push", "#!/bin/sh\nnpm test\n")]);
    site.program = "/opt/v/verify-run".into();
    let lines = ["cd web && npm test # all", "verify-run -- eslint .", "verify-run check-diff --staged"];
    let hooks = HookSettings {
        pre_commit: lines.map(str::to_owned).to_vec(),
        pre_push: vec!["pytest".into()],
        ..HookSettings::default()
    };
    assert_eq!(apply(&site, &hooks), []);
    let read = |name: &str| fs::read_to_string(site.root.join(".git/hooks").join(name)).expect("a hook");
    let written = read("pre-commit");
    let checks = "do.\n(\n    cd web && $recorded npm test # all\n) || exit\n(\n    $recorded eslint .\n) || exit\nif [ -n \"$recorded\" ]; \
                  then\n    ${recorded% --} check-diff --staged\n    [ $? -ne 1 ] || exit 1\nfi\n# <<<";
    let block = written
        .split("# >>> checks\n# Those of [hooks] in verify-run.toml: change them there, then run `verify-run init`.\n")
        .nth(1);
    assert_eq!(
        block.map(|block| format!("do.\n{block}")).as_deref().map(|block| block.trim_end_matches(" checks\n")),
        Some(checks),
        "{written}"
    );
    assert!(written.contains("for program in verify-run /opt/v/verify-run \"$"), "{written}");
    let guard = GUARD.replace("verify-run", "/opt/v/verify-run");
    assert_eq!(read("pre-push.local"), format!("#!/bin/sh\n{guard}npm test\n"));
    assert!(read("pre-push").contains("    $recorded pytest\n"));

    // Without them the hook stays, and does nothing of its own.
    assert_eq!(apply(&site, &HookSettings::default()), []);
    assert!(read("pre-commit").ends_with("# >>> checks\n# <<< checks\n"));
}

#[test]
fn what_is_not_ours_to_change_is_left_alone_and_named() {
    let (_folder, site) = site(&[
        ("lefthook.yml", "pre-commit: [\n"),
        (".pre-commit-config.yaml", "repos: *nowhere\n"),
        ("hk.pkl", "check = \"npm test"),
        (".husky/pre-commit", "npm test; echo 'open\n"),
        ("lefthook.toml", ""),
    ]);
    fs::write(site.root.join(".husky/pre-push"), b"npm test \xff\n").expect("a file");
    let outside = tempfile::tempdir().expect("a folder");
    fs::write(outside.path().join("hook"), "npm test\n").expect("a file");
    symlink(outside.path().join("hook"), site.root.join(".husky/commit-msg")).expect("a link");
    symlink(outside.path(), site.root.join(".config")).expect("a link");
    fs::write(outside.path().join("lefthook.yml"), "pre-commit: { jobs: [{ run: npm test }] }\n").expect("a file");
    fs::write(outside.path().join("hk.pkl"), "check = \"npm test\"\n").expect("a file");
    let found = planned(&site, &HookSettings::default());
    assert_eq!(found.changes, []);
    let mut files: Vec<_> = found
        .problems
        .iter()
        .map(|problem| problem.file.strip_prefix(&site.root).expect("below").display().to_string())
        .collect();
    files.sort();
    let expected = [
        ".config/hk.pkl",
        ".config/lefthook.yml",
        ".husky/commit-msg",
        ".husky/pre-commit",
        ".husky/pre-push",
        ".pre-commit-config.yaml",
        "hk.pkl",
        "lefthook.toml",
        "lefthook.yml",
    ];
    assert_eq!(files, expected, "{:?}", found.problems);
    let lines: Vec<_> = found.problems.iter().filter_map(|problem| problem.line).collect();
    assert_eq!(lines.len(), 2, "{:?}", found.problems);
}

#[test]
fn a_hooks_folder_that_others_use_is_left_alone() {
    let (_folder, mut site) = site(&[]);
    let shared = tempfile::tempdir().expect("a folder");
    fs::write(shared.path().join("pre-commit"), "#!/bin/sh\nnpm test\n").expect("a file");
    site.git_hooks = Some(shared.path().to_owned());
    let found = planned(&site, &HookSettings::default());
    assert_eq!((found.changes.len(), found.problems.len()), (0, 1), "{:?}", found.problems);
    // One of the repository's own, wherever it is.
    site.git_hooks = Some(site.root.join("tools/hooks"));
    fs::create_dir_all(site.root.join("tools/hooks")).expect("a folder");
    let hook = site.root.join("tools/hooks/pre-commit");
    fs::write(&hook, "npm test\n").expect("a file");
    fs::set_permissions(hook, fs::Permissions::from_mode(0o755)).expect("a mode");
    assert_eq!(planned(&site, &HookSettings::default()).changes.len(), 1);
}

#[test]
fn a_command_that_breaks_the_script_around_it_makes_no_hook() {
    let (_folder, site) = site(&[]);
    for command in ["echo 'x", "npm test )", "cat <<E", "x $("] {
        let hooks = HookSettings { pre_commit: vec!["npm test".into(), command.into()], ..HookSettings::default() };
        let found = planned(&site, &hooks);
        assert_eq!((found.changes.len(), found.problems.len()), (0, 1), "{command}");
        assert!(found.problems[0].reason.contains(command) && found.problems[0].file.ends_with("verify-run.toml"));
    }
}
