//! What is wrong in a text is found when it is read: where, what, and what
//! would be right.

#![allow(clippy::unwrap_used)]

mod config_support;

use config_support::{check, error_of};
use rl::config::Config;
use rl::rule::MAX_NAME;

#[test]
#[rustfmt::skip] // a table
fn a_line_that_is_no_entry_is_refused() {
    check(&[
        ("default", 1, 8, "followed by = and a value, found nothing"),
        ("default token-bucket,5,10", 1, 9, "found `token-bucket,5,10`"),
        ("default =", 1, 10, "value is missing"),
        ("default = \t \n", 1, 10, "value is missing"),
        ("\n# c\r\n\n  = deny", 4, 3, "unknown name: nothing"),
        ("default = deny # why", 1, 16, "line of its own"),
        ("default = de\0ny", 1, 13, "byte `\\x00`"),
        ("default = deny\rapi.a = deny", 1, 15, "byte `\\x0d`"),
        ("default == deny", 1, 10, "unknown algorithm `= deny`"),
    ]);
}

#[test]
#[rustfmt::skip] // a table
fn an_unknown_name_is_refused_with_the_known_ones() {
    check(&[
        ("user.a = deny\nmemroy = 1m", 2, 1, "`memroy`; known are default, user.NAME"),
        ("Default = deny", 1, 1, "memory, clock, on-full, match, shared and shared-mode"),
        ("user = deny", 1, 1, "unknown name"),
        ("on_full = deny", 1, 1, "unknown name"),
        ("\u{e4} = deny", 1, 1, "`\\xc3\\xa4`"),
        ("\0 = deny", 1, 1, "`\\x00`"),
    ]);
}

#[test]
#[rustfmt::skip] // a table
fn a_scope_names_the_user_first() {
    let order = "user.NAME api.NAME in this order";
    check(&[
        ("api.a user.b = deny", 1, 7, order),
        ("user.a user.b = deny", 1, 8, order),
        ("api.a api.b = deny", 1, 7, order),
        ("user.a api.b api.c = deny", 1, 14, order),
        ("default user.a = deny", 1, 9, order),
        ("user.a b = deny", 1, 8, "found `b = deny`"),
    ]);
}

#[test]
#[rustfmt::skip] // a table
fn a_name_that_needs_quotes_says_so() {
    check(&[
        ("user. = deny", 1, 6, "empty name is written \"\""),
        ("user.a api. = deny", 1, 12, "empty name is written \"\""),
        ("user.a\"b = deny", 1, 7, "`\"` in it must be in quotes"),
        ("api.a#b = deny", 1, 6, "`#` in it must be in quotes"),
        ("api.a\u{1b} = deny", 1, 6, "`\\x1b` in it"),
        ("api.\u{7f} = deny", 1, 5, "`\\x7f` in it"),
    ]);
}

#[test]
#[rustfmt::skip] // a table
fn quotes_must_be_closed_and_escapes_known() {
    check(&[
        ("  user.\"a b = deny", 1, 8, "never closed"),
        ("user.\"a\\\" = deny", 1, 6, "never closed"),
        ("user.\"a\nb\" = deny", 1, 6, "never closed"),
        ("user.\"a\"b = deny", 1, 9, "follow the closing quote, found `b = deny`"),
        ("user.\"a\"api.b = deny", 1, 9, "a blank or ="),
        ("user.\"\\n\" = deny", 1, 7, "two hex digits, found `\\n\" `"),
        ("user.\"\\x4\" = deny", 1, 7, "two hex digits"),
        ("user.\"\\xg0\" = deny", 1, 7, "two hex digits"),
        ("user.\"\\x+1\" = deny", 1, 7, "two hex digits"),
        ("user.\"\\", 1, 7, "two hex digits"),
    ]);
}

#[test]
#[rustfmt::skip] // a table
fn an_unknown_algorithm_is_refused_with_the_known_ones() {
    let known = "token-bucket, fixed-window, sliding-window, sliding-window-counter";
    check(&[
        ("default = leaky-bucket,5,10", 1, 11, known),
        ("default = token-bucket2,5,10", 1, 11, "`token-bucket2`"),
        ("default = sliding-window-log-x,5,10", 1, 11, known),
        ("default = token bucket,5,10", 1, 11, known),
        ("default = 5,10", 1, 11, known),
        ("default = denied", 1, 11, "`denied`; known are"),
        ("default = deny twice", 1, 11, "alone, unlimited and deny"),
    ]);
}

#[test]
#[rustfmt::skip] // a table
fn an_empty_field_is_refused() {
    check(&[
        ("default = ,5,10", 1, 11, "algorithm is missing"),
        ("default = token-bucket", 1, 23, "limit is missing"),
        ("default = token-bucket,,10", 1, 24, "limit is missing"),
        ("default = token-bucket, ,10", 1, 24, "limit is missing"),
        ("default = token-bucket,5", 1, 25, "window is missing"),
        ("default = token-bucket,5,", 1, 26, "window is missing"),
        ("default = token-bucket,5,10,", 1, 29, "burst=N, per=pair|user|api|all, name=WORD or shadow"),
        ("default = token-bucket,5,10,,burst=6", 1, 29, "found nothing"),
    ]);
}

#[test]
#[rustfmt::skip] // a table
fn a_limit_is_a_whole_number_in_range() {
    let wrong = [
        "0", "-1", "+5", "1.5", "0x10", "5e3", "5 0", "5k", "9007199254740992", "\u{665}",
    ];
    for limit in wrong {
        let error = error_of(format!("default = token-bucket,{limit},10"));
        assert_eq!((error.line, error.column), (1, 24), "{limit}: {error}");
        let right = "limit of a token-bucket must be a whole number from 1 to 9007199254740991";
        assert!(error.message.contains(right), "{error}");
    }
    check(&[
        ("default = sliding_window,4294967296,10", 1, 26, "from 1 to 4294967295, found"),
        ("default = sliding-window-counter,4294967296,10", 1, 34, "from 1 to 4294967295"),
    ]);
}

#[test]
#[rustfmt::skip] // a table
fn a_window_is_a_millisecond_to_a_hundred_years() {
    let wrong = [
        "0", "0ms", "-10", "+10", "1.5s", "0x1", "1 0", "10 s", "10x", "10S", "10us", "s",
        "36526d", "3155760001", "876601h", "18446744073709551617ms",
    ];
    for window in wrong {
        let error = error_of(format!("default = fixed-window,5, {window}"));
        assert_eq!((error.line, error.column), (1, 27), "{window}: {error}");
        let right = "whole number of ms, s, m, h or d, from 1ms to 36525d, found `";
        assert!(error.message.contains(right), "{error}");
    }
}

#[test]
fn huge_strings_of_digits_do_not_wrap_around() {
    let digits = "9".repeat(3 << 20);
    let texts = [
        format!("default = token-bucket,{digits},1"),
        format!("default = token-bucket,1,{digits}d"),
        format!("default = token-bucket,1,1,burst={digits}"),
        format!("memory = {digits}g"),
    ];
    for text in texts {
        assert!(error_of(text).message.contains("9999..."));
    }
}

#[test]
#[rustfmt::skip] // a table
fn an_option_is_known_and_given_once() {
    check(&[
        ("default = token-bucket,5,10,7", 1, 29, "name=WORD or shadow, found `7`"),
        ("default = token-bucket,5,10,Burst=7", 1, 29, "found `Burst=7`"),
        ("default = token-bucket,5,10,burst=6,burst=6", 1, 37, "`burst` is given twice"),
        ("default = token-bucket,5,10,name=a,name=b", 1, 36, "`name` is given twice"),
        ("default = token-bucket,5,10,burst", 1, 34, "found nothing"),
        ("default = token-bucket,5,10,burst=0", 1, 35, "burst must be a whole number"),
        ("default = token-bucket,5,10,name=", 1, 34, "1 to 15 of a-z 0-9 - _"),
        ("default = token-bucket,5,10,name=Login", 1, 34, "found `Login`"),
        ("default = token-bucket,5,10,name=abcdefghijklmnop", 1, 34, "1 to 15"),
    ]);
}

#[test]
fn a_burst_is_for_token_buckets_only() {
    for algorithm in ["fixed-window", "sliding-window", "sliding-window-counter"] {
        let error = error_of(format!("default={algorithm},5,10,name=a,burst=7"));
        let before = "default=,5,10,name=a,".len() + algorithm.len();
        assert_eq!(error.column as usize, before + 1);
        assert!(error.message.contains(algorithm) && error.message.contains("for token-bucket"));
    }
}

#[test]
#[rustfmt::skip] // a table
fn an_empty_bucket_fills_within_a_hundred_years() {
    check(&[
        ("default = token-bucket,1,36525d,burst=2", 1, 39, "at most 1, which takes 100 years"),
        ("default = token-bucket,7,1d,burst=255676", 1, 35, "at most 255675,"),
        ("default = token-bucket,1,1d,burst=9007199254740991", 1, 35, "at most 36525,"),
    ]);
    let mut config = Config::new();
    config
        .parse(b"default = token-bucket,7,1d,burst=255675")
        .unwrap();
}

#[test]
#[rustfmt::skip] // a table
fn a_setting_out_of_its_range_is_refused() {
    let memory = "whole number of k, m or g, from 16k to 1024g";
    check(&[
        ("memory = 0", 1, 10, memory),
        ("memory = 16383", 1, 10, memory),
        ("memory = 15k", 1, 10, memory),
        ("memory = 1025g", 1, 10, memory),
        ("memory = 32M", 1, 10, memory),
        ("memory = 32mb", 1, 10, memory),
        ("memory = 1.5g", 1, 10, memory),
        ("memory = -1", 1, 10, memory),
        ("memory = 1t", 1, 10, memory),
        ("memory x = 1m", 1, 8, "followed by ="),
        ("clock = sundial", 1, 9, "monotonic, monotonic-vdso, monotonic-coarse or realtime, found `sundial`"),
        ("match = every", 1, 9, "match must be first or all, found `every`"),
        ("on-full = panic", 1, 11, "evict, deny or allow, found `panic`"),
    ]);
}

#[test]
#[rustfmt::skip] // a table
fn shared_memory_has_the_name_of_one_file() {
    let name = "a / and then 1 to 254 bytes without a /, not . or .., such as /shop, found `";
    check(&[
        ("shared = rl", 1, 10, name),
        ("shared = /", 1, 10, name),
        ("shared = //", 1, 10, name),
        ("shared = //rl", 1, 10, name),
        ("shared = /rl/", 1, 10, name),
        ("shared = /a/b", 1, 10, name),
        ("shared = ./rl", 1, 10, name),
        ("shared = /.", 1, 10, name),
        ("\nshared=  /..", 2, 10, name),
        ("shared = /r\0", 1, 12, "byte `\\x00`"),
        ("shared = /r#", 1, 12, "line of its own"),
    ]);
    let error = error_of(format!("shared = /{}", "n".repeat(255)));
    assert_eq!((error.line, error.column), (1, 10));
    assert!(error.message.contains(name), "{error}");
}

#[test]
fn a_mode_of_shared_memory_lets_its_owner_read_and_write() {
    let long = "6".repeat(1 << 20);
    let wrong = [
        &long, "0", "6", "60", "0400", "0200", "0066", "066", "0700", "0610", "0667", "0777",
        "1600", "4600", "00600", "06000", "0o600", "0x180", "384", "0680", "-600", "+600", "rw",
        "0600 0", "600,",
    ];
    for mode in wrong {
        let error = error_of(format!("shared-mode = {mode}"));
        assert_eq!((error.line, error.column), (1, 15), "{mode}: {error}");
        let right = "must be octal, from 0600 (the owner alone) to 0666 (everybody)";
        assert!(error.message.contains(right), "{mode}: {error}");
    }
}

#[test]
#[rustfmt::skip] // a table
fn a_name_given_twice_is_refused_and_says_where_it_was() {
    check(&[
        ("default = deny\n\ndefault = deny", 3, 1, "`default` was already given on line 1;"),
        ("#\nuser.\"a\" api.b=deny\nuser.a api.\"\\x62\"=deny", 3, 1, "`user.a api.b` was"),
        ("clock = realtime\n  clock = realtime", 2, 3, "on line 1;"),
        ("memory = 1m\nmemory = 2m", 2, 1, "`memory` was already given on line 1;"),
        ("on-full = deny\non-full = deny", 2, 1, "`on-full`"),
        ("match = all\nmatch = first", 2, 1, "`match`"),
        ("shared = /a\nshared = /a", 2, 1, "`shared` was already given on line 1;"),
        ("shared-mode = 0600\nshared-mode = 600", 2, 1, "`shared-mode`"),
        ("api./a/* = deny\napi.\"/a/\"* = deny", 2, 1, "`api./a/*` was already given on line 1;"),
        ("user.before = deny", 1, 1, "on line 1 of an earlier text"),
    ]);
}

#[test]
#[rustfmt::skip] // a table
fn the_first_error_of_a_text_is_told() {
    check(&[
        ("user.before = deny\nrubbish", 1, 1, "already given"),
        ("default = deny\r\nrubbish\r\nrubbish", 2, 1, "rubbish"),
    ]);
}

#[test]
fn a_name_of_65_536_bytes_is_too_long() {
    let long = "n".repeat(MAX_NAME + 1);
    for text in [
        format!("user.a api.{long} = deny"),
        format!("user.a api.\"{long}\"=deny"),
    ] {
        let error = error_of(text);
        assert_eq!((error.line, error.column), (1, 12));
        let right = "at most 65535 bytes, this one 65536";
        assert!(error.message.contains(right), "{error}");
    }
}

#[test]
fn a_line_of_megabytes_is_an_error_like_any_other() {
    for byte in ["a", "\"", "\\", ",", " ", "#", "=", "\0", "\u{fc}"] {
        let long = byte.repeat(1 << 19);
        for head in ["", "x", "user.", "user.\"", "default = ", "memory = "] {
            let _ = Config::new().parse(format!("{head}{long}").as_bytes());
            error_of(format!("{head}{long}\nrubbish"));
        }
    }
}
