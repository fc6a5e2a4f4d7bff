//! `verify-run report`: a recorded run in other tools' formats, checked against their schemas.

use std::path::{Path, PathBuf};

use verify_run::run::CommandEnd;

use crate::sandbox::{Sandbox, need, skip, tools};

/// A linter's findings with everything that has to be escaped somewhere.
const OUTPUT: &str = "\n/W/src/a & b%.js\n  1:5  error  '<x>' is not \"defined\": 100%, really  no-undef\n  \
                      2:1  warning  Odd  no-odd\n\n✖ 2 problems (1 error, 1 warning)\n";

/// A project with a failure of eslint recorded.
fn failed() -> Sandbox {
    let sandbox = Sandbox::repository();
    sandbox.write("src/a & b%.js", "x");
    let output = OUTPUT.replace("/W", sandbox.work().to_str().expect("UTF-8"));
    sandbox.write("out.txt", &output);
    sandbox.tool("eslint", "cat out.txt; exit 1");
    sandbox.verify_run(["--sync", "eslint", "."]).expect(CommandEnd::Exit(1), &output, "");
    sandbox
}

/// A project whose last check passed.
fn passed() -> Sandbox {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "exit 0");
    sandbox.verify_run(["--sync", "eslint", "."]).expect(CommandEnd::Exit(0), "", "");
    sandbox
}

fn report(sandbox: &Sandbox, format: &str) -> String {
    sandbox.verify_run(["report", "--format", format]).prints()
}

/// Runs a line of Python over the schema and each document.
pub(crate) fn validate(script: &str, schema: &Path, documents: &[String]) {
    let Some(python) = need("schema-python") else { return };
    if !schema.exists() {
        return skip(&format!("{} is missing", schema.display()));
    }
    for document in documents {
        let sandbox = Sandbox::new();
        let file = sandbox.write("document", document);
        let outcome = sandbox.bare(&python).arg("-c").arg(script).arg(schema).arg(file).outcome();
        assert_eq!(outcome.ended, CommandEnd::Exit(0), "{}\n{document}", outcome.stderr());
    }
}

pub(crate) const JSON: &str = "import json, sys, jsonschema\nschema, document = (json.load(open(name)) for name in sys.argv[1:])\n\
                    jsonschema.validate(document, schema)";
/// docs.gitlab.com, "Code Quality", "Code Quality report format".
pub(crate) const GITLAB: &str = r#"{"type": "array", "items": {"type": "object",
            "required": ["description", "check_name", "fingerprint", "severity", "location"],
            "properties": {
                "description": {"type": "string", "minLength": 1},
                "check_name": {"type": "string", "minLength": 1},
                "fingerprint": {"type": "string", "minLength": 32},
                "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
                "location": {"type": "object", "required": ["path", "lines"], "properties": {
                    "path": {"type": "string", "pattern": "^(?!/|\\./)"},
                    "lines": {"type": "object", "required": ["begin"],
                        "properties": {"begin": {"type": "integer", "minimum": 1}}}}}}}}"#;
pub(crate) const XML: &str = "import sys\nfrom lxml import etree\n\
                   etree.XMLSchema(etree.parse(sys.argv[1])).assertValid(etree.parse(sys.argv[2]))";

#[test]
fn sarif_is_valid_by_the_standards_schema() {
    let schema = "../node/node_modules/@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json";
    validate(JSON, &tools().join(schema), &[report(&failed(), "sarif"), report(&passed(), "sarif")]);
}

#[test]
fn junit_is_valid_by_jenkins_schema() {
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/jenkins-junit.xsd");
    validate(XML, &schema, &[report(&failed(), "junit"), report(&passed(), "junit")]);
}

#[test]
fn gitlab_has_the_shape_that_its_documentation_gives() {
    let sandbox = Sandbox::new();
    let schema: PathBuf = sandbox.write("schema.json", GITLAB);
    validate(JSON, &schema, &[report(&failed(), "gitlab"), report(&passed(), "gitlab")]);
}

#[test]
fn checkstyle_is_read_back_with_its_text_as_it_was() {
    let script = "import sys\nfrom lxml import etree\nroot = etree.parse(sys.argv[2]).getroot()\n\
                  found = [(file.get('name'), e.get('line'), e.get('severity'), e.get('message'), e.get('source'))\n    \
                  for file in root for e in file]\n\
                  assert root.tag == 'checkstyle' and root.get('version')\n\
                  assert found == [('src/a & b%.js', '1', 'error', \"'<x>' is not \\\"defined\\\": 100%, really\", \
                  'eslint.no-undef')], found";
    validate(script, Path::new("/"), &[report(&failed(), "checkstyle")]);
}

#[test]
fn a_run_is_named_by_its_failure_and_the_last_one_is_meant_otherwise() {
    let sandbox = failed();
    let expected = "::error file=src/a & b%25.js,line=1,col=5,title=eslint%3A no-undef::'<x>' is not \"defined\": \
                    100%25, really\n";
    assert_eq!(report(&sandbox, "github"), expected);
    let failure = sandbox.events()[0]["failure"]["id"].as_str().expect("an id").to_owned();
    sandbox.tool("eslint", "exit 0");
    sandbox.verify_run(["--sync", "eslint", "."]).expect(CommandEnd::Exit(0), "", "");
    assert_eq!(report(&sandbox, "github"), "");
    assert_eq!(sandbox.verify_run(["report", "--format", "github", &failure[..5]]).prints(), expected);
    let unknown = sandbox.verify_run(["report", "--format", "github", "f-zzzz"]).outcome();
    assert_eq!((unknown.ended, unknown.stdout()), (CommandEnd::Exit(1), ""));
    assert!(unknown.stderr().contains("f-zzzz"), "{}", unknown.stderr());
}

#[test]
fn a_report_that_the_command_names_is_read() {
    let junit = "<testsuites><testsuite name='s'><testcase classname='shop.Cart' name='adds'><failure type='Assertion' \
                 message='2 is not 3'>src/cart.x:7: here</failure></testcase><testcase name='fine'/></testsuite></testsuites>";
    let sandbox = Sandbox::repository();
    sandbox.write("src/cart.x", "x");
    sandbox
        .tool("pytest", &format!("mkdir -p out; echo \"{junit}\" >out/junit.xml; echo 'see out/junit.xml.'; exit 1"));
    sandbox.verify_run(["--sync", "pytest"]).expect(CommandEnd::Exit(1), "see out/junit.xml.\n", "");
    let item = &sandbox.events()[0]["failure"]["items"][0];
    assert_eq!((&item["test"], &item["message"]), (&"shop.Cart.adds".into(), &"2 is not 3".into()), "{item}");
    assert_eq!((&item["file"], &item["line"], &item["code"]), (&"src/cart.x".into(), &7.into(), &"Assertion".into()));
    assert!(sandbox.lesson().text.contains("2 is not 3"));
}

#[test]
fn a_report_of_an_earlier_run_or_from_elsewhere_is_not_read() {
    let sarif = r#"{"version":"2.1.0","runs":[{"results":[{"ruleId":"old","level":"error","message":{"text":"stale"},
        "locations":[{"physicalLocation":{"artifactLocation":{"uri":"src/a.x"},"region":{"startLine":3}}}]}]}]}"#;
    let sandbox = Sandbox::repository();
    let old = sandbox.write("old.sarif", sarif);
    let past = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    std::fs::File::options().write(true).open(&old).and_then(|file| file.set_modified(past)).expect("an old file");
    sandbox.tool("ruff", "cp old.sarif ../tmp/new.sarif; echo 'wrote old.sarif and ../tmp/new.sarif'; exit 1");
    sandbox.verify_run(["--sync", "ruff", "check"]).outcome();
    assert!(!sandbox.events()[0]["failure"].to_string().contains("stale"));
    sandbox.tool("ruff", "cp old.sarif new.sarif; echo 'wrote new.sarif'; exit 1");
    sandbox.verify_run(["--sync", "ruff", "check"]).outcome();
    let item = &sandbox.events()[1]["failure"]["items"][0];
    assert_eq!((&item["code"], &item["file"], &item["line"]), (&"old".into(), &"src/a.x".into(), &3.into()), "{item}");
}
