//! The assumed costs of store reads, for choosing between them.

/// The costs for choosing between reading the index and reading documents. Only the ratio matters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadCosts {
    /// The cost of one index entry within a page of them.
    pub(crate) entry: f64,
    /// The cost of reading and testing one document.
    pub(crate) document: f64,
}

/// The costs of a store on a local disk or in memory, with most blocks cached. They are used for
/// all stores. A store that makes a request for each document could have others: then the costs
/// become a property of the store.
pub(crate) const READ_COSTS: ReadCosts = ReadCosts { entry: 0.3, document: 10.0 };
