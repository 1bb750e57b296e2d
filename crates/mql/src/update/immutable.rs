//! Fields that an update must leave as they are: `_id`, and the shard key.

use std::borrow::Cow;

use bson::{RawBsonRef, RawDocument};

use super::sort::find;
use crate::error::{Code, Error, Result};
use crate::path::Path;
use crate::{order, show};

/// Refuses a change at a path or below it.
pub(super) fn check_path(path: &[Cow<'_, str>], immutable: &[&Path]) -> Result<()> {
    let is_below = |immutable: &&&Path| {
        let parts = immutable.parts();
        parts.len() <= path.len() && parts.iter().zip(path).all(|(part, name)| part.name == *name)
    };
    match immutable.iter().find(is_below) {
        None => Ok(()),
        Some(immutable) => Err(Error::new(
            Code::IMMUTABLE_FIELD,
            format!(
                "Performing an update on the path '{}' would modify the immutable field '{}'",
                path.join("."),
                immutable.text()
            ),
        )),
    }
}

/// Refuses documents in which a field has another value than before.
pub(super) fn check_documents(
    old: &RawDocument,
    new: &RawDocument,
    immutable: &[&Path],
) -> Result<()> {
    for path in immutable {
        let value = |document| find(RawBsonRef::Document(document), path);
        let (old_value, new_value) = (value(old), value(new));
        let is_same = match (old_value, new_value) {
            (Some(old), Some(new)) => order::compare(old, new, None).is_eq(),
            (old, new) => old.is_none() && new.is_none(),
        };
        if is_same {
            continue;
        }
        let text = path.text();
        let became = match new_value {
            Some(value) => {
                let name = path.parts().last().map_or("", |part| part.name.as_str());
                format!("altered to {name}: {}", show::value(value))
            }
            None => format!("removed --{}", show::document(old)),
        };
        return Err(Error::new(
            Code::IMMUTABLE_FIELD,
            format!(
                "After applying the update, the (immutable) field '{text}' was found to have been \
                 {became}"
            ),
        ));
    }
    Ok(())
}
