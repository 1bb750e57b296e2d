//! The service's own hash values.
