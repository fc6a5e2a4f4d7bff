//! Resource descriptors of in-toto statements, and SHA-256 digests as other programs compute them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// `_type` of a statement.
pub(super) const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";

/// What is no statement of a kind that verify-run makes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not an in-toto statement about a check or a verdict: {0}")]
pub(crate) struct BadStatement(pub(super) String);

/// An in-toto resource descriptor.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ResourceDescriptor {
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub digest: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub annotations: Map<String, Value>,
}

impl ResourceDescriptor {
    /// Something with a SHA-256 digest, hex. Annotations that are null are left out.
    pub(super) fn with_sha256(name: &str, sha256: String, annotations: Value) -> Self {
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

    /// A git tree.
    pub(super) fn with_tree(name: &str, tree: &str) -> Self {
        let digest = [("gitTree".to_owned(), tree.into())].into_iter().collect();
        ResourceDescriptor { name: name.to_owned(), digest, annotations: Map::new() }
    }

    /// The SHA-256 digest.
    pub(super) fn sha256(&self) -> Option<&str> {
        self.digest.get("sha256")?.as_str()
    }

    /// The git tree.
    pub(super) fn tree(&self) -> Option<&str> {
        self.digest.get("gitTree")?.as_str()
    }
}

/// What is wrong with the head of a statement: another type, or not one subject with a git tree.
pub(super) fn check_head(statement_type: &str, subject: &[ResourceDescriptor]) -> Result<(), BadStatement> {
    if statement_type != STATEMENT_TYPE {
        return Err(BadStatement(format!("_type is {statement_type:?}")));
    }
    match subject {
        [subject] if subject.tree().is_some() => Ok(()),
        _ => Err(BadStatement("its one subject needs a digest gitTree".to_owned())),
    }
}

/// SHA-256, hex.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(&Sha256::digest(bytes))
}
