//! Work on other threads.

use std::panic::resume_unwind;
use std::thread::ScopedJoinHandle;

/// What a thread came to; a panic of it is one of this thread.
pub fn joined<T>(begun: ScopedJoinHandle<'_, T>) -> T {
    begun.join().unwrap_or_else(|panic| resume_unwind(panic))
}
