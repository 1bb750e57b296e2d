//! Checks that the operations on a document make before they change it, alone or in a batch.

use partition::charge::Meter;
use protocol::{Error, Options};

use crate::documents::{
    Found, check_etag,
    incoming::Incoming,
    read_found, refuse,
    stage::{Done, Stage},
};

impl Stage<'_> {
    pub(super) async fn create(
        &mut self,
        incoming: Incoming<'_>,
        upsert: bool,
        options: &Options,
        meter: &mut Meter,
    ) -> Result<Done, Error> {
        let old = self.newest(&incoming.id).await?;
        if let Some(old) = &old {
            if !upsert {
                return Err(self.refuse(Error::conflict(), meter));
            }
            check_etag(options, old, self.place, meter)?;
        }
        self.put(incoming, old, options, meter).await
    }

    /// Replaces a document; another id in the body renames it. Errors in the body are reported only
    /// if the document exists.
    pub(super) async fn replace(
        &mut self,
        name: &str,
        incoming: Result<Incoming<'_>, Error>,
        options: &Options,
        meter: &mut Meter,
    ) -> Result<Done, Error> {
        let old = self.existing(name, meter).await?;
        let incoming = incoming?;
        check_etag(options, &old, self.place, meter)?;
        let is_renamed = old.primary_key != self.place.key.primary(&incoming.id);
        if is_renamed && self.newest(&incoming.id).await?.is_some() {
            return Err(self.refuse(Error::conflict(), meter));
        }
        self.put(incoming, Some(old), options, meter).await
    }

    pub(super) async fn delete(
        &mut self,
        name: &str,
        options: &Options,
        meter: &mut Meter,
    ) -> Result<Done, Error> {
        let old = self.existing(name, meter).await?;
        check_etag(options, &old, self.place, meter)?;
        self.remove(old, meter).await
    }

    /// A read among writes, which sees their changes.
    pub(super) async fn read(
        &mut self,
        name: &str,
        options: &Options,
        meter: &mut Meter,
    ) -> Result<Done, Error> {
        let found = self.existing(name, meter).await?;
        Ok(read_found(found, options, meter))
    }

    pub(super) async fn existing(&self, id: &str, meter: &mut Meter) -> Result<Found, Error> {
        match self.alive(id).await? {
            Some(found) => Ok(found),
            None => Err(self.refuse(Error::not_found(), meter)),
        }
    }

    pub(super) fn refuse(&self, error: Error, meter: &mut Meter) -> Error {
        refuse(error, self.place, self.place.partition.lsn(), meter)
    }
}
