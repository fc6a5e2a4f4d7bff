//! Where the store ended when pages were read.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::ops::board::changes::StorePosition;

/// Pages whose ends are known: those that were read last.
const PAGE_ENDS_MAX: usize = 64;
/// Letters of a digest that name an end.
const END_NAME_LETTERS: usize = 16;

/// Where the store ended when pages were read, by a name that the page has: what is recorded after that is news to its
/// reader, whether the page was in sight or not.
#[derive(Default)]
pub(super) struct PageEnds(Mutex<VecDeque<(String, StorePosition)>>);

impl PageEnds {
    /// Keeps an end; its name.
    pub(super) fn keep(&self, end: &StorePosition) -> String {
        let digest = blake3::hash(serde_json::to_string(end).unwrap_or_default().as_bytes()).to_hex();
        let name = digest[..END_NAME_LETTERS].to_owned();
        let mut kept = self.lock();
        kept.retain(|(known, _)| *known != name);
        kept.truncate(PAGE_ENDS_MAX - 1);
        kept.push_front((name.clone(), end.clone()));
        name
    }

    /// The end with a name; `None` of one that is not known any more.
    pub(super) fn find(&self, name: &str) -> Option<StorePosition> {
        self.lock().iter().find(|(known, _)| known == name).map(|(_, end)| end.clone())
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(String, StorePosition)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_known_by_its_name_until_many_others_were_kept() {
        let ends = PageEnds::default();
        let end = |bytes: u64| StorePosition::from([("a.jsonl".to_owned(), bytes)]);
        let first = ends.keep(&end(0));
        assert_eq!(first, ends.keep(&end(0)));
        for bytes in 1..PAGE_ENDS_MAX as u64 {
            ends.keep(&end(bytes));
        }
        assert_eq!(ends.find(&first), Some(end(0)));
        ends.keep(&end(1_000));
        assert_eq!((ends.find(&first), ends.find("none")), (None, None));
        assert_eq!(ends.lock().len(), PAGE_ENDS_MAX);
    }
}
