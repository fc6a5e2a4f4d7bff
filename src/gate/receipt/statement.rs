//! A statement of either kind: about a check, or about a verdict of the gate.

use serde::Deserialize;

use super::descriptor::BadStatement;
use super::mismatch::StatementMismatch;
use super::test_result::{CheckStatement, StatedCommand, TEST_RESULT};
use super::verdict::{VERIFICATION_RESULT, VerdictStatement};

/// An in-toto statement that verify-run makes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Statement {
    /// A check passed.
    Check(CheckStatement),
    /// The gate judged a tree.
    Verdict(VerdictStatement),
}

/// What a statement has to prove.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StatementDemand<'a> {
    /// The git tree, hex.
    pub tree: Option<&'a str>,
    /// The command that passed.
    pub command: Option<&'a StatedCommand>,
    /// Properties of a verdict; without any the approval.
    pub properties: &'a [String],
}

impl Statement {
    /// Parses a statement.
    ///
    /// # Errors
    /// When it isn't one, or is about something else.
    pub(crate) fn parse(json: &[u8]) -> Result<Self, BadStatement> {
        #[derive(Deserialize)]
        struct StatementHead {
            #[serde(rename = "predicateType")]
            predicate_type: String,
        }
        let head: StatementHead = serde_json::from_slice(json).map_err(|error| BadStatement(error.to_string()))?;
        match head.predicate_type.as_str() {
            TEST_RESULT => CheckStatement::parse(json).map(Statement::Check),
            VERIFICATION_RESULT => VerdictStatement::parse(json).map(Statement::Verdict),
            other => Err(BadStatement(format!("predicateType is {other:?}"))),
        }
    }

    /// The git tree that it is about, hex.
    pub(crate) fn tree(&self) -> Option<&str> {
        match self {
            Statement::Check(statement) => statement.tree(),
            Statement::Verdict(statement) => statement.tree(),
        }
    }

    /// Whether it proves what is asked.
    ///
    /// # Errors
    /// [`StatementMismatch`]
    pub(crate) fn prove(&self, demand: StatementDemand<'_>) -> Result<(), StatementMismatch> {
        match self {
            Statement::Check(statement) => match demand.properties.first() {
                Some(property) => Err(StatementMismatch::NotOfVerdict(property.clone())),
                None => statement.prove(demand.tree, demand.command),
            },
            Statement::Verdict(_) if demand.command.is_some() => Err(StatementMismatch::NotOfCommand),
            Statement::Verdict(statement) => statement.prove(demand.tree, demand.properties),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{EventBody, sample};

    #[test]
    fn what_is_no_such_statement_is_refused() {
        let EventBody::Receipt(receipt) = sample::receipt(1).body else { panic!("a receipt") };
        let good = CheckStatement::from_receipt(&receipt, "shop", None).to_json();
        assert!(matches!(Statement::parse(good.as_bytes()), Ok(Statement::Check(_))));
        let verdict = "{\"_type\":\"https://in-toto.io/Statement/v1\",\"subject\":[{\"digest\":{\"gitTree\":\"a\"}}],\
                       \"predicateType\":\"https://in-toto.io/attestation/svr/v0.1\",\"predicate\":{\"verifier\":\
                       {\"id\":\"https://crates.io/crates/verify-run#gate/v1\"},\"timeCreated\":\"t\",\"properties\":[]}}";
        assert!(matches!(Statement::parse(verdict.as_bytes()), Ok(Statement::Verdict(_))));
        let bad = [
            String::new(),
            "[]".to_owned(),
            "[".repeat(100_000),
            good.replace("Statement/v1", "Statement/v0.1"),
            good.replace("test-result", "provenance"),
            good.replace("test-result", "svr"),
            good.replace("gitTree", "sha1"),
            good.replace("\"command\"", "\"policy\""),
            good.replace("\"programs\"", "\"command\""),
            verdict.replace("gate/v1", "gate/v2"),
            verdict.replace("gitTree", "sha1"),
            verdict.replace("svr/v0.1", "svr/v0.2"),
        ];
        for bad in bad {
            assert!(Statement::parse(bad.as_bytes()).is_err(), "{}", &bad[..bad.len().min(200)]);
        }
    }

    #[test]
    fn a_verdict_proves_no_command_and_a_check_no_property() {
        let EventBody::Receipt(receipt) = sample::receipt(1).body else { panic!("a receipt") };
        let check = Statement::Check(CheckStatement::from_receipt(&receipt, "shop", None));
        let properties = ["VERIFY_RUN_F1".to_owned()];
        let demand = StatementDemand { properties: &properties, ..StatementDemand::default() };
        assert_eq!(check.prove(demand), Err(StatementMismatch::NotOfVerdict("VERIFY_RUN_F1".into())));
        assert_eq!(check.prove(StatementDemand::default()), Ok(()));
    }
}
