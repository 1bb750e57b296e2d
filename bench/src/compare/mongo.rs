//! FerretDB's side: the workloads that a few commands of MongoDB are enough for.

use std::sync::Arc;

use super::{
    bson::{Writer, message},
    framing::Framing,
    job::Job,
    pool::{Pool, Sample},
    workload::{MANY, Workload, scatter},
};
use crate::{api::id, query::data::Data};

const LOADED: &str = "orders";
const FRESH: &str = "fresh";

/// Inserts of the documents to load.
pub(crate) fn load_job(data: Data) -> Job {
    Job::new(Framing::Mongo, move |number, _, out| {
        let documents = number * MANY..data.documents.min((number + 1) * MANY);
        message(out, |command| {
            command.text("insert", LOADED).array("documents", |array| {
                for (at, number) in documents.enumerate() {
                    let text = data.document(number);
                    array.document(&at.to_string(), |it| {
                        write(it, &id(number), data, number, &text);
                    });
                }
            });
        });
    })
}

/// It looks documents up by scanning: of more than these it is not asked to.
const READABLE_MAX: usize = 10_000;

/// The job of a workload, or `None`. Of queries none: SQLite's index would know the id only.
pub(crate) fn job(workload: Workload, pool: &Arc<Pool>, data: Data) -> Option<Job> {
    let pool = Arc::clone(pool);
    let job = Job::new(Framing::Mongo, move |number, _, out| match workload {
        Workload::PointRead => find(out, &id(scatter(number, data.documents))),
        _ => insert(out, &pool, data, number, workload.creates()),
    });
    match workload {
        Workload::PointRead if data.documents <= READABLE_MAX => Some(job),
        Workload::Create | Workload::Batch | Workload::Bulk => Some(job),
        _ => None,
    }
}

fn find(out: &mut Vec<u8>, id: &str) {
    message(out, |command| {
        command.text("find", LOADED).document("filter", |filter| {
            filter.text("_id", id);
        });
        command.boolean("singleBatch", true);
    });
}

fn insert(out: &mut Vec<u8>, pool: &Pool, data: Data, number: usize, count: usize) {
    message(out, |command| {
        command.text("insert", FRESH).array("documents", |array| {
            for (at, number) in (number * count..(number + 1) * count).enumerate() {
                let Sample { text, .. } = pool.sample(number);
                let text = String::from_utf8_lossy(text);
                array.document(&at.to_string(), |it| write(it, &id(number), data, number, &text));
            }
        });
    });
}

/// The same properties and about as many bytes as the documents of the others: what is nested there
/// is here, too, and the note is the end of theirs.
fn write(out: &mut Writer<'_>, id: &str, data: Data, number: usize, text: &str) {
    let like = number % data.documents;
    let member = |name: &str| -> &str {
        let start = text.find(&format!("\"{name}\":\"")).map_or(0, |at| at + name.len() + 4);
        text[start..].split('"').next().unwrap_or_default()
    };
    let count = i32::try_from(number % 13).unwrap_or(0);
    out.text("_id", id).text("customer", &data.customer_of(like)).text("status", member("status"));
    out.text("batch", member("batch")).text("campaign", member("campaign"));
    out.number("amount", number as f64 + 0.5).text("created", member("created"));
    out.text("email", member("email")).boolean("active", number.is_multiple_of(3));
    out.array("tags", |tags| {
        tags.text("0", "tag 7").text("1", "day 77");
    });
    out.document("address", |address| {
        address.text("street", member("street")).text("city", member("city"));
        address.text("zip", member("zip")).text("country", member("country"));
    });
    out.array("lines", |lines| {
        lines.document("0", |line| {
            line.text("sku", member("sku")).integer("count", count).number("price", 7.25);
        });
        lines.document("1", |line| {
            line.text("sku", "gift-77").integer("count", 1).number("price", 0.0);
        });
    });
    out.text("note", member("note"));
}
