//! `load scripts` and `load hostile`: what users' JavaScript costs, and what it costs others.
//!
//! [`requests`] makes the requests, [`load`] sends them, [`cost`] and [`hostile`] print.

pub(crate) mod cost;
pub(crate) mod hostile;
mod load;
mod requests;
