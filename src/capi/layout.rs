//! The structs are in C what they are here: the C compiler, given the committed header
//! and the sizes and offsets on the Rust side, has nothing to say against them.

use std::io::Write;
use std::mem::offset_of;
use std::process::{Command, Stdio};

use super::decision::rl_decision;
use super::error::rl_error;
use super::request::rl_request;
use super::stats::rl_stats;

/// C11 assertions for the size of a struct, and offset and size of each field. The
/// pattern fails to compile when a field is left out.
macro_rules! layout {
    ($struct:ident: $($field:ident)*) => {{
        let _all = |$struct { $($field: _),* }: $struct| {};
        let name = stringify!($struct);
        let mut text = equal(&format!("sizeof({name})"), size_of::<$struct>());
        $(
            let field = stringify!($field);
            let size = size_of_field(|s: &$struct| &s.$field);
            text += &equal(&format!("offsetof({name}, {field})"), offset_of!($struct, $field));
            text += &equal(&format!("sizeof((({name} *)0)->{field})"), size);
        )*
        text
    }};
}

fn size_of_field<S, F>(_: impl Fn(&S) -> &F) -> usize {
    size_of::<F>()
}

fn equal(c: &str, rust: usize) -> String {
    format!("_Static_assert({c} == {rust}, \"in Rust it is {rust}\");\n")
}

#[test]
fn structs_are_the_same_in_c_and_in_rust() {
    let program = [
        "#include <rl.h>\n".to_owned(),
        layout!(rl_error: status line column message),
        layout!(rl_request: user user_len api api_len cost),
        layout!(rl_decision:
            allowed flags limit_count limit_index denied_by reserved
            limit remaining retry_after_ms reset_after_ms window_ms name),
        layout!(rl_stats:
            size allowed denied errors keys capacity evicted_idle evicted_live
            refused_full recovered_locks memory_bytes log_entries log_capacity),
    ];
    compile(&program.concat());
}

fn compile(program: &str) {
    let mut compiler = Command::new("cc")
        .args(["-x", "c", "-std=c11", "-fsyntax-only", "-"])
        .arg(concat!("-I", env!("CARGO_MANIFEST_DIR"), "/include"))
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    compiler
        .stdin
        .take()
        .unwrap()
        .write_all(program.as_bytes())
        .unwrap();
    assert!(
        compiler.wait().unwrap().success(),
        "the C compiler says how they differ"
    );
}
