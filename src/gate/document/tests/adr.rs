use super::{added, changed, shown_answer};
use crate::gate::document::ChangedDocument;
use crate::gate::document::adr::{AdrInputs, DecisionRecord, DecisionStatus, adr_folders, is_adr_file, judge_adr};

const MADR: &str = "---\nstatus: accepted\ndate: 2026-01-01\n---\n# Use PostgreSQL\n\n## Context and Problem Statement\n\nWe need a store.\n\n## Considered Options\n\n* x\n\n## Decision Outcome\n\nChosen: PostgreSQL.\n";
const NYGARD: &str = "# 7. Use PostgreSQL\n\nDate: 2026-01-01\n\n## Status\n\nAccepted\n\n## Context\n\nWe need a store.\n\n## Decision\n\nWe use it.\n\n## Consequences\n\nNone.\n";
const PRP: &str = "# PRP: Store\n\n## Decision: the store\n\nText.\n";

fn judge(records: &[ChangedDocument<'_>], prp: Option<&str>, message: &str, changes: &[ChangedDocument<'_>]) -> String {
    let places = ["docs/adr".to_owned()];
    let base_paths = ["src/api/a.py".to_owned(), "docs/adr/0001-x.md".to_owned()];
    let inputs =
        AdrInputs { places: &places, records, prp, commit_messages: &[message], changes, base_paths: &base_paths };
    shown_answer(&judge_adr(&inputs))
}

#[test]
fn the_usual_forms_are_read() {
    let status = |text: &str| DecisionRecord::parse("docs/adr/0007-x.md", text).status;
    for text in [MADR, NYGARD] {
        let record = DecisionRecord::parse("docs/adr/0007-use-postgresql.md", text);
        assert_eq!((record.missing_parts(), record.number), (Vec::new(), Some(7)), "{record:?}");
    }
    assert_eq!(status("# T\n\n* Status: proposed\n"), Some(DecisionStatus::Proposed));
    assert_eq!(status("# T\n\n**Status:** Rejected\n"), Some(DecisionStatus::Rejected));
    assert_eq!(status("# T\n\n| Status | Deprecated |\n"), Some(DecisionStatus::Deprecated));
    assert_eq!(
        status("T\n=\n\nStatus\n------\n\nAccepted\n\nSuperceded by [9. Y](0009-y.md)\n"),
        Some(DecisionStatus::Superseded)
    );
    assert_eq!(status("# T\n## Status\nAccepted\n\nSupersedes [1. X](0001-x.md)\n"), Some(DecisionStatus::Accepted));
    assert_eq!(status("---\nstatus: \"{proposed | rejected | accepted}\"\n---\n# T\n"), None);
    assert_eq!(status("# T\n## Status\nwhatever\n"), None);
}

#[test]
fn an_empty_section_or_a_placeholder_is_none() {
    let cases = [
        (NYGARD.replace("We use it.\n", ""), "a decision section with text"),
        (NYGARD.replace("We use it.\n", "TBD\n"), "a decision section with text"),
        (NYGARD.replace("We use it.\n", "<!-- why -->\n"), "a decision section with text"),
        (NYGARD.replace("We need a store.\n", "{what is the problem}\n"), "a context section with text"),
        (NYGARD.replace("# 7. Use PostgreSQL\n", ""), "a title"),
    ];
    for (text, missing) in cases {
        let record = DecisionRecord::parse("docs/adr/0007-x.md", &text);
        assert_eq!(record.missing_parts(), [missing], "{text}");
    }
}

#[test]
fn a_decision_needs_a_record() {
    let found = judge(&[], Some(PRP), "feat: store", &[]);
    assert!(found.contains("looked in docs/adr") && found.contains("heading \"Decision: the store\""), "{found}");
    assert_eq!(judge(&[added("docs/adr/0007-x.md", MADR)], Some(PRP), "", &[]), "met: added docs/adr/0007-x.md");
    let edited = MADR.replace("Chosen", "We chose");
    assert_eq!(
        judge(&[changed("docs/adr/0007-x.md", MADR, &edited)], None, "", &[]),
        "met: changed docs/adr/0007-x.md"
    );
    let empty = NYGARD.replace("We use it.\n", "");
    let found = judge(&[added("docs/adr/0007-x.md", &empty)], None, "", &[]);
    assert!(found.starts_with("not met: docs/adr/0007-x.md the decision record lacks a decision section"), "{found}");
}

#[test]
fn a_record_may_be_named_by_the_prp_or_a_commit() {
    let old = |text| ChangedDocument::compare_texts("docs/adr/0007-x.md", Some(text), Some(text));
    for message in ["feat: y\n\nSee ADR-0007", "feat: y (adr 7)", "feat: docs/adr/0007-x.md", "x ../docs/adr/0007-x"] {
        assert_eq!(
            judge(&[old(MADR)], Some(PRP), message, &[]),
            "met: a commit message names docs/adr/0007-x.md",
            "{message}"
        );
    }
    for message in ["feat: ADR-0070", "feat: other/adr/0007-x.md", "ADR-00071", "MADR-7x"] {
        assert!(judge(&[old(MADR)], Some(PRP), message, &[]).starts_with("not met"), "{message}");
    }
    let superseded = MADR.replace("accepted", "superseded by ADR-0009");
    assert!(judge(&[old(&superseded)], Some(PRP), "ADR-7", &[]).contains("it is superseded"));
    assert!(judge(&[old(&superseded)], None, "ADR-7", &[]).starts_with("not applicable"));
}

#[test]
fn a_change_asks_for_a_decision_by_what_it_adds() {
    let found = judge(&[], None, "fix: x", &[changed("src/api/a.py", "a\n", "b\n")]);
    assert!(found.starts_with("not applicable: nothing asks for a decision record; looked for a heading"), "{found}");
    assert!(found.contains("dependency manifests") && found.contains("public API files"), "{found}");
    let cases = [
        (
            changed("package.json", "{\"dependencies\":{\"a\":\"1\"}}", "{\"dependencies\":{\"a\":\"2\",\"b\":\"1\"}}"),
            "new dependency `b`",
        ),
        (
            changed(
                "Cargo.toml",
                "[dependencies]\na = \"1\"\n",
                "[dependencies]\na = \"2\"\nserde = { version = \"1\" }\n",
            ),
            "`serde`",
        ),
        (changed("Cargo.toml", "", "[dev-dependencies.insta]\nversion = \"1\"\n"), "`insta`"),
        (
            changed(
                "pyproject.toml",
                "[project]\nname = \"x\"\n",
                "[project]\nname = \"x\"\ndependencies = [\n  \"uvicorn[standard]>=1\",\n  'httpx',\n]\n",
            ),
            "`httpx`",
        ),
        (changed("requirements-dev.txt", "a==1\n", "a==2\n# c\n-r x\nFlask_Login>=1\n"), "`flask-login`"),
        (
            changed(
                "go.mod",
                "module x\n",
                "module x\nrequire (\n\tgithub.com/a/b v1.0.0\n\tgithub.com/c/d v1 // indirect\n)\n",
            ),
            "`github.com/a/b`",
        ),
        (
            changed("pom.xml", "", "<dependency><groupId>g</groupId><artifactId>junit</artifactId></dependency>"),
            "`junit`",
        ),
        (changed("build.gradle.kts", "", "  implementation(\"a.b:c:1\")\n"), "`a.b:c`"),
        (changed("x-1.rockspec", "", "dependencies = {\n  \"lua >= 5.1\", \"penlight\"\n}\n"), "`penlight`"),
        (added("db/migrations/001_init.sql", "x"), "a new migration"),
        (added("Dockerfile", "FROM x"), "a new service or container file"),
        (added("src/billing/a.py", "x"), "top-level module `src/billing`"),
        (changed("api/users.proto", "a", "b"), "changed public API file"),
    ];
    for (change, reason) in cases {
        let found = judge(&[], None, "", std::slice::from_ref(&change));
        assert!(found.starts_with("not met") && found.contains(reason), "{}: {found}", change.path);
        assert!(!found.contains("`a`") && !found.contains("github.com/c/d"), "{found}");
    }
    for quiet in [
        changed("Cargo.toml", "[dependencies]\na = \"1\"\n", "[dependencies]\na = \"2\"\n"),
        added("src/api/b.py", "x"),
        added("tests/x/a.py", "x"),
    ] {
        assert!(judge(&[], None, "", std::slice::from_ref(&quiet)).starts_with("not applicable"), "{}", quiet.path);
    }
}

#[test]
fn folders_are_those_that_exist_and_stay_inside() {
    let places = [".adr-dir".to_owned(), "docs/decisions".to_owned(), "docs/adr".to_owned()];
    let files = ["docs/adr/0001-a.md".to_owned(), "my/adr/a.md".to_owned(), "docs/adrx/b.md".to_owned()];
    assert_eq!(adr_folders(None, &places, &files), ["docs/adr"]);
    assert_eq!(adr_folders(Some("./my/adr/\n"), &places, &files), ["my/adr", "docs/adr"]);
    assert_eq!(adr_folders(Some("../../etc"), &places, &files), ["docs/adr"]);
    let folders = ["docs/adr".to_owned()];
    assert!(is_adr_file("docs/adr/0001-a.md", &folders));
    for other in ["docs/adr/README.md", "docs/adr/adr-template.md", "docs/adr/a.png", "docs/adrx/a.md"] {
        assert!(!is_adr_file(other, &folders), "{other}");
    }
}
