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
            Literals::Compact(automaton) => walk(automaton, text, false, found),
            Literals::Table(automaton) => walk(automaton, text, true, found),
        }
    }
}

/// What a processor reads at once where no literal ends: it waits for each next state, and with several of them for one
/// as long as for all.
const LANES: usize = 4;
const LANE_BYTES: usize = 1 << 10;
/// Bytes that are read one by one where a literal was found, before lanes are tried again: where there are many, what a
/// lane reads is read for nothing.
const SINGLY_BYTES: usize = 4 * LANES * LANE_BYTES;

fn walk(automaton: &impl Automaton, text: &[u8], in_lanes: bool, mut found: impl FnMut(usize, usize)) {
    // Both are built for searches that begin anywhere, so there is a start.
    let Ok(start) = automaton.start_state(Anchored::No) else { return };
    let in_lanes = in_lanes && text.len() >= LANES * LANE_BYTES && automaton.max_pattern_len() <= LANE_BYTES;
    let (mut end, mut state) = (0, start);
    let mut singly_until = if in_lanes { 0 } else { text.len() };
    while end < text.len() {
        if end >= singly_until {
            let (without, behind) = skip_lanes(automaton, &text[end..], start, state);
            (end, state) = (end + without, behind);
            singly_until = text.len().min(end + SINGLY_BYTES);
        }
        let (length, behind) = next_match(automaton, &text[end..singly_until], state);
        (end, state) = (end + length, behind);
        if length > 0 && automaton.is_match(state) {
            for index in 0..automaton.match_len(state) {
                found(automaton.match_pattern(state, index).as_usize(), end);
            }
        }
    }
}

/// After how many bytes the first literal ends, or all, and the state there. A function of its own: amid what is done
/// with matches the state would be written to memory for every byte.
#[inline(never)]
fn next_match(automaton: &impl Automaton, text: &[u8], mut state: StateID) -> (usize, StateID) {
    let at = text.iter().position(|&byte| {
        state = automaton.next_state(Anchored::No, state, byte);
        automaton.is_special(state) && automaton.is_match(state)
    });
    (at.map_or(text.len(), |at| at + 1), state)
}

/// How many bytes there are, in whole blocks of lanes, before one in which a literal ends, and the state behind them.
#[inline(never)]
fn skip_lanes(automaton: &impl Automaton, text: &[u8], start: StateID, mut state: StateID) -> (usize, StateID) {
    let mut skipped = 0;
    let known = automaton.max_pattern_len().saturating_sub(1);
    for block in text.as_chunks::<LANE_BYTES>().0.as_chunks::<LANES>().0 {
        let mut lanes = [state; LANES];
        for (state, before) in lanes[1..].iter_mut().zip(block) {
            // No state knows more of what is before it than the longest literal without its last byte.
            let before = before[LANE_BYTES - known..].iter();
            *state = before.fold(start, |state, &byte| automaton.next_state(Anchored::No, state, byte));
        }
        let mut is_in = false;
        for at in 0..LANE_BYTES {
            for (state, bytes) in lanes.iter_mut().zip(block) {
                *state = automaton.next_state(Anchored::No, *state, bytes[at]);
                is_in |= automaton.is_special(*state) && automaton.is_match(*state);
            }
        }
        if is_in {
            break;
        }
        skipped += LANES * LANE_BYTES;
        state = lanes[LANES - 1];
    }
    (skipped, state)
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
    fn what_is_found_in_lanes_is_what_is_there() {
        let words = ["abc", "bcd", "cab", "d", "abcabca"];
        let literals = Literals::new(words, false, LONG_TEXT_BYTES_MIN).expect("builds");
        let block = LANES * LANE_BYTES;
        let filler = "ab".repeat(6 * block);
        let borders = [1, LANE_BYTES, 3 * LANE_BYTES, block, block + LANE_BYTES, SINGLY_BYTES + block, 9 * block];
        for at in borders.into_iter().flat_map(|border| border - 1..border + 8) {
            let mut text = filler.clone();
            text.replace_range(at..at + 7, "abcabca");
            text.replace_range(at + 40..at + 41, "d");
            let mut wanted: Vec<(usize, usize)> = (0..words.len())
                .flat_map(|word| {
                    let ends = text.as_bytes().windows(words[word].len()).enumerate();
                    ends.filter(move |(_, seen)| *seen == words[word].as_bytes())
                        .map(move |(from, _)| (word, from + words[word].len()))
                })
                .collect();
            let mut seen = Vec::new();
            literals.each(text.as_bytes(), |word, end| seen.push((word, end)));
            assert!(seen.is_sorted_by_key(|(_, end)| *end), "{at}: {seen:?}");
            seen.sort_unstable();
            wanted.sort_unstable();
            assert_eq!(seen, wanted, "{at}");
        }
    }

    #[test]
    fn without_literals_nothing_is_found() {
        Literals::none().each(b"text", |word, end| panic!("{word} at {end}"));
    }
}
