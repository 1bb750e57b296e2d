//! Checks a database offline: every row has its counterparts, and the counters are right.
//!
//! Rows are checked a page at a time, so memory does not grow with the data.

mod attachments;
mod history;
mod shared;
mod terms;
mod upkeep;

use std::{fmt, ops::Bound, sync::Arc};

use bytes::Bytes;
use catalog::Collection;
use partition::{
    Partition,
    keys::{self, LogicalKey, META_COUNTERS, META_KEY},
    rows::{Counters, Header, KeyCounters, Primary},
};
use protocol::etag::Etag;
use query::{scope::document_key, served::Served};
use store::{Direction, PageLimit, Snapshot};
use value::json;

use crate::{
    OpenError, opening,
    verify::{terms::TermSums, upkeep::Upkeep},
};

/// Problems beyond this many are counted, not listed.
const LISTED_MAX: usize = 100;

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The first problems, one line each.
    pub problems: Vec<String>,
    /// How many problems there are.
    pub problem_count: u64,
    /// Collections checked.
    pub collections: u64,
    /// Partitions checked.
    pub partitions: u64,
    /// Documents checked.
    pub documents: u64,
    /// Bytes of their text.
    pub bytes: u64,
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.problem_count == 0
    }

    fn problems(&mut self, place: &str, problems: Vec<String>) {
        for problem in problems {
            self.problem(place, problem);
        }
    }

    fn problem(&mut self, place: &str, what: impl fmt::Display) {
        self.problem_count += 1;
        if self.problems.len() < LISTED_MAX {
            self.problems.push(format!("{place}: {what}"));
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for problem in &self.problems {
            writeln!(f, "{problem}")?;
        }
        write!(
            f,
            "{} collections, {} partitions, {} documents, {} bytes, {} problems",
            self.collections, self.partitions, self.documents, self.bytes, self.problem_count
        )
    }
}

/// Checks everything in a store that no other process has open. Changes nothing.
pub async fn verify(store: Arc<dyn store::Store>) -> Result<Report, OpenError> {
    let (view, orphans) = opening::inspect(&store).await?;
    let mut report = Report::default();
    if orphans > 0 {
        report.problem(
            "catalog",
            format!("{orphans} rows belong to a deleted collection or database"),
        );
    }
    for collection in view.collections() {
        report.collections += 1;
        for partition in &collection.partitions {
            report.partitions += 1;
            let (snapshot, _) = partition.read()?;
            let place = place(collection, partition);
            let check = Check { collection, partition, snapshot: &*snapshot, place };
            check.run(&mut report).await?;
        }
        shared::check(collection, &mut report).await?;
    }
    Ok(report)
}

/// The name of a partition in a report.
fn place(collection: &Served, partition: &Partition) -> String {
    let Collection { database_id, definition, .. } = &**collection;
    format!("{database_id}/{} range {}", definition.id, partition.range.id)
}

/// The check of one partition.
struct Check<'a> {
    collection: &'a Served,
    partition: &'a Partition,
    snapshot: &'a dyn Snapshot,
    place: String,
}

/// The sums over the documents.
#[derive(Default)]
struct Sums {
    documents: u64,
    bytes: u64,
    lsn_max: u64,
    sequence_max: u64,
}

impl Check<'_> {
    async fn run(&self, report: &mut Report) -> Result<(), OpenError> {
        // Any state is right: a crash may have come just after the catalog's commit.
        if !matches!(self.partition.state().await, Ok(Some(_))) {
            report.problem(&self.place, "the partition has no state row");
        }
        let mut sums = Sums::default();
        let mut terms = TermSums::new(self.snapshot).await?;
        let mut upkeep = Upkeep::default();
        let mut pages = Pages::new(vec![keys::DOCUMENT]);
        while let Some(entries) = pages.next(self.snapshot).await? {
            self.documents(&entries, &mut sums, report).await?;
            let problems = terms.check(self.collection, self.snapshot, &entries).await?;
            report.problems(&self.place, problems);
            let problems = upkeep.check(self.collection, self.snapshot, &entries).await?;
            report.problems(&self.place, problems);
        }
        self.primaries(&sums, report).await?;
        self.feed(&sums, report).await?;
        report.problems(&self.place, attachments::check(self.snapshot).await?);
        let counters = self.counters(&sums, report).await?;
        self.history(&counters, report).await?;
        let problems = terms.finish(self.snapshot, counters.index_bytes).await?;
        report.problems(&self.place, problems);
        report.problems(&self.place, upkeep.finish(self.snapshot).await?);
        report.documents += sums.documents;
        report.bytes += sums.bytes;
        Ok(())
    }

    /// Checks that every document has its primary row, and that both agree.
    async fn documents(
        &self,
        entries: &[(Bytes, Bytes)],
        sums: &mut Sums,
        report: &mut Report,
    ) -> Result<(), OpenError> {
        let mut expected = Vec::new();
        for (key, row) in entries {
            sums.documents += 1;
            match self.expect_primary(key, row) {
                Ok((primary_key, primary)) => {
                    sums.bytes += u64::from(primary.length);
                    sums.lsn_max = sums.lsn_max.max(primary.lsn);
                    let sequence = primary.docnum & keys::SEQUENCE_MAX;
                    sums.sequence_max = sums.sequence_max.max(sequence);
                    expected.push((primary_key, primary));
                }
                Err(problem) => {
                    report.problem(&self.place, format!("document {key:02x?}: {problem}"));
                }
            }
        }
        let wanted: Vec<Bytes> = expected.iter().map(|(key, _)| key.clone()).collect();
        let rows = self.snapshot.get_many(&wanted).await?;
        for ((_, primary), row) in expected.into_iter().zip(rows) {
            let found = row.and_then(|row| Primary::decode(&row).ok());
            if found != Some(primary) {
                let docnum = primary.docnum;
                report.problem(
                    &self.place,
                    format!("document {docnum:015x}: primary row is {found:?}, not {primary:?}"),
                );
            }
        }
        Ok(())
    }

    /// The primary row that a document's row needs.
    fn expect_primary(&self, key: &[u8], row: &Bytes) -> Result<(Bytes, Primary), String> {
        let docnum = keys::u64_at(key, 1).filter(|_| key.len() == 9).ok_or("malformed key")?;
        let (header, text) = Header::decode(row).map_err(|error| error.to_string())?;
        let document = json::parse(&text).map_err(|error| format!("not JSON: {error}"))?;
        let id = document.get("id").as_str().ok_or("no id")?;
        let partition_key = document_key(self.collection, &document);
        let slot = self.collection.slot(&partition_key);
        let epk = || partition_key.effective(self.collection.definition.partition_key.hashing);
        if slot != keys::slot_of(docnum) || !self.partition.range.area.has_key(slot, epk) {
            return Err(format!("slot {slot:06x} does not fit its key or its partition"));
        }
        let etag = document.get("_etag").as_str().and_then(Etag::parse).ok_or("no etag")?;
        let rid = self.collection.rid.document(docnum).to_string();
        if document.get("_rid").as_str() != Some(&rid)
            || document.get("_ts").as_i64().and_then(|ts| u64::try_from(ts).ok()) != Some(header.ts)
        {
            return Err("system properties differ from the row's".to_owned());
        }
        let length = u32::try_from(text.len()).map_err(|_| "too long")?;
        let primary_key = LogicalKey::new(slot, &partition_key).primary(id);
        Ok((primary_key, Primary { docnum, etag, lsn: header.lsn, length }))
    }

    /// Checks that there are as many primary rows as documents (with the check above: one each),
    /// and the counters of each logical key.
    async fn primaries(&self, sums: &Sums, report: &mut Report) -> Result<(), OpenError> {
        let paths = self.collection.definition.partition_key.paths.len();
        let mut count = 0;
        let mut groups = 0;
        let mut group: Option<(Vec<u8>, KeyCounters)> = None;
        let mut done = Vec::new();
        let mut pages = Pages::new(vec![keys::PRIMARY]);
        while let Some(entries) = pages.next(self.snapshot).await? {
            self.key_counters(&std::mem::take(&mut done), report).await?;
            for (key, row) in entries {
                count += 1;
                let logical = keys::logical_part(&key, paths).map(<[u8]>::to_vec);
                let (Some(logical), Ok(primary)) = (logical, Primary::decode(&row)) else {
                    report.problem(&self.place, format!("primary row {key:02x?} is unreadable"));
                    continue;
                };
                let slot = keys::slot_at(&key, 1).unwrap_or(keys::SLOT_COUNT);
                if !self.partition.range.slots.contains(&slot) {
                    report.problem(
                        &self.place,
                        format!("primary row of slot {slot:06x} is out of range"),
                    );
                }
                if group.as_ref().is_none_or(|(current, _)| *current != logical) {
                    groups += 1;
                    done.extend(group.replace((logical, KeyCounters::default())));
                }
                if let Some((_, sum)) = &mut group {
                    sum.documents += 1;
                    sum.bytes += u64::from(primary.length);
                }
            }
        }
        done.extend(group);
        self.key_counters(&done, report).await?;
        if count != sums.documents {
            let documents = sums.documents;
            report.problem(&self.place, format!("{count} primary rows for {documents} documents"));
        }
        let rows = self.count_rows(META_KEY.to_vec()).await?;
        if rows != groups {
            report.problem(&self.place, format!("{rows} key counters for {groups} logical keys"));
        }
        Ok(())
    }

    /// Checks that the counters of some logical keys equal the sums of their primary rows.
    async fn key_counters(
        &self,
        groups: &[(Vec<u8>, KeyCounters)],
        report: &mut Report,
    ) -> Result<(), OpenError> {
        let wanted = groups.iter().map(|(logical, _)| [META_KEY, logical].concat().into());
        let wanted: Vec<Bytes> = wanted.collect();
        let rows = self.snapshot.get_many(&wanted).await?;
        for ((logical, expected), found) in groups.iter().zip(rows) {
            let found = found.and_then(|row| KeyCounters::decode(&row).ok());
            if found != Some(*expected) {
                let problem =
                    format!("key {logical:02x?}: counters are {found:?}, not {expected:?}");
                report.problem(&self.place, problem);
            }
        }
        Ok(())
    }

    /// Checks that each document has one change feed entry, at the LSN of its last write.
    async fn feed(&self, sums: &Sums, report: &mut Report) -> Result<(), OpenError> {
        let mut count = 0;
        let mut pages = Pages::new(vec![keys::FEED]);
        while let Some(entries) = pages.next(self.snapshot).await? {
            count += entries.len() as u64;
            let place = |key: &[u8]| Some((keys::u64_at(key, 1)?, keys::u64_at(key, 9)?));
            let points: Vec<_> = entries.iter().filter_map(|(key, _)| place(key)).collect();
            let wanted: Vec<Bytes> =
                points.iter().map(|(_, number)| keys::document(*number)).collect();
            let rows = self.snapshot.get_many(&wanted).await?;
            for ((lsn, docnum), row) in points.into_iter().zip(rows) {
                let header = row.and_then(|row| Header::decode(&row).ok());
                if header.map(|(header, _)| header.lsn) != Some(lsn) {
                    let problem =
                        format!("feed entry at {lsn} is not document {docnum:015x}'s last");
                    report.problem(&self.place, problem);
                }
            }
        }
        if count != sums.documents {
            let documents = sums.documents;
            report.problem(&self.place, format!("{count} feed entries for {documents} documents"));
        }
        Ok(())
    }

    async fn counters(&self, sums: &Sums, report: &mut Report) -> Result<Counters, OpenError> {
        let rows = self.snapshot.get_many(&[Bytes::from_static(META_COUNTERS)]).await?;
        let counters = match rows.into_iter().next().flatten() {
            Some(row) => Counters::decode(&row)?,
            None => Counters::default(),
        };
        if (counters.documents, counters.bytes) != (sums.documents, sums.bytes) {
            let problem = format!(
                "counters say {} documents of {} bytes, there are {} of {}",
                counters.documents, counters.bytes, sums.documents, sums.bytes
            );
            report.problem(&self.place, problem);
        }
        let is_behind = counters.last_lsn < sums.lsn_max
            || sums.documents > 0 && counters.next_sequence <= sums.sequence_max;
        if is_behind {
            report.problem(&self.place, "counters are behind the documents");
        }
        Ok(counters)
    }

    async fn count_rows(&self, prefix: Vec<u8>) -> Result<u64, OpenError> {
        let mut count = 0;
        let mut pages = Pages::new(prefix);
        while let Some(entries) = pages.next(self.snapshot).await? {
            count += entries.len() as u64;
        }
        Ok(count)
    }
}

/// The rows under a prefix, a page at a time.
struct Pages {
    start: Bound<Bytes>,
    end: Bound<Bytes>,
    is_done: bool,
}

impl Pages {
    fn new(prefix: Vec<u8>) -> Self {
        let mut end = prefix.clone();
        if let Some(last) = end.last_mut() {
            // Prefixes are letters, so there is a next one.
            *last += 1;
        }
        Self {
            start: Bound::Included(prefix.into()),
            end: Bound::Excluded(end.into()),
            is_done: false,
        }
    }

    async fn next(
        &mut self,
        snapshot: &dyn Snapshot,
    ) -> Result<Option<Vec<(Bytes, Bytes)>>, OpenError> {
        if self.is_done {
            return Ok(None);
        }
        let limit = PageLimit { entries: 256, bytes: 4 << 20 };
        let range = (self.start.clone(), self.end.clone());
        let page = snapshot.scan(range, Direction::Forward, limit).await?;
        self.is_done = !page.has_more;
        if let Some((key, _)) = page.entries.last() {
            self.start = Bound::Excluded(key.clone());
        }
        Ok(Some(page.entries))
    }
}
