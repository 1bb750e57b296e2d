//! Checks the index against the documents: every term that a document needs is there, and no other.

use std::collections::HashMap;

use bytes::Bytes;
use index::{Kind, Path, PathIds, Step, key, older};
use partition::{
    keys::{self, u64_at},
    names,
    rows::{Damaged, Header},
    terms::{Indexed, index_row, row_bytes, terms_with},
};
use query::served::Served;
use store::Snapshot;
use value::json;

use crate::{OpenError, verify::Pages};

/// The ids of paths in the partition's rows.
#[derive(Default)]
pub(super) struct Ids {
    by_path: HashMap<Path, u64>,
    /// Number of paths that documents have and no row names.
    missing: u64,
}

impl PathIds for Ids {
    fn id(&mut self, path: &[Step<'_>], hash: u64) -> u64 {
        let path = Path::of_steps(path);
        if let Some(id) = self.by_path.get(&path) {
            return *id;
        }
        self.missing += 1;
        key::id(hash)
    }
}

/// The sums over a partition's index.
#[derive(Default)]
pub(super) struct TermSums {
    ids: Ids,
    terms: u64,
    bytes: u64,
}

impl TermSums {
    pub(super) async fn new(snapshot: &dyn Snapshot) -> Result<Self, OpenError> {
        let mut sums = Self::default();
        let mut pages = Pages::new(vec![keys::NAME]);
        while let Some(entries) = pages.next(snapshot).await? {
            for (key, row) in &entries {
                let id = key::id_at(key).ok_or(Damaged("N"))?;
                let path = names::decode(row).ok_or(Damaged("N"))?;
                sums.ids.by_path.insert(path, id);
            }
        }
        Ok(sums)
    }

    /// Checks that the terms of some documents are there; returns the problems, one line each.
    pub(super) async fn check(
        &mut self,
        collection: &Served,
        snapshot: &dyn Snapshot,
        documents: &[(Bytes, Bytes)],
    ) -> Result<Vec<String>, OpenError> {
        let mut problems = Vec::new();
        for (row_key, row) in documents {
            let (Some(number), Ok((header, text))) = (u64_at(row_key, 1), Header::decode(row))
            else {
                continue;
            };
            let Ok(document) = json::parse(&text) else { continue };
            let policy = &collection.policy_of(header.index_generation);
            let directive = header.directive;
            let version = Indexed { document: &document, policy, directive };
            let terms = terms_with(&version, &mut self.ids);
            let (wanted, values): (Vec<Bytes>, Vec<Bytes>) =
                terms.iter().map(|term| index_row(term, number)).unzip();
            self.terms += wanted.len() as u64;
            let bytes = wanted.iter().zip(&values).map(|(key, value)| row_bytes(key, value));
            self.bytes += bytes.sum::<u64>();
            let found = snapshot.get_many(&wanted).await?;
            let is_other =
                |(found, value): &(&Option<Bytes>, &Bytes)| found.as_ref() != Some(value);
            let missing = found.iter().zip(&values).filter(is_other).count();
            if missing > 0 {
                problems.push(format!("document {number:015x}: {missing} index entries missing"));
            }
        }
        Ok(problems)
    }

    /// Checks that there are no other entries, and the counter of their bytes.
    pub(super) async fn finish(
        &self,
        snapshot: &dyn Snapshot,
        counted_bytes: u64,
    ) -> Result<Vec<String>, OpenError> {
        let mut problems = Vec::new();
        let mut entries = 0;
        // An upgrade leaves none of the older ones behind.
        for prefix in Kind::ALL.map(Kind::prefix).into_iter().chain(older::PREFIXES) {
            let mut pages = Pages::new(vec![prefix]);
            while let Some(page) = pages.next(snapshot).await? {
                entries += page.len() as u64;
            }
        }
        let Self { ids, terms, bytes } = self;
        if entries != *terms {
            problems.push(format!("{entries} index entries, but the documents need {terms}"));
        }
        if ids.missing > 0 {
            problems.push(format!("{} index paths have no name", ids.missing));
        }
        if counted_bytes != *bytes {
            problems
                .push(format!("counters say {counted_bytes} bytes of index, there are {bytes}"));
        }
        Ok(problems)
    }
}
