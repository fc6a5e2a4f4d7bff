//! Memory of the process's first moments.
//!
//! A command that is no check is executed after a few hundred small allocations, and setting the C library's
//! allocator up for them costs more than making them. So the first [`ARENA_BYTES`] come from zeroed memory of the
//! program itself, one after the other; everything later is the C library's, or with musl that of `base::heap`.
#![allow(unsafe_code, reason = "a global allocator")]

#[cfg(not(target_env = "musl"))]
use std::alloc::System as Behind;
use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicUsize, Ordering};

#[cfg(target_env = "musl")]
use super::heap::Heap as Behind;

/// What is given out before the allocator behind it is asked, bytes.
pub const ARENA_BYTES: usize = 64 << 10;

/// The allocator: see the module.
pub struct StartArena {
    memory: UnsafeCell<[u8; ARENA_BYTES]>,
    /// Everything below is given out.
    used: AtomicUsize,
}

// SAFETY: a byte of `memory` belongs to whoever moved `used` over it, which one thread can do.
unsafe impl Sync for StartArena {}

impl Default for StartArena {
    fn default() -> Self {
        Self::new()
    }
}

impl StartArena {
    /// An arena with nothing given out.
    pub const fn new() -> Self {
        StartArena { memory: UnsafeCell::new([0; ARENA_BYTES]), used: AtomicUsize::new(0) }
    }

    fn start(&self) -> usize {
        self.memory.get() as usize
    }

    /// Where in the arena `pointer` is; `None` for a later one.
    fn offset(&self, pointer: *mut u8) -> Option<usize> {
        (pointer as usize).checked_sub(self.start()).filter(|offset| *offset < ARENA_BYTES)
    }

    /// Takes the next bytes; `None` when they are not there.
    fn take(&self, layout: Layout) -> Option<*mut u8> {
        let mut used = self.used.load(Ordering::Relaxed);
        loop {
            let address = (self.start() + used).checked_next_multiple_of(layout.align())?;
            let offset = address - self.start();
            let end = offset.checked_add(layout.size()).filter(|end| *end <= ARENA_BYTES)?;
            match self.used.compare_exchange_weak(used, end, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(self.memory.get().cast::<u8>().wrapping_add(offset)),
                Err(now) => used = now,
            }
        }
    }

    /// Moves the end of the last block from `end` to `new_end`; whether it was the last one.
    fn resize_last(&self, end: usize, new_end: usize) -> bool {
        new_end <= ARENA_BYTES && self.used.compare_exchange(end, new_end, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

// SAFETY: `take` gives out each byte once and aligned, what is given back is given out again only when it was the last
// block, and everything else is the allocator's behind it.
unsafe impl GlobalAlloc for StartArena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        self.take(layout).unwrap_or_else(|| unsafe { Behind.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match self.take(layout) {
            Some(block) => {
                // SAFETY: the block was just given out; memory that is given out again is not zero any more.
                unsafe { block.write_bytes(0, layout.size()) };
                block
            }
            // SAFETY: the caller's promise.
            None => unsafe { Behind.alloc_zeroed(layout) },
        }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        match self.offset(pointer) {
            Some(offset) => {
                self.resize_last(offset + layout.size(), offset);
            }
            // SAFETY: the caller's promise; the block is not ours, so it is the other allocator's.
            None => unsafe { Behind.dealloc(pointer, layout) },
        }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let Some(offset) = self.offset(pointer) else {
            // SAFETY: as above.
            return unsafe { Behind.realloc(pointer, layout, new_size) };
        };
        let grown = offset.checked_add(new_size).is_some_and(|end| self.resize_last(offset + layout.size(), end));
        if grown || new_size <= layout.size() {
            return pointer;
        }
        // SAFETY: the caller's promise is that size and alignment make a layout; both blocks hold the bytes copied.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(new_size, layout.align()));
            if !new.is_null() {
                std::ptr::copy_nonoverlapping(pointer, new, layout.size());
            }
            new
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(size: usize, align: usize) -> Layout {
        Layout::from_size_align(size, align).expect("a power of two")
    }

    #[test]
    fn blocks_are_apart_aligned_and_end_with_the_arena() {
        let arena = Box::new(StartArena::new());
        let mut last_end = 0;
        let mut from_behind = 0;
        for i in 0..3_000 {
            let layout = layout(1 + i % 40, 1 << (i % 5));
            // SAFETY: every block is given back with its layout, or never.
            unsafe {
                let block = arena.alloc(layout);
                block.write_bytes(0xff, layout.size());
                assert_eq!(block as usize % layout.align(), 0);
                match arena.offset(block) {
                    Some(offset) => {
                        assert!(offset >= last_end, "{offset} is given out already");
                        last_end = offset + layout.size();
                    }
                    None => {
                        from_behind += 1;
                        arena.dealloc(block, layout);
                    }
                }
            }
        }
        assert!(last_end <= ARENA_BYTES && from_behind > 0);
    }

    #[test]
    fn the_last_block_grows_in_place_and_any_other_is_copied() {
        let arena = Box::new(StartArena::new());
        // SAFETY: every block is used with the layout it has.
        unsafe {
            let first = arena.alloc(layout(10, 1));
            first.write_bytes(7, 10);
            assert_eq!(arena.realloc(first, layout(10, 1), 20), first);
            let second = arena.alloc(layout(5, 1));
            let moved = arena.realloc(first, layout(20, 1), 30);
            assert_ne!(moved, first);
            assert_eq!(std::slice::from_raw_parts(moved, 10), [7; 10]);
            arena.dealloc(moved, layout(30, 1));
            assert_eq!(arena.alloc(layout(30, 1)), moved, "the last block is given out again");
            arena.dealloc(second, layout(5, 1));
            assert_ne!(arena.alloc(layout(5, 1)), second, "another one is not");
            let large = arena.realloc(moved, layout(30, 1), 2 * ARENA_BYTES);
            assert!(arena.offset(large).is_none());
            arena.dealloc(large, layout(2 * ARENA_BYTES, 1));
        }
    }
}
