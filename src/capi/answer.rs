//! How a service is asked: answers go where the caller wants them, and what fails here is
//! counted.

use super::decision::{refusal, refusals, rl_decision};
use super::ffi::{Failure, borrow, catch, finishes, status_of};
use super::request::rl_request;
use super::service::{NO_SERVICE, rl_service};
use super::status::{RL_ERR_ARGUMENT, RL_ERR_INTERNAL, RL_OK, rl_status};
use crate::service::{Decision, Request, Service, Valid};

/// Asks the service one question; the answer is a refusal where it has none.
#[inline(always)]
pub(super) unsafe fn answer(
    service: *const rl_service,
    request: &rl_request,
    out: *mut rl_decision,
    ask: impl FnOnce(&Service, Valid<'_>, &mut Decision),
) -> rl_status {
    // SAFETY: the caller's word on each pointer, as rl.h asks it.
    let (place, service) = unsafe { (refusal(out), service.as_ref()) };
    let (Some(place), Some(rl_service(asked))) = (place, service) else {
        return wrong_argument(service);
    };
    // SAFETY: as above.
    let Ok(request) = (unsafe { request.read_valid() }) else {
        return wrong_argument(service);
    };
    if !finishes(|| ask(asked, request, place)) {
        // SAFETY: not NULL, so by the caller's word a place for a decision.
        unsafe { refusal(out) };
        asked.count_error();
        return RL_ERR_INTERNAL;
    }
    RL_OK
}

/// What this layer finds wrong with a call is an error of the service, if there is one.
#[cold]
fn wrong_argument(service: Option<&rl_service>) -> rl_status {
    service.iter().for_each(|service| service.0.count_error());
    RL_ERR_ARGUMENT
}

/// Has `count` answers written to `out`, which are refusals where that fails.
pub(super) unsafe fn answer_all(
    service: *const rl_service,
    out: *mut rl_decision,
    count: usize,
    ask: impl FnOnce(&Service, &mut [Decision]) -> Result<(), Failure>,
) -> rl_status {
    // SAFETY: the caller's word on each pointer, as rl.h asks it.
    unsafe {
        let places = refusals(out, count);
        let result = checked(service, |service| ask(service, places));
        if result.is_err() {
            refusals(out, count);
        }
        status_of(&result)
    }
}

/// Runs a check. One that fails here on a service that is there counts as an error of
/// it; what the core refuses, the core has counted.
pub(super) unsafe fn checked<T>(
    service: *const rl_service,
    call: impl FnOnce(&Service) -> Result<T, Failure>,
) -> Result<T, Failure> {
    // SAFETY: NULL, or by the caller's word a live service.
    let service = &unsafe { borrow(service, NO_SERVICE) }?.0;
    let result = catch(|| call(service));
    if matches!(result, Err(Failure::Argument(_) | Failure::Panic)) {
        service.count_error();
    }
    result
}

/// Several requests, read one by one: once here, to find a wrong one, and once more when
/// they are answered. Nothing is copied, however many there are.
pub(super) unsafe fn read_all<'a>(
    requests: *const rl_request,
    count: usize,
    places: &[Decision],
) -> Result<impl Iterator<Item = Request<'a>> + Clone + use<'a>, Failure> {
    if count > 0 && (requests.is_null() || places.len() != count) {
        return Err(Failure::Argument(
            "requests or out is NULL, or count is too large",
        ));
    }
    // SAFETY: not NULL, so by the caller's word `count` requests with their names.
    let read = move |i| unsafe { (*requests.add(i)).read() };
    (0..count).try_for_each(|i| read(i).map(drop))?;
    Ok((0..count).filter_map(move |i| read(i).ok()))
}

#[cfg(test)]
mod tests {
    use super::super::request::whole;
    use super::*;
    use crate::config::Config;

    fn service() -> rl_service {
        let mut config = Config::new();
        config.parse(b"default = unlimited").unwrap();
        rl_service(Service::new(&config).unwrap())
    }

    /// Where a call fails after it has answered, what it has written is taken back, and
    /// the failure counts as an error.
    #[test]
    fn a_call_that_fails_halfway_leaves_a_refusal() {
        let (service, mut out) = (service(), rl_decision::REFUSED);
        let request = whole(c"alice".as_ptr().cast(), 5, std::ptr::null(), 0, 1);
        // SAFETY: a live service, names of these lengths, and a place for an answer.
        let status = unsafe {
            answer(&service, &request, &raw mut out, |_, _, place| {
                place.allowed = true;
                panic!("seen in the test's output")
            })
        };
        assert_eq!(status, RL_ERR_INTERNAL);
        assert!(!out.allowed);
        assert_eq!(service.0.stats().errors, 1);
    }

    #[test]
    fn a_batch_that_fails_halfway_leaves_refusals() {
        let service = service();
        let mut out = [rl_decision::REFUSED; 2];
        // SAFETY: a live service, and two places for answers.
        let status = unsafe {
            answer_all(&service, out.as_mut_ptr(), 2, |_, places| {
                places.iter_mut().for_each(|place| place.allowed = true);
                panic!("seen in the test's output")
            })
        };
        assert_eq!(status, RL_ERR_INTERNAL);
        assert!(out.iter().all(|decision| !decision.allowed));
        assert_eq!(service.0.stats().errors, 1);
    }
}
