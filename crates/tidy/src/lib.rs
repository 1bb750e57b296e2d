//! Rules that no linter knows, as tests:
//! - `arrows`: which crate may use which; `picture`: the picture of that in ARCHITECTURE.md,
//! - `cycles`: modules of a crate must not use each other in a cycle,
//! - `sizes`: how large files and crates may grow,
//! - `prose`: what must be written down, and how doc comments must not begin.
//!
//! A limit that the code does not meet yet is a number in a table that may only fall.

#[cfg(test)]
mod arrows;
#[cfg(test)]
mod cycles;
#[cfg(test)]
mod picture;
#[cfg(test)]
mod prose;
#[cfg(test)]
mod sizes;
#[cfg(test)]
mod source;
