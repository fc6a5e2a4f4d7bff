//! Requests that were answered, in numbers.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Upper limits of the histogram's buckets, milliseconds.
pub(super) const BUCKETS_MS: [u64; 8] = [5, 10, 25, 50, 100, 250, 1_000, 10_000];

/// Requests that were answered.
#[derive(Debug, Default)]
pub(super) struct RequestCounts(Mutex<RequestSums>);

/// What was answered up to a moment.
#[derive(Debug, Default, Clone)]
pub(super) struct RequestSums {
    /// By route and status.
    pub requests: BTreeMap<(&'static str, u16), u64>,
    /// Answers within each limit.
    pub buckets: [u64; BUCKETS_MS.len()],
    pub count: u64,
    /// How long all of them took.
    pub seconds: f64,
}

impl RequestCounts {
    /// Counts an answer.
    pub(super) fn add_request(&self, route: &'static str, status: u16, took: Duration) {
        let mut sums = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *sums.requests.entry((route, status)).or_default() += 1;
        sums.count += 1;
        sums.seconds += took.as_secs_f64();
        for (number, limit) in BUCKETS_MS.iter().enumerate() {
            sums.buckets[number] += u64::from(took <= Duration::from_millis(*limit));
        }
    }

    /// What was answered until now.
    pub(super) fn sums(&self) -> RequestSums {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_counts_up_to_each_limit() {
        let counts = RequestCounts::default();
        for milliseconds in [1, 30, 20_000] {
            counts.add_request("/", 200, Duration::from_millis(milliseconds));
        }
        let sums = counts.sums();
        assert_eq!((sums.buckets, sums.count), ([1, 1, 1, 2, 2, 2, 2, 2], 3));
    }
}
