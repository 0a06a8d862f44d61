//! One kind of call: a victim is killed after every instruction of it, and each time the
//! zone is looked at from outside. What is seen must be what is seen if the call was
//! never made, or if it came to its end; of several limits each of its own.

use std::collections::BTreeMap;
use std::path::Path;

use crate::kinds::Kind;
use crate::stage::{Answer, LATE, PROMPT, Probe, Seen, Stage, given};
use crate::tracer::{Victim, Went};

/// How long after the call all of it has expired.
const LATER_MS: u64 = 3_600_000;

/// How often an answer may come late before it is not the machine's fault.
const TRIES: u32 = 10;

/// Faults of one kind that are told.
const TOLD: usize = 3;

/// A call that is made again and again.
pub struct Scene<'k> {
    kind: &'k Kind,
    program: &'k Path,
    stage: Stage,
    user: String,
    probes: Vec<Probe>,
    /// The zone before the call.
    template: Vec<u64>,
    /// Those who were killed to make it so, and are zombies.
    _left: Vec<Victim>,
    before: Seen,
    after: Seen,
    /// After how many instructions an earlier victim was killed.
    earlier: Option<usize>,
}

/// The course of a call: how many instructions it has, and after which of them the zone
/// has become another.
pub struct Course {
    pub instructions: usize,
    pub changes: Vec<usize>,
    /// Those of the changes after which a bucket is held.
    pub held: Vec<usize>,
    /// Where it comes by only once, and after how many instructions: it need not be
    /// stepped there.
    once: Vec<(usize, u64)>,
}

impl Course {
    fn new(places: &[u64], changes: Vec<usize>, held: Vec<usize>) -> Course {
        let mut times: BTreeMap<u64, usize> = BTreeMap::new();
        for &place in places {
            *times.entry(place).or_default() += 1;
        }
        let once = places.iter().copied().enumerate();
        let once = once
            .filter(|(_, place)| *place != 0 && times[place] == 1)
            .collect();
        Course {
            instructions: places.len() - 1,
            changes,
            held,
            once,
        }
    }

    /// Has a victim make so many instructions of its call, or all if there are fewer.
    pub fn follow(&self, victim: &mut Victim, instructions: usize) -> Result<(), String> {
        let passed = self
            .once
            .partition_point(|&(after, _)| after <= instructions);
        let mut done = 0;
        if let Some(&(after, place)) = self.once[..passed].last() {
            if after > 0 {
                victim.run_to(place)?;
                done = after;
            }
        }
        victim.step_so_often(instructions - done)
    }
}

impl<'k> Scene<'k> {
    pub fn new(kind: &'k Kind, program: &'k Path) -> Result<Scene<'k>, String> {
        let (stage, user) = prepared(kind)?;
        let probe = |&(rule, limit, _): &(&str, u64, _)| stage.probe(rule, limit);
        let probes = kind
            .limits
            .iter()
            .map(probe)
            .collect::<Result<Vec<_>, _>>()?;
        let template = stage.words.copy();
        let mut scene = Scene {
            kind,
            program,
            stage,
            user,
            probes,
            template,
            _left: Vec::new(),
            before: Seen {
                now: Vec::new(),
                later: Vec::new(),
                others: Vec::new(),
            },
            after: Seen {
                now: Vec::new(),
                later: Vec::new(),
                others: Vec::new(),
            },
            earlier: None,
        };
        scene.learn()?;
        Ok(scene)
    }

    /// The scene in which a victim was killed after so many instructions of the call, and
    /// the next is about to make the same.
    pub fn after_death(&self, course: &Course, instructions: usize) -> Result<Scene<'k>, String> {
        let mut scene = Scene::new(self.kind, self.program)?;
        let mut victim = scene.victim_after(course, instructions)?;
        victim.kill(false)?;
        scene._left.push(victim);
        scene.template = scene.stage.words.copy();
        scene.earlier = Some(instructions);
        scene.learn()?;
        Ok(scene)
    }

    /// What is seen if the call is never made, and when it has come to its end.
    fn learn(&mut self) -> Result<(), String> {
        self.before = patiently(|| {
            self.stage.words.restore(&self.template);
            self.observe()
        })?;
        self.after = patiently(|| {
            let mut victim = self.victim()?;
            victim.finish()?;
            victim.exit()?;
            self.observe()
        })?;
        for (at, seen) in [&self.before, &self.after].into_iter().enumerate() {
            let limits = self
                .kind
                .limits
                .iter()
                .zip(seen.now.iter().zip(&seen.later));
            for (&(rule, limit, left), (now, later)) in limits {
                let (now, later) = (given(now), given(later));
                if !self.is_listed(now, left, at) || later != limit {
                    return Err(format!(
                        "{rule} gives {now} {} the call, then {later}; wanted {}, then {limit}",
                        ["before", "after"][at],
                        left[at]
                    ));
                }
            }
        }
        Ok(())
    }

    /// Whether a limit may have so much left. Of two calls one may have been lost.
    fn is_listed(&self, now: u64, left: [u64; 2], at: usize) -> bool {
        let cost = left[0].abs_diff(left[1]);
        match self.earlier {
            None => now == left[at],
            Some(_) if self.kind.call.0 == "check" => {
                let second = left[1].saturating_sub(cost);
                (second..=left[0]).contains(&now) && (at == 0 || now < left[0] || cost == 0)
            }
            Some(_) => true,
        }
    }

    fn observe(&self) -> Result<Seen, String> {
        self.stage.observe(&self.probes, &self.user, LATER_MS)
    }

    fn victim(&self) -> Result<Victim, String> {
        self.stage.words.restore(&self.template);
        let now = self.stage.now_ns().to_string();
        let cost = self.kind.call.1.to_string();
        Victim::start(
            self.program,
            &[&self.stage.text, &now, self.kind.call.0, &self.user, &cost],
        )
    }

    /// A victim that has made so many instructions of its call.
    fn victim_after(&self, course: &Course, instructions: usize) -> Result<Victim, String> {
        let mut victim = self.victim()?;
        if course.follow(&mut victim, instructions).is_err() {
            // It went another way: what it reads of itself in /proc may differ by a digit.
            victim = self.victim()?;
            victim.step_so_often(instructions)?;
        }
        Ok(victim)
    }

    /// Follows one victim through the call.
    pub fn course(&self) -> Result<Course, String> {
        let mut victim = self.victim()?;
        let mut words = self.stage.words.copy();
        let (mut places, mut changes, mut held) = (vec![victim.place()?], Vec::new(), Vec::new());
        while victim.step()? != Went::ToTheEnd {
            if self.stage.words.update(&mut words) {
                changes.push(places.len());
                if self.stage.held_in(&words) > 0 {
                    held.push(places.len());
                }
            }
            places.push(victim.place()?);
        }
        Ok(Course::new(&places, changes, held))
    }

    /// Kills a victim after each of so many instructions; says what was wrong.
    pub fn kill_after(&self, course: &Course, indices: &[usize]) -> Vec<String> {
        let mut faults = Vec::new();
        for &index in indices {
            let killed = patiently(|| self.kill_at(course, index));
            if let Err(fault) = killed {
                faults.push(format!(
                    "{}, killed after {index} instructions: {fault}",
                    self.name()
                ));
            }
            if faults.len() == TOLD {
                break;
            }
        }
        faults
    }

    pub fn name(&self) -> String {
        match self.earlier {
            None => self.kind.name.to_owned(),
            Some(index) => format!("{} after one who was killed after {index}", self.kind.name),
        }
    }

    /// Every other victim is reaped before anybody looks; the others are zombies.
    fn kill_at(&self, course: &Course, index: usize) -> Result<(), String> {
        let mut victim = self.victim_after(course, index)?;
        victim.kill(index % 2 == 1)?;
        self.judge()
    }

    fn judge(&self) -> Result<(), String> {
        let held = self.stage.held();
        let left = self.stage.stats();
        let before = {
            let killed = self.stage.words.copy();
            self.stage.words.restore(&self.template);
            let stats = self.stage.stats();
            self.stage.words.restore(&killed);
            stats
        };
        let seen = self.observe()?;
        self.judge_limits(&seen)?;
        let evicted =
            left.evicted_live - before.evicted_live + left.evicted_idle - before.evicted_idle;
        self.judge_others(&seen, evicted)?;
        let recovered = self.stage.stats().recovered_locks - left.recovered_locks;
        if recovered != held {
            return Err(format!(
                "{held} buckets were held, {recovered} were recovered"
            ));
        }
        Ok(())
    }

    fn judge_limits(&self, seen: &Seen) -> Result<(), String> {
        let pairs = |of: fn(&Seen) -> &Vec<Vec<Answer>>| {
            let olds = of(&self.before).iter().zip(of(&self.after));
            of(seen).iter().zip(olds).collect::<Vec<_>>()
        };
        let pairs = pairs(|seen| &seen.now)
            .into_iter()
            .chain(pairs(|seen| &seen.later));
        for (index, (found, (before, after))) in pairs.enumerate() {
            let (least, most) = (
                given(before).min(given(after)),
                given(before).max(given(after)),
            );
            let exact = found == before || found == after;
            if !(least..=most).contains(&given(found)) || !(exact || self.kind.between) {
                return Err(format!(
                    "limit {index} gives {}, before the call {}, after it {}: {}",
                    given(found),
                    given(before),
                    given(after),
                    differing(found, before, after)
                ));
            }
        }
        Ok(())
    }

    /// Who stands otherwise than before has been forgotten, and counted.
    fn judge_others(&self, seen: &Seen, evicted: u64) -> Result<(), String> {
        let others = self.before.others.iter().zip(&seen.others);
        let changed: Vec<_> = others.filter(|(before, now)| before != now).collect();
        let forgotten = changed.len() as u64;
        if forgotten > self.kind.forgets
            || forgotten > evicted
            || changed.iter().any(|(was, is)| is.1 <= was.1)
        {
            return Err(format!(
                "others stand otherwise, and {evicted} are said to be evicted: {changed:?}"
            ));
        }
        Ok(())
    }
}

/// A zone in which all is ready. Where counters stand differs from zone to zone, and in some
/// there is nobody with whom the kind comes about.
fn prepared(kind: &Kind) -> Result<(Stage, String), String> {
    let mut fault = String::new();
    for _ in 0..TRIES {
        let stage = Stage::new(kind.name, kind.rules)?;
        match (kind.prepare)(&stage) {
            Ok(user) => return Ok((stage, user)),
            Err(why) => fault = why,
        }
    }
    Err(fault)
}

/// Does something again where an answer came late: on a busy machine it may, but not each
/// time.
fn patiently<T>(mut look: impl FnMut() -> Result<T, String>) -> Result<T, String> {
    let mut tries = 1;
    loop {
        match look() {
            Err(fault) if fault.starts_with(LATE) && tries < TRIES => tries += 1,
            done => return done,
        }
        std::thread::sleep(PROMPT);
    }
}

/// The first answer that is neither as before the call nor as after it.
fn differing(found: &[Answer], before: &[Answer], after: &[Answer]) -> String {
    let at = |answers: &[Answer]| {
        found
            .iter()
            .zip(answers)
            .position(|(found, known)| found != known)
            .unwrap_or(found.len())
    };
    let at = at(before).max(at(after));
    format!(
        "{:?}, not {:?} or {:?}",
        found.get(at),
        before.get(at),
        after.get(at)
    )
}
