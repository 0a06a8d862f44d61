//! Who a process is, and whether it still runs, as far as /proc and the kernel tell.
//!
//! Process ids are given out again, so an id here is a process id and a tag made of the
//! time at which the process was started. Ids mean something only among processes that
//! see the same ids and times: those of one pid namespace and one time namespace.
//! Nothing here allocates.

use std::fmt::Write as _;
use std::str::from_utf8;
use std::sync::atomic::{AtomicU64, Ordering};

use arrayvec::ArrayString;
use rustix::fs::{Mode, OFlags, open, stat};
use rustix::io::{Errno, read, retry_on_intr};
use rustix::process::{Pid, getpid, test_kill_process};

use super::peers::Holder;
use crate::machine::wiped::Wiped;

/// The bits of an id that are the process id; Linux gives out no greater ones.
const PID_BITS: u32 = 22;

/// How many start times there are, as far as a tag tells them apart.
const TAGS: u64 = 1023;

/// Where ids cannot be compared with anybody's.
const NOWHERE: u32 = 1;

/// What the ids and times that a process sees are relative to: the inodes of its
/// namespaces, 0 where they cannot be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Namespaces {
    pub pid: u64,
    pub time: u64,
}

/// A process as others know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    /// A process id, and above it the tag of its start time; 0 if that is not known.
    pub id: u32,
    /// Those with the same see the same ids: see [`Namespaces::world`].
    pub world: u32,
}

/// A line of /proc/PID/stat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    pid: i32,
    state: u8,
    threads: u64,
    /// When it was started, in ticks since the machine was.
    started: u64,
}

impl Namespaces {
    /// Those of this process. Unknown too where /proc is that of other namespaces.
    pub fn own() -> Namespaces {
        match Stat::own() {
            Some(_) => Namespaces {
                pid: inode("/proc/self/ns/pid"),
                time: inode("/proc/self/ns/time"),
            },
            None => Namespaces::default(),
        }
    }

    /// One number for both, which is the same for all whose ids can be compared; never
    /// 0. `None` where it is not known.
    pub fn world(self) -> Option<u32> {
        let mixed = self.pid ^ self.time.rotate_left(16);
        let world = (mixed ^ mixed >> 32) as u32;
        (self.pid != 0).then_some(world.max(NOWHERE + 1))
    }
}

impl Identity {
    /// That of this process. Found out once; a forked child finds out its own.
    #[inline]
    pub fn own(wiped: &'static Wiped) -> Identity {
        let word = wiped.identity.load(Ordering::Relaxed);
        Identity::unpack(match word {
            0 => find_out(wiped),
            known => known,
        })
    }

    /// As one word, which is not 0.
    fn pack(self) -> u64 {
        u64::from(self.id) << 32 | u64::from(self.world)
    }

    #[inline]
    pub fn unpack(word: u64) -> Identity {
        Identity {
            id: (word >> 32) as u32,
            world: word as u32,
        }
    }
}

/// A number that this process has and none of its ancestors had.
pub(crate) fn generation() -> u64 {
    let wiped = Wiped::get();
    match wiped.generation.load(Ordering::Relaxed) {
        0 => next_generation(wiped),
        known => known,
    }
}

#[cold]
fn next_generation(wiped: &'static Wiped) -> u64 {
    // A child goes on with the count of its parent, so it never meets an old number.
    static LAST: AtomicU64 = AtomicU64::new(0);
    if wiped.remembers() {
        wiped.keep(&wiped.generation, LAST.fetch_add(1, Ordering::Relaxed) + 1)
    } else {
        getpid().as_raw_nonzero().get().unsigned_abs().into()
    }
}

#[cold]
fn find_out(wiped: &'static Wiped) -> u64 {
    let pid = getpid().as_raw_nonzero().get().unsigned_abs();
    let tag = Stat::own().map_or(0, Stat::tag);
    let identity = Identity {
        id: tag << PID_BITS | pid,
        world: Namespaces::own().world().unwrap_or(NOWHERE),
    };
    wiped.keep(&wiped.identity, identity.pack())
}

/// What has become of another process, of whose world this one is.
#[cold]
pub(super) fn look_up(id: u32) -> Holder {
    let (tag, pid) = (id >> PID_BITS, id & ((1 << PID_BITS) - 1));
    if id == 0 {
        return Holder::Unknown;
    }
    let Some(pid) = Pid::from_raw(pid as i32) else {
        // Nobody has the process id 0.
        return Holder::Dead;
    };
    match Stat::of(pid) {
        Some(stat) if stat.has_ended() => Holder::Dead,
        Some(stat) if tag != 0 && stat.tag() != tag => Holder::Dead,
        // Not there, or not for our eyes.
        None if test_kill_process(pid) == Err(Errno::SRCH) => Holder::Dead,
        _ if tag == 0 => Holder::Unknown,
        _ => Holder::Alive,
    }
}

impl Stat {
    /// That of this process, if /proc tells what this process sees.
    fn own() -> Option<Stat> {
        let stat = Stat::at("/proc/self/stat")?;
        (stat.pid == getpid().as_raw_nonzero().get()).then_some(stat)
    }

    fn of(pid: Pid) -> Option<Stat> {
        let mut path = ArrayString::<32>::new();
        write!(path, "/proc/{}/stat", pid.as_raw_nonzero()).ok()?;
        Stat::at(&path)
    }

    fn at(path: &str) -> Option<Stat> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = retry_on_intr(|| open(path, flags, Mode::empty())).ok()?;
        // The kernel hands out the whole line at once; what is looked for stands early.
        let mut line = [0; 1024];
        let length = retry_on_intr(|| read(&file, &mut line[..])).ok()?;
        Stat::parse(line.get(..length)?)
    }

    /// The name of the program stands in parentheses and may contain any bytes, more
    /// parentheses among them.
    fn parse(line: &[u8]) -> Option<Stat> {
        let end = line.iter().rposition(|&byte| byte == b')')?;
        let pid = line.split(|&byte| byte == b' ').next()?;
        let mut fields = from_utf8(line.get(end + 1..)?)
            .ok()?
            .split_ascii_whitespace();
        // The third field of the line is the first after the name.
        Some(Stat {
            pid: from_utf8(pid).ok()?.parse().ok()?,
            state: *fields.next()?.as_bytes().first()?,
            threads: fields.nth(16)?.parse().ok()?,
            started: fields.nth(1)?.parse().ok()?,
        })
    }

    /// Whether none of its threads will ever run again. A leader that has ended is a
    /// zombie, too, while other threads go on.
    fn has_ended(self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x') && self.threads <= 1
    }

    /// From 1 to 1023.
    fn tag(self) -> u32 {
        1 + (self.started % TAGS) as u32
    }
}

fn inode(path: &str) -> u64 {
    stat(path).map_or(0, |stat| stat.st_ino)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn own() -> Identity {
        Identity::own(Wiped::get())
    }

    fn id_of(pid: u32) -> u32 {
        let stat = Stat::of(Pid::from_raw(pid as i32).unwrap()).unwrap();
        stat.tag() << PID_BITS | pid
    }

    /// The id of the same process id, started at another time.
    fn namesake(id: u32) -> u32 {
        let tag = id >> PID_BITS;
        let other = if tag == 1 { 2 } else { tag - 1 };
        other << PID_BITS | (id & ((1 << PID_BITS) - 1))
    }

    #[test]
    fn a_line_of_proc_is_read_whatever_the_program_is_called() {
        let rest = "S 1 42 42 0 -1 4194560 1 0 0 0 1 2 3 4 20 0 7 0 123456 1 2 3";
        let expected = Stat {
            pid: 42,
            state: b'S',
            threads: 7,
            started: 123_456,
        };
        for name in ["init", "a b", ") Z 1 1 (", "))))", "", "\u{fffd}"] {
            let line = format!("42 ({name}) {rest}\n");
            assert_eq!(Stat::parse(line.as_bytes()), Some(expected), "{name}");
        }
        let odd = [b"42 (\xff\xfe) ".as_slice(), rest.as_bytes()].concat();
        assert_eq!(Stat::parse(&odd), Some(expected));
    }

    #[test]
    fn what_is_no_such_line_is_none() {
        for line in ["", "42", "42 (a)", "42 (a) S 1 2 3", "x (a) S 1", "42 (a"] {
            assert_eq!(Stat::parse(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn this_process_has_its_own_number_and_a_tag() {
        let Identity { id, world } = own();
        assert_eq!(id & ((1 << PID_BITS) - 1), std::process::id());
        assert_ne!(id >> PID_BITS, 0);
        assert_eq!(Some(world), Namespaces::own().world());
        assert_eq!(own(), Identity { id, world });
        assert_eq!(look_up(id), Holder::Alive);
        assert_eq!(look_up(namesake(id)), Holder::Dead);
    }

    #[test]
    fn another_process_is_alive_until_it_ends() {
        let sleeper = &mut Command::new("sleep");
        let mut child = sleeper.arg("60").stdin(Stdio::null()).spawn().unwrap();
        let id = id_of(child.id());
        assert_eq!(look_up(id), Holder::Alive);
        assert_eq!(look_up(namesake(id)), Holder::Dead);
        child.kill().unwrap();
        // A zombie, from some instant on, until it is waited for.
        while look_up(id) == Holder::Alive {
            std::thread::yield_now();
        }
        assert_eq!(look_up(id), Holder::Dead);
        assert_eq!(
            Stat::of(Pid::from_raw(child.id() as i32).unwrap())
                .unwrap()
                .state,
            b'Z'
        );
        child.wait().unwrap();
        assert_eq!(look_up(id), Holder::Dead);
    }

    #[test]
    fn of_an_id_without_a_tag_only_the_death_is_known() {
        let pid = std::process::id();
        assert_eq!(look_up(0), Holder::Unknown);
        assert_eq!(look_up(pid), Holder::Unknown);
        // The last process id that there can be, and none at all.
        assert_eq!(look_up((1 << PID_BITS) - 1), Holder::Dead);
        assert_eq!(look_up(5 << PID_BITS), Holder::Dead);
    }

    #[test]
    fn namespaces_that_cannot_be_read_are_no_world() {
        assert_eq!(Namespaces::default().world(), None);
        assert_eq!(Namespaces { pid: 0, time: 7 }.world(), None);
        let worlds = [(1, 0), (1, 5), (2, 0), (2, 5)].map(|(pid, time)| {
            let world = Namespaces { pid, time }.world().unwrap();
            assert!(world > NOWHERE);
            world
        });
        assert_ne!(worlds[0], worlds[1]);
        assert_ne!(worlds[1], worlds[3]);
    }

    #[test]
    fn a_generation_lasts_as_long_as_the_process() {
        assert_ne!(generation(), 0);
        assert_eq!(generation(), generation());
    }
}
