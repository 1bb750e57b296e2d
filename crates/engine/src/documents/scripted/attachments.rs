//! Carries out a script's operations on attachments.

use std::sync::Arc;

use bytes::Bytes;
use protocol::{Error, Options};
use query::execution::{apart, compiled::Compiled};
use script::{Call, Operation, Reply, host::Name};
use tokio::runtime::Handle;
use value::json;

use crate::documents::{
    attachments::Write,
    scripted::{host::Session, queried},
};

impl Session<'_, '_> {
    /// An operation on the attachments of a document.
    pub(super) async fn on_attachments(
        &mut self,
        call: &Call,
        document: &Name,
        options: Options,
    ) -> Result<Reply, Error> {
        let id = self.id(document).await?;
        let document = self.stage.owner(&id, self.meter).await?;
        let body = Bytes::copy_from_slice(call.body.as_deref().unwrap_or_default().as_bytes());
        match call.operation {
            Operation::ReadFeed => {
                let listed = self.stage.list_attachments(document, &options, self.meter).await?;
                Ok(self.rows(&listed.0, listed.1))
            }
            Operation::Query => {
                let items = self.stage.attachments(document, self.meter).await?;
                let source = queried::source(call, self.meter).await?;
                let engine = Arc::clone(self.engine);
                // Such queries are rare, and can be slow.
                let page = apart::run_at_once(self.meter, move |_, _| {
                    let compiled = Compiled::new(source)?;
                    let parse = |(_, item): &(u64, Bytes)| json::parse(item).ok();
                    let values = items.iter().filter_map(parse).collect();
                    let owner = document.to_string();
                    Handle::current().block_on(compiled.rows(&engine, &owner, values, &options))
                });
                let (items, continuation) = page.await?;
                Ok(self.rows(&items, continuation))
            }
            Operation::Create | Operation::Upsert => {
                let upsert = call.operation == Operation::Upsert;
                let write = Write::create(&body, None, upsert)?;
                let done = write.inside(self.stage, document, &options, self.meter).await?;
                Ok(self.reply(call, done))
            }
            Operation::Read | Operation::Replace | Operation::Delete => {
                Err(Error::bad_request("The link is not valid for this operation."))
            }
        }
    }

    /// An operation on one attachment.
    pub(super) async fn on_attachment(
        &mut self,
        call: &Call,
        (document, name): (&Name, &Name),
        options: &Options,
    ) -> Result<Reply, Error> {
        let id = self.id(document).await?;
        let document = self.stage.owner(&id, self.meter).await?;
        let (Name::Id(name) | Name::Rid(name)) = name;
        let done = match call.operation {
            Operation::Read => {
                self.stage.read_attachment(document, name, options, self.meter).await?
            }
            Operation::Replace => {
                let body = call.body.as_deref().unwrap_or_default().as_bytes();
                let write = Write::replace(name, body)?;
                write.inside(self.stage, document, options, self.meter).await?
            }
            Operation::Delete => {
                Write::delete(name).inside(self.stage, document, options, self.meter).await?
            }
            _ => return Err(Error::bad_request("The link is not valid for this operation.")),
        };
        Ok(self.reply(call, done))
    }
}
