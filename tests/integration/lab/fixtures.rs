//! Real projects of four kinds: their tests end inside as they do outside, and nothing of what is lent changes.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use verify_run::run::CommandEnd;

use super::{LabUser, contents_of, has_namespaces, left_by_labs, top_of};
use crate::sandbox::{Sandbox, need, tools};
use crate::tools::toolchain;

/// A project whose tests pass, and fail after an edit.
pub(crate) struct Fixture {
    pub sandbox: Sandbox,
    command: Vec<String>,
    /// What is lent.
    pub lent: &'static str,
    /// A file whose text makes the tests fail.
    pub broken: (&'static str, &'static str),
    /// Words of a pass, and of the failure.
    pub says: [&'static str; 2],
}

impl Fixture {
    /// Runs the tests outside and inside, before and after the edit.
    fn agrees(&self, user: LabUser) {
        let lent = self.sandbox.path(self.lent);
        // Caches are filled by the first run outside.
        let outside = self.run(user, &[]);
        assert_eq!(outside.0, CommandEnd::Exit(0), "{}", outside.1);
        assert!(outside.1.contains(self.says[0]), "{}", outside.1);
        let before = contents_of(&lent);
        assert!(!before.is_empty(), "{} is empty", lent.display());
        let inside = self.run(user, &["gate", "isolate", "--"]);
        assert_eq!(inside.0, CommandEnd::Exit(0), "{user:?}: {}", inside.1);
        assert!(inside.1.contains(self.says[0]), "{user:?}: {}", inside.1);
        assert_same(&contents_of(&lent), &before);
        self.sandbox.write(self.broken.0, self.broken.1);
        let inside = self.run(user, &["gate", "isolate", "--"]);
        assert_same(&contents_of(&lent), &before);
        let outside = self.run(user, &[]);
        assert_eq!(inside.0, outside.0, "{user:?}: {}\n{}", inside.1, outside.1);
        assert!(inside.0 != CommandEnd::Exit(0) && inside.1.contains(self.says[1]), "{user:?}: {}", inside.1);
        assert_eq!((self.sandbox.processes().len(), left_by_labs(&self.sandbox).len()), (0, 0));
    }

    /// Runs the tests behind these words of verify-run, or bare.
    pub(crate) fn run(&self, user: LabUser, before: &[&str]) -> (CommandEnd, String) {
        let words: Vec<&str> = before.iter().copied().chain(self.command.iter().map(String::as_str)).collect();
        let invocation = if before.is_empty() {
            user.run(&self.sandbox, words[0], &words[1..])
        } else {
            user.verify_run(&self.sandbox, &words)
        };
        let outcome = invocation.env("CARGO_TERM_COLOR", "never").outcome();
        (outcome.ended, format!("{}{}", outcome.stdout(), outcome.stderr()))
    }
}

pub(crate) fn assert_same(now: &BTreeMap<PathBuf, String>, before: &BTreeMap<PathBuf, String>) {
    let differs = |path: &&PathBuf| now.get(*path) != before.get(*path);
    let changed: Vec<&PathBuf> = now.keys().chain(before.keys()).filter(differs).collect();
    assert!(changed.is_empty(), "what was lent changed: {changed:?}");
}

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|word| (*word).to_owned()).collect()
}

/// A virtual environment with pytest in it, whose programs name it by its path.
pub(crate) fn python() -> Option<Fixture> {
    let pytest = need("pytest")?;
    let (home, _) = (pytest.canonicalize().ok()?, need("git")?);
    let packages = home.parent()?.parent()?.join("lib/python3.11/site-packages");
    let sandbox = Sandbox::repository();
    let made = sandbox.bare("/usr/bin/python3").args(["-m", "venv", "--without-pip", ".venv"]).outcome();
    if made.ended != CommandEnd::Exit(0) || !packages.is_dir() {
        crate::sandbox::skip("no virtual environment can be made with pytest");
        return None;
    }
    let site = fs::read_dir(sandbox.path(".venv/lib")).expect("a folder").flatten().next().expect("a version");
    for package in ["pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments"] {
        copy_folder(&packages.join(package), &site.path().join("site-packages").join(package));
    }
    fs::copy(packages.join("py.py"), site.path().join("site-packages/py.py")).expect("a copy");
    let interpreter = sandbox.path(".venv/bin/python");
    let script =
        format!("#!{}\nimport sys\nfrom pytest import console_main\nsys.exit(console_main())\n", interpreter.display());
    let program = sandbox.write(".venv/bin/pytest", script);
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).expect("a mode");
    sandbox.write(".gitignore", ".venv\n__pycache__\n.pytest_cache\n");
    sandbox.write("src/calc.py", "def add(a, b):\n    return a + b\n");
    let test = "import os, sys\n\nimport pytest\n\nsys.path.insert(0, os.path.join(os.path.dirname(__file__), '../src'))\n\
                from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n\n\ndef test_closed(tmp_path):\n    \
                closed = tmp_path / 'closed'\n    closed.write_text('x')\n    closed.chmod(0o444)\n    assert closed.read_text() == 'x'\n\n\n\
                def test_prefix():\n    assert sys.prefix == os.path.realpath('.venv') and 'site-packages' in pytest.__file__\n";
    sandbox.write("tests/test_calc.py", test);
    sandbox.commit("The project");
    Some(Fixture {
        sandbox,
        command: words(&[".venv/bin/pytest", "-q"]),
        lent: ".venv",
        // Of another size: Python keeps what it compiled for a file of the same size and second.
        broken: ("src/calc.py", "def add(a, b):\n    return a - abs(b)\n"),
        says: ["3 passed", "test_calc.py::test_add"],
    })
}

/// Packages in `node_modules`, one of which writes a cache beside itself.
pub(crate) fn node() -> Option<Fixture> {
    let node = need("node")?;
    let mut sandbox = Sandbox::repository();
    sandbox.add_path(node.parent().expect("a folder"));
    sandbox.write("node_modules/dep/package.json", "{\"name\": \"dep\", \"main\": \"index.js\"}\n");
    let cache = "const fs = require('fs');\nfs.mkdirSync(__dirname + '/.cache', { recursive: true });\n\
                 fs.writeFileSync(__dirname + '/.cache/used', 'x');\nmodule.exports = (a, b) => a + b;\n";
    sandbox.write("node_modules/dep/index.js", cache);
    sandbox.write(".gitignore", "node_modules\n");
    sandbox.write("package.json", "{\"name\": \"p\", \"scripts\": {\"test\": \"node --test\"}}\n");
    sandbox.write("add.js", "module.exports = require('dep');\n");
    let test = "const test = require('node:test');\nconst assert = require('node:assert');\nconst http = require('node:http');\n\
                const add = require('./add.js');\ntest('adds', () => assert.equal(add(1, 2), 3));\n\
                test('serves', (t, done) => {\n  const server = http.createServer((q, r) => r.end('ok')).listen(0, '127.0.0.1', () => {\n    \
                http.get({ port: server.address().port }, (r) => { r.resume(); server.close(); done(); });\n  });\n});\n";
    sandbox.write("add.test.js", test);
    sandbox.commit("The project");
    Some(Fixture {
        sandbox,
        command: words(&["node", "--test"]),
        lent: "node_modules",
        broken: ("add.js", "module.exports = (a, b) => require('dep')(a, b) + 1;\n"),
        says: ["pass 2", "adds"],
    })
}

/// A crate, whose build outside is not done again inside.
pub(crate) fn cargo() -> Option<Fixture> {
    let folder = toolchain_for_all()?;
    let mut sandbox = Sandbox::repository();
    sandbox.add_path(&folder);
    sandbox.write(".gitignore", "target\n");
    sandbox.write("Cargo.toml", "[package]\nname = \"calc\"\nversion = \"1.0.0\"\nedition = \"2021\"\n");
    sandbox.write("src/lib.rs", "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n");
    sandbox.write("tests/add.rs", "#[test]\nfn adds() {\n    assert_eq!(calc::add(1, 2), 3);\n}\n");
    let locked = sandbox.bare("cargo").args(["generate-lockfile", "--offline"]).outcome();
    assert_eq!(locked.ended, CommandEnd::Exit(0), "{locked:?}");
    sandbox.commit("The project");
    Some(Fixture {
        sandbox,
        command: words(&["cargo", "test", "--offline", "--locked"]),
        lent: "target",
        broken: ("src/lib.rs", "pub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n"),
        says: ["test adds ... ok", "test adds ... FAILED"],
    })
}

/// The folder of the toolchain's programs, where every user can execute them: its own place may be in a closed home. Its
/// files are linked beside the built tests, once.
fn toolchain_for_all() -> Option<PathBuf> {
    let own = toolchain()?.parent()?.to_owned();
    let beside = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let name = own.file_name()?;
    let place = beside.join(name);
    if !place.is_dir() {
        let made = tempfile::Builder::new().prefix("toolchain-").tempdir_in(beside).expect("a folder");
        let linked = made.path().join(name);
        for part in ["bin", "lib"] {
            link_folder(&own.join(part), &linked.join(part));
        }
        // Another test may have been faster.
        let _ = fs::rename(linked, &place);
    }
    Some(place.join("bin"))
}

fn link_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("the toolchain").flatten() {
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().expect("a type").is_dir() {
            link_folder(&source, &target);
        } else if fs::hard_link(&source, &target).is_err() {
            fs::copy(source, target).expect("a copy");
        }
    }
}

/// Specs with a module in an ignored folder.
pub(crate) fn busted() -> Option<Fixture> {
    need("busted")?;
    let sandbox = Sandbox::repository();
    sandbox.write("lua_modules/calc.lua", "return { add = function(a, b) return a + b end }\n");
    sandbox.write(".gitignore", "lua_modules\n");
    sandbox.write(".busted", "return { default = { lpath = './lua_modules/?.lua;./src/?.lua' } }\n");
    sandbox.write("src/twice.lua", "local calc = require 'calc'\nreturn function(a) return calc.add(a, a) end\n");
    let spec = "describe('twice', function()\n  it('doubles', function()\n    assert.are.equal(4, require('twice')(2))\n  end)\nend)\n";
    sandbox.write("spec/twice_spec.lua", spec);
    sandbox.commit("The project");
    Some(Fixture {
        sandbox,
        command: words(&["busted"]),
        lent: "lua_modules",
        broken: ("src/twice.lua", "return function(a) return a end\n"),
        says: ["1 success / 0 failures", "twice_spec.lua"],
    })
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("the package").flatten() {
        let target = to.join(entry.file_name());
        match entry.file_type().expect("a type") {
            kind if kind.is_dir() && entry.file_name() == "__pycache__" => {}
            kind if kind.is_dir() => copy_folder(&entry.path(), &target),
            _ => drop(fs::copy(entry.path(), target).expect("a copy")),
        }
    }
}

/// Whether a user can execute the program of a fixture.
pub(crate) fn can_execute(user: LabUser, fixture: &Fixture) -> bool {
    let program = &fixture.command[0];
    let found = user.run(&fixture.sandbox, "sh", &["-c", &format!("command -v {program}")]).outcome();
    if found.ended != CommandEnd::Exit(0) {
        crate::sandbox::skip(&format!("{program} cannot be executed by another user"));
    }
    found.ended == CommandEnd::Exit(0)
}

fn try_fixture(fixture: fn() -> Option<Fixture>) {
    for user in [LabUser::Own, LabUser::Nobody] {
        if !has_namespaces() || !user.is_here() {
            continue;
        }
        let Some(fixture) = fixture() else { return };
        if can_execute(user, &fixture) {
            fixture.agrees(user);
        }
    }
}

#[test]
fn pytest_in_a_virtual_environment() {
    try_fixture(python);
}

#[test]
fn node_with_packages() {
    try_fixture(node);
}

#[test]
fn cargo_with_a_build() {
    try_fixture(cargo);
}

#[test]
fn busted_with_a_module() {
    try_fixture(busted);
}

#[test]
fn what_was_built_outside_is_not_built_again() {
    if !has_namespaces() {
        return;
    }
    let Some(fixture) = cargo() else { return };
    fixture.run(LabUser::Own, &[]);
    let (ended, printed) = fixture.run(LabUser::Own, &["gate", "isolate", "--"]);
    assert_eq!(ended, CommandEnd::Exit(0), "{printed}");
    assert!(printed.contains("Finished") && !printed.contains("Compiling"), "{printed}");
    // A linked folder of packages is lent where it leads to.
    let packages = top_of(&fixture.sandbox).join("packages");
    fs::rename(fixture.sandbox.path("target"), &packages).expect("moved");
    std::os::unix::fs::symlink(&packages, fixture.sandbox.path("target")).expect("a link");
    fs::write(fixture.sandbox.path(".git/info/exclude"), "target\n").expect("ignored");
    let listed = fixture.sandbox.verify_run(["gate", "isolate", "--", "ls", "target/"]).prints();
    assert!(listed.contains("debug"), "{listed}");
}

#[test]
fn vitest_with_linked_packages() {
    let packages = tools().join("../node/node_modules");
    if !has_namespaces() || need("vitest").is_none() || !packages.is_dir() {
        return;
    }
    let mut sandbox = Sandbox::repository();
    sandbox.add_path(tools());
    sandbox.write("package.json", "{\"name\": \"p\", \"type\": \"module\"}\n");
    sandbox.write("add.test.ts", "import { expect, it } from 'vitest';\nit('adds', () => expect(1 + 2).toBe(3));\n");
    sandbox.write(".gitignore", "node_modules\n");
    std::os::unix::fs::symlink(packages, sandbox.path("node_modules")).expect("a link");
    sandbox.commit("The project");
    let command = ["vitest", "run", "--reporter", "verbose"];
    let outside = sandbox.bare(command[0]).args(&command[1..]).env("CI", "true").outcome();
    assert_eq!(outside.ended, CommandEnd::Exit(0), "{outside:?}");
    let inside = sandbox.verify_run(["gate", "isolate", "--"]).args(command).env("CI", "true").outcome();
    assert_eq!(inside.ended, CommandEnd::Exit(0), "{}{}", inside.stdout(), inside.stderr());
    assert!(inside.stdout().contains("1 passed"), "{}", inside.stdout());
}
