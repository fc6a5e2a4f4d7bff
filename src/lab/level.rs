//! The walls around a run.

use serde::{Deserialize, Serialize};

/// The walls around a run, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum LabLevel {
    /// None: limits only.
    None,
    /// Landlock and a filter of system calls, in another folder.
    Landlock,
    /// Namespaces: the project's own path, with nothing else of the user's.
    Namespaces,
}

impl LabLevel {
    /// All of them, the weakest first.
    pub(crate) const ALL: [LabLevel; 3] = [LabLevel::None, LabLevel::Landlock, LabLevel::Namespaces];

    /// Its name in settings, options and records.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            LabLevel::None => "none",
            LabLevel::Landlock => "landlock",
            LabLevel::Namespaces => "namespaces",
        }
    }

    /// The level of this name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        LabLevel::ALL.into_iter().find(|level| level.as_str() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_an_order_and_names() {
        assert!(LabLevel::None < LabLevel::Landlock && LabLevel::Landlock < LabLevel::Namespaces);
        for level in LabLevel::ALL {
            assert_eq!(LabLevel::from_name(level.as_str()), Some(level));
            assert_eq!(serde_json::to_string(&level).expect("JSON"), format!("{:?}", level.as_str()));
        }
        assert_eq!(LabLevel::from_name("strong"), None);
    }
}
