//! One operation of a batch: what it asks for beside what the whole request does.

use bytes::Bytes;
use protocol::{
    Options,
    request::{BatchKind, BatchOperation},
};

use crate::documents::stage::Done;

/// Whether an operation asks something of the document before it changes it.
pub(super) fn has_condition(operation: &BatchOperation) -> bool {
    matches!(&operation.kind, BatchKind::Patch { patch: Ok(patch), .. } if patch.condition.is_some())
}

/// Bytes of text that an operation brings.
pub(super) fn bytes(operation: &BatchOperation) -> usize {
    match &operation.kind {
        BatchKind::Create { body } | BatchKind::Upsert { body } => body.len(),
        BatchKind::Replace { id, body } => id.len() + body.len(),
        BatchKind::Read { id } | BatchKind::Delete { id } => id.len(),
        BatchKind::Patch { id, patch } => id.len() + patch.as_ref().map_or(0, |patch| patch.bytes),
    }
}

/// What tells an operation from others, as far as it is cheap to say.
pub(super) fn mark(operation: &BatchOperation) -> &[u8] {
    match &operation.kind {
        BatchKind::Create { body } | BatchKind::Upsert { body } => body,
        BatchKind::Read { id }
        | BatchKind::Replace { id, .. }
        | BatchKind::Delete { id }
        | BatchKind::Patch { id, .. } => id.as_bytes(),
    }
}

/// What is told of what was done: a read leaves its document out only if it asks for that itself.
pub(super) fn told(operation: &BatchOperation, done: Done) -> Done {
    if operation.is_read() && operation.is_minimal {
        Done { document: Bytes::new(), ..done }
    } else {
        done
    }
}

/// The options of the request, with the operation's own conditions and wishes.
pub(super) fn options(operation: &BatchOperation, options: &Options) -> Options {
    // COMPAT: either etag of a read is that of the version which the caller has.
    let known = operation.if_match.as_ref().filter(|_| operation.is_read());
    Options {
        if_match: operation.if_match.clone(),
        if_none_match: known.or(operation.if_none_match.as_ref()).cloned(),
        indexing_directive: operation.indexing_directive.unwrap_or(options.indexing_directive),
        minimal_response: operation.is_minimal || options.minimal_response,
        // Triggers are for single writes.
        pre_triggers: Vec::new(),
        post_triggers: Vec::new(),
        ..options.clone()
    }
}

#[cfg(test)]
mod tests {
    use protocol::request::IndexingDirective;

    use super::*;

    fn of(operation: BatchOperation) -> Options {
        options(&operation, &Options::default())
    }

    fn new(kind: BatchKind) -> BatchOperation {
        BatchOperation { if_match: Some("e".to_owned()), ..BatchOperation::new(kind) }
    }

    /// Of a read, either etag is the one that the caller has.
    #[test]
    fn etags_of_reads() {
        let id = || "a".to_owned();
        let read = of(new(BatchKind::Read { id: id() }));
        let delete = of(new(BatchKind::Delete { id: id() }));
        assert_eq!(
            (read.if_none_match.as_deref(), delete.if_none_match.as_deref()),
            (Some("e"), None)
        );
        assert_eq!(delete.if_match.as_deref(), Some("e"));
    }

    #[test]
    fn wishes_of_its_own() {
        let plain = BatchOperation::new(BatchKind::Delete { id: String::new() });
        let indexing_directive = Some(IndexingDirective::Exclude);
        let own = BatchOperation { indexing_directive, is_minimal: true, ..plain.clone() };
        let (plain, own) = (of(plain), of(own));
        assert_eq!((plain.minimal_response, own.minimal_response), (false, true));
        assert_eq!(plain.indexing_directive, IndexingDirective::Default);
        assert_eq!(own.indexing_directive, IndexingDirective::Exclude);
    }
}
