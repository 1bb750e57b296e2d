//! Checks before a request is processed: the name by which it addresses the server, and whether its
//! credential is valid under that name.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Method, http::request::Parts};
use protocol::Error;

use super::Gateway;
use crate::{
    activity,
    auth::Secrecy,
    encode::{self, Asked},
    endpoint::{Authority, Endpoint, Forwarded},
    form::Form,
    handled::{self, Credential, Handled},
    headers::agent,
    host,
    version::Version,
};

impl Gateway {
    /// Refuses a request that does not name the server, or names it twice. Must run before every
    /// other check.
    pub fn check_host(
        &self,
        scheme: &'static str,
        parts: &Parts,
    ) -> Result<(), Box<hyper::Response<Full<Bytes>>>> {
        host::check(parts).map_err(|error| self.refuse(scheme, parts, error))
    }

    /// Builds the answer to a request that is refused before it is processed.
    pub fn refuse(
        &self,
        scheme: &'static str,
        parts: &Parts,
        error: Error,
    ) -> Box<hyper::Response<Full<Bytes>>> {
        self.refused(scheme, parts, error, activity::id(&parts.headers), None)
    }

    /// Returns the endpoint at which the sender of a request reaches the server.
    pub fn endpoint(&self, scheme: &str, parts: &Parts) -> Result<Endpoint, Error> {
        let forwarded = parts.extensions.get();
        self.settings.names.endpoint(scheme, forwarded, &parts.headers, &parts.uri)
    }

    /// Whether a request calls the server by the name that the operator advertises.
    pub fn is_called_as_advertised(&self, parts: &Parts) -> bool {
        let host = host::named(&parts.headers, &parts.uri);
        host.is_some_and(|host| self.settings.names.is_advertised(host))
    }

    /// Refuses a credential that anyone can make with the published key, under a name that a web
    /// page could have. The account document is exempt: it holds no data, and it tells clients
    /// which endpoint they called.
    pub(super) fn check_name(&self, parts: &Parts, secrecy: Secrecy) -> Result<(), Error> {
        if secrecy == Secrecy::Secret || parts.uri.path() == "/" {
            return Ok(());
        }
        let forwarded = parts.extensions.get::<Forwarded>().and_then(|it| it.host.as_ref());
        let hosts = [host::named(&parts.headers, &parts.uri), forwarded.map(Authority::as_str)];
        self.settings.names.check(hosts.into_iter().flatten())
    }

    /// Builds the answer to a refused request, with the credential of its caller if known.
    pub(super) fn refused(
        &self,
        scheme: &'static str,
        parts: &Parts,
        error: Error,
        activity_id: u128,
        credential: Option<Credential>,
    ) -> Box<hyper::Response<Full<Bytes>>> {
        let asked = Asked {
            activity_id,
            version: Version::read(&parts.headers).unwrap_or(Version::CURRENT),
            agent: agent(&parts.headers),
            path: parts.uri.path(),
            is_https: scheme == "https",
            is_head: parts.method == Method::HEAD,
            is_plan: false,
            form: Form::default(),
            is_write: false,
            client_request_id: parts.headers.get(encode::CLIENT_REQUEST_ID),
            elapsed: Duration::ZERO,
        };
        let is_refused = handled::is_refusal(error.code);
        let reason = is_refused.then(|| handled::reason(&error.message));
        let mut response = encode::response(&asked, Err(error));
        self.conclude("refused", response.status().as_u16(), &asked, 0.0, None);
        let operation = "refused";
        let handled =
            Handled { operation, is_control: false, is_refused, credential, activity_id, reason };
        response.extensions_mut().insert(handled);
        Box::new(response)
    }
}
