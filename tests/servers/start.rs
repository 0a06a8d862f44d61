//! What the README shows, and what is said where a server cannot start.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;

use crate::made::{output, root};
use crate::running::{own_directory, run};
use crate::server::{SERVERS, Server, TWO, binary, is_about};

/// The console block of the README, but for the port.
#[test]
fn the_readme_shows_what_happens() {
    let readme = fs::read_to_string(root().join("examples/servers/README.md")).unwrap();
    let (_, console) = readme.split_once("```console\n").unwrap();
    let (console, _) = console.split_once("```\n").unwrap();
    let rules = fs::read_to_string(root().join("examples/servers/limits.conf")).unwrap();
    let server = Server::start("epoll", &rules);
    let mut commands = 0;
    for step in console.split("$ ").filter(|step| step.starts_with("curl ")) {
        let (command, expected) = step.split_once('\n').unwrap();
        let here = command.replace("127.0.0.1:8080", &format!("127.0.0.1:{}", server.port));
        let printed = output(Command::new("sh").args(["-ec", &here])).replace('\r', "");
        assert!(alike(&printed, expected), "{command}\n{printed}");
        commands += 1;
    }
    assert_eq!(commands, 3);
    server.ends_well();
}

#[test]
fn what_is_wrong_with_the_start_is_said() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let rules = own_directory().join("rules.conf");
    fs::write(&rules, TWO).unwrap();
    let wrong = own_directory().join("wrong.conf");
    fs::write(&wrong, "api./a = deny\n").unwrap();
    for name in SERVERS {
        let ran = run(&mut Command::new(binary(name)), b"");
        assert!(ran.output.contains(&format!("usage: {name} PORT RULES")));
        assert_eq!(ran.code, Some(1));
        for (port, rules, reason) in [
            ("0", &wrong, "default"),
            ("0", &rules.join("none"), "rules.conf/none"),
            (&port, &rules, "ddress already in use"),
        ] {
            let ran = run(Command::new(binary(name)).arg(port).arg(rules), b"");
            assert_eq!(ran.code, Some(1), "{name}: {}", ran.output);
            assert!(ran.output.contains(reason), "{name}: {}", ran.output);
        }
    }
}

/// Equal, but for seconds that have passed.
fn alike(printed: &str, expected: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let parts = text.split_inclusive(['\n', ' ', ';', '=']);
        parts.map(|word| word.trim().to_owned()).collect()
    };
    let same = |(printed, expected): (&String, &String)| match expected.parse() {
        Ok(seconds @ 1000..) => is_about(printed, seconds),
        _ => printed == expected,
    };
    let (printed, expected) = (words(printed), words(expected));
    printed.len() == expected.len() && printed.iter().zip(&expected).all(same)
}
