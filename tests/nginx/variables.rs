//! The variables, in each state that a request can be in.

use crate::client::Connection;
use crate::server::Server;
use crate::site::Site;

const RULES: &str = "default = token-bucket,2,1h\n\
                     api./burst = token-bucket,4,1h,burst=6\n\
                     api./v1/* = sliding-window,2,1h + token-bucket,9,1h,per=user\n\
                     api./deny = deny\n\
                     api./free = unlimited\n\
                     user.bob = token-bucket,5,1h\n";

const LOG: &str =
    "$rl_status limit=$rl_limit left=$rl_remaining retry=$rl_retry_after rule=$rl_rule";

fn server() -> Server {
    Site::with_rules(RULES)
        .log(LOG)
        .server("location / { rl_limit shop user=$arg_user api=$uri; empty_gif; }")
        .server("location /cost { rl_limit shop user=alice api=/ cost=$arg_cost; empty_gif; }")
        .server("location /dry { rl_limit shop user=dry api=/; rl_dry_run on; empty_gif; }")
        .server("location /none { empty_gif; }")
        .start()
}

/// Asks, and gives the line of the log for each path. The wait is told to the second.
fn logged(server: &Server, paths: &[&str]) -> Vec<String> {
    let mut connection: Connection = server.connect();
    connection.each(paths);
    let lines = server.access_log(paths.len()).into_iter();
    lines.map(|line| with_seconds(&line)).collect()
}

/// Milliseconds rounded up to seconds, as some have gone by since what they count from.
fn with_seconds(line: &str) -> String {
    let words = line.split(' ').map(|word| {
        let retry = word.strip_prefix("retry=");
        match retry.and_then(|retry| retry.parse::<u64>().ok()) {
            Some(ms) => format!("retry={}s", ms.div_ceil(1000)),
            None => word.to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn passed_and_rejected() {
    let rule = "rule=default = token-bucket,2,3600";
    assert_eq!(
        logged(&server(), &["/?user=alice"; 3]),
        [
            format!("PASSED limit=2 left=1 retry=0s {rule}"),
            format!("PASSED limit=2 left=0 retry=0s {rule}"),
            format!("REJECTED limit=2 left=0 retry=1800s {rule}"),
        ]
    );
}

#[test]
fn the_rule_is_the_one_that_applies_and_a_burst_the_limit() {
    assert_eq!(
        logged(
            &server(),
            &["/burst?user=alice", "/?user=bob", "/v1/x?user=eve"]
        ),
        [
            "PASSED limit=6 left=5 retry=0s rule=api./burst = token-bucket,4,3600,burst=6",
            "PASSED limit=5 left=4 retry=0s rule=user.bob = token-bucket,5,3600",
            "PASSED limit=2 left=1 retry=0s \
             rule=api./v1/* = sliding-window,2,3600 + token-bucket,9,3600,per=user",
        ]
    );
}

#[test]
fn what_can_never_pass() {
    let rule = "rule=default = token-bucket,2,3600";
    let log = logged(&server(), &["/cost?cost=3", "/deny?user=alice"]);
    assert_eq!(
        log[0],
        format!("REJECTED limit=2 left=2 retry=never {rule}")
    );
    let [state, _, _, retry, rule] = log[1].splitn(5, ' ').collect::<Vec<_>>()[..] else {
        panic!("{log:?}")
    };
    let expected = ["REJECTED", "retry=never", "rule=api./deny = deny"];
    assert_eq!([state, retry, rule], expected);
}

#[test]
fn unlimited_is_passed() {
    let log = logged(&server(), &["/free?user=alice"]);
    assert!(log[0].starts_with("PASSED "), "{log:?}");
    assert!(
        log[0].ends_with(" retry=0s rule=api./free = unlimited"),
        "{log:?}"
    );
}

#[test]
fn a_dry_run_tells_what_would_have_been() {
    let log = logged(&server(), &["/dry"; 3]);
    let rule = "rule=default = token-bucket,2,3600";
    assert_eq!(log[1], format!("PASSED limit=2 left=0 retry=0s {rule}"));
    assert_eq!(
        log[2],
        format!("REJECTED_DRY_RUN limit=2 left=0 retry=1800s {rule}")
    );
}

#[test]
fn an_error_has_a_status_alone_and_no_limit_nothing() {
    assert_eq!(
        logged(&server(), &["/cost?cost=0", "/none"]),
        [
            "ERROR limit=- left=- retry=- rule=-",
            "- limit=- left=- retry=- rule=-",
        ]
    );
}

/// They may stand in a field, in `map` and in `if` of the log, and are as after the decision.
#[test]
fn they_may_be_used_in_fields_and_maps() {
    let mut server = Site::with_rules(RULES)
        .log("$rl_status")
        .http("map $rl_status $refused { default \"\"; REJECTED yes; }")
        .http("access_log refused.log own if=$refused;")
        .server("location / { rl_limit shop user=alice api=/; empty_gif;")
        .server("add_header X-State \"$rl_status, $rl_remaining left$refused\" always; }")
        .start();
    let mut connection = server.connect();
    let states = [(); 3].map(|()| connection.get("/").field("X-State").unwrap().to_owned());
    assert_eq!(
        states,
        ["PASSED, 1 left", "PASSED, 0 left", "REJECTED, 0 leftyes"]
    );
    assert!(server.quit());
    assert_eq!(server.read("refused.log"), "REJECTED\n");
}

/// Whoever asks for them before there is a decision does not keep what they were then.
#[test]
fn they_are_empty_before_the_decision_and_not_after() {
    let server = Site::with_rules(RULES)
        .log("<$early> $rl_status $rl_remaining")
        .server("set $early \"$rl_status$rl_limit$rl_remaining$rl_retry_after$rl_rule\";")
        .server("location / { rl_limit shop user=alice api=/; empty_gif; }")
        .start();
    server.connect().get("/");
    assert_eq!(server.access_log(1), ["<> PASSED 1"]);
}

#[test]
fn a_rule_with_long_names_is_told_whole() {
    let (user, api) = ("u".repeat(3_000), "a".repeat(60_000));
    let rule = format!("user.{user} api.{api} = fixed-window,2,1");
    let server = Site::with_rules(&format!("default = deny\n{rule}"))
        .log("$rl_rule")
        .http("large_client_header_buffers 4 128k;")
        .server("location / { rl_limit shop user=$arg_user api=$arg_api; empty_gif; }")
        .start();
    let path = format!("/?user={user}&api={api}");
    assert_eq!(server.connect().get(&path).status, 200);
    assert_eq!(server.access_log(1), [rule]);
}

/// So that they can stand in a field.
#[test]
fn rules_that_apply_together_stand_in_one_line() {
    let rules = "default = token-bucket,2,1h\nuser.alice = token-bucket,3,2h\nmatch = all";
    let server = Site::with_rules(rules)
        .server("location / { rl_limit shop user=alice api=/; empty_gif;")
        .server("add_header X-Rule $rl_rule; }")
        .start();
    let answer = server.connect().get("/");
    let field = answer.field("X-Rule").unwrap();
    for rule in [
        "user.alice = token-bucket,3,7200",
        "default = token-bucket,2,3600",
    ] {
        assert!(field.contains(rule), "{field}");
    }
}

/// A decision in one request is not seen in the next on the same connection.
#[test]
fn they_are_those_of_the_request() {
    let log = logged(&server(), &["/?user=alice", "/none", "/?user=bob", "/none"]);
    let nothing = "- limit=- left=- retry=- rule=-";
    assert_eq!([&log[1], &log[3]], [nothing; 2]);
}
