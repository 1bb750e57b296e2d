//! Request units: what each operation costs.
//!
//! One table per price list, linear in size, deterministic. The tests below hold the published
//! points that each list must meet; `docs/charges.md` explains the charges to users.

use protocol::{Code, Error};

/// The price list to charge by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Charges {
    /// The current service.
    #[default]
    Current,
    /// The service of 2017.
    Y2017,
}

/// A line through published points: `base + per_kb * KB`, at least `floor`.
#[derive(Clone, Copy)]
struct Line {
    floor: f64,
    base: f64,
    per_kb: f64,
}

impl Line {
    fn at(&self, kb: f64) -> f64 {
        (self.base + self.per_kb * kb).max(self.floor)
    }
}

/// A price list. The old list bends at 4 KB, so reads have a second line.
struct Table {
    read: Line,
    read_above_4_kb: Line,
    write: Line,
    /// Per scalar value that the indexing policy covers.
    indexed_value: f64,
    /// A replace removes the old version and writes the new one.
    replace_factor: f64,
    /// Per document on a feed page, on top of the page's own cost.
    feed_document_per_kb: f64,
    /// Per document that a feed page or query examined and left out.
    scanned_document_per_kb: f64,
    /// Per partition that a query reads.
    query: f64,
    /// Per document that a query returns: by size, with a minimum.
    query_document: Line,
    /// Per index entry that a query reads.
    index_entry: f64,
    /// Per call of a user-defined function.
    function_call: f64,
}

const CURRENT: Table = Table {
    read: Line { floor: 1.0, base: 0.91, per_kb: 0.091 },
    read_above_4_kb: Line { floor: 1.0, base: 0.91, per_kb: 0.091 },
    write: Line { floor: 5.0, base: 4.55, per_kb: 0.4545 },
    indexed_value: 0.4,
    replace_factor: 2.0,
    feed_document_per_kb: 1.0,
    scanned_document_per_kb: 0.05,
    query: 1.4,
    query_document: Line { floor: 0.9, base: 0.8, per_kb: 0.1 },
    index_entry: 0.001,
    function_call: 0.03,
};

const Y2017: Table = Table {
    read: Line { floor: 1.0, base: 0.9, per_kb: 0.1 },
    read_above_4_kb: Line { floor: 1.3, base: 0.72, per_kb: 0.145 },
    write: Line { floor: 5.0, base: 4.32, per_kb: 0.68 },
    indexed_value: 0.4,
    replace_factor: 2.0,
    feed_document_per_kb: 0.3,
    scanned_document_per_kb: 0.05,
    query: 1.75,
    query_document: Line { floor: 0.75, base: 0.65, per_kb: 0.1 },
    index_entry: 0.001,
    function_call: 0.03,
};

/// Reading or listing metadata: databases, collections, ranges, offers.
const METADATA_READ: f64 = 1.0;

/// Changing metadata.
const METADATA_WRITE: f64 = 4.95;

/// The minimum for any request that reached a resource: looking it up.
const LOOKUP: f64 = 1.0;

/// Running a script: the measured cost of a stored procedure that reads or writes one document in
/// the service, less the cost of that operation alone.
const SCRIPT: f64 = 4.6;

/// So many creations, with so many bytes of JSON together, surely cost no more than this charge: not
/// even if each value takes two bytes.
pub fn affordable_creations(charge: f64) -> (f64, f64) {
    const EACH_MAX: f64 = 5.01;
    const BYTE_MAX: f64 = 0.201;
    (charge / 2.0 / EACH_MAX, charge / 2.0 / BYTE_MAX)
}

/// Adds up what one request costs.
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    charges: Charges,
    total: f64,
    /// Multiplies every charge: reads at the strongest consistency levels cost more.
    factor: u32,
    /// The connection the request came over, if it carries only one caller's requests.
    pub connection: Option<u64>,
}

impl Meter {
    /// Creates a meter at zero. `factor` multiplies every charge; `connection` is given if it
    /// carries only one caller's requests.
    pub fn new(charges: Charges, factor: u32, connection: Option<u64>) -> Self {
        Self { charges, total: 0.0, factor, connection }
    }

    /// Creates a meter at zero for part of the request.
    #[must_use]
    pub fn part(&self, factor: u32) -> Self {
        Self { total: 0.0, factor, ..*self }
    }

    /// Adds the rounded cost of a part, so that the parts add up to the whole on the wire too.
    pub fn add(&mut self, part: &Self) {
        self.total += part.total() / f64::from(self.factor);
    }

    /// The charge so far, with two decimals as on the wire.
    pub fn total(&self) -> f64 {
        (self.total * f64::from(self.factor) * 100.0).round() / 100.0
    }

    /// Charges a point read of a document of this size.
    pub fn read(&mut self, bytes: usize) {
        let (table, kb) = (self.table(), kilobytes(bytes));
        let line = if kb <= 4.0 { &table.read } else { &table.read_above_4_kb };
        self.total += line.at(kb);
    }

    /// Charges a new document.
    pub fn create(&mut self, bytes: usize, indexed_values: usize) {
        self.total += self.insert_cost(bytes, indexed_values);
    }

    /// Charges a new version of a document.
    pub fn replace(&mut self, bytes: usize, indexed_values: usize) {
        self.total += self.table().replace_factor * self.insert_cost(bytes, indexed_values);
    }

    /// Charges a deletion: as much as inserting the same document.
    pub fn delete(&mut self, bytes: usize, indexed_values: usize) {
        self.total += self.insert_cost(bytes, indexed_values);
    }

    /// Charges a page of a query over this many partitions.
    pub fn query(&mut self, partitions: usize, index_entries: u64) {
        let table = self.table();
        self.total += table.query * partitions.max(1) as f64;
        self.total += table.index_entry * index_entries as f64;
    }

    /// Charges the documents that a query returns or makes rows of; `bytes` is their total size.
    pub fn query_documents(&mut self, count: u64, bytes: u64) {
        let Line { floor, base, per_kb } = self.table().query_document;
        let count = count as f64;
        self.total += (base * count + per_kb * bytes as f64 / 1024.0).max(floor * count);
    }

    /// Charges documents that a query examined without returning anything of them.
    pub fn scanned_documents(&mut self, count: u64) {
        self.total += self.table().scanned_document_per_kb * count as f64;
    }

    /// Charges calls of user-defined functions.
    pub fn function_calls(&mut self, count: u64) {
        self.total += self.table().function_call * count as f64;
    }

    /// Charges a document that a feed page examined and left out.
    pub fn scanned_document(&mut self, bytes: usize) {
        self.total += self.table().scanned_document_per_kb * kilobytes(bytes).max(1.0);
    }

    /// Charges a document that a feed page returns.
    pub fn feed_document(&mut self, bytes: usize) {
        self.total += self.table().feed_document_per_kb * kilobytes(bytes).max(1.0);
    }

    /// Charges change feed entries that a page skipped.
    pub fn feed_entries(&mut self, count: usize) {
        self.total += self.table().index_entry * count as f64;
    }

    /// Charges a look-up that found nothing, or nothing to do.
    pub fn lookup(&mut self) {
        self.total += LOOKUP;
    }

    /// Charges a metadata read.
    pub fn metadata_read(&mut self) {
        self.total += METADATA_READ;
    }

    /// Charges a metadata change, or the attempt. A request rejected on its own account is free;
    /// one rejected for the state it found costs a look-up.
    pub fn metadata_write<T>(&mut self, changed: Result<T, Error>) -> Result<T, Error> {
        match changed.as_ref().map_err(|error| error.code) {
            Ok(_) => self.total += METADATA_WRITE,
            Err(
                Code::NotFound | Code::OwnerNotFound | Code::Conflict | Code::PreconditionFailed,
            ) => self.lookup(),
            Err(_) => {}
        }
        changed
    }

    /// Charges a stored procedure or trigger, on top of its operations.
    pub fn script(&mut self) {
        self.total += SCRIPT;
    }

    fn insert_cost(&self, bytes: usize, indexed_values: usize) -> f64 {
        let table = self.table();
        table.write.at(kilobytes(bytes)) + table.indexed_value * indexed_values as f64
    }

    fn table(&self) -> &'static Table {
        match self.charges {
            Charges::Current => &CURRENT,
            Charges::Y2017 => &Y2017,
        }
    }
}

fn kilobytes(bytes: usize) -> f64 {
    bytes as f64 / 1024.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn charge(charges: Charges, spend: impl Fn(&mut Meter)) -> f64 {
        let mut meter = Meter::new(charges, 1, None);
        spend(&mut meter);
        meter.total()
    }

    #[test]
    fn what_is_affordable_costs_no_more() {
        for charges in [Charges::Current, Charges::Y2017] {
            let (count, bytes) = affordable_creations(2000.0);
            // Small documents, with a value in every two bytes.
            let total = charge(charges, |meter| {
                let (mut left, mut bytes_left) = (count, bytes);
                while left >= 1.0 && bytes_left >= 24.0 {
                    meter.create(24, 12);
                    (left, bytes_left) = (left - 1.0, bytes_left - 24.0);
                }
            });
            assert!(total > 500.0 && total <= 2000.0, "{total}");
        }
    }

    fn assert_near(actual: f64, published: f64) {
        assert!((actual / published - 1.0).abs() <= 0.15, "{actual} is not near {published}");
    }

    #[test]
    fn current_list_meets_its_published_points() {
        let read = |kb: usize| charge(Charges::Current, |meter| meter.read(kb * 1024));
        let write = |kb: usize| charge(Charges::Current, |meter| meter.create(kb * 1024, 0));
        assert_near(read(1), 1.0);
        assert_near(read(100), 10.0);
        assert_near(write(1), 5.0);
        assert_near(write(100), 50.0);
    }

    #[test]
    fn list_of_2017_meets_its_published_points() {
        let read = |kb: usize| charge(Charges::Y2017, |meter| meter.read(kb * 1024));
        let write = |kb: usize| charge(Charges::Y2017, |meter| meter.create(kb * 1024, 0));
        for (kb, read_units, write_units) in [(1, 1.0, 5.0), (4, 1.3, 7.0), (64, 10.0, 48.0)] {
            assert_near(read(kb), read_units);
            assert_near(write(kb), write_units);
        }
        // The documented food item: about 1 KB and 25 scalar values, all indexed.
        assert_near(charge(Charges::Y2017, |meter| meter.create(1024, 25)), 15.0);
    }

    #[test]
    fn queries_meet_the_published_points() {
        let query = |charges, count: u64, kb: f64| {
            charge(charges, |meter| {
                // Pages of a hundred, and an index entry for each document.
                for _ in 0..count.div_ceil(100) {
                    meter.query(1, count.min(100));
                }
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "small"
                )]
                meter.query_documents(count, (kb * 1024.0 * count as f64) as u64);
            })
        };
        for (count, kb, units) in
            [(1, 1.0, 2.5), (7, 1.0, 7.0), (10, 1.0, 10.0), (1000, 1.0, 1000.0)]
        {
            assert_near(query(Charges::Current, count, kb), units);
        }
        assert_near(query(Charges::Current, 1, 9.9), 3.19);
        for (count, units) in [(1, 2.5), (7, 7.0), (10, 10.0), (100, 70.0)] {
            assert_near(query(Charges::Y2017, count, 1.0), units);
        }
        let scanned = charge(Charges::Current, |meter| meter.scanned_documents(100));
        assert_near(scanned, 5.0);
    }

    #[test]
    fn reads_at_strong_levels_cost_double() {
        let (mut weak, mut strong) =
            (Meter::new(Charges::Current, 1, None), Meter::new(Charges::Current, 2, None));
        for meter in [&mut weak, &mut strong] {
            meter.read(1024);
            meter.feed_document(3000);
            meter.query(3, 100);
            meter.lookup();
        }
        assert!((strong.total() - 2.0 * weak.total()).abs() < 0.02);
    }

    #[test]
    fn replace_costs_two_inserts() {
        for charges in [Charges::Current, Charges::Y2017] {
            let insert = charge(charges, |meter| meter.create(3000, 7));
            let replace = charge(charges, |meter| meter.replace(3000, 7));
            assert!((replace - 2.0 * insert).abs() < 0.02);
        }
    }
}
