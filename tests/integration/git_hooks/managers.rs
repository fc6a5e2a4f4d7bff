//! pre-commit, lefthook, husky and hk as they are in their registries, and git alone.

use super::*;
use crate::sandbox::need;

/// Who runs the hooks.
struct Manager {
    name: &'static str,
    /// Its program; git itself needs none.
    program: Option<&'static str>,
    /// How it is installed into a repository.
    install: &'static [&'static str],
    /// Its configuration: a check of one file, not recorded.
    file: &'static str,
    text: &'static str,
    /// What it says before that is drawn by the clock.
    says: &'static str,
}

const MANAGERS: [Manager; 5] = [
    Manager {
        name: "git",
        program: None,
        install: &["true"],
        file: ".git/hooks/pre-commit",
        text: "#!/bin/sh\nruff check a.py\n",
        says: "",
    },
    Manager {
        name: "pre-commit",
        program: Some("pre-commit"),
        install: &["pre-commit", "install"],
        file: ".pre-commit-config.yaml",
        text: "repos:\n- repo: local\n  hooks:\n    - { id: ruff, name: ruff, entry: ruff check, language: system, types: \
               [python] } # fast\n",
        says: "",
    },
    Manager {
        name: "lefthook",
        program: Some("lefthook"),
        install: &["lefthook", "install"],
        file: "lefthook.yml",
        text: "pre-commit:\n  jobs:\n    - name: ruff\n      glob: \"*.py\"\n      run: ruff check {staged_files}\n",
        says: "",
    },
    Manager {
        name: "husky",
        program: Some("husky"),
        install: &["husky"],
        file: ".husky/pre-commit",
        text: "ruff check a.py\n",
        says: "",
    },
    Manager {
        name: "hk",
        program: Some("hk"),
        install: &["hk", "install"],
        file: "hk.pkl",
        text: "amends \"package://github.com/jdx/hk/releases/download/v2.11.0/hk@2.11.0#/Config.pkl\"\nhooks { \
               [\"pre-commit\"] { steps { [\"ruff\"] { glob = \"*.py\"\n check = \"ruff check {{files}}\" } } } }\n",
        says: "ruff stderr:",
    },
];

impl Manager {
    /// A repository that it runs the hooks of.
    fn repository(&self, has_verify_run: bool) -> Sandbox {
        let sandbox = repository(has_verify_run);
        write_hook(&sandbox, self.file, self.text);
        self.install(&sandbox);
        sandbox
    }

    /// Some look whether their configuration has changed, and say so once.
    fn install(&self, sandbox: &Sandbox) {
        let installed = sandbox.bare(self.install[0]).args(&self.install[1..]).outcome();
        assert_eq!(installed.ended, CommandEnd::Exit(0), "{}: {}", self.name, installed.stderr());
        sandbox.git(["add", "--all"]);
    }

    /// Tries to commit what ruff has something against, without a terminal and on one, then something else. What was
    /// said.
    fn works(&self, sandbox: &Sandbox) -> Vec<(CommandEnd, String)> {
        let mut told = Vec::new();
        sandbox.write("a.py", WRONG);
        sandbox.git(["add", "--all"]);
        for on_terminal in [false, true] {
            let (ended, text) = said(commit(sandbox), on_terminal);
            assert_eq!(ended, CommandEnd::Exit(1), "{}: {text}", self.name);
            assert!(text.contains("F821"), "{}: {text}", self.name);
            told.push((ended, self.part(&text, sandbox)));
            // Until then the state of the work tree is unknown.
            sandbox.settle();
        }
        assert_eq!(sandbox.git(["log", "--format=%s"]), "Start\n", "{}", self.name);
        sandbox.write("a.py", RIGHT);
        sandbox.git(["add", "--all"]);
        let (ended, text) = said(commit(sandbox), false);
        told.push((ended, self.part(&text, sandbox)));
        assert_eq!(sandbox.git(["log", "--format=%s"]), "Change\nStart\n", "{}: {told:?}", self.name);
        assert_eq!(sandbox.git(["status", "--short"]), "", "{}", self.name);
        told
    }

    /// What depends neither on the clock nor on the place.
    fn part(&self, text: &str, sandbox: &Sandbox) -> String {
        let text = text.find(self.says).map_or("", |at| &text[at..]);
        // On a terminal lefthook turns a wheel between the lines, as often as there is time for.
        let wheel = r"\x1b\[\?25[lh]|\r\x1b\[K|\r\x1b\[37m.\x1b\[0m waiting(: ruff)?";
        let text = regex::Regex::new(wheel).expect("a regex").replace_all(text, "");
        text.replace(sandbox.work().to_str().expect("UTF-8"), "/W")
    }

    fn check(&self) {
        if need("ruff").is_none() || self.program.is_some_and(|program| need(program).is_none()) {
            return;
        }
        let bare = self.works(&self.repository(false));
        let sandbox = self.repository(true);
        assert_eq!(apply(&sandbox, &HookSettings::default()), []);
        let after = sandbox.read(self.file);
        let added = after.len() - self.text.len();
        assert!(
            added < 120 && after.contains("verify-run") && after.ends_with(&self.text[self.text.len() - 9..]),
            "{after}"
        );
        self.install(&sandbox);
        assert_eq!(self.works(&sandbox), bare, "{}: recorded, then bare", self.name);

        // Each time once, and the last time is known as what made it go away.
        let check = ("ruff check a.py".to_owned(), true);
        let failed = ("ruff check a.py".to_owned(), false);
        assert_eq!(runs(&sandbox), [failed.clone(), failed, check], "{}", self.name);
        let fix = fix(&sandbox);
        assert_eq!(
            (&fix["state"], &fix["category"]),
            (&"success".into(), &"lint_error".into()),
            "{}: {fix}",
            self.name
        );

        // A colleague's commit doesn't need verify-run.
        uninstall(&sandbox);
        let other = self.repository(false);
        other.write(self.file, &after);
        self.install(&other);
        assert_eq!(self.works(&other), bare, "{}: without verify-run, then bare", self.name);
    }
}

#[test]
fn git_alone() {
    MANAGERS[0].check();
}

#[test]
fn pre_commit() {
    MANAGERS[1].check();
}

#[test]
fn lefthook() {
    MANAGERS[2].check();
}

#[test]
fn husky() {
    MANAGERS[3].check();
}

#[test]
fn hk() {
    MANAGERS[4].check();
}

/// Files that all have the same against them.
fn write_many(sandbox: &Sandbox, count: usize) {
    (0..count).for_each(|n| drop(sandbox.write(format!("f{n:02}.py"), WRONG)));
    sandbox.git(["add", "--all"]);
}

#[test]
fn jobs_that_run_at_the_same_time_are_each_recorded_once() {
    if need("ruff").is_none() || need("lefthook").is_none() {
        return;
    }
    let sandbox = repository(true);
    let jobs: String = (0..6).map(|n| format!("    - run: ruff check f{n:02}.py\n")).collect();
    sandbox.write("lefthook.yml", format!("pre-commit:\n  parallel: true\n  jobs:\n{jobs}"));
    sandbox.bare("lefthook").arg("install").prints();
    apply(&sandbox, &HookSettings::default());
    write_many(&sandbox, 6);
    assert_eq!(commit(&sandbox).outcome().ended, CommandEnd::Exit(1));
    let expected: Vec<_> = (0..6).map(|n| (format!("ruff check f{n:02}.py"), false)).collect();
    assert_eq!(runs(&sandbox), expected);
}

#[test]
fn batches_of_one_hook_are_each_recorded_once_and_pre_commit_by_itself_is_one() {
    if need("ruff").is_none() || need("pre-commit").is_none() {
        return;
    }
    let sandbox = MANAGERS[1].repository(true);
    apply(&sandbox, &HookSettings::default());
    write_many(&sandbox, 24);
    assert_eq!(commit(&sandbox).outcome().ended, CommandEnd::Exit(1));
    let batches = runs(&sandbox);
    let mut files: Vec<_> = batches.iter().flat_map(|(line, _)| line.split(' ').skip(2)).map(str::to_owned).collect();
    files.sort();
    assert_eq!(files, (0..24).map(|n| format!("f{n:02}.py")).collect::<Vec<_>>(), "each file once: {batches:?}");

    // A wrapper inside of a recorded one of the same repository records nothing.
    let outcome = sandbox.verify_run(["--", "pre-commit", "run", "--all-files"]).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(1));
    assert_eq!(runs(&sandbox).len(), batches.len() + 1);
}
