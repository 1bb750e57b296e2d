//! The queries, as each of the two databases is asked.

use super::data::{
    Data, PER_BATCH, PER_CAMPAIGN, PER_CUSTOMER, batch, campaign, created, customer, sku, status,
};

/// Documents in the range of [`Query::RangeTop`].
const RANGE: usize = 1000;

/// What is asked. Each has the same number of rows whatever the size of the collection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Query {
    /// The 10 documents with a value.
    Equality,
    /// The 10 of the 100 documents of a partition key that have a value.
    EqualityInKey,
    /// The first 10 of a range of 1,000, in its order.
    RangeTop,
    /// How many of all have a value that 1,000 have.
    Count,
    /// The elements of arrays with a value that 10 have.
    Join,
    /// The first 10 of all, in the order of a property.
    OrderTop,
    /// The 10 before a moment: a page in the middle of a list.
    PageTop,
    /// The last 10 of a partition key.
    KeyTop,
}

impl Query {
    /// All of them, in the order of the table.
    pub(crate) const ALL: [Self; 8] = [
        Self::Equality,
        Self::EqualityInKey,
        Self::RangeTop,
        Self::Count,
        Self::Join,
        Self::OrderTop,
        Self::PageTop,
        Self::KeyTop,
    ];

    /// Its word in the table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Equality => "equality",
            Self::EqualityInKey => "equality-in-key",
            Self::RangeTop => "range-top",
            Self::Count => "count",
            Self::Join => "join",
            Self::OrderTop => "order-top",
            Self::PageTop => "page-top",
            Self::KeyTop => "key-top",
        }
    }

    /// Rows of the answer.
    pub(crate) fn rows(self) -> usize {
        if self == Self::Count { 1 } else { 10 }
    }

    /// What the answer must say, apart from the number of its rows.
    pub(crate) fn answer(self) -> Option<usize> {
        (self == Self::Count).then_some(PER_CAMPAIGN)
    }

    /// The text and the parameters for Sheaf, as the body of a request.
    pub(crate) fn body(self, data: Data, turn: usize) -> String {
        let (text, parameters) = self.parts(data, turn);
        let parameters: Vec<String> = parameters
            .iter()
            .map(|(name, value)| format!(r#"{{"name":"@{name}","value":{value}}}"#))
            .collect();
        format!(r#"{{"query":"{text}","parameters":[{}]}}"#, parameters.join(","))
    }

    /// The partition key that it names this time.
    pub(crate) fn customer(data: Data, turn: usize) -> String {
        customer(pick(data, turn, PER_CUSTOMER))
    }

    /// The bounds of the range this time.
    pub(crate) fn range(data: Data, turn: usize) -> (usize, usize) {
        let low = pick(data, turn, RANGE) * RANGE;
        (low, low + RANGE)
    }

    /// What a document must contain to equal the value this time, as PostgreSQL is asked.
    pub(crate) fn containment(self, data: Data, turn: usize) -> String {
        if self == Self::EqualityInKey {
            let (customer, status) = (Self::customer(data, turn), status(turn));
            return format!(r#"{{"customer":"{customer}","status":"{status}"}}"#);
        }
        format!(r#"{{"batch":"{}"}}"#, batch(pick(data, turn, PER_BATCH)))
    }

    fn parts(self, data: Data, turn: usize) -> (&'static str, Vec<(&'static str, String)>) {
        let quoted = |text: &str| format!("\"{text}\"");
        match self {
            Self::Equality => (
                "SELECT * FROM c WHERE c.batch = @batch",
                vec![("batch", quoted(&batch(pick(data, turn, PER_BATCH))))],
            ),
            Self::EqualityInKey => (
                "SELECT * FROM c WHERE c.customer = @customer AND c.status = @status",
                vec![
                    ("customer", quoted(&customer(pick(data, turn, PER_CUSTOMER)))),
                    ("status", quoted(status(turn))),
                ],
            ),
            Self::RangeTop => {
                let low = pick(data, turn, RANGE) * RANGE;
                (
                    "SELECT TOP 10 * FROM c WHERE c.amount >= @low AND c.amount < @high \
                     ORDER BY c.amount",
                    vec![("low", low.to_string()), ("high", (low + RANGE).to_string())],
                )
            }
            Self::Count => (
                "SELECT VALUE COUNT(1) FROM c WHERE c.campaign = @campaign",
                vec![("campaign", quoted(&campaign(pick(data, turn, PER_CAMPAIGN))))],
            ),
            Self::Join => (
                "SELECT c.id, line.sku, line.price FROM c JOIN line IN c.lines \
                 WHERE line.sku = @sku",
                vec![("sku", quoted(&sku(pick(data, turn, PER_BATCH))))],
            ),
            Self::OrderTop => ("SELECT TOP 10 * FROM c ORDER BY c.amount DESC", vec![]),
            Self::PageTop => (
                "SELECT TOP 10 * FROM c WHERE c.created < @before ORDER BY c.created DESC",
                vec![("before", quoted(&moment(data, turn)))],
            ),
            Self::KeyTop => (
                "SELECT TOP 10 * FROM c WHERE c.customer = @customer ORDER BY c.created DESC",
                vec![("customer", quoted(&customer(pick(data, turn, PER_CUSTOMER))))],
            ),
        }
    }

    /// The same for Postgres, as a person would write it who has the GIN index.
    pub(crate) fn postgres(self, data: Data, turn: usize) -> String {
        let top = "SELECT doc FROM orders";
        match self {
            Self::Equality => {
                let batch = batch(pick(data, turn, PER_BATCH));
                format!(r#"{top} WHERE doc @> '{{"batch":"{batch}"}}'"#)
            }
            Self::EqualityInKey => {
                let (customer, status) = (customer(pick(data, turn, PER_CUSTOMER)), status(turn));
                format!(r#"{top} WHERE doc @> '{{"customer":"{customer}","status":"{status}"}}'"#)
            }
            Self::RangeTop => {
                let low = pick(data, turn, RANGE) * RANGE;
                let (amount, high) = ("(doc->'amount')::numeric", low + RANGE);
                format!(
                    "{top} WHERE {amount} >= {low} AND {amount} < {high} ORDER BY {amount} LIMIT 10"
                )
            }
            Self::Count => {
                let campaign = campaign(pick(data, turn, PER_CAMPAIGN));
                format!(r#"SELECT count(*) FROM orders WHERE doc @> '{{"campaign":"{campaign}"}}'"#)
            }
            Self::Join => {
                let sku = sku(pick(data, turn, PER_BATCH));
                format!(
                    "SELECT doc->>'id', line->>'sku', line->'price' \
                     FROM orders, jsonb_array_elements(doc->'lines') line \
                     WHERE doc @> '{{\"lines\":[{{\"sku\":\"{sku}\"}}]}}' AND line->>'sku' = '{sku}'"
                )
            }
            Self::OrderTop => format!("{top} ORDER BY (doc->'amount')::numeric DESC LIMIT 10"),
            Self::PageTop => {
                let (path, before) = ("doc->>'created'", moment(data, turn));
                format!("{top} WHERE {path} < '{before}' ORDER BY {path} DESC LIMIT 10")
            }
            Self::KeyTop => {
                let customer = customer(pick(data, turn, PER_CUSTOMER));
                let order = "ORDER BY doc->>'created' DESC LIMIT 10";
                format!(r#"{top} WHERE doc @> '{{"customer":"{customer}"}}' {order}"#)
            }
        }
    }
}

/// The group of so many documents that is asked for this time: another one each time, all over.
fn pick(data: Data, turn: usize, size: usize) -> usize {
    turn.wrapping_mul(7919) % data.groups(size)
}

/// The moment of some document that has ten before it.
fn moment(data: Data, turn: usize) -> String {
    created(10 + turn.wrapping_mul(7919) % (data.documents - 10))
}
