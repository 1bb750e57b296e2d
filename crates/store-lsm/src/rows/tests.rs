//! What is kept, for whom, and for how long.

use super::*;

const PARTITION: u64 = 7;

fn rows(bytes: usize) -> Rows {
    Rows::new(&Options { row_cache_bytes: bytes, cached_kinds: b"k", ..Options::default() })
}

fn find(rows: &Rows, key: &str, turn: u64) -> Option<Bytes> {
    let place = rows.place(PARTITION, key.as_bytes())?;
    match rows.find(place, PARTITION, key.as_bytes(), turn) {
        Found::Here(value) => Some(value),
        Found::Absent { .. } => None,
    }
}

fn insert(rows: &Rows, key: &str, value: &[u8], turn: u64) {
    let place = rows.place(PARTITION, key.as_bytes()).unwrap();
    assert_eq!(rows.insert(place, PARTITION, key.as_bytes(), value, turn), value);
}

fn replace(rows: &Rows, key: &str, value: &[u8], turn: u64) {
    let place = rows.place(PARTITION, key.as_bytes()).unwrap();
    rows.replace(place, PARTITION, key.as_bytes(), value, turn);
}

fn remove(rows: &Rows, key: &str, turn: u64) {
    rows.remove(rows.place(PARTITION, key.as_bytes()).unwrap(), turn);
}

#[test]
fn a_row_is_found_under_its_partition_and_key() {
    let rows = rows(1 << 20);
    insert(&rows, "key", b"value", 1);
    assert_eq!(find(&rows, "key", 1).as_deref(), Some(&b"value"[..]));
    assert_eq!(find(&rows, "ke", 1), None);
    assert_eq!(find(&rows, "key1", 1), None);
    let place = rows.place(8, b"key").unwrap();
    assert!(matches!(rows.find(place, 8, b"key", 1), Found::Absent { .. }));
}

#[test]
fn keys_with_the_same_hash_are_told_apart() {
    let rows = rows(1 << 20);
    insert(&rows, "key", b"value", 1);
    let place = rows.place(PARTITION, b"key").unwrap();
    assert!(matches!(rows.find(place, PARTITION, b"kex", 1), Found::Absent { .. }));
    assert!(matches!(rows.find(place, 8, b"key", 1), Found::Absent { .. }));
    rows.insert(place, PARTITION, b"kex", b"other", 1);
    assert_eq!(rows.len(), 1);
    assert_eq!(find(&rows, "key", 1), None);
}

#[test]
fn only_kinds_that_are_asked_for_are_kept() {
    let some = rows(1 << 20);
    assert!(some.place(PARTITION, b"key").is_some());
    assert!(some.place(PARTITION, b"other").is_none());
    assert!(some.place(PARTITION, b"").is_none());
    assert!(rows(0).place(PARTITION, b"key").is_none());
}

#[test]
fn snapshots_of_earlier_turns_do_not_see_a_row() {
    let rows = rows(1 << 20);
    insert(&rows, "key", b"new", 5);
    assert_eq!(find(&rows, "key", 4), None);
    assert!(find(&rows, "key", 5).is_some() && find(&rows, "key", 6).is_some());
}

#[test]
fn what_was_read_before_a_write_is_not_taken_after_it() {
    let rows = rows(1 << 20);
    insert(&rows, "key", b"old", 4);
    remove(&rows, "key", 5);
    assert_eq!(find(&rows, "key", 4), None);
    insert(&rows, "key", b"old", 4);
    assert_eq!(find(&rows, "key", 5), None);
    insert(&rows, "key", b"new", 5);
    assert_eq!(find(&rows, "key", 5).as_deref(), Some(&b"new"[..]));
}

#[test]
fn what_was_written_is_there_for_those_who_may_see_it() {
    let rows = rows(1 << 20);
    insert(&rows, "key", b"old", 4);
    replace(&rows, "key", b"new", 5);
    insert(&rows, "key", b"old", 4);
    assert_eq!(find(&rows, "key", 4), None);
    assert_eq!(find(&rows, "key", 5).as_deref(), Some(&b"new"[..]));
}

/// The sum of the sizes of all rows, which must be what each shard believes.
fn checked_bytes(rows: &Rows) -> usize {
    let mut total = 0;
    for shard in &rows.shards {
        let shard = shard.lock().unwrap();
        let bytes: usize = shard.rows.iter().map(Row::size_bytes).sum();
        assert_eq!((bytes, shard.rows.len()), (shard.bytes, shard.index.len()));
        for (hash, index) in &shard.index {
            assert_eq!(shard.rows[*index as usize].hash, *hash);
        }
        total += bytes;
    }
    total
}

#[test]
fn a_full_cache_stays_within_its_bytes() {
    let bytes_max = 1 << 20;
    let (read, written) = (rows(bytes_max), rows(bytes_max));
    for number in 0..20_000 {
        let key = format!("key {number}");
        insert(&read, &key, &[1; 200], 1);
        replace(&written, &key, &[1; 200], 1);
        if number % 7 == 0 {
            remove(&read, &format!("key {}", number / 2), 1);
            replace(&written, &format!("key {}", number / 2), &[2; 300], 1);
        }
    }
    for rows in [read, written] {
        let total = checked_bytes(&rows);
        assert!((bytes_max / 2..=bytes_max).contains(&total), "{total} bytes");
    }
}

#[test]
fn rows_that_are_read_stay_longer_than_those_that_are_not() {
    let rows = rows(1 << 20);
    let hot: Vec<String> = (0..50).map(|number| format!("key {number}")).collect();
    for key in &hot {
        insert(&rows, key, &[1; 200], 1);
    }
    for number in 0..20_000 {
        insert(&rows, &format!("key once {number}"), &[1; 200], 1);
        assert!(find(&rows, &hot[number % 50], 1).is_some(), "after {number}");
    }
}

#[test]
fn a_row_of_another_order_of_size_is_not_kept() {
    let rows = rows(1 << 20);
    insert(&rows, "key", "x".repeat(100_000).as_bytes(), 1);
    assert_eq!(rows.len(), 0);
}

#[test]
fn a_full_cache_wants_one_of_a_few() {
    let rows = rows(1 << 20);
    let mut wanted = 0;
    for number in 0..12_000 {
        insert(&rows, &format!("key {number}"), &[1; 200], 1);
        let absent = format!("key absent {number}");
        let place = rows.place(PARTITION, absent.as_bytes()).unwrap();
        let found = rows.find(place, PARTITION, absent.as_bytes(), 1);
        let is_wanted = matches!(found, Found::Absent { is_wanted: true });
        wanted += usize::from(number >= 10_000 && is_wanted);
    }
    assert!((300..=700).contains(&wanted), "{wanted} of 2,000");
}
