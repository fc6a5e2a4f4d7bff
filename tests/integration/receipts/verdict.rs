//! Exported verdicts of the gate: what others verify, with this program and with theirs.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use verify_run::run::CommandEnd;

use super::works;
use crate::gate::decisions::{decide, failing_project, judge};
use crate::sandbox::{Outcome, Sandbox, need, skip};

/// Reads an envelope around a verdict as securesystemslib and in-toto's own classes do. The predicate is held against its
/// specification, because the package has no class for it: github.com/in-toto/attestation, spec/predicates/svr.md.
const VERIFY_PYTHON: &str = r#"
import datetime, hashlib, json, re, sys
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from google.protobuf import json_format
from in_toto_attestation.v1.resource_descriptor import ResourceDescriptor
from in_toto_attestation.v1.statement import Statement
from in_toto_attestation.v1 import resource_descriptor_pb2, statement_pb2
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey

envelope = json.load(open(sys.argv[1]))
key = SSlibKey.from_crypto(load_pem_public_key(open(sys.argv[2], "rb").read()), envelope["signatures"][0]["keyid"])
opened = Envelope.from_dict(json.loads(json.dumps(envelope)))
opened.verify([key], 1)
parsed = json_format.Parse(opened.payload, statement_pb2.Statement())
Statement.copy_from_pb(parsed).validate()
assert parsed.predicate_type == "https://in-toto.io/attestation/svr/v0.1", parsed.predicate_type
predicate = json_format.MessageToDict(parsed.predicate)
assert re.fullmatch(r"[a-z]+://[^ ]+", predicate["verifier"]["id"]), predicate
assert predicate["timeCreated"].endswith("Z"), predicate
datetime.datetime.fromisoformat(predicate["timeCreated"].replace("Z", "+00:00"))
assert all(re.fullmatch("[A-Z][A-Z0-9_]*", name) for name in predicate["properties"]), predicate
policy = json_format.ParseDict(predicate["verifier"]["policy"], resource_descriptor_pb2.ResourceDescriptor())
ResourceDescriptor.copy_from_pb(policy).validate()
files = predicate["verifier"]["policy"]["annotations"]["files"]
listed = "".join(f"{digest}  {name}\n" for name, digest in sorted(files.items()))
assert hashlib.sha256(listed.encode()).hexdigest() == policy.digest["sha256"], listed
own = [name for name in files if not name.startswith("shipped ")]
assert own == [".verify-run/qa-checklist.yml"], files
for name in own:
    assert hashlib.sha256(open(name, "rb").read()).hexdigest() == files[name], name
print(parsed.subject[0].digest["gitTree"], *predicate["properties"])
"#;

/// A project whose one item passes, judged and approved, and the file with the signed verdict.
fn approved_project() -> (Sandbox, String) {
    let sandbox = failing_project();
    sandbox.write("check.sh", "exit 0\n");
    let (ended, document) = judge(&sandbox);
    assert_eq!(ended, CommandEnd::Exit(0), "{document}");
    sandbox.commit("Approved");
    let created = sandbox.verify_run(["gate", "receipt", "key", "new"]).prints();
    let public = created.split('\t').next().expect("a file").to_owned();
    export(&sandbox, &document);
    (sandbox, public)
}

/// Writes the signed verdict of an evaluation into `signed.json`.
fn export(sandbox: &Sandbox, document: &Value) {
    let evaluation = document["evaluation"].as_str().expect("an id");
    let signed = sandbox.verify_run(["gate", "receipt", "export", "--sign", evaluation]).prints();
    fs::write(sandbox.tmp().join("signed.json"), signed).expect("written");
}

fn verify(sandbox: &Sandbox, further: &[&str]) -> Outcome {
    let file = sandbox.tmp().join("signed.json");
    sandbox.verify_run(["gate", "receipt", "verify"]).arg(file).args(further).outcome()
}

#[test]
fn a_verdict_proves_its_own_tree_and_properties_to_the_holder_of_the_key() {
    let (sandbox, public) = approved_project();
    let tree = sandbox.git(["rev-parse", "HEAD^{tree}"]).trim_end().to_owned();
    let verified = verify(&sandbox, &["--tree", &tree, "--key", &public]);
    assert_eq!(
        (verified.ended, verified.stdout()),
        (CommandEnd::Exit(0), "verified: VERIFY_RUN_GATE_APPROVED VERIFY_RUN_X1\n"),
        "{}",
        verified.stderr()
    );
    assert_eq!(verify(&sandbox, &["--property", "VERIFY_RUN_X1"]).ended, CommandEnd::Exit(0));
    let refused = |further: &[&str], why: &str| {
        let outcome = verify(&sandbox, further);
        assert_eq!(outcome.ended, CommandEnd::Exit(1), "{further:?}");
        assert!(outcome.stdout().contains(why), "{}", outcome.stdout());
    };
    refused(&["--tree", "0000000000000000000000000000000000000000"], "it is about the tree");
    refused(&["--property", "VERIFY_RUN_F1"], "it does not have the property VERIFY_RUN_F1");
    refused(&["--command", "sh check.sh"], "it is about a verdict of the gate, not about a command");
    let said = verify(&sandbox, &["--json"]);
    let said: Value = serde_json::from_str(said.stdout()).expect("JSON");
    assert_eq!((&said["verified"], &said["properties"][1]), (&true.into(), &"VERIFY_RUN_X1".into()), "{said}");
    assert_eq!((&said["tree"], &said["command"]), (&tree.into(), &Value::Null));
    // A verdict is bound to its key and to every byte.
    let signed = fs::read_to_string(sandbox.tmp().join("signed.json")).expect("read");
    let mut envelope: Value = serde_json::from_str(&signed).expect("JSON");
    let payload = envelope["payload"].as_str().expect("text").replacen('A', "B", 1);
    envelope["payload"] = payload.into();
    fs::write(sandbox.tmp().join("signed.json"), envelope.to_string()).expect("written");
    assert_eq!(verify(&sandbox, &[]).ended, CommandEnd::Exit(1));
}

#[test]
fn a_rejected_tree_has_no_approval_and_an_accepted_one_says_so() {
    let sandbox = failing_project();
    sandbox.verify_run(["gate", "receipt", "key", "new"]).prints();
    let mut document = Value::Null;
    for attempt in 1..=3 {
        sandbox.write("check.sh", format!("echo 'a.py:{attempt}: error: kind {attempt}'\nexit 1\n"));
        document = judge(&sandbox).1;
    }
    export(&sandbox, &document);
    let rejected = verify(&sandbox, &[]);
    assert_eq!(
        (rejected.ended, rejected.stdout()),
        (CommandEnd::Exit(1), "not verified: it does not have the property VERIFY_RUN_GATE_APPROVED\n")
    );
    let resolve = ["gate", "resolve", "--by", "Ada", "--decision", "accept", "--reason", "known and harmless"];
    assert_eq!(decide(&sandbox, &resolve, "Ada"), CommandEnd::Exit(0));
    export(&sandbox, &document);
    assert_eq!(verify(&sandbox, &[]).ended, CommandEnd::Exit(1), "a person's word is no computed approval");
    let accepted = verify(&sandbox, &["--property", "VERIFY_RUN_GATE_ACCEPTED"]);
    assert_eq!((accepted.ended, accepted.stdout()), (CommandEnd::Exit(0), "verified: VERIFY_RUN_GATE_ACCEPTED\n"));
    let evaluation = document["evaluation"].as_str().expect("an id");
    let statement = sandbox.verify_run(["gate", "receipt", "export", evaluation]).prints_json();
    let decision = &statement["predicate"]["verifyRunEvaluation"]["decisions"][0];
    assert_eq!((&decision["by"], &decision["reason"]), (&"Ada".into(), &"known and harmless".into()), "{statement}");
}

#[test]
fn a_waived_item_is_no_property() {
    let sandbox = failing_project();
    let waive = ["gate", "waive", "X1", "--by", "Ada", "--reason", "known", "--until", "2099-12-31"];
    assert_eq!(decide(&sandbox, &waive, "Ada"), CommandEnd::Exit(0));
    let (ended, document) = judge(&sandbox);
    assert_eq!(ended, CommandEnd::Exit(0), "{document}");
    let evaluation = document["evaluation"].as_str().expect("an id");
    let statement = sandbox.verify_run(["gate", "receipt", "export", evaluation]).prints_json();
    assert_eq!(statement["predicate"]["properties"], serde_json::json!(["VERIFY_RUN_GATE_APPROVED"]), "{statement}");
    assert_eq!(statement["predicate"]["verifyRunEvaluation"]["waivers"][0]["item"], "X1");
}

#[test]
fn a_verdict_of_another_machine_is_not_signed_here() {
    let (other, _) = approved_project();
    let events = other.tmp().join("events");
    other.verify_run(["store", "export", "--out"]).arg(&events).outcome();
    let evaluation = other.verify_run(["gate", "status", "--json"]).prints_json()["evaluation"].clone();
    let evaluation = evaluation.as_str().expect("an id");
    let sandbox = Sandbox::repository();
    sandbox.verify_run(["gate", "receipt", "key", "new"]).prints();
    let imported = sandbox.verify_run(["store", "import"]).arg(&events).outcome();
    assert_eq!(imported.ended, CommandEnd::Exit(0), "{imported:?}");
    let shown = sandbox.verify_run(["gate", "receipt", "export", evaluation]).outcome();
    assert_eq!(shown.ended, CommandEnd::Exit(0), "{shown:?}");
    let signed = sandbox.verify_run(["gate", "receipt", "export", "--sign", evaluation]).outcome();
    assert_eq!((signed.ended, signed.stdout()), (CommandEnd::Exit(1), ""));
    assert!(signed.stderr().contains("was recorded elsewhere"), "{}", signed.stderr());
    let ambiguous = other.verify_run(["gate", "receipt", "export", "g-"]).outcome();
    assert_eq!(ambiguous.ended, CommandEnd::Exit(0), "there is one");
    judge(&other);
    let ambiguous = other.verify_run(["gate", "receipt", "export", "g-"]).outcome();
    assert!(ambiguous.ended == CommandEnd::Exit(2) && ambiguous.stderr().contains("is the start of 2 ids"));
}

#[test]
fn securesystemslib_and_in_toto_accept_a_verdict() {
    let Some(python) = need("schema-python") else { return };
    let mut import = Command::new(&python);
    import.args(["-c", "import securesystemslib, in_toto_attestation, cryptography"]);
    if !works(&mut import) {
        return skip("securesystemslib or in-toto-attestation is missing");
    }
    let (sandbox, public) = approved_project();
    let tree = sandbox.git(["rev-parse", "HEAD^{tree}"]);
    let read = |file: &Path| {
        let mut command = Command::new(&python);
        command.arg("-c").arg(VERIFY_PYTHON).arg(file).arg(&public).current_dir(sandbox.work());
        command.output().expect("Python runs")
    };
    let signed = sandbox.tmp().join("signed.json");
    let verified = read(&signed);
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    let expected = format!("{} VERIFY_RUN_GATE_APPROVED VERIFY_RUN_X1\n", tree.trim_end());
    assert_eq!(String::from_utf8_lossy(&verified.stdout), expected);
    let changed = fs::read_to_string(&signed).expect("read").replace("\"sig\":\"", "\"sig\":\"AA");
    fs::write(&signed, changed).expect("written");
    assert!(!read(&signed).status.success());
}
