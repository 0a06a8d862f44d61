//! The examples print what they should: the walkthrough to the byte, and the log
//! reader whatever it is given. The server gives what its rule says, from all processes.

#![allow(clippy::unwrap_used, clippy::panic)]

mod c_build;
mod made;
mod running;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use c_build::{program, under_valgrind};
use made::{output, root};
use running::{own_directory, run};

#[test]
fn the_walkthrough_prints_what_was_agreed() {
    let printed = run(
        Command::new(program("examples/walkthrough.c")).arg(example("walkthrough.conf")),
        b"",
    );
    assert_eq!(printed.succeeded(), text("walkthrough.expected"));
}

#[test]
fn the_walkthrough_is_clean_under_valgrind() {
    let program = program("examples/walkthrough.c");
    let printed = run(
        under_valgrind(&program).arg(example("walkthrough.conf")),
        b"",
    );
    assert_eq!(printed.succeeded(), text("walkthrough.expected"));
}

/// The numbers were found to be right by a second program that shares nothing with
/// this one: exact fractions, one rule after the other.
#[test]
fn the_log_gives_what_was_counted() {
    let printed = run(
        Command::new(program("examples/weblog.c"))
            .arg(example("weblog.conf"))
            .arg(example("access.log")),
        b"",
    );
    assert_eq!(printed.succeeded(), text("weblog.expected"));
}

#[test]
fn a_log_may_come_on_standard_input() {
    let log = fs::read(example("access.log")).unwrap();
    for argument in [None, Some("-")] {
        let printed = run(
            Command::new(program("examples/weblog.c"))
                .arg(example("weblog.conf"))
                .args(argument),
            &log,
        );
        assert_eq!(printed.succeeded(), text("weblog.expected"));
    }
}

#[test]
fn the_log_is_what_its_script_makes() {
    let made = output(Command::new("python3").arg(example("make_log.py")));
    assert!(
        made == text("access.log"),
        "run: python3 examples/make_log.py > examples/access.log"
    );
}

#[test]
fn the_log_reader_is_clean_under_valgrind() {
    let log = fs::read(example("access.log")).unwrap();
    let short = log.get(..200_000).unwrap();
    let program = program("examples/weblog.c");
    run(under_valgrind(&program).arg(example("weblog.conf")), short).succeeded();
}

#[test]
fn rules_that_are_wrong_or_missing_end_it() {
    for (rules, expected) in [
        ("default = token-bucket,5\n", ":1:"),
        ("api./a = deny\n", "default"),
    ] {
        let ran = run(&mut weblog(rules), b"");
        assert_eq!(ran.code, Some(1), "{}", ran.output);
        assert!(ran.output.contains(expected), "{}", ran.output);
    }
    let ran = run(
        Command::new(program("examples/weblog.c")).arg("no/such/rules"),
        b"",
    );
    assert_eq!(ran.code, Some(1), "{}", ran.output);
    assert!(ran.output.contains("no/such/rules"), "{}", ran.output);
}

/// Requests and unreadable lines of some logs, no line of which is a matter for it to end.
#[test]
fn whatever_is_no_log_is_skipped() {
    let line = line("192.0.2.1", "10/Oct/2026:13:55:36 +0200", "GET / HTTP/1.1");
    let whole = line.trim_end();
    let long = "x".repeat(1 << 20);
    let logs = [
        (String::new(), 0, 0),
        ("\n\n\r\n".to_owned(), 0, 3),
        (whole.to_owned(), 1, 0),
        (format!("{whole}\r\n{whole}\r\n"), 2, 0),
        (long.clone(), 0, 1),
        (format!("{line}{long}\n{line}{long}"), 2, 2),
        (format!("{line}\0{line}\0\n{line}"), 3, 1),
        (format!("{whole}{}", "y".repeat(16384 - whole.len())), 1, 0),
        (format!("{whole}{}", "y".repeat(16385 - whole.len())), 0, 1),
    ];
    for (log, requests, unreadable) in logs {
        let printed = run(&mut weblog("default = unlimited\n"), log.as_bytes()).succeeded();
        assert_eq!(count(&printed, "requests"), requests, "{printed}");
        assert_eq!(count(&printed, "unreadable"), unreadable, "{printed}");
    }
}

#[test]
fn random_bytes_are_skipped() {
    let mut state = 1_u64;
    let mut byte = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    };
    let noise: Vec<u8> = (0..1 << 20).map(|_| byte()).collect();
    let lines = noise.split(|&byte| byte == b'\n').count() as u64;
    let printed = run(&mut weblog("default = unlimited\n"), &noise).succeeded();
    assert_eq!(count(&printed, "requests"), 0);
    assert_eq!(count(&printed, "unreadable"), lines);
}

/// A line cut anywhere is skipped, or (behind the status) read; it never ends the program.
#[test]
fn a_line_may_be_cut_anywhere() {
    let line = line("192.0.2.1", "10/Oct/2026:13:55:36 +0200", "GET / HTTP/1.1");
    let status = line.find(" 200 ").unwrap() + " 200 ".len();
    let log: String = (0..line.len())
        .map(|end| line[..end].to_owned() + "\n")
        .collect();
    let printed = run(&mut weblog("default = unlimited\n"), log.as_bytes()).succeeded();
    assert_eq!(count(&printed, "unreadable"), status as u64);
    assert_eq!(count(&printed, "requests"), (line.len() - status) as u64);
}

#[test]
fn a_time_is_read_to_the_second_and_zone() {
    let good = [
        "10/Oct/2026:13:55:36 +0200",
        "29/Feb/2028:00:00:00 +0000",
        "31/Dec/2026:23:59:60 -1130",
        "01/Jan/1970:00:00:00 +0000",
        "31/Dec/2200:23:59:59 +0000",
    ];
    let wrong = [
        "29/Feb/2027:00:00:00 +0000",
        "29/Feb/2100:00:00:00 +0000",
        "31/Apr/2026:00:00:00 +0000",
        "00/Oct/2026:00:00:00 +0000",
        "10/oct/2026:00:00:00 +0000",
        "10/Okt/2026:00:00:00 +0000",
        "10/Oct/2026:24:00:00 +0000",
        "10/Oct/2026:00:60:00 +0000",
        "10/Oct/2026:00:00:61 +0000",
        "10/Oct/2026:00:00:00 +0060",
        "10/Oct/2026:00:00:00 0000 ",
        "10/Oct/2026 00:00:00 +0000",
        " 1/Oct/2026:00:00:00 +0000",
        "31/Dec/1969:23:59:59 +0000",
        "01/Jan/1970:00:59:59 +0100",
        "01/Jan/2201:00:00:00 +0000",
    ];
    for (times, requests) in [(&good[..], 1), (&wrong[..], 0)] {
        for time in times {
            let log = line("192.0.2.1", time, "GET / HTTP/1.1");
            let printed = run(&mut weblog("default = unlimited\n"), log.as_bytes()).succeeded();
            assert_eq!(count(&printed, "requests"), requests, "{time}");
        }
    }
}

/// One request a minute: of two times exactly 60 s apart the second passes, and of two
/// 59 s apart it does not, whatever zone, month or year lies between them.
#[test]
fn the_clock_is_the_time_of_the_line() {
    let pairs = [
        ("10/Oct/2026:13:00:00 +0200", "10/Oct/2026:11:01:00 +0000"),
        ("10/Oct/2026:13:00:00 +0200", "10/Oct/2026:05:31:00 -0530"),
        ("28/Feb/2028:23:59:30 +0000", "29/Feb/2028:00:00:30 +0000"),
        ("28/Feb/2027:23:59:30 +0000", "01/Mar/2027:00:00:30 +0000"),
        ("31/Dec/2026:23:59:00 -0100", "01/Jan/2027:02:00:00 +0100"),
    ];
    let rules = "default = token-bucket,1,60\n";
    for (first, second) in pairs {
        let refused = |second: &str| {
            let log = [first, second].map(|time| line("192.0.2.1", time, "GET / HTTP/1.1"));
            let printed = run(&mut weblog(rules), log.concat().as_bytes()).succeeded();
            count(&printed, "refused")
        };
        assert_eq!(refused(second), 0, "{first}, {second}");
        let minute: u32 = second[15..17].parse().unwrap();
        let second_before = match &second[18..20] {
            "30" => format!("{}:29{}", &second[..17], &second[20..]),
            _ if minute > 0 => format!("{}{:02}:59{}", &second[..15], minute - 1, &second[20..]),
            _ => format!("{}01:59:59{}", &second[..12], &second[20..]),
        };
        assert_eq!(refused(&second_before), 1, "{first}, {second_before}");
    }
}

#[test]
fn a_late_line_does_not_turn_the_clock_back_but_an_older_log_does() {
    let at = |time| {
        line(
            "192.0.2.1",
            &format!("10/Oct/2026:{time} +0000"),
            "GET / HTTP/1.1",
        )
    };
    let rules = "default = token-bucket,1,60\n";

    let late = at("13:00:30") + &at("12:59:00") + &at("13:01:30");
    let printed = run(&mut weblog(rules), late.as_bytes()).succeeded();
    assert_eq!(count(&printed, "late"), 1);
    assert_eq!(count(&printed, "refused"), 1);

    let older = at("13:00:00") + &at("11:00:00") + &at("11:01:00") + &at("11:02:00");
    let printed = run(&mut weblog(rules), older.as_bytes()).succeeded();
    assert_eq!(count(&printed, "late"), 0);
    assert_eq!(count(&printed, "steps back"), 1);
    assert!(count(&printed, "refused") <= 1, "{printed}"); // locked out for a window at most
}

/// Which path a request line is counted as.
#[test]
fn the_path_is_what_stands_before_the_query() {
    let requests = [
        ("GET /a?b=c HTTP/1.1", "/a"),
        ("GET /a", "/a"),
        ("GET /a%20b/?? HTTP/1.1", "/a%20b/"),
        ("OPTIONS * HTTP/1.1", "*"),
        (r#"GET /say\"hi\" HTTP/1.1"#, r#"/say\x5c"hi\x5c""#),
        ("GET /caf\u{e9} HTTP/1.1", r"/caf\xc3\xa9"),
        ("GET /\u{1b}[31m HTTP/1.1", r"/\x1b[31m"),
        ("GET ?x=1 HTTP/1.1", "(empty)"),
        ("-", "-"),
        ("", "-"),
        ("GET", "-"),
        ("GET ", "-"),
        ("GET  HTTP/1.1", "-"),
        (r"\x16\x03\x01 \x02", "-"),
    ];
    for (request, path) in requests {
        let log = line("2001:db8::1", "10/Oct/2026:13:55:36 +0200", request);
        let printed = run(&mut weblog("default = deny\n"), log.as_bytes()).succeeded();
        let expected = format!("most refused APIs\n         1  {path}\n");
        assert!(printed.contains(&expected), "{request}: {printed}");
        assert!(printed.contains("         1  2001:db8::1\n"), "{printed}");
    }
}

/// The name in basic authentication is the client's choice: it can look like a time.
#[test]
fn a_user_name_cannot_forge_the_time() {
    let log = "192.0.2.1 - x [01/Jan/2150:00:00:00 +0000] y [10/Oct/2026:13:55:36 +0000] \
               \"GET /real HTTP/1.1\" 200 5 \"-\" \"-\"\n"
        .to_owned()
        + &line(
            "192.0.2.1",
            "10/Oct/2026:13:55:37 +0000",
            "GET /real HTTP/1.1",
        );
    let printed = run(&mut weblog("default = deny\n"), log.as_bytes()).succeeded();
    assert!(printed.contains("         2  /real\n"), "{printed}");
    assert!(!printed.contains("steps back"), "{printed}");
}

/// More names than the sketch has places for: it says that it estimates, and who stands
/// out is found all the same, with a count that is too high by no more than it says.
#[test]
fn counts_are_called_estimates_when_they_are() {
    let time = "10/Oct/2026:13:55:36 +0200";
    let log: String = (0..20_000)
        .map(|n| match n % 10 {
            0 => line("192.0.2.1", time, "GET / HTTP/1.1"),
            _ => line(&format!("2001:db8::{n:x}"), time, "GET / HTTP/1.1"),
        })
        .collect();
    let printed = run(&mut weblog("default = deny\n"), log.as_bytes()).succeeded();
    assert_eq!(count(&printed, "refused"), 20_000);
    assert!(
        printed.contains("most refused users (estimates:"),
        "{printed}"
    );
    assert!(printed.contains("most refused APIs\n"), "{printed}");
    let first = printed.lines().find(|line| line.ends_with("192.0.2.1"));
    assert_eq!(first, Some("      2000  192.0.2.1"), "{printed}");
}

#[test]
fn four_processes_share_one_limit() {
    let printed = run(&mut prefork(), b"").succeeded();
    let whole = "\n100 of 400 requests passed; the limit is 100\n";
    assert!(printed.ends_with(whole), "{printed}");
}

/// At most the request that it was at is lost, be it charged or not, and the three others
/// go on with what is left. It is hit at another moment each time.
#[test]
fn a_killed_process_takes_nothing_along() {
    for _ in 0..5 {
        let printed = run(prefork().arg("--kill"), b"").succeeded();
        assert_eq!(printed.matches("  killed\n").count(), 1, "{printed}");
    }
}

/// The client of the server with four processes, which starts it, and says with its code
/// whether all was as it should be.
fn prefork() -> Command {
    let mut command = Command::new("python3");
    command
        .arg(example("prefork_client.py"))
        .arg(program("examples/prefork.c"))
        .arg(example("prefork.conf"));
    command
}

fn line(client: &str, time: &str, request: &str) -> String {
    format!("{client} - - [{time}] \"{request}\" 200 512 \"-\" \"-\"\n")
}

/// The log reader, with these rules.
fn weblog(rules: &str) -> Command {
    let path = own_directory().join("rules.conf");
    fs::write(&path, rules).unwrap();
    let mut command = Command::new(program("examples/weblog.c"));
    command.arg(path);
    command
}

/// A number from the top of what the log reader prints.
fn count(printed: &str, what: &str) -> u64 {
    let line = printed.lines().find_map(|line| line.strip_prefix(what));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.unwrap().parse().unwrap()
}

fn example(name: &str) -> PathBuf {
    root().join("examples").join(name)
}

fn text(name: &str) -> String {
    fs::read_to_string(example(name)).unwrap()
}
