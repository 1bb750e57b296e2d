use proptest::prelude::*;

use super::*;

fn shown(path: &str) -> String {
    match parse(path) {
        Ok(target) => {
            let Signed { types, links } = target.signed;
            format!("{:?} {types:?} {links:?}", target.resource)
        }
        Err(error) => format!("{error}"),
    }
}

/// Returns the signed types and links of a path.
fn signed_of(path: &str) -> (Vec<String>, Vec<String>) {
    let target = parse(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let owned = |all: Vec<Cow<'_, str>>| all.into_iter().map(Cow::into_owned).collect();
    (owned(target.signed.types), owned(target.signed.links))
}

#[test]
fn paths_mean_resources() {
    for (path, expected) in [
        ("/", r#"Account [""] [""]"#),
        ("", r#"Account [""] [""]"#),
        ("/dbs", r#"Databases ["dbs"] [""]"#),
        ("/dbs/a", r#"Database(DatabasePath("a")) ["dbs"] ["dbs/a"]"#),
        ("/dbs/a/colls", r#"Collections(DatabasePath("a")) ["colls"] ["dbs/a"]"#),
        (
            "/dbs/a/clientencryptionkeys",
            r#"EncryptionKeys(DatabasePath("a")) ["clientencryptionkeys"] ["dbs/a"]"#,
        ),
        ("/dbs/a/users", r#"Users(DatabasePath("a")) ["users"] ["dbs/a"]"#),
        (
            "/dbs/a/users/u/permissions",
            r#"Permissions(UserPath { database: DatabasePath("a"), user: "u" }) ["permissions"] ["dbs/a/users/u"]"#,
        ),
        (
            "/dbs/a/users/u/permissions/p",
            r#"Permission(PermissionPath { user: UserPath { database: DatabasePath("a"), user: "u" }, permission: "p" }) ["permissions"] ["dbs/a/users/u/permissions/p"]"#,
        ),
        ("//media/Ab-=", r#"Media("Ab-=") ["media"] ["ab-=", "media/Ab-="]"#),
        ("/offers", r#"Offers ["offers"] [""]"#),
        ("/offers/AbCd", r#"Offer("AbCd") ["offers"] ["abcd", "offers/AbCd"]"#),
    ] {
        assert_eq!(shown(path), expected, "{path}");
    }
    let Ok(Target { resource: Resource::Document(path), signed }) =
        parse("/dbs/a/colls/b/docs/Item%201/")
    else {
        panic!("not a document")
    };
    assert_eq!(path.document, "Item 1");
    assert_eq!(path.collection, collection("a", "b"));
    assert_eq!(signed.types, ["docs"]);
    assert_eq!(signed.links, ["dbs/a/colls/b/docs/Item 1", "dbs/a/colls/b/docs/Item%201"]);
}

#[test]
fn slashes_and_case_do_not_matter() {
    let expected = shown("/dbs/a/colls/b/docs");
    for path in ["/dbs/a/colls/b/docs/", "//dbs/a/colls/b/docs", "dbs/a/colls/b/docs//"] {
        assert_eq!(shown(path), expected, "{path}");
    }
    assert!(shown("/DBS/A/Colls/B").starts_with("Collection(CollectionPath"), "types in any case");
    assert!(shown("/DBS/A/Colls/B").contains(r#"DatabasePath("A")"#), "names as they are");
}

#[test]
fn names_are_decoded_once() {
    let name = |path: &str| match parse(path).map(|target| target.resource) {
        Ok(Resource::Database(DatabasePath(name))) => name,
        other => panic!("{other:?}"),
    };
    assert_eq!(name("/dbs/a%2520b"), "a%20b");
    assert_eq!(name("/dbs/a+b%zz%"), "a+b%zz%");
    assert_eq!(name("/dbs/%E6%97%A5%e6%9c%ac"), "日本");
    assert_eq!(name("/dbs/a%2Fb"), "a/b");
}

#[test]
fn ids_of_documents_may_contain_what_ends_a_segment() {
    let docs = "/dbs/a/colls/b/docs";
    for (escaped, id) in [
        ("x%2Fy%5Cz", "x/y\\z"),
        ("x%3Fy%23z", "x?y#z"),
        ("x?y", "x?y"),
        ("x?", "x?"),
        ("x?y=1&z/%2F%20", "x?y=1&z// "),
        ("x?y/", "x?y"),
    ] {
        let path = format!("{docs}/{escaped}");
        let Ok(Target { resource: Resource::Document(found), signed }) = parse(&path) else {
            panic!("{path}")
        };
        assert_eq!(found.document, id);
        assert_eq!(signed.links[0], format!("dbs/a/colls/b/docs/{id}"), "{path}");
    }
    // Elsewhere the query string is ignored.
    for (path, same) in [
        (format!("{docs}?x"), docs.to_owned()),
        (format!("{docs}/?x"), docs.to_owned()),
        (format!("{docs}/x/?y"), format!("{docs}/x")),
        ("/dbs?x".to_owned(), "/dbs".to_owned()),
        ("/?x".to_owned(), "/".to_owned()),
        ("/dbs/a/colls/b?docs/x".to_owned(), "/dbs/a/colls/b".to_owned()),
    ] {
        assert_eq!(shown(&path), shown(&same), "{path}");
    }
}

#[test]
fn rid_paths_are_signed_with_the_last_rid() {
    let (types, links) = signed_of("/dbs/obLD1A==/colls/obLD1IAAAAE=/pkranges");
    assert_eq!(types, ["pkranges"]);
    assert_eq!(links[0], "obld1iaaaae=");
    assert_eq!(signed_of("/dbs/obLD1A%3D%3D/colls/").1[0], "obld1a==");
    assert_eq!(signed_of("/dbs/obLD1A==").1[0], "obld1a==");
    assert!(!signed_of("/dbs/db/colls/Coll").1.contains(&"coll".to_owned()), "not by name");
}

#[test]
fn odd_signatures_are_expected() {
    let (types, links) = signed_of("/dbs/a/colls/b/operations/partitionkeydelete");
    assert_eq!(
        (types, links),
        (vec!["colls".into(), "partitionkey".into()], vec!["dbs/a/colls/b".into()])
    );
    assert_eq!(signed_of("/dbs/a/colls/b/conflicts/c").0, ["conflicts", "users"]);
    assert_eq!(signed_of("/dbs/a/colls/b/sprocs/s").1, ["dbs/a/colls/b/sprocs/s"]);
}

#[test]
fn what_administrators_do_is_signed_as_the_resource() {
    for (path, expected) in [
        (
            "/_sheaf/dbs/a/colls/b/pkranges/0/merge",
            (vec!["pkranges".to_owned()], vec!["dbs/a/colls/b/pkranges/0".to_owned()]),
        ),
        (
            "/_sheaf/dbs/a/colls/b/partition",
            (vec!["colls".to_owned()], vec!["dbs/a/colls/b".to_owned()]),
        ),
    ] {
        assert_eq!(signed_of(path), expected, "{path}");
    }
    for unknown in ["/_sheaf/dbs/a/partition", "/_sheaf/dbs/a/colls/b/split", "/_sheaf/partition"] {
        let error = parse(unknown).map(|target| target.resource).expect_err(unknown);
        assert_eq!(error.code, Code::NotFound, "{unknown}");
    }
}

#[test]
fn what_is_no_path_is_refused() {
    let code = |path: &str| parse(path).map(|target| target.resource).expect_err(path).code;
    for unknown in ["/x", "/dbs/a/b", "/dbs/a/colls/b/x", "/dbs/a/docs", "/*", "/colls/a"] {
        assert_eq!(code(unknown), Code::NotFound, "{unknown}");
    }
    let long = format!("/dbs/{}", "a".repeat(DOCUMENT_ID_BYTES_MAX + 1));
    let deep = "/a".repeat(11);
    for bad in ["/dbs/%FF", "/dbs/a%00b", "/dbs/a/colls//docs", &long, &deep] {
        assert_eq!(code(bad), Code::BadRequest, "{bad}");
    }
    let direct = parse("//addresses/").expect_err("direct mode");
    assert!(direct.message.contains("ConnectionMode.Gateway"), "{direct}");
}

proptest! {
    #[test]
    fn the_link_of_a_resource_is_its_path(
        start in "/{0,2}",
        names in prop::collection::vec("[a-z0-9.é]{1,5}", 3),
        end in "/{0,2}(\\?[a/]{0,3})?",
    ) {
        let [db, coll, id] = names.as_slice() else { unreachable!() };
        for link in [
            format!("dbs/{db}/colls/{coll}/sprocs/{id}"),
            format!("dbs/{db}/colls/{coll}/pkranges/{id}"),
        ] {
            prop_assert_eq!(signed_of(&format!("{start}{link}{end}")).1, [link.clone()]);
            if link.contains("pkranges") {
                let path = format!("{start}_sheaf/{link}/split{end}");
                prop_assert_eq!(signed_of(&path).1, [link]);
            }
        }
    }

    #[test]
    fn no_path_panics(path in "(/?[?]?(dbs|colls|docs|offers|users|operations|%2[0Ff]|%|[a-zA-Z=é]{0,9})){0,12}/?") {
        if let Ok(target) = parse(&path) {
            prop_assert!(!target.signed.types.is_empty() && !target.signed.links.is_empty());
        }
    }

    #[test]
    fn no_text_panics(path in any::<String>()) {
        let _ = parse(&path);
    }
}
