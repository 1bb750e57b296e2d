//! Images: the content of a store built from one, and which of its files are new.

use std::{
    collections::HashSet,
    io::Read as _,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use store::{Error, Files as _, Image, ImageFile, KeySpace, Store as _};
use store_lsm::{LsmStore, Options};

use super::{get, open, put};

/// Options that cause constant flushes and compactions.
fn tiny() -> Options {
    Options { memtable_bytes: 16 << 10, ..Options::default() }
}

/// Builds a store from an image.
fn restore(image: &dyn Image, directory: &Path) {
    LsmStore::restore(directory, |directory| {
        for (index, file) in image.files().iter().enumerate() {
            let path = directory.join(&file.path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content(image, index, file)).unwrap();
        }
        Ok::<(), Error>(())
    })
    .unwrap();
}

fn content(image: &dyn Image, index: usize, file: &ImageFile) -> Vec<u8> {
    let mut content = Vec::new();
    image.open(index).unwrap().read_to_end(&mut content).unwrap();
    assert_eq!(content.len() as u64, file.bytes, "{}", file.path);
    content
}

/// Two writers each raise a number in one partition and, once that is acknowledged, in another,
/// while other partitions are created and dropped. In each image the first number is equal to the
/// second or one ahead, and everything acknowledged before is there.
#[test]
fn all_is_of_one_instant() {
    let directory = tempfile::tempdir().unwrap();
    let store = LsmStore::open(&directory.path().join("store"), tiny()).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let partition = |name: &str| runtime.block_on(store.open(name, 0)).unwrap();
    let pairs = [
        (partition("a0"), partition("b0"), AtomicUsize::new(0)),
        (partition("a1"), partition("b1"), AtomicUsize::new(0)),
    ];
    let is_over = AtomicBool::new(false);
    let mut images = Vec::new();
    std::thread::scope(|scope| {
        for (first, second, acknowledged) in &pairs {
            let is_over = &is_over;
            scope.spawn(move || {
                for round in 1.. {
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    let filler = format!("{round:0700}");
                    put(&**first, &format!("{round:06}"), filler.clone());
                    put(&**second, &format!("{round:06}"), filler);
                    acknowledged.store(round, Ordering::Release);
                }
            });
        }
        scope.spawn(|| {
            let mut number = 0;
            while !is_over.load(Ordering::Relaxed) {
                let name = format!("comes-and-goes-{number}");
                let partition = runtime.block_on(store.open(&name, 0)).unwrap();
                put(&*partition, "k", vec![b'v'; 100]);
                runtime.block_on(store.drop_key_space(&name)).unwrap();
                number += 1;
            }
        });
        for _ in 0..6 {
            while pairs
                .iter()
                .any(|(.., seen)| seen.load(Ordering::Acquire) < (images.len() + 1) * 30)
            {
                std::thread::yield_now();
            }
            let before = pairs.each_ref().map(|(.., seen)| seen.load(Ordering::Acquire));
            images.push((runtime.block_on(store.image()).unwrap(), before));
        }
        is_over.store(true, Ordering::Relaxed);
    });
    runtime.block_on(store.close()).unwrap();
    for (number, (image, before)) in images.iter().enumerate() {
        let place = directory.path().join(format!("image{number}"));
        restore(&**image, &place);
        runtime.block_on(check(&place, before));
    }
}

async fn check(place: &Path, before: &[usize]) {
    let copy = LsmStore::open(place, tiny()).unwrap();
    for (index, before) in before.iter().enumerate() {
        let (first, second) = (
            rounds(&*copy.open(&format!("a{index}"), 0).await.unwrap()).await,
            rounds(&*copy.open(&format!("b{index}"), 0).await.unwrap()).await,
        );
        assert!(first == second || first == second + 1, "{first} and {second}");
        assert!(second >= *before, "{second}: {before} was acknowledged");
    }
    // The copy can be written to, and survives a restart.
    let partition = copy.open("a0", 0).await.unwrap();
    put(&*partition, "after", "all");
    copy.close().await.unwrap();
    drop((partition, copy));
    let copy = open(place);
    let partition = copy.open("a0", 0).await.unwrap();
    assert_eq!(get(&*partition, "after").await.unwrap(), "all");
}

/// The number of rounds in a partition, which must have no gaps.
async fn rounds(partition: &dyn KeySpace) -> usize {
    let mut count = 0;
    while get(partition, &format!("{:06}", count + 1)).await.is_some() {
        count += 1;
    }
    for missing in count + 1..count + 50 {
        assert!(get(partition, &format!("{missing:06}")).await.is_none(), "{missing}");
    }
    count
}

/// Data deleted or rewritten while an image is held stays in the image, and is removed afterwards.
#[tokio::test]
async fn what_goes_meanwhile_stays_in_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let store = LsmStore::open(&path, tiny()).unwrap();
    let (kept, dropped) = (store.open("kept", 0).await.unwrap(), store.open("dropped", 0).await);
    let dropped = dropped.unwrap();
    for number in 0..200 {
        put(&*kept, &format!("{number:03}"), vec![b'v'; 900]);
        put(&*dropped, &format!("{number:03}"), vec![b'v'; 900]);
    }
    let image = store.image().await.unwrap();
    assert!(image.files().iter().any(|file| file.checksum.is_some()), "there are tables");
    for number in 0..200 {
        put(&*kept, &format!("{number:03}"), vec![b'w'; 900]);
    }
    drop(dropped);
    store.drop_key_space("dropped").await.unwrap();
    store.compact(None).await.unwrap();
    // The journals are needed until the image is dropped.
    store.close().await.unwrap();
    let place = directory.path().join("restored");
    restore(&*image, &place);
    let copy = open(&place);
    for name in ["kept", "dropped"] {
        let partition = copy.open(name, 0).await.unwrap();
        for number in 0..200 {
            let value = get(&*partition, &format!("{number:03}")).await.unwrap();
            assert_eq!(value, vec![b'v'; 900], "{name} {number}");
        }
    }
    // Reading twice gives the same.
    for (index, file) in image.files().iter().enumerate() {
        assert_eq!(content(&*image, index, file), content(&*image, index, file));
    }
    drop((image, kept, store));
    let again = open(&path);
    let kept = again.open("kept", 0).await.unwrap();
    assert_eq!(get(&*kept, "000").await.unwrap(), vec![b'w'; 900]);
    assert_eq!(again.key_spaces().await.unwrap(), ["kept"]);
}

/// Tables are the bulk of a store, and the next image reuses those that were not rewritten.
#[tokio::test]
async fn the_next_one_shares_its_tables() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().join("store"));
    let partition = store.open("p", 0).await.unwrap();
    for number in 0..300 {
        put(&*partition, &format!("{number:03}"), vec![b'v'; 1000]);
    }
    store.compact(None).await.unwrap();
    let tables = |image: &Arc<dyn Image>| -> HashSet<(u64, u128)> {
        let files = image.files().iter();
        files.filter_map(|file| Some((file.bytes, file.checksum?))).collect()
    };
    let first = tables(&store.image().await.unwrap());
    assert!(!first.is_empty());
    put(&*partition, "one more", "v");
    let second = store.image().await.unwrap();
    assert!(tables(&second).is_superset(&first), "nothing was rewritten");
    // A journal is not read beyond the instant.
    let journal = |image: &Arc<dyn Image>| {
        let mut files = image.files().iter().enumerate();
        let newest = files.rfind(|(_, file)| file.path.contains(".jnl")).unwrap();
        content(&**image, newest.0, newest.1)
    };
    let before = journal(&second);
    put(&*partition, "later", "v");
    assert_eq!(journal(&second), before);
    let third = journal(&store.image().await.unwrap());
    assert!(third.len() > before.len() && third.starts_with(&before));
}

/// Each partition created or dropped replaces tables of fjall's list of keyspaces.
#[tokio::test]
async fn what_partitions_left_behind_is_not_in_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let store = open(&path);
    for number in 0..40 {
        let partition = store.open(&format!("p{number}"), 0).await.unwrap();
        put(&*partition, "k", format!("{number}"));
        drop(partition);
        if number % 2 == 0 {
            store.drop_key_space(&format!("p{number}")).await.unwrap();
        }
    }
    let there = path.join("keyspaces/0/tables").read_dir().unwrap().count();
    let image = store.image().await.unwrap();
    let tables = image.files().iter().filter(|file| file.path.starts_with("keyspaces/0/tables/"));
    assert!(tables.count() < there.min(4), "of {there}");
    let place = directory.path().join("restored");
    restore(&*image, &place);
    let journal = image.files().iter().find(|file| file.path.contains(".jnl")).unwrap();
    let (journal, aside) = (place.join(&journal.path), directory.path().join("aside"));
    std::fs::rename(&journal, &aside).unwrap();
    let refused = LsmStore::open(&place, Options::default()).map(|_| ());
    assert!(matches!(&refused, Err(Error::Corrupt(why)) if why.contains("0.jnl` is missing")));
    std::fs::rename(&aside, &journal).unwrap();
    let copy = open(&place);
    assert_eq!(copy.key_spaces().await.unwrap().len(), 20);
    let partition = copy.open("p39", 0).await.unwrap();
    assert_eq!(get(&*partition, "k").await.unwrap(), "39");
}

#[tokio::test]
async fn a_closed_store_has_none() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    store.close().await.unwrap();
    assert!(matches!(store.image().await, Err(Error::Closed(_))));
}

#[tokio::test]
async fn a_restore_that_fails_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("below/store");
    let refused = LsmStore::restore(&place, |place| {
        std::fs::write(place.join("version"), "part").unwrap();
        let refused = LsmStore::open(place, Options::default()).map(|_| ());
        assert!(matches!(&refused, Err(Error::Corrupt(why)) if why.contains("interrupted")));
        Err(Error::Io("the disk is full".to_owned()))
    });
    assert!(matches!(refused, Err(Error::Io(_))), "{refused:?}");
    assert!(!directory.path().join("below").try_exists().unwrap());
    std::fs::write(directory.path().join("other"), "work").unwrap();
    let refused = LsmStore::restore(directory.path(), |_| Ok::<(), Error>(()));
    assert!(matches!(refused, Err(Error::Conflict(_))), "{refused:?}");
}
