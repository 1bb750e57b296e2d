//! The answer to `GET /`, which SDKs read before anything else.

use protocol::request::ConsistencyLevel;
use value::json::quote;

use crate::{
    endpoint::Endpoint,
    settings::{Settings, Staleness},
};

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

/// Headers that only the account document has. A single-node account has no plan, hence the zeros.
/// The current media usage is left out: it would have to be added up.
pub(crate) const HEADERS: [(&str, &str); 4] = [
    ("x-ms-max-media-storage-usage-mb", "2048"),
    ("x-ms-databaseaccount-consumed-mb", "0"),
    ("x-ms-databaseaccount-reserved-mb", "0"),
    ("x-ms-databaseaccount-provisioned-mb", "0"),
];

/// Writes the account as JSON. SDKs switch to the endpoint that it names, so the client must be
/// able to reach the server there.
pub(crate) fn body(settings: &Settings, endpoint: &Endpoint) -> Vec<u8> {
    let location = format!(
        r#"[{{"name":{},"databaseAccountEndpoint":{}}}]"#,
        json(&settings.region),
        json(&endpoint.to_string())
    );
    let rid = format!("{}.sql.cosmos.azure.com", settings.account_id);
    [
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
    .into_bytes()
}

/// The account's consistency policy; only bounded staleness comes with its limits.
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

fn json(text: &str) -> String {
    let mut quoted = Vec::with_capacity(text.len() + 2);
    quote(text, &mut quoted);
    String::from_utf8_lossy(&quoted).into_owned()
}
