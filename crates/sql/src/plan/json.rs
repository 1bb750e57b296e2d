//! Plans and refusals as the JSON that clients read. The order of members is the service's.

use std::fmt::{Display, Write};

use super::{HybridInfo, Info, Plan, QueryInfo, Refusal};
use crate::ast::Direction;
use crate::error::{quote, to_json};

/// A range of effective partition keys, as hexadecimal text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HexRange {
    /// The least key, always included.
    pub min: String,
    /// The greatest key.
    pub max: String,
    /// Whether the greatest key is included.
    pub is_max_inclusive: bool,
}

impl Plan {
    /// The answer to a request for the plan. Clients want `ranges` sorted and apart.
    pub fn to_json(&self, ranges: &[HexRange]) -> String {
        let mut out = Members::open();
        out.plain("partitionedQueryExecutionInfoVersion", 2);
        match &self.info {
            Info::Query(info) => out.plain("queryInfo", info.to_json()),
            Info::Hybrid(info) => out.plain("hybridSearchQueryInfo", info.to_json()),
        }
        out.list("queryRanges", ranges, |range, text| {
            let mut members = Members::open();
            members.text("min", &range.min);
            members.text("max", &range.max);
            members.plain("isMinInclusive", true);
            members.plain("isMaxInclusive", range.is_max_inclusive);
            text.push_str(&members.close());
        });
        out.close()
    }
}

impl QueryInfo {
    /// The object that clients read.
    pub fn to_json(&self) -> String {
        let mut out = Members::open();
        out.text("distinctType", self.distinct.text());
        out.optional("top", self.top);
        out.optional("offset", self.offset);
        out.optional("limit", self.limit);
        out.list("orderBy", &self.order_by, |direction, text| {
            text.push_str(match direction {
                Direction::Ascending => "\"Ascending\"",
                Direction::Descending => "\"Descending\"",
            });
        });
        out.texts("orderByExpressions", &self.order_by_expressions);
        out.texts("groupByExpressions", &self.group_by_expressions);
        out.texts("groupByAliases", &self.group_by_aliases);
        out.list("aggregates", &self.aggregates, |kind, text| quote(kind.text(), text));
        let mut aggregates = Members::open();
        for (alias, kind) in &self.group_by_alias_to_aggregate {
            match kind {
                Some(kind) => aggregates.text(alias, kind.text()),
                None => aggregates.plain(alias, "null"),
            }
        }
        out.plain("groupByAliasToAggregateType", aggregates.close());
        out.text("rewrittenQuery", &self.rewritten_query);
        out.plain("hasSelectValue", self.has_select_value);
        match &self.dcount {
            None => out.plain("dCountInfo", "null"),
            Some(alias) => {
                let mut dcount = Members::open();
                dcount.text("dCountAlias", alias);
                out.plain("dCountInfo", dcount.close());
            }
        }
        out.plain("hasNonStreamingOrderBy", self.has_non_streaming_order_by);
        out.close()
    }
}

impl HybridInfo {
    /// The object that clients read.
    pub fn to_json(&self) -> String {
        let mut out = Members::open();
        out.text("globalStatisticsQuery", &self.global_statistics_query);
        out.list("componentQueryInfos", &self.components, |component, text| {
            text.push_str(&component.to_json());
        });
        out.plain("componentWithoutPayloadQueryInfos", "[]");
        out.plain("projectionQueryInfo", "null");
        out.list("componentWeights", &self.weights, |weight, text| {
            text.push_str(&value::number::format_f64(*weight));
        });
        out.optional("skip", self.skip);
        out.optional("take", self.take);
        out.plain("requiresGlobalStatistics", self.requires_global_statistics);
        out.close()
    }
}

impl Refusal {
    /// The document that the service answers with. Places are those of `text`, the query.
    pub fn to_json(&self, text: &str) -> String {
        match self {
            Refusal::Errors(errors) => to_json(errors, text),
            Refusal::Plain(sentences) => {
                let mut out = Members::open();
                out.texts("Errors", sentences);
                out.close()
            }
        }
    }
}

/// An object that is being written.
struct Members(String);

impl Members {
    fn open() -> Members {
        Members(String::from("{"))
    }

    fn name(&mut self, name: &str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        quote(name, &mut self.0);
        self.0.push(':');
    }

    fn plain(&mut self, name: &str, value: impl Display) {
        self.name(name);
        // Writing to a string does not fail.
        let _ = write!(self.0, "{value}");
    }

    fn optional(&mut self, name: &str, value: Option<u32>) {
        match value {
            Some(value) => self.plain(name, value),
            None => self.plain(name, "null"),
        }
    }

    fn text(&mut self, name: &str, value: &str) {
        self.name(name);
        quote(value, &mut self.0);
    }

    fn list<T>(&mut self, name: &str, items: &[T], mut print: impl FnMut(&T, &mut String)) {
        self.name(name);
        self.0.push('[');
        for (place, item) in items.iter().enumerate() {
            if place > 0 {
                self.0.push(',');
            }
            print(item, &mut self.0);
        }
        self.0.push(']');
    }

    fn texts(&mut self, name: &str, items: &[String]) {
        self.list(name, items, |item, text| quote(item, text));
    }

    fn close(mut self) -> String {
        self.0.push('}');
        self.0
    }
}
