//! Receipts of another machine: two machines, each with a clone, a state folder, a home and programs of its own.

use std::fs;

use serde_json::{Value, json};
use verify_run::run::CommandEnd;

use super::{is_reused, reuse, runs_saying};
use crate::sandbox::{Outcome, Sandbox, need};

/// What the test runner of these tests does.
const RUNNER: &str = "[ \"$1\" = --version ] && { echo 'pytest 8.3.2'; exit; }\necho '===== 3 passed in 0.01s ====='";
/// The same of another version, which tests the same.
const OTHER_RUNNER: &str =
    "[ \"$1\" = --version ] && { echo 'pytest 8.4.0'; exit; }\necho '===== 3 passed in 0.01s ====='";
/// One without a version.
const SILENT_RUNNER: &str = "[ \"$1\" = --version ] && exit 1\necho '===== 3 passed in 0.01s ====='";
const SETTINGS: &str = "[receipts]\nenvironment = \"toolchain\"\n";
/// A package of the Python environment with the digests that its installer wrote down.
const RECORD: &str = ".venv/lib/python3.11/site-packages/shop-1.0.dist-info/RECORD";

/// A machine with a clone.
fn machine(settings: &str) -> Sandbox {
    let sandbox = Sandbox::repository();
    sandbox.tool("pytest", RUNNER);
    sandbox.write("src/a.py", "A = 1\n");
    sandbox.write(".gitignore", ".venv\nnode_modules\n");
    sandbox.commit("The project");
    write_settings(&sandbox, settings);
    sandbox.write(".venv/pyvenv.cfg", format!("home = {}\nversion = 3.11\n", sandbox.home().display()));
    sandbox.write(RECORD, "shop/__init__.py,sha256=aaaa,12\n");
    sandbox.write(".venv/lib/python3.11/site-packages/shop/__init__.py", "PRICE = 1\n");
    sandbox
}

/// Two machines, of which the second one accepts the key of the first one, which has a signed receipt.
struct Machines {
    there: Sandbox,
    here: Sandbox,
    signed: String,
}

impl Machines {
    fn with_settings(settings: &str) -> Self {
        let (there, here) = (machine(settings), machine(settings));
        runs_saying(reuse(&there), "");
        let created = there.verify_run(["gate", "receipt", "key", "new"]).prints();
        let public = created.split('\t').next().expect("a file");
        accept(&here, &fs::read_to_string(public).expect("a key"));
        let signed = there.verify_run(["gate", "receipt", "export", "--sign"]).prints();
        Machines { there, here, signed }
    }

    fn new() -> Self {
        Machines::with_settings(SETTINGS)
    }

    /// Machines of which the second one has the receipt.
    fn sharing() -> Self {
        let machines = Machines::new();
        let imported = machines.import(&machines.signed);
        assert_eq!((imported.ended, imported.stderr()), (CommandEnd::Exit(0), ""), "{}", imported.stdout());
        assert!(imported.stdout().starts_with("e-") && imported.stdout().contains("\tpytest\tsigned by "));
        machines
    }

    fn import(&self, envelope: &str) -> Outcome {
        let file = self.here.tmp().join("signed.json");
        fs::write(&file, envelope).expect("written");
        self.here.verify_run(["gate", "receipt", "import"]).arg(file).outcome()
    }

    /// The check runs here, because of this.
    #[track_caller]
    fn differ(&self, why: &str) {
        runs_saying(reuse(&self.here), &format!("not reused: {why}"));
    }
}

/// The user's own settings.
fn write_settings(sandbox: &Sandbox, settings: &str) {
    let folder = sandbox.home().join(".config/verify-run");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("verify-run.toml"), settings).expect("written");
}

fn accept(sandbox: &Sandbox, public: &str) {
    let folder = sandbox.home().join(".config/verify-run/receipt-keys");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("team.pub"), public).expect("written");
}

/// What is signed in an envelope.
fn payload(envelope: &str) -> Value {
    let envelope: Value = serde_json::from_str(envelope).expect("JSON");
    let text = data_encoding::BASE64.decode(envelope["payload"].as_str().expect("text").as_bytes()).expect("Base64");
    serde_json::from_slice(&text).expect("JSON")
}

/// The envelope with another payload, and the signature as it was.
fn edited(envelope: &str, payload: &Value) -> String {
    let mut envelope: Value = serde_json::from_str(envelope).expect("JSON");
    envelope["payload"] = data_encoding::BASE64.encode(payload.to_string().as_bytes()).into();
    envelope.to_string()
}

#[test]
fn a_pass_elsewhere_is_reused_where_versions_and_contents_are_the_same() {
    let machines = Machines::sharing();
    let id = payload(&machines.signed)["predicate"]["configuration"][0]["annotations"]["receipt"].clone();
    let reused = reuse(&machines.here).outcome();
    assert!(is_reused(&reused), "{}", reused.stderr());
    let line = format!(
        "verify-run: reused: passed just now elsewhere on this tree ({} signed by ",
        id.as_str().expect("an id")
    );
    assert!(reused.stderr().starts_with(&line) && reused.stderr().ends_with("), 3 tests\n"), "{}", reused.stderr());
    // The home, the clone's place, PATH and CI are the machine's own.
    assert!(is_reused(&reuse(&machines.here).env("CI", "true").outcome()));
    let check = machines.here.verify_run(["gate", "receipt", "check", "--json", "--", "pytest"]).prints_json();
    assert_eq!((&check["covered"], &check["receipt"]["id"]), (&true.into(), &id), "{check}");
    // Another command was not signed, and without the option the check runs.
    runs_saying(machines.here.verify_run(["--reuse", "--sync", "pytest", "-q"]), "");
    assert!(!machines.here.verify_run(["pytest"]).outcome().stdout().is_empty());
}

#[test]
fn each_refusal_of_a_pass_elsewhere_names_what_differs() {
    let machines = Machines::sharing();
    let here = &machines.here;
    // Whatever ran here leaves no receipt of its own: each run is on other inputs.
    here.tool("pytest", OTHER_RUNNER);
    machines.differ("pytest is pytest 8.4.0 here, and pytest 8.3.2 where it passed");
    here.tool("pytest", RUNNER);
    assert!(is_reused(&reuse(here).outcome()), "as it was");
    here.write(RECORD, "shop/__init__.py,sha256=bbbb,12\n");
    machines.differ(".venv differs from where it passed");
    here.write(RECORD, "shop/__init__.py,sha256=aaaa,12\n");
    here.write("node_modules/left-pad/index.js", "");
    machines.differ("node_modules differs from where it passed");
    fs::remove_dir_all(here.path("node_modules")).expect("removed");
    runs_saying(reuse(here).env("NODE_ENV", "x"), "not reused: NODE_ENV differs from where it passed");
    here.write("src/a.py", "A = 2\n");
    runs_saying(reuse(here), "not reused: src/a.py changed");
    here.write("src/a.py", "A = 1\n");
    assert!(is_reused(&reuse(here).outcome()), "as it was");
}

#[test]
fn a_package_that_no_list_describes_counts_byte_by_byte() {
    let machines = Machines::sharing();
    machines.here.write(".venv/lib/python3.11/site-packages/extra.py", "A = 1\n");
    machines.differ(".venv differs from where it passed");
}

#[test]
fn a_variable_that_only_one_machine_names_was_not_looked_at_on_the_other() {
    let machines = Machines::sharing();
    write_settings(&machines.here, &format!("{SETTINGS}[fix]\nenvironment = [\"SHOP_DB\"]\n"));
    machines.differ("the setting `fix.environment` differs from where it passed");
}

#[test]
fn a_pass_of_other_files_elsewhere_is_not_reused() {
    let machines = Machines::sharing();
    machines.here.write("src/a.py", "A = 2\n");
    machines.differ("src/a.py changed");
    // A mode is part of the tree, too.
    let machines = Machines::sharing();
    machines.here.bare("chmod").args(["+x", "src/a.py"]).outcome();
    machines.differ("src/a.py changed");
}

#[test]
fn only_a_key_that_the_user_accepts_counts() {
    let machines = Machines::sharing();
    let keys = machines.here.home().join(".config/verify-run/receipt-keys");
    fs::rename(&keys, machines.here.home().join("keys")).expect("moved");
    // Neither the repository nor its state folder can say whom to trust.
    for folder in [machines.here.work(), machines.here.state()] {
        let own = folder.join("receipt-keys");
        fs::create_dir_all(&own).expect("a folder");
        fs::copy(machines.here.home().join("keys/team.pub"), own.join("team.pub")).expect("copied");
    }
    fs::write(machines.here.path(".git/info/exclude"), "receipt-keys\n").expect("written");
    let refused = machines.import(&machines.signed);
    assert_eq!(refused.ended, CommandEnd::Exit(1));
    assert!(refused.stderr().contains("no accepted key signed it"), "{}", refused.stderr());
    machines.differ("no accepted key signed the receipt of another machine");
    // Another key, for the same receipt.
    let machines = Machines::sharing();
    let other = machine(SETTINGS);
    let created = other.verify_run(["gate", "receipt", "key", "new"]).prints();
    accept(&machines.here, &fs::read_to_string(created.split('\t').next().expect("a file")).expect("a key"));
    machines.differ("no accepted key signed the receipt of another machine");
}

#[test]
fn an_edited_statement_is_neither_imported_nor_reused() {
    let machines = Machines::new();
    machines.here.tool("pytest", OTHER_RUNNER);
    let statement = payload(&machines.signed);
    let text = statement.to_string();
    assert!(text.contains("pytest 8.3.2"), "{text}");
    let changed: Value = serde_json::from_str(&text.replace("pytest 8.3.2", "pytest 8.4.0")).expect("JSON");
    let envelope = edited(&machines.signed, &changed);
    assert_eq!(machines.import(&envelope).ended, CommandEnd::Exit(1));
    // In a segment of another writer, beside the signed one.
    assert_eq!(machines.import(&machines.signed).ended, CommandEnd::Exit(0));
    machines.here.settle();
    let segments: Vec<_> = fs::read_dir(machines.here.state().join("events")).expect("events").flatten().collect();
    let lines: String = segments.iter().filter_map(|file| fs::read_to_string(file.path()).ok()).collect();
    let line = lines.lines().find(|line| line.contains("\"signed_receipt\"")).expect("the event");
    let mut event: Value = serde_json::from_str(line).expect("JSON");
    event["id"] = "0197a000-0000-7000-8000-000000000001".into();
    event["writer"] = "stranger".into();
    let place = if event["envelope"].is_string() { &mut event["envelope"] } else { &mut event["body"]["envelope"] };
    *place = envelope.into();
    let file = machines.here.tmp().join("stranger-2026-01.jsonl");
    fs::write(&file, format!("{event}\n")).expect("written");
    let imported = machines.here.verify_run(["store", "import", "--json"]).arg(&file).prints_json();
    assert_eq!(imported["events"], json!(1), "{imported}");
    machines.differ("pytest is pytest 8.4.0 here, and pytest 8.3.2 where it passed");
}

#[test]
fn by_default_and_by_a_repository_s_settings_only_own_receipts_count() {
    let machines = Machines::sharing();
    write_settings(&machines.here, "[receipts]\nenvironment = \"machine\"\n");
    runs_saying(reuse(&machines.here), "");
    // A repository's file does not change that.
    let share = |settings: &str| {
        let machines = Machines::sharing();
        write_settings(&machines.here, settings);
        for machine in [&machines.there, &machines.here] {
            machine.write("verify-run.toml", SETTINGS);
            machine.commit("Ask for receipts of other machines");
        }
        runs_saying(reuse(&machines.there), "not reused: verify-run.toml changed");
        let signed = machines.there.verify_run(["gate", "receipt", "export", "--sign"]).prints();
        machines.import(&signed);
        reuse(&machines.here).outcome()
    };
    assert!(!is_reused(&share("")));
    assert!(is_reused(&share(SETTINGS)));
    let machines = Machines::with_settings("");
    assert!(!payload(&machines.signed).to_string().contains("toolchain"));
    let refused = machines.import(&machines.signed);
    assert_eq!(refused.ended, CommandEnd::Exit(1));
    assert!(refused.stderr().contains("does not say with which versions"), "{}", refused.stderr());
    assert!(!machines.there.state().join("versions.json").exists(), "no program was asked");
    runs_saying(reuse(&machines.here), "");
}

#[test]
fn what_is_not_known_counts_as_different() {
    let machines = Machines::sharing();
    machines.here.tool("pytest", SILENT_RUNNER);
    machines.differ("the version of pytest is not known yet");
    // What its programs are is not known by a version.
    let there = machine(SETTINGS);
    there.tool("make", "echo '===== 3 passed in 0.01s ====='");
    there.write("Makefile", "test:\n\tpytest\n");
    there.verify_run(["gate", "receipt", "key", "new"]).prints();
    runs_saying(there.verify_run(["--reuse", "--sync", "make", "test"]), "");
    let exported = there.verify_run(["gate", "receipt", "export", "--sign"]).outcome();
    assert_eq!(exported.ended, CommandEnd::Exit(0), "{}", exported.stderr());
    assert!(exported.stderr().contains("other machines cannot reuse e-"), "{}", exported.stderr());
    assert!(!payload(exported.stdout()).to_string().contains("toolchain versions"));
}

#[test]
fn a_failure_here_outweighs_a_pass_elsewhere() {
    let machines = Machines::sharing();
    machines.here.tool(
        "pytest",
        "[ \"$1\" = --version ] && { echo 'pytest 8.3.2'; exit; }\necho '== 1 failed in 0.01s =='; exit 1",
    );
    let failed = machines.here.verify_run(["--sync", "pytest"]).outcome();
    assert_eq!(failed.ended, CommandEnd::Exit(1));
    machines.here.tool("pytest", RUNNER);
    machines.differ("it failed on these files here");
    // A check that is in doubt there is not signed.
    machines.there.tool("pytest", "echo '== 1 failed in 0.01s =='; exit 1");
    machines.there.verify_run(["--sync", "pytest"]).outcome();
    let refused = machines.there.verify_run(["gate", "receipt", "export", "--sign"]).outcome();
    assert_eq!((refused.ended, refused.stdout()), (CommandEnd::Exit(1), ""));
    assert!(refused.stderr().contains("proves nothing"), "{}", refused.stderr());
}

#[test]
fn real_tests_of_node_are_reused_on_another_machine() {
    let (Some(npm), Some(_)) = (need("npm"), need("node")) else { return };
    let shop = || {
        let mut sandbox = Sandbox::repository();
        sandbox.add_path(npm.parent().expect("a folder"));
        sandbox.write("package.json", "{\"name\": \"shop\", \"scripts\": {\"test\": \"node --test\"}}");
        sandbox.write("test/price.test.js", "require('node:test')('costs', () => {});\n");
        sandbox.write(".gitignore", "node_modules\n");
        sandbox.commit("The shop");
        write_settings(&sandbox, SETTINGS);
        sandbox
    };
    let (there, here) = (shop(), shop());
    let test = |sandbox: &Sandbox| sandbox.verify_run(["--reuse", "--sync", "npm", "test"]).outcome();
    assert!(!is_reused(&test(&there)));
    let created = there.verify_run(["gate", "receipt", "key", "new"]).prints();
    accept(&here, &fs::read_to_string(created.split('\t').next().expect("a file")).expect("a key"));
    let signed = there.verify_run(["gate", "receipt", "export", "--sign"]).outcome();
    assert_eq!(signed.stderr(), "");
    let file = here.tmp().join("signed.json");
    fs::write(&file, signed.stdout()).expect("written");
    here.verify_run(["gate", "receipt", "import"]).arg(file).prints();
    let reused = test(&here);
    assert!(is_reused(&reused) && reused.stderr().ends_with("), 1 test\n"), "{}", reused.stderr());
    here.write("node_modules/.package-lock.json", "{\"packages\": {\"left-pad\": {}}}");
    assert_eq!(test(&here).stderr(), "verify-run: not reused: node_modules differs from where it passed\n");
}
