//! `[strategies.NAME]`: what to do against an error, as templates. Kept as written: they are parsed with the
//! templates, and only when a strategy is asked for.

use std::path::PathBuf;
use std::sync::Arc;

use super::layer::line_of_key;

/// Strategies in one's settings.
pub(super) const STRATEGIES_MAX: usize = 50;

/// A strategy as it is written.
#[derive(Debug, Clone, PartialEq)]
pub struct StrategyTable {
    /// Its name.
    pub name: String,
    /// What it says.
    pub value: serde_json::Value,
    /// The file that has it.
    pub file: PathBuf,
    /// That file's text.
    pub(super) text: Arc<str>,
}

impl StrategyTable {
    /// The line of one of its keys; of the table itself, where it is about none, or the key has no line of its own.
    pub fn line(&self, key: Option<&str>) -> Option<usize> {
        let own = key.and_then(|key| line_of_key(&self.text, &format!("strategies.{}", self.name), key));
        own.or_else(|| line_of_key(&self.text, "strategies", &self.name))
    }
}
