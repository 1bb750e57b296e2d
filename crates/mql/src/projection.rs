//! Projections: which fields of a document a client gets.
