//! An allocator that hands out blocks from one piece of memory.
//!
//! **At the start.** A command that is not a check is executed after a few hundred small allocations, and setting the C
//! library's allocator up for them costs more than making them. So the first [`ARENA_BYTES`] come from zeroed memory of the
//! program itself; everything later is the C library's, or with musl that of `base::heap`.
//!
//! **Apart.** A thread that reads tables which stay, beside the one that goes on, makes thousands of small blocks at once,
//! and both would wait for each other at each of them. What it makes under [`apart`] comes from a piece of its own.
#![allow(unsafe_code, reason = "a global allocator")]

#[cfg(not(target_env = "musl"))]
use std::alloc::System as Behind;
use std::alloc::{GlobalAlloc, Layout};
use std::cell::{Cell, UnsafeCell};
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

use nix::libc;

#[cfg(target_env = "musl")]
use super::heap::Heap as Behind;

/// What is given out before the allocator behind it is asked, bytes.
pub const ARENA_BYTES: usize = 64 << 10;

/// The piece for what is made apart, bytes, of which an untouched page costs nothing; and how much of it is taken
/// from the system at once, since page by page that takes several times as long: about what the tables need.
const APART_BYTES: (usize, usize) = (16 << 20, 896 << 10);

/// What a thread's heap has at once, bytes.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const THREAD_HEAP_BYTES: libc::c_int = 8 << 20;

/// The allocator: see the module.
pub struct StartArena {
    memory: UnsafeCell<[u8; ARENA_BYTES]>,
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

    fn piece(&self) -> ArenaPiece<'_> {
        ArenaPiece { start: self.memory.get().cast(), bytes: ARENA_BYTES, used: &self.used }
    }

    /// The next bytes of the piece that this thread takes from; `None` when they are the allocator's behind it.
    fn take(&self, layout: Layout) -> Option<*mut u8> {
        self.piece().take(layout).or_else(|| if IS_APART.get() { apart_piece().take(layout) } else { None })
    }

    /// The piece that `pointer` is from, and where it is there; `None` for a block of the allocator behind it.
    fn piece_of(&self, pointer: *mut u8) -> Option<(ArenaPiece<'_>, usize)> {
        [self.piece(), apart_piece()].into_iter().find_map(|piece| Some((piece, piece.offset(pointer)?)))
    }
}

/// Zeroed memory of which everything below `used` is given out.
#[derive(Clone, Copy)]
struct ArenaPiece<'a> {
    start: *mut u8,
    bytes: usize,
    used: &'a AtomicUsize,
}

impl ArenaPiece<'_> {
    /// Where in the piece `pointer` is; `None` for one outside.
    fn offset(self, pointer: *mut u8) -> Option<usize> {
        (pointer as usize).checked_sub(self.start as usize).filter(|offset| *offset < self.bytes)
    }

    /// Takes the next bytes; `None` when they are not there.
    fn take(self, layout: Layout) -> Option<*mut u8> {
        let start = self.start as usize;
        let mut used = self.used.load(Ordering::Relaxed);
        loop {
            let offset = (start + used).checked_next_multiple_of(layout.align())? - start;
            let end = offset.checked_add(layout.size()).filter(|end| *end <= self.bytes)?;
            match self.used.compare_exchange_weak(used, end, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(self.start.wrapping_add(offset)),
                Err(now) => used = now,
            }
        }
    }

    /// Moves the end of the last block from `end` to `new_end`; whether it was the last one.
    fn resize_last(self, end: usize, new_end: usize) -> bool {
        new_end <= self.bytes && self.used.compare_exchange(end, new_end, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

/// Where the piece for what is made apart starts, 0 before there is one; and how much of it is given out.
static APART: (AtomicUsize, AtomicUsize) = (AtomicUsize::new(0), AtomicUsize::new(0));

thread_local! {
    static IS_APART: Cell<bool> = const { Cell::new(false) };
}

fn apart_piece() -> ArenaPiece<'static> {
    let start = APART.0.load(Ordering::Acquire);
    let bytes = if start == 0 { 0 } else { APART_BYTES.0 };
    ArenaPiece { start: std::ptr::with_exposed_provenance_mut(start), bytes, used: &APART.1 }
}

/// Does work that makes what stays for good: what is given back in the piece that it comes from is mostly lost.
pub fn apart<T>(work: impl FnOnce() -> T) -> T {
    static MAPPED: Once = Once::new();
    struct EndedArena;
    impl Drop for EndedArena {
        fn drop(&mut self) {
            IS_APART.set(false);
        }
    }
    MAPPED.call_once(|| APART.0.store(map(APART_BYTES.0, APART_BYTES.1), Ordering::Release));
    let _ended = EndedArena;
    IS_APART.set(true);
    work()
}

/// Gives threads that are started from now on heaps that they needn't wait for. With glibc each has one of its own, which
/// grows page by page with a call for each: it is taken at once instead, and what is not touched costs nothing. With musl
/// see `base::heap`. For a process that ends soon, called before there are threads.
pub fn reserve_for_threads() {
    #[cfg(target_env = "musl")]
    super::heap::reserve_for_threads();
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it sets two numbers, and is called before there are threads.
    unsafe {
        libc::mallopt(libc::M_TOP_PAD, THREAD_HEAP_BYTES);
        // To set one of them keeps the library from raising the other, as it does with use.
        libc::mallopt(libc::M_MMAP_THRESHOLD, THREAD_HEAP_BYTES);
    }
}

/// Zeroed memory, the first `at_once` bytes of it with their pages: its address, 0 when there is none.
fn map(bytes: usize, at_once: usize) -> usize {
    let (access, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_NORESERVE);
    // SAFETY: a new mapping, where the system wants it; a failure to populate its pages at once doesn't matter.
    unsafe {
        let memory = libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0);
        if memory == libc::MAP_FAILED {
            return 0;
        }
        #[cfg(target_os = "linux")]
        libc::madvise(memory, at_once, libc::MADV_POPULATE_WRITE);
        #[cfg(not(target_os = "linux"))]
        let _ = at_once;
        memory.expose_provenance()
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
        match self.piece_of(pointer) {
            Some((piece, offset)) => {
                piece.resize_last(offset + layout.size(), offset);
            }
            // SAFETY: the caller's promise; the block is not ours, so it is the other allocator's.
            None => unsafe { Behind.dealloc(pointer, layout) },
        }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let Some((piece, offset)) = self.piece_of(pointer) else {
            // SAFETY: as above.
            return unsafe { Behind.realloc(pointer, layout, new_size) };
        };
        let grown = offset.checked_add(new_size).is_some_and(|end| piece.resize_last(offset + layout.size(), end));
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
                match arena.piece().offset(block) {
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
            assert!(arena.piece().offset(large).is_none());
            arena.dealloc(large, layout(2 * ARENA_BYTES, 1));
        }
    }

    #[test]
    fn what_is_made_apart_is_so_on_this_thread_until_the_work_ends_and_falls_back_when_there_is_no_room() {
        let arena = Box::new(StartArena::new());
        let is_apart = |block: *mut u8| apart_piece().offset(block).is_some();
        // SAFETY: every block is given back with its layout.
        unsafe {
            while arena.piece().take(layout(1 << 10, 1)).is_some() {}
            let own = arena.alloc(layout(2_000, 8));
            let (first, elsewhere) = apart(|| {
                let elsewhere = std::thread::scope(|scope| {
                    let alloc = || arena.alloc(layout(2_000, 8)) as usize;
                    scope.spawn(alloc).join().expect("allocates")
                });
                (arena.alloc_zeroed(layout(2_000, 8)), std::ptr::with_exposed_provenance_mut(elsewhere))
            });
            let later = arena.alloc(layout(2_000, 8));
            assert_eq!([own, first, elsewhere, later].map(is_apart), [false, true, false, false]);
            assert!(std::slice::from_raw_parts(first, 2_000).iter().all(|byte| *byte == 0));
            let large = apart(|| arena.realloc(first, layout(2_000, 8), APART_BYTES.0 + 1));
            assert!(!is_apart(large));
            arena.dealloc(large, layout(APART_BYTES.0 + 1, 8));
            for block in [own, elsewhere, later] {
                arena.dealloc(block, layout(2_000, 8));
            }
        }
        assert!(std::panic::catch_unwind(|| apart(|| panic!("in between"))).is_err() && !IS_APART.get());
    }
}
