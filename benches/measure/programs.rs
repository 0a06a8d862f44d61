//! Limiters in other languages: programs that read on a line the name of a figure, how
//! many calls each thread is to make, and the first name to ask about; and answer with a
//! line of the same and the nanoseconds for a call, `W1 100000 0 47.1`.
//!
//! While others are measured a program stands still: collecting what it has let go is a
//! part of its own time.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process, set_parent_process_death_signal};

use super::names::{KEYS, Users};
use super::record::PLACE;
use super::work::Figure;

pub struct Program {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// Writes the names where programs look for them.
pub fn write_names(users: &Users) {
    let write = |file, names: &[_]| fs::write(format!("{PLACE}/{file}"), names.as_flattened());
    write("keys", &users.keys).unwrap();
    write("zipf", &users.zipf).unwrap();
}

impl Program {
    pub fn java() -> Program {
        Program::start("java", &["-Xmx4g", "-cp", PLACE, "Buckets", PLACE])
    }

    pub fn go() -> Program {
        Program::start(&format!("{PLACE}/buckets"), &[PLACE])
    }

    fn start(program: &str, arguments: &[&str]) -> Program {
        let mut command = Command::new(program);
        command.args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        // One that stands still would not see that this process has ended.
        let ends = || Ok(set_parent_process_death_signal(Some(Signal::KILL))?);
        let started = unsafe { command.pre_exec(ends) }.spawn();
        let mut child = started.unwrap_or_else(|error| panic!("{program}: {error}"));
        Program {
            questions: child.stdin.take().unwrap(),
            answers: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    /// Nanoseconds for a call.
    pub fn time(&mut self, figure: &Figure, slice: usize) -> f64 {
        let &Figure {
            name,
            threads,
            calls,
            ..
        } = figure;
        let first = slice * threads * calls % KEYS;
        self.ask(&format!("{name} {calls} {first}"))
    }

    /// The answer, which for `W7`, a number of keys and 0 is the bytes for each.
    pub fn ask(&mut self, question: &str) -> f64 {
        self.signal(Signal::CONT);
        writeln!(self.questions, "{question}").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        self.signal(Signal::STOP);
        let (name, number) = answer.trim_end().rsplit_once(' ').expect("an answer");
        assert_eq!(name, question);
        number.parse().unwrap()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It would end with its questions; this is in time for the next that is measured.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
