//! What threads of one process share and a forked child must not inherit.
//!
//! A child is a copy of the process with one thread of it. What the other threads held
//! at that moment stays held for ever, and what they were writing stays half written.
//! So a child looks at nothing of that kind: it begins anew. The lock is the standard
//! library's, which is a word of its own; others keep who waits in a table of the whole
//! process, which a child would inherit.

use std::mem;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::{ArcSwap, Guard};

use crate::table::generation;

/// A value behind a lock, which begins anew in a forked child.
#[derive(Debug)]
pub(crate) struct PerProcess<T: Default>(ArcSwap<Own<T>>);

/// The value of one process.
#[derive(Debug)]
struct Own<T: Default> {
    generation: u64,
    value: Mutex<T>,
}

/// A hold of this process's value.
pub(crate) struct Hold<T: Default>(Guard<Arc<Own<T>>>);

impl<T: Default> PerProcess<T> {
    /// This process's value. The first call after a fork makes it.
    pub fn get(&self) -> Hold<T> {
        loop {
            let current = self.0.load();
            if current.is_own() {
                return Hold(current);
            }
            // Whoever is faster, the next look finds a value of this process.
            self.0.compare_and_swap(&current, Arc::default());
        }
    }

    /// The same, but `None` if this process has not begun one: nothing is in it.
    pub fn get_if_begun(&self) -> Option<Hold<T>> {
        let current = self.0.load();
        current.is_own().then_some(Hold(current))
    }
}

impl<T: Default> Default for PerProcess<T> {
    fn default() -> PerProcess<T> {
        PerProcess(ArcSwap::default())
    }
}

impl<T: Default> Own<T> {
    fn is_own(&self) -> bool {
        self.generation == generation()
    }
}

impl<T: Default> Default for Own<T> {
    fn default() -> Own<T> {
        Own {
            generation: generation(),
            value: Mutex::default(),
        }
    }
}

impl<T: Default> Drop for Own<T> {
    fn drop(&mut self) {
        if !self.is_own() {
            // It may be half written: leave it as it is.
            mem::forget(mem::take(&mut self.value));
        }
    }
}

impl<T: Default> Hold<T> {
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let Own { value, .. } = self.0.deref().deref();
        value.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Says that it is dropped.
    #[derive(Default)]
    struct Witness(Option<Arc<()>>);

    fn inherited() -> (PerProcess<Witness>, Arc<()>) {
        let (values, alive) = (PerProcess::default(), Arc::new(()));
        let value = Mutex::new(Witness(Some(alive.clone())));
        let generation = generation() + 1;
        values.0.store(Arc::new(Own { generation, value }));
        (values, alive)
    }

    #[test]
    fn a_process_keeps_its_value() {
        let values = PerProcess::<u32>::default();
        *values.get().lock() += 1;
        *values.get().lock() += 1;
        assert_eq!(*values.get().lock(), 2);
        assert!(values.get_if_begun().is_some());
    }

    #[test]
    fn what_a_parent_held_is_left_alone() {
        let (values, _alive) = inherited();
        let parents = values.0.load_full();
        let _held = parents.value.lock().unwrap();
        assert!(values.get_if_begun().is_none());
        assert!(values.get().lock().0.is_none());
        assert!(values.get_if_begun().is_some());
    }

    #[test]
    fn what_a_parent_was_writing_is_never_dropped() {
        let (values, alive) = inherited();
        drop(values.get());
        assert_eq!(Arc::strong_count(&alive), 2);
        drop(values);
        assert_eq!(Arc::strong_count(&alive), 2);
        let (values, alive) = inherited();
        drop(values);
        assert_eq!(Arc::strong_count(&alive), 2);
    }
}
