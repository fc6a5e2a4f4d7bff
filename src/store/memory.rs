//! SQLite's memory: from the program's own allocator, without statistics.
//!
//! SQLite asks the C library, and musl's allocator asks the system again for what was given back a moment ago: for
//! each statement's temporary tables some blocks, whose pages are then taken one by one. The program's heap keeps
//! them.
#![allow(unsafe_code, reason = "an allocator for a C library")]

use std::alloc::{self, Layout};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Once;

use rusqlite::ffi::{SQLITE_CONFIG_MALLOC, SQLITE_CONFIG_MEMSTATUS, sqlite3_config, sqlite3_mem_methods};

/// Each block is prefixed with its size, because SQLite's free callback only passes the pointer. Bytes of the prefix,
/// and the alignment: SQLite's minimum.
const HEAD: usize = 8;

const METHODS: sqlite3_mem_methods = sqlite3_mem_methods {
    xMalloc: Some(allocate_block),
    xFree: Some(free_block),
    xRealloc: Some(resize_block),
    xSize: Some(size_of_block),
    xRoundup: Some(round_up),
    xInit: Some(start_allocator),
    xShutdown: Some(stop_allocator),
    pAppData: ptr::null_mut(),
};

/// Tells SQLite once, before its first database is opened. Later it would not listen, and go on with the C library's.
pub(super) fn install_allocator() {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| {
        // SAFETY: SQLite copies the methods. This runs before anything else in SQLite: every database is opened after
        // it.
        unsafe {
            let _ = sqlite3_config(SQLITE_CONFIG_MALLOC, &METHODS);
            // The total is never asked for: counting takes a mutex for each block.
            let _ = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0 as c_int);
        }
    });
}

/// The layout of a block for this many bytes, with its head.
fn block_layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes.checked_add(HEAD)?, HEAD).ok()
}

/// The size that precedes a block.
///
/// # Safety
/// `block` is one of [`allocate_block`] or [`resize_block`] that was not given back.
unsafe fn read_block_size(block: *mut c_void) -> usize {
    // SAFETY: the caller's promise: the head is there, and aligned.
    unsafe { block.byte_sub(HEAD).cast::<usize>().read() }
}

/// Writes the head and steps over it.
///
/// # Safety
/// `start` is null or the start of a block with that layout.
unsafe fn write_head(start: *mut u8, bytes: usize) -> *mut c_void {
    if start.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: the caller's promise.
    unsafe {
        start.cast::<usize>().write(bytes);
        start.add(HEAD).cast()
    }
}

unsafe extern "C" fn allocate_block(bytes: c_int) -> *mut c_void {
    #[cfg(test)]
    tests::TAKEN.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let Some((bytes, layout)) = usize::try_from(bytes).ok().and_then(|bytes| Some((bytes, block_layout(bytes)?)))
    else {
        return ptr::null_mut();
    };
    // SAFETY: a layout is never empty here: it has a head.
    unsafe { write_head(alloc::alloc(layout), bytes) }
}

unsafe extern "C" fn free_block(block: *mut c_void) {
    if block.is_null() {
        return;
    }
    // SAFETY: SQLite gives back what it was given, once; the layout is that which it was made with.
    unsafe {
        if let Some(layout) = block_layout(read_block_size(block)) {
            alloc::dealloc(block.byte_sub(HEAD).cast(), layout);
        }
    }
}

unsafe extern "C" fn resize_block(block: *mut c_void, bytes: c_int) -> *mut c_void {
    let Some((bytes, wanted)) = usize::try_from(bytes).ok().and_then(|bytes| Some((bytes, block_layout(bytes)?)))
    else {
        return ptr::null_mut();
    };
    // SAFETY: as above; SQLite never resizes nothing, or to nothing.
    unsafe {
        let Some(layout) = block_layout(read_block_size(block)) else { return ptr::null_mut() };
        write_head(alloc::realloc(block.byte_sub(HEAD).cast(), layout, wanted.size()), bytes)
    }
}

unsafe extern "C" fn size_of_block(block: *mut c_void) -> c_int {
    // SAFETY: SQLite asks about blocks that it has. Its size was a `c_int`.
    unsafe { c_int::try_from(read_block_size(block)).unwrap_or(c_int::MAX) }
}

extern "C" fn round_up(bytes: c_int) -> c_int {
    bytes.checked_add(7).map_or(bytes, |bytes| bytes & !7)
}

extern "C" fn start_allocator(_: *mut c_void) -> c_int {
    0
}

extern "C" fn stop_allocator(_: *mut c_void) {}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    pub(super) static TAKEN: AtomicUsize = AtomicUsize::new(0);

    #[test]
    fn a_block_keeps_its_bytes_and_says_its_size() {
        // SAFETY: every block is used up to its size, and given back once.
        unsafe {
            let mut block = allocate_block(24);
            block.cast::<u8>().write_bytes(7, 24);
            for bytes in [100, 300_000, 8] {
                let kept = usize::try_from(size_of_block(block).min(bytes)).expect("a size");
                block = resize_block(block, bytes);
                assert_eq!(size_of_block(block), bytes);
                assert!((block as usize).is_multiple_of(HEAD));
                assert!((0..kept.min(24)).all(|at| block.cast::<u8>().add(at).read() == 7));
            }
            free_block(block);
            free_block(ptr::null_mut());
            assert!(allocate_block(-1).is_null());
        }
    }

    #[test]
    fn sqlite_uses_it() {
        install_allocator();
        let connection = rusqlite::Connection::open_in_memory().expect("opens");
        connection.execute_batch("CREATE TABLE t (x)").expect("writes");
        assert!(TAKEN.load(Ordering::Relaxed) > 10);
    }
}
