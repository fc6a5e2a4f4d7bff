//! A receipt as an in-toto Statement v1 with the predicate `test-result/v0.1`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::capture::InputDigests;
use crate::event::Receipt;

/// `_type` of a statement.
const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// Its `predicateType`.
const TEST_RESULT: &str = "https://in-toto.io/attestation/test-result/v0.1";
/// `result` of a check that passed.
const PASSED: &str = "PASSED";

/// An in-toto statement about a test result. Fields that are not listed are left alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Statement {
    #[serde(rename = "_type")]
    statement_type: String,
    subject: Vec<ResourceDescriptor>,
    #[serde(rename = "predicateType")]
    predicate_type: String,
    predicate: TestResult,
}

/// What `test-result/v0.1` says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TestResult {
    result: String,
    configuration: Vec<ResourceDescriptor>,
    #[serde(default)]
    passed_tests: Vec<String>,
    #[serde(default)]
    warned_tests: Vec<String>,
    #[serde(default)]
    failed_tests: Vec<String>,
}

/// An in-toto resource descriptor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct ResourceDescriptor {
    #[serde(default)]
    name: String,
    #[serde(default)]
    digest: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    annotations: Map<String, Value>,
}

/// A command for comparing with a statement's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StatedCommand {
    /// Its words.
    pub argv: Vec<String>,
    /// Where it ran, relative to the top of the work tree.
    pub dir: String,
}

impl StatedCommand {
    /// SHA-256 of the JSON document with the words and the folder, hex.
    fn digest(&self) -> String {
        sha256(json!({ "argv": self.argv, "dir": self.dir }).to_string().as_bytes())
    }
}

/// Why a statement does not prove what is asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StatementMismatch {
    /// The check did not pass.
    #[error("the result is {0}, not PASSED")]
    NotPassed(String),
    /// It is about other files.
    #[error("it is about the tree {0}")]
    OtherTree(String),
    /// It is about another command, or another folder.
    #[error("it is about another command or folder: {0}")]
    OtherCommand(String),
}

/// What is no statement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not an in-toto statement about a test result: {0}")]
pub(crate) struct BadStatement(String);

impl Statement {
    /// The statement of a receipt; `subject` names the repository.
    pub(crate) fn from_receipt(receipt: &Receipt, subject: &str) -> Self {
        let argv: Vec<String> = receipt.argv.iter().map(|word| word.display()).collect();
        let command = StatedCommand { argv, dir: receipt.dir.display() };
        let about = json!({
            "argv": command.argv,
            "dir": command.dir,
            "receipt": receipt.receipt,
            "run": receipt.run.to_string(),
            "startedOn": receipt.started_at.rfc3339(),
            "finishedOn": receipt.ended_at.rfc3339(),
            "testsRun": receipt.tests,
            "verifyRun": receipt.version,
        });
        let mut configuration = vec![descriptor("command", command.digest(), about)];
        let state = &receipt.state;
        let groups =
            [("programs", &state.programs), ("dependencies", &state.dependencies), ("environment", &state.environment)];
        configuration.extend(groups.map(|(name, group)| descriptor(name, digest_group(group), Value::Null)));
        for (path, tree) in &state.submodules {
            let digest = [("gitTree".to_owned(), tree.clone().into())].into_iter().collect();
            configuration.push(ResourceDescriptor { name: path.clone(), digest, annotations: Map::new() });
        }
        let digest = [("gitTree".to_owned(), state.tree.clone().into())].into_iter().collect();
        Statement {
            statement_type: STATEMENT_TYPE.to_owned(),
            subject: vec![ResourceDescriptor { name: subject.to_owned(), digest, annotations: Map::new() }],
            predicate_type: TEST_RESULT.to_owned(),
            predicate: TestResult {
                result: PASSED.to_owned(),
                configuration,
                passed_tests: Vec::new(),
                warned_tests: Vec::new(),
                failed_tests: Vec::new(),
            },
        }
    }

    /// Parses a statement.
    ///
    /// # Errors
    /// When it isn't one, is about something else, or lacks its tree or its command.
    pub(crate) fn parse(json: &[u8]) -> Result<Self, BadStatement> {
        let statement: Statement = serde_json::from_slice(json).map_err(|error| BadStatement(error.to_string()))?;
        let expected = |what: &str, found: &str, expected: &str| {
            (found == expected).then_some(()).ok_or_else(|| BadStatement(format!("{what} is {found:?}")))
        };
        expected("_type", &statement.statement_type, STATEMENT_TYPE)?;
        expected("predicateType", &statement.predicate_type, TEST_RESULT)?;
        if statement.subject.len() != 1 || statement.tree().is_none() {
            return Err(BadStatement("its one subject needs a digest gitTree".to_owned()));
        }
        if statement.command().is_none() {
            return Err(BadStatement("the configuration has no one command with a digest sha256".to_owned()));
        }
        Ok(statement)
    }

    /// The JSON document.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The git tree that it is about, hex.
    pub(crate) fn tree(&self) -> Option<&str> {
        self.subject.first()?.digest.get("gitTree")?.as_str()
    }

    /// The command that it is about, as its annotations say; for people only.
    pub(crate) fn command_line(&self) -> String {
        let words = self.command().and_then(|command| command.annotations.get("argv")?.as_array());
        shell_words::join(words.into_iter().flatten().filter_map(Value::as_str))
    }

    /// Whether it says that a check passed: on this tree, and of this command, where one is given.
    ///
    /// # Errors
    /// [`StatementMismatch`]
    pub(crate) fn prove(&self, tree: Option<&str>, command: Option<&StatedCommand>) -> Result<(), StatementMismatch> {
        if self.predicate.result != PASSED {
            return Err(StatementMismatch::NotPassed(self.predicate.result.clone()));
        }
        let found = self.tree().unwrap_or_default();
        if tree.is_some_and(|tree| tree != found) {
            return Err(StatementMismatch::OtherTree(found.to_owned()));
        }
        let digest = self.command().and_then(|command| command.digest.get("sha256")?.as_str());
        if command.is_some_and(|command| Some(command.digest().as_str()) != digest) {
            return Err(StatementMismatch::OtherCommand(self.command_line()));
        }
        Ok(())
    }

    /// The one descriptor of the command.
    fn command(&self) -> Option<&ResourceDescriptor> {
        let mut commands = self.predicate.configuration.iter().filter(|input| input.name == "command");
        let command = commands.next().filter(|command| command.digest.get("sha256").is_some_and(Value::is_string));
        command.filter(|_| commands.next().is_none())
    }
}

fn descriptor(name: &str, sha256: String, annotations: Value) -> ResourceDescriptor {
    let annotations = match annotations {
        Value::Object(mut annotations) => {
            annotations.retain(|_, value| !value.is_null());
            annotations
        }
        _ => Map::new(),
    };
    let digest = [("sha256".to_owned(), sha256.into())].into_iter().collect();
    ResourceDescriptor { name: name.to_owned(), digest, annotations }
}

fn digest_group(group: &InputDigests) -> String {
    sha256(serde_json::to_string(group).unwrap_or_default().as_bytes())
}

fn sha256(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{EventBody, sample};

    fn statement() -> Statement {
        let EventBody::Receipt(receipt) = sample::receipt(1).body else { panic!("a receipt") };
        Statement::from_receipt(&receipt, "shop")
    }

    fn npm_test(dir: &str) -> StatedCommand {
        StatedCommand { argv: vec!["npm".into(), "test".into()], dir: dir.into() }
    }

    #[test]
    fn a_statement_proves_its_own_tree_and_command_alone() {
        let statement = Statement::parse(statement().to_json().as_bytes()).expect("a statement");
        let tree = "0".repeat(40);
        assert_eq!(statement.prove(None, None), Ok(()));
        assert_eq!(statement.prove(Some(&tree), Some(&npm_test(""))), Ok(()));
        assert!(matches!(statement.prove(Some("1"), None), Err(StatementMismatch::OtherTree(_))));
        assert!(matches!(statement.prove(None, Some(&npm_test("web"))), Err(StatementMismatch::OtherCommand(_))));
        let mut failed = statement;
        failed.predicate.result = "FAILED".into();
        assert_eq!(failed.prove(None, None), Err(StatementMismatch::NotPassed("FAILED".into())));
    }

    #[test]
    fn what_is_no_such_statement_is_refused() {
        let good = statement().to_json();
        let bad = [
            String::new(),
            "[]".to_owned(),
            "[".repeat(100_000),
            good.replace("Statement/v1", "Statement/v0.1"),
            good.replace("test-result", "provenance"),
            good.replace("gitTree", "sha1"),
            good.replace("\"command\"", "\"policy\""),
            good.replace("\"programs\"", "\"command\""),
        ];
        for bad in bad {
            assert!(Statement::parse(bad.as_bytes()).is_err(), "{}", &bad[..bad.len().min(200)]);
        }
    }
}
