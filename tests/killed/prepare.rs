//! What is done in a zone before the call in which victims are killed. Each says who the
//! user is that the call is about.

use crate::stage::Stage;

/// The user `me` has taken so much before, one every 7 ms, among some others.
pub fn taken<const N: u64>(stage: &Stage) -> Result<String, String> {
    (0..20).for_each(|n| {
        stage.other(&format!("other-{n}"));
    });
    for _ in 0..N {
        stage.wait_ms(7);
        stage.check("me");
    }
    stage.wait_ms(7);
    Ok("me".to_owned())
}

/// The same, but the clock is then set back by 3 s.
pub fn set_back<const N: u64>(stage: &Stage) -> Result<String, String> {
    let user = taken::<N>(stage)?;
    // What others have is set back as well, and moved when it is used: leave them out.
    stage.others.borrow_mut().clear();
    stage.set_back_ms(3000);
    Ok(user)
}

/// The same, but then nothing happens for so long.
pub fn idle<const N: u64, const MS: u64>(stage: &Stage) -> Result<String, String> {
    let user = taken::<N>(stage)?;
    stage.wait_ms(MS);
    Ok(user)
}

/// So many others have been here.
fn crowd(stage: &Stage, people: u64) {
    for n in 0..people {
        stage.other(&format!("crowd-{n}"));
    }
}

/// Somebody new who has a place between idle counters.
pub fn among_idle(stage: &Stage) -> Result<String, String> {
    crowd(stage, 440);
    stage.wait_ms(60_000);
    stage.others.borrow_mut().clear();
    stage.newcomer(1, 0, 1)
}

/// Somebody new for whom somebody moves.
pub fn with_a_move(stage: &Stage) -> Result<String, String> {
    crowd(stage, stage.stats().capacity * 3 / 4);
    stage.newcomer(2, 0, 0)
}

/// Somebody new for whom somebody moves, to the place of one who is idle.
pub fn with_a_move_onto_idle(stage: &Stage) -> Result<String, String> {
    crowd(stage, stage.stats().capacity / 3);
    stage.wait_ms(60_000);
    stage.others.borrow_mut().clear();
    for n in 0..stage.stats().capacity * 3 / 4 {
        stage.other(&format!("later-{n}"));
    }
    // The idle counter that is cleared there is not counted.
    stage.newcomer(2, 0, 0)
}

/// Somebody new for whom somebody is forgotten.
pub fn with_an_eviction(stage: &Stage) -> Result<String, String> {
    let before = stage.stats().evicted_live;
    let mut people = 0;
    while stage.stats().evicted_live < before + 40 {
        stage.check(&format!("flood-{people}"));
        people += 1;
    }
    let people = (0..people).map(|n| format!("flood-{n}"));
    let people = people.filter(|user| stage.knows(user));
    *stage.others.borrow_mut() = people.collect();
    stage.newcomer(1, 1, 0)
}

/// Some logs, and so many other counters that there is no room for one more.
fn logs_in_a_crowd(stage: &Stage) -> Result<(), String> {
    crowd(stage, 40);
    let before = stage.stats().evicted_live;
    let others = stage.probe("fixed-window,1,1000", 1)?;
    let mut people = 0;
    while stage.stats().evicted_live == before {
        others.check(&format!("other-{people}"));
        people += 1;
    }
    stage.others.borrow_mut().retain(|user| stage.knows(user));
    Ok(())
}

/// Somebody new who gets the place of a log.
pub fn on_a_log(stage: &Stage) -> Result<String, String> {
    logs_in_a_crowd(stage)?;
    let entries = stage.stats().log_entries;
    stage.newcomer_where(|touched, was, is| {
        let evicted = is.evicted_live - was.evicted_live;
        (touched.buckets, evicted, is.log_entries) == (1, 1, entries)
    })
}

/// Somebody new for whom a log moves: beside the new chunk its own changes, which says
/// where it stands.
pub fn with_a_log_that_moves(stage: &Stage) -> Result<String, String> {
    logs_in_a_crowd(stage)?;
    stage.newcomer_where(|touched, was, is| {
        let evicted = is.evicted_live - was.evicted_live;
        (touched.buckets, touched.chunks, evicted) == (2, 2, 0)
    })
}

/// Logs until there is no chunk left.
fn no_chunk_left(stage: &Stage) {
    let capacity = stage.stats().log_capacity / 13;
    (0..capacity).for_each(|n| {
        stage.other(&format!("log-{n}"));
    });
}

pub fn new_with_no_chunk_left(stage: &Stage) -> Result<String, String> {
    no_chunk_left(stage);
    stage.newcomer(2, 1, 0)
}

pub fn new_with_idle_logs(stage: &Stage) -> Result<String, String> {
    no_chunk_left(stage);
    stage.wait_ms(60_000);
    stage.others.borrow_mut().clear();
    stage.newcomer(2, 0, 1)
}

pub fn full_chunk_with_no_chunk_left(stage: &Stage) -> Result<String, String> {
    let user = taken::<13>(stage)?;
    no_chunk_left(stage);
    stage.others.borrow_mut().retain(|user| stage.knows(user));
    Ok(user)
}
