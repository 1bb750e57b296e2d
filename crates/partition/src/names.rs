//! The ids of paths in a partition's index. An id is the beginning of its path's hash. `N` rows
//! record which path an id stands for; on a collision the second path gets another id, so terms stay
//! exact. An id is never given up, so a path has all ids before its own taken by others.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard},
};

use bytes::Bytes;
use foldhash::fast::RandomState;
use index::{Path, PathIds, Segment, Step, key, path_hash};
use protocol::Error;
use store::{Batch, Snapshot};

use crate::{Partition, errors, keys, room::Permit, rows::Damaged};

/// How many paths are cached. Above this the cache is cleared and read again.
const KNOWN_MAX: usize = 65_536;

/// A cache of the ids that a partition has given to paths.
#[derive(Debug, Default)]
pub struct Names {
    known: RwLock<Known>,
    /// Serializes giving ids, so that two paths with the same hash do not both take it.
    naming: tokio::sync::Mutex<()>,
}

/// The cached ids.
#[derive(Debug, Default)]
struct Known {
    /// By first hash, nearly always with a single path each.
    by_hash: HashMap<u64, Vec<(Path, u64)>, RandomState>,
    /// The first hash of the path with each id.
    hashes: HashMap<u64, u64, RandomState>,
}

impl Known {
    /// The path with this id.
    fn owner(&self, id: u64) -> Option<&Path> {
        let mut paths = self.by_hash.get(self.hashes.get(&id)?)?.iter();
        paths.find(|(_, given)| *given == id).map(|(path, _)| path)
    }
}

/// Answers from the cache and collects the paths that are not in it.
pub(crate) struct Lookup<'a> {
    known: RwLockReadGuard<'a, Known>,
    /// Paths that are not cached; the ids returned for them are guesses.
    pub(crate) unknown: Vec<Path>,
}

impl PathIds for Lookup<'_> {
    fn id(&mut self, path: &[Step<'_>], hash: u64) -> u64 {
        let paths = self.known.by_hash.get(&hash).map_or(&[][..], Vec::as_slice);
        if let Some((_, id)) = paths.iter().find(|(known, _)| known.takes(path)) {
            return *id;
        }
        self.unknown.push(Path::of_steps(path));
        key::id(hash)
    }
}

impl Names {
    /// For computing terms. Afterwards, [give](Self::give) the unknown paths ids and recompute the
    /// terms.
    pub(crate) fn lookup(&self) -> Lookup<'_> {
        Lookup { known: self.known(), unknown: Vec::new() }
    }

    /// Gives each path an id and writes it to the store, before the terms that use it. May clear
    /// the cache, if allowed.
    pub(crate) async fn give(
        &self,
        partition: &Arc<Partition>,
        paths: &[Path],
        may_forget: bool,
    ) -> Result<(), Error> {
        let _turn = self.naming.lock().await;
        if may_forget && self.known().hashes.len() > KNOWN_MAX {
            // Written ids must be readable before the cache forgets them.
            partition.drain_patiently().await?;
            *self.known.write().unwrap_or_else(PoisonError::into_inner) = Known::default();
        }
        let (snapshot, _) = partition.read()?;
        let mut batch = Batch::default();
        let mut given: HashMap<u64, &Path> = HashMap::new();
        let mut open: Vec<&Path> = paths.iter().collect();
        for attempt in 0.. {
            if open.is_empty() {
                break;
            }
            let ids: Vec<u64> = open.iter().map(|path| id(path, attempt)).collect();
            let owners = self.owners(&*snapshot, &ids).await?;
            let mut taken = Vec::new();
            for ((path, id), owner) in open.into_iter().zip(ids).zip(&owners) {
                match given.get(&id).copied().or(owner.as_ref()) {
                    Some(owner) if owner == path => {}
                    Some(_) => {
                        taken.push(path);
                        continue;
                    }
                    None => batch.put(keys::name(id), encode(path)),
                }
                given.insert(id, path);
            }
            open = taken;
        }
        if !batch.changes.is_empty() {
            // No need to wait: batches queued later are published later.
            let permit = Permit::for_upkeep(partition, &batch).await?;
            let _published = partition.maintain(batch, Vec::new(), (0, 0), Some(permit))?;
        }
        // Cache the ids only now: a cached id must already be queued.
        for (id, path) in given {
            self.remember(path_hash(path.steps(), 0), path.clone(), id);
        }
        Ok(())
    }

    /// The id of a path, if it is cached.
    pub fn remembered(&self, path: &Path) -> Option<u64> {
        let hash = path_hash(path.steps(), 0);
        self.known().by_hash.get(&hash)?.iter().find(|(known, _)| known == path).map(|(_, id)| *id)
    }

    /// Caches ids that a reader has found in the store, unless there are many already.
    pub fn learn(&self, found: &HashMap<Path, u64>) {
        if self.known().hashes.len() >= KNOWN_MAX {
            return;
        }
        for (path, id) in found {
            self.remember(path_hash(path.steps(), 0), path.clone(), *id);
        }
    }

    /// The paths that own these ids, cached (perhaps not yet readable in the store) or stored.
    async fn owners(
        &self,
        snapshot: &dyn Snapshot,
        ids: &[u64],
    ) -> Result<Vec<Option<Path>>, Error> {
        let mut owners: Vec<Option<Path>> = {
            let known = self.known();
            ids.iter().map(|id| known.owner(*id).cloned()).collect()
        };
        let unknown: Vec<usize> = (0..ids.len()).filter(|at| owners[*at].is_none()).collect();
        let wanted: Vec<u64> = unknown.iter().map(|at| ids[*at]).collect();
        for (at, owner) in unknown.into_iter().zip(stored(snapshot, &wanted).await?) {
            owners[at] = owner;
        }
        Ok(owners)
    }

    fn known(&self) -> RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember(&self, hash: u64, path: Path, id: u64) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.hashes.insert(id, hash).is_none() {
            known.by_hash.entry(hash).or_default().push((path, id));
        }
    }
}

/// The id that a path gets if those of all earlier attempts are taken.
fn id(path: &Path, attempt: u32) -> u64 {
    key::id(path_hash(path.steps(), attempt))
}

/// Looks up the stored ids of some paths for a reader. Omits paths that no document of the
/// partition has.
pub async fn find(snapshot: &dyn Snapshot, paths: Vec<Path>) -> Result<HashMap<Path, u64>, Error> {
    let mut found = HashMap::new();
    let mut open = paths;
    for attempt in 0.. {
        if open.is_empty() {
            break;
        }
        let ids: Vec<u64> = open.iter().map(|path| id(path, attempt)).collect();
        let owners = stored(snapshot, &ids).await?;
        let mut taken = Vec::new();
        for ((path, id), owner) in open.into_iter().zip(ids).zip(owners) {
            match owner {
                Some(owner) if owner == path => {
                    found.insert(path, id);
                }
                Some(_) => taken.push(path),
                None => {}
            }
        }
        open = taken;
    }
    Ok(found)
}

/// The paths that own these ids according to the stored rows.
async fn stored(snapshot: &dyn Snapshot, ids: &[u64]) -> Result<Vec<Option<Path>>, Error> {
    let wanted: Vec<Bytes> = ids.iter().map(|id| keys::name(*id)).collect();
    let rows = snapshot.get_many(&wanted).await.map_err(errors::from_store)?;
    let path = |row: Bytes| decode(&row).ok_or_else(|| errors::from_damaged(Damaged("N")));
    rows.into_iter().map(|row| row.map(path).transpose()).collect()
}

/// Encodes a path: `FF` before each property name, `FE` for each array; neither occurs in UTF-8.
fn encode(path: &Path) -> Bytes {
    let mut out = Vec::new();
    for step in path.steps() {
        match step {
            Step::Key(name) => {
                out.push(0xFF);
                out.extend_from_slice(name.as_bytes());
            }
            Step::Element => out.push(0xFE),
        }
    }
    out.into()
}

/// Decodes the path in an `N` row.
pub fn decode(bytes: &[u8]) -> Option<Path> {
    let mut segments = Vec::new();
    let mut rest = bytes;
    while let Some((mark, tail)) = rest.split_first() {
        let end = tail.iter().position(|byte| *byte >= 0xFE).unwrap_or(tail.len());
        let (name, next) = tail.split_at(end);
        segments.push(match mark {
            0xFF => Segment::Key(std::str::from_utf8(name).ok()?.to_owned()),
            0xFE if name.is_empty() => Segment::Element,
            _ => return None,
        });
        rest = next;
    }
    Some(Path(segments))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_read_back() {
        let key = |name: &str| Segment::Key(name.to_owned());
        for segments in [
            vec![key("a")],
            vec![key("a"), Segment::Element, Segment::Element, key("é\0b")],
            vec![key(""), key("")],
        ] {
            let path = Path(segments);
            assert_eq!(decode(&encode(&path)), Some(path));
        }
        for damaged in [&b"a"[..], b"\xFE\x61", b"\xFF\x80"] {
            assert_eq!(decode(damaged), None);
        }
    }

    #[test]
    fn readers_remember_what_they_found_up_to_a_limit() {
        let names = Names::default();
        let path = |number: usize| Path(vec![Segment::Key(number.to_string())]);
        assert_eq!(names.remembered(&path(0)), None);
        for number in 0..KNOWN_MAX + 2 {
            names.learn(&HashMap::from([(path(number), number as u64)]));
        }
        assert_eq!(names.remembered(&path(0)), Some(0));
        assert_eq!(names.remembered(&path(KNOWN_MAX - 1)), Some(KNOWN_MAX as u64 - 1));
        assert_eq!(names.remembered(&path(KNOWN_MAX)), None);
    }
}
