//! Who may hold a lock in a region, and whether they still live.
//!
//! A lock names its holder. In memory of this process alone that is this process, or
//! else the one it was forked from, which does not come back to this copy. In shared
//! memory it is any process; whether that lives can be found out where both see the
//! same process ids.

#[cfg(not(loom))]
use super::process::{Identity, Namespaces, look_up};
#[cfg(not(loom))]
use crate::machine::wiped::Wiped;
#[cfg(not(loom))]
use crate::sync::Ordering;

/// What is known of who holds a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    /// It may let go of it, though perhaps not soon: it may have been stopped.
    Alive,
    /// It never will.
    Dead,
    /// It cannot be found out.
    Unknown,
}

/// Those who may hold a lock in one region.
#[cfg(not(loom))]
#[derive(Debug)]
pub(crate) struct Peers {
    process: &'static Wiped,
    /// The world of the ids in the region; 0 where there is none that could be ours.
    world: u32,
    /// Whether nobody else has the region.
    private: bool,
}

#[cfg(not(loom))]
impl Peers {
    /// Of a region that only this process has.
    pub fn private() -> Peers {
        let process = Wiped::get();
        Peers {
            process,
            world: Identity::own(process).world,
            private: true,
        }
    }

    /// Of a region that was made by a process of these namespaces.
    pub fn shared(namespaces: Namespaces) -> Peers {
        Peers {
            process: Wiped::get(),
            world: namespaces.world().unwrap_or(0),
            private: false,
        }
    }

    /// This process as the holder of a lock; 0 where its id means nothing to others.
    #[inline]
    pub fn own_id(&self) -> u32 {
        let known = Identity::unpack(self.process.identity.load(Ordering::Relaxed));
        if known.world == self.world {
            known.id
        } else {
            self.find_own_id()
        }
    }

    /// A word that tells this process from others, unless it was just forked and holds
    /// no lock yet.
    #[inline]
    pub fn mark(&self) -> u64 {
        self.process.identity.load(Ordering::Relaxed)
    }

    /// After a fork, or where ids mean nothing.
    #[cold]
    fn find_own_id(&self) -> u32 {
        let own = Identity::own(self.process);
        if self.private || own.world == self.world {
            own.id
        } else {
            0
        }
    }

    /// What has become of the holder of a lock. Asks the system; allocates nothing.
    #[cold]
    pub fn holder(&self, id: u32) -> Holder {
        match self.own_id() {
            0 => Holder::Unknown,
            own if own == id => Holder::Alive,
            _ if self.private => Holder::Dead,
            _ => look_up(id),
        }
    }
}

/// Those of a model: one process that lives, and dead ones.
#[cfg(loom)]
#[derive(Debug)]
pub(crate) struct Peers;

#[cfg(loom)]
impl Peers {
    pub fn private() -> Peers {
        Peers
    }

    pub fn own_id(&self) -> u32 {
        1
    }

    pub fn mark(&self) -> u64 {
        1
    }

    pub fn holder(&self, id: u32) -> Holder {
        match id {
            1 => Holder::Alive,
            _ => Holder::Dead,
        }
    }
}

/// No model forks.
#[cfg(loom)]
pub(crate) fn generation() -> u64 {
    1
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn in_memory_of_ones_own_everybody_else_is_gone() {
        let peers = Peers::private();
        let own = peers.own_id();
        assert_ne!(own, 0);
        assert_eq!(peers.holder(own), Holder::Alive);
        // The process 1 lives, but has no part in this memory.
        assert_eq!(peers.holder(1), Holder::Dead);
        assert_eq!(peers.holder(own ^ 1), Holder::Dead);
        assert_eq!(peers.holder(0), Holder::Dead);
    }

    #[test]
    fn among_those_of_the_same_namespaces_ids_are_known() {
        let peers = Peers::shared(Namespaces::own());
        let own = peers.own_id();
        assert_eq!(own, Peers::private().own_id());
        assert_eq!(peers.holder(own), Holder::Alive);
        assert_eq!(peers.holder(0), Holder::Unknown);
        // Of this process id, but started at another time.
        let tag = if own >> 22 == 1 { 2 } else { 1 };
        assert_eq!(peers.holder(tag << 22 | std::process::id()), Holder::Dead);
    }

    #[test]
    fn among_those_of_other_namespaces_nobody_is_known() {
        let own = Namespaces::own();
        let pid = own.pid + 1;
        let time = own.time + 1;
        for namespaces in [
            Namespaces { pid, ..own },
            Namespaces { time, ..own },
            Namespaces::default(),
        ] {
            let peers = Peers::shared(namespaces);
            assert_eq!(peers.own_id(), 0, "{namespaces:?}");
            let id = Peers::private().own_id();
            for id in [0, id, id ^ 1, 1] {
                assert_eq!(peers.holder(id), Holder::Unknown, "{namespaces:?}");
            }
        }
    }
}
