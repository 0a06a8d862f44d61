//! What is wrong in a configuration is found by `nginx -t`, which says where, what it found
//! and what would be right, and leaves nothing behind.

use std::fs;
use std::process::Command;

use crate::made::root;
use crate::running::run;
use crate::server::Directory;
use crate::site::Site;

fn site() -> Site {
    Site::with_rules("default = fixed-window,2,1000d")
}

/// The test of the configuration must fail, and say all of this in its one line.
fn is_refused(site: &Site, about: &str, says: &[&str]) {
    let ran = site.test();
    assert_eq!(ran.code, Some(1), "{about}: {}", ran.output);
    let mut errors = ran.output.lines().filter(|line| line.contains("[emerg]"));
    let error = errors
        .next()
        .unwrap_or_else(|| panic!("{about}: {}", ran.output));
    assert_eq!(errors.next(), None, "{about}");
    for part in says {
        assert!(error.contains(part), "{about}: no {part:?} in {error}");
    }
}

/// Directives in `http`, each with what is said about it.
fn http(cases: &[(&str, &[&str])]) {
    for (directive, says) in cases {
        let site = site().http(directive);
        is_refused(&site, directive, &[says, &["nginx.conf:"][..]].concat());
    }
}

#[test]
fn what_is_right_is_not_refused() {
    let site = site()
        .http("rl_zone small 32k shop.rules; rl_zone large 1024m shop.rules;")
        .http("rl_limit shop user=$remote_addr api=$uri cost=3; rl_status 400;")
        .server("rl_status 599; rl_headers legacy; rl_log_level info; rl_dry_run on;")
        .server("location / { rl_skip_empty on; rl_on_error allow; rl_status_page shop; }");
    assert!(site.test().succeeded().contains("test is successful"));
}

#[test]
#[rustfmt::skip] // a table
fn a_wrong_zone_is_refused() {
    http(&[
        ("rl_zone shop 1m shop.rules;", &["\"shop\"", "already"]),
        ("rl_zone \"\" 1m shop.rules;", &["rl_zone", "empty name"]),
        ("rl_zone other 16k shop.rules;", &["\"16k\"", "too small", "32k"]),
        ("rl_zone other 0 shop.rules;", &["\"0\"", "32k"]),
        ("rl_zone other big shop.rules;", &["\"big\"", "16m", "shared=/"]),
        ("rl_zone other -1m shop.rules;", &["\"-1m\"", "16m"]),
        ("rl_zone other 99999999999999999999 shop.rules;", &["\"99999999999999999999\""]),
        ("rl_zone other 1m;", &["invalid number of arguments", "\"rl_zone\""]),
        ("rl_zone other 1m shop.rules more;", &["invalid number of arguments"]),
        ("rl_zone other shared=nothing shop.rules;", &["nothing", "/"]),
        ("rl_zone other shared=/a/b shop.rules;", &["/a/b"]),
        ("rl_zone other shared= shop.rules;", &["\"shared=\"", "shared=/"]),
    ]);
}

#[test]
#[rustfmt::skip] // a table
fn a_wrong_limit_is_refused() {
    http(&[
        ("rl_limit nowhere user=a api=b;", &["\"nowhere\"", "rl_zone"]),
        ("rl_limit \"\" user=a api=b;", &["\"\"", "rl_zone"]),
        ("rl_limit shop api=b cost=2;", &["user="]),
        ("rl_limit shop user=a cost=2;", &["api="]),
        ("rl_limit shop user=a api=b other=c;", &["\"other=c\"", "cost="]),
        ("rl_limit shop a b;", &["\"a\"", "user="]),
        ("rl_limit shop user=a api=b user=c;", &["user=", "duplicate"]),
        ("rl_limit shop user=a api=b api=c;", &["api=", "duplicate"]),
        ("rl_limit shop user=a cost=1 cost=1;", &["cost=", "duplicate"]),
        ("rl_limit shop user=a api=b cost=0;", &["\"0\"", "from 1"]),
        ("rl_limit shop user=a api=b cost=abc;", &["\"abc\"", "from 1"]),
        ("rl_limit shop user=a api=b cost=;", &["cost", "from 1"]),
        ("rl_limit shop user=a api=b cost=-1;", &["\"-1\"", "from 1"]),
        ("rl_limit shop user=a api=b cost=1.5;", &["\"1.5\"", "from 1"]),
        ("rl_limit shop user=a;", &["invalid number of arguments"]),
    ]);
}

/// nginx looks for variables when it has read all, and so knows no line.
#[test]
fn an_unknown_variable_is_refused() {
    for limit in [
        "user=$unknown api=b",
        "user=a api=$unknown",
        "user=a api=b cost=$unknown",
    ] {
        let site = site().http(&format!("rl_limit shop {limit};"));
        is_refused(&site, limit, &["unknown \"unknown\" variable"]);
    }
}

#[test]
#[rustfmt::skip] // a table
fn a_wrong_setting_is_refused() {
    http(&[
        ("rl_status 200;", &["400", "599"]),
        ("rl_status 399;", &["400", "599"]),
        ("rl_status 600;", &["400", "599"]),
        ("rl_status none;", &["\"rl_status\"", "invalid number"]),
        ("rl_log_level debug;", &["\"debug\""]),
        ("rl_headers yes;", &["\"yes\""]),
        ("rl_dry_run yes;", &["\"yes\"", "\"on\" or \"off\""]),
        ("rl_skip_empty 1;", &["\"1\"", "\"on\" or \"off\""]),
        ("rl_on_error pass;", &["\"pass\""]),
        ("rl_status 429; rl_status 503;", &["rl_status", "duplicate"]),
        ("rl_headers;", &["invalid number of arguments"]),
        ("rl_status_page shop;", &["\"rl_status_page\" directive is not allowed here"]),
    ]);
}

#[test]
fn a_directive_in_the_wrong_place_is_refused() {
    for directive in ["rl_zone other 1m shop.rules;", "rl_status_page shop;"] {
        let name = directive.split(' ').next().unwrap();
        let said = format!("\"{name}\" directive is not allowed here");
        is_refused(&site().server(directive), directive, &[&said]);
    }
    let main = site().main("rl_status 429;");
    is_refused(
        &main,
        "main",
        &["\"rl_status\" directive is not allowed here"],
    );
}

#[test]
fn a_status_page_of_a_zone_that_is_nowhere_is_refused() {
    let site = site().server("location /page { rl_status_page nowhere; }");
    is_refused(&site, "page", &["\"nowhere\"", "rl_zone", "nginx.conf:"]);
}

#[test]
fn a_zone_of_another_module_is_refused() {
    for zone in [
        "limit_req_zone $uri zone=other:1m rate=1r/s;",
        "limit_conn_zone $uri zone=other:1m;",
    ] {
        let site = site().http(zone).http("rl_limit other user=a api=b;");
        is_refused(&site, zone, &["\"other\"", "nginx.conf:"]);
    }
}

#[test]
fn more_than_8_limits_of_one_zone_on_a_location_are_refused() {
    let limits = |count: usize| "rl_limit shop user=a api=b;\n".repeat(count);
    let other = "rl_limit other user=a api=b;";
    let site = site().http("rl_zone other 1m shop.rules;");
    let eight = site
        .clone()
        .server(&format!("location / {{ {}{other} }}", limits(8)));
    eight.test().succeeded();
    let nine = site.server(&format!(
        "location / {{ {}{other}{} }}",
        limits(8),
        limits(1)
    ));
    is_refused(&nine, "nine", &["8", "\"shop\"", "nginx.conf:"]);
}

/// The file of the rules, with the place in it.
#[test]
#[rustfmt::skip] // a table
fn wrong_rules_are_told_with_their_place() {
    for (rules, place, says) in [
        ("default = fixed-window,2", "bad.rules:1:25: ", "window is missing"),
        ("default = deny\n\n  user.a = fixed-windo,2,1h\n", "bad.rules:3:12: ", "fixed-window"),
        ("default = deny\ndefault = deny\n", "bad.rules:2:1: ", "default"),
        ("default = deny\nmemory = none\n", "bad.rules:2:10: ", "none"),
        ("api.a = deny\n", "bad.rules: ", "default"),
        ("", "bad.rules: ", "default"),
        ("default = deny\nshared-mode = 0600\n", "bad.rules: ", "shared"),
    ] {
        let site = site().file("bad.rules", rules).http("rl_zone bad 1m bad.rules;");
        is_refused(&site, rules, &[place, says, "nginx.conf:"]);
    }
}

/// Where the counters are is said in one place.
#[test]
fn a_shared_object_in_the_rules_is_refused() {
    let object = Object::new("both");
    let rules = format!("default = deny\nshared = /{}\n", object.0);
    for memory in ["1m", &format!("shared=/{}", object.0)] {
        let zone = format!("rl_zone bad {memory} bad.rules;");
        let site = site().file("bad.rules", &rules).http(&zone);
        is_refused(&site, memory, &["bad.rules", "shared"]);
        assert!(!object.exists());
    }
}

/// nginx's own scripts would remove what is not theirs.
#[test]
fn the_module_is_not_built_where_a_path_has_blanks() {
    let directory = Directory::new();
    let neighbour = directory.path().join("a");
    fs::create_dir(&neighbour).unwrap();
    let mut build = Command::new(root().join("integrations/nginx/build.sh"));
    build.arg("/").arg(directory.path().join("a path"));
    let ran = run(&mut build, b"");
    assert_eq!(ran.code, Some(1), "{}", ran.output);
    assert!(ran.output.contains("a path with blanks"), "{}", ran.output);
    assert!(neighbour.exists());
}

#[test]
fn rules_that_cannot_be_read_are_refused() {
    let missing = site().http("rl_zone bad 1m missing.rules;");
    is_refused(
        &missing,
        "missing",
        &["missing.rules", "No such file", "nginx.conf:"],
    );
    let directory = site().http("rl_zone bad 1m .;");
    is_refused(&directory, "directory", &["directory", "nginx.conf:"]);
}

/// Neither with rules that are right nor with wrong ones. As nobody else runs on these
/// names, what is there afterwards was made by the test.
#[test]
fn the_test_of_a_configuration_makes_no_shared_object() {
    let object = Object::new("tested");
    let zone = format!("rl_zone apart shared=/{} apart.rules;", object.0);
    let with = |rules: &str| site().http(&zone).file("apart.rules", rules);
    with("default = deny").test().succeeded();
    is_refused(&with("default = none"), "apart", &["apart.rules:1:11: "]);
    assert!(!object.exists());
}

/// A reload says the same, and the old configuration goes on.
#[test]
fn a_reload_with_wrong_rules_says_so_and_changes_nothing() {
    let mut server = site()
        .server("location / { rl_limit shop user=alice api=x; empty_gif; }")
        .start();
    assert_eq!(server.connect().get("/").status, 200);
    server.write("shop.rules", "default = fixed-window,9");
    let error = server.reload().unwrap_err();
    assert!(error.contains("shop.rules:1:25: "), "{error}");
    assert_eq!(server.connect().many("/", 2), [200, 429]);
    assert!(server.quit());
}

/// A shared object that nobody else makes, and that goes in any case.
struct Object(String);

impl Object {
    fn new(test: &str) -> Self {
        Self(format!("librl-nginx-{test}-{}", std::process::id()))
    }

    fn exists(&self) -> bool {
        let mut objects = fs::read_dir("/dev/shm").unwrap().flatten();
        objects.any(|other| other.file_name() == *self.0)
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        let _ = fs::remove_file(format!("/dev/shm/{}", self.0));
    }
}
