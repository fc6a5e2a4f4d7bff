//! Texts that were put together from the output, to be held like the parts of it that need no putting together.
//!
//! An output may be nothing but diagnostics. What each of them says is nearly always a piece of its line, so an item
//! holds borrowed pieces only; the few texts that are nowhere in the output (a test's name over several lines) are
//! kept here as long as the output is.

use std::array;
use std::cell::{Cell, OnceCell};

/// Keeps texts, and gives them out by reference while more are added.
pub(super) struct TextPool {
    /// Block `n` has room for `2^n` texts and is made when the first of them comes.
    blocks: [OnceCell<Box<[TextSlot]>>; BLOCKS],
    kept: Cell<usize>,
}

type TextSlot = OnceCell<Box<str>>;

/// More texts than any memory holds.
const BLOCKS: usize = 40;

impl TextPool {
    /// Without any.
    pub(super) fn new() -> Self {
        TextPool { blocks: array::from_fn(|_| OnceCell::new()), kept: Cell::new(0) }
    }

    /// `text` for as long as this lives.
    pub(super) fn keep_text(&self, text: String) -> &str {
        let number = self.kept.get() + 1;
        self.kept.set(number);
        let block = number.ilog2() as usize;
        let slots = self.blocks[block].get_or_init(|| (0..1_usize << block).map(|_| OnceCell::new()).collect());
        slots[number - (1 << block)].get_or_init(|| text.into_boxed_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stay_where_they_are_while_more_are_added() {
        let texts = TextPool::new();
        let kept: Vec<&str> = (0..1_000).map(|number| texts.keep_text(format!("text {number}"))).collect();
        for (number, text) in kept.iter().enumerate() {
            assert_eq!(*text, format!("text {number}"));
        }
    }
}
