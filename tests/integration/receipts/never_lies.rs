//! Reuse never lies: whatever of a check's inputs changes, the check runs.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use serde_json::Value;
use verify_run::run::CommandEnd;

use super::{is_reused, reuse};
use crate::gate::checklist;
use crate::sandbox::{Invocation, Outcome, Sandbox};

/// Cases in which one input is changed, of a typed command and of an item of the gate.
const CASES: u64 = 500;
const ITEM_CASES: u64 = 150;
/// Kinds of inputs. The words and the folder of an item are those of its checklist.
const KINDS: u64 = 11;
const ITEM_KINDS: u64 = 9;
/// Tracked files, and ignored ones that the settings name.
const FILES: u64 = 12;
const NAMED: [&str; 2] = ["config/local.json", ".env.test"];

/// A stream of numbers from a seed (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below
    }
}

/// What a project's receipts are of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Runner {
    /// A test runner, which says how many tests ran, in a project with a submodule.
    Tests,
    /// The same without one: where nothing changed, git need not look.
    PlainTests,
    /// A script that is no known check, which a person approved as an item of the gate's checklist. Git ignores it.
    Item,
}

/// A project with every kind of input. While an input is changed its runner leaves no receipt, so that the same change may
/// come twice.
struct Project {
    sandbox: Sandbox,
    runner: Runner,
    /// The digest by which a person approves the checklist; empty where there is none.
    digest: String,
}

impl Project {
    fn new(runner: Runner) -> Self {
        let sandbox = Sandbox::in_memory().with_repository();
        for number in 0..FILES {
            sandbox.write(format!("src/dir{}/file{number}.py", number % 3), format!("value = {number:08}\n"));
        }
        sandbox.write("web/index.js", "\n");
        sandbox.write(".gitignore", "config/\n.env*\nnode_modules\n.venv\nCargo.lock\n");
        sandbox.write("verify-run.toml", "[fix]\nenvironment = [\"SHOP_DB\", \"config/local.json\", \".env.test\"]\n");
        sandbox.write("config/local.json", "{\"a\": 1}");
        sandbox.write(".env.test", "A=1");
        sandbox.write("Cargo.lock", "version = 4\n");
        sandbox.write("package-lock.json", "{}\n");
        sandbox.write("node_modules/.package-lock.json", "{\"packages\": {}}");
        sandbox.write(".venv/pyvenv.cfg", "version = 3.11\n");
        sandbox.write(".venv/lib/python3.11/site-packages/shop-1.0.dist-info/METADATA", "");
        symlink("dir0", sandbox.path("src/link")).expect("a link");
        let library = sandbox.tmp().join("library");
        fs::create_dir(&library).expect("a folder");
        let git = |arguments: &[&str]| {
            let mut command = sandbox.bare("git").args(["-c", "protocol.file.allow=always"]);
            command = command.args(arguments.iter().copied());
            let outcome = command.outcome();
            assert_eq!(outcome.ended, CommandEnd::Exit(0), "{arguments:?}: {}", outcome.stderr());
        };
        let library = library.to_str().expect("UTF-8");
        git(&["-C", library, "init", "--quiet"]);
        git(&["-C", library, "commit", "--quiet", "--allow-empty", "--message", "Start"]);
        if runner == Runner::Tests {
            git(&["submodule", "--quiet", "add", library, "lib"]);
        }
        if runner == Runner::Item {
            sandbox.write(".verify-run/qa-checklist.yml", checklist(&[("X1", "sh config/licences")]));
        }
        sandbox.commit("The project");
        let trust = ["gate", "trust", "--digest"];
        let digest = if runner == Runner::Item { sandbox.verify_run(trust).prints() } else { String::new() };
        let digest = digest.trim().to_owned();
        let project = Project { sandbox, runner, digest };
        project.install(0);
        project
    }

    fn install(&self, version: u64) {
        let version = format!("# version {version:04}\n");
        let script = match self.runner {
            Runner::Tests | Runner::PlainTests => {
                "if [ -e \"$HOME/changed\" ]; then echo ran; else echo '= 3 passed in 1s ='; fi"
            }
            // What writes a file while it runs has no receipt.
            Runner::Item => {
                "cd \"$(dirname \"$0\")/..\"; echo ran\nif [ -e \"$HOME/changed\" ]; then\n\
                 cp src/dir0/file0.py x; cp x src/dir0/file0.py; rm x\nfi"
            }
        };
        match self.runner {
            Runner::Tests | Runner::PlainTests => drop(self.sandbox.tool("pytest", &format!("{version}{script}"))),
            Runner::Item => drop(self.sandbox.write("config/licences", format!("{version}{script}\n"))),
        }
    }

    /// The command with `--reuse`, recorded when it returns.
    fn run(&self) -> Invocation<'_> {
        match self.runner {
            Runner::Tests | Runner::PlainTests => reuse(&self.sandbox),
            Runner::Item => {
                self.sandbox.verify_run(["gate", "run", "--no-prp", "--json", "--only", "X1", "--trust", &self.digest])
            }
        }
    }

    /// Whether it was not run.
    fn is_reused(&self, outcome: &Outcome) -> bool {
        if self.runner != Runner::Item {
            return is_reused(outcome);
        }
        let document: Value = serde_json::from_str(outcome.stdout()).expect("JSON");
        let item = &document["items"][0];
        assert_eq!(item["status"], "pass", "{document}");
        item["details"].as_str().expect("details").contains("not run again: passed ")
    }

    /// Says to the runner whether an input is changed.
    fn mark(&self, is_changed: bool) {
        let mark = self.sandbox.home().join("changed");
        if is_changed {
            fs::write(mark, "").expect("a mark");
        } else {
            fs::remove_file(mark).expect("a mark");
        }
    }

    fn file(&self, number: u64) -> PathBuf {
        self.sandbox.path(format!("src/dir{}/file{number}.py", number % 3))
    }

    /// Writes a file for one case; what was there before.
    fn replace(&self, path: PathBuf, content: &[u8]) -> UndoChange {
        let before = fs::read(&path).ok();
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, content).expect("written");
        UndoChange::Content(path, before)
    }

    /// Changes one input of this kind.
    fn change(&self, kind: u64, case: u64, numbers: &mut Numbers) -> UndoChange {
        match kind {
            0 => {
                // Of the same length, and often within the tick in which git last looked.
                let path = self.file(numbers.next(FILES));
                let mut content = fs::read(&path).expect("a file");
                let at = usize::try_from(numbers.next(content.len() as u64)).expect("small");
                content[at] ^= 1 + u8::try_from(numbers.next(15)).expect("small");
                self.replace(path, &content)
            }
            1 => {
                let name = format!("src/dir{}/new{}.py", numbers.next(5), numbers.next(1_000));
                self.replace(self.sandbox.path(name), b"")
            }
            2 => {
                let path = self.sandbox.path(NAMED[usize::try_from(numbers.next(2)).expect("small")]);
                if numbers.next(4) == 0 {
                    let before = fs::read(&path).ok();
                    fs::remove_file(&path).expect("removed");
                    return UndoChange::Content(path, before);
                }
                self.replace(path, format!("{case}").as_bytes())
            }
            3 => {
                let path = self.file(numbers.next(FILES));
                fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("executable");
                UndoChange::Mode(path)
            }
            4 => {
                let name = if numbers.next(2) == 0 { "lib/new.py" } else { "lib/sub/other.py" };
                self.replace(self.sandbox.path(name), format!("{case}").as_bytes())
            }
            5 => {
                let path = self.sandbox.path("src/link");
                fs::remove_file(&path).expect("removed");
                symlink(format!("dir{}", 1 + numbers.next(2)), &path).expect("a link");
                UndoChange::Link(path)
            }
            7 => match numbers.next(3) {
                0 => {
                    self.install(case);
                    UndoChange::Tool
                }
                1 => {
                    let path = self.sandbox.path("node_modules/.package-lock.json");
                    self.replace(path, format!("{{\"packages\": {case}}}").as_bytes())
                }
                _ => {
                    let packages = self.sandbox.path(".venv/lib/python3.11/site-packages");
                    let (one, other) = (packages.join("shop-1.0.dist-info"), packages.join("shop-1.1.dist-info"));
                    fs::rename(&one, &other).expect("renamed");
                    UndoChange::Renamed(other, one)
                }
            },
            8 => {
                let name = if numbers.next(2) == 0 { "Cargo.lock" } else { "package-lock.json" };
                self.replace(self.sandbox.path(name), format!("{{\"v\": {case}}}\n").as_bytes())
            }
            _ => UndoChange::Nothing,
        }
    }

    /// The command, with another variable, word or folder in the cases of these kinds.
    fn invocation(&self, kind: u64, case: u64, numbers: &mut Numbers) -> Invocation<'_> {
        match kind {
            6 => {
                const VARIABLES: [&str; 7] =
                    ["NODE_ENV", "CI", "PYTHONPATH", "PYTEST_ADDOPTS", "SHOP_DB", "LANG", "TZ"];
                let name = VARIABLES[usize::try_from(numbers.next(7)).expect("small")];
                if name == "LANG" && numbers.next(2) == 0 {
                    return self.run().without(name);
                }
                self.run().env(name, format!("x{}", numbers.next(1_000)))
            }
            9 => {
                const WORDS: [&str; 5] = ["-q", "-v", "--verbose", "src", "src/dir0"];
                let invocation = self.run().arg(WORDS[usize::try_from(numbers.next(5)).expect("small")]);
                if numbers.next(2) == 0 { invocation } else { invocation.arg(format!("--seed={case}")) }
            }
            10 => self.run().dir(["src", "web", "src/dir1"][usize::try_from(numbers.next(3)).expect("small")]),
            _ => self.run(),
        }
    }
}

/// What brings an input back.
enum UndoChange {
    Nothing,
    /// A file, and its content unless it was not there.
    Content(PathBuf, Option<Vec<u8>>),
    Mode(PathBuf),
    Link(PathBuf),
    Tool,
    Renamed(PathBuf, PathBuf),
}

impl UndoChange {
    fn undo(self, project: &Project) {
        match self {
            UndoChange::Nothing => {}
            UndoChange::Content(path, Some(content)) => fs::write(path, content).expect("written"),
            UndoChange::Content(path, None) => fs::remove_file(path).expect("removed"),
            UndoChange::Mode(path) => fs::set_permissions(path, PermissionsExt::from_mode(0o644)).expect("plain"),
            UndoChange::Link(path) => {
                fs::remove_file(&path).expect("removed");
                symlink("dir0", path).expect("a link");
            }
            UndoChange::Tool => project.install(0),
            UndoChange::Renamed(from, to) => fs::rename(from, to).expect("renamed"),
        }
    }
}

#[test]
fn no_change_of_an_input_is_overlooked() {
    overlook_nothing(&Project::new(Runner::Tests), CASES, KINDS);
}

#[test]
fn no_change_of_an_input_is_overlooked_where_git_need_not_look() {
    overlook_nothing(&Project::new(Runner::PlainTests), CASES, KINDS);
}

#[test]
fn no_change_of_an_input_is_overlooked_by_the_gate() {
    overlook_nothing(&Project::new(Runner::Item), ITEM_CASES, ITEM_KINDS);
}

/// Changes one input after the other; each time the command has to run.
fn overlook_nothing(project: &Project, cases: u64, kinds: u64) {
    let mut numbers = Numbers(20_261_125);
    let first = project.run().outcome();
    assert!(!project.is_reused(&first) && first.stderr().is_empty(), "{}", first.stderr());
    let is_reused = || project.is_reused(&project.run().outcome());
    assert!(is_reused(), "nothing changed");
    let mut reused = 0;
    for case in 0..cases {
        let kind = case % kinds;
        let undo = project.change(kind, case, &mut numbers);
        project.mark(true);
        let outcome = project.invocation(kind, case, &mut numbers).outcome();
        assert!(!project.is_reused(&outcome), "case {case} of kind {kind} was reused: {}", outcome.stderr());
        project.mark(false);
        undo.undo(project);
        // A tool that was installed again is another one: it leaves a new receipt.
        if kind == 7 || case % 50 == 0 {
            reused += u64::from(is_reused());
            assert!(is_reused(), "case {case} of kind {kind}: everything is as it was");
        }
    }
    assert!(reused > 0, "what is back is recognised");
}

#[test]
fn what_does_not_matter_keeps_a_receipt() {
    let project = Project::new(Runner::Tests);
    let sandbox = &project.sandbox;
    reuse(sandbox).outcome();
    let mut numbers = Numbers(7);
    for round in 0..12 {
        match round % 6 {
            0 => drop(sandbox.git(["commit", "--quiet", "--amend", "--allow-empty", "--message", "Another message"])),
            1 => {
                sandbox.commit("Nothing");
                sandbox.git(["reset", "--quiet", "--soft", "HEAD~1"]);
            }
            2 => drop(sandbox.git(["switch", "--quiet", "--create", &format!("topic-{round}")])),
            3 => {
                let path = project.file(numbers.next(FILES));
                let content = fs::read(&path).expect("a file");
                fs::write(&path, content).expect("the same content");
            }
            4 => drop(sandbox.write("config/unnamed", format!("{round}"))),
            _ => drop(sandbox.git(["gc", "--quiet"])),
        }
        let name = format!("UNRELATED_{}", numbers.next(1_000));
        let outcome = reuse(sandbox).env(name, "x").env("TERM", format!("t{round}")).env("COLUMNS", "9").outcome();
        assert!(is_reused(&outcome), "round {round}: {}", outcome.stderr());
    }
}
