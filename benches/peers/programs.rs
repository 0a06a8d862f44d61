//! Limiters in other languages: programs that read the name of a figure on a line, and
//! answer with a line of the name and the nanoseconds, `W1 47.1`.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::work::Users;

/// Where make has put them, and where the names go that they ask for.
const BUILT: &str = "build/peers";

pub struct Program {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// Writes the names to where programs look for them.
pub fn write_names(users: &Users) {
    let write = |file, names: &[_]| fs::write(format!("{BUILT}/{file}"), names.as_flattened());
    write("keys", &users.keys).expect("make bench-peers makes the directory");
    write("zipf", &users.zipf).unwrap();
}

impl Program {
    pub fn java() -> Program {
        Program::start("java", &["-Xmx4g", "-cp", BUILT, "Buckets", BUILT])
    }

    pub fn go() -> Program {
        Program::start(&format!("{BUILT}/buckets"), &[BUILT])
    }

    fn start(program: &str, arguments: &[&str]) -> Program {
        let mut command = Command::new(program);
        command.args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let started = command.spawn();
        let mut child = started.unwrap_or_else(|error| panic!("{program}: {error}"));
        Program {
            questions: child.stdin.take().unwrap(),
            answers: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    /// The nanoseconds of a figure, or for `W7` and a number of keys the bytes for each.
    pub fn ask(&mut self, question: &str) -> f64 {
        writeln!(self.questions, "{question}").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        let (name, number) = answer.trim_end().rsplit_once(' ').expect("an answer");
        assert_eq!(name, question);
        number.parse().unwrap()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It would end with its questions; this is in time for the next that is measured.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
