//! What holds for all filters and all documents.

use std::ops::ControlFlow;

use bson::{Bson, Document, RawBsonRef, doc};
use proptest::prelude::*;

use super::{parse, raw, value};
use crate::order::compare;
use crate::path::{Path, visit};
use crate::testing;

/// Paths that the documents below have, or nearly have.
fn path() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "a.a", "a.b", "a.0", "b.0.a", "a.a.b", "c.1.0"])
        .prop_map(str::to_owned)
}

fn operand() -> impl Strategy<Value = Bson> {
    testing::bson().prop_filter("is no operand", |value| {
        !matches!(value, Bson::Undefined | Bson::RegularExpression(_))
    })
}

fn condition() -> impl Strategy<Value = Document> {
    let comparison = prop::sample::select(vec!["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]);
    let simple = prop_oneof![
        4 => (comparison, operand()).prop_map(|(operator, operand)| {
            let mut condition = Document::new();
            condition.insert(operator, operand);
            condition
        }),
        1 => prop::collection::vec(operand(), 0..3).prop_map(|values| doc! {"$in": values}),
        1 => prop::collection::vec(operand(), 0..3).prop_map(|values| doc! {"$all": values}),
        1 => any::<bool>().prop_map(|exists| doc! {"$exists": exists}),
        1 => prop::sample::select(vec!["null", "array", "object", "number"])
            .prop_map(|name| doc! {"$type": name}),
        1 => (0..3_i32).prop_map(|size| doc! {"$size": size}),
        1 => (1..3_i32, 0..2_i32).prop_map(|(a, b)| doc! {"$mod": [a, b]}),
        1 => Just(doc! {"$regex": "^a"}),
        1 => (0..4_i32).prop_map(|mask| doc! {"$bitsAnySet": mask}),
    ];
    simple.prop_recursive(2, 4, 2, |inner| {
        prop_oneof![
            inner.clone().prop_map(|inner| doc! {"$not": inner}),
            inner.prop_map(|inner| doc! {"$elemMatch": inner}),
        ]
    })
}

fn filter() -> impl Strategy<Value = Document> {
    let field = (path(), condition()).prop_map(|(path, condition)| {
        let mut filter = Document::new();
        filter.insert(path, condition);
        filter
    });
    field.prop_recursive(3, 12, 3, |inner| {
        let logical = prop::sample::select(vec!["$and", "$or", "$nor"]);
        (logical, prop::collection::vec(inner, 1..4)).prop_map(|(operator, filters)| {
            let mut filter = Document::new();
            filter.insert(operator, filters);
            filter
        })
    })
}

fn document() -> impl Strategy<Value = Document> {
    prop::collection::vec(("[abc]", testing::bson()), 0..4)
        .prop_map(|fields| fields.into_iter().collect())
}

fn is_match(filter: &Document, document: &Document) -> bool {
    parse(filter).unwrap().matches(&raw(document)).unwrap()
}

proptest! {
    #[test]
    fn a_filter_and_its_negation_are_complements(filter in filter(), document in document()) {
        let negated = doc! {"$nor": [filter.clone()]};
        prop_assert_ne!(is_match(&filter, &document), is_match(&negated, &document));
    }

    #[test]
    fn the_order_of_conjuncts_does_not_matter(
        filters in prop::collection::vec(filter(), 1..4),
        document in document(),
    ) {
        let all = is_match(&doc! {"$and": filters.clone()}, &document);
        let reversed: Vec<Document> = filters.iter().rev().cloned().collect();
        prop_assert_eq!(all, is_match(&doc! {"$and": reversed.clone()}, &document));
        prop_assert_eq!(all, filters.iter().all(|filter| is_match(filter, &document)));
        let any = is_match(&doc! {"$or": filters.clone()}, &document);
        prop_assert_eq!(any, is_match(&doc! {"$or": reversed}, &document));
        prop_assert_eq!(any, filters.iter().any(|filter| is_match(filter, &document)));
    }

    #[test]
    fn finding_is_matching(filter in filter(), document in document()) {
        let parsed = parse(&filter).unwrap();
        let document = raw(&document);
        prop_assert_eq!(parsed.find(&document).unwrap().is_some(), parsed.matches(&document).unwrap());
    }

    #[test]
    fn every_value_is_equal_to_itself(value in operand()) {
        let document = doc! {"a": value.clone()};
        for operator in ["$eq", "$gte", "$lte"] {
            let mut condition = Document::new();
            condition.insert(operator, value.clone());
            let is_equal = is_match(&doc! {"a": condition}, &document);
            prop_assert!(is_equal, "{} {}", operator, value);
        }
    }

    #[test]
    fn membership_is_equality_with_one(
        values in prop::collection::vec(operand(), 0..4),
        document in document(),
    ) {
        let any = values.iter().any(|value| is_match(&doc! {"a": {"$eq": value}}, &document));
        prop_assert_eq!(is_match(&doc! {"a": {"$in": values}}, &document), any);
    }

    #[test]
    fn equality_is_that_of_what_the_path_leads_to(
        path in prop::sample::select(vec!["a", "a.b", "b.a.c"]),
        operand in operand(),
        document in document(),
    ) {
        let raw_operand = value(operand.clone());
        let operand_ref = raw_operand.as_raw_bson_ref();
        let raw_document = raw(&document);
        let is_equal = |found: Option<RawBsonRef<'_>>| match found {
            None | Some(RawBsonRef::Undefined) => operand_ref == RawBsonRef::Null,
            Some(found) => compare(found, operand_ref, None).is_eq(),
        };
        let found = visit(&raw_document, &Path::new(path), &mut |found| {
            let elements = found.and_then(RawBsonRef::as_array).into_iter().flatten();
            let mut elements = elements.map(Result::ok);
            if is_equal(found) || elements.any(is_equal) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        let mut filter = Document::new();
        filter.insert(path, doc! {"$eq": operand});
        prop_assert_eq!(found.is_break(), is_match(&filter, &document));
    }

    #[test]
    fn no_filter_makes_it_panic(
        name in "(\\$(and|or|not|in|all|elemMatch|mod|size|type|regex|options|bitsAllSet|near|geoWithin|jsonSchema|expr|exists)|a|a\\.b|)",
        inner in "(\\$(and|or|not|in|all|elemMatch|mod|size|type|regex|options|bitsAllSet|geometry|box|center|centerSphere|near)|type|a|)",
        operand in testing::bson(),
        document in document(),
    ) {
        let mut condition = Document::new();
        condition.insert(inner, operand);
        let mut filter = Document::new();
        filter.insert(name, condition.clone());
        for filter in [filter.clone(), doc! {"a": filter}, condition] {
            match parse(&filter) {
                Ok(parsed) => {
                    let found = parsed.find(&raw(&document)).map(|found| found.is_some());
                    prop_assert_eq!(found, parsed.matches(&raw(&document)));
                    let code = parsed.equalities().err().map(|error| error.code.number());
                    prop_assert!(matches!(code, None | Some(54)), "{code:?}");
                    let code = parsed.identifier().err().map(|error| error.code.number());
                    prop_assert!(matches!(code, None | Some(9)), "{code:?}");
                }
                Err(error) => prop_assert!(!error.message.is_empty()),
            }
        }
    }
}
