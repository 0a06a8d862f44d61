//! The statistics as text for Prometheus to scrape (its text format 0.0.4).
//!
//! Names begin with `librl_` and are what `promtool check metrics` asks for: those of
//! counters end in `_total`, a base unit stands at the end, and no kind stands within.

use std::fmt::{Display, Write};

use super::{Service, Stats};

impl Service {
    /// What [`stats`](Service::stats) says, as [`Stats::prometheus`] writes it.
    pub fn prometheus(&self) -> String {
        self.stats().prometheus()
    }
}

impl Stats {
    /// The text format of Prometheus: each line with a newline at its end.
    pub fn prometheus(&self) -> String {
        let mut text = Text(String::with_capacity(4096));
        text.counters(
            "librl_requests_total",
            "Requests answered.",
            ["decision=\"allowed\"", "decision=\"denied\""],
            [self.allowed, self.denied],
        );
        text.counter(
            "librl_errors_total",
            "Calls that ended in an error.",
            self.errors,
        );
        text.counters(
            "librl_evictions_total",
            "Counters whose place was taken, when as good as new (idle) or not (live).",
            ["state=\"idle\"", "state=\"live\""],
            [self.evicted_idle, self.evicted_live],
        );
        text.counter(
            "librl_full_table_requests_total",
            "Requests that found the table full of live counters.",
            self.refused_full,
        );
        text.counter(
            "librl_recovered_locks_total",
            "Locks taken over from a process that died.",
            self.recovered_locks,
        );
        text.gauge("librl_keys", "Live counters.", self.keys);
        text.gauge(
            "librl_keys_max",
            "Counters that the table has room for.",
            self.capacity,
        );
        text.gauge(
            "librl_memory_max_bytes",
            "Memory that the counters may take.",
            self.memory_bytes,
        );
        text.gauge(
            "librl_log_entries",
            "Entries in the logs of sliding windows.",
            self.log_entries,
        );
        text.gauge(
            "librl_log_entries_max",
            "Entries that those logs have room for.",
            self.log_capacity,
        );
        text.0
    }
}

/// The text so far. Names, labels and help are constants that need no escapes.
struct Text(String);

impl Text {
    fn counters<const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        labels: [&str; N],
        values: [u64; N],
    ) {
        self.head(name, "counter", help);
        for (label, value) in labels.iter().zip(values) {
            self.line(format_args!("{name}{{{label}}} {value}"));
        }
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.head(name, "counter", help);
        self.line(format_args!("{name} {value}"));
    }

    fn gauge(&mut self, name: &str, help: &str, value: u64) {
        self.head(name, "gauge", help);
        self.line(format_args!("{name} {value}"));
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        self.line(format_args!("# HELP {name} {help}"));
        self.line(format_args!("# TYPE {name} {kind}"));
    }

    fn line(&mut self, line: impl Display) {
        // Writing to a string does not fail.
        let _ = writeln!(self.0, "{line}");
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const STATS: Stats = Stats {
        allowed: 1,
        denied: 2,
        errors: 3,
        keys: 4,
        capacity: 5,
        evicted_idle: 6,
        evicted_live: 7,
        refused_full: 8,
        recovered_locks: 9,
        memory_bytes: 10,
        log_entries: 11,
        log_capacity: 12,
    };

    /// Reads the format as its description says, and not as it is written above: the
    /// values by name and labels, or what is wrong in which line.
    fn read(text: &str) -> Result<BTreeMap<String, u64>, String> {
        let mut samples = BTreeMap::new();
        let mut kinds = BTreeMap::new();
        let mut helped = "";
        let mut family = "";
        let lines = text.strip_suffix('\n').ok_or("no newline at the end")?;
        for line in lines.split('\n') {
            let wrong = |what: &str| Err(format!("{what}: {line}"));
            if let Some(help) = line.strip_prefix("# HELP ") {
                let Some((name, help)) = help.split_once(' ') else {
                    return wrong("no help");
                };
                if help.is_empty() || help.contains('\\') {
                    return wrong("help that is empty or needs escapes");
                }
                helped = name;
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                let Some((name, kind @ ("counter" | "gauge"))) = kind.split_once(' ') else {
                    return wrong("unknown type");
                };
                if helped != name || kinds.insert(name, kind).is_some() {
                    return wrong("a type without help, or given again");
                }
                family = name;
            } else {
                let Some((series, value)) = line.rsplit_once(' ') else {
                    return wrong("no value");
                };
                let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
                if name != family || !is_name(name) {
                    return wrong("a sample outside its family, or no name");
                }
                if labels.strip_suffix('}').is_none_or(|l| !are_labels(l)) {
                    return wrong("no labels");
                }
                let Ok(value) = value.parse() else {
                    return wrong("no number");
                };
                if samples.insert(series.to_owned(), value).is_some() {
                    return wrong("a sample given again");
                }
            }
        }
        kinds.iter().try_for_each(|(name, kind)| lint(name, kind))?;
        Ok(samples)
    }

    fn is_name(name: &str) -> bool {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
        !name.starts_with(|c: char| c.is_ascii_digit())
            && !name.is_empty()
            && name.chars().all(fits)
    }

    fn are_labels(labels: &str) -> bool {
        let is_label = |label: &str| {
            let (name, value) = label.split_once('=').unwrap_or_default();
            let value = value.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
            is_name(name) && value.is_some_and(|v| !v.is_empty() && !v.contains(['"', '\\']))
        };
        labels.is_empty() || labels.split(',').all(is_label)
    }

    /// What promtool holds against a name.
    fn lint(name: &str, kind: &str) -> Result<(), String> {
        let words: Vec<_> = name.split('_').collect();
        let last = words.last().copied().unwrap_or_default();
        let has = |any: &[&str]| words.iter().any(|word| any.contains(word));
        if !name.starts_with("librl_") || name.contains(char::is_uppercase) {
            return Err(format!("{name}: not of this library, or not in snake case"));
        }
        if (kind == "counter") != (last == "total") {
            return Err(format!("{name}: a {kind} with this end"));
        }
        if ["count", "sum", "bucket", "info"].contains(&last) || has(&["counter", "gauge"]) {
            return Err(format!("{name}: a kind, or part of another, in its name"));
        }
        if has(&[
            "ms",
            "milliseconds",
            "ns",
            "minutes",
            "kilobytes",
            "megabytes",
        ]) {
            return Err(format!("{name}: not a base unit"));
        }
        if has(&["bytes", "seconds"]) && !["bytes", "seconds", "total"].contains(&last) {
            return Err(format!("{name}: the unit is not at the end"));
        }
        Ok(())
    }

    #[test]
    fn it_is_valid_and_says_everything() {
        let samples = read(&STATS.prometheus()).unwrap();
        let samples: Vec<_> = samples.iter().map(|(s, &v)| (s.as_str(), v)).collect();
        assert_eq!(
            samples,
            [
                ("librl_errors_total", 3),
                ("librl_evictions_total{state=\"idle\"}", 6),
                ("librl_evictions_total{state=\"live\"}", 7),
                ("librl_full_table_requests_total", 8),
                ("librl_keys", 4),
                ("librl_keys_max", 5),
                ("librl_log_entries", 11),
                ("librl_log_entries_max", 12),
                ("librl_memory_max_bytes", 10),
                ("librl_recovered_locks_total", 9),
                ("librl_requests_total{decision=\"allowed\"}", 1),
                ("librl_requests_total{decision=\"denied\"}", 2),
            ]
        );
    }

    /// What rl.h promises of the buffer that is always enough.
    #[test]
    fn the_longest_text_is_shorter_than_4096() {
        let most = Stats {
            allowed: u64::MAX,
            denied: u64::MAX,
            errors: u64::MAX,
            keys: u64::MAX,
            capacity: u64::MAX,
            evicted_idle: u64::MAX,
            evicted_live: u64::MAX,
            refused_full: u64::MAX,
            recovered_locks: u64::MAX,
            memory_bytes: u64::MAX,
            log_entries: u64::MAX,
            log_capacity: u64::MAX,
        };
        let text = most.prometheus();
        assert!(text.len() < 4096);
        assert!(read(&text).is_ok());
    }

    /// The reader above notices.
    #[test]
    fn a_text_that_is_wrong_is_not_valid() {
        const HEAD: &str = "# HELP librl_a_total A.\n# TYPE librl_a_total counter\n";
        assert!(read(&format!("{HEAD}librl_a_total 1\n")).is_ok());
        for wrong in [
            format!("{HEAD}librl_a_total 1"),
            format!("{HEAD}librl_a_total 1\n\n"),
            format!("{HEAD}librl_a_total -1\n"),
            format!("{HEAD}librl_b_total 1\n"),
            format!("{HEAD}librl_a_total{{a=\"b}} 1\n"),
            format!("{HEAD}librl_a_total{{a=\"b\"c\"}} 1\n"),
            format!("{HEAD}librl_a_total 1\nlibrl_a_total 2\n"),
            format!("{HEAD}{HEAD}librl_a_total 1\n"),
            "librl_a_total 1\n".to_owned(),
            "# TYPE librl_a gauge\nlibrl_a 1\n".to_owned(),
            "# HELP librl_a A.\n# TYPE librl_a counter\nlibrl_a 1\n".to_owned(),
            "# HELP librl_a_total A.\n# TYPE librl_a_total gauge\nlibrl_a_total 1\n".to_owned(),
            "# HELP librl_bytes_max A.\n# TYPE librl_bytes_max gauge\nlibrl_bytes_max 1\n"
                .to_owned(),
            "# HELP librl_a_ms A.\n# TYPE librl_a_ms gauge\nlibrl_a_ms 1\n".to_owned(),
        ] {
            assert!(read(&wrong).is_err(), "{wrong}");
        }
    }
}
