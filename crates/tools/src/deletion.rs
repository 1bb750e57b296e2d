//! Deletes a resource and reports the result.

use hyper::Method;
use value::{Object, json};

use crate::{
    client::{Call, Client, place::Place},
    failure::Failure,
};

/// A resource to delete.
#[derive(Debug)]
pub(crate) struct Deletion<'a> {
    /// The word for its kind: `database`.
    pub(crate) what: &'a str,
    pub(crate) id: &'a str,
    /// The resource type for the signature.
    pub(crate) kind: &'a str,
    /// The path of the resource, escaped.
    pub(crate) path: String,
    /// The link of the resource, not escaped.
    pub(crate) link: String,
    /// The place of the resource, for errors.
    pub(crate) place: Place,
    pub(crate) headers: Vec<(&'static str, String)>,
    /// Whether a missing resource counts as success.
    pub(crate) if_exists: bool,
}

impl Deletion<'_> {
    /// Deletes it, and returns the result in words or as JSON.
    pub(crate) async fn run(
        self,
        client: &mut Client<'_>,
        as_json: bool,
    ) -> Result<String, Failure> {
        let Self { what, id, .. } = self;
        let call = Call {
            headers: self.headers,
            ..Call::new(Method::DELETE, &self.path, self.kind, &self.link)
        };
        let answer = client.call(&call).await?;
        let is_deleted = match answer.status {
            204 => true,
            404 if self.if_exists => false,
            _ => {
                let what = format!("deletion of the {what} `{id}`");
                return Err(client.refusal(&what, &self.place, &answer, "").await);
            }
        };
        if as_json {
            let mut body = Object::new();
            body.insert("id", id);
            body.insert("deleted", is_deleted);
            return Ok(format!("{}\n", json::print(&body.into())));
        }
        let became = if is_deleted { "is deleted" } else { "does not exist" };
        Ok(format!("the {what} `{id}` {became}\n"))
    }
}
