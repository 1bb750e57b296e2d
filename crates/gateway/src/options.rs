//! Reads from the headers the options that any operation may have.

use hyper::http::request::Parts;
use protocol::{
    Code, Error, Options,
    limits::{PAGE_ITEMS_MAX, TOKEN_SECONDS, TOKEN_SECONDS_DEFAULT},
    query::QueryOptions,
    request::{ConsistencyLevel, IndexingDirective},
    rid::CollectionRid,
    session::SessionTokens,
};
use value::partition_key::{Epk, PartitionKey};

use crate::{
    headers::{Filtered, Lookup, agent, flag, integer, invalid, optional_flag, text},
    query::{self, Kind},
    settings::Settings,
    version::Version,
};

/// Reads all options. Refuses a value that it does not understand, and never guesses.
pub(crate) fn read(
    parts: &Parts,
    headers: &Filtered<'_>,
    version: Version,
    settings: &Settings,
) -> Result<Options, Error> {
    check_throughput_bucket(headers)?;
    let owned = |name| Ok::<_, Error>(text(headers, name)?.map(str::to_owned));
    Ok(Options {
        if_match: owned("if-match")?,
        if_none_match: owned("if-none-match")?,
        partition_key: partition_key(headers)?,
        range_id: range_id(headers)?.map(str::to_owned),
        range_collection: range_collection(headers)?,
        keeps_old_ranges: keeps_old_ranges(headers),
        epk_range: epk_range(headers)?,
        max_item_count: max_item_count(headers)?,
        continuation: continuation(headers),
        consistency: consistency(headers, settings.default_consistency)?,
        session: session(headers)?,
        intended_collection_rid: owned("x-ms-cosmos-intended-collection-rid")?,
        minimal_response: wants_minimal_response(headers)?,
        populate_quota: flag(headers, "x-ms-documentdb-populatequotainfo")?,
        hides_usage: false,
        hides_system_key: version.hides_system_key(),
        keeps_legacy_indexes: version.keeps_legacy_indexes(),
        populate_statistics: flag(headers, "x-ms-documentdb-populatepartitionstatistics")?,
        indexing_directive: indexing_directive(headers)?,
        // Triggers run only if a header includes them, so the headers that exclude triggers change
        // nothing.
        pre_triggers: list(headers, "x-ms-documentdb-pre-trigger-include")?,
        post_triggers: list(headers, "x-ms-documentdb-post-trigger-include")?,
        enable_script_logging: flag(headers, "x-ms-documentdb-script-enable-logging")?,
        // JavaScript sends some of the query headers with every request.
        query: match Kind::read(&parts.method, headers)? {
            Kind::Plain | Kind::Batch => QueryOptions::default(),
            Kind::Query | Kind::Plan => {
                query::options(&parts.headers, version, settings.cross_partition)?
            }
        },
        // The gateway sets it, since it has the keys.
        token_mark: None,
    })
}

/// Reads how long resource tokens made for this request stay valid.
pub(crate) fn token_seconds(headers: &impl Lookup) -> Result<u32, Error> {
    let name = "x-ms-documentdb-expiry-seconds";
    let Some(seconds) = integer(headers, name)? else { return Ok(TOKEN_SECONDS_DEFAULT) };
    let allowed = u32::try_from(seconds).ok().filter(|seconds| TOKEN_SECONDS.contains(seconds));
    allowed.ok_or_else(|| invalid(name, &seconds.to_string()))
}

/// Whether the client needs the server to keep serving old ranges.
///
/// COMPAT: three clients fail when a range is gone (410/1002). Change feed readers of
/// `azure-cosmos` end up reading ranges twice that were split at other bounds than they were merged
/// at; queries of `@azure/cosmos` ask for the same range forever; queries of `azure-cosmos` start
/// again and return rows twice. All other clients refresh and continue.
fn keeps_old_ranges(headers: &Filtered<'_>) -> bool {
    ["azure-cosmos-js", "azsdk-python-cosmos"].iter().any(|sdk| agent(headers).contains(sdk))
}

/// Turns a 410 into a 404 for a client that would retry forever.
///
/// COMPAT: a range that the server does not even remember belongs to a collection that was deleted
/// and created again. Queries of `@azure/cosmos` would ask for it forever.
pub(crate) fn told_finally(error: Error, headers: &impl Lookup) -> Error {
    if error.code != Code::PartitionGone || !agent(headers).contains("azure-cosmos-js") {
        return error;
    }
    let message = "The partition key range does not belong to this collection. If the collection \
                   was deleted and created again, create a new client.";
    Error { code: Code::NotFound, message: message.to_owned(), ..error }
}

/// Reads the partition key, a JSON array. SDKs escape non-ASCII characters; other clients send
/// UTF-8.
fn partition_key(headers: &Filtered<'_>) -> Result<Option<PartitionKey>, Error> {
    let name = "x-ms-documentdb-partitionkey";
    let Some(value) = headers.value(name) else { return Ok(None) };
    let text = String::from_utf8_lossy(value.as_bytes());
    // Replacing invalid UTF-8 would change the key.
    if std::str::from_utf8(value.as_bytes()).is_err() {
        return Err(invalid(name, &text));
    }
    if text.trim().is_empty() {
        return Ok(None);
    }
    PartitionKey::parse_header(text.trim()).map(Some).map_err(|_| invalid(name, &text))
}

const RANGE_ID: &str = "x-ms-documentdb-partitionkeyrangeid";

/// Reads the range id. .NET may put the collection's rid before it: `rid,0`.
fn range_id<'a>(headers: &'a Filtered<'_>) -> Result<Option<&'a str>, Error> {
    let Some(text) = text(headers, RANGE_ID)? else { return Ok(None) };
    match text.rsplit(',').next().unwrap_or_default().trim() {
        "" => Err(invalid(RANGE_ID, text)),
        id => Ok(Some(id)),
    }
}

/// Reads the rid before the comma. Ignores anything else there.
fn range_collection(headers: &Filtered<'_>) -> Result<Option<CollectionRid>, Error> {
    let parts = text(headers, RANGE_ID)?.and_then(|text| text.rsplit_once(','));
    Ok(parts.and_then(|(rid, _)| CollectionRid::parse(rid.trim())))
}

/// Returns the continuation as sent, valid or not. JavaScript sends a token of its own, with any
/// Unicode letters, along with requests for plans, which do not use it. Operations that use the
/// token check it.
fn continuation(headers: &Filtered<'_>) -> Option<String> {
    let value = headers.value("x-ms-continuation").filter(|value| !value.is_empty())?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}

/// Reads a sub-range of effective partition keys in hex. The bounds count even without the header
/// that announces them: without them the answer would have more than the client asked for.
fn epk_range(headers: &Filtered<'_>) -> Result<Option<(Epk, Epk)>, Error> {
    let kind_name = "x-ms-read-key-type";
    let kind = text(headers, kind_name)?;
    if let Some(kind) = kind.filter(|kind| !kind.eq_ignore_ascii_case("EffectivePartitionKeyRange"))
    {
        return Err(invalid(kind_name, kind));
    }
    let (start_name, end_name) = ("x-ms-start-epk", "x-ms-end-epk");
    // COMPAT: to read a whole partition, Python announces a range but leaves out both bounds.
    if headers.value(start_name).is_none() && headers.value(end_name).is_none() {
        return Ok(None);
    }
    let bound = |name| {
        let Some(value) = headers.value(name) else { return Ok(None) };
        let text = String::from_utf8_lossy(value.as_bytes());
        Epk::parse_hex(text.trim()).map(Some).map_err(|_| invalid(name, &text))
    };
    // COMPAT: .NET leaves out the start if it is the least key, which has no digits. It always
    // sends the end.
    let start = bound(start_name)?.unwrap_or_else(Epk::min);
    let end = bound(end_name)?.ok_or_else(|| {
        Error::bad_request(format!("A range of effective keys needs the header '{end_name}'."))
    })?;
    Ok(Some((start, end)))
}

fn max_item_count(headers: &Filtered<'_>) -> Result<Option<u32>, Error> {
    let name = "x-ms-max-item-count";
    match integer(headers, name)? {
        // For `TOP 0` Java sends a zero here.
        None | Some(-1 | 0) => Ok(None),
        Some(count) if count >= 1 => {
            Ok(Some(u32::try_from(count).unwrap_or(u32::MAX).min(PAGE_ITEMS_MAX)))
        }
        Some(count) => Err(invalid(name, &count.to_string())),
    }
}

/// Reads the consistency level. Refuses one that is stronger than the account's. Levels compare
/// from strong to weak.
fn consistency(
    headers: &Filtered<'_>,
    account: ConsistencyLevel,
) -> Result<Option<ConsistencyLevel>, Error> {
    let name = "x-ms-consistency-level";
    let Some(text) = text(headers, name)? else { return Ok(None) };
    let level = ConsistencyLevel::parse(text).ok_or_else(|| invalid(name, text))?;
    if level < account {
        return Err(Error::bad_request(format!(
            "ConsistencyLevel {} specified in the request is invalid when service is configured \
             with consistency level {}. Ensure the request consistency level is not stronger than \
             the service consistency level.",
            level.name(),
            account.name()
        )));
    }
    Ok(Some(level))
}

fn session(headers: &Filtered<'_>) -> Result<Option<SessionTokens>, Error> {
    let name = "x-ms-session-token";
    let Some(text) = text(headers, name)? else { return Ok(None) };
    SessionTokens::parse(text).map(Some).ok_or_else(|| invalid(name, text))
}

fn wants_minimal_response(headers: &Filtered<'_>) -> Result<bool, Error> {
    let prefers = text(headers, "prefer")?
        .is_some_and(|text| text.split(',').any(|word| is_return_minimal(word.trim())));
    let name = "x-ms-cosmos-populate-content-response-on-write";
    Ok(prefers || optional_flag(headers, name)? == Some(false))
}

fn is_return_minimal(preference: &str) -> bool {
    preference.split_once('=').is_some_and(|(name, value)| {
        name.trim().eq_ignore_ascii_case("return")
            && value.trim().trim_matches('"').eq_ignore_ascii_case("minimal")
    })
}

fn indexing_directive(headers: &Filtered<'_>) -> Result<IndexingDirective, Error> {
    let name = "x-ms-indexing-directive";
    match text(headers, name)? {
        None => Ok(IndexingDirective::Default),
        Some(word) if word.eq_ignore_ascii_case("default") => Ok(IndexingDirective::Default),
        Some(word) if word.eq_ignore_ascii_case("include") => Ok(IndexingDirective::Include),
        Some(word) if word.eq_ignore_ascii_case("exclude") => Ok(IndexingDirective::Exclude),
        Some(word) => Err(invalid(name, word)),
    }
}

/// Reads a comma-separated list of names, which may have any letters in UTF-8.
fn list(headers: &Filtered<'_>, name: &str) -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    for value in headers.values(name) {
        let text = std::str::from_utf8(value.as_bytes())
            .map_err(|_| invalid(name, &String::from_utf8_lossy(value.as_bytes())))?;
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        names.extend(parts.map(str::to_owned));
    }
    Ok(names)
}

/// Refuses a throughput bucket that does not exist, since SDKs test that. Buckets share throughput
/// among workloads, of which there is only one here.
fn check_throughput_bucket(headers: &Filtered<'_>) -> Result<(), Error> {
    let name = "x-ms-cosmos-throughput-bucket";
    match integer(headers, name)? {
        None | Some(1..=5) => Ok(()),
        Some(bucket) => Err(invalid(name, &bucket.to_string())),
    }
}
