//! A receipt as an in-toto Statement v1 with the predicate `test-result/v0.1`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::descriptor::{BadStatement, ResourceDescriptor, STATEMENT_TYPE, check_head, sha256_hex};
use super::mismatch::StatementMismatch;
use super::toolchain::StatedToolchain;
use crate::base::clock::Timestamp;
use crate::capture::InputDigests;
use crate::event::Receipt;

/// Its `predicateType`.
pub(super) const TEST_RESULT: &str = "https://in-toto.io/attestation/test-result/v0.1";
/// `result` of a check that passed.
const PASSED: &str = "PASSED";

/// An in-toto statement about a test result. Fields that are not listed are left alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CheckStatement {
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

/// A command for comparing with a statement's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StatedCommand {
    /// Its words.
    pub argv: Vec<String>,
    /// Where it ran, relative to the top of the work tree.
    pub dir: String,
}

impl StatedCommand {
    /// The command of a receipt.
    pub(crate) fn of_receipt(receipt: &Receipt) -> Self {
        let argv = receipt.argv.iter().map(|word| word.display()).collect();
        StatedCommand { argv, dir: receipt.dir.display() }
    }

    /// SHA-256 of the JSON document with the words and the folder, hex.
    pub(crate) fn digest(&self) -> String {
        sha256_hex(json!({ "argv": self.argv, "dir": self.dir }).to_string().as_bytes())
    }
}

/// What a statement says beside the result, as far as it is readable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StatedCheck {
    /// `e-…`, as the signer's machine has it.
    pub receipt: String,
    /// The run, as it has it.
    pub run: String,
    /// The folder, relative to the top of the work tree.
    pub dir: String,
    /// Tests that ran, of a check that tests.
    pub tests: Option<u64>,
    /// When the command ended.
    pub ended_at: Timestamp,
    /// The version of verify-run that ran it.
    pub version: String,
}

impl CheckStatement {
    /// The statement of a receipt; `subject` names the repository. With a toolchain other machines can tell whether it is
    /// theirs.
    pub(crate) fn from_receipt(receipt: &Receipt, subject: &str, toolchain: Option<&StatedToolchain>) -> Self {
        let command = StatedCommand::of_receipt(receipt);
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
        let mut configuration = vec![ResourceDescriptor::with_sha256("command", command.digest(), about)];
        let state = &receipt.state;
        let groups =
            [("programs", &state.programs), ("dependencies", &state.dependencies), ("environment", &state.environment)];
        let described = |(name, group)| ResourceDescriptor::with_sha256(name, digest_group(group), Value::Null);
        configuration.extend(groups.map(described));
        configuration.extend(toolchain.into_iter().flat_map(StatedToolchain::to_descriptors));
        for (path, tree) in &state.submodules {
            configuration.push(ResourceDescriptor::with_tree(path, tree));
        }
        CheckStatement {
            statement_type: STATEMENT_TYPE.to_owned(),
            subject: vec![ResourceDescriptor::with_tree(subject, &state.tree)],
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

    /// Reads a statement whose predicate is about a test result.
    ///
    /// # Errors
    /// When it isn't one, or lacks its tree or its command.
    pub(super) fn parse(json: &[u8]) -> Result<Self, BadStatement> {
        let statement: CheckStatement =
            serde_json::from_slice(json).map_err(|error| BadStatement(error.to_string()))?;
        check_head(&statement.statement_type, &statement.subject)?;
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
        self.subject.first()?.tree()
    }

    /// The digest of the command that it is about.
    pub(crate) fn command_digest(&self) -> Option<&str> {
        self.command()?.sha256()
    }

    /// The command that it is about, as its annotations say; for people only.
    pub(crate) fn command_line(&self) -> String {
        let words = self.command().and_then(|command| command.annotations.get("argv")?.as_array());
        shell_words::join(words.into_iter().flatten().filter_map(Value::as_str))
    }

    /// What it says of the run; `None` when something of that is missing.
    pub(crate) fn check(&self) -> Option<StatedCheck> {
        let about = &self.command()?.annotations;
        let text = |name: &str| about.get(name)?.as_str().map(str::to_owned);
        Some(StatedCheck {
            receipt: text("receipt")?,
            run: text("run")?,
            dir: text("dir")?,
            tests: about.get("testsRun").and_then(Value::as_u64),
            ended_at: Timestamp::parse(&text("finishedOn")?)?,
            version: text("verifyRun")?,
        })
    }

    /// What it says of programs, variables and dependencies; `None` when it doesn't, so that others could compare.
    pub(crate) fn toolchain(&self) -> Option<StatedToolchain> {
        StatedToolchain::from_descriptors(&self.predicate.configuration)
    }

    /// The trees of the submodules, by their paths.
    pub(crate) fn submodules(&self) -> BTreeMap<String, String> {
        let submodule = |input: &ResourceDescriptor| Some((input.name.clone(), input.tree()?.to_owned()));
        self.predicate.configuration.iter().filter_map(submodule).collect()
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
        let digest = self.command().and_then(ResourceDescriptor::sha256);
        if command.is_some_and(|command| Some(command.digest().as_str()) != digest) {
            return Err(StatementMismatch::OtherCommand(self.command_line()));
        }
        Ok(())
    }

    /// The one descriptor of the command.
    fn command(&self) -> Option<&ResourceDescriptor> {
        // A submodule of this name has no such digest.
        let is_command = |input: &&ResourceDescriptor| input.name == "command" && input.sha256().is_some();
        let mut commands = self.predicate.configuration.iter().filter(is_command);
        commands.next().filter(|_| commands.next().is_none())
    }
}

fn digest_group(group: &InputDigests) -> String {
    sha256_hex(serde_json::to_string(group).unwrap_or_default().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{EventBody, sample};

    fn statement() -> CheckStatement {
        let EventBody::Receipt(receipt) = sample::receipt(1).body else { panic!("a receipt") };
        CheckStatement::from_receipt(&receipt, "shop", None)
    }

    fn npm_test(dir: &str) -> StatedCommand {
        StatedCommand { argv: vec!["npm".into(), "test".into()], dir: dir.into() }
    }

    #[test]
    fn a_statement_proves_its_own_tree_and_command_alone() {
        let statement = CheckStatement::parse(statement().to_json().as_bytes()).expect("a statement");
        let tree = "0".repeat(40);
        assert_eq!(statement.prove(None, None), Ok(()));
        assert_eq!(statement.prove(Some(&tree), Some(&npm_test(""))), Ok(()));
        assert!(matches!(statement.prove(Some("1"), None), Err(StatementMismatch::OtherTree(_))));
        assert!(matches!(statement.prove(None, Some(&npm_test("web"))), Err(StatementMismatch::OtherCommand(_))));
        let mut failed = statement;
        failed.predicate.result = "FAILED".into();
        assert_eq!(failed.prove(None, None), Err(StatementMismatch::NotPassed("FAILED".into())));
    }
}
