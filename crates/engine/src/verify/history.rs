//! Checks the change history: each row is readable and in its place, each document's last change is
//! there as far as the history reaches, and versions follow one another.

use bytes::Bytes;
use value::json;

use super::{Check, OpenError, Pages, Report};
use partition::{
    keys::{self, META_HISTORY},
    position::Position,
    rows::{ChangeKind, Counters, Header, HistoryRow},
};
use query::scope::document_key;

impl Check<'_> {
    pub(super) async fn history(
        &self,
        counters: &Counters,
        report: &mut Report,
    ) -> Result<(), OpenError> {
        let rows = self.snapshot.get_many(&[Bytes::from_static(META_HISTORY)]).await?;
        let reach = match rows.into_iter().next().flatten() {
            None => None,
            Some(row) => match Position::decode(&row) {
                None => {
                    report.problem(&self.place, "the reach of the history is unreadable");
                    return Ok(());
                }
                reach => reach,
            },
        };
        let mut pages = Pages::new(vec![keys::HISTORY]);
        while let Some(entries) = pages.next(self.snapshot).await? {
            for (key, row) in entries {
                if let Err(problem) = self.change(&key, &row, counters) {
                    report.problem(&self.place, format!("history row {key:02x?}: {problem}"));
                }
            }
        }
        match reach {
            Some(reach) => self.last_changes(&reach, report).await,
            None => Ok(()),
        }
    }

    /// Checks one row by itself.
    fn change(&self, key: &[u8], row: &Bytes, counters: &Counters) -> Result<(), String> {
        let place = keys::u64_at(key, 1).zip(keys::u64_at(key, 9)).filter(|_| key.len() == 17);
        let (lsn, number) = place.ok_or("malformed key")?;
        let row = HistoryRow::decode(row).map_err(|error| error.to_string())?;
        let document = json::parse(row.document()).map_err(|error| format!("not JSON: {error}"))?;
        let key = document_key(self.collection, &document);
        let slot = self.collection.slot(&key);
        let epk = || key.effective(self.collection.definition.partition_key.hashing);
        if slot != keys::slot_of(number) || !self.partition.range.area.has_key(slot, epk) {
            return Err(format!("slot {slot:06x} does not fit its key or its partition"));
        }
        if lsn > counters.last_lsn || row.previous_lsn >= lsn {
            return Err(format!("its LSN {lsn} is out of order"));
        }
        let has_previous = !row.previous.is_empty();
        let is_create = row.kind == ChangeKind::Create;
        if has_previous == is_create || has_previous != (row.previous_lsn > 0) {
            return Err("its versions do not match its operation".to_owned());
        }
        Ok(())
    }

    /// Checks that the history has every feed entry that is within its reach.
    async fn last_changes(&self, reach: &Position, report: &mut Report) -> Result<(), OpenError> {
        let mut pages = Pages::new(vec![keys::DOCUMENT]);
        while let Some(entries) = pages.next(self.snapshot).await? {
            let mut expected = Vec::new();
            for (key, row) in &entries {
                let (Some(number), Ok((header, text))) =
                    (keys::u64_at(key, 1), Header::decode(row))
                else {
                    continue;
                };
                // Each part of the range has its own reach; the latest is good enough for a check.
                let farthest = reach.within(&self.partition.range.area).iter().map(|it| it.1).max();
                if farthest.is_none_or(|farthest| header.lsn > farthest) {
                    expected.push((keys::change(keys::HISTORY, header.lsn, number), text));
                }
            }
            let wanted: Vec<Bytes> = expected.iter().map(|(key, _)| key.clone()).collect();
            let rows = self.snapshot.get_many(&wanted).await?;
            for ((key, text), row) in expected.into_iter().zip(rows) {
                let row = row.and_then(|row| HistoryRow::decode(&row).ok());
                if row.is_none_or(|row| row.current != text) {
                    let problem = format!("the history lacks a document's last change {key:02x?}");
                    report.problem(&self.place, problem);
                }
            }
        }
        Ok(())
    }
}
