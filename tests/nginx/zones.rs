//! Reloads that change more than rules: the size of a zone, its name, whether there is one at
//! all, or the module. The master frees what the old configuration had, and must outlive it.

use std::fs;

use crate::server::Server;
use crate::shared::Object;
use crate::site::Site;

const RULES: &str = "default = fixed-window,9,1000d";
const LIMIT: &str = "location / { rl_limit shop user=alice api=x; empty_gif; }";

/// With a zone `shop` like this.
fn site(memory: &str) -> Site {
    let zone = format!("rl_zone shop {memory} shop.rules;");
    Site::new()
        .file("shop.rules", RULES)
        .http(&zone)
        .server(LIMIT)
}

fn change(server: &mut Server, site: Site) {
    server.configure(site);
    server.reload().unwrap();
}

/// How many requests of ten pass.
#[track_caller]
fn passes(server: &Server, passes: usize) {
    let expected = [vec![200; passes], vec![429; 10 - passes]].concat();
    assert_eq!(server.connect().many("/", 10), expected);
}

/// Nothing went wrong, and it ends well.
fn ends_well(mut server: Server) {
    let log = server.error_log();
    for level in ["[crit]", "[alert]", "[emerg]"] {
        assert!(!log.contains(level), "{log}");
    }
    assert!(server.quit());
}

#[test]
fn a_zone_of_another_size_starts_empty_and_says_so() {
    let mut server = site("1m").start();
    passes(&server, 9);
    for (memory, bytes) in [
        ("2m", 2 << 20),
        ("32k", 32 << 10),
        ("64m", 64 << 20),
        ("1m", 1 << 20),
    ] {
        change(&mut server, site(memory));
        let said = format!("the zone \"shop\" starts empty, in new memory of {bytes} bytes");
        let log = server.error_log();
        let line = log.lines().find(|line| line.contains(&said));
        assert!(line.is_some_and(|line| line.contains("[error]")), "{log}");
        passes(&server, 9);
        server.reload().unwrap();
        passes(&server, 0);
    }
    assert_eq!(server.error_log().matches("starts empty").count(), 4);
    ends_well(server);
}

/// Memory of the new size was there by then, and goes again.
#[test]
fn a_reload_that_fails_after_a_zone_was_made_anew_keeps_the_old() {
    let zones = |first: &str| {
        site(first)
            .file("other.rules", RULES)
            .http("rl_zone other 1m other.rules;")
    };
    let wrong = zones("2m").file("other.rules", format!("{RULES}\nclock = realtime"));
    let mut server = zones("1m").start();
    assert_eq!(server.connect().many("/", 3), [200; 3]);
    server.configure(wrong);
    let before = memory(&server, || drop(server.reload().unwrap_err()), 5);
    let after = memory(&server, || drop(server.reload().unwrap_err()), 20);
    assert_eq!(before, after);
    change(&mut server, zones("1m"));
    passes(&server, 6);
    assert!(server.quit());
}

#[test]
fn a_zone_of_another_name_starts_empty() {
    let other = Site::new()
        .file("shop.rules", RULES)
        .http("rl_zone store 1m shop.rules;")
        .server(&LIMIT.replace("shop", "store"));
    let mut server = site("1m").start();
    passes(&server, 9);
    change(&mut server, other);
    passes(&server, 9);
    change(&mut server, site("1m"));
    passes(&server, 9);
    ends_well(server);
}

/// Those who answer it are old workers, whose memory the master may no longer have.
#[test]
fn requests_that_began_before_a_reload_go_by_the_zone_of_then() {
    for (after, status) in [
        (site("1m").file("shop.rules", "default = deny"), 429),
        (site("2m"), 200),
        (Site::plain().server("location / { empty_gif; }"), 200),
    ] {
        let mut server = site("1m").start();
        let mut begun = [server.connect(), server.connect()];
        assert_eq!(begun[0].many("/", 7), [200; 7]);
        assert_eq!(begun[1].many("/", 1), [200]);
        for connection in &mut begun {
            connection.send(b"GET / HTTP/1.1\r\nHost: ");
        }
        change(&mut server, after);
        let statuses = begun.each_mut().map(|connection| {
            connection.send(b"test\r\n\r\n");
            connection.answer().status
        });
        assert_eq!(statuses, [200, 429]);
        drop(begun); // for this an old worker waits
        assert_eq!(server.connect().get("/").status, status);
        ends_well(server);
    }
}

/// The name is what the counters belong to.
#[test]
fn zones_that_change_places_keep_their_counters() {
    let (shop, other) = (
        "rl_zone shop 1m shop.rules;",
        "rl_zone other 1m shop.rules;",
    );
    let with = |zones: [&str; 2]| {
        Site::new()
            .file("shop.rules", RULES)
            .http(&zones.concat())
            .server(LIMIT)
            .server(&LIMIT.replace("shop", "other").replace('/', "/other"))
    };
    let mut server = with([shop, other]).start();
    assert_eq!(server.connect().many("/", 3), [200; 3]);
    assert_eq!(server.connect().many("/other", 5), [200; 5]);
    change(&mut server, with([other, shop]));
    passes(&server, 6);
    assert_eq!(
        server.connect().many("/other", 5),
        [200, 200, 200, 200, 429]
    );
    ends_well(server);
}

#[test]
fn a_zone_can_go_and_come_back() {
    let without = Site::new().server("location / { empty_gif; }");
    goes_and_comes_back(&without);
}

#[test]
fn the_module_can_go_and_come_back() {
    let without = Site::plain().server("location / { empty_gif; }");
    goes_and_comes_back(&without);
}

fn goes_and_comes_back(without: &Site) {
    let mut server = site("1m").start();
    for _ in 0..3 {
        passes(&server, 9);
        change(&mut server, without.clone());
        passes(&server, 10);
        change(&mut server, site("1m"));
    }
    passes(&server, 9);
    ends_well(server);
}

/// What stands in an object stays there.
#[test]
fn a_zone_can_become_shared_and_its_own_again() {
    let object = Object::new("change");
    let mut server = site("1m").start();
    passes(&server, 9);
    change(&mut server, site(&object.memory()));
    assert_eq!(server.connect().many("/", 4), [200; 4]);
    for memory in ["1m", "32k"] {
        change(&mut server, site(memory));
        passes(&server, 9);
        change(&mut server, site(&object.memory()));
        assert_eq!(server.connect().many("/", 2), [200; 2]);
    }
    passes(&server, 1);
    ends_well(server);
}

/// The error log does not say otherwise.
#[test]
fn a_zone_that_becomes_shared_has_what_the_object_has() {
    let object = Object::new("become");
    let mut server = site(&object.memory()).start();
    assert_eq!(server.connect().many("/", 4), [200; 4]);
    assert!(server.quit());
    let mut server = site("1m").start();
    change(&mut server, site(&object.memory()));
    passes(&server, 5);
    let log = server.error_log();
    assert!(!log.contains("starts empty"), "{log}");
    ends_well(server);
}

#[test]
fn many_reloads_do_not_take_more_memory() {
    let object = Object::new("reloads");
    for memory_of_zone in ["1m", &object.memory()] {
        let server = site(memory_of_zone).workers(2).start();
        let before = memory(&server, || server.reload().unwrap(), 5);
        let after = memory(&server, || server.reload().unwrap(), 20);
        assert_eq!(before, after, "{memory_of_zone}");
        passes(&server, 9);
        ends_well(server);
    }
}

/// What the master has mapped after something has happened so often: how many parts, and
/// KiB.
fn memory(server: &Server, happens: impl Fn(), times: usize) -> (usize, u64) {
    (0..times).for_each(|_| happens());
    let read = |name| fs::read_to_string(format!("/proc/{}/{name}", server.master())).unwrap();
    let status = read("status");
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:"));
    let size = size.unwrap().trim().trim_end_matches(" kB");
    (read("maps").lines().count(), size.parse().unwrap())
}
