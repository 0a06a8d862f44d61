//! Shared memory by name: the object is opened, or made by whoever comes first.
//!
//! Everything from the first look at an object until its zone is ready happens under a
//! lock on it, which the system takes back from whoever dies. No descriptor stays open.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{
    FallocateFlags, FileType, FlockOperation, Mode, Stat, StatVfs, fallocate, fchmod, flock, fstat,
    fstatvfs, ftruncate,
};
use rustix::io::{Errno, pread, retry_on_intr};
use rustix::process::{getegid, geteuid, getgroups};
use rustix::shm;

use super::open::Wanted;
use super::wait::Backoff;
use super::zone::{Entered, Progress, ZONE_BYTES, enter};
use super::zone_name::{failed, shown};
use crate::config::Shared;
use crate::error::{Error, ErrorKind};
use crate::machine::{HEADER_BYTES, HUGE_PAGE, Mapping, Region};

/// How often an object is tried to be opened whose maker may not yet have let us.
const TRIES: u32 = 100;

/// Joins the zone of this name, or makes it.
pub(super) fn enter_named(shared: &Shared, wanted: Wanted) -> Result<(Region, Entered), Error> {
    loop {
        let object = Object(open(shared)?, shared);
        if let Some(entered) = object.enter(wanted)? {
            return Ok(entered);
        }
    }
}

/// Opens the object, which is made if there is none.
fn open(shared: &Shared) -> Result<OwnedFd, Error> {
    let (name, mode) = (&*shared.name, Mode::from_raw_mode(shared.mode));
    let mut backoff = Backoff::new();
    let mut tries = 0;
    loop {
        let reason = match shm::open(name, shm::OFlags::RDWR, Mode::empty()) {
            Err(Errno::NOENT) => {
                let flags = shm::OFlags::RDWR | shm::OFlags::CREATE | shm::OFlags::EXCL;
                match shm::open(name, flags, mode) {
                    Err(Errno::EXIST) => continue,
                    Err(reason) => reason,
                    Ok(object) => return Ok(object),
                }
            }
            Err(Errno::INTR) => continue,
            Err(reason) => reason,
            Ok(object) => return Ok(object),
        };
        // Until its maker has set the mode, the mask of that process has narrowed it.
        tries += 1;
        if reason != Errno::ACCESS || shared.mode & 0o077 == 0 || tries > TRIES {
            return Err(failed("open", name, reason));
        }
        backoff.pause();
    }
}

/// An open object, and what it is to be.
struct Object<'s>(OwnedFd, &'s Shared);

impl Object<'_> {
    /// Enters its zone under its lock; `None` if it has been removed meanwhile.
    fn enter(&self, wanted: Wanted) -> Result<Option<(Region, Entered)>, Error> {
        // Nobody waits for the lock of something that is refused anyway.
        self.trust(&self.stat()?)?;
        retry_on_intr(|| flock(&self.0, FlockOperation::LockExclusive))
            .map_err(|reason| self.failed("lock", reason))?;
        let entered = self.enter_locked(wanted);
        // Closing lets go of it, too, but not while a child that was forked has it open.
        let _ = flock(&self.0, FlockOperation::Unlock);
        entered
    }

    fn enter_locked(&self, wanted: Wanted) -> Result<Option<(Region, Entered)>, Error> {
        let stat = self.stat()?;
        if stat.st_nlink == 0 {
            return Ok(None);
        }
        self.trust(&stat)?;
        let mut size = usize::try_from(stat.st_size).unwrap_or(0);
        if size == 0 || self.is_half_made(size)? {
            size = wanted.layout.bytes();
            self.make(&stat, size)?;
        }
        if size < HEADER_BYTES {
            return Err(self.cut_short(size, HEADER_BYTES));
        }
        let mapping = Mapping::shared(self.0.as_fd(), size)?;
        let entered = enter(&mapping, wanted)?;
        let bytes = entered.layout.bytes();
        if bytes > size {
            return Err(self.cut_short(size, bytes));
        }
        Ok(Some((Region::divided(mapping, entered.layout)?, entered)))
    }

    fn stat(&self) -> Result<Stat, Error> {
        fstat(&self.0).map_err(|reason| self.failed("look at", reason))
    }

    /// Whether its maker died before the zone was ready: nothing is in the header but
    /// what such a one may have written.
    fn is_half_made(&self, size: usize) -> Result<bool, Error> {
        let mut head = [0; HEADER_BYTES];
        let read = retry_on_intr(|| pread(&self.0, &mut head[..], 0));
        let read = read.map_err(|reason| self.failed("read", reason))?;
        let is_zero = |from| head.iter().skip(from).all(|&byte| byte == 0);
        let magic = head
            .first_chunk()
            .map_or(0, |first| u64::from_ne_bytes(*first));
        Ok(size >= HEADER_BYTES
            && read == HEADER_BYTES
            && match Progress::of(magic) {
                Progress::Blank => is_zero(0),
                Progress::Claimed(_) => is_zero(ZONE_BYTES),
                Progress::Ready | Progress::Foreign => false,
            })
    }

    /// Makes it as long as that, all zero, with memory behind every byte: where that
    /// cannot be had, it is better to know now.
    fn make(&self, stat: &Stat, size: usize) -> Result<(), Error> {
        let failed = |reason| self.failed("make", reason);
        if stat.st_uid == geteuid().as_raw() {
            let mode = Mode::from_raw_mode(self.1.mode);
            fchmod(&self.0, mode).map_err(failed)?;
        }
        for size in [0, size as u64] {
            retry_on_intr(|| ftruncate(&self.0, size)).map_err(failed)?;
        }
        self.provide_huge(size);
        match self.provide(0, size) {
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            Err(reason) => {
                let _ = ftruncate(&self.0, 0);
                let name = shown(&self.1.name);
                let message = format!("cannot have {size} bytes of shared memory {name}: {reason}");
                Err(Error::new(ErrorKind::Memory, message))
            }
        }
    }

    /// Provides in huge pages what can be had so; the rest, or the lack of it, is for who
    /// calls. The system makes none where there is nothing, hence a first byte in each.
    fn provide_huge(&self, size: usize) {
        // What is too large is to be missed at once, not after all there is has been taken.
        let has_room = |fs: StatVfs| fs.f_bavail.saturating_mul(fs.f_frsize) >= size as u64;
        if !fstatvfs(&self.0).is_ok_and(has_room) {
            return;
        }
        let Ok(mapping) = Mapping::shared(self.0.as_fd(), size) else {
            return;
        };
        for page in 0..size / HUGE_PAGE {
            let _ = self.provide(page * HUGE_PAGE, 1);
        }
        mapping.make_huge();
    }

    fn provide(&self, from: usize, bytes: usize) -> Result<(), Errno> {
        let flags = FallocateFlags::empty();
        retry_on_intr(|| fallocate(&self.0, flags, from as u64, bytes as u64))
    }

    /// Refuses what others may have made, or may write to, against what the mode says.
    fn trust(&self, stat: &Stat) -> Result<(), Error> {
        let (name, wanted) = (shown(&self.1.name), self.1.mode);
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return refuse(format!("{name} is no shared memory; use another name"));
        }
        let (owner, own) = (stat.st_uid, geteuid().as_raw());
        if owner != own && !self.1.opens_to_group_of(stat) && wanted & 0o006 != 0o006 {
            return refuse(format!(
                "shared memory {name} belongs to user {owner}, not to {own}, and shared-mode = \
                 0{wanted:o} does not let it; use another name or mode"
            ));
        }
        let found = stat.st_mode & 0o7777;
        if found & !wanted != 0 {
            return refuse(format!(
                "shared memory {name} has mode 0{found:o}, more than shared-mode = 0{wanted:o}; \
                 use the same in all services, or remove it with rl_zone_unlink"
            ));
        }
        Ok(())
    }

    fn cut_short(&self, size: usize, bytes: usize) -> Error {
        let name = shown(&self.1.name);
        let message = format!(
            "shared memory {name} has been cut short: it has {size} bytes of {bytes}; remove it \
             with rl_zone_unlink, then start again"
        );
        Error::new(ErrorKind::Zone, message)
    }

    fn failed(&self, what: &str, reason: Errno) -> Error {
        failed(what, &self.1.name, reason)
    }
}

impl Shared {
    /// Whether members of the object's group are let in, and this process is one.
    fn opens_to_group_of(&self, stat: &Stat) -> bool {
        let group = stat.st_gid;
        let is_member = || {
            let groups = getgroups().unwrap_or_default();
            getegid().as_raw() == group || groups.iter().any(|own| own.as_raw() == group)
        };
        self.mode & 0o060 == 0o060 && is_member()
    }
}

fn refuse<T>(message: String) -> Result<T, Error> {
    Err(Error::new(ErrorKind::Zone, message))
}
