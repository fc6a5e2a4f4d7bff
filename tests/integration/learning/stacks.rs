//! Fixes of real projects of four kinds, proven by this user and by one without rights. What was lent stays as it was.

use serde_json::Value;
use verify_run::run::CommandEnd;

use crate::lab::fixtures::{Fixture, assert_same, busted, can_execute, cargo, node, python};
use crate::lab::{LabUser, contents_of, has_namespaces, left_by_labs};
use crate::sandbox::wait_until;

impl Fixture {
    /// A reply of verify-run.
    fn reply(&self, user: LabUser, words: &[&str]) -> Value {
        let outcome = user.verify_run(&self.sandbox, &[words, &["--json"]].concat()).outcome();
        assert_eq!(outcome.ended, CommandEnd::Exit(0), "{words:?}: {}{}", outcome.stdout(), outcome.stderr());
        serde_json::from_slice(&outcome.stdout).expect("JSON")
    }

    /// Fails, is mended and proven.
    fn is_proven(&self, user: LabUser) {
        let mended = self.sandbox.read(self.broken.0);
        self.sandbox.write(self.broken.0, self.broken.1);
        // The project has had the bug from its start: what goes back to a committed state is a slip.
        let amend = ["commit", "--quiet", "--all", "--amend", "--no-edit"];
        let committed = user.run(&self.sandbox, "git", &amend).outcome();
        assert_eq!(committed.ended, CommandEnd::Exit(0), "{}", committed.stderr());
        let (ended, printed) = self.run(user, &["--sync"]);
        assert!(ended != CommandEnd::Exit(0) && printed.contains(self.says[1]), "{user:?}: {printed}");
        self.sandbox.write(self.broken.0, mended);
        let (ended, printed) = self.run(user, &["--sync"]);
        assert_eq!(ended, CommandEnd::Exit(0), "{user:?}: {printed}");
        let done = self.reply(user, &["task", "done"]);
        let id = done["harvest"]["jobs"][0]["job"].as_str().unwrap_or_else(|| panic!("no job: {done:#}")).to_owned();
        let before = contents_of(&self.sandbox.path(self.lent));
        assert!(!before.is_empty(), "{} is empty", self.lent);
        self.reply(user, &["library", "init", "--by", "Ada"]);
        wait_until("the job is queued", || self.reply(user, &["library", "job", &id])["state"] == "queued");
        self.reply(user, &["library", "work", "--once"]);
        let page = self.reply(user, &["library", "job", &id]);
        assert_eq!(
            (&page["state"], &page["judgement"]["evidence"], &page["minimal"]["is_minimal"]),
            (&"candidate".into(), &"proven".into(), &true.into()),
            "{user:?}: {page:#}"
        );
        assert!(
            page["trials"].as_array().expect("trials").iter().all(|trial| trial["level"] == "namespaces"),
            "{page:#}"
        );
        assert_same(&contents_of(&self.sandbox.path(self.lent)), &before);
        assert_eq!(left_by_labs(&self.sandbox).len(), 0);
    }
}

fn prove(fixture: fn() -> Option<Fixture>) {
    for user in [LabUser::Own, LabUser::Nobody] {
        if !has_namespaces() || !user.is_here() {
            continue;
        }
        let Some(fixture) = fixture() else { return };
        if can_execute(user, &fixture) {
            fixture.is_proven(user);
        }
    }
}

#[test]
fn a_fix_that_pytest_shows_in_a_virtual_environment() {
    prove(python);
}

#[test]
fn a_fix_that_node_shows_with_packages() {
    prove(node);
}

#[test]
fn a_fix_that_cargo_shows_with_a_build() {
    prove(cargo);
}

#[test]
fn a_fix_that_busted_shows_with_a_module() {
    prove(busted);
}
