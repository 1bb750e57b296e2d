//! From an update as a client sends it to its compiled form.

use bson::{RawArray, RawBsonRef, RawDocument, RawDocumentBuf};

use super::matching::ArrayFilters;
use super::operator::{Operator, operands, rename, unknown_modifier};
use super::path::{Part, UpdatePath};
use super::tree::Fields;
use super::{Kind, UpdateOptions, dollar_prefixed};
use crate::error::{Error, Result};
use crate::show;
use crate::writer::check_nesting;

/// All modifiers, also those of which there is no field.
const MODIFIERS: [&str; 15] = [
    "$set",
    "$setOnInsert",
    "$unset",
    "$inc",
    "$mul",
    "$min",
    "$max",
    "$currentDate",
    "$bit",
    "$push",
    "$addToSet",
    "$pop",
    "$pull",
    "$pullAll",
    "$rename",
];

/// Reads operators or a replacement.
pub(super) fn document(
    update: &RawDocument,
    array_filters: Option<&RawArray>,
    options: &UpdateOptions,
) -> Result<Kind> {
    check_nesting(update.iter_elements())?;
    if let Some(filters) = array_filters {
        check_nesting(filters.iter_elements())?;
    }
    let filters = ArrayFilters::parse(&documents(array_filters)?, &options.filter)?;
    let first = update.iter().next().transpose()?;
    if !first.is_some_and(|(name, _)| name.as_str().starts_with('$')) {
        check_used(&filters, &[], update)?;
        return replacement(update, options);
    }
    let (mut fields, mut used) = (Fields::default(), Vec::new());
    for modifier in update {
        let (name, value) = modifier?;
        if !MODIFIERS.contains(&name.as_str()) {
            return Err(unknown_modifier(name.as_str()));
        }
        for field in operands(name.as_str(), value)? {
            let (path, value) = field?;
            add(&mut fields, name.as_str(), path.as_str(), value, options, &mut |path| {
                note_filters(path, &filters, &mut used)
            })?;
        }
    }
    check_used(&filters, &used, update)?;
    Ok(Kind::Operators { fields, filters })
}

fn add(
    fields: &mut Fields,
    operator: &str,
    path: &str,
    value: RawBsonRef<'_>,
    options: &UpdateOptions,
    note: &mut dyn FnMut(&UpdatePath) -> Result<()>,
) -> Result<()> {
    if operator == "$rename" {
        let (from, to) = rename(path, value)?;
        fields.insert(&from, Operator::RenameFrom)?;
        return fields.insert(&to, Operator::RenameTo { from });
    }
    let path_of_update = UpdatePath::parse(path)?;
    note(&path_of_update)?;
    let operator = Operator::parse(operator, path, value, &options.filter)?;
    fields.insert(&path_of_update, operator)
}

fn replacement(update: &RawDocument, options: &UpdateOptions) -> Result<Kind> {
    if options.is_multi {
        return Err(Error::failed_to_parse(
            "multi update is not supported for replacement-style update",
        ));
    }
    for field in update {
        let (name, _) = field?;
        if name.as_str().starts_with('$') {
            return Err(dollar_prefixed(name.as_str()));
        }
    }
    Ok(Kind::Replacement(update.to_owned()))
}

fn documents(array_filters: Option<&RawArray>) -> Result<Vec<RawDocumentBuf>> {
    let Some(array) = array_filters else { return Ok(Vec::new()) };
    array
        .into_iter()
        .map(|filter| match filter? {
            RawBsonRef::Document(document) => Ok(document.to_owned()),
            other => Err(Error::type_mismatch(format!(
                "BSON field 'update.updates.arrayFilters.0' is the wrong type '{}', expected \
                 type 'object'",
                crate::class::type_name(other)
            ))),
        })
        .collect()
}

/// Takes note of the filters that a path names, all of which have to exist.
fn note_filters(path: &UpdatePath, filters: &ArrayFilters, used: &mut Vec<String>) -> Result<()> {
    for part in &path.parts {
        let Part::Every(name) = part else { continue };
        if name.is_empty() {
            continue;
        }
        if !filters.names().any(|known| known == name) {
            return Err(Error::bad_value(format!(
                "No array filter found for identifier '{name}' in path '{}'",
                path.text
            )));
        }
        used.push(name.clone());
    }
    Ok(())
}

fn check_used(filters: &ArrayFilters, used: &[String], update: &RawDocument) -> Result<()> {
    match filters.names().find(|name| !used.iter().any(|used| used == name)) {
        None => Ok(()),
        Some(name) => Err(Error::failed_to_parse(format!(
            "The array filter for identifier '{name}' was not used in the update {}",
            show::document(update)
        ))),
    }
}
