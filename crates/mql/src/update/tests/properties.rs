//! What holds for all updates.

use bson::{Bson, Document, RawBson, doc};
use proptest::prelude::*;

use super::{CONTEXT, apply, document, parse, raw};
use crate::number::Number;
use crate::testing;
use crate::update::{Changes, UpdateOptions};
use crate::writer::identical;

/// A document with the changes that a description tells.
pub(super) fn replay(before: &Document, changes: &Changes) -> Document {
    let mut root = Bson::Document(before.clone());
    for path in &changes.removed {
        let parts: Vec<&str> = path.split('.').collect();
        let (last, outer) = parts.split_last().unwrap();
        if let Bson::Document(document) = place(&mut root, outer) {
            document.remove(*last);
        }
    }
    for (path, size) in &changes.truncated {
        let parts: Vec<&str> = path.split('.').collect();
        if let Bson::Array(array) = place(&mut root, &parts) {
            array.truncate(*size);
        }
    }
    for (path, value) in document(&changes.updated) {
        let parts: Vec<&str> = path.split('.').collect();
        *place(&mut root, &parts) = value;
    }
    match root {
        Bson::Document(document) => document,
        other => panic!("{other}"),
    }
}

fn place<'b>(root: &'b mut Bson, parts: &[&str]) -> &'b mut Bson {
    parts.iter().fold(root, |value, part| match value {
        Bson::Document(document) => document.entry((*part).to_owned()).or_insert(Bson::Null),
        Bson::Array(array) => {
            let index: usize = part.parse().unwrap();
            if index >= array.len() {
                array.resize(index + 1, Bson::Null);
            }
            &mut array[index]
        }
        other => panic!("{part} in {other}"),
    })
}

fn fields() -> impl Strategy<Value = Document> {
    proptest::collection::vec(("[abcd]", testing::bson()), 0..4)
        .prop_map(|fields| fields.into_iter().collect())
}

fn path() -> impl Strategy<Value = String> {
    proptest::collection::vec("[abcd01]", 1..4).prop_map(|parts| parts.join("."))
}

fn update() -> impl Strategy<Value = Document> {
    let operator = prop_oneof![
        (path(), testing::bson()).prop_map(|(path, value)| ("$set", path, value)),
        path().prop_map(|path| ("$unset", path, Bson::Null)),
        (path(), -2..3_i32).prop_map(|(path, by)| ("$inc", path, by.into())),
        (path(), testing::bson()).prop_map(|(path, value)| ("$max", path, value)),
        (path(), testing::bson()).prop_map(|(path, value)| ("$push", path, value)),
        (path(), testing::bson()).prop_map(|(path, value)| ("$addToSet", path, value)),
        (path(), testing::bson(), -2..3_i32).prop_map(|(path, value, at)| {
            ("$push", path, doc! {"$each": [value], "$position": at, "$slice": -3}.into())
        }),
        path().prop_map(|path| ("$pop", path, Bson::Int32(-1))),
        (path(), testing::bson()).prop_map(|(path, value)| ("$pullAll", path, vec![value].into())),
        (path(), "[abcd]").prop_map(|(path, to)| ("$rename", path, to.into())),
        (path(), testing::bson()).prop_map(|(path, value)| ("$set", path + ".$[].b", value)),
    ];
    proptest::collection::vec(operator, 1..4).prop_map(|operators| {
        let mut update = Document::new();
        for (operator, path, value) in operators {
            let fields = update.entry(operator.to_owned()).or_insert(Bson::Document(doc! {}));
            if let Bson::Document(fields) = fields {
                fields.insert(path, value);
            }
        }
        update
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_described_changes_lead_to_the_same_document(before in fields(), update in update()) {
        if let Ok(applied) = apply(&before, &update) {
            let is_same = applied.document.as_bytes() == raw(&before).as_bytes();
            prop_assert_eq!(applied.is_modified, !is_same, "{}", &update);
            if let Some(changes) = &applied.changes {
                let again = raw(&replay(&before, changes));
                prop_assert_eq!(again.as_bytes(), applied.document.as_bytes(), "{:?}", changes);
            }
        }
    }

    #[test]
    fn what_is_set_is_read_back(before in fields(), path in path(), value in testing::bson()) {
        if let Ok(applied) = apply(&before, &doc! {"$set": {&path: value.clone()}}) {
            let value = RawBson::try_from(value).unwrap();
            let path = crate::path::Path::new(&path);
            let root = bson::RawBsonRef::Document(&applied.document);
            let found = crate::update::sort::find(root, &path).unwrap();
            prop_assert!(identical(found, value.as_raw_bson_ref()));
        }
    }

    #[test]
    fn sums_are_those_of_numbers(a in testing::value(), b in testing::value()) {
        let numbers = (Number::of(a.as_raw_bson_ref()), Number::of(b.as_raw_bson_ref()));
        if let (Some(left), Some(right)) = numbers {
            let mut before = bson::RawDocumentBuf::new();
            before.append(bson::raw::cstr!("a"), a);
            let mut operand = bson::RawDocumentBuf::new();
            operand.append(bson::raw::cstr!("a"), b);
            let update = bson::rawdoc! {"$inc": operand};
            let update = crate::update::Update::parse(&update, None, UpdateOptions::default()).unwrap();
            let result = update.apply(&before, &CONTEXT);
            match left.checked_add(right) {
                None => prop_assert_eq!(result.unwrap_err().code.number(), 2),
                Some(sum) => {
                    let sum = RawBson::from(sum);
                    let applied = result.unwrap();
                    let found = applied.document.get("a").unwrap().unwrap();
                    prop_assert!(identical(found, sum.as_raw_bson_ref()));
                }
            }
        }
    }

    #[test]
    fn differences_lead_to_the_same_fields(old in fields(), new in fields()) {
        let (old_raw, new_raw) = (raw(&old), raw(&new));
        let changes = crate::update::changes::between(&old_raw, &new_raw).unwrap();
        let again = replay(&old, &changes);
        for (name, value) in &new {
            let value = RawBson::try_from(value.clone()).unwrap();
            let found = RawBson::try_from(again.get(name).unwrap().clone()).unwrap();
            prop_assert!(identical(found.as_raw_bson_ref(), value.as_raw_bson_ref()));
        }
        prop_assert_eq!(again.len(), new.len());
    }

    #[test]
    fn any_document_parses_or_is_refused(update in fields(), operator in 0..15_usize) {
        let names = ["$set", "$unset", "$inc", "$mul", "$min", "$max", "$rename", "$setOnInsert",
            "$currentDate", "$push", "$addToSet", "$pop", "$pull", "$pullAll", "$bit"];
        let update = doc! {names[operator]: update};
        if let Ok(update) = parse(&update) {
            let _ = update.apply(&raw(&doc! {"a": [1, {"b": 2}], "b": 1, "c": {"a": "x"}}), &CONTEXT);
        }
    }
}
