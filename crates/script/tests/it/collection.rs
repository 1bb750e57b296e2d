//! Every method of the collection, with its options, its callback and its errors.

use script::{Operation, Target, host::Name};

use super::support::{ALT_LINK, Fake, SELF_LINK, answer_on, run_on, thrown, value, wrapped};

#[tokio::test]
async fn links() {
    let body = "answer([c.getSelfLink(), c.getAltLink(), __.getSelfLink()])";
    let answer = answer_on(&mut Fake::default(), body).await;
    assert_eq!(answer, format!("[\"{SELF_LINK}\",\"{ALT_LINK}\",\"{SELF_LINK}\"]"));
}

#[tokio::test]
async fn the_api_looks_the_same_before_and_after_its_use() {
    let look = r"const look = () => [c, __, __.request, __.response, __.spatial, console, getContext()].map(
            (object) => {
                const all = [];
                for (let at = object; at !== Object.prototype; at = Object.getPrototypeOf(at))
                    for (const name of Object.getOwnPropertyNames(at)) {
                        const { value, enumerable, writable, configurable, get } =
                            Object.getOwnPropertyDescriptor(at, name);
                        all.push([name, typeof value, value.name, enumerable, writable && configurable, get]);
                    }
                return all;
            });";
    let body = format!(
        "{look} const before = look();
        __.filter(() => true, () => {{ }}); __.chain().value(() => {{ }}); console.log('%d', 1);
        __.spatial.isValid({{}}); __.response.setBody('a'); __.response.appendBody('b');
        answer([JSON.stringify(before) === JSON.stringify(look()), before.map((all) => all.length),
            before.flat().every((one) => one[1] !== 'function' || one[0] === one[2]),
            Object.keys(c), Object.keys(__), Object.keys(__.spatial), Object.keys(getContext())]);"
    );
    let answer = answer_on(&mut Fake::default(), &body).await;
    let expected = r#"[true,[26,28,7,8,5,1,4],true,[],["request","response"],["distance","intersects","within","isValid","isValidDetailed"],["getCollection","getRequest","getResponse","abort"]]"#;
    assert_eq!(answer, expected);
}

#[tokio::test]
async fn read_by_either_link() {
    let mut fake = Fake::with(&[r#"{"id":"a","n":1}"#]);
    let body = r"
        c.readDocument(link + 'docs/rid-a/', (error, document, options) => {
            c.readDocument(c.getAltLink() + '/docs/a', {}, (error2, document2) =>
                answer([error, document.n, options.statusCode, error2, document2.n]));
        });";
    assert_eq!(answer_on(&mut fake, body).await, "[null,1,200,null,1]");
    assert_eq!(fake.calls[0].target, Target::Document(Name::Rid("rid-a".to_owned())));
    assert_eq!(fake.calls[1].target, Target::Document(Name::Id("a".to_owned())));
}

#[tokio::test]
async fn read_if_changed() {
    let mut fake = Fake::with(&[r#"{"id":"a"}"#]);
    let body = r"c.readDocument(c.getAltLink() + '/docs/a', { ifNoneMatch: '1' },
        (error, document, options) => answer([error === undefined, document === undefined, options]));";
    let answer = answer_on(&mut fake, body).await;
    assert_eq!(answer, r#"[true,true,{"statusCode":304,"notModified":true}]"#);
}

#[tokio::test]
async fn an_error_has_number_and_body() {
    let body = r"c.readDocument(c.getAltLink() + '/docs/none', (error, document, options) =>
        answer([error instanceof Error, error.number === ErrorCodes.NotFound, error.body,
            error.message, document === undefined, options.statusCode]));";
    let answer = answer_on(&mut Fake::default(), body).await;
    assert_eq!(answer, r#"[true,true,"Resource Not Found","Resource Not Found",true,404]"#);
}

#[tokio::test]
async fn an_error_without_callback_ends_the_script() {
    let body = "try { c.deleteDocument(c.getAltLink() + '/docs/none'); } catch (e) { answer(1); }";
    let report = run_on(&mut Fake::default(), &wrapped(body)).await;
    assert_eq!(thrown(&report), ("Error: Resource Not Found", Some(404)));
}

#[tokio::test]
async fn feeds_come_in_pages() {
    let mut fake = Fake::with(&[r#"{"id":"a"}"#, r#"{"id":"b"}"#, r#"{"id":"c"}"#]);
    let body = r"
        const ids = [];
        const go = (continuation) => c.readDocuments(link, { pageSize: 2, continuation },
            (error, documents, options) => {
                documents.forEach((document) => ids.push(document.id));
                ids.push(options.currentCollectionSizeInMB, options.maxCollectionSizeInMB);
                if (options.continuation) go(options.continuation); else answer(ids);
            });
        go();";
    assert_eq!(answer_on(&mut fake, body).await, r#"["a","b",1,10240,"c",1,10240]"#);
}

#[tokio::test]
async fn queries_as_text_or_with_parameters() {
    let mut fake = Fake::with(&[r#"{"id":"a"}"#, r#"{"id":"b"}"#]);
    let body = r"
        c.queryDocuments(link, 'SELECT * FROM c', { enableScan: true }, (error, all) =>
            c.queryDocuments(link, { query: 'SELECT 1', parameters: [{ name: '@id', value: 'b' }] },
                (error2, some) => answer([all.length, some])));";
    assert_eq!(answer_on(&mut fake, body).await, r#"[2,[{"id":"b"}]]"#);
    assert!(fake.calls[0].enable_scan);
    assert_eq!(fake.calls[0].body.as_deref(), Some(r#"{"query":"SELECT * FROM c"}"#));
}

#[tokio::test]
async fn a_wrong_query_is_an_error() {
    let body = "c.queryDocuments(link, 'ERROR', (error) => answer([error.number, error.message]))";
    let answer = answer_on(&mut Fake::default(), body).await;
    assert_eq!(answer, r#"[400,"Syntax error, incorrect syntax near 'ERROR'."]"#);
}

#[tokio::test]
async fn create_gives_ids_to_a_copy() {
    let mut fake = Fake::default();
    let body = r#"
        const own = { n: 1 };
        c.createDocument(link, own, { indexAction: 'Exclude' }, (error, made, options) =>
            answer([/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(made.id),
                own.id === undefined, options.statusCode]));
        c.createDocument(link, '{"id":"text"}');
        c.createDocument(link, { id: '' }, { disableAutomaticIdGeneration: true });"#;
    assert_eq!(answer_on(&mut fake, body).await, "[true,true,201]");
    assert_eq!(fake.calls[0].index_action.as_deref(), Some("exclude"));
    assert_eq!(fake.calls[1].body.as_deref(), Some(r#"{"id":"text"}"#));
    assert_eq!(fake.calls[2].body.as_deref(), Some(r#"{"id":""}"#));
}

#[tokio::test]
async fn upsert_replace_delete() {
    let mut fake = Fake::default();
    let body = r"
        const statuses = [];
        const note = (error, document, options) => statuses.push((options || document).statusCode);
        const alt = c.getAltLink() + '/docs/a';
        c.upsertDocument(link, { id: 'a', n: 1 }, note);
        c.upsertDocument(link, { id: 'a', n: 2 }, note);
        c.replaceDocument(alt, { id: 'a', n: 3 }, { etag: '2' }, note);
        c.replaceDocument(alt, { id: 'a', n: 4 }, { etag: '2' }, note);
        c.deleteDocument(alt, { etag: '1' }, (error) => statuses.push(error.number));
        c.deleteDocument(alt, { etag: '3' }, (error, options) => {
            statuses.push(error === undefined, options.statusCode);
            answer(statuses);
        });";
    assert_eq!(answer_on(&mut fake, body).await, "[201,200,200,412,412,true,204]");
    assert!(fake.ids().is_empty());
}

#[tokio::test]
async fn attachments_go_to_the_host() {
    let mut fake = Fake::default();
    let body = r"
        const document = c.getAltLink() + '/docs/a';
        const one = document + '/attachments/b';
        const numbers = [];
        const note = (error) => { numbers.push(error.number); answer(numbers); };
        c.readAttachment(one, note);
        c.readAttachments(document, note);
        c.queryAttachments(document, 'SELECT * FROM c', note);
        c.createAttachment(document, { contentType: 'text/plain', media: 'x' }, note);
        c.upsertAttachment(document, { contentType: 'text/plain', media: 'x' }, note);
        c.replaceAttachment(one, { id: 'b' }, note);
        c.deleteAttachment(one, note);";
    assert_eq!(answer_on(&mut fake, body).await, "[405,405,405,405,405,405,405]");
    let id = |text: &str| Name::Id(text.to_owned());
    assert_eq!(fake.calls[0].target, Target::Attachment(id("a"), id("b")));
    assert_eq!(fake.calls[1].target, Target::Attachments(id("a")));
    assert_eq!(fake.calls[6].operation, Operation::Delete);
}

#[tokio::test]
async fn wrong_calls_throw_400() {
    let calls = [
        ("c.readDocument()", "Function readDocument needs at least 1 arguments, not 0."),
        ("c.createDocument(link)", "Function createDocument needs at least 2 arguments, not 1."),
        ("c.readDocuments(link, 5)", "Function readDocuments: options must be an object."),
        ("c.readDocuments(link, {}, 5)", "Function readDocuments: callback must be a function."),
        ("c.readDocuments(5)", "A link must be a string."),
        ("c.readDocuments('x')", "Invalid collection link: \"x\"."),
        ("c.readDocument(link)", "Invalid document link: \"dbs/AAAAAA==/colls/AAAAAAAAAAA=/\"."),
        (
            "c.deleteAttachment(link)",
            "Invalid attachment link: \"dbs/AAAAAA==/colls/AAAAAAAAAAA=/\".",
        ),
        (
            "c.readDocuments('dbs/shop/colls/other')",
            "The collection link \"dbs/shop/colls/other\" is outside the collection that this script belongs to.",
        ),
        (
            "c.createDocument(link, 5)",
            "Function createDocument: the body must be an object or a JSON string.",
        ),
        (
            "c.createDocument(link, '{')",
            "Function createDocument: the body must be an object or a JSON string.",
        ),
        (
            "c.replaceDocument(c.getAltLink() + '/docs/a', [1])",
            "Function replaceDocument: the body must be an object or a JSON string.",
        ),
        (
            "c.queryDocuments(link, 5)",
            "Function queryDocuments: the query must be a string or { query, parameters }.",
        ),
        (
            "c.readDocuments(link, { pageSize: 0 })",
            "The option pageSize must be -1 or a positive integer.",
        ),
        ("c.readDocuments(link, { continuation: 1 })", "The option continuation must be a string."),
        (
            "c.createDocument(link, {}, { indexAction: 'maybe' })",
            "The option indexAction must be \"default\", \"include\" or \"exclude\".",
        ),
    ];
    let tries: Vec<String> = calls
        .iter()
        .map(|(call, _)| {
            format!("try {{ {call}; }} catch (e) {{ all.push([e.number, e.message]); }}")
        })
        .collect();
    let body = format!("const all = []; {} answer(all);", tries.join("\n"));
    let mut fake = Fake::default();
    let answer = value(&answer_on(&mut fake, &body).await);
    let answer = answer.as_array().unwrap();
    assert_eq!(answer.len(), calls.len());
    for (said, (call, message)) in answer.iter().zip(calls) {
        let said = said.as_array().unwrap();
        assert_eq!((said[0].as_i64(), said[1].as_str()), (Some(400), Some(message)), "{call}");
    }
    assert!(fake.calls.is_empty());
}

#[tokio::test]
async fn a_large_document_is_413() {
    let body =
        "c.createDocument(link, { x: 'x'.repeat(5 << 20) }, (error) => answer(error.number))";
    assert_eq!(answer_on(&mut Fake::default(), body).await, "413");
}
