//! As much of the C interface as is measured, of the shared library that make builds: the
//! calls are those of a program that links to it.

use std::ffi::{CString, c_char, c_void};
use std::hint::black_box;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;

use libloading::Library;

use super::names::Name;

/// Bytes of memory where a million keys are measured: of 40 MiB they fill four fifths.
pub const MEMORY: usize = 40 << 20;

/// `struct rl_decision`, of which only `allowed` is read.
#[repr(C)]
#[derive(Clone, Copy)]
struct RlDecision {
    allowed: bool,
    rest: [u64; 7],
}

const NO_DECISION: RlDecision = RlDecision {
    allowed: false,
    rest: [0; 7],
};

/// `struct rl_request`.
#[repr(C)]
#[derive(Clone, Copy)]
struct RlRequest {
    user: *const u8,
    user_len: usize,
    api: *const u8,
    api_len: usize,
    cost: u64,
}

#[repr(C)]
#[derive(Default)]
struct RlStats {
    size: usize,
    counts: [u64; 12],
}

type NewConfig = unsafe extern "C" fn(*mut *mut c_void) -> i32;
type Parse = unsafe extern "C" fn(*mut c_void, *const u8, usize, *mut c_void) -> i32;
type Set = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char, *mut c_void) -> i32;
type SetMemory = unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> i32;
type Free = unsafe extern "C" fn(*mut c_void);
type NewService = unsafe extern "C" fn(*const c_void, *mut *mut c_void, *mut c_void) -> i32;
type Check = unsafe extern "C" fn(
    *mut c_void,
    *const u8,
    usize,
    *const u8,
    usize,
    u64,
    *mut RlDecision,
) -> i32;
type CheckBatch =
    unsafe extern "C" fn(*mut c_void, *const RlRequest, usize, *mut RlDecision) -> i32;
type Stats = unsafe extern "C" fn(*mut c_void, *mut RlStats) -> i32;
type Unlink = unsafe extern "C" fn(*const c_char) -> i32;

/// What is called of the library that make has built.
struct Functions {
    config_new: NewConfig,
    config_parse: Parse,
    config_set: Set,
    config_set_memory: SetMemory,
    config_free: Free,
    service_new: NewService,
    service_free: Free,
    service_stats: Stats,
    check_bytes: Check,
    check_batch: CheckBatch,
    zone_unlink: Unlink,
}

fn library() -> &'static Functions {
    static FUNCTIONS: OnceLock<Functions> = OnceLock::new();
    FUNCTIONS.get_or_init(|| {
        let library = unsafe { Library::new("build/librl.so") }.expect("make builds it");
        unsafe { Functions::of(Box::leak(Box::new(library))) }
    })
}

impl Functions {
    unsafe fn of(library: &'static Library) -> Functions {
        /// A function of the type that is expected of it.
        unsafe fn get<F: Copy>(library: &'static Library, name: &str) -> F {
            *unsafe { library.get::<F>(name.as_bytes()) }.unwrap()
        }
        unsafe {
            Functions {
                config_new: get(library, "rl_config_new"),
                config_parse: get(library, "rl_config_parse"),
                config_set: get(library, "rl_config_set"),
                config_set_memory: get(library, "rl_config_set_memory"),
                config_free: get(library, "rl_config_free"),
                service_new: get(library, "rl_service_new"),
                service_free: get(library, "rl_service_free"),
                service_stats: get(library, "rl_service_stats"),
                check_bytes: get(library, "rl_check_bytes"),
                check_batch: get(library, "rl_check_batch"),
                zone_unlink: get(library, "rl_zone_unlink"),
            }
        }
    }
}

/// Where the counters of a service stand.
#[derive(Clone, Copy)]
pub enum Place<'a> {
    Private,
    Zone(&'a Zone),
    /// Memory of the caller's, so long as the service is there.
    Given(&'a [AtomicU64]),
}

/// A zone of this run, which goes with this, and with a panic.
pub struct Zone(CString);

impl Zone {
    pub fn new(what: &str) -> Zone {
        let name = format!("/librl-bench-{}-{what}", std::process::id());
        Zone(CString::new(name).unwrap())
    }
}

impl Drop for Zone {
    fn drop(&mut self) {
        unsafe { (library().zone_unlink)(self.0.as_ptr()) };
    }
}

/// A configuration, by way of C.
pub struct Config(*mut c_void);

impl Config {
    /// None where the library does not know a setting.
    pub fn new(rules: &str, place: Place) -> Option<Config> {
        let (mut config, none) = (null_mut(), null_mut());
        let rl = library();
        unsafe {
            assert_eq!((rl.config_new)(&mut config), 0);
            let known = (rl.config_parse)(config, rules.as_ptr(), rules.len(), none) == 0;
            let placed = match place {
                Place::Private => 0,
                Place::Zone(Zone(name)) => {
                    (rl.config_set)(config, c"shared".as_ptr(), name.as_ptr(), none)
                }
                Place::Given(words) => {
                    let address = words.as_ptr().cast_mut().cast();
                    (rl.config_set_memory)(config, address, size_of_val(words))
                }
            };
            assert_eq!(placed, 0);
            known.then_some(Config(config))
        }
    }

    pub fn service(&self) -> Service {
        let (rl, mut service) = (library(), null_mut());
        let status = unsafe { (rl.service_new)(self.0, &mut service, null_mut()) };
        assert_eq!(status, 0);
        Service {
            service,
            check: rl.check_bytes,
            check_batch: rl.check_batch,
        }
    }
}

impl Drop for Config {
    fn drop(&mut self) {
        unsafe { (library().config_free)(self.0) }
    }
}

/// A service, by way of C.
pub struct Service {
    service: *mut c_void,
    check: Check,
    check_batch: CheckBatch,
}

// SAFETY: rl.h allows any thread to use a service.
unsafe impl Sync for Service {}

impl Service {
    pub fn new(rules: &str, place: Place) -> Service {
        Config::new(rules, place).expect("rules").service()
    }

    #[inline]
    pub fn check(&self, user: &[u8], api: &[u8]) -> bool {
        let mut decision = NO_DECISION;
        let (user_len, api_len) = (user.len(), api.len());
        let (user, api) = (user.as_ptr(), api.as_ptr());
        let status =
            unsafe { (self.check)(self.service, user, user_len, api, api_len, 1, &mut decision) };
        black_box(status == 0 && decision.allowed)
    }

    /// How many of `N` are allowed.
    #[inline]
    pub fn check_batch<const N: usize>(&self, users: &[Name; N], api: &[u8]) -> usize {
        let requests = users.each_ref().map(|user| RlRequest {
            user: user.as_ptr(),
            user_len: user.len(),
            api: api.as_ptr(),
            api_len: api.len(),
            cost: 1,
        });
        let mut decisions = [NO_DECISION; N];
        let (requests, out) = (requests.as_ptr(), decisions.as_mut_ptr());
        let status = unsafe { (self.check_batch)(self.service, requests, N, out) };
        assert_eq!(status, 0);
        decisions.iter().filter(|one| one.allowed).count()
    }

    /// How many counters were forgotten live, and the bytes of memory.
    pub fn evicted_live_and_memory(&self) -> (u64, u64) {
        let mut stats = RlStats {
            size: size_of::<RlStats>(),
            ..RlStats::default()
        };
        unsafe { assert_eq!((library().service_stats)(self.service, &mut stats), 0) };
        let [.., evicted_live, _, _, memory, _, _] = stats.counts;
        (evicted_live, memory)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        unsafe { (library().service_free)(self.service) }
    }
}
