//! Checks the rows that documents have besides their terms: those of their expiry and of their
//! unique keys.

use bytes::Bytes;
use partition::{
    keys::{self, LogicalKey, UNIQUE, u64_at},
    rows::Header,
};
use query::{scope::document_key, served::Served};
use store::Snapshot;
use value::json;

use crate::{
    OpenError,
    documents::{
        twins::{self, Holder},
        unique,
    },
    verify::Pages,
};

/// What the check has found so far.
#[derive(Default)]
pub(super) struct Upkeep {
    /// Number of unique-key rows that name a document with their values, or one that waits for
    /// them.
    unique: u64,
}

impl Upkeep {
    /// Checks that some documents have their rows; returns the problems, one line each. Documents
    /// that are not re-indexed yet may lack them.
    pub(super) async fn check(
        &mut self,
        collection: &Served,
        snapshot: &dyn Snapshot,
        documents: &[(Bytes, Bytes)],
    ) -> Result<Vec<String>, OpenError> {
        let mut problems = Vec::new();
        let definition = &collection.definition;
        // The documents that need rows, and those rows.
        let (mut expiring, mut expiries) = (Vec::new(), Vec::new());
        let (mut holders, mut uniques) = (Vec::new(), Vec::new());
        for (row_key, row) in documents {
            let (Some(number), Ok((header, text))) = (u64_at(row_key, 1), Header::decode(row))
            else {
                continue;
            };
            let is_current = header.index_generation == collection.index_generation;
            if is_current && let Some(expiry) = header.expiry(definition.default_ttl) {
                expiring.push(number);
                expiries.push(keys::expiry(expiry, number));
            }
            if definition.unique_keys.is_empty() {
                continue;
            }
            let Ok(document) = json::parse(&text) else { continue };
            let key = document_key(collection, &document);
            let key = LogicalKey::new(collection.slot(&key), &key);
            let rows = unique::rows(definition, &key, &document);
            holders.extend(rows.iter().map(|_| (number, is_current)));
            uniques.extend(rows);
        }
        for (number, row) in expiring.iter().zip(snapshot.get_many(&expiries).await?) {
            if row.is_none() {
                problems.push(format!("document {number:015x}: no expiry row"));
            }
        }
        let found = snapshot.get_many(&uniques).await?;
        for ((key, (number, is_current)), row) in uniques.iter().zip(holders).zip(found) {
            match row.map(|row| Holder::decode(&row)) {
                Some(Ok(holder)) if holder.number == number => self.unique += 1,
                Some(Ok(Holder { number: holder, .. })) => {
                    let waits = snapshot.get_many(&[twins::twin(key, number)]).await?;
                    self.unique += waits.iter().flatten().count() as u64;
                    problems.push(format!(
                        "document {number:015x}: its unique key is document {holder:015x}'s"
                    ));
                }
                _ if is_current => {
                    problems.push(format!("document {number:015x}: no unique key row"));
                }
                _ => {}
            }
        }
        Ok(problems)
    }

    /// Checks that there are no other rows of unique keys.
    pub(super) async fn finish(&self, snapshot: &dyn Snapshot) -> Result<Vec<String>, OpenError> {
        let mut rows = 0;
        let mut pages = Pages::new(vec![UNIQUE]);
        while let Some(page) = pages.next(snapshot).await? {
            rows += page.len() as u64;
        }
        let Self { unique } = self;
        let problem = || format!("{rows} unique key rows, documents have {unique}");
        Ok((rows != *unique).then(problem).into_iter().collect())
    }
}
