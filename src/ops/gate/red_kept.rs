//! What trials of tests showed before. A trial needs two copies of the tree: it is not repeated while everything that it
//! depends on is the same.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::red_trial::RedOutcome;
use crate::base::file::{Durability, create_private_dir, write_atomic};
use crate::base::private;

/// Trials that are kept, the newest.
const TRIALS_MAX: usize = 256;
/// A larger file is not read, bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The trials of a store.
#[derive(Debug)]
pub(super) struct KeptTrials {
    file: PathBuf,
    trials: Vec<KeptTrial>,
}

/// What a trial showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct KeptTrial {
    key: String,
    /// The judged tree, of what another one may show differently.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tree: Option<String>,
    outcome: RedOutcome,
}

impl KeptTrials {
    /// Reads them; none where the file is not there or broken.
    pub(super) fn read(file: PathBuf) -> KeptTrials {
        let bytes = private::read_start(&file, FILE_BYTES_MAX).unwrap_or_default();
        KeptTrials { file, trials: serde_json::from_slice(&bytes).unwrap_or_default() }
    }

    /// What a trial with this key showed, if it would show the same over `tree`.
    pub(super) fn find(&self, key: &str, tree: &str) -> Option<RedOutcome> {
        let is_it = |kept: &&KeptTrial| kept.key == key && kept.tree.as_deref().is_none_or(|known| known == tree);
        self.trials.iter().rev().find(is_it).map(|kept| kept.outcome.clone())
    }

    /// Keeps what a trial showed: over any tree, or over this one alone.
    pub(super) fn keep(&mut self, key: String, tree: Option<String>, outcome: RedOutcome) {
        self.trials.retain(|kept| kept.key != key);
        self.trials.push(KeptTrial { key, tree, outcome });
        self.trials.drain(..self.trials.len().saturating_sub(TRIALS_MAX));
        // Without the file the next evaluation takes longer, and nothing else.
        let folder = self.file.parent().map(create_private_dir);
        if let (Some(Ok(())), Ok(bytes)) = (folder, serde_json::to_vec(&self.trials)) {
            let _ = write_atomic(&self.file, &bytes, 0o600, Durability::Cached);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_tree_may_change_counts_for_this_tree_only() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("cache/red-trials.json");
        let mut kept = KeptTrials::read(file.clone());
        let unknown = RedOutcome::Unknown("it does not pass in isolation".to_owned());
        kept.keep("a".to_owned(), None, RedOutcome::Red);
        kept.keep("b".to_owned(), Some("t1".to_owned()), unknown.clone());
        let kept = KeptTrials::read(file.clone());
        assert_eq!(["t1", "t2"].map(|tree| kept.find("a", tree)), [Some(RedOutcome::Red), Some(RedOutcome::Red)]);
        assert_eq!(["t1", "t2"].map(|tree| kept.find("b", tree)), [Some(unknown), None]);
        assert_eq!(kept.find("c", "t1"), None);
        std::fs::write(&file, "[{]").expect("writes");
        assert_eq!(KeptTrials::read(file).find("a", "t1"), None);
    }

    #[test]
    fn the_oldest_trials_go_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut kept = KeptTrials::read(folder.path().join("red-trials.json"));
        (0..=TRIALS_MAX).for_each(|number| kept.keep(number.to_string(), None, RedOutcome::PassesOnBase));
        assert_eq!(kept.find("0", ""), None);
        assert_eq!(kept.find("1", ""), Some(RedOutcome::PassesOnBase));
    }
}
