//! Who gets how much, and is told what.

use std::collections::BTreeMap;
use std::process::Command;

use crate::client::count;
use crate::made::output;
use crate::server::{HUNDRED, SERVERS, Server, is_about};

#[test]
fn exactly_the_limit_passes_for_each_path_and_address() {
    for name in SERVERS {
        let server = Server::start(name, HUNDRED);
        let expected = BTreeMap::from([(200, 100), (429, 100)]);
        for path in ["/a", "/b", "/a?b"] {
            let counts = server.crowd(path, 8, 25);
            match path {
                "/a?b" => assert_eq!(counts, BTreeMap::from([(429, 200)]), "{name}: {path}"),
                _ => assert_eq!(counts, expected, "{name}: {path}"),
            }
        }
        let url = server.url("/a?[1-150]");
        let other = curl(&["-w", "%{http_code}\n", "--interface", "127.0.0.2", &url]);
        let statuses: Vec<u16> = other.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(count(&statuses), BTreeMap::from([(200, 100), (429, 50)]));
        server.ends_well();
    }
}

#[test]
fn every_answer_says_what_is_left_and_a_refusal_when_to_try_again() {
    for name in SERVERS {
        let server = Server::start(name, "default = token-bucket,2,1h,name=often\n");
        let mut client = server.connect();
        for (status, left, seconds) in [(200, 1, 1800), (200, 0, 3600), (429, 0, 1800)] {
            let answer = client.get("/a");
            assert_eq!(answer.status, status, "{name}");
            let policy = answer.field("RateLimit-Policy");
            assert_eq!(policy, Some(r#""often";q=2;w=3600"#), "{name}");
            let (limit, time) = answer
                .field("RateLimit")
                .unwrap()
                .split_once(";t=")
                .unwrap();
            assert_eq!(limit, format!("\"often\";r={left}"), "{name}");
            assert!(is_about(time, seconds), "{name}: {time} of {seconds} s");
            let again = answer.field("Retry-After");
            assert_eq!(again, Some(time).filter(|_| status == 429), "{name}");
        }
        server.ends_well();
    }
}

#[test]
fn rules_without_limits_add_no_fields() {
    for name in SERVERS {
        let server = Server::start(name, "default = unlimited\napi./no = deny\n");
        for (path, status) in [("/yes", 200), ("/no", 429)] {
            let answer = server.connect().get(path);
            assert_eq!(answer.status, status, "{name}: {path}");
            for field in ["RateLimit-Policy", "RateLimit", "Retry-After"] {
                assert_eq!(answer.field(field), None, "{name}: {path}");
            }
        }
        server.ends_well();
    }
}

fn curl(arguments: &[&str]) -> String {
    let mut curl = Command::new("curl");
    output(curl.args(["-sS", "--max-time", "20"]).args(arguments))
}
