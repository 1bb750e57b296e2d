//! Journals that are missing, or shorter than before.

use store::Store;

use crate::*;

const LIST: &str = "journals.list";

fn refused(directory: &Path) -> String {
    match LsmStore::open(directory, Options::default()).map(|_| ()) {
        Err(Error::Corrupt(text)) => text,
        other => panic!("{other:?}"),
    }
}

/// The journals of a directory, by number.
fn journals(directory: &Path) -> Vec<u64> {
    let files = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let number = |path: &Path| path.file_name()?.to_str()?.strip_suffix(".jnl")?.parse().ok();
    let mut numbers: Vec<u64> = files.filter_map(|path| number(&path)).collect();
    numbers.sort_unstable();
    numbers
}

/// The listed journals, and the minimum length of each.
fn listed(directory: &Path) -> Vec<(u64, u64)> {
    let text = std::fs::read_to_string(directory.join(LIST)).unwrap();
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.filter_map(|(number, bytes)| Some((number.parse().ok()?, bytes.parse().ok()?))).collect()
}

#[tokio::test]
async fn a_missing_journal_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    put(&*store.open("p", 0).await.unwrap(), "k", "v");
    for has_list in [true, false] {
        let crashed = copy_of(directory.path());
        std::fs::remove_file(crashed.path().join("0.jnl")).unwrap();
        if !has_list {
            std::fs::remove_file(crashed.path().join(LIST)).unwrap();
        }
        let name = if has_list { "0.jnl` is missing" } else { "*.jnl` is missing" };
        for _ in 0..2 {
            assert!(refused(crashed.path()).contains(name), "{}", refused(crashed.path()));
        }
        assert!(journals(crashed.path()).is_empty(), "nothing is made in its place");
    }
}

/// After a clean close the journal is empty, but must still exist: otherwise it is unknown whether
/// it was empty.
#[tokio::test]
async fn a_closed_store_needs_its_journal() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    put(&*store.open("p", 0).await.unwrap(), "k", "v");
    store.close().await.unwrap();
    drop(store);
    assert_eq!(listed(directory.path()), [(0, 0)]);
    let crashed = copy_of(directory.path());
    std::fs::remove_file(crashed.path().join("0.jnl")).unwrap();
    assert!(refused(crashed.path()).contains("0.jnl` is missing"));
    open(directory.path());
}

#[tokio::test]
async fn an_emptied_journal_is_not_taken_for_a_new_one() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    put(&*store.open("p", 0).await.unwrap(), "k", "v");
    for length in [0, 1 << 20] {
        let crashed = copy_of(directory.path());
        let journal = crashed.path().join("0.jnl");
        std::fs::write(&journal, vec![0; length]).unwrap();
        assert!(refused(crashed.path()).contains("0.jnl` was cut short"));
        assert_eq!(journal.metadata().unwrap().len(), length as u64, "it is left alone");
    }
}

/// Data after the last whole batch of a truncated journal is saved, whether or not it contains the
/// end of a batch.
#[tokio::test]
async fn what_is_left_of_a_batch_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let partition = store.open("p", 0).await.unwrap();
    put(&*partition, "early", "v");
    let before = content_bytes(directory.path());
    put(&*partition, "late", vec![b'l'; 30_000]);
    let after = content_bytes(directory.path());
    for cut in [before + 1, before + 20_000, after - 1] {
        let crashed = copy_of(directory.path());
        let journal = crashed.path().join("0.jnl");
        let bytes = std::fs::read(&journal).unwrap();
        std::fs::write(&journal, &bytes[..cut]).unwrap();
        let reopened = open(crashed.path());
        let partition = reopened.open("p", 0).await.unwrap();
        assert_eq!(get(&*partition, "early").await.unwrap(), "v");
        assert_eq!(get(&*partition, "late").await, None);
        let kept = std::fs::read(crashed.path().join(format!("0.{before}-0.torn"))).unwrap();
        assert!(kept == bytes[before..cut], "cut at {cut}");
        put(&*partition, "late", "again");
        drop((partition, reopened));
        let partition = open(crashed.path()).open("p", 0).await.unwrap();
        assert_eq!(get(&*partition, "late").await.unwrap(), "again");
    }
}

/// Where the batches of the first journal end.
fn content_bytes(directory: &Path) -> usize {
    let bytes = std::fs::read(directory.join("0.jnl")).unwrap();
    bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1
}

/// Makes the store begin a new journal, writing only to `busy`.
fn write_past_a_journal(busy: &dyn KeySpace) {
    for number in 0..70 {
        put(busy, &format!("k{}", number % 10), vec![b'x'; 1 << 20]);
    }
}

/// fjall creates and removes journals while writes continue. The list contains the newest one, and
/// only existing ones.
#[tokio::test]
async fn the_list_follows_the_journals() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let busy = store.open("busy", 0).await.unwrap();
    let started = Instant::now();
    while !listed(directory.path()).iter().any(|(number, _)| *number >= 2) {
        write_past_a_journal(&*busy);
        let (listed, found) = (listed(directory.path()), journals(directory.path()));
        println!("listed {listed:?}, found {found:?}");
        assert!(started.elapsed() < Duration::from_mins(5), "no new journal");
    }
    put(&*busy, "last", "v");
    drop((busy, store));
    let (listed, found) = (listed(directory.path()), journals(directory.path()));
    assert!(listed.iter().all(|(number, _)| found.contains(number)), "{listed:?} {found:?}");
    assert!(listed.iter().any(|(number, _)| found.last() == Some(number)), "{listed:?} {found:?}");
    for (number, bytes) in &listed {
        let crashed = copy_of(directory.path());
        let journal = crashed.path().join(format!("{number}.jnl"));
        if *bytes > 0 {
            // A journal followed by another was synced to its end.
            let file = std::fs::OpenOptions::new().write(true).open(&journal).unwrap();
            file.set_len(bytes - 1).unwrap();
            assert!(refused(crashed.path()).contains("was cut short"), "{number}");
        }
        std::fs::remove_file(&journal).unwrap();
        let name = format!("{number}.jnl` is missing");
        assert!(refused(crashed.path()).contains(&name), "{}", refused(crashed.path()));
    }
    let partition = open(directory.path()).open("busy", 0).await.unwrap();
    assert_eq!(get(&*partition, "last").await.unwrap(), "v");
}

/// Directories of earlier builds have no list.
#[tokio::test]
async fn an_old_directory_gets_a_list() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    put(&*store.open("p", 0).await.unwrap(), "k", "v");
    let old = copy_of(directory.path());
    std::fs::remove_file(old.path().join(LIST)).unwrap();
    let partition = open(old.path()).open("p", 0).await.unwrap();
    assert_eq!(get(&*partition, "k").await.unwrap(), "v");
    let listed = listed(old.path());
    assert!(matches!(listed[..], [(0, bytes)] if bytes > 0), "{listed:?}");
}

/// A list without a version is not the result of an interrupted creation.
#[tokio::test]
async fn a_list_keeps_a_directory_from_being_cleared() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join(LIST), "sheaf journals 1\n0 0\nend\n").unwrap();
    std::fs::write(directory.path().join("0.jnl"), "").unwrap();
    assert!(refused(directory.path()).contains("a list of journals"));
    assert_eq!(journals(directory.path()), [0]);
}
