//! As much of the C interface as the benchmark calls.

use std::ffi::{CStr, CString, c_char, c_void};
use std::hint::black_box;
use std::ptr::null_mut;

use super::names::Name;

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

unsafe extern "C" {
    fn rl_config_new(out: *mut *mut c_void) -> i32;
    fn rl_config_parse(config: *mut c_void, text: *const u8, len: usize, error: *mut c_void)
    -> i32;
    fn rl_config_set(
        config: *mut c_void,
        name: *const c_char,
        value: *const c_char,
        error: *mut c_void,
    ) -> i32;
    fn rl_config_free(config: *mut c_void);
    fn rl_service_new(config: *const c_void, out: *mut *mut c_void, error: *mut c_void) -> i32;
    fn rl_check_bytes(
        service: *mut c_void,
        user: *const u8,
        user_len: usize,
        api: *const u8,
        api_len: usize,
        cost: u64,
        out: *mut RlDecision,
    ) -> i32;
    fn rl_check_batch(
        service: *mut c_void,
        requests: *const RlRequest,
        count: usize,
        out: *mut RlDecision,
    ) -> i32;
    fn rl_service_stats(service: *mut c_void, out: *mut RlStats) -> i32;
    fn rl_service_free(service: *mut c_void);
    fn rl_zone_unlink(name: *const c_char) -> i32;
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
        unsafe { rl_zone_unlink(self.0.as_ptr()) };
    }
}

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

/// A service, by way of C. Its calls go by pointers that the compiler cannot see through:
/// it would else make them a part of the benchmark, as no program in C can.
pub struct Service {
    service: *mut c_void,
    check: Check,
    check_batch: CheckBatch,
}

// SAFETY: rl.h allows any thread to use a service.
unsafe impl Sync for Service {}

impl Service {
    /// In private memory, or in a zone.
    pub fn new(rules: &str, zone: Option<&Zone>) -> Service {
        let (mut config, mut service, none) = (null_mut(), null_mut(), null_mut());
        let set = |config, name: &CStr, value: &CStr| unsafe {
            assert_eq!(
                rl_config_set(config, name.as_ptr(), value.as_ptr(), none),
                0
            );
        };
        unsafe {
            assert_eq!(rl_config_new(&mut config), 0);
            assert_eq!(
                rl_config_parse(config, rules.as_ptr(), rules.len(), none),
                0
            );
            if let Some(Zone(name)) = zone {
                set(config, c"shared", name);
            }
            assert_eq!(rl_service_new(config, &mut service, none), 0);
            rl_config_free(config);
        }
        Service {
            service,
            check: black_box(rl_check_bytes),
            check_batch: black_box(rl_check_batch),
        }
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
        unsafe { assert_eq!(rl_service_stats(self.service, &mut stats), 0) };
        let [.., evicted_live, _, _, memory, _, _] = stats.counts;
        (evicted_live, memory)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        unsafe { rl_service_free(self.service) }
    }
}
