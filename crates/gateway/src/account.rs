//! The answer to `GET /`: what SDKs read before anything else.

use hyper::{HeaderMap, Uri};
use protocol::{Error, request::ConsistencyLevel};
use value::json::quote;

use crate::settings::{Settings, Staleness};

/// Limits that .NET hands to its query library, as JSON inside a JSON string.
const QUERY_ENGINE: &str = concat!(
    r#"{"maxSqlQueryInputLength":262144,"maxJoinsPerSqlQuery":5,"maxLogicalAndPerSqlQuery":500,"#,
    r#""maxLogicalOrPerSqlQuery":500,"maxUdfRefPerSqlQuery":10,"maxInExpressionItemsCount":16000,"#,
    r#""queryMaxInMemorySortDocumentCount":500,"maxQueryRequestTimeoutFraction":0.9,"#,
    r#""sqlAllowNonFiniteNumbers":false,"sqlAllowAggregateFunctions":true,"sqlAllowSubQuery":true,"#,
    r#""sqlAllowScalarSubQuery":true,"allowNewKeywords":true,"sqlAllowLike":true,"#,
    r#""sqlAllowGroupByClause":true,"maxSpatialQueryCells":12,"spatialMaxGeometryPointCount":256,"#,
    r#""sqlDisableQueryILOptimization":false,"sqlDisableFilterPlanOptimization":false,"#,
    r#""clientDisableOptimisticDirectExecution":false}"#,
);

/// Headers that only this answer has; a single-node account has no plan. How much of the room for media is taken
/// is not said: it would have to be added up.
pub(crate) const HEADERS: [(&str, &str); 4] = [
    ("x-ms-max-media-storage-usage-mb", "2048"),
    ("x-ms-databaseaccount-consumed-mb", "0"),
    ("x-ms-databaseaccount-reserved-mb", "0"),
    ("x-ms-databaseaccount-provisioned-mb", "0"),
];

/// The account as JSON. SDKs switch to the endpoint that it names, so that is the address under
/// which the client has just reached us.
pub(crate) fn body(
    settings: &Settings,
    scheme: &str,
    headers: &HeaderMap,
    uri: &Uri,
) -> Result<Vec<u8>, Error> {
    let endpoint = format!("{scheme}://{}/", host(headers, uri)?);
    let location = format!(
        r#"[{{"name":{},"databaseAccountEndpoint":{}}}]"#,
        json(&settings.region),
        json(&endpoint)
    );
    let rid = format!("{}.sql.cosmos.azure.com", settings.account_id);
    Ok([
        r#"{"_self":"","id":"#,
        &json(&settings.account_id),
        r#","_rid":"#,
        &json(&rid),
        r#","media":"//media/","addresses":"//addresses/","_dbs":"//dbs/","writableLocations":"#,
        &location,
        r#","readableLocations":"#,
        &location,
        r#","enableMultipleWriteLocations":false,"continuousBackupEnabled":false"#,
        r#","enableNRegionSynchronousCommit":false,"enablePerPartitionFailoverBehavior":false"#,
        r#","disableCrossRegionalHedging":false,"userReplicationPolicy":{"asyncReplication":false"#,
        r#","minReplicaSetSize":1,"maxReplicasetSize":4},"userConsistencyPolicy":"#,
        &consistency_policy(settings),
        r#","systemReplicationPolicy":{"minReplicaSetSize":1,"maxReplicasetSize":4}"#,
        r#","readPolicy":{"primaryReadCoefficient":1,"secondaryReadCoefficient":1}"#,
        r#","queryEngineConfiguration":"#,
        &json(QUERY_ENGINE),
        "}",
    ]
    .concat()
    .into_bytes())
}

/// The account's level; how far reads may be behind is told where it means something.
fn consistency_policy(settings: &Settings) -> String {
    let level = json(settings.default_consistency.name());
    if settings.default_consistency != ConsistencyLevel::BoundedStaleness {
        return format!(r#"{{"defaultConsistencyLevel":{level}}}"#);
    }
    let Staleness { prefix_max, interval_seconds_max } = settings.staleness;
    format!(
        r#"{{"defaultConsistencyLevel":{level},"maxStalenessPrefix":{prefix_max},"maxStalenessIntervalInSeconds":{interval_seconds_max}}}"#
    )
}

/// The host that the client called: `Host`, or the authority of an HTTP/2 request.
fn host<'a>(headers: &'a HeaderMap, uri: &'a Uri) -> Result<&'a str, Error> {
    /// Longest name (253) with a port.
    const HOST_BYTES_MAX: usize = 260;
    let host = match headers.get("host") {
        Some(value) => value.to_str().unwrap_or_default().trim(),
        None => uri.authority().map_or("", |authority| authority.as_str()),
    };
    let is_host = (1..=HOST_BYTES_MAX).contains(&host.len())
        && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte));
    if is_host {
        Ok(host)
    } else {
        Err(Error::bad_request("The Host header is missing or invalid."))
    }
}

fn json(text: &str) -> String {
    let mut quoted = Vec::with_capacity(text.len() + 2);
    quote(text, &mut quoted);
    String::from_utf8_lossy(&quoted).into_owned()
}
