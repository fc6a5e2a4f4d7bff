//! The folder itself: installing, looking and removing.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::Value;
use verify_run::run::CommandEnd;

use super::{folder, install, path_with};
use crate::sandbox::{Sandbox, VERIFY_RUN};

/// Every file, folder and link below `top`, with what is in it.
fn tree(top: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![top.to_owned()];
    while let Some(dir) = folders.pop() {
        for entry in fs::read_dir(&dir).expect("a folder").flatten() {
            let path = entry.path();
            let kind = entry.file_type().expect("a type");
            let content = if kind.is_symlink() {
                fs::read_link(&path).expect("a link").into_os_string().into_encoded_bytes()
            } else if kind.is_dir() {
                folders.push(path.clone());
                b"folder".to_vec()
            } else {
                fs::read(&path).expect("a file")
            };
            let mode = fs::symlink_metadata(&path).expect("a mode").mode().to_string();
            found.insert(path, [mode.as_bytes(), b" ", &content].concat());
        }
    }
    found
}

/// What `shims status` says of one program: its state and what is found.
fn state(sandbox: &Sandbox, name: &str, path: &std::ffi::OsStr) -> Option<(String, Option<String>)> {
    let status = sandbox.verify_run(["shims", "status", "--json"]).env("PATH", path).prints_json();
    let programs = status["programs"].as_array().expect("programs").clone();
    let entry = programs.into_iter().find(|entry| entry["name"] == name)?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let found = if entry["by"].is_null() { &entry["program"] } else { &entry["by"] };
    Some((text(&entry["state"]).expect("a state"), text(found)))
}

fn path_status(sandbox: &Sandbox, path: &std::ffi::OsStr) -> String {
    let status = sandbox.verify_run(["shims", "status", "--json"]).env("PATH", path).prints_json();
    status["path_status"].as_str().expect("a status").to_owned()
}

#[test]
fn what_was_made_is_removed_and_nothing_else() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "exit 0");
    let before = tree(&sandbox.home());
    let made = sandbox.verify_run(["shims", "install", "--json"]).prints_json();
    let names: Vec<&str> = made["made"].as_array().expect("names").iter().filter_map(Value::as_str).collect();
    assert!(names.contains(&"eslint") && !names.contains(&"sh") && !names.contains(&"git"), "{names:?}");
    assert_eq!(fs::read_link(folder(&sandbox).join("eslint")).expect("a link"), Path::new(VERIFY_RUN));
    assert_eq!(sandbox.git(["status", "--short"]), "");
    let installed = tree(&sandbox.home());
    // They are for all projects: one project's records go without them.
    let plan = sandbox.verify_run(["uninstall", "--json"]).prints_json();
    assert_eq!(plan["shims"], serde_json::json!(folder(&sandbox)));
    let again = sandbox.verify_run(["shims", "install", "--json"]).prints_json();
    assert_eq!((&again["made"], &again["mended"]), (&serde_json::json!([]), &serde_json::json!([])));
    assert_eq!(again["kept"], made["made"]);
    assert_eq!(tree(&sandbox.home()), installed, "installing twice is installing once");
    sandbox.verify_run(["shims", "uninstall"]).prints();
    assert_eq!(tree(&sandbox.home()), before);
    // What is not there is removed easily.
    assert!(sandbox.verify_run(["shims", "uninstall"]).prints().starts_with("nothing to do\n"));
    assert_eq!(tree(&sandbox.home()), before);
}

#[test]
fn files_that_are_not_ours_stay() {
    let sandbox = Sandbox::repository();
    for tool in ["eslint", "mypy", "pytest"] {
        sandbox.tool(tool, "exit 0");
    }
    fs::create_dir_all(folder(&sandbox)).expect("the folder");
    fs::write(folder(&sandbox).join("eslint"), "mine").expect("a file");
    symlink("/usr/bin/true", folder(&sandbox).join("mypy")).expect("a link");
    let done = sandbox.verify_run(["shims", "install", "eslint", "mypy", "pytest", "--json"]).prints_json();
    assert_eq!(done["made"], serde_json::json!(["pytest"]));
    assert_eq!(done["foreign"], serde_json::json!(["eslint", "mypy"]));
    let path = path_with(&sandbox, &[]);
    assert_eq!(state(&sandbox, "eslint", &path).expect("an entry").0, "foreign");
    let removed = sandbox.verify_run(["shims", "uninstall", "--json"]).prints_json();
    assert_eq!(removed["removed"], serde_json::json!(["pytest"]));
    assert_eq!(fs::read(folder(&sandbox).join("eslint")).expect("the file"), b"mine");
    assert_eq!(fs::read_link(folder(&sandbox).join("mypy")).expect("the link"), Path::new("/usr/bin/true"));
    assert!(!folder(&sandbox).join(".verify-run-shims").exists());
}

#[test]
fn status_says_how_each_program_stands() {
    let sandbox = Sandbox::repository();
    let eslint = sandbox.tool("eslint", "exit 0");
    install(&sandbox, &["eslint", "pytest"]);
    let path = path_with(&sandbox, &[]);
    assert_eq!(path_status(&sandbox, &path), "in_front");
    let said = |path: &std::ffi::OsStr, name| state(&sandbox, name, path).expect("an entry");
    let eslint = eslint.display().to_string();
    assert_eq!(said(&path, "eslint"), ("ready".to_owned(), Some(eslint.clone())));
    assert_eq!(said(&path, "pytest"), ("missing".to_owned(), None));
    // A tool that comes later is new until `install` is called again.
    let mypy = sandbox.tool("mypy", "exit 0").display().to_string();
    assert_eq!(said(&path, "mypy"), ("new".to_owned(), Some(mypy.clone())));
    sandbox.verify_run(["shims", "install"]).env("PATH", &path).prints();
    assert_eq!(said(&path, "mypy"), ("ready".to_owned(), Some(mypy)));
    assert_eq!(said(&path, "pytest").0, "missing", "one that was asked for stays");
    // Behind the programs they are of no use.
    let places: Vec<_> = std::env::split_paths(&path).collect();
    let behind = std::env::join_paths(places[1..].iter().chain(&places[..1])).expect("a path");
    assert_eq!(path_status(&sandbox, &behind), "shadowed");
    assert_eq!(said(&behind, "eslint"), ("shadowed".to_owned(), Some(eslint)));
    let without = std::env::join_paths(&places[1..]).expect("a path");
    assert_eq!(path_status(&sandbox, &without), "not_on_path");
    let text = sandbox.verify_run(["shims", "status"]).env("PATH", &without).env("SHELL", "/bin/zsh").outcome();
    assert!(
        text.stderr().contains("command -v verify-run >/dev/null && eval \"$(verify-run init zsh)\""),
        "{}",
        text.stderr()
    );
    // The same folder by another name is the same folder.
    symlink(folder(&sandbox), sandbox.home().join("my-shims")).expect("a link");
    let places: Vec<_> = [sandbox.home().join("my-shims")].into_iter().chain(places[1..].iter().cloned()).collect();
    assert_eq!(path_status(&sandbox, &std::env::join_paths(places).expect("a path")), "in_front");
}

#[test]
fn doctor_says_whether_the_shims_come_first() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "exit 0");
    let said = |path: &std::ffi::OsStr| {
        let report = sandbox.verify_run(["doctor", "--json"]).env("PATH", path).outcome();
        let report: Value = serde_json::from_slice(&report.stdout).expect("JSON");
        let findings = report["findings"].as_array().expect("findings").clone();
        let found = findings.into_iter().find(|finding| finding["name"] == "shims");
        found.map(|finding| (finding["status"].clone(), finding["hint"].clone()))
    };
    let path = path_with(&sandbox, &[]);
    assert_eq!(said(&path), None);
    install(&sandbox, &["eslint"]);
    assert_eq!(said(&path), Some(("ok".into(), Value::Null)));
    let places: Vec<_> = std::env::split_paths(&path).collect();
    let behind = std::env::join_paths(places[1..].iter().chain(&places[..1])).expect("a path");
    assert_eq!(said(&behind), Some(("warning".into(), "verify-run shims status".into())));
}

#[test]
fn a_shim_that_leads_to_an_older_place_is_mended() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "exit 0");
    install(&sandbox, &["eslint"]);
    let link = folder(&sandbox).join("eslint");
    fs::remove_file(&link).expect("the shim");
    symlink("/opt/gone/verify-run", &link).expect("a link");
    let path = path_with(&sandbox, &[]);
    assert_eq!(state(&sandbox, "eslint", &path).expect("an entry").0, "stale");
    // Until then the link leads nowhere, and a shell finds the program behind it.
    super::by_name(&sandbox, "eslint").expect(CommandEnd::Exit(0), "", "");
    let done = sandbox.verify_run(["shims", "install", "--json"]).prints_json();
    assert_eq!(done["mended"], serde_json::json!(["eslint"]));
    assert_eq!(state(&sandbox, "eslint", &path).expect("an entry").0, "ready");
}

#[test]
fn links_lead_to_the_path_that_an_update_keeps() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "exit 0");
    // As a package manager does: a link on PATH to the version that is installed.
    let stable = sandbox.tmp().join("stable");
    fs::create_dir_all(&stable).expect("a folder");
    symlink(VERIFY_RUN, stable.join("verify-run")).expect("a link");
    let path = path_with(&sandbox, &[&stable]);
    sandbox.verify_run(["shims", "install", "eslint"]).env("PATH", &path).prints();
    assert_eq!(fs::read_link(folder(&sandbox).join("eslint")).expect("a link"), stable.join("verify-run"));
}

#[test]
fn one_shim_is_removed_by_its_name_and_the_last_one_with_its_folder() {
    let sandbox = Sandbox::repository();
    let before = tree(&sandbox.home());
    install(&sandbox, &["eslint", "pytest"]);
    let removed = sandbox.verify_run(["shims", "uninstall", "eslint", "--json"]).prints_json();
    assert_eq!(
        (&removed["removed"], &removed["kept"]),
        (&serde_json::json!(["eslint"]), &serde_json::json!(["pytest"]))
    );
    let outcome = sandbox.verify_run(["shims", "uninstall", "eslint"]).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(1));
    assert!(outcome.stderr().contains("no shim `eslint`"), "{}", outcome.stderr());
    sandbox.verify_run(["shims", "uninstall", "pytest"]).prints();
    assert_eq!(tree(&sandbox.home()), before);
}

#[test]
fn only_programs_of_the_whitelist_get_one() {
    let sandbox = Sandbox::repository();
    let before = tree(&sandbox.home());
    for name in ["own-tool", "../eslint", "verify-run", ".rounds", ""] {
        let outcome = sandbox.verify_run(["shims", "install", "eslint", name]).outcome();
        assert_eq!((outcome.ended, outcome.stdout()), (CommandEnd::Exit(2), ""), "{name}");
        assert!(outcome.stderr().contains("verify-run whitelist list"), "{}", outcome.stderr());
    }
    assert_eq!(tree(&sandbox.home()), before);
    // The project's own layer counts, versions in names too, and what is left out can be asked for.
    sandbox.write(
        "whitelist.toml",
        "verify_run_schema = 1\n[[tool]]\nname = \"own\"\nkind = \"lint\"\nbins = [\"own-tool\"]\n",
    );
    install(&sandbox, &["own-tool", "python3.12", "bash"]);
    sandbox.tool("own-tool", "exit 3");
    super::by_name(&sandbox, "own-tool").expect(CommandEnd::Exit(3), "", "");
    assert_eq!(super::recorded(&sandbox), ["own-tool"]);
}

#[test]
fn without_a_place_nothing_is_made() {
    let sandbox = Sandbox::repository();
    let homeless = sandbox.verify_run(["shims", "install"]).without("HOME").outcome();
    assert_eq!(homeless.ended, CommandEnd::Exit(1));
    assert!(homeless.stderr().contains("set HOME"), "{}", homeless.stderr());
    let colon = sandbox.verify_run(["shims", "install"]).env("XDG_DATA_HOME", sandbox.tmp().join("a:b")).outcome();
    assert_eq!(colon.ended, CommandEnd::Exit(1));
    assert!(colon.stderr().contains("colon"), "{}", colon.stderr());
    assert!(!sandbox.tmp().join("a:b").exists());
}

#[test]
fn tools_of_the_project_s_virtual_environment_get_shims() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "");
    install(&sandbox, &["eslint"]);
    super::script(&sandbox.path(".venv/bin/mypy"), "#!/bin/sh\necho typed; exit 1\n");
    super::script(&sandbox.path(".venv/bin/some-tool-of-mine"), "#!/bin/sh\n");
    let path = path_with(&sandbox, &[]);
    let status = sandbox.verify_run(["shims", "status"]).env("PATH", &path).outcome();
    let new = status.stdout();
    let line = new.lines().find(|line| line.contains("mypy")).unwrap_or_else(|| panic!("{new}"));
    assert!(line.contains("new") && line.contains(".venv/bin/mypy"), "{line}");
    let said = sandbox.verify_run(["doctor"]).env("PATH", &path).outcome();
    assert!(
        said.stdout().contains("warning  shims: mypy of the virtual environment have no shim"),
        "{}",
        said.stdout()
    );
    install(&sandbox, &[]);
    assert!(folder(&sandbox).join("mypy").is_symlink());
    assert!(!folder(&sandbox).join("some-tool-of-mine").exists());
    let said = sandbox.verify_run(["doctor"]).env("PATH", &path).outcome();
    assert!(!said.stdout().contains("of the virtual environment"), "{}", said.stdout());
    // Activated, and the shims in front again: it is the environment's tool that runs, and it is recorded.
    let active = path_with(&sandbox, &[&sandbox.path(".venv/bin")]);
    let run = sandbox.bare("env").args(["mypy", "src"]).env("PATH", active).outcome();
    assert_eq!((run.ended, run.stdout()), (verify_run::run::CommandEnd::Exit(1), "typed\n"));
    assert_eq!(super::recorded(&sandbox), ["mypy src"]);
}
