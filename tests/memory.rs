//! Memory is bounded by the setting, whoever mints how many names. A test of its
//! own program: what it measures is the whole process.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod desk;

use desk::Desk;

const ROUNDS: u64 = 100;
const KEYS: u64 = 20_000;

fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

#[test]
fn memory_stays_flat_over_a_hundred_rounds_of_keys() {
    let desk =
        Desk::new("memory = 256k\ndefault = token-bucket,5,10\napi.log = sliding-window,5,10");
    let mut after_ten = 0;
    for round in 0..ROUNDS {
        for key in 0..KEYS {
            let user = (round * KEYS + key).to_le_bytes();
            let api: &[u8] = if key % 8 == 0 { b"log" } else { b"" };
            desk.check(&user, api);
        }
        desk.wait_ms(100);
        if round == 9 {
            after_ten = resident_bytes();
        }
    }
    let grown = resident_bytes().saturating_sub(after_ten);
    assert!(
        grown < 128 << 10,
        "{grown} bytes more than after ten rounds"
    );
    let stats = desk.stats();
    assert!(stats.memory_bytes <= 256 << 10, "{stats:?}");
    assert_eq!(stats.allowed + stats.denied, ROUNDS * KEYS);
}
