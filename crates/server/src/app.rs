//! What the port serves: the database's protocol, and the operators' pages beside it.

use std::{net::SocketAddr, sync::Arc};

use bytes::Bytes;
use gateway::{Arrival, Credential, Gateway, Handled};
use http_body_util::Full;
use hyper::{Method, Request, Response, StatusCode, header::ORIGIN, http::request::Parts};
use net::Closed;

use crate::{
    admin::{self, Admin},
    audit::{Audit, Line, Who},
    backup::{self, Backups},
    certificate::PublicCertificate,
    cors::Cors,
    front,
    http::{Answered, Handler, Origin, RequestBody, Standing},
    proxies::Proxies,
};

/// Everything that answers.
pub(crate) struct App {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) admin: Admin,
    pub(crate) backups: Arc<Backups>,
    pub(crate) cors: Cors,
    pub(crate) audit: Arc<Audit>,
    pub(crate) proxies: Proxies,
    /// The certificate for everybody; `None` if TLS is off.
    pub(crate) certificate: Option<PublicCertificate>,
}

impl Handler for App {
    async fn handle(&self, origin: &Origin, request: Request<RequestBody>) -> Answered {
        let (mut parts, body) = request.into_parts();
        if let Err(refused) = self.enter(origin, &mut parts) {
            return self.conclude_other(origin, &parts, *refused);
        }
        // Pages for operators are nobody else's pages.
        if !self.cors.is_on() || parts.uri.path().starts_with(admin::PREFIX) {
            return self.answer(origin, &parts, body).await;
        }
        if let Some(answer) = self.cors.preflight(&parts.method, &parts.headers) {
            return (answer, None);
        }
        let (mut response, standing) = self.answer(origin, &parts, body).await;
        self.cors.dress(parts.headers.get(ORIGIN), &mut response);
        (response, standing)
    }

    fn closed(&self, peer: SocketAddr, why: Closed) {
        self.audit.refused(Line {
            event: "connection_refused",
            who: Some(Who { client: peer, asked: None }),
            reason: Some(why.name()),
            ..Line::default()
        });
    }

    fn refused(&self, origin: &Origin, method: &Method, path: &str) {
        self.audit.refused(Line {
            event: "refused",
            who: Some(Who { client: origin.address(), asked: Some((method.as_str(), path)) }),
            status: Some(429),
            reason: Some("limit of the client"),
            ..Line::default()
        });
    }
}

impl App {
    async fn answer(&self, origin: &Origin, parts: &Parts, body: RequestBody) -> Answered {
        let path = parts.uri.path();
        if path == front::CERTIFICATE_PATH {
            return (front::certificate(&parts.method, self.certificate.as_ref()), None);
        }
        let is_signed = path == backup::PATH || path.starts_with(admin::SIGNED_PREFIX);
        if path.starts_with(admin::PREFIX) && !is_signed {
            let is_local =
                is_loopback(origin) && gateway::is_called_local(&parts.headers, &parts.uri);
            return (self.admin.answer(is_local, &parts.method, path), None);
        }
        if front::is_browser(&parts.method, path, &parts.headers)
            && let Ok(endpoint) = self.gateway.endpoint(origin.scheme, parts)
        {
            return (front::page(&endpoint.to_string()), None);
        }
        if path == backup::PATH {
            let is_local = is_loopback(origin) && self.is_called_own(parts);
            let scheme = origin.scheme;
            let response = self.backups.answer(&self.gateway, scheme, is_local, parts, body).await;
            return self.conclude_other(origin, parts, response);
        }
        let arrival = Arrival { scheme: origin.scheme, peer: Some(origin.address()) };
        let (response, handled) = self.gateway.handle(arrival, parts, body).await;
        let standing = self.conclude(origin, parts, &response, &handled);
        (response, standing)
    }

    /// Whether a request calls this machine by a name of its own, or by the one that is advertised. What a
    /// proxy sent on was called by others.
    fn is_called_own(&self, parts: &Parts) -> bool {
        let is_advertised = || self.gateway.is_called_as_advertised(parts);
        gateway::is_called_local(&parts.headers, &parts.uri)
            || !gateway::is_forwarded(&parts.headers) && is_advertised()
    }

    /// Looks at what every request must have, whatever it asks for: one name for the server. Notes what a
    /// trusted proxy says of it.
    fn enter(&self, origin: &Origin, parts: &mut Parts) -> Result<(), Box<Response<Full<Bytes>>>> {
        self.gateway.check_host(origin.scheme, parts)?;
        match self.proxies.read(origin.address().ip(), &parts.headers) {
            Ok(None) => {}
            Ok(Some(forwarded)) => {
                parts.extensions.insert(forwarded);
            }
            Err(malformed) => {
                let error = protocol::Error::bad_request(malformed.message());
                return Err(self.gateway.refuse(origin.scheme, parts, error));
            }
        }
        Ok(())
    }

    /// Concludes a request whose answer carries what became of it, if anything is to be said.
    fn conclude_other(
        &self,
        origin: &Origin,
        parts: &Parts,
        mut response: Response<Full<Bytes>>,
    ) -> Answered {
        let handled = response.extensions_mut().remove::<Handled>();
        let standing =
            handled.and_then(|handled| self.conclude(origin, parts, &response, &handled));
        (response, standing)
    }

    /// Writes down what became of a request, and tells the network side what it showed of its sender.
    fn conclude(
        &self,
        origin: &Origin,
        parts: &Parts,
        response: &Response<Full<Bytes>>,
        handled: &Handled,
    ) -> Option<Standing> {
        let asked = (parts.method.as_str(), parts.uri.path());
        let who = Who { client: origin.address(), asked: Some(asked) };
        let header = |name: &str| response.headers().get(name).and_then(|it| it.to_str().ok());
        // Nothing of the query string, the other headers or the body: there may be a secret in them.
        tracing::debug!(
            client = %origin.address(),
            method = asked.0,
            path = asked.1,
            operation = handled.operation,
            status = response.status().as_u16(),
            substatus = header("x-ms-substatus"),
            charge = header("x-ms-request-charge"),
            milliseconds = header("x-ms-request-duration-ms"),
            activity = header("x-ms-activity-id"),
            "request"
        );
        self.write_down(who, response.status().as_u16(), handled);
        standing(handled.credential, response.status())
    }

    /// Keeps in mind who changed what the account consists of, and who was refused.
    fn write_down(&self, who: Who<'_>, status: u16, handled: &Handled) {
        let line = |event| Line {
            event,
            who: Some(who),
            operation: Some(handled.operation),
            status: Some(status),
            credential: handled.credential.map(Credential::name),
            activity_id: Some(handled.activity_id),
            reason: handled.reason.as_deref(),
            count: None,
        };
        if handled.is_refused {
            self.audit.refused(line("refused"));
        } else if handled.is_control && (200..300).contains(&status) {
            self.audit.changed(line("changed"));
        }
    }
}

/// Whether a request comes from this machine. An IPv6 socket sees IPv4 clients under mapped addresses.
fn is_loopback(origin: &Origin) -> bool {
    origin.address().ip().to_canonical().is_loopback()
}

/// What a caller showed of itself. A signed token may be one whose permission is gone, which only the
/// answer tells.
fn standing(credential: Option<Credential>, status: StatusCode) -> Option<Standing> {
    match credential {
        None => Some(Standing::Stranger),
        Some(Credential::ResourceToken) if status == StatusCode::UNAUTHORIZED => {
            Some(Standing::Stranger)
        }
        Some(Credential::ResourceToken) if status.as_u16() >= 400 => None,
        Some(_) => Some(Standing::Proven),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_proves_something_when_it_is_good() {
        use Credential::{AccessToken, Key, ReadOnlyKey, ResourceToken};
        for (credential, status, expected) in [
            (None, 401, Some(Standing::Stranger)),
            (Some(Key), 404, Some(Standing::Proven)),
            (Some(ReadOnlyKey), 403, Some(Standing::Proven)),
            (Some(AccessToken), 200, Some(Standing::Proven)),
            (Some(ResourceToken), 200, Some(Standing::Proven)),
            (Some(ResourceToken), 304, Some(Standing::Proven)),
            (Some(ResourceToken), 401, Some(Standing::Stranger)),
            (Some(ResourceToken), 400, None),
            (Some(ResourceToken), 404, None),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(standing(credential, status), expected, "{credential:?} {status}");
        }
    }
}
