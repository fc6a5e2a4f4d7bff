//! Exported receipts: what others verify, with this program and with theirs.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use verify_run::run::CommandEnd;

use super::{PASSED, project, reuse, runs_saying, works};
use crate::sandbox::{Outcome, Sandbox, need, skip};

/// Verifies an envelope as securesystemslib and in-toto's own classes do; the tree of the subject.
const VERIFY_PYTHON: &str = r#"
import json, sys
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from google.protobuf import json_format
from in_toto_attestation.predicates.test_result.v0.test_result_pb2 import TestResult
from in_toto_attestation.v1.statement import Statement
from in_toto_attestation.v1 import statement_pb2
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey

envelope = json.load(open(sys.argv[1]))
key = SSlibKey.from_crypto(load_pem_public_key(open(sys.argv[2], "rb").read()), envelope["signatures"][0]["keyid"])
opened = Envelope.from_dict(json.loads(json.dumps(envelope)))
opened.verify([key], 1)
parsed = json_format.Parse(opened.payload, statement_pb2.Statement())
statement = Statement.copy_from_pb(parsed)
statement.validate()
assert parsed.predicate_type == "https://in-toto.io/attestation/test-result/v0.1", parsed.predicate_type
predicate = json_format.ParseDict(json_format.MessageToDict(parsed.predicate), TestResult())
assert predicate.result == "PASSED" and len(predicate.configuration) == 4, predicate
print(parsed.subject[0].digest["gitTree"])
"#;

/// A project with a receipt of everything that is committed, and a key.
fn signed_project() -> (Sandbox, String) {
    let sandbox = project(PASSED);
    sandbox.write("src/b.ts", "export const b = 1;\n");
    runs_saying(reuse(&sandbox), "");
    sandbox.commit("Add b");
    let created = sandbox.verify_run(["gate", "receipt", "key", "new"]).prints();
    let (public, id) = created.trim_end().split_once('\t').expect("a file and an id");
    assert_eq!(id.len(), 64);
    let private = sandbox.home().join(".config/verify-run/receipt-key.pem");
    assert_eq!(fs::metadata(&private).expect("a key").permissions().mode() & 0o777, 0o600);
    let again = sandbox.verify_run(["gate", "receipt", "key", "new"]).outcome();
    assert!(again.ended == CommandEnd::Exit(1) && again.stderr().contains("there is a key already"));
    let signed = sandbox.verify_run(["gate", "receipt", "export", "--sign"]).prints();
    fs::write(sandbox.tmp().join("signed.json"), signed).expect("written");
    let public = public.to_owned();
    (sandbox, public)
}

fn verify(sandbox: &Sandbox, file: &str, further: &[&str]) -> Outcome {
    let file = sandbox.tmp().join(file);
    sandbox.verify_run(["gate", "receipt", "verify"]).arg(file).args(further).outcome()
}

#[test]
fn an_exported_receipt_proves_tree_and_command_to_the_holder_of_the_key() {
    let (sandbox, public) = signed_project();
    let tree = sandbox.git(["rev-parse", "HEAD^{tree}"]).trim_end().to_owned();
    let good = ["--tree", &tree, "--command", "pytest", "--key", &public];
    let verified = verify(&sandbox, "signed.json", &good);
    assert_eq!(
        (verified.ended, verified.stdout()),
        (CommandEnd::Exit(0), "verified: pytest\n"),
        "{}",
        verified.stderr()
    );
    assert_eq!(verify(&sandbox, "signed.json", &[]).ended, CommandEnd::Exit(0), "by one's own key");
    let refused = |further: &[&str], why: &str| {
        let outcome = verify(&sandbox, "signed.json", further);
        assert_eq!(outcome.ended, CommandEnd::Exit(1), "{further:?}");
        assert!(outcome.stdout().contains(why), "{}", outcome.stdout());
    };
    refused(&["--tree", "0000000000000000000000000000000000000000"], "it is about the tree");
    refused(&["--command", "pytest -q"], "another command");
    let elsewhere = sandbox.verify_run(["gate", "receipt", "verify", "--command", "pytest"]).dir("src");
    assert_eq!(elsewhere.arg(sandbox.tmp().join("signed.json")).outcome().ended, CommandEnd::Exit(1), "another folder");
    fs::rename(sandbox.home().join(".config/verify-run"), sandbox.home().join("before")).expect("moved");
    let other = sandbox.verify_run(["gate", "receipt", "key", "new"]).prints();
    refused(&["--key", other.split('\t').next().expect("a file")], "no signature in it is by the key");
    let before = sandbox.home().join("before/receipt-key.pub");
    assert_eq!(verify(&sandbox, "signed.json", &["--key", before.to_str().expect("UTF-8")]).ended, CommandEnd::Exit(0));
}

#[test]
fn an_unsigned_or_changed_receipt_proves_nothing_and_a_broken_one_is_an_error() {
    let (sandbox, _) = signed_project();
    let write = |name: &str, text: &str| fs::write(sandbox.tmp().join(name), text).expect("written");
    write("plain.json", &sandbox.verify_run(["gate", "receipt", "export"]).prints());
    let plain = verify(&sandbox, "plain.json", &["--json"]);
    let said: Value = serde_json::from_str(plain.stdout()).expect("JSON");
    assert_eq!((plain.ended, &said["reason"]), (CommandEnd::Exit(1), &"it is not signed".into()));
    let signed = fs::read_to_string(sandbox.tmp().join("signed.json")).expect("read");
    let envelope: Value = serde_json::from_str(&signed).expect("JSON");
    for pointer in ["/payload", "/signatures/0/sig"] {
        let mut changed = envelope.clone();
        let text = changed.pointer_mut(pointer).expect("there");
        let mut bytes = text.as_str().expect("text").as_bytes().to_owned();
        bytes[20] = if bytes[20] == b'A' { b'B' } else { b'A' };
        *text = String::from_utf8(bytes).expect("UTF-8").into();
        write("changed.json", &changed.to_string());
        assert_eq!(verify(&sandbox, "changed.json", &[]).ended, CommandEnd::Exit(1), "{pointer}");
    }
    let broken = [
        String::new(),
        "{".to_owned(),
        "[]".to_owned(),
        "null".to_owned(),
        "{\"payloadType\": 1}".to_owned(),
        "[".repeat(200_000),
        signed.replace("vnd.in-toto+json", "json"),
        signed.replace("\"sig\":\"", "\"sig\":\"%%"),
        "{\"payloadType\":\"application/vnd.in-toto+json\",\"payload\":\"\",\"signatures\":[]}".to_owned(),
        format!("{{\"a\": \"{}\"}}", "x".repeat(2 << 20)),
    ];
    for text in broken {
        write("broken.json", &text);
        let outcome = verify(&sandbox, "broken.json", &[]);
        assert_eq!(outcome.ended, CommandEnd::Exit(2), "{:.100}: {}", text, outcome.stdout());
        assert!(outcome.stderr().contains("broken.json"), "{}", outcome.stderr());
    }
    assert_eq!(verify(&sandbox, "missing.json", &[]).ended, CommandEnd::Exit(2));
    let no_key = verify(&sandbox, "signed.json", &["--key", "/dev/null"]);
    assert_eq!(no_key.ended, CommandEnd::Exit(2), "{}", no_key.stderr());
}

#[test]
fn securesystemslib_and_in_toto_accept_what_is_signed() {
    let Some(python) = need("schema-python") else { return };
    let mut import = std::process::Command::new(&python);
    import.args(["-c", "import securesystemslib, in_toto_attestation, cryptography"]);
    if !works(&mut import) {
        return skip("securesystemslib or in-toto-attestation is missing");
    }
    let (sandbox, public) = signed_project();
    let tree = sandbox.git(["rev-parse", "HEAD^{tree}"]);
    let signed = sandbox.tmp().join("signed.json");
    let read = |file: &std::path::Path| {
        let mut command = std::process::Command::new(&python);
        command.arg("-c").arg(VERIFY_PYTHON).arg(file).arg(&public).output().expect("Python runs")
    };
    let verified = read(&signed);
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    assert_eq!(String::from_utf8_lossy(&verified.stdout), tree);
    let changed = fs::read_to_string(&signed).expect("read").replace("\"sig\":\"", "\"sig\":\"AA");
    fs::write(&signed, changed).expect("written");
    assert!(!read(&signed).status.success());
}
