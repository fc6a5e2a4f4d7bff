//! The detectors in force, kept from one question to the next: their messages are compiled only when a definition has
//! changed.

use std::sync::{Arc, Mutex, PoisonError};

use crate::config::CategoryTable;
use crate::diagnose::{DefinitionFault, DefinitionFile};
use crate::pattern::detector::DetectorRegistry;

/// The detectors that were loaded last. Its clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct DetectorCache(Arc<Mutex<Option<KeptDetectors>>>);

#[derive(Debug)]
struct KeptDetectors {
    files: Vec<DefinitionFile>,
    categories: CategoryTable,
    registry: Arc<DetectorRegistry>,
    faults: Vec<DefinitionFault>,
}

impl DetectorCache {
    /// The shipped detectors and those of `files`, as [`DetectorRegistry::new`] gives them, and what can't be used.
    pub(crate) fn load(
        &self,
        files: Vec<DefinitionFile>,
        categories: &CategoryTable,
    ) -> (Arc<DetectorRegistry>, Vec<DefinitionFault>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.as_ref().filter(|known| known.files == files && known.categories == *categories) {
            return (Arc::clone(&known.registry), known.faults.clone());
        }
        let (registry, faults) = DetectorRegistry::new(&files, categories);
        let registry = Arc::new(registry);
        let categories = categories.clone();
        *kept = Some(KeptDetectors { files, categories, registry: Arc::clone(&registry), faults: faults.clone() });
        (registry, faults)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_that_changes_is_loaded_again() {
        let cache = DetectorCache::default();
        let file = |text: &str| {
            let (file, attached) = ("tools/a.toml".into(), Vec::new());
            vec![DefinitionFile { file, layer: 0, text: text.to_owned(), attached }]
        };
        let own = "[[detector]]\nname = \"own\"\ntitle = \"A title\"\nsummary = \"A sentence.\"\ntool = [\"tsc\"]\n";
        let categories = CategoryTable::default();
        let load = |text: &str| cache.load(file(text), &categories);
        let (first, faults) = load(own);
        assert!(faults.is_empty() && first.detector_names().any(|name| name == "own"), "{faults:?}");
        assert!(Arc::ptr_eq(&first, &load(own).0), "the same text is not compiled again");
        let (without, faults) = load(&own.replace("tool = [\"tsc\"]\n", ""));
        assert!(!without.detector_names().any(|name| name == "own"));
        assert_eq!(
            (faults.len(), load(&own.replace("tool = [\"tsc\"]\n", "")).1.len()),
            (1, 1),
            "faults are kept as well"
        );
    }
}
