//! What evaluations keep for the next ones, so that they need not find it out again while everything that it depends on is
//! the same. Every file of it is safe to delete.

use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::base::file::{Durability, create_private_dir, write_atomic};
use crate::base::private;

/// A larger file is neither read nor written, bytes.
const FILE_BYTES_MAX: usize = 4 << 20;

/// The values in a file, each by a digest of what it depends on.
#[derive(Debug)]
pub(super) struct KeptValues<T> {
    file: PathBuf,
    most: usize,
    values: Vec<KeptValue<T>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct KeptValue<T> {
    key: String,
    /// The judged tree, of what another one may show differently.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tree: Option<String>,
    value: T,
}

impl<T: Clone + Serialize + DeserializeOwned> KeptValues<T> {
    /// Reads them; none where the file is not there or broken. The newest `most` are kept.
    pub(super) fn read(file: PathBuf, most: usize) -> KeptValues<T> {
        let bytes = private::read_start(&file, FILE_BYTES_MAX as u64).unwrap_or_default();
        KeptValues { file, most, values: serde_json::from_slice(&bytes).unwrap_or_default() }
    }

    /// The value with this key, if it is the same over `tree`.
    pub(super) fn find(&self, key: &str, tree: &str) -> Option<T> {
        let is_it = |kept: &&KeptValue<T>| kept.key == key && kept.tree.as_deref().is_none_or(|known| known == tree);
        self.values.iter().rev().find(is_it).map(|kept| kept.value.clone())
    }

    /// Keeps a value: over any tree, or over this one alone.
    pub(super) fn keep(&mut self, key: String, tree: Option<String>, value: T) {
        self.values.retain(|kept| kept.key != key);
        self.values.push(KeptValue { key, tree, value });
        self.values.drain(..self.values.len().saturating_sub(self.most));
        // Without the file the next evaluation takes longer, and nothing else.
        let folder = self.file.parent().map(create_private_dir);
        if let (Some(Ok(())), Ok(bytes)) = (folder, serde_json::to_vec(&self.values))
            && bytes.len() <= FILE_BYTES_MAX
        {
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
        let file = folder.path().join("cache/values.json");
        let mut kept = KeptValues::read(file.clone(), 9);
        kept.keep("a".to_owned(), None, 1);
        kept.keep("b".to_owned(), Some("t1".to_owned()), 2);
        let kept = KeptValues::read(file.clone(), 9);
        assert_eq!(["t1", "t2"].map(|tree| kept.find("a", tree)), [Some(1), Some(1)]);
        assert_eq!(["t1", "t2"].map(|tree| kept.find("b", tree)), [Some(2), None]);
        assert_eq!(kept.find("c", "t1"), None);
        std::fs::write(&file, "[{]").expect("writes");
        assert_eq!(KeptValues::<u8>::read(file, 9).find("a", "t1"), None);
    }

    #[test]
    fn the_oldest_values_go_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut kept = KeptValues::read(folder.path().join("values.json"), 5);
        (0..=5).for_each(|number| kept.keep(number.to_string(), None, number));
        assert_eq!((kept.find("0", ""), kept.find("1", "")), (None, Some(1)));
    }
}
