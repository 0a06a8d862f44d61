//! New rules for servers that run.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use crate::client::Connection;
use crate::processes::wait_for;
use crate::server::{HUNDRED, SERVERS, Server, TWO};

/// The counter goes on under the new limit: of 5, the 2 that the old one gave are gone.
#[test]
fn a_hangup_brings_new_rules_and_keeps_the_counts() {
    for name in SERVERS {
        let server = Server::start(name, TWO);
        let mut client = server.connect();
        assert_eq!(statuses(&mut client, 3), [200, 200, 429], "{name}");
        server.reload("default = fixed-window,5,1000d\n");
        let passes = wait_for(|| Some(client.get("/a")).filter(|answer| answer.status == 200));
        let left = passes.as_ref().and_then(|answer| answer.field("RateLimit"));
        assert!(left.unwrap().contains(";r=2;"), "{name}: {left:?}");
        assert_eq!(statuses(&mut client, 3), [200, 200, 429], "{name}");
        server.ends_well();
    }
}

#[test]
fn a_hangup_with_wrong_rules_changes_nothing() {
    for name in SERVERS {
        let server = Server::start(name, TWO);
        let mut client = server.connect();
        assert_eq!(statuses(&mut client, 1), [200], "{name}");
        server.reload("# two lines\ndefault = token-bucket,5\n");
        wait_for(|| server.errors().contains("rules.conf:2: ").then_some(()))
            .unwrap_or_else(|| panic!("{name} does not tell: {}", server.errors()));
        assert_eq!(statuses(&mut client, 2), [200, 429], "{name}");
        server.ends_well();
    }
}

#[test]
fn rules_may_change_under_load() {
    for name in SERVERS {
        let server = Server::start(name, HUNDRED);
        let counts = thread::scope(|scope| {
            let crowd = scope.spawn(|| server.crowd("/a", 8, 50));
            while !crowd.is_finished() {
                server.reload(HUNDRED);
                thread::sleep(Duration::from_millis(1));
            }
            crowd.join().unwrap()
        });
        assert_eq!(counts, BTreeMap::from([(200, 100), (429, 300)]), "{name}");
        server.ends_well();
    }
}

fn statuses(client: &mut Connection, requests: usize) -> Vec<u16> {
    (0..requests).map(|_| client.get("/a").status).collect()
}
