//! Many literals found in one pass over a text (Aho and Corasick, 1975).
//!
//! Every occurrence of every literal is wanted here, and a line of an output has many. The library's own iterator takes
//! its search up again after each of them, which costs more than the search: the automaton is walked here.

use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::{Anchored, BuildError, dfa, nfa::contiguous};

/// From this many bytes of text on an automaton is worth it that takes milliseconds to build and finds faster.
pub const LONG_TEXT_BYTES_MIN: usize = 1 << 20;

/// The automaton of some literals.
#[derive(Debug)]
pub enum Literals {
    /// Built fast.
    Compact(contiguous::NFA),
    /// Searches fast.
    Table(dfa::DFA),
}

impl Literals {
    /// For texts of `bytes` bytes in all. `ignore_case` is of ASCII.
    ///
    /// # Errors
    /// More literals than fit into an automaton: millions of bytes.
    pub fn new<L: AsRef<[u8]>>(
        literals: impl IntoIterator<Item = L>,
        ignore_case: bool,
        bytes: usize,
    ) -> Result<Self, BuildError> {
        match bytes {
            LONG_TEXT_BYTES_MIN.. => {
                dfa::DFA::builder().ascii_case_insensitive(ignore_case).build(literals).map(Literals::Table)
            }
            _ => contiguous::NFA::builder().ascii_case_insensitive(ignore_case).build(literals).map(Literals::Compact),
        }
    }

    /// Finds nothing.
    pub fn none() -> Self {
        Literals::new([""; 0], false, 0).expect("an automaton without literals can be built")
    }

    /// Calls `found` with the number of a literal and where it ends, for every occurrence, in the order of the ends.
    pub fn each(&self, text: &[u8], found: impl FnMut(usize, usize)) {
        match self {
            Literals::Compact(automaton) => walk(automaton, text, found),
            Literals::Table(automaton) => walk(automaton, text, found),
        }
    }
}

fn walk(automaton: &impl Automaton, text: &[u8], mut found: impl FnMut(usize, usize)) {
    // Both are built for searches that begin anywhere, so there is a start.
    let Ok(mut state) = automaton.start_state(Anchored::No) else { return };
    let mut end = 0;
    while let Some((length, matched)) = next_match(automaton, &text[end..], state) {
        (end, state) = (end + length, matched);
        for index in 0..automaton.match_len(state) {
            found(automaton.match_pattern(state, index).as_usize(), end);
        }
    }
}

/// After how many bytes a literal ends, and the state there. A function of its own: amid what is done with matches the
/// state would be written to memory for every byte.
#[inline(never)]
fn next_match(automaton: &impl Automaton, text: &[u8], mut state: StateID) -> Option<(usize, StateID)> {
    text.iter()
        .position(|&byte| {
            state = automaton.next_state(Anchored::No, state, byte);
            automaton.is_special(state) && automaton.is_match(state)
        })
        .map(|at| (at + 1, state))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_occurrence_is_found_in_the_order_of_its_end() {
        let words = ["he", "she", "his", "hers", "s"];
        for (text, ignore_case) in [("ushers and his", false), ("uSHErs AND HiS", true)] {
            let lower = text.to_ascii_lowercase();
            let mut wanted: Vec<(usize, usize)> = (0..words.len())
                .flat_map(|word| lower.match_indices(words[word]).map(move |(at, _)| (word, at + words[word].len())))
                .collect();
            wanted.sort_by_key(|(word, end)| (*end, *word));
            for literals in [0, LONG_TEXT_BYTES_MIN].map(|bytes| Literals::new(words, ignore_case, bytes)) {
                let mut seen = Vec::new();
                literals.expect("builds").each(text.as_bytes(), |word, end| seen.push((word, end)));
                assert!(seen.is_sorted_by_key(|(_, end)| *end), "{seen:?}");
                seen.sort_by_key(|(word, end)| (*end, *word));
                assert_eq!(seen, wanted);
            }
        }
    }

    #[test]
    fn without_literals_nothing_is_found() {
        Literals::none().each(b"text", |word, end| panic!("{word} at {end}"));
    }
}
