//! The order of strings in a language, as `collation` of a command or an index describes it.

use std::cmp::Ordering;
use std::fmt;

use bson::{RawBsonRef, RawDocument, RawDocumentBuf};
use icu_collator::options::{AlternateHandling, CaseLevel, CollatorOptions, MaxVariable, Strength};
use icu_collator::preferences::{CollationCaseFirst, CollationNumericOrdering};
use icu_collator::{CollatorBorrowed, CollatorPreferences};
use icu_locale_core::Locale;

use crate::error::{Error, Result};
use crate::number::Number;

/// How strings are compared. Without one (`locale: "simple"`) they are compared by their bytes.
pub struct Collation {
    collator: CollatorBorrowed<'static>,
    /// With all defaults filled in, as `listIndexes` shows it.
    description: RawDocumentBuf,
}

/// The fields of a collation, with their defaults.
struct Fields {
    locale: String,
    case_level: bool,
    case_first: String,
    strength: i32,
    numeric_ordering: bool,
    alternate: String,
    max_variable: String,
    normalization: bool,
    backwards: bool,
}

impl Collation {
    /// Reads the `collation` of a command; `None` for the simple one.
    pub fn parse(document: &RawDocument) -> Result<Option<Self>> {
        if document.is_empty() {
            return Ok(None);
        }
        let fields = Fields::read(document)?;
        if fields.locale == "simple" {
            return Ok(None);
        }
        let invalid = || {
            let locale = &fields.locale;
            Error::bad_value(format!("Field 'locale' is invalid in: {{ locale: \"{locale}\" }}"))
        };
        let locale: Locale = fields.locale.replace('_', "-").parse().map_err(|_| invalid())?;
        let mut preferences = CollatorPreferences::from(&locale);
        if fields.numeric_ordering {
            preferences.numeric_ordering = Some(CollationNumericOrdering::True);
        }
        preferences.case_first = match fields.case_first.as_str() {
            "upper" => Some(CollationCaseFirst::Upper),
            "lower" => Some(CollationCaseFirst::Lower),
            _ => None,
        };
        let collator =
            CollatorBorrowed::try_new(preferences, fields.options()).map_err(|_| invalid())?;
        Ok(Some(Self { collator, description: fields.describe() }))
    }

    /// Compares two strings.
    pub fn compare(&self, a: &str, b: &str) -> Ordering {
        self.collator.compare(a, b)
    }

    /// Bytes that sort like the string; strings that compare equal have the same.
    pub fn key(&self, text: &str) -> Vec<u8> {
        let mut key = Vec::with_capacity(text.len() * 2);
        let Ok(()) = self.collator.write_sort_key_to(text, &mut key);
        key
    }

    /// The collation with all its fields, as `listIndexes` shows it.
    pub fn description(&self) -> &RawDocument {
        &self.description
    }
}

/// Two collations are equal if they order alike.
impl PartialEq for Collation {
    fn eq(&self, other: &Self) -> bool {
        self.description == other.description
    }
}

impl fmt::Debug for Collation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Collation({:?})", self.description)
    }
}

impl Fields {
    fn read(document: &RawDocument) -> Result<Self> {
        let mut fields = Self {
            locale: String::new(),
            case_level: false,
            case_first: "off".to_owned(),
            strength: 3,
            numeric_ordering: false,
            alternate: "non-ignorable".to_owned(),
            max_variable: "punct".to_owned(),
            normalization: false,
            backwards: false,
        };
        for field in document {
            let (name, value) = field?;
            match name.as_str() {
                "locale" => fields.locale = text("locale", value, &[])?,
                "caseLevel" => fields.case_level = flag("caseLevel", value)?,
                "caseFirst" => {
                    fields.case_first = text("caseFirst", value, &["upper", "lower", "off"])?;
                }
                "strength" => fields.strength = strength(value)?,
                "numericOrdering" => fields.numeric_ordering = flag("numericOrdering", value)?,
                "alternate" => {
                    fields.alternate = text("alternate", value, &["non-ignorable", "shifted"])?;
                }
                "maxVariable" => {
                    fields.max_variable = text("maxVariable", value, &["punct", "space"])?;
                }
                "normalization" => fields.normalization = flag("normalization", value)?,
                "backwards" => fields.backwards = flag("backwards", value)?,
                "version" => {}
                unknown => {
                    return Err(Error::location(
                        40_415,
                        format!("BSON field 'collation.{unknown}' is an unknown field."),
                    ));
                }
            }
        }
        if fields.locale.is_empty() {
            return Err(Error::location(
                40_414,
                "BSON field 'collation.locale' is missing but a required field",
            ));
        }
        Ok(fields)
    }

    fn options(&self) -> CollatorOptions {
        let mut options = CollatorOptions::default();
        options.strength = Some(match self.strength {
            1 => Strength::Primary,
            2 => Strength::Secondary,
            4 => Strength::Quaternary,
            5 => Strength::Identical,
            _ => Strength::Tertiary,
        });
        options.case_level = Some(if self.case_level { CaseLevel::On } else { CaseLevel::Off });
        if self.alternate == "shifted" {
            options.alternate_handling = Some(AlternateHandling::Shifted);
            options.max_variable = Some(match self.max_variable.as_str() {
                "space" => MaxVariable::Space,
                _ => MaxVariable::Punctuation,
            });
        }
        options
    }

    fn describe(&self) -> RawDocumentBuf {
        bson::rawdoc! {
            "locale": self.locale.as_str(),
            "caseLevel": self.case_level,
            "caseFirst": self.case_first.as_str(),
            "strength": self.strength,
            "numericOrdering": self.numeric_ordering,
            "alternate": self.alternate.as_str(),
            "maxVariable": self.max_variable.as_str(),
            "normalization": self.normalization,
            "backwards": self.backwards,
            "version": "57.1",
        }
    }
}

/// A string, one of `allowed` unless that is empty.
fn text(name: &str, value: RawBsonRef<'_>, allowed: &[&str]) -> Result<String> {
    let text = value.as_str().ok_or_else(|| wrong_type(name, value, "string"))?;
    if allowed.is_empty() || allowed.contains(&text) {
        return Ok(text.to_owned());
    }
    Err(Error::bad_value(format!(
        "Enumeration value '{text}' for field 'collation.{name}' is not a valid value."
    )))
}

fn flag(name: &str, value: RawBsonRef<'_>) -> Result<bool> {
    value.as_bool().ok_or_else(|| wrong_type(name, value, "bool"))
}

fn strength(value: RawBsonRef<'_>) -> Result<i32> {
    let number = Number::of(value).ok_or_else(|| wrong_type("strength", value, "int"))?;
    match number.exact_i64() {
        Some(strength @ 1..=5) => Ok(i32::try_from(strength).unwrap_or(3)),
        _ => Err(Error::bad_value(
            "Enumeration value for field 'collation.strength' is not a valid value.",
        )),
    }
}

fn wrong_type(name: &str, value: RawBsonRef<'_>, expected: &str) -> Error {
    let found = crate::class::type_name(value);
    Error::type_mismatch(format!(
        "BSON field 'collation.{name}' is the wrong type '{found}', expected type '{expected}'"
    ))
}

#[cfg(test)]
mod tests {
    use bson::rawdoc;

    use super::*;
    use crate::error::Code;

    fn collation(document: RawDocumentBuf) -> Collation {
        Collation::parse(&document).unwrap().expect("not the simple one")
    }

    #[test]
    fn strength_two_ignores_case_only() {
        let english = collation(rawdoc! {"locale": "en_US", "strength": 2});
        assert_eq!(english.compare("Ping", "ping"), Ordering::Equal);
        assert_eq!(english.key("Ping"), english.key("pING"));
        assert_ne!(english.compare("resume", "résumé"), Ordering::Equal);
        let primary = collation(rawdoc! {"locale": "en", "strength": 1});
        assert_eq!(primary.compare("resume", "Résumé"), Ordering::Equal);
    }

    #[test]
    fn digits_can_count_as_numbers() {
        let numeric = collation(rawdoc! {"locale": "en", "numericOrdering": true});
        assert_eq!(numeric.compare("item 9", "item 10"), Ordering::Less);
        assert!(numeric.key("item 9") < numeric.key("item 10"));
        let plain = collation(rawdoc! {"locale": "en"});
        assert_eq!(plain.compare("item 9", "item 10"), Ordering::Greater);
    }

    #[test]
    fn invalid_collations_are_refused() {
        let code = |document: RawDocumentBuf| Collation::parse(&document).unwrap_err().code;
        assert_eq!(code(rawdoc! {"locale": "en", "strength": 6}), Code::BAD_VALUE);
        assert_eq!(code(rawdoc! {"locale": "no such language"}), Code::BAD_VALUE);
        assert_eq!(code(rawdoc! {"locale": 1}), Code::TYPE_MISMATCH);
        assert_eq!(code(rawdoc! {"strength": 1}), Code::location(40_414));
        assert_eq!(code(rawdoc! {"locale": "en", "foo": 1}), Code::location(40_415));
        assert_eq!(Collation::parse(&rawdoc! {"locale": "simple"}), Ok(None));
    }
}
