//! The allocator behind [`crate::base::arena`] where the C library is musl.
//!
//! musl's own is made to be small: it starts slowly, and asks the system for memory and gives it back more often than a
//! recorder's few milliseconds bear. dlmalloc's heap grows and is split without the system. It moves a large block that
//! grows, and keeps the hole; with musl such a block is a mapping of its own, which grows in place or is moved without a
//! copy. So small blocks are dlmalloc's and large ones musl's.
//!
//! The heap's memory comes with its pages (`MAP_POPULATE`), some at a time: page by page, as they are touched, the
//! system takes several times as long, and untouched pages cost as much.
//!
//! The heap has one lock, and a child of `fork` would wait for a thread that it doesn't have. So [`crate::run`] forks
//! while there is one thread only, and whoever starts one does it after that. The child takes its own copy of what there is
//! then ([`unshare`]).
#![allow(unsafe_code, reason = "a global allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use dlmalloc::{Allocator, Dlmalloc};
use nix::libc;

/// A block of this many bytes is musl's: a mapping of its own (which its allocator makes from `MMAP_THRESHOLD` on, a
/// little below 128 KiB). Smaller ones are few, and made again and again: a regex with a class of Unicode takes one
/// of 300 KiB while it is compiled.
const LARGE_BYTES_MIN: usize = 512 << 10;

/// So often a heap in use is asked for before the processor is left to others.
const TRIES: u32 = 64;

/// Bytes that the heap asks for at once; it grows by no more than the second.
const GROWTH_BYTES: (usize, usize) = (64 << 10, 128 << 10);

/// This many of the heap's first mappings are known: what a process has before it forks.
const FIRST_MAPPINGS: usize = 4;

/// The allocator: see the module.
#[derive(Debug)]
pub struct Heap;

/// The system's memory; how much of it was given out, bytes.
struct SystemPages(AtomicUsize);

/// Of each of the first mappings where it starts and its size, bytes.
static FIRST: [(AtomicUsize, AtomicUsize); FIRST_MAPPINGS] =
    [const { (AtomicUsize::new(0), AtomicUsize::new(0)) }; FIRST_MAPPINGS];

/// Copies what a process shares of the heap with the one that it was forked from, at once. Page by page, as they are
/// written to, it takes longer, and with several threads each copy stops them all.
pub fn unshare() {
    #[cfg(target_os = "linux")]
    for (start, bytes) in &FIRST {
        let (start, bytes) = (start.load(Ordering::Relaxed), bytes.load(Ordering::Relaxed));
        // SAFETY: the system touches the pages of a mapping of verify-run, and changes nothing in them; that an older
        // one can't is no matter, nor that the mapping was given back meanwhile.
        unsafe { libc::madvise(std::ptr::with_exposed_provenance_mut(start), bytes, libc::MADV_POPULATE_WRITE) };
    }
}

impl SystemPages {
    /// Memory with its pages; null when there is none.
    fn map(bytes: usize) -> *mut u8 {
        #[cfg(target_os = "linux")]
        const WITH_PAGES: i32 = libc::MAP_POPULATE;
        #[cfg(not(target_os = "linux"))]
        const WITH_PAGES: i32 = 0;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANON | WITH_PAGES;
        // SAFETY: a new mapping, where the system wants it.
        let memory =
            unsafe { libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if memory == libc::MAP_FAILED { std::ptr::null_mut() } else { memory.cast() }
    }
}

// SAFETY: what is given out is a mapping of its own, zero, of the size that is said.
unsafe impl Allocator for SystemPages {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        let grown = self.0.load(Ordering::Relaxed).clamp(GROWTH_BYTES.0, GROWTH_BYTES.1);
        let bytes = size.max(grown.next_multiple_of(self.page_size()));
        self.0.fetch_add(bytes, Ordering::Relaxed);
        let memory = Self::map(bytes);
        if let Some((start, size)) = FIRST.iter().find(|(start, _)| start.load(Ordering::Relaxed) == 0) {
            start.store(memory.expose_provenance(), Ordering::Relaxed);
            size.store(bytes, Ordering::Relaxed);
        }
        (memory, bytes, 0)
    }

    /// Only of blocks that are mappings of their own: large ones, which are not this heap's.
    fn remap(&self, _ptr: *mut u8, _oldsize: usize, _newsize: usize, _can_move: bool) -> *mut u8 {
        std::ptr::null_mut()
    }

    fn free_part(&self, _ptr: *mut u8, _oldsize: usize, _newsize: usize) -> bool {
        false
    }

    fn free(&self, ptr: *mut u8, size: usize) -> bool {
        // SAFETY: dlmalloc gives back what `alloc` has given out, as a whole, when nothing in it is used.
        unsafe { libc::munmap(ptr.cast(), size) == 0 }
    }

    fn can_release_part(&self, _flags: u32) -> bool {
        false
    }

    fn allocates_zeros(&self) -> bool {
        true
    }

    fn page_size(&self) -> usize {
        4096
    }
}

/// The small blocks. Nearly always one thread allocates, and a mutex of musl takes as long as an allocation.
struct SmallBlocks {
    heap: UnsafeCell<Dlmalloc<SystemPages>>,
    is_taken: AtomicBool,
}

// SAFETY: the heap is used by whoever set `is_taken` alone.
unsafe impl Sync for SmallBlocks {}

static SMALL: SmallBlocks = SmallBlocks {
    heap: UnsafeCell::new(Dlmalloc::new_with_allocator(SystemPages(AtomicUsize::new(0)))),
    is_taken: AtomicBool::new(false),
};

impl SmallBlocks {
    /// `work` must not allocate, and can't panic: no other thread can go on while the heap is locked.
    fn with<T>(&self, work: impl FnOnce(&mut Dlmalloc<SystemPages>) -> T) -> T {
        if self.is_taken.swap(true, Ordering::Acquire) {
            self.wait();
        }
        // SAFETY: it was free, and is ours until it is given back.
        let done = work(unsafe { &mut *self.heap.get() });
        self.is_taken.store(false, Ordering::Release);
        done
    }

    /// Takes the heap as soon as it is free: whoever has it is done in no time, unless the processor was taken away
    /// meanwhile. Apart, so that it is not in each place that allocates.
    #[cold]
    #[inline(never)]
    fn wait(&self) {
        let mut tries = 0_u32;
        // Looked at before it is taken: looking alone doesn't slow down who has it.
        while self.is_taken.load(Ordering::Relaxed) || self.is_taken.swap(true, Ordering::Acquire) {
            tries = tries.wrapping_add(1);
            if tries.is_multiple_of(TRIES) { std::thread::yield_now() } else { std::hint::spin_loop() }
        }
    }
}

fn is_large(bytes: usize) -> bool {
    bytes >= LARGE_BYTES_MIN
}

// SAFETY: whose a block is follows from its size alone, which is in the layout that it was made with and in the one
// that it is given back with.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe {
            if is_large(layout.size()) {
                System.alloc(layout)
            } else {
                SMALL.with(|heap| heap.malloc(layout.size(), layout.align()))
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe {
            if is_large(layout.size()) {
                System.alloc_zeroed(layout)
            } else {
                SMALL.with(|heap| heap.calloc(layout.size(), layout.align()))
            }
        }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise; a block of this size is that allocator's.
        unsafe {
            if is_large(layout.size()) {
                System.dealloc(pointer, layout)
            } else {
                SMALL.with(|heap| heap.free(pointer, layout.size(), layout.align()))
            }
        }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: as above; the caller's promise is that the new size and the alignment make a layout, and both blocks
        // hold the bytes copied.
        unsafe {
            match (is_large(layout.size()), is_large(new_size)) {
                (true, true) => System.realloc(pointer, layout, new_size),
                (false, false) => SMALL.with(|heap| heap.realloc(pointer, layout.size(), layout.align(), new_size)),
                _ => {
                    let new = self.alloc(Layout::from_size_align_unchecked(new_size, layout.align()));
                    if !new.is_null() {
                        std::ptr::copy_nonoverlapping(pointer, new, layout.size().min(new_size));
                        self.dealloc(pointer, layout);
                    }
                    new
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_keeps_its_bytes_however_it_grows_and_shrinks_over_the_limit() {
        let sizes = [1, 1_000, LARGE_BYTES_MIN - 1, LARGE_BYTES_MIN, 3 * LARGE_BYTES_MIN, LARGE_BYTES_MIN, 500, 10];
        for align in [1, 8, 64, 4_096] {
            let mut layout = Layout::from_size_align(sizes[0], align).expect("a layout");
            // SAFETY: every block is used with the layout it has, and given back once.
            unsafe {
                let mut block = Heap.alloc_zeroed(layout);
                assert_eq!(*block, 0);
                for size in sizes {
                    let kept = layout.size().min(size);
                    let before: Vec<u8> = std::slice::from_raw_parts(block, kept).to_vec();
                    block = Heap.realloc(block, layout, size);
                    assert!(!block.is_null() && (block as usize).is_multiple_of(align));
                    assert_eq!(std::slice::from_raw_parts(block, kept), before, "{size}");
                    layout = Layout::from_size_align(size, align).expect("a layout");
                    for at in 0..size {
                        block.add(at).write((at % 251) as u8);
                    }
                }
                Heap.dealloc(block, layout);
            }
        }
    }

    #[test]
    fn zeroed_memory_is_zero_when_it_was_used_before() {
        for size in [100, LARGE_BYTES_MIN] {
            let layout = Layout::from_size_align(size, 8).expect("a layout");
            // SAFETY: as above.
            unsafe {
                for _ in 0..10 {
                    let block = Heap.alloc_zeroed(layout);
                    assert!(std::slice::from_raw_parts(block, size).iter().all(|byte| *byte == 0));
                    block.write_bytes(0xff, size);
                    Heap.dealloc(block, layout);
                }
            }
        }
    }
}
