//! The headers that only answers to queries have.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hyper::HeaderMap;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use protocol::query::{IndexMetricsVersion, QueryMeta, QueryMetrics};

use super::put;

/// Characters to escape: all except those that `encodeURIComponent` leaves alone. Clients decode
/// with its inverse.
pub(super) const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'!')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');

/// Longest hint; a longer one is left out. Clients drop the whole answer if its headers are too
/// large (Node at 16 KB), and the rows matter more. A property name alone may have 10,000
/// characters.
const HINT_BYTES_MAX: usize = 14 * 1024;

/// Longest hint for .NET, which drops an answer whose headers reach 64 KB.
const DOTNET_HINT_BYTES_MAX: usize = 56 * 1024;

/// Adds the headers that a query asked for: metrics, index metrics and advice.
pub(super) fn put_query(headers: &mut HeaderMap, meta: &QueryMeta, agent: &str) {
    let most = if is_dotnet(agent) { DOTNET_HINT_BYTES_MAX } else { HINT_BYTES_MAX };
    if let Some(requires) = meta.requires_distribution {
        let word = if requires { "True" } else { "False" };
        put(headers, "x-ms-cosmos-query-requiresdistribution", word);
    }
    if let Some(metrics) = &meta.metrics {
        put(headers, "x-ms-documentdb-query-metrics", &metrics_text(metrics));
    }
    if let Some((version, json)) = &meta.index_metrics {
        let value = match version {
            IndexMetricsVersion::V1 => STANDARD.encode(json),
            IndexMetricsVersion::V2 => component(json),
        };
        put_hint(headers, "x-ms-cosmos-index-utilization", &value, most);
    }
    if let Some(advice) = &meta.advice {
        put_hint(headers, "x-ms-cosmos-query-advice", &component(advice), most);
    }
}

fn is_dotnet(agent: &str) -> bool {
    ["cosmos-netstandard-sdk", "documentdb-netcore-sdk", "documentdb-dotnet-sdk"]
        .iter()
        .any(|sdk| agent.contains(sdk))
}

fn put_hint(headers: &mut HeaderMap, name: &'static str, value: &str, most: usize) {
    if value.len() <= most {
        put(headers, name, value);
    }
}

fn component(text: &str) -> String {
    utf8_percent_encode(text, COMPONENT).to_string()
}

/// Formats query metrics. All members must be present: JavaScript reads them without a check.
fn metrics_text(metrics: &QueryMetrics) -> String {
    let QueryMetrics { index_lookup_ms, document_load_ms, write_output_ms, .. } = *metrics;
    // To get the evaluation time, clients subtract the last three times from this one. It includes
    // user-defined functions.
    let evaluation_ms = [metrics.execution_ms, metrics.functions_ms];
    let other_ms = [index_lookup_ms, document_load_ms, write_output_ms];
    let machine_ms = evaluation_ms.into_iter().chain(other_ms).map(finite).sum();
    let none = decimal(0.0);
    [
        ("totalExecutionTimeInMs", decimal(metrics.total_ms)),
        ("queryCompileTimeInMs", decimal(metrics.compile_ms)),
        ("queryLogicalPlanBuildTimeInMs", none.clone()),
        ("queryPhysicalPlanBuildTimeInMs", decimal(metrics.plan_ms)),
        ("queryOptimizationTimeInMs", none.clone()),
        ("VMExecutionTimeInMs", decimal(machine_ms)),
        ("indexLookupTimeInMs", decimal(index_lookup_ms)),
        ("documentLoadTimeInMs", decimal(document_load_ms)),
        ("systemFunctionExecuteTimeInMs", none),
        ("userFunctionExecuteTimeInMs", decimal(metrics.functions_ms)),
        ("retrievedDocumentCount", metrics.retrieved_documents.to_string()),
        ("retrievedDocumentSize", metrics.retrieved_bytes.to_string()),
        ("outputDocumentCount", metrics.output_documents.to_string()),
        ("outputDocumentSize", metrics.output_bytes.to_string()),
        ("writeOutputTimeInMs", decimal(write_output_ms)),
        ("indexUtilizationRatio", decimal(metrics.index_hit_ratio)),
    ]
    .map(|(name, value)| format!("{name}={value}"))
    .join(";")
}

/// Formats a number with two decimals. A positive one never becomes zero: clients take zero for no
/// time spent.
fn decimal(value: f64) -> String {
    let value = finite(value);
    let least = if value > 0.0 { 0.01 } else { 0.0 };
    format!("{:.2}", value.max(least))
}

/// Replaces NaN, infinities and negative numbers with zero: clients expect a number here, and none
/// of these values can be negative.
fn finite(value: f64) -> f64 {
    if value.is_finite() { value.max(0.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_have_all_their_members() {
        let metrics = QueryMetrics {
            total_ms: 12.346,
            compile_ms: 1.0,
            plan_ms: 0.5,
            index_lookup_ms: 2.0,
            document_load_ms: 3.0,
            execution_ms: 4.25,
            functions_ms: 1.5,
            write_output_ms: 0.25,
            retrieved_documents: 7,
            retrieved_bytes: 700,
            output_documents: 5,
            output_bytes: 500,
            index_hit_ratio: 5.0 / 7.0,
        };
        assert_eq!(
            metrics_text(&metrics),
            "totalExecutionTimeInMs=12.35;queryCompileTimeInMs=1.00;\
             queryLogicalPlanBuildTimeInMs=0.00;queryPhysicalPlanBuildTimeInMs=0.50;\
             queryOptimizationTimeInMs=0.00;VMExecutionTimeInMs=11.00;indexLookupTimeInMs=2.00;\
             documentLoadTimeInMs=3.00;systemFunctionExecuteTimeInMs=0.00;\
             userFunctionExecuteTimeInMs=1.50;retrievedDocumentCount=7;retrievedDocumentSize=700;\
             outputDocumentCount=5;outputDocumentSize=500;writeOutputTimeInMs=0.25;\
             indexUtilizationRatio=0.71"
        );
    }

    #[test]
    fn metrics_are_numbers_whatever_was_measured() {
        let metrics = QueryMetrics {
            total_ms: f64::NAN,
            execution_ms: f64::INFINITY,
            index_lookup_ms: -0.001,
            index_hit_ratio: f64::NEG_INFINITY,
            ..QueryMetrics::default()
        };
        let text = metrics_text(&metrics);
        assert_eq!(text.split(';').count(), 16);
        for member in text.split(';') {
            let (_, value) = member.split_once('=').expect("a name and a value");
            assert_eq!(value.parse::<f64>(), Ok(0.0), "{member}");
            assert!(!value.starts_with('-'), "{member}");
        }
    }

    #[test]
    fn long_hints_are_left_out() {
        let dotnet = "cosmos-netstandard-sdk/3.64.0|1|X64";
        for (agent, length, is_there) in [
            ("azure-cosmos-js/4.0", HINT_BYTES_MAX, true),
            ("azure-cosmos-js/4.0", HINT_BYTES_MAX + 1, false),
            ("", HINT_BYTES_MAX + 1, false),
            (dotnet, DOTNET_HINT_BYTES_MAX, true),
            (dotnet, DOTNET_HINT_BYTES_MAX + 1, false),
        ] {
            let mut headers = HeaderMap::new();
            let meta = QueryMeta { advice: Some("a".repeat(length)), ..QueryMeta::default() };
            put_query(&mut headers, &meta, agent);
            let found = headers.contains_key("x-ms-cosmos-query-advice");
            assert_eq!(found, is_there, "{agent} {length}");
        }
    }

    #[test]
    fn a_time_that_was_spent_is_not_zero() {
        let metrics =
            QueryMetrics { index_lookup_ms: 0.0004, compile_ms: 0.016, ..QueryMetrics::default() };
        let text = metrics_text(&metrics);
        for member in [
            "indexLookupTimeInMs=0.01",
            "VMExecutionTimeInMs=0.01",
            "queryCompileTimeInMs=0.02",
            "documentLoadTimeInMs=0.00",
        ] {
            assert!(text.split(';').any(|found| found == member), "{member} in {text}");
        }
    }

    #[test]
    fn a_partition_is_told_to_be_enough_or_not() {
        for (requires_distribution, word) in
            [(None, None), (Some(false), Some("False")), (Some(true), Some("True"))]
        {
            let mut headers = HeaderMap::new();
            let meta = QueryMeta { requires_distribution, ..QueryMeta::default() };
            put_query(&mut headers, &meta, "");
            let found = headers.get("x-ms-cosmos-query-requiresdistribution");
            assert_eq!(found.map(|value| value.to_str().unwrap()), word);
        }
    }
}
