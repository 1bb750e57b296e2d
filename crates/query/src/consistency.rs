//! The consistency level of a read, and what it demands from the replica that serves it.
//!
//! A partition has one replica, which holds every acknowledged write and so satisfies all five
//! levels. What remains here are their rules. A second replica needs exactly these: whether it may
//! serve the read, and what it must have applied before.

use protocol::{Operation, Options, request::ConsistencyLevel};

/// Reads that need a majority of replicas cost twice as much.
const MAJORITY_FACTOR: u32 = 2;

/// The level of one request: its own, or else the account's. The gateway has already refused levels
/// stronger than the account's.
pub fn level(options: &Options, account: ConsistencyLevel) -> ConsistencyLevel {
    options.consistency.unwrap_or(account)
}

/// The factor for a request's charge. Only reads of documents have a level: metadata is always read
/// strongly, and writes are the same at every level.
pub fn charge_factor(operation: &Operation, options: &Options, account: ConsistencyLevel) -> u32 {
    if operation.reads_documents() { read_factor(options, account) } else { 1 }
}

/// The factor for the charge of a document read. In a batch, some operations are reads.
pub fn read_factor(options: &Options, account: ConsistencyLevel) -> u32 {
    if needs_majority(level(options, account)) { MAJORITY_FACTOR } else { 1 }
}

/// Whether a level needs more than one replica that is not the writer.
fn needs_majority(level: ConsistencyLevel) -> bool {
    matches!(level, ConsistencyLevel::Strong | ConsistencyLevel::BoundedStaleness)
}

#[cfg(test)]
mod tests {
    use protocol::request::{CollectionPath, DatabasePath, DocumentPath};

    use super::*;

    const LEVELS: [ConsistencyLevel; 5] = [
        ConsistencyLevel::Strong,
        ConsistencyLevel::BoundedStaleness,
        ConsistencyLevel::Session,
        ConsistencyLevel::ConsistentPrefix,
        ConsistencyLevel::Eventual,
    ];

    fn document() -> DocumentPath {
        let database = DatabasePath("d".to_owned());
        let collection = CollectionPath { database, collection: "c".to_owned() };
        DocumentPath { collection, document: "x".to_owned() }
    }

    fn factors(operation: &Operation) -> [u32; 5] {
        LEVELS.map(|account| charge_factor(operation, &Options::default(), account))
    }

    #[test]
    fn only_reads_of_documents_pay_for_their_level() {
        let double = [2, 2, 1, 1, 1];
        assert_eq!(factors(&Operation::ReadDocument(document())), double);
        assert_eq!(factors(&Operation::ListDocuments(document().collection)), double);
        assert_eq!(factors(&Operation::DeleteDocument(document())), [1; 5]);
        assert_eq!(factors(&Operation::ReadCollection(document().collection)), [1; 5]);
    }

    #[test]
    fn a_request_can_weaken_its_level() {
        let read = Operation::ReadDocument(document());
        let eventual =
            Options { consistency: Some(ConsistencyLevel::Eventual), ..Options::default() };
        assert_eq!(charge_factor(&read, &eventual, ConsistencyLevel::Strong), 1);
        let bounded =
            Options { consistency: Some(ConsistencyLevel::BoundedStaleness), ..Options::default() };
        assert_eq!(charge_factor(&read, &bounded, ConsistencyLevel::Strong), 2);
    }
}
