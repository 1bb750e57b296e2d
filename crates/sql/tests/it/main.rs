//! The parser and the printer over random texts, and over the collected queries when those lie
//! beside the repository.

mod corpus;
mod random;
