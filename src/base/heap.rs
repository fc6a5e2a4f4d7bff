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
//! A heap has one lock, and a child of `fork` would wait for a thread that it doesn't have. So [`crate::run`] forks
//! while there is one thread only, and whoever starts one does it after that. The child takes its own copy of what there is
//! then ([`unshare`]).
//!
//! Threads that work at the same time spend a fifth of their time waiting for that lock. A process that has such threads
//! gives them heaps of their own ([`reserve_for_threads`]); whose a block is follows from its address, so that any thread can
//! give it back.
#![allow(unsafe_code, reason = "a global allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, UnsafeCell};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use dlmalloc::{Allocator, Dlmalloc};
use nix::libc;

/// A block of this many bytes is musl's: a mapping of its own (which its allocator makes from `MMAP_THRESHOLD` on, a
/// little below 128 KiB). Smaller ones are few, and made again and again: a regex with a class of Unicode takes one
/// of 300 KiB while it is compiled.
const LARGE_BYTES_MIN: usize = 512 << 10;

/// So often a heap in use is asked for before the processor is left to others.
const TRIES: u32 = 64;

/// Bytes that the first heap asks for at once; it grows by no more than the second.
const GROWTH_BYTES: (usize, usize) = (64 << 10, 128 << 10);

/// Heaps of threads: about as many as threads work at the same time; more threads share them.
const THREAD_HEAPS: usize = 4;
/// The addresses that each of them has; what isn't used of them costs nothing.
const THREAD_HEAP_BYTES: usize = 1 << 30;
/// As [`GROWTH_BYTES`], of a thread's heap, where growing stops all threads.
const THREAD_GROWTH_BYTES: (usize, usize) = (256 << 10, 1 << 20);

/// This many of the heap's first mappings are known: what a process has before it forks.
const FIRST_MAPPINGS: usize = 4;

/// The allocator: see the module.
#[derive(Debug)]
pub struct Heap;

/// The system's memory for a heap.
struct SystemPages {
    /// 0 is the first heap, others are those of threads.
    number: usize,
    /// How much was given out, bytes.
    given: AtomicUsize,
}

/// Of each of the first mappings where it starts and its size, bytes.
static FIRST: [(AtomicUsize, AtomicUsize); FIRST_MAPPINGS] =
    [const { (AtomicUsize::new(0), AtomicUsize::new(0)) }; FIRST_MAPPINGS];

/// Copies what a process shares of the heap with the one that it was forked from, at once. Page by page, as they are
/// written to, it takes longer, and with several threads each copy stops them all.
pub fn unshare() {
    #[cfg(target_os = "linux")]
    for (start, bytes) in &FIRST {
        populate(start.load(Ordering::Relaxed), bytes.load(Ordering::Relaxed));
    }
}

/// Takes the pages of a mapping from the system at once.
#[cfg(target_os = "linux")]
fn populate(start: usize, bytes: usize) {
    // SAFETY: the system touches the pages of a mapping of verify-run, and changes nothing in them; that an older one
    // can't is no matter, nor that the mapping was given back meanwhile.
    unsafe { libc::madvise(ptr::with_exposed_provenance_mut(start), bytes, libc::MADV_POPULATE_WRITE) };
}

/// Where the heaps of threads start; 0 without any.
static THREADS_START: AtomicUsize = AtomicUsize::new(0);

/// The heap of the next thread.
static NEXT_HEAP: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The heap that this thread takes from; `None` until it takes something.
    static OWN_HEAP: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Gives the threads that are started from now on heaps of their own. Called once, while there is one thread, which goes on
/// with the first heap. Where the system refuses the addresses, all threads do.
pub fn reserve_for_threads() {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_NORESERVE;
    // SAFETY: a new mapping, where the system wants it, of addresses without memory.
    let start = unsafe { libc::mmap(ptr::null_mut(), THREAD_HEAPS * THREAD_HEAP_BYTES, libc::PROT_NONE, flags, -1, 0) };
    if start != libc::MAP_FAILED {
        OWN_HEAP.set(Some(0));
        THREADS_START.store(start.expose_provenance(), Ordering::Release);
    }
}

/// The heap that this thread takes from.
fn own_heap() -> usize {
    if THREADS_START.load(Ordering::Acquire) == 0 {
        return 0;
    }
    OWN_HEAP.get().unwrap_or_else(|| {
        let own = 1 + NEXT_HEAP.fetch_add(1, Ordering::Relaxed) % THREAD_HEAPS;
        OWN_HEAP.set(Some(own));
        own
    })
}

/// The heap that a small block is from.
fn heap_of(block: *mut u8) -> usize {
    let start = THREADS_START.load(Ordering::Acquire);
    match (block as usize).checked_sub(start).map(|offset| offset / THREAD_HEAP_BYTES) {
        Some(number) if start != 0 && number < THREAD_HEAPS => 1 + number,
        _ => 0,
    }
}

impl SystemPages {
    const fn of_heap(number: usize) -> Self {
        SystemPages { number, given: AtomicUsize::new(0) }
    }

    /// The next bytes of a thread's heap with their pages; null when it has no more addresses, or the system no memory.
    fn take(&self, size: usize) -> (*mut u8, usize) {
        let given = self.given.load(Ordering::Relaxed);
        let bytes = size.max(given.clamp(THREAD_GROWTH_BYTES.0, THREAD_GROWTH_BYTES.1));
        if given + bytes > THREAD_HEAP_BYTES {
            return (ptr::null_mut(), 0);
        }
        let start = THREADS_START.load(Ordering::Acquire) + (self.number - 1) * THREAD_HEAP_BYTES + given;
        let memory = ptr::with_exposed_provenance_mut::<u8>(start);
        // SAFETY: the bytes are of the mapping that was reserved for this heap, and nothing uses them yet.
        if unsafe { libc::mprotect(memory.cast(), bytes, libc::PROT_READ | libc::PROT_WRITE) } != 0 {
            return (ptr::null_mut(), 0);
        }
        #[cfg(target_os = "linux")]
        populate(start, bytes);
        self.given.store(given + bytes, Ordering::Relaxed);
        (memory, bytes)
    }

    /// Memory with its pages; null when there is none.
    fn map(bytes: usize) -> *mut u8 {
        #[cfg(target_os = "linux")]
        const WITH_PAGES: i32 = libc::MAP_POPULATE;
        #[cfg(not(target_os = "linux"))]
        const WITH_PAGES: i32 = 0;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANON | WITH_PAGES;
        // SAFETY: a new mapping, where the system wants it.
        let memory = unsafe { libc::mmap(ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if memory == libc::MAP_FAILED { ptr::null_mut() } else { memory.cast() }
    }
}

// SAFETY: what is given out is a mapping of its own or a part of one, zero, of the size that is said, and given out once.
unsafe impl Allocator for SystemPages {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        let size = size.next_multiple_of(self.page_size());
        if self.number > 0 {
            let (memory, bytes) = self.take(size);
            return (memory, bytes, 0);
        }
        let bytes = size.max(self.given.load(Ordering::Relaxed).clamp(GROWTH_BYTES.0, GROWTH_BYTES.1));
        self.given.fetch_add(bytes, Ordering::Relaxed);
        let memory = Self::map(bytes);
        if let Some((start, size)) = FIRST.iter().find(|(start, _)| start.load(Ordering::Relaxed) == 0) {
            start.store(memory.expose_provenance(), Ordering::Relaxed);
            size.store(bytes, Ordering::Relaxed);
        }
        (memory, bytes, 0)
    }

    /// Only of blocks that are mappings of their own: large ones, which are not this heap's.
    fn remap(&self, _ptr: *mut u8, _oldsize: usize, _newsize: usize, _can_move: bool) -> *mut u8 {
        ptr::null_mut()
    }

    fn free_part(&self, _ptr: *mut u8, _oldsize: usize, _newsize: usize) -> bool {
        false
    }

    fn free(&self, ptr: *mut u8, size: usize) -> bool {
        // SAFETY: dlmalloc gives back what `alloc` has given out, as a whole, when nothing in it is used.
        self.number == 0 && unsafe { libc::munmap(ptr.cast(), size) == 0 }
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

/// The small blocks of a heap. Nearly always one thread allocates, and a mutex of musl takes as long as an allocation.
struct SmallBlocks {
    heap: UnsafeCell<Dlmalloc<SystemPages>>,
    is_taken: AtomicBool,
}

// SAFETY: the heap is used by whoever set `is_taken` alone.
unsafe impl Sync for SmallBlocks {}

/// The first heap, and those of threads.
static HEAPS: [SmallBlocks; 1 + THREAD_HEAPS] = [
    SmallBlocks::of_heap(0),
    SmallBlocks::of_heap(1),
    SmallBlocks::of_heap(2),
    SmallBlocks::of_heap(3),
    SmallBlocks::of_heap(4),
];

impl SmallBlocks {
    const fn of_heap(number: usize) -> Self {
        let heap = UnsafeCell::new(Dlmalloc::new_with_allocator(SystemPages::of_heap(number)));
        SmallBlocks { heap, is_taken: AtomicBool::new(false) }
    }

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

/// A small block of this thread's heap, and where that has no more of the first one.
fn take_small(take: impl Fn(&mut Dlmalloc<SystemPages>) -> *mut u8) -> *mut u8 {
    match own_heap() {
        0 => HEAPS[0].with(&take),
        own => Some(HEAPS[own].with(&take)).filter(|block| !block.is_null()).unwrap_or_else(|| HEAPS[0].with(&take)),
    }
}

// SAFETY: whether a block is large follows from its size, which is in the layout that it was made with and in the one that
// it is given back with; which heap a small one is from follows from its address.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe {
            if is_large(layout.size()) {
                System.alloc(layout)
            } else {
                take_small(|heap| heap.malloc(layout.size(), layout.align()))
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe {
            if is_large(layout.size()) {
                System.alloc_zeroed(layout)
            } else {
                take_small(|heap| heap.calloc(layout.size(), layout.align()))
            }
        }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise; a block of this size is that allocator's.
        unsafe {
            if is_large(layout.size()) {
                System.dealloc(pointer, layout)
            } else {
                HEAPS[heap_of(pointer)].with(|heap| heap.free(pointer, layout.size(), layout.align()))
            }
        }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: as above; the caller's promise is that the new size and the alignment make a layout, and both blocks
        // hold the bytes copied.
        unsafe {
            let known = match (is_large(layout.size()), is_large(new_size)) {
                (true, true) => return System.realloc(pointer, layout, new_size),
                (false, false) => {
                    HEAPS[heap_of(pointer)].with(|heap| heap.realloc(pointer, layout.size(), layout.align(), new_size))
                }
                _ => ptr::null_mut(),
            };
            if !known.is_null() {
                return known;
            }
            let new = self.alloc(Layout::from_size_align_unchecked(new_size, layout.align()));
            if !new.is_null() {
                ptr::copy_nonoverlapping(pointer, new, layout.size().min(new_size));
                self.dealloc(pointer, layout);
            }
            new
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
    #[test]
    fn a_thread_takes_from_a_heap_of_its_own_and_others_give_back() {
        let layout = Layout::from_size_align(1_000, 8).expect("a layout");
        // SAFETY: every block is used with the layout it has, and given back once.
        unsafe {
            let before = Heap.alloc(layout);
            reserve_for_threads();
            let take = || (0..2_000).map(|_| Heap.alloc_zeroed(layout).expose_provenance()).collect::<Vec<_>>();
            let blocks = std::thread::scope(|scope| {
                let threads = [(); THREAD_HEAPS].map(|()| scope.spawn(take));
                threads.map(|thread| thread.join().expect("allocates"))
            });
            let mut seen = Vec::new();
            for blocks in blocks {
                let heap = heap_of(ptr::with_exposed_provenance_mut(blocks[0]));
                seen.push(heap);
                for block in blocks {
                    let block: *mut u8 = ptr::with_exposed_provenance_mut(block);
                    assert_eq!((heap_of(block), *block), (heap, 0));
                    block.write_bytes(7, layout.size());
                    let grown = Heap.realloc(block, layout, 2 * layout.size());
                    assert_eq!(*grown.add(layout.size() - 1), 7);
                    Heap.dealloc(grown, Layout::from_size_align_unchecked(2 * layout.size(), layout.align()));
                }
            }
            seen.sort_unstable();
            assert_eq!(seen, [1, 2, 3, 4]);
            let after = Heap.alloc(layout);
            assert_eq!([before, after].map(heap_of), [0, 0]);
            Heap.dealloc(before, layout);
            Heap.dealloc(after, layout);
        }
    }

    #[test]
    fn a_heap_without_addresses_leaves_the_block_to_the_first_one() {
        reserve_for_threads();
        let layout = Layout::from_size_align(1_000, 8).expect("a layout");
        std::thread::spawn(move || {
            // SAFETY: every block is used with the layout it has, and given back once.
            unsafe {
                let own = Heap.alloc(layout);
                assert_ne!(heap_of(own), 0);
                let given = |heap: &mut Dlmalloc<SystemPages>| {
                    heap.allocator().given.swap(THREAD_HEAP_BYTES, Ordering::Relaxed)
                };
                let given = HEAPS[heap_of(own)].with(given);
                let mut blocks = Vec::new();
                while blocks.last().is_none_or(|block| heap_of(*block) != 0) {
                    blocks.push(Heap.alloc(layout));
                }
                own.write_bytes(7, layout.size());
                let moved = Heap.realloc(own, layout, LARGE_BYTES_MIN - 1);
                assert_eq!((heap_of(moved), *moved.add(layout.size() - 1)), (0, 7));
                Heap.dealloc(moved, Layout::from_size_align_unchecked(LARGE_BYTES_MIN - 1, layout.align()));
                assert!(given > 0 && blocks.len() > 1);
                blocks.into_iter().for_each(|block| Heap.dealloc(block, layout));
            }
        })
        .join()
        .expect("falls back");
    }
}
