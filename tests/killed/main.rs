//! Processes that are killed at every instruction of a call, and stopped in the middle of
//! one, and what those see who share a zone with them.
//!
//! A victim, in C, makes one call through the library that `make` builds; this program
//! steps it there, kills it, and then is the one who goes on (`kill`). Killed at each
//! instruction that changes the zone, and one before and one after, and at a sample of
//! the others; with `--all` at every one. With `--recoverers` those who take over are
//! killed at every one too, of some deaths; that takes hours. Between two changes nobody can tell from
//! outside where the victim was, but that is taken on trust only in the short form.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]
#![allow(unsafe_code)]

#[path = "../c_build/mod.rs"]
#[allow(dead_code)]
mod c_build;
mod creating;
mod kill;
mod kinds;
#[path = "../made/mod.rs"]
mod made;
mod prepare;
#[path = "../running/mod.rs"]
#[allow(dead_code)]
mod running;
mod stage;
mod stopped;
mod tracer;
mod words;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use kill::{Course, Scene};
use kinds::{KINDS, Kind};

/// In the short form, beside those around changes: so many instructions of a call.
const SAMPLE: usize = 10;

/// In the short form one who recovers is killed too, after so many of the instructions
/// at which the one before can be killed with a bucket in its hands; with `--all` after all
/// of them.
const RECOVERERS: usize = 3;

/// How much is asked for: victims at every instruction, and who takes over too.
#[derive(Clone, Copy)]
struct Extent {
    all: bool,
    recoverers: bool,
}

/// Threads that have victims.
const TRACERS: usize = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let asked = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let extent = Extent {
        all: asked("--all"),
        recoverers: asked("--recoverers"),
    };
    let parts: Vec<&String> = arguments
        .iter()
        .filter(|part| !part.starts_with('-'))
        .collect();
    let wanted = |name: &str| parts.is_empty() || parts.iter().any(|part| name.contains(*part));
    let program = c_build::program("tests/killed/victim.c");
    let names = ["creating"]
        .into_iter()
        .chain(KINDS.iter().map(|kind| kind.name));
    let next = Mutex::new(names.filter(|name| wanted(name)));
    let counts = Mutex::new((0, 0));
    let run = |name: &str| {
        let faults = play(name, &program, extent).unwrap_or_else(|fault| vec![fault]);
        faults.iter().for_each(|fault| println!("{name}: {fault}"));
        let (passed, failed) = &mut *counts.lock().unwrap();
        *passed += usize::from(faults.is_empty());
        *failed += usize::from(!faults.is_empty());
    };
    // Alone, since it keeps all processors busy.
    if wanted("stopped") {
        run("stopped");
    }
    let work = || {
        loop {
            let name = next.lock().unwrap().next();
            let Some(name) = name else { break };
            run(name);
        }
    };
    thread::scope(|scope| (0..TRACERS).for_each(|_| drop(scope.spawn(work))));
    let (passed, failed) = counts.into_inner().unwrap();
    println!("{passed} passed, {failed} failed");
    if failed == 0 && passed > 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Says what was wrong.
fn play(name: &str, program: &Path, extent: Extent) -> Result<Vec<String>, String> {
    let begun = Instant::now();
    let mut faults = Vec::new();
    let did = match KINDS.iter().find(|kind| kind.name == name) {
        Some(kind) => kill_all(kind, program, extent, &mut faults)?,
        None if name == "creating" => {
            creating::makers_are_killed(program, if extent.all { 1000 } else { 50 })?
        }
        None => stopped::one_is_stopped(program).map(|()| "for 2 s".to_owned())?,
    };
    println!("{name}: {did} ({:.1} s)", begun.elapsed().as_secs_f64());
    Ok(faults)
}

fn kill_all(
    kind: &Kind,
    program: &Path,
    extent: Extent,
    faults: &mut Vec<String>,
) -> Result<String, String> {
    let scene = Scene::new(kind, program)?;
    let course = scene.course()?;
    let indices = indices(&course, extent.all);
    faults.extend(scene.kill_after(&course, &indices));
    let few = RECOVERERS.min(course.held.len());
    let often: BTreeSet<usize> = (0..few)
        .map(|n| course.held[(2 * n + 1) * course.held.len() / (2 * few)])
        .collect();
    let deaths = course
        .held
        .iter()
        .filter(|at| extent.all || (kind.is_recovered && often.contains(at)));
    let mut second = 0;
    for &death in deaths {
        let scene = scene.after_death(&course, death)?;
        let course = scene.course()?;
        let deep = extent.recoverers && kind.is_recovered && often.contains(&death);
        let indices = self::indices(&course, deep);
        second += indices.len();
        faults.extend(scene.kill_after(&course, &indices));
    }
    Ok(format!(
        "killed after {} of {} instructions, {} of which change the zone; {second} times who recovers",
        indices.len(),
        course.instructions + 1,
        course.changes.len(),
    ))
}

/// After which instructions victims are killed: 0 is before the first.
fn indices(course: &Course, all: bool) -> Vec<usize> {
    if all {
        return (0..=course.instructions).collect();
    }
    let changes = course.changes.iter().flat_map(|&at| [at - 1, at, at + 1]);
    let sample = (0..=SAMPLE).map(|n| course.instructions * n / SAMPLE);
    let indices: BTreeSet<usize> = changes.chain(sample).collect();
    indices
        .into_iter()
        .filter(|&at| at <= course.instructions)
        .collect()
}
