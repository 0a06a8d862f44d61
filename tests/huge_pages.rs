//! Zones and large private memory stand in huge pages where the system has them, and in
//! small ones where not. A test of its own program: it switches them off for the process.

#![allow(clippy::unwrap_used, unsafe_code)]

use std::fs::{metadata, read_to_string};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rl::config::Config;
use rl::service::{Request, Service, unlink_zone};

fn service(settings: &str) -> Service {
    let mut config = Config::new();
    let text = format!("default = fixed-window,1,1h\n{settings}\n");
    config.parse(text.as_bytes()).unwrap();
    Service::new(&config).unwrap()
}

fn touch_all(service: &Service) {
    for n in 0..service.stats().capacity {
        let user = &n.to_le_bytes();
        let request = Request {
            user,
            api: b"",
            cost: 1,
        };
        service.check(request).unwrap();
    }
}

/// The sum of what the system says in the lines of this name, one for each mapping.
fn kib_mapped_as(name: &str) -> u64 {
    let smaps = read_to_string("/proc/self/smaps").unwrap();
    let values = smaps.lines().filter_map(|line| line.strip_prefix(name));
    values
        .map(|value| {
            value
                .trim_matches([':', ' ', 'k', 'B'])
                .parse::<u64>()
                .unwrap()
        })
        .sum()
}

/// How many mappings the system has been asked to give in huge pages.
fn advised() -> usize {
    let smaps = read_to_string("/proc/self/smaps").unwrap();
    let flags = smaps.lines().filter(|line| line.starts_with("VmFlags:"));
    flags.filter(|line| line.contains(" hg")).count()
}

/// Whether the system can make huge pages of shared memory when told to: from Linux 6.1 on.
fn can_be_made() -> bool {
    let release = read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split('.').map(|number| number.parse().unwrap_or(0));
    let version: (u32, u32) = (numbers.next().unwrap(), numbers.next().unwrap());
    version >= (6, 1) && Path::new("/sys/kernel/mm/transparent_hugepage/shmem_enabled").exists()
}

/// How many KiB of a zone of 5 MiB are in huge pages for its maker, and for one who joins.
fn kib_of_a_zone() -> [u64; 2] {
    let name = format!("/librl-{}-huge", std::process::id());
    let settings = format!("memory = 5m\nshared = {name}");
    let in_huge_pages = || {
        let service = service(&settings);
        touch_all(&service);
        assert_eq!(service.stats().memory_bytes, 5 << 20);
        kib_mapped_as("ShmemPmdMapped")
    };
    let found = [in_huge_pages(), in_huge_pages()];
    let object = metadata(format!("/dev/shm{name}")).unwrap();
    unlink_zone(name.as_bytes()).unwrap();
    assert_eq!([object.len(), object.blocks() * 512], [5 << 20; 2]);
    found
}

fn a_zone_has_its_whole_huge_pages_and_takes_no_more_than_its_memory() {
    let expected = if can_be_made() { 4096 } else { 0 };
    assert_eq!(kib_of_a_zone(), [expected; 2]);
}

fn private_memory_is_advised_where_it_is_large() {
    let has_any = Path::new("/sys/kernel/mm/transparent_hugepage").exists();
    for (memory, expected) in [("16k", false), ("32m", false), ("33m", has_any)] {
        let service = service(&format!("memory = {memory}"));
        assert_eq!(advised(), usize::from(expected), "{memory}");
        drop(service);
    }
}

fn a_zone_is_made_where_there_are_none() {
    // SAFETY: it changes which pages this process gets, and nothing in them.
    let failed = unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) };
    assert_eq!(failed, 0);
    assert_eq!(kib_of_a_zone(), [0; 2]);
}

#[test]
fn huge_pages_are_taken_where_they_pay_and_not_missed() {
    private_memory_is_advised_where_it_is_large();
    a_zone_has_its_whole_huge_pages_and_takes_no_more_than_its_memory();
    a_zone_is_made_where_there_are_none();
}
