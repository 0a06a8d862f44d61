//! A process that is killed while it makes a zone. The next one makes it, or joins it, at
//! once, and finds it empty.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rl::clock::Clock;
use rl::service::unlink_zone;

use crate::stage::{BYTES, PROMPT, request, service};
use crate::tracer::{Victim, Went};

const LIMIT: u64 = 5;

/// Longer than it takes to make one.
const LONGEST: Duration = Duration::from_micros(1500);

/// Kills one at each system call, then so many at some time or other; says how many.
pub fn makers_are_killed(program: &Path, at_times: u32) -> Result<String, String> {
    let mut calls = 0;
    loop {
        let went = with_a_maker(program, |victim| {
            let mut went = Went::On;
            for _ in 0..calls {
                went = victim.until_system_call()?;
                if went == Went::ToTheEnd {
                    break;
                }
            }
            Ok(went)
        });
        if went.map_err(|fault| format!("killed at stop {calls}: {fault}"))? == Went::ToTheEnd {
            break;
        }
        calls += 1;
    }
    for time in (0..at_times).map(|n| LONGEST * n / at_times) {
        let at_time = |victim: &mut Victim| {
            victim.run()?;
            thread::sleep(time);
            Ok(Went::On)
        };
        with_a_maker(program, at_time)
            .map_err(|fault| format!("killed after {time:?}: {fault}"))?;
    }
    Ok(format!(
        "at {calls} borders of system calls and {at_times} times"
    ))
}

fn with_a_maker(
    program: &Path,
    run: impl Fn(&mut Victim) -> Result<Went, String>,
) -> Result<Went, String> {
    let name = format!("/librl-killed-{}-new", std::process::id());
    let _ = unlink_zone(name.as_bytes());
    let text = format!("memory = {BYTES}\ndefault = token-bucket,{LIMIT},10\nshared = {name}\n");
    let clock = Clock::manual(1_000_000_000);
    let mut victim = Victim::start(program, &[&text, "1000000000", "create", "", "1"])?;
    let went = run(&mut victim)?;
    victim.kill(false)?;
    let begun = Instant::now();
    let services = [service(&text, &clock)?, service(&text, &clock)?];
    let took = begun.elapsed();
    let _ = unlink_zone(name.as_bytes());
    let checks = (0..4 * LIMIT).zip(services.iter().cycle());
    let passed = checks
        .filter(|(_, service)| service.check(request("me")).unwrap().allowed)
        .count();
    services[0].audit().map_err(|fault| fault.to_string())?;
    let stats = services[0].stats();
    if passed as u64 != LIMIT || (stats.keys, stats.allowed) != (1, LIMIT) {
        return Err(format!("the next gives {passed}: {stats:?}"));
    }
    if took >= PROMPT {
        return Err(format!("the next two took {took:?}"));
    }
    Ok(went)
}
