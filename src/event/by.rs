//! The author of a statement.

use serde::{Deserialize, Serialize};

use crate::capture::Identity;
use crate::redact::sanitize_name;

/// Who says something, and for what. Everything that is unknown is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct EventAuthor {
    /// Name of the agent (`claude-code`, `ci`, `human`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Session of the worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Current task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The name of a person who answers for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
}

impl EventAuthor {
    /// Who says something about a task, without secrets.
    pub(crate) fn from_identity(identity: &Identity, task: Option<&str>) -> Self {
        let clean = |text: Option<&String>| text.and_then(|text| sanitize_name(text));
        EventAuthor {
            agent: clean(identity.agent.as_ref()),
            session: clean(identity.session.as_ref()),
            task: task.and_then(sanitize_name),
            person: None,
        }
    }
}
