//! The queries, as the REST API and as PostgreSQL are asked. They are those of `load query`, and
//! those that it lacks.

use super::workload::Workload;
use crate::query::{
    data::{Data, PER_CAMPAIGN, campaign},
    text::Query,
};

/// Documents in the range of [`Workload::CrossPartition`].
const RANGE: usize = 100;
/// Where PostgreSQL keeps the number that ranges and orders are about.
const AMOUNT: &str = "(doc->'amount')::numeric";

/// The query of `load query` that a workload is.
fn known(workload: Workload) -> Option<Query> {
    Some(match workload {
        Workload::Equality => Query::Equality,
        Workload::EqualityInKey => Query::EqualityInKey,
        Workload::RangeTop => Query::RangeTop,
        Workload::OrderTop => Query::OrderTop,
        Workload::Count => Query::Count,
        _ => return None,
    })
}

/// The body of a query, and the partition key that it names.
pub(crate) fn query_body(workload: Workload, data: Data, turn: usize) -> (String, Option<String>) {
    if let Some(query) = known(workload) {
        let key = (query == Query::EqualityInKey).then(|| Query::customer(data, turn));
        return (query.body(data, turn), key);
    }
    let (text, parameters) = match workload {
        Workload::Sum => (
            "SELECT VALUE SUM(c.amount) FROM c WHERE c.campaign = @campaign",
            format!(r#"{{"name":"@campaign","value":"{}"}}"#, some_campaign(data, turn)),
        ),
        Workload::GroupBy => (
            "SELECT c.status, COUNT(1) AS n FROM c WHERE c.campaign = @campaign GROUP BY c.status",
            format!(r#"{{"name":"@campaign","value":"{}"}}"#, some_campaign(data, turn)),
        ),
        _ => {
            let (low, high) = some_range(data, turn);
            (
                "SELECT c.id, c.amount FROM c WHERE c.amount >= @low AND c.amount < @high",
                format!(r#"{{"name":"@low","value":{low}}},{{"name":"@high","value":{high}}}"#),
            )
        }
    };
    (format!(r#"{{"query":"{text}","parameters":[{parameters}]}}"#), None)
}

fn some_campaign(data: Data, turn: usize) -> String {
    campaign(turn.wrapping_mul(7919) % data.groups(PER_CAMPAIGN))
}

fn some_range(data: Data, turn: usize) -> (usize, usize) {
    let low = turn.wrapping_mul(7919) % data.groups(RANGE) * RANGE;
    (low, low + RANGE)
}

/// A query as PostgreSQL prepares it on a table.
pub(crate) fn statement(workload: Workload, table: &str) -> Option<String> {
    let all = format!("SELECT doc FROM {table}");
    Some(match workload {
        Workload::Equality | Workload::EqualityInKey => format!("{all} WHERE doc @> $1::jsonb"),
        Workload::RangeTop => format!(
            "{all} WHERE {AMOUNT} >= $1::numeric AND {AMOUNT} < $2::numeric ORDER BY {AMOUNT} LIMIT 10"
        ),
        Workload::OrderTop => format!("{all} ORDER BY {AMOUNT} DESC LIMIT 10"),
        Workload::Count => format!("SELECT count(*) FROM {table} WHERE doc @> $1::jsonb"),
        Workload::Sum => format!("SELECT sum({AMOUNT}) FROM {table} WHERE doc @> $1::jsonb"),
        Workload::GroupBy => format!(
            "SELECT doc->>'status', count(*) FROM {table} WHERE doc @> $1::jsonb GROUP BY 1"
        ),
        Workload::CrossPartition => format!(
            "SELECT doc->>'id', doc->'amount' FROM {table} \
             WHERE {AMOUNT} >= $1::numeric AND {AMOUNT} < $2::numeric"
        ),
        _ => return None,
    })
}

/// The parameters of that statement.
pub(crate) fn parameters(workload: Workload, data: Data, turn: usize) -> Vec<String> {
    match workload {
        Workload::Equality => vec![Query::Equality.containment(data, turn)],
        Workload::EqualityInKey => vec![Query::EqualityInKey.containment(data, turn)],
        Workload::Count | Workload::Sum | Workload::GroupBy => {
            vec![format!(r#"{{"campaign":"{}"}}"#, some_campaign(data, turn))]
        }
        Workload::RangeTop => {
            let (low, high) = Query::range(data, turn);
            vec![low.to_string(), high.to_string()]
        }
        Workload::CrossPartition => {
            let (low, high) = some_range(data, turn);
            vec![low.to_string(), high.to_string()]
        }
        _ => vec![],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_are_asked_for_the_same() {
        let data = Data::new(10_000).unwrap();
        for turn in [0, 7, 4711] {
            let (body, _) = query_body(Workload::Sum, data, turn);
            let parameter = &parameters(Workload::Sum, data, turn)[0];
            let value = parameter.split('"').nth(3).unwrap();
            assert!(body.contains(value), "{body} {parameter}");
            let (body, key) = query_body(Workload::EqualityInKey, data, turn);
            let parameter = &parameters(Workload::EqualityInKey, data, turn)[0];
            assert!(parameter.contains(&key.unwrap()), "{body} {parameter}");
        }
    }

    #[test]
    fn only_queries_have_a_statement() {
        assert!(statement(Workload::GroupBy, "orders").is_some());
        assert!(statement(Workload::Create, "orders").is_none());
    }
}
