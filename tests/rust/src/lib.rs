//! The tests are in `tests/suite`.
