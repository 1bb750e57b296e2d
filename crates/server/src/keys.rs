//! The account's keys in the server, and where they may be used. `tools::keys` knows where they are
//! stored; `command` is `sheaf keys`.

pub(crate) mod command;

use std::net::SocketAddr;

use gateway::Keys;
pub(crate) use tools::keys::{KeyFile, Place};
use tools::{Failure, keys::Source};

use crate::cors::Origin;

/// The keys, and whether one of them is the published one.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The keys.
    pub(crate) keys: Keys,
    is_published: bool,
    /// Where the primary key is, for messages.
    place: Place,
}

impl Loaded {
    /// Reads the keys.
    pub(crate) fn read(source: &Source) -> Result<Self, Failure> {
        let (file, place) = source.find()?;
        let keys = file.keys().map_err(Failure::usage)?;
        Ok(Self { keys, is_published: file.is_published(), place })
    }

    /// Where the primary key is.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// Refuses to accept the published key from other machines.
    pub(crate) fn check_exposure(
        &self,
        addresses: &[SocketAddr],
        is_allowed: bool,
    ) -> Result<(), Failure> {
        let Some(exposed) = addresses.iter().find(|address| !address.ip().is_loopback()) else {
            return Ok(());
        };
        if !self.is_published {
            return Ok(());
        }
        if is_allowed {
            tracing::warn!(address = %exposed, "anyone who can reach this address knows the key");
            return Ok(());
        }
        Err(Failure::usage(format!(
            "other machines can reach `{}`, and everybody knows the published key: create keys with \
             `sheaf keys regenerate all`, name your own with --key-file, or, if the network is \
             closed to strangers, use --allow-published-key",
            exposed.ip()
        )))
    }

    /// Warns that any web page knows the published key, too.
    pub(crate) fn warn_of_pages(&self, pages: &[Origin]) {
        if self.is_published && pages.contains(&Origin::Any) {
            tracing::warn!(
                "any web page in a browser on this machine can use the database: its key is well \
                 known, and `cors-origins` is `*`"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use gateway::PUBLISHED_KEY;

    use super::*;

    const KEY: &str = "b3VyIG93biBrZXk=";

    fn loaded(text: &str) -> Loaded {
        let file = KeyFile::parse(text).unwrap();
        let place = Place::File("keys".into());
        Loaded { keys: file.keys().unwrap(), is_published: file.is_published(), place }
    }

    #[test]
    fn the_published_key_stays_on_this_machine() {
        let outside = [SocketAddr::from(([0, 0, 0, 0], 8081))];
        let published = Loaded::read(&Source::new(None, None)).unwrap();
        let failure = published.check_exposure(&outside, false).unwrap_err();
        assert!(failure.message().contains("--key-file"), "{failure:?}");
        assert!(failure.message().contains("--allow-published-key"), "{failure:?}");
        published.check_exposure(&outside, true).unwrap();
        published.check_exposure(&[SocketAddr::from(([127, 0, 0, 1], 1))], false).unwrap();
        loaded(KEY).check_exposure(&outside, false).unwrap();
        let copied = format!("primary = \"{KEY}\"\nsecondary = \"{PUBLISHED_KEY}\"");
        assert!(loaded(&copied).check_exposure(&outside, false).is_err());
    }
}
