//! What a region says of itself at its head: that it is one, how it is divided, under
//! which secret names are hashed, and which clock, boot and namespaces it belongs to.
//!
//! Whoever comes first writes it, once; all others compare. The first word tells how
//! far that is: 0, then a claim of the one that writes, then [`MAGIC`], last of all.
//!
//! Invariant: what is taken from here has been compared, and is never read again.

use std::time::{Duration, Instant};

use super::open::Wanted;
use super::peers::{Holder, Peers};
use super::process::{Identity, Namespaces};
use super::wait::Backoff;
use crate::clock::Kind;
use crate::error::{Error, ErrorKind};
use crate::hash::Secret;
use crate::machine::wiped::Wiped;
use crate::machine::{Layout, Mapping};
use crate::sync::{AtomicU64, Ordering, fence};

#[cfg(test)]
mod tests;

/// The first word of a zone that is ready: "rl zone" in ASCII.
const MAGIC: u64 = u64::from_be_bytes(*b"\0rl zone");

/// The upper 12 bits of a claim, which is no text and no small number.
const CLAIM: u64 = 0xc1a << 52;

/// The layout of everything in the region. Another one gets another number.
const VERSION: u64 = 2;

/// How long a claim is left alone of which it cannot be found out whether its holder
/// lives.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long one that lives may take, before that is called a fault.
const LIMIT: Duration = Duration::from_secs(60);

/// Who may join a region, and how.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Zone {
    magic: AtomicU64,
    version: AtomicU64,
    buckets: AtomicU64,
    chunks: AtomicU64,
    clock: AtomicU64,
    boot: [AtomicU64; 2],
    pid_namespace: AtomicU64,
    time_namespace: AtomicU64,
    secret: [AtomicU64; 4],
    _reserved: [AtomicU64; 19],
}

const _: () = assert!(size_of::<Zone>() == 256);
pub(super) const ZONE_BYTES: usize = size_of::<Zone>();

/// What was agreed on.
#[derive(Debug)]
pub(super) struct Entered {
    pub layout: Layout,
    pub secret: Secret,
    pub peers: Peers,
}

/// How far a zone is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Nobody has been here.
    Blank,
    /// Somebody has begun to write, with this word.
    Claimed(u64),
    Ready,
    /// It is something else.
    Foreign,
}

impl Progress {
    pub fn of(magic: u64) -> Progress {
        match magic {
            0 => Progress::Blank,
            MAGIC => Progress::Ready,
            claim if claim >> 52 == CLAIM >> 52 => Progress::Claimed(claim),
            _ => Progress::Foreign,
        }
    }
}

/// Makes a zone of zeroed memory, or joins the one that is there. Whether its layout
/// fits the memory is for the caller to see.
pub(super) fn enter(mapping: &Mapping, wanted: Wanted) -> Result<Entered, Error> {
    let zone = &mapping.header().zone;
    let mut backoff = Backoff::new();
    let mut seen = (0, Instant::now());
    loop {
        // Acquire: what the one that has made it wrote before is visible.
        let magic = zone.magic.load(Ordering::Acquire);
        if magic != seen.0 {
            seen = (magic, Instant::now());
        }
        let next = match Progress::of(magic) {
            Progress::Ready => return zone.join(wanted),
            Progress::Foreign => return Err(no_zone()),
            Progress::Blank => Next::Make,
            Progress::Claimed(claim) => {
                let is_claim = nothing_follows(mapping);
                // The look at what follows comes before this one.
                fence(Ordering::Acquire);
                if zone.magic.load(Ordering::Relaxed) != magic {
                    continue;
                }
                if !is_claim {
                    return Err(no_zone());
                }
                next(holder(claim), seen.1.elapsed())
            }
        };
        match next {
            Next::Wait => backoff.pause(),
            Next::GiveUp => return Err(stuck()),
            Next::Make => {
                if let Some(made) = make(mapping, magic, wanted) {
                    return made;
                }
            }
        }
    }
}

/// What to do about a zone that is not ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Wait,
    Make,
    GiveUp,
}

/// What to do about a claim that has stood for so long.
fn next(holder: Holder, stood: Duration) -> Next {
    match holder {
        Holder::Dead => Next::Make,
        Holder::Unknown if stood > PATIENCE => Next::Make,
        Holder::Alive if stood > LIMIT => Next::GiveUp,
        Holder::Unknown | Holder::Alive => Next::Wait,
    }
}

/// Makes the zone, if `found` is still its first word and nobody takes it over.
fn make(mapping: &Mapping, found: u64, wanted: Wanted) -> Option<Result<Entered, Error>> {
    let zone = &mapping.header().zone;
    let claim = claim(wanted.secret);
    // AcqRel: what one that gave up has written comes before what is written now.
    let claimed = zone
        .magic
        .compare_exchange(found, claim, Ordering::AcqRel, Ordering::Relaxed);
    claimed.ok()?;
    if found == 0 && !is_zero(mapping.head().iter().skip(1)) {
        zone.magic.store(found, Ordering::Release);
        return Some(Err(no_zone()));
    }
    let namespaces = Namespaces::own();
    zone.write(wanted, namespaces);
    // Release: whoever sees that it is ready sees what it is.
    let ready = zone
        .magic
        .compare_exchange(claim, MAGIC, Ordering::Release, Ordering::Relaxed);
    ready.ok()?;
    Some(Ok(Entered {
        layout: wanted.layout,
        secret: wanted.secret,
        peers: Peers::shared(namespaces),
    }))
}

/// Whether there is nothing in the header but what is at its head. One that makes a
/// zone and dies half-way has written there, but nowhere else.
fn nothing_follows(mapping: &Mapping) -> bool {
    is_zero(mapping.head().iter().skip(ZONE_BYTES / 8))
}

fn is_zero<'a>(mut words: impl Iterator<Item = &'a AtomicU64>) -> bool {
    words.all(|word| word.load(Ordering::Relaxed) == 0)
}

/// Who writes: the id, and as much of its world as there is room for. Who has no world
/// takes a random number, so that no two claims are alike.
fn claim([random, ..]: Secret) -> u64 {
    let Identity { id, world } = Identity::own(Wiped::get());
    let known = Namespaces::own().world().is_some();
    let id = if known { id } else { random as u32 };
    CLAIM | claimed_world(world) | u64::from(id)
}

/// The 20 bits of a world that a claim has.
fn claimed_world(world: u32) -> u64 {
    u64::from(world << 12) << 20
}

/// What has become of the one that made a claim.
fn holder(claim: u64) -> Holder {
    let own = Namespaces::own();
    let its_world = claim & !CLAIM & !u64::from(u32::MAX);
    match own.world() {
        Some(world) if claimed_world(world) == its_world => Peers::shared(own).holder(claim as u32),
        _ => Holder::Unknown,
    }
}

impl Zone {
    fn write(&self, wanted: Wanted, namespaces: Namespaces) {
        let put = |word: &AtomicU64, value: u64| word.store(value, Ordering::Relaxed);
        put(&self.version, VERSION);
        put(&self.buckets, wanted.layout.buckets as u64);
        put(&self.chunks, wanted.layout.chunks as u64);
        put(&self.clock, number(wanted.clock));
        self.boot
            .iter()
            .zip(boot())
            .for_each(|(word, value)| put(word, value));
        put(&self.pid_namespace, namespaces.pid);
        put(&self.time_namespace, namespaces.time);
        let secret = self.secret.iter().zip(wanted.secret);
        secret.for_each(|(word, value)| put(word, value));
    }

    /// Compares the zone with what is wanted.
    fn join(&self, wanted: Wanted) -> Result<Entered, Error> {
        let get = |word: &AtomicU64| word.load(Ordering::Relaxed);
        let namespaces = Namespaces {
            pid: get(&self.pid_namespace),
            time: get(&self.time_namespace),
        };
        same_version(get(&self.version))?;
        same_boot(self.boot.each_ref().map(get))?;
        same_clock(get(&self.clock), wanted.clock)?;
        if wanted.clock.is_monotonic() {
            same_time(namespaces.time, Namespaces::own().time)?;
        }
        Ok(Entered {
            layout: layout(get(&self.buckets), get(&self.chunks))?,
            secret: self.secret.each_ref().map(get),
            peers: Peers::shared(namespaces),
        })
    }
}

fn same_version(found: u64) -> Result<(), Error> {
    if found == VERSION {
        return Ok(());
    }
    refuse(format!(
        "the zone has layout version {found}, this library has {VERSION}; end all that use it, \
         {ANEW}"
    ))
}

fn same_boot(found: [u64; 2]) -> Result<(), Error> {
    let own = boot();
    if found == own || found == [0; 2] || own == [0; 2] {
        return Ok(());
    }
    refuse(format!(
        "the zone was made before this machine was started; {ANEW}"
    ))
}

fn same_clock(found: u64, wanted: Kind) -> Result<(), Error> {
    if found == number(wanted) {
        return Ok(());
    }
    let found = match Kind::ALL.get(found as usize) {
        Some(kind) => kind.to_string(),
        None => format!("an unknown clock ({found})"),
    };
    refuse(format!(
        "the zone goes by {found}, this service by {wanted}; give all services of a zone the \
         same kind of clock"
    ))
}

fn same_time(found: u64, own: u64) -> Result<(), Error> {
    if found == own || found == 0 || own == 0 {
        return Ok(());
    }
    refuse(
        "the zone was made in another time namespace, where the monotonic clock shows another \
         time; use clock = realtime in all services of the zone"
            .to_owned(),
    )
}

/// The layout that a zone says it has.
fn layout(buckets: u64, chunks: u64) -> Result<Layout, Error> {
    match Layout::checked(buckets, chunks) {
        Some(layout) => Ok(layout),
        None => refuse(format!(
            "the zone is damaged: it says it has {buckets} buckets and {chunks} chunks; {ANEW}"
        )),
    }
}

const ANEW: &str = "remove it with rl_zone_unlink (or zero the memory), then start again";

fn no_zone() -> Error {
    let message = "the memory is neither zeroed nor a zone; zero all of it, or use other memory \
                   (another name)";
    Error::new(ErrorKind::Zone, message)
}

fn stuck() -> Error {
    let message = "another process has been making the zone for a minute; end that, or use other \
                   memory";
    Error::new(ErrorKind::Zone, message)
}

fn refuse<T>(message: String) -> Result<T, Error> {
    Err(Error::new(ErrorKind::Zone, message))
}

fn number(clock: Kind) -> u64 {
    let place = Kind::ALL.iter().position(|&kind| kind == clock);
    place.unwrap_or(Kind::ALL.len()) as u64
}

/// Which start of the machine this is; 0 where the system does not say.
fn boot() -> [u64; 2] {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits = text.trim().replace('-', "");
    let id = u128::from_str_radix(&digits, 16).unwrap_or(0);
    [(id >> 64) as u64, id as u64]
}
