//! Child processes that a thread waits for itself: what ends the orphans of other processes leaves them alone.

use std::collections::BTreeSet;
use std::io;
use std::ops::{Deref, DerefMut};
use std::process::{Child, Command};
use std::sync::{PoisonError, RwLock};

static KNOWN: RwLock<BTreeSet<u32>> = RwLock::new(BTreeSet::new());

/// A child that its thread waits for.
#[derive(Debug)]
pub struct KnownChild(Child);

impl KnownChild {
    /// Starts a program.
    ///
    /// # Errors
    /// The operating system's.
    pub fn spawn(command: &mut Command) -> io::Result<KnownChild> {
        // Until it is known, no other thread may look for children.
        let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
        let child = command.spawn()?;
        known.insert(child.id());
        Ok(KnownChild(child))
    }
}

impl Deref for KnownChild {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for KnownChild {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for KnownChild {
    fn drop(&mut self) {
        KNOWN.write().unwrap_or_else(PoisonError::into_inner).remove(&self.0.id());
    }
}

/// Calls `look` with the ids of the children that are waited for. None is added meanwhile.
pub fn with_known<T>(look: impl FnOnce(&BTreeSet<u32>) -> T) -> T {
    look(&KNOWN.read().unwrap_or_else(PoisonError::into_inner))
}
