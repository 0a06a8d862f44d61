//! A process that is stopped while it holds a bucket. Who needs that bucket waits, nobody
//! takes it over, all others go on, and in the end every count is right.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::stage::{Stage, request};
use crate::tracer::{Victim, Went};

const LIMIT: u64 = 1000;

/// For how long it is stopped.
const STOPPED: Duration = Duration::from_secs(2);

/// How many checks of other counters each thread must have made meanwhile, at the least.
const BUSY: u64 = 5000;

pub fn one_is_stopped(program: &Path) -> Result<(), String> {
    let stage = Stage::new("stopped", &format!("default = fixed-window,{LIMIT},3600"))?;
    let others = apart(&stage);
    let victim = stop_inside(&stage, program)?;
    let service = &stage.service;
    let passes = |user: &str| service.check(request(user)).unwrap().allowed;
    let (mine, theirs) = (AtomicU64::new(0), AtomicU64::new(0));
    let end = Instant::now() + STOPPED;
    let waits = || {
        while passes("me") {
            mine.fetch_add(1, Ordering::Relaxed);
        }
    };
    let goes_on = |users: &[String]| {
        let mut checks = 0;
        while Instant::now() < end {
            let users = users.iter().cycle().skip(checks as usize).take(100);
            let passed = users.filter(|user| passes(user)).count();
            theirs.fetch_add(passed as u64, Ordering::Relaxed);
            checks += 100;
        }
        checks
    };
    thread::scope(|scope| {
        let goes_on = &goes_on;
        let waiting = [scope.spawn(waits), scope.spawn(waits)];
        let half = others.len() / 2;
        let busy =
            [&others[..half], &others[half..]].map(|users| scope.spawn(move || goes_on(users)));
        let busy = busy.map(|thread| thread.join().unwrap());
        let passed = mine.load(Ordering::Relaxed);
        let recovered = stage.stats().recovered_locks;
        let answer = victim.let_go();
        waiting
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
        if busy.iter().any(|&checks| checks < BUSY) {
            return Err(format!("others made only {busy:?} checks"));
        }
        if passed != 0 || recovered != 0 {
            return Err(format!(
                "{passed} passed by the one that is stopped, {recovered} taken over"
            ));
        }
        match answer? {
            0 => Ok(()),
            code => Err(format!("the one that was stopped ended with {code}")),
        }
    })?;
    // Everybody took one before, and the victim another.
    let (mine, theirs) = (
        mine.into_inner() + 2,
        theirs.into_inner() + others.len() as u64,
    );
    if mine != LIMIT || theirs != LIMIT * others.len() as u64 {
        return Err(format!(
            "{mine} and {theirs} passed, of {LIMIT} for each of 1 and {}",
            others.len()
        ));
    }
    if stage.stats().recovered_locks != 0 {
        return Err("a bucket was taken over".to_owned());
    }
    stage.service.audit().map_err(|fault| fault.to_string())
}

/// Some who need no bucket that `me` needs. In an empty table everybody stands in the
/// first bucket that is looked at.
fn apart(stage: &Stage) -> Vec<String> {
    let home = |user: &str| stage.touched(|| stage.check(user)).0.first;
    let mut taken = vec![home("me")];
    let mut others = Vec::new();
    for user in (0..200).map(|n| format!("other-{n}")) {
        let home = home(&user);
        if others.len() < 8 && !taken.contains(&home) {
            taken.push(home);
            others.push(user);
        }
    }
    stage.check("me");
    for user in &others {
        stage.check(user);
    }
    others
}

fn stop_inside(stage: &Stage, program: &Path) -> Result<Victim, String> {
    let now = stage.now_ns().to_string();
    let mut victim = Victim::start(program, &[&stage.text, &now, "check", "me", "1"])?;
    while stage.held() == 0 {
        if victim.step()? == Went::ToTheEnd {
            return Err("the victim never held a bucket".to_owned());
        }
    }
    victim.leave_stopped()?;
    Ok(victim)
}
