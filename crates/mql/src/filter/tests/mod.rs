//! Tests of filters as a whole.
