//! The first few of many, in an order, without all of them in memory.

/// Of what is pushed those with the smallest keys, at most a number of them; at most twice as many are held.
#[derive(Debug)]
pub(crate) struct FirstFew<K, V> {
    max: usize,
    kept: Vec<(K, V)>,
}

impl<K: Ord, V> FirstFew<K, V> {
    /// For at most `max` of them.
    pub(crate) fn new(max: usize) -> Self {
        FirstFew { max, kept: Vec::new() }
    }

    /// Adds one. Of equal keys the one that was added first comes first.
    pub(crate) fn push(&mut self, key: K, value: V) {
        self.kept.push((key, value));
        if self.kept.len() > 2 * self.max {
            self.cut();
        }
    }

    /// Those that come first, in their order.
    pub(crate) fn into_sorted(mut self) -> impl Iterator<Item = (K, V)> {
        self.cut();
        self.kept.into_iter()
    }

    fn cut(&mut self) {
        self.kept.sort_by(|(a, _), (b, _)| a.cmp(b));
        self.kept.truncate(self.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_with_the_smallest_keys_stay_whatever_comes_first() {
        for max in [0, 1, 3, 50] {
            let mut few = FirstFew::new(max);
            for number in 0..100 {
                few.push((number * 37) % 100 / 2, number);
                assert!(few.kept.len() <= 2 * max.max(1));
            }
            let keys: Vec<i32> = few.into_sorted().map(|(key, _)| key).collect();
            assert_eq!(keys, (0..100).map(|place| place / 2).take(max).collect::<Vec<_>>());
        }
        let mut few = FirstFew::new(2);
        ["a", "b", "c"].into_iter().for_each(|value| few.push(0, value));
        assert_eq!(few.into_sorted().map(|(_, value)| value).collect::<String>(), "ab");
    }
}
