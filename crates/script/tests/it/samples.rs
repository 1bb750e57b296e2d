//! Patterns used by published scripts.

use super::support::{Fake, body_on, job, pool};

#[tokio::test]
async fn bulk_import_with_continuation() {
    let source = r"function bulkImport(docs) {
        var collection = getContext().getCollection();
        var link = collection.getSelfLink();
        var count = 0;
        if (!docs) throw new Error('no documents');
        if (docs.length === 0) { getContext().getResponse().setBody(0); return; }
        tryCreate(docs[count], callback);
        function tryCreate(doc, callback) {
            if (!collection.createDocument(link, doc, callback)) getContext().getResponse().setBody(count);
        }
        function callback(err) {
            if (err) throw err;
            count++;
            if (count >= docs.length) getContext().getResponse().setBody(count);
            else tryCreate(docs[count], callback);
        }
    }";
    let mut fake = Fake { accepts: 3, ..Fake::default() };
    let arguments = r#"[[{"id":"1"},{"id":"2"},{"id":"3"},{"id":"4"},{"id":"5"}]]"#;
    let report = pool(1).run(job(source, arguments), &mut fake).await;
    assert_eq!(report.result.unwrap().response_body.as_deref(), Some("3"));
    fake.accepts = usize::MAX;
    let report = pool(1).run(job(source, r#"[[{"id":"4"},{"id":"5"}]]"#), &mut fake).await;
    assert_eq!(report.result.unwrap().response_body.as_deref(), Some("2"));
    assert_eq!(fake.ids(), ["1", "2", "3", "4", "5"]);
}

#[tokio::test]
async fn swap_two_documents() {
    let source = r"function swap() {
        var c = getContext().getCollection(), alt = c.getAltLink() + '/docs/';
        c.queryDocuments(c.getSelfLink(), 'SELECT * FROM c', {}, function (err, players) {
            if (err || players.length !== 2) throw new Error('Unable to find both');
            var item = players[0].item;
            players[0].item = players[1].item;
            players[1].item = item;
            players.forEach(function (player) {
                var accepted = c.replaceDocument(alt + player.id, player, function (err) {
                    if (err) throw new Error('Unable to update, abort');
                });
                if (!accepted) throw new Error('Unable to update, abort');
            });
            getContext().getResponse().setBody(true);
        });
    }";
    let mut fake = Fake::with(&[r#"{"id":"a","item":"sword"}"#, r#"{"id":"b","item":"shield"}"#]);
    assert_eq!(body_on(&mut fake, source).await, "true");
    assert_eq!(fake.documents["a"].0, r#"{"id":"a","item":"shield"}"#);
    assert_eq!(fake.documents["b"].0, r#"{"id":"b","item":"sword"}"#);
}
