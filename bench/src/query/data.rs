//! The documents that are queried: orders of a shop, 1 KB each, with about twenty indexed values.
//!
//! Every property that a query asks for has values that so many documents share, however many there
//! are: a batch always 10, a campaign always 1,000, a customer always 100. So a query has the same
//! number of answers in a small collection and in a large one, and what it costs more there is what
//! the size costs.

use std::fmt::Write as _;

use anyhow::{Result, ensure};

use crate::api::{DOCUMENT_BYTES, id};

/// Documents of one partition key.
pub(crate) const PER_CUSTOMER: usize = 100;
/// Documents of one batch, and of one sku.
pub(crate) const PER_BATCH: usize = 10;
/// Documents of one campaign.
pub(crate) const PER_CAMPAIGN: usize = 1000;

const STATUSES: [&str; 10] =
    ["new", "paid", "picked", "packed", "sent", "held", "lost", "returned", "refunded", "closed"];

/// Multiplied by one of these, modulo the number of documents, neighbours come to lie far apart:
/// documents that share a value must not be neighbours on disk.
const STRIDES: [usize; 4] = [7_368_787, 15_485_863, 32_452_843, 49_979_687];

const WORDS: [&str; 24] = [
    "please",
    "leave",
    "with",
    "the",
    "neighbour",
    "on",
    "second",
    "floor",
    "call",
    "before",
    "delivery",
    "fragile",
    "glass",
    "door",
    "is",
    "left",
    "of",
    "entrance",
    "ask",
    "for",
    "key",
    "at",
    "reception",
    "thanks",
];

/// So many documents, numbered from zero.
#[derive(Clone, Copy)]
pub(crate) struct Data {
    pub(crate) documents: usize,
}

impl Data {
    /// The values come out even only for whole thousands.
    pub(crate) fn new(documents: usize) -> Result<Self> {
        ensure!(
            documents > 0 && documents.is_multiple_of(1000),
            "whole thousands of documents, please"
        );
        ensure!(
            !STRIDES.iter().any(|stride| documents.is_multiple_of(*stride)),
            "choose another number"
        );
        Ok(Self { documents })
    }

    fn spread(self, number: usize, stride: usize) -> usize {
        number * STRIDES[stride] % self.documents
    }

    /// How many customers, batches or campaigns there are, by the documents of each.
    pub(crate) fn groups(self, size: usize) -> usize {
        self.documents / size
    }

    /// The partition key of document `number`.
    pub(crate) fn customer_of(self, number: usize) -> String {
        customer(number % self.groups(PER_CUSTOMER))
    }

    /// Document `number`, as JSON without any character that needs an escape.
    pub(crate) fn document(self, number: usize) -> String {
        let of_customer = number / self.groups(PER_CUSTOMER);
        let [city, country] = [number % 101, number % 13];
        let mut text = format!(
            concat!(
                r#"{{"id":"{id}","customer":"{customer}","status":"{status}","#,
                r#""batch":"{batch}","campaign":"{campaign}","amount":{amount}.5,"#,
                r#""created":"{created}","email":"person{number}@example.org","#,
                r#""active":{active},"tags":["tag {country}","day {city}"],"#,
                r#""address":{{"street":"Main Street {city}","city":"City {city}","#,
                r#""zip":"{zip:05}","country":"C{country}"}},"#,
                r#""lines":[{{"sku":"{sku}","count":{country},"price":{city}.25}},"#,
                r#"{{"sku":"gift-{city}","count":1,"price":0}}],"note":""#,
            ),
            id = id(number),
            customer = self.customer_of(number),
            status = status(of_customer),
            batch = batch(self.spread(number, 0) / PER_BATCH),
            campaign = campaign(self.spread(number, 1) / PER_CAMPAIGN),
            amount = self.spread(number, 2),
            created = created(number),
            number = number,
            active = number.is_multiple_of(3),
            zip = number % 99_991,
            sku = sku(self.spread(number, 3) / PER_BATCH),
            city = city,
            country = country,
        );
        let mut state = number as u64 + 1;
        while text.len() + 2 < DOCUMENT_BYTES {
            // xorshift: the note only has to differ from document to document.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            // A String takes everything.
            write!(text, "{} ", WORDS[(state % 24) as usize]).ok();
        }
        text.truncate(DOCUMENT_BYTES - 2);
        text.push_str("\"}");
        text
    }
}

pub(crate) fn customer(number: usize) -> String {
    format!("customer-{number:06}")
}

pub(crate) fn status(number: usize) -> &'static str {
    STATUSES[number % STATUSES.len()]
}

pub(crate) fn batch(number: usize) -> String {
    format!("batch-{number:07}")
}

pub(crate) fn campaign(number: usize) -> String {
    format!("campaign-{number:05}")
}

pub(crate) fn sku(number: usize) -> String {
    format!("sku-{number:07}")
}

/// A time for each document, later for each: as in months of 28 days, which is all that sorting
/// needs.
pub(crate) fn created(number: usize) -> String {
    let (minutes, second) = (number / 60, number % 60);
    let (hours, minute) = (minutes / 60, minutes % 60);
    let (days, hour) = (hours / 24, hours % 24);
    let (months, day) = (days / 28, days % 28 + 1);
    let (year, month) = (2020 + months / 12, months % 12 + 1);
    format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}
