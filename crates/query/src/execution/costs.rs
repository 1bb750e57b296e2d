//! What reads of the store are taken to cost, where there is a choice between them.

/// What the choice between reading the index and reading documents goes by. Only the ratio matters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadCosts {
    /// Following one index entry, as part of a page of them.
    pub(crate) entry: f64,
    /// Reading and testing one document.
    pub(crate) document: f64,
}

/// The costs of a store on a local disk or in memory, in which most blocks are cached. They are
/// used for all stores. One where each document costs a request of its own could give others: then
/// they become a property of the store.
pub(crate) const READ_COSTS: ReadCosts = ReadCosts { entry: 0.3, document: 10.0 };
