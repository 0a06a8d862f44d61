//! The ways in which librl does the same work: where its counters stand, and what else is
//! not as usual.

use std::ptr::null_mut;
use std::slice;
use std::sync::atomic::AtomicU64;

use super::library::{Config, MEMORY, Place, Service, Zone};
use super::limiters::ORDERS;
use super::names::{HOT, KEYS, name};

/// Rules of which the benchmark never comes to the end of one, and two that it does. What
/// is taken comes back slowly, so that no counter becomes as good as new, but under
/// `fresh`. The limit of `noted` does not divide its window, so both words of its counter
/// change.
const RULES: &str = "\
    default = token-bucket,1,600,burst=5000000\n\
    api./v1/single = token-bucket,1000,1,burst=1000000000\n\
    api./v1/closed = token-bucket,1,86400\n\
    api./v1/fresh = token-bucket,1000000000,1\n\
    api./v1/noted = token-bucket,999,1,burst=1000000000\n\
    api./v1/three = token-bucket,1000,1,burst=1000000000 \
        + token-bucket,1000,1,burst=1000000000,per=user + fixed-window,1000000000,60,per=all\n\
    api./v1/three-closed = token-bucket,1000,1,burst=1000000000 \
        + token-bucket,1,86400,per=user + fixed-window,1000000000,60,per=all\n";

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Way {
    Private,
    Shared,
    /// A zone, and processes in place of threads.
    Forked,
    /// `clock = monotonic-vdso`.
    Vdso,
    /// Ten thousand rules for others.
    Rules,
    /// Memory of the caller's, in pages of 4 KiB or of 2 MiB.
    Small,
    Huge,
}

impl Way {
    /// What it is called in what is written.
    pub fn name(self) -> &'static str {
        match self {
            Way::Private => "private",
            Way::Shared => "zone",
            Way::Forked => "2 processes",
            Way::Vdso => "vDSO clock",
            Way::Rules => "10,000 rules",
            Way::Small => "given, 4 KiB pages",
            Way::Huge => "given, 2 MiB pages",
        }
    }
}

/// A service of each way that the library knows.
pub struct Services(Vec<(Way, Service)>);

impl Services {
    pub fn new(zone: &Zone) -> Services {
        let ways = [
            (Way::Private, "", Place::Private),
            (Way::Shared, "", Place::Zone(zone)),
            (Way::Vdso, "clock = monotonic-vdso\n", Place::Private),
            (Way::Rules, &ten_thousand_rules(), Place::Private),
            (Way::Small, "", Place::Given(given(libc::MADV_NOHUGEPAGE))),
            (Way::Huge, "", Place::Given(given(libc::MADV_HUGEPAGE))),
        ];
        let known = ways.into_iter().filter_map(|(way, settings, place)| {
            let service = config(settings, place).map(|config| filled(&config));
            if service.is_none() {
                eprintln!(
                    "inner: left out, the library knows no `{}`",
                    settings.trim()
                );
            }
            Some((way, service?))
        });
        Services(known.collect())
    }

    pub fn of(&self, wanted: Way) -> Option<&Service> {
        let mut services = self.0.iter();
        services.find_map(|(way, service)| (*way == wanted).then_some(service))
    }
}

/// The rules of the benchmark, and settings.
pub fn config(settings: &str, place: Place) -> Option<Config> {
    Config::new(&format!("memory = {MEMORY}\n{settings}{RULES}"), place)
}

/// With all keys, and the limits used up that refuse.
pub fn filled(config: &Config) -> Service {
    let service = config.service();
    for n in 0..KEYS {
        assert!(service.check(&name(n), ORDERS));
    }
    service.check(&HOT, b"/v1/closed");
    service.check(&HOT, b"/v1/three-closed");
    service
}

fn ten_thousand_rules() -> String {
    let users = (0..5000).map(|n| format!("user.customer-{n} = token-bucket,{},10\n", n + 1));
    let apis = (0..5000).map(|n| format!("api./v2/{n} = fixed-window,{},60\n", n + 1));
    users.chain(apis).collect()
}

/// Memory of its own, of which the kernel is told what pages it is to have.
fn given(advice: i32) -> &'static [AtomicU64] {
    let huge = 2 << 20;
    let (protection, flags) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
    );
    unsafe {
        let base = libc::mmap(null_mut(), MEMORY + huge, protection, flags, -1, 0);
        assert_ne!(base, libc::MAP_FAILED);
        let base = base.byte_add(base.align_offset(huge));
        assert_eq!(libc::madvise(base, MEMORY, advice), 0);
        slice::from_raw_parts(base.cast(), MEMORY / size_of::<AtomicU64>())
    }
}
