//! Tests of the terms of documents; the expected terms are computed without the tree of rules.

use std::collections::BTreeSet;

use proptest::prelude::*;
use value::order::compare;

use super::*;
use crate::composite::ELEMENTS_MAX;
use crate::definition::Definition;
use crate::encoding::Decoded;
use crate::path::Segment;
use crate::rule::{Ending, Rule};
use crate::testing::{any_value, composite, definition, document, policy, spatial, value_of};
use crate::{Composite, Coverage};

fn term(path: &Path, value: &Value) -> Vec<u8> {
    let mut term = key::prefix(Kind::Path, key::id(path_hash(path.steps(), 0))).to_vec();
    encode_value(value, &mut term);
    term
}

fn set(terms: &Terms) -> BTreeSet<Vec<u8>> {
    terms.iter().map(|term| term.key.to_vec()).collect()
}

/// Collects every place of a document with its value.
fn places(value: &Value, path: &mut Path, found: &mut Vec<(Path, Value)>) {
    if value.is_undefined() {
        return;
    }
    if !path.0.is_empty() {
        found.push((path.clone(), value.clone()));
    }
    let below: Vec<(Segment, &Value)> = match value {
        Value::Array(elements) => elements.iter().map(|it| (Segment::Element, it)).collect(),
        Value::Object(object) => {
            object.iter().map(|(name, it)| (Segment::Key(name.to_owned()), it)).collect()
        }
        _ => Vec::new(),
    };
    for (segment, value) in below {
        path.0.push(segment);
        places(value, path, found);
        path.0.pop();
    }
}

/// What the rules say about a place, by checking each rule.
fn is_included(definition: &Definition, path: &Path) -> bool {
    let always = [["id"], ["_ts"], ["pk"]].map(|names| Path::of_keys(&names));
    if always.contains(path) {
        return true;
    }
    let own = ["_rid", "_self", "_etag", "_attachments"]
        .into_iter()
        .find(|name| matches!(path.0.first(), Some(Segment::Key(first)) if first == name));
    if own.is_some_and(|name| !definition.rules.iter().any(|(rule, _)| rule.starts_at(name))) {
        return false;
    }
    let deciding = definition.rules.iter().filter(|(rule, _)| match rule.ending {
        Ending::Scalar => rule.path == *path,
        Ending::Subtree => path.0.starts_with(&rule.path.0),
    });
    let deepest =
        deciding.max_by_key(|(rule, _)| (rule.path.0.len(), rule.ending == Ending::Scalar));
    deepest.is_some_and(|(_, is_included)| *is_included)
}

fn rules() -> impl Strategy<Value = Vec<(Rule, bool)>> {
    let step = prop::sample::select(vec!["/a", "/b", "/\"c d\"", "/[]", "/_etag", "/pk", "/id"]);
    let path = (proptest::collection::vec(step, 0..4), any::<bool>()).prop_filter_map(
        "the document is no scalar",
        |(steps, is_scalar)| {
            let text = steps.concat() + if is_scalar { "/?" } else { "/*" };
            Rule::parse(&text).ok()
        },
    );
    let rules = proptest::collection::vec((path, any::<bool>()), 0..8);
    // Each path once, as in every policy that the engine accepts.
    rules
        .prop_map(|rules| rules.into_iter().collect::<std::collections::BTreeMap<_, _>>())
        .prop_map(|rules| rules.into_iter().collect())
}

fn definitions() -> impl Strategy<Value = Definition> {
    (rules(), any::<bool>()).prop_map(|(rules, automatic)| {
        let mut definition = definition(&[], &[]);
        definition.rules = rules;
        definition.automatic = automatic;
        definition
    })
}

#[test]
fn the_terms_of_a_document() {
    let document =
        value_of(r#"{"id":"x","pk":1,"a":{"b":[true,[null],{"c":"y"}]},"_ts":5,"_rid":"r"}"#);
    let terms = Terms::of(
        &policy(&definition(&["/*"], &["/_etag/?"])),
        &document,
        Directive::Default,
        &mut HashIds,
    );
    let at = |text: &str| Path(crate::parse_composite_path(text).unwrap().0);
    let deep = |inner: &[Step<'_>]| {
        let steps = [&[Step::Key("a"), Step::Key("b"), Step::Element], inner].concat();
        Path::of_steps(&steps)
    };
    let expected: BTreeSet<_> = [
        term(&at("/id"), &"x".into()),
        term(&at("/pk"), &1.into()),
        term(&at("/a"), &value_of("{}")),
        term(&at("/a/b"), &value_of("[]")),
        term(&deep(&[]), &true.into()),
        term(&deep(&[]), &value_of("[]")),
        term(&deep(&[Step::Element]), &Value::Null),
        term(&deep(&[]), &value_of("{}")),
        term(&deep(&[Step::Key("c")]), &"y".into()),
        term(&at("/_ts"), &5.into()),
    ]
    .into();
    assert_eq!(set(&terms), expected);
}

#[test]
fn whoever_keeps_a_dictionary_chooses_the_numbers() {
    struct Ids(Vec<Path>);
    impl PathIds for Ids {
        fn id(&mut self, path: &[Step<'_>], hash: u64) -> u64 {
            assert_eq!(hash, path_hash(path.iter().copied(), 0));
            self.0.push(Path::of_steps(path));
            self.0.len() as u64
        }
    }
    let mut definition = definition(&["/*", "/z/?"], &[]);
    definition.spatial = vec![spatial("/a/*")];
    let document = value_of(r#"{"a":{"type":"Point","coordinates":[1,2]},"l":[1,2,3]}"#);
    let mut ids = Ids(Vec::new());
    let terms = Terms::of(&policy(&definition), &document, Directive::Default, &mut ids);
    let asked: Vec<_> = ids.0.iter().map(ToString::to_string).collect();
    let expected = ["/a", "/a/type", "/a/coordinates", "/a/coordinates/[]", "/l", "/l/[]", "/z"];
    assert_eq!(asked, expected);
    let count = |kind: Kind, id: u64| {
        terms.iter().filter(|term| term.key.starts_with(&key::prefix(kind, id))).count()
    };
    assert!(count(Kind::Spatial, 1) > 0);
    assert_eq!(count(Kind::Path, 6), 3);
}

#[test]
fn terms_come_and_go() {
    let policy = policy(&definition(&["/*"], &[]));
    let terms = |text: &str| Terms::of(&policy, &value_of(text), Directive::Default, &mut HashIds);
    let (old, new) = (terms(r#"{"a":1,"b":2,"c":3}"#), terms(r#"{"a":1,"b":4,"d":5}"#));
    assert_eq!((new.difference(&old).count(), old.difference(&new).count()), (2, 2));
    assert_eq!(new.difference(&Terms::default()).count(), 3);
    assert_eq!(Terms::default().difference(&new).count(), 0);
    let mut more = old.clone();
    more.insert(b"I");
    more.insert(b"zz");
    more.insert(b"I");
    assert!(more.len() == 5 && more.iter().is_sorted());
    let added: Vec<_> = more.difference(&old).map(|term| term.key).collect();
    assert_eq!(added, [b"I".as_slice(), b"zz"]);
}

/// A term whose value changes is both removed and added.
#[test]
fn values_tell_terms_apart() {
    let of = |value: &[u8]| {
        let mut terms = Terms::default();
        terms.insert(b"Ia");
        terms.bytes.extend_from_slice(value);
        terms.spans[0].end += value.len();
        terms.insert(b"Ib");
        terms
    };
    let (old, new) = (of(b"1"), of(b"22"));
    let changed = |value| vec![Term { key: b"Ia", value }];
    assert_eq!(old.difference(&new).collect::<Vec<_>>(), changed(b"1"));
    assert_eq!(new.difference(&old).collect::<Vec<_>>(), changed(b"22"));
    assert_eq!(new.difference(&new).count(), 0);
}

#[test]
fn an_index_over_elements_has_an_entry_for_each() {
    let mut definition = definition(&[], &["/*"]);
    definition.composites = vec![composite(&["/n", "-/l/[]/x", "/l/[]/y/z"])];
    let policy = policy(&definition);
    let composite = &policy.composites()[0];
    let entries = |text: &str| -> Vec<Vec<Decoded>> {
        let terms = Terms::of(&policy, &value_of(text), Directive::Default, &mut HashIds);
        let prefix = key::prefix(Kind::Composite, composite.id);
        let values = terms.iter().filter_map(|term| term.key.strip_prefix(&prefix));
        values.map(|bytes| composite.decode(bytes).unwrap().0).collect()
    };
    let of = |values: [Value; 3]| values.map(Decoded::Value).to_vec();
    let undefined = || Value::Undefined;
    assert_eq!(
        entries(r#"{"n":1,"l":[{"x":1,"y":{"z":"a"}},{"x":2},{"x":1,"y":{"z":"a"}}]}"#),
        [of([1.into(), 2.into(), undefined()]), of([1.into(), 1.into(), "a".into()])]
    );
    for none in [r#"{"n":1}"#, r#"{"n":1,"l":[]}"#, r#"{"n":1,"l":{"x":1}}"#] {
        assert_eq!(entries(none), [of([1.into(), undefined(), undefined()])], "{none}");
    }
    let elements = |count| vec![r#"{"x":1}"#; count].join(",");
    let long = |count| format!(r#"{{"n":1,"l":[{}]}}"#, elements(count));
    assert_eq!(entries(&long(ELEMENTS_MAX))[0][1], Decoded::Value(1.into()));
    assert_eq!(
        entries(&long(ELEMENTS_MAX + 1)),
        [[Decoded::Value(1.into()), Decoded::Many, Decoded::Many]]
    );
}

#[test]
fn how_much_a_document_takes() {
    let members: Vec<_> =
        (0..20).map(|n| format!(r#""property{n}":"{}""#, "v".repeat(n * 3))).collect();
    let text = format!(r#"{{"id":"x","pk":"y","_ts":1,{}}}"#, members.join(","));
    let terms = Terms::of(
        &policy(&definition(&["/*"], &[])),
        &value_of(&text),
        Directive::Default,
        &mut HashIds,
    );
    let bytes: usize = terms.iter().map(|term| term.key.len() + key::NUMBER_BYTES).sum();
    println!("{} bytes of text: {} terms of {bytes} bytes", text.len(), terms.len());
    assert_eq!(terms.len(), 23);
    assert!(bytes < 2 * text.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn terms_are_what_coverage_says_and_nothing_else(
        definition in definitions(),
        document in document(),
        directive in prop::sample::select(vec![
            Directive::Default,
            Directive::Include,
            Directive::Exclude,
        ]),
    ) {
        let policy = policy(&definition);
        let is_indexed = policy.is_indexed(directive);
        let mut found = Vec::new();
        places(&document, &mut Path::default(), &mut found);
        let mut expected = BTreeSet::new();
        for (path, value) in &found {
            let is_covered = policy.coverage(path) != Coverage::NotIndexed;
            prop_assert_eq!(is_covered, is_included(&definition, path), "{}", path);
            if if is_indexed { is_covered } else { policy.always.contains(path) } {
                expected.insert(term(path, value));
            }
        }
        for (rule, is_included) in definition.rules.iter().filter(|_| is_indexed) {
            let is_explicit =
                *is_included && rule.ending == Ending::Scalar && !rule.path.has_elements();
            if rule.ending == Ending::Scalar {
                let is_said = policy.coverage(&rule.path) == Coverage::Explicit;
                prop_assert_eq!(is_said, is_explicit, "{}", rule.path);
            }
            if is_explicit && value_at(&document, &rule.path.0).is_undefined() {
                expected.insert(term(&rule.path, &Value::Undefined));
            }
        }
        let terms = Terms::of(&policy, &document, directive, &mut HashIds);
        prop_assert!(terms.iter().is_sorted_by(|a, b| a < b));
        prop_assert_eq!(set(&terms), expected);
        let scalars = found.iter().filter(|(path, value)| {
            let is_own = |first: &Segment| {
                matches!(first, Segment::Key(name) if ["_ts", "_etag", "_self"].contains(&&**name))
            };
            let is_scalar = !matches!(value, Value::Array(_) | Value::Object(_));
            is_scalar && !is_own(&path.0[0]) && match directive {
                Directive::Exclude => false,
                _ if is_indexed => is_included(&definition, path),
                _ => policy.always.contains(path),
            }
        });
        prop_assert_eq!(policy.indexed_values(&document, directive), scalars.count());
    }

    #[test]
    fn composite_indexes_are_in_their_order(
        documents in proptest::collection::vec((any_value(), any_value()), 2..6),
        directions in any::<(bool, bool)>(),
    ) {
        let members = [(Path::of_keys(&["a"]), directions.0), (Path::of_keys(&["b"]), directions.1)];
        let composite = Composite::new(&members).unwrap();
        let mut definition = definition(&[], &["/*"]);
        definition.composites = vec![members.to_vec()];
        let policy = policy(&definition);
        let prefix = key::prefix(Kind::Composite, composite.id);
        let mut entries = Vec::new();
        for (a, b) in documents {
            let members = [("a".to_owned(), a.clone()), ("b".to_owned(), b.clone())];
            let document = Value::Object(members.into_iter().collect());
            let terms = Terms::of(&policy, &document, Directive::Default, &mut HashIds);
            let own: Vec<_> = terms.iter().filter(|term| term.key.starts_with(&prefix)).collect();
            prop_assert_eq!(own.len(), 1, "every document has an entry");
            entries.push((own[0].key.to_vec(), a, b));
        }
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        let (order, is_backward) = policy.composite_for_order(&members).unwrap();
        prop_assert_eq!(order, &composite);
        if is_backward {
            entries.reverse();
        }
        for pair in entries.windows(2) {
            let directed = |ordering: Ordering, descends| {
                if descends { ordering.reverse() } else { ordering }
            };
            let by = |value: &Value| {
                let mut bytes = Vec::new();
                encode_value(value, &mut bytes);
                bytes
            };
            // Values with the same term may be in any order.
            let first = directed(compare(&pair[0].1, &pair[1].1), directions.0);
            if by(&pair[0].1) == by(&pair[1].1) {
                let second = directed(compare(&pair[0].2, &pair[1].2), directions.1);
                let is_same = by(&pair[0].2) == by(&pair[1].2);
                prop_assert!(is_same || second != Ordering::Greater);
            } else {
                prop_assert_ne!(first, Ordering::Greater);
            }
        }
    }
}
