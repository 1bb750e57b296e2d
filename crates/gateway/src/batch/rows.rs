//! Writes the results of a batch as HybridRow rows.

use protocol::response::BatchResult;

use super::{codes, wait};
use crate::hybrid_row::{ResultRow, StreamWriter};

/// Writes a stream with one row per result. Error messages have no column: .NET shows the status
/// alone.
pub(super) fn stream(results: &[BatchResult], capacity: usize) -> Vec<u8> {
    let mut stream = StreamWriter::with_capacity(capacity);
    for result in results {
        let (status, sub) = codes(result);
        let etag = result.etag.as_ref().map(|etag| format!("\"{etag}\""));
        let row = ResultRow {
            status_code: Some(status.into()),
            sub_status_code: Some(sub.into()),
            etag: etag.as_deref(),
            resource_body: result.document.as_deref(),
            retry_after_ms: wait(result).map(|wait| u32::try_from(wait).unwrap_or(u32::MAX)),
            request_charge: Some(result.charge),
        };
        stream.push(|out| row.write(out));
    }
    stream.finish()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use hyper::StatusCode;
    use protocol::{Code, Outcome};

    use super::*;
    use crate::{
        batch::{Form, answer},
        hybrid_row::records,
    };

    #[test]
    fn results_that_differ() {
        let created = BatchResult {
            answer: Ok(Outcome::Created),
            charge: 6.1,
            etag: Some("e".to_owned()),
            document: Some(Bytes::from_static(br#"{"n":1.0}"#)),
            retry_after_ms: Some(7),
            message: None,
        };
        let failed = |code, wait| BatchResult {
            answer: Err(code),
            charge: 0.0,
            etag: None,
            document: None,
            retry_after_ms: wait,
            message: Some("why".to_owned()),
        };
        let results = [
            created.clone(),
            failed(Code::TooManyRequests, Some(u64::MAX)),
            failed(Code::FailedDependency, None),
        ];
        let (status, body) = answer(&results, Form::HybridRow);
        assert_eq!(status, StatusCode::MULTI_STATUS);
        let rows = records(&body).expect("records");
        let rows: Vec<_> = rows.into_iter().map(|row| ResultRow::read(row).expect("row")).collect();
        let charge = Some(0.0);
        let expected = [
            ResultRow {
                status_code: Some(201),
                sub_status_code: Some(0),
                etag: Some("\"e\""),
                resource_body: Some(br#"{"n":1.0}"#),
                retry_after_ms: None,
                request_charge: Some(6.1),
            },
            ResultRow {
                status_code: Some(429),
                sub_status_code: Some(3200),
                retry_after_ms: Some(u32::MAX),
                request_charge: charge,
                ..ResultRow::default()
            },
            ResultRow {
                status_code: Some(424),
                sub_status_code: Some(0),
                request_charge: charge,
                ..ResultRow::default()
            },
        ];
        assert_eq!(rows, expected);
        assert_eq!(answer(&[created], Form::HybridRow).0, StatusCode::OK);
    }
}
