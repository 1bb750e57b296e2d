//! Checks attachments: each belongs to an existing document, is in its list, and has the media that
//! the list says.

use bytes::Bytes;
use store::Snapshot;

use super::Pages;
use partition::{
    attachments::{Attachment, List},
    keys,
};

use crate::OpenError;

/// The problems with the attachments of a partition.
pub(super) async fn check(snapshot: &dyn Snapshot) -> Result<Vec<String>, OpenError> {
    let mut problems = Vec::new();
    let mut pages = Pages::new(vec![keys::ATTACHMENT]);
    while let Some(entries) = pages.next(snapshot).await? {
        for (key, row) in &entries {
            let document = keys::u64_at(key, 1).unwrap_or(u64::MAX);
            let problem = match key.len() {
                9 => list(snapshot, document, row).await?,
                13 => member(snapshot, document, key, Some(row)).await?,
                _ => Some("malformed key"),
            };
            note(&mut problems, key, problem);
        }
    }
    let mut pages = Pages::new(vec![keys::MEDIA]);
    while let Some(entries) = pages.next(snapshot).await? {
        for (key, _) in &entries {
            let document = keys::u64_at(key, 1).unwrap_or(u64::MAX);
            let problem = match key.len() {
                13 => member(snapshot, document, key, None).await?,
                _ => Some("malformed key"),
            };
            note(&mut problems, key, problem);
        }
    }
    Ok(problems)
}

fn note(problems: &mut Vec<String>, key: &[u8], problem: Option<&'static str>) {
    if let Some(problem) = problem {
        problems.push(format!("attachment row {key:02x?}: {problem}"));
    }
}

/// Checks the list of a document: the document exists, and so does everything that the list names.
async fn list(
    snapshot: &dyn Snapshot,
    document: u64,
    row: &[u8],
) -> Result<Option<&'static str>, OpenError> {
    let Ok(list) = List::decode(row) else { return Ok(Some("unreadable")) };
    let mut wanted = vec![keys::document(document)];
    wanted.extend(list.entries.iter().map(|entry| keys::attachment(document, entry.number)));
    let rows = snapshot.get_many(&wanted).await?;
    if rows.iter().any(Option::is_none) {
        return Ok(Some("its document, or an attachment that it names, is missing"));
    }
    for entry in &list.entries {
        let rows = snapshot.get_many(&[keys::media(document, entry.number)]).await?;
        let length = rows.into_iter().next().flatten().map(|media| media.len());
        if length != entry.media.map(|length| length as usize) || entry.number >= list.next {
            return Ok(Some("an attachment, or its media, differ from the list"));
        }
    }
    Ok(None)
}

/// Checks that the list names an attachment, or media that have no attachment row.
async fn member(
    snapshot: &dyn Snapshot,
    document: u64,
    key: &[u8],
    row: Option<&Bytes>,
) -> Result<Option<&'static str>, OpenError> {
    if row.is_some_and(|row| Attachment::decode(row).is_err()) {
        return Ok(Some("unreadable"));
    }
    let rows = snapshot.get_many(&[keys::attachments(document)]).await?;
    let list = rows.into_iter().next().flatten().and_then(|row| List::decode(&row).ok());
    let is_named = list.is_some_and(|list| {
        list.entries.iter().any(|entry| key.ends_with(&entry.number.to_be_bytes()))
    });
    Ok((!is_named).then_some("no list names it"))
}
