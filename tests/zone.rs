//! Counters in shared memory, or in memory that is given: who makes the zone, who joins
//! it, and what is refused.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    clippy::indexing_slicing,
    unsafe_code
)]

use std::fs::{self, File, OpenOptions, Permissions};
use std::os::unix::fs::{FileExt, PermissionsExt, chown};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::ptr::{NonNull, null_mut};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rl::clock::Clock;
use rl::config::{Config, Memory};
use rl::error::{Error, ErrorKind};
use rl::service::{Request, Service, unlink_zone};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap};

const RULE: &str = "default = fixed-window,1000,1h\n";

/// A name for a zone, which is removed at the end of the test.
struct Zone(String);

impl Zone {
    fn new(test: &str) -> Zone {
        Zone(format!("/librl-{}-{test}", std::process::id()))
    }

    fn path(&self) -> PathBuf {
        PathBuf::from(format!("/dev/shm{}", self.0))
    }

    fn file(&self) -> File {
        let mut options = OpenOptions::new();
        options.read(true).write(true).open(self.path()).unwrap()
    }

    fn config(&self, more: &str) -> Config {
        let mut config = Config::new();
        let text = format!("shared = {}\nmemory = 64k\n{RULE}{more}", self.0);
        config.parse(text.as_bytes()).unwrap();
        config
    }

    fn open(&self) -> Result<Service, Error> {
        Service::new(&self.config(""))
    }

    /// Makes it, writes over words of its header and says how it is refused.
    fn refusal(&self, words: &[(u64, u64)]) -> String {
        drop(self.open().unwrap());
        for (word, value) in words {
            self.file()
                .write_all_at(&value.to_ne_bytes(), word * 8)
                .unwrap();
        }
        refusal(self.open(), ErrorKind::Zone)
    }
}

impl Drop for Zone {
    fn drop(&mut self) {
        let _ = unlink_zone(self.0.as_bytes());
    }
}

fn refusal(refused: Result<Service, Error>, kind: ErrorKind) -> String {
    let error = refused.expect_err("it is not refused");
    assert_eq!(error.kind, kind, "{}", error.message);
    assert!(error.message.is_ascii() && error.message.len() <= 243);
    error.message
}

/// How much is left after one more request.
fn take(service: &Service) -> u64 {
    let (user, api) = (b"alice", b"/orders");
    service
        .check(Request { user, api, cost: 1 })
        .unwrap()
        .remaining
}

#[test]
fn counters_are_those_of_all_services_and_outlive_them() {
    let zone = Zone::new("outlive");
    let (first, second) = (zone.open().unwrap(), zone.open().unwrap());
    assert_eq!([take(&first), take(&second), take(&first)], [999, 998, 997]);
    assert_eq!(second.stats().allowed, 3);
    drop((first, second));
    assert_eq!(take(&zone.open().unwrap()), 996);
}

#[test]
fn services_of_other_rules_share_the_limits_that_they_have_in_common() {
    let zone = Zone::new("common");
    let first = zone.open().unwrap();
    let more = "api./login = fixed-window,2,1h,per=user\n";
    let second = Service::new(&zone.config(more)).unwrap();
    assert_eq!([take(&first), take(&second)], [999, 998]);
    let login = Request {
        user: b"alice",
        api: b"/login",
        cost: 1,
    };
    assert_eq!(second.check(login).unwrap().remaining, 1);
    assert_eq!(first.check(login).unwrap().remaining, 999);
}

#[test]
fn who_joins_takes_the_size_that_is_there() {
    let zone = Zone::new("size");
    let first = zone.open().unwrap();
    let mut larger = Config::new();
    let text = format!("shared = {}\nmemory = 4m\n{RULE}", zone.0);
    larger.parse(text.as_bytes()).unwrap();
    let second = Service::new(&larger).unwrap();
    assert_eq!(second.stats().memory_bytes, first.stats().memory_bytes);
    assert_eq!(second.stats().capacity, first.stats().capacity);
    assert_eq!(
        zone.file().metadata().unwrap().len(),
        first.stats().memory_bytes
    );
}

#[test]
fn a_removed_zone_goes_on_for_those_who_have_it() {
    let zone = Zone::new("removed");
    let old = zone.open().unwrap();
    assert_eq!(take(&old), 999);
    unlink_zone(zone.0.as_bytes()).unwrap();
    assert_eq!(take(&old), 998);
    assert_eq!(take(&zone.open().unwrap()), 999);
    assert_eq!(take(&old), 997);
}

#[test]
fn only_a_zone_that_is_there_can_be_removed() {
    let none = Zone::new("none");
    let error = unlink_zone(none.0.as_bytes()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Io);
    assert!(error.message.contains("No such file"), "{}", error.message);
    for name in ["", "a", "/", "/a/b", "/.", "/..", "/a\0"] {
        let error = unlink_zone(name.as_bytes()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Argument, "{name}");
    }
}

#[test]
fn another_layout_version_is_refused() {
    let message = Zone::new("version").refusal(&[(1, 1)]);
    assert!(
        message.contains("layout version 1, this library has 2"),
        "{message}"
    );
    assert!(message.contains("rl_zone_unlink"), "{message}");
}

#[test]
fn another_clock_is_refused() {
    let zone = Zone::new("clock");
    let _first = zone.open().unwrap();
    let message = refusal(
        Service::new(&zone.config("clock = realtime")),
        ErrorKind::Zone,
    );
    let expected = "goes by clock = monotonic, this service by clock = realtime";
    assert!(message.contains(expected), "{message}");
    let mut config = zone.config("");
    config.set_clock(Clock::manual(0));
    let message = refusal(Service::new(&config), ErrorKind::Zone);
    assert!(
        message.contains("this service by a manual clock"),
        "{message}"
    );
}

#[test]
fn a_zone_of_an_earlier_start_of_the_machine_is_refused() {
    let message = Zone::new("boot").refusal(&[(5, 1)]);
    assert!(
        message.contains("before this machine was started"),
        "{message}"
    );
    assert!(message.contains("rl_zone_unlink"), "{message}");
}

#[test]
fn a_damaged_zone_is_refused() {
    let message = Zone::new("buckets").refusal(&[(2, u64::MAX)]);
    assert!(message.contains("damaged"), "{message}");
    let message = Zone::new("chunks").refusal(&[(3, 1 << 30)]);
    assert!(message.contains("cut short"), "{message}");
}

#[test]
fn a_zone_that_was_cut_short_is_refused() {
    let zone = Zone::new("cut");
    drop(zone.open().unwrap());
    for length in [8192, 4095, 1] {
        zone.file().set_len(length).unwrap();
        let message = refusal(zone.open(), ErrorKind::Zone);
        assert!(
            message.contains(&format!("cut short: it has {length} bytes")),
            "{message}"
        );
    }
}

#[test]
fn what_is_no_zone_is_refused_and_left_alone() {
    let zone = Zone::new("other");
    let bytes = vec![b'x'; 10_000];
    fs::write(zone.path(), &bytes).unwrap();
    fs::set_permissions(zone.path(), Permissions::from_mode(0o600)).unwrap();
    let message = refusal(zone.open(), ErrorKind::Zone);
    assert!(message.contains("neither zeroed nor a zone"), "{message}");
    assert_eq!(fs::read(zone.path()).unwrap(), bytes);
}

#[test]
fn what_is_no_file_is_refused() {
    let zone = Zone::new("pipe");
    let made = Command::new("mkfifo")
        .args(["-m", "600"])
        .arg(zone.path())
        .status();
    assert!(made.unwrap().success());
    let message = refusal(zone.open(), ErrorKind::Zone);
    assert!(message.contains("is no shared memory"), "{message}");
}

#[test]
fn a_zone_of_another_user_is_refused() {
    let zone = Zone::new("owner");
    drop(zone.open().unwrap());
    if chown(zone.path(), Some(12345), None).is_err() {
        eprintln!("only root can give files away");
        return;
    }
    let message = refusal(zone.open(), ErrorKind::Zone);
    assert!(message.contains("belongs to user 12345"), "{message}");
    // Where the setting opens it to all, it is joined.
    fs::set_permissions(zone.path(), Permissions::from_mode(0o666)).unwrap();
    assert_eq!(
        take(&Service::new(&zone.config("shared-mode = 0666")).unwrap()),
        999
    );
    // Where it opens it to a group, this process must be a member.
    fs::set_permissions(zone.path(), Permissions::from_mode(0o660)).unwrap();
    let of_group = || Service::new(&zone.config("shared-mode = 0660"));
    assert_eq!(take(&of_group().unwrap()), 998);
    chown(zone.path(), None, Some(12345)).unwrap();
    assert!(refusal(of_group(), ErrorKind::Zone).contains("belongs to user 12345"));
}

#[test]
fn a_zone_that_lets_in_more_than_its_mode_says_is_refused() {
    let zone = Zone::new("mode");
    drop(zone.open().unwrap());
    for mode in [0o644, 0o666, 0o620, 0o1600] {
        fs::set_permissions(zone.path(), Permissions::from_mode(mode)).unwrap();
        let message = refusal(zone.open(), ErrorKind::Zone);
        let expected = format!("has mode 0{mode:o}, more than shared-mode = 0600");
        assert!(message.contains(&expected), "{message}");
    }
    fs::set_permissions(zone.path(), Permissions::from_mode(0o600)).unwrap();
    assert_eq!(take(&zone.open().unwrap()), 999);
}

#[test]
fn a_zone_is_made_with_exactly_its_mode() {
    for (text, mode) in [("", 0o600), ("shared-mode = 0662", 0o662)] {
        let zone = Zone::new("exact");
        let _service = Service::new(&zone.config(text)).unwrap();
        let found = zone.file().metadata().unwrap().permissions().mode();
        assert_eq!(found & 0o7777, mode);
    }
}

#[test]
fn what_a_maker_left_half_done_is_done_anew() {
    // Nothing yet; a size; a claim, and something of the zone.
    let claim = [0xc1a0_0000_0000_0001_u64, 1, 17]
        .map(u64::to_ne_bytes)
        .concat();
    for (length, head) in [(0, vec![]), (4096, vec![]), (1 << 20, claim)] {
        let zone = Zone::new("half");
        fs::write(zone.path(), &head).unwrap();
        fs::set_permissions(zone.path(), Permissions::from_mode(0o600)).unwrap();
        zone.file().set_len(length).unwrap();
        let service = zone.open().unwrap();
        assert_eq!([take(&service), take(&zone.open().unwrap())], [999, 998]);
        let expected = service.stats().memory_bytes;
        assert_eq!(zone.file().metadata().unwrap().len(), expected);
        assert!((60 << 10..64 << 10 | 1).contains(&expected));
    }
}

#[test]
fn memory_that_is_not_there_is_missed_at_once() {
    let limit = rustix::fs::statvfs("/dev/shm").unwrap();
    if !(1..1 << 40).contains(&(limit.f_blocks * limit.f_frsize)) {
        eprintln!("shared memory has no limit here");
        return;
    }
    let zone = Zone::new("full");
    let mut config = Config::new();
    let text = format!("shared = {}\nmemory = 1024g\n{RULE}", zone.0);
    config.parse(text.as_bytes()).unwrap();
    let begun = Instant::now();
    let message = refusal(Service::new(&config), ErrorKind::Memory);
    assert!(begun.elapsed() < Duration::from_secs(1));
    assert!(message.contains("No space left"), "{message}");
    // Nothing of it stays, and nobody is kept from beginning smaller.
    assert_eq!(zone.file().metadata().unwrap().len(), 0);
    assert_eq!(take(&zone.open().unwrap()), 999);
}

#[test]
fn a_wrong_config_leaves_no_zone() {
    let zone = Zone::new("wrong");
    let mut config = Config::new();
    config
        .parse(format!("shared = {}", zone.0).as_bytes())
        .unwrap();
    refusal(Service::new(&config), ErrorKind::Config);
    let mut config = zone.config("");
    config.set_memory(Object::new(65536).map(0));
    let message = refusal(Service::new(&config), ErrorKind::Config);
    assert!(message.contains("not in both"), "{message}");
    assert!(!zone.path().exists());
}

/// Memory that can be mapped any number of times, and stays until the program ends.
struct Object(rustix::fd::OwnedFd, usize);

impl Object {
    fn new(size: usize) -> Object {
        let object = memfd_create("librl-test", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&object, size as u64 + 4096).unwrap();
        Object(object, size)
    }

    /// Its bytes from an offset on, at an address of their own.
    fn map(&self, offset: usize) -> Memory {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let size = self.1 + 4096;
        // SAFETY: a mapping of its own, which stays until the program ends.
        let base = unsafe { mmap(null_mut(), size, protection, MapFlags::SHARED, &self.0, 0) };
        let base = NonNull::new(base.unwrap().cast::<u8>()).unwrap();
        // SAFETY: it has so many bytes and one page more; only services use it.
        unsafe { Memory::new(base.add(offset), self.1) }.unwrap()
    }
}

fn given(memory: Memory) -> Result<Service, Error> {
    let mut config = Config::new();
    config.parse(RULE.as_bytes()).unwrap();
    config.set_memory(memory);
    Service::new(&config)
}

#[test]
fn given_memory_may_lie_at_any_addresses() {
    for offset in [0, 8, 64, 72, 120] {
        let object = Object::new(65536);
        let first = given(object.map(offset)).unwrap();
        let second = given(object.map(offset)).unwrap();
        assert_eq!([take(&first), take(&second), take(&first)], [999, 998, 997]);
        drop((first, second));
        assert_eq!(take(&given(object.map(offset)).unwrap()), 996);
    }
}

#[test]
fn given_memory_that_is_too_small_is_refused_with_the_least_size() {
    let message = refusal(given(Object::new(16383).map(0)), ErrorKind::Memory);
    assert!(
        message.contains("16383") && message.contains("16384"),
        "{message}"
    );
    assert_eq!(take(&given(Object::new(16384).map(0)).unwrap()), 999);
}

#[test]
fn a_given_zone_that_is_larger_than_the_memory_is_refused_with_its_size() {
    let object = Object::new(65536);
    let whole = given(object.map(0)).unwrap();
    let takes = whole.stats().memory_bytes;
    // SAFETY: half of what was mapped.
    let part = unsafe { Memory::new(object.map(0).address(), 32768) }.unwrap();
    let message = refusal(given(part), ErrorKind::Memory);
    assert!(
        message.contains(&format!("takes {takes} at least")),
        "{message}"
    );
    assert!(message.contains("32768"), "{message}");
}

#[test]
fn given_memory_with_something_else_in_it_is_refused() {
    let object = Object::new(65536);
    let memory = object.map(0);
    // SAFETY: within what was mapped, and no service uses it yet.
    unsafe { memory.address().add(4088).cast::<u64>().write(1) };
    let message = refusal(given(memory), ErrorKind::Zone);
    assert!(message.contains("neither zeroed nor a zone"), "{message}");
}

const RACERS: u64 = 8;
const ROUNDS: u64 = 150;
const RACE: &str = "LIBRL_TEST_RACE";

fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
}

/// One of many processes that all open zone after zone, each at a fixed time.
#[test]
fn racer() {
    let Ok(race) = std::env::var(RACE) else {
        return;
    };
    let (name, start) = race.split_once(' ').unwrap();
    let start = Duration::from_nanos(start.parse().unwrap());
    for round in 0..ROUNDS {
        while since_1970() < start + Duration::from_millis(4) * round as u32 {
            std::hint::spin_loop();
        }
        let zone = std::mem::ManuallyDrop::new(Zone(format!("{name}-{round}")));
        take(&zone.open().unwrap());
    }
}

#[test]
fn processes_that_open_a_zone_at_once_get_one() {
    let first = Zone::new("race");
    let start = since_1970() + Duration::from_millis(500);
    let racer = |_| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "racer"]).stdout(Stdio::null());
        command.env(RACE, format!("{} {}", first.0, start.as_nanos()));
        command.spawn().unwrap()
    };
    let racers: Vec<_> = (0..RACERS).map(racer).collect();
    let zones: Vec<_> = (0..ROUNDS)
        .map(|round| Zone(format!("{}-{round}", first.0)))
        .collect();
    for mut racer in racers {
        assert!(racer.wait().unwrap().success());
    }
    for zone in zones {
        assert_eq!(take(&zone.open().unwrap()), 999 - RACERS);
    }
}
