//! The files that a run leaves in build/bench, for `benches/report`.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{BufWriter, Write};

/// Where they are, and what make has built for the run.
pub const PLACE: &str = "build/bench";

/// A file of comma-separated values.
pub struct Record(BufWriter<File>);

impl Record {
    /// Begins the file anew, with the names of its columns.
    pub fn new(file: &str, columns: &str) -> Record {
        fs::create_dir_all(PLACE).unwrap();
        let file = File::create(format!("{PLACE}/{file}")).unwrap();
        let mut record = Record(BufWriter::new(file));
        writeln!(record.0, "{columns}").unwrap();
        record
    }

    pub fn row(&mut self, values: &[&dyn Display]) {
        let values: Vec<String> = values.iter().map(|value| format!("\"{value}\"")).collect();
        writeln!(self.0, "{}", values.join(",")).unwrap();
    }
}

/// Says on what machine a run is made, in one line: the processor as it names itself,
/// and what decides about the clock and the pages of memory.
pub fn machine() {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let cpus = read("/proc/cpuinfo");
    let model = cpus.lines().find(|line| line.starts_with("model name"));
    let model = model.and_then(|line| line.split_once(": "));
    let processors = cpus.lines().filter(|line| line.starts_with("processor"));
    let pages = read("/sys/kernel/mm/transparent_hugepage/enabled");
    let clock = read("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    Record::new("machine.csv", "processor,processors,clocksource,huge pages").row(&[
        &model.map_or("unknown", |(_, model)| model),
        &processors.count(),
        &clock.trim(),
        &pages.split(['[', ']']).nth(1).unwrap_or("unknown"),
    ]);
}
