//! Reads request bodies: bounded in size and time. JSON bodies always end up as text.

use std::{io, time::Duration};

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::{HeaderMap, body::Body};
use protocol::{Code, Error};
use value::binary::{ErrorKind, is_binary, to_text};

use crate::headers;

/// The error that a body may fail with.
pub type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// Longest time that a client may take to send its body: a few megabytes take less, unless it has
/// stopped sending.
const TIME_MAX: Duration = Duration::from_mins(1);

/// Reads the body of a create or replace. Refuses an empty one, and converts binary JSON to text.
pub(crate) async fn read<B>(headers: &HeaderMap, body: B, bytes_max: usize) -> Result<Bytes, Error>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BodyError>,
{
    let bytes = read_any(headers, body, bytes_max).await?;
    if bytes.is_empty() {
        return Err(Error::bad_request(
            "The request payload is invalid. Ensure to provide a valid request payload.",
        ));
    }
    Ok(bytes)
}

/// Reads a body that may be empty.
pub(crate) async fn read_any<B>(
    headers: &HeaderMap,
    body: B,
    bytes_max: usize,
) -> Result<Bytes, Error>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BodyError>,
{
    if let Some(encoding) = headers::text(headers, "content-encoding")?
        && !encoding.eq_ignore_ascii_case("identity")
    {
        return Err(headers::invalid("content-encoding", encoding));
    }
    as_text(collect(headers, body, bytes_max, Keep::All).await?)
}

/// Reads a body that is not JSON, byte for byte. It may be empty.
pub(crate) async fn read_raw<B>(
    headers: &HeaderMap,
    body: B,
    bytes_max: usize,
) -> Result<Bytes, Error>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BodyError>,
{
    collect(headers, body, bytes_max, Keep::All).await
}

/// Reads and discards a body that the operation does not use, so that the connection can serve the
/// next request.
pub(crate) async fn drain<B>(headers: &HeaderMap, body: B, bytes_max: usize) -> Result<(), Error>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BodyError>,
{
    collect(headers, body, bytes_max, Keep::Nothing).await.map(|_| ())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    All,
    Nothing,
}

async fn collect<B>(
    headers: &HeaderMap,
    body: B,
    bytes_max: usize,
    keep: Keep,
) -> Result<Bytes, Error>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BodyError>,
{
    if declared_length(headers).is_some_and(|length| length > bytes_max as u64) {
        return Err(too_large());
    }
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    tokio::time::timeout(TIME_MAX, frames(body, bytes_max, keep)).await.unwrap_or_else(|_| {
        Err(Error::new(Code::Timeout, "The request body did not arrive in time."))
    })
}

async fn frames<B>(mut body: B, bytes_max: usize, keep: Keep) -> Result<Bytes, Error>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BodyError>,
{
    let mut length = 0;
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| unreadable(&error.into()))?;
        let Ok(data) = frame.into_data() else { continue };
        length += data.len();
        if length > bytes_max {
            return Err(too_large());
        }
        // Most bodies are a single frame, which needs no copy.
        match keep {
            Keep::Nothing => {}
            Keep::All if first.is_empty() => first = data,
            Keep::All => {
                if rest.is_empty() {
                    rest.extend_from_slice(&first);
                }
                rest.extend_from_slice(&data);
            }
        }
    }
    Ok(if rest.is_empty() { first } else { rest.freeze() })
}

/// Maps a body error. If the body stalled, or found no room in time, the client may send it again;
/// any other failure is final.
fn unreadable(error: &BodyError) -> Error {
    match error.downcast_ref::<io::Error>() {
        Some(error) if error.kind() == io::ErrorKind::TimedOut => {
            Error::new(Code::Timeout, "The request body did not arrive in time.")
        }
        _ => Error::bad_request(format!("The request body could not be read: {error}.")),
    }
}

fn declared_length(headers: &HeaderMap) -> Option<u64> {
    headers.get("content-length")?.to_str().ok()?.trim().parse().ok()
}

/// Converts binary JSON to text. The Rust SDK writes binary JSON, and only the first byte says so.
fn as_text(bytes: Bytes) -> Result<Bytes, Error> {
    if !is_binary(&bytes) {
        return Ok(bytes);
    }
    to_text(&bytes).map(Bytes::from).map_err(|error| match error.kind {
        ErrorKind::TooLong => too_large(),
        _ => Error::bad_request(format!("The request body is invalid: {error}.")),
    })
}

/// The service's wording.
fn too_large() -> Error {
    Error::new(Code::TooLarge, "Request size is too large")
}
