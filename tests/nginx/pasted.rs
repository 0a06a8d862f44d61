//! The configuration in the README of the module does what is said there. It is taken as it
//! stands; only the places of files and the port are a test's.

use std::fs;
use std::thread::available_parallelism;

use crate::made::root;
use crate::server::Server;
use crate::site::{Site, module};

fn readme() -> String {
    fs::read_to_string(root().join("integrations/nginx/README.md")).unwrap()
}

/// The first fenced block in that language.
fn block<'a>(text: &'a str, language: &str) -> &'a str {
    let (_, block) = text.split_once(&format!("\n```{language}\n")).unwrap();
    block.split_once("\n```\n").unwrap().0
}

/// With what the distribution would have where nginx is installed.
fn server() -> Server {
    let readme = readme();
    let places = [
        ("modules/ngx_http_rl_module.so", module().to_str().unwrap()),
        ("/var/log/nginx/", ""),
        ("/run/", ""),
        ("/var/www/html", "."),
        ("listen 8080", "listen 127.0.0.1:PORT"),
        ("events {", "daemon off;\nevents {"),
        (
            "http {",
            "http {
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi; scgi_temp_path scgi;",
        ),
    ];
    let mut text = block(&readme, "nginx").to_owned();
    for (theirs, ours) in places {
        assert!(text.contains(theirs), "no {theirs} in {text}");
        text = text.replace(theirs, ours);
    }
    if !rustix::process::geteuid().is_root() {
        text = text.replace("user www-data;", "");
    }
    Site::whole(&text)
        .workers(available_parallelism().unwrap().get())
        .file("limits.rules", block(&readme, "text"))
        .file("index.html", "hello")
        .file("login", "come in")
        .start()
}

#[test]
fn the_fields_are_those_that_are_shown() {
    let server = server();
    let answer = server.connect().get("/");
    assert_eq!((answer.status, answer.text()), (200, "hello".to_owned()));
    let readme = readme();
    let shown = block(&readme, "console").lines();
    let shown = shown.filter_map(|line| line.split_once(": "));
    let shown: Vec<_> = shown.filter(|(name, _)| name.starts_with("Rate")).collect();
    assert_eq!(shown.len(), 2);
    for (name, value) in shown {
        assert_eq!(answer.field(name), Some(value), "{name}");
    }
}

#[test]
fn its_rules_hold_and_its_log_tells() {
    let server = server();
    let statuses = server.connect().many("/login", 7);
    assert_eq!(statuses, [200, 200, 200, 200, 200, 429, 429]);
    let log = server.access_log(7);
    let rule = "rule=\"api./login = sliding-window,5,60\"";
    let passed = format!("127.0.0.1 \"GET /login HTTP/1.1\" 200 rl=PASSED left=4 retry=0 {rule}");
    assert_eq!(log[0], passed);
    let refused = "127.0.0.1 \"GET /login HTTP/1.1\" 429 rl=REJECTED left=0 retry=";
    assert!(
        log[6].starts_with(refused) && log[6].ends_with(rule),
        "{log:?}"
    );
    let page = server.connect().get("/metrics").text();
    assert!(page.contains("{decision=\"denied\"} 2\n"), "{page}");
}
