use std::{
    fs,
    io::{Cursor, Read},
    path::{Path, PathBuf},
};

use xxhash_rust::xxh3::xxh3_128;

use super::*;
use crate::backup::restore;

/// Files in memory. One of them can fail to be read, or have a wrong checksum.
struct Files {
    list: Vec<ImageFile>,
    contents: Vec<Vec<u8>>,
    broken: Option<usize>,
}

impl Files {
    fn new(files: &[(&str, &[u8])]) -> Self {
        let list = files.iter().map(|(path, content)| ImageFile {
            path: (*path).to_owned(),
            bytes: content.len() as u64,
            checksum: path.contains("tables").then(|| xxh3_128(content)),
        });
        let contents = files.iter().map(|(_, content)| content.to_vec()).collect();
        Self { list: list.collect(), contents, broken: None }
    }
}

impl Image for Files {
    fn files(&self) -> &[ImageFile] {
        &self.list
    }

    fn pause(&self) -> Duration {
        Duration::from_millis(1)
    }

    fn open(&self, index: usize) -> store::Result<Box<dyn Read + Send + '_>> {
        if self.broken == Some(index) {
            return Err(store::Error::Io("no space left on device".to_owned()));
        }
        Ok(Box::new(Cursor::new(&self.contents[index])))
    }
}

fn claim(scratch: &Path) -> (Series, PathBuf) {
    let place = scratch.join("backups");
    (Series::claim(&place, &scratch.join("data")).unwrap(), place)
}

fn count(place: &Path) -> usize {
    fs::read_dir(place.join("files")).unwrap().count()
}

fn written(image: &Files, series: &Series) -> Summary {
    tidy(series, None, write(image, series, 0, &Progress::default()).unwrap())
}

#[test]
fn only_new_files_are_copied() {
    let scratch = tempfile::tempdir().unwrap();
    let (series, place) = claim(scratch.path());
    let first = Files::new(&[("version", b"3"), ("k/tables/1", b"one"), ("0.jnl", b"j")]);
    let summary = written(&first, &series);
    assert_eq!((summary.files, summary.bytes), (3, 5));
    assert_eq!((summary.copied_files, summary.copied_bytes), (3, 5));
    // A table that the series already has is not even opened. Its number can be reused for another
    // table.
    let mut second =
        Files::new(&[("version", b"3"), ("k/tables/9", b"one"), ("k/tables/1", b"two!")]);
    second.broken = Some(1);
    let summary = written(&second, &series);
    assert_eq!((summary.files, summary.bytes), (3, 8));
    assert_eq!((summary.copied_files, summary.copied_bytes), (1, 4));
    assert_eq!(
        summary.to_string(),
        "0002-19700101T000000Z: 3 files, 8 bytes; copied 1 files, 4 bytes; writes waited for 1.0 ms"
    );
    assert_eq!(count(&place), 4);
    let names = series.names().unwrap();
    let table = |name: &str, path: &str| {
        let to = scratch.path().join("out");
        restore::files(&series, &series.find(Some(name)).unwrap(), &to).unwrap();
        let content = fs::read_to_string(to.join(path)).unwrap();
        fs::remove_dir_all(to).unwrap();
        content
    };
    assert_eq!(table(&names[0].to_string(), "k/tables/1"), "one");
    assert_eq!(table(&names[1].to_string(), "k/tables/1"), "two!");
    // The oldest backup is removed, with the files that only it needed.
    let summary = tidy(&series, Some(1), summary);
    assert_eq!((summary.removed, summary.warning.as_deref()), (1, None));
    assert_eq!((count(&place), series.names().unwrap().len()), (3, 1));
    assert_eq!(table(&names[1].to_string(), "k/tables/9"), "one");
}

#[test]
fn a_failed_one_leaves_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    let (series, place) = claim(scratch.path());
    written(&Files::new(&[("k/tables/1", b"one")]), &series);
    let mut image = Files::new(&[("k/tables/1", b"one"), ("new", b"new"), ("other", b"other")]);
    image.broken = Some(2);
    let error = format!("{:#}", write(&image, &series, 0, &Progress::default()).unwrap_err());
    assert!(error.contains("`other`") && error.contains("no space left"), "{error}");
    assert_eq!((count(&place), series.names().unwrap().len()), (1, 1));
    image.broken = None;
    let stopped = Progress::default();
    stopped.is_cancelled.store(true, Ordering::Relaxed);
    let error = format!("{:#}", write(&image, &series, 0, &stopped).unwrap_err());
    assert!(error.contains("stopped"), "{error}");
    image.list[2].bytes += 1;
    let error = format!("{:#}", write(&image, &series, 0, &Progress::default()).unwrap_err());
    assert!(error.contains("5 bytes instead of 6"), "{error}");
    image.list[2] = ImageFile { bytes: 5, checksum: Some(7), ..image.list[2].clone() };
    let error = format!("{:#}", write(&image, &series, 0, &Progress::default()).unwrap_err());
    assert!(error.contains("damaged"), "{error}");
    assert_eq!((count(&place), series.names().unwrap().len()), (1, 1));
}

/// A killed process leaves files that belong to no backup.
#[test]
fn what_a_kill_left_is_used_or_removed() {
    let scratch = tempfile::tempdir().unwrap();
    let (series, place) = claim(scratch.path());
    let image = Files::new(&[("k/tables/1", b"one"), ("k/tables/2", b"two")]);
    for content in [&b"one"[..], b"lost"] {
        let put = series.pool.put(content, content.len() as u64, None, &mut |_| Ok(()));
        assert_eq!(put.unwrap().1, Put::Copied);
    }
    assert!(series.names().unwrap().is_empty());
    let summary = written(&image, &series);
    assert_eq!((summary.copied_files, count(&place)), (1, 2));
}

#[test]
fn damage_is_found() {
    let scratch = tempfile::tempdir().unwrap();
    let (series, place) = claim(scratch.path());
    let image = Files::new(&[("k/tables/1", b"one"), ("version", b"3")]);
    let name = written(&image, &series).name;
    let manifest = series.find(Some(&name)).unwrap();
    let id = manifest.files[0].id;
    assert_eq!(series.pool.problem(id), None);
    let path = place.join("files").join(id.to_string());
    fs::write(&path, "onf").unwrap();
    assert!(series.pool.problem(id).unwrap().contains("damaged"));
    let error = restore::files(&series, &manifest, &scratch.path().join("out")).unwrap_err();
    assert!(format!("{error:#}").contains("damaged"), "{error:#}");
    // The next backup copies the file again once it is removed.
    fs::remove_file(&path).unwrap();
    assert!(series.pool.problem(id).is_some());
    assert_eq!(written(&image, &series).copied_files, 1);
    assert_eq!(series.pool.problem(id), None);
    // While a list is unreadable, nothing is removed.
    let newest = series.names().unwrap().pop().unwrap();
    fs::write(place.join("backups").join(newest.to_string()), "sheaf backup 1\n").unwrap();
    assert!(series.prune(1).is_err());
    assert_eq!((count(&place), series.names().unwrap().len()), (2, 2));
}

#[test]
fn sizes_are_for_people() {
    for (bytes, text) in [(0, "0 bytes"), (1_500, "1.5 kB"), (2_000_000, "2.0 MB")] {
        assert_eq!(size(bytes), text);
    }
    assert_eq!(size(12_340_000_000), "12.34 GB");
}
