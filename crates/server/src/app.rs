//! What the port serves: the database's protocol, and the operators' pages beside it.

use std::{net::SocketAddr, sync::Arc};

use bytes::Bytes;
use gateway::{Credential, Gateway, Handled};
use http_body_util::Full;
use hyper::{Method, Request, Response, StatusCode, header::ORIGIN};

use crate::{
    admin::{self, Admin},
    audit::{Audit, Line, Who},
    backup::{self, Backups},
    cors::Cors,
    net::{Closed, Handler, Origin, RequestBody, Standing},
};

/// Everything that answers.
pub(crate) struct App {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) admin: Admin,
    pub(crate) backups: Arc<Backups>,
    pub(crate) cors: Cors,
    pub(crate) audit: Arc<Audit>,
}

impl Handler for App {
    async fn handle(&self, origin: Origin, request: Request<RequestBody>) -> Response<Full<Bytes>> {
        // Pages for operators are nobody else's pages.
        if !self.cors.is_on() || request.uri().path().starts_with(admin::PREFIX) {
            return self.answer(origin, request).await;
        }
        if let Some(answer) = self.cors.preflight(request.method(), request.headers()) {
            return answer;
        }
        let page = request.headers().get(ORIGIN).cloned();
        let mut response = self.answer(origin, request).await;
        self.cors.dress(page.as_ref(), &mut response);
        response
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
            who: Some(Who { client: origin.peer, asked: Some((method.as_str(), path)) }),
            status: Some(429),
            reason: Some("limit of the client"),
            ..Line::default()
        });
    }
}

impl App {
    async fn answer(
        &self,
        origin: Origin,
        mut request: Request<RequestBody>,
    ) -> Response<Full<Bytes>> {
        let path = request.uri().path();
        let is_signed = path == backup::PATH || path.starts_with(admin::SIGNED_PREFIX);
        if path.starts_with(admin::PREFIX) && !is_signed {
            // An IPv6 socket sees IPv4 clients under mapped addresses.
            let is_local = origin.peer.ip().to_canonical().is_loopback()
                && gateway::is_called_local(request.headers(), request.uri());
            return self.admin.answer(is_local, request.method(), path);
        }
        request.extensions_mut().insert(gateway::Connection(origin.peer));
        let (method, uri) = (request.method().clone(), request.uri().clone());
        let mut response = if uri.path() == backup::PATH {
            self.backups.answer(&self.gateway, origin.clone(), request).await
        } else {
            self.gateway.handle(origin.scheme, request).await
        };
        if let Some(handled) = response.extensions_mut().remove::<Handled>() {
            let asked = Some((method.as_str(), uri.path()));
            let who = Who { client: origin.peer, asked };
            let header = |name: &str| response.headers().get(name).and_then(|it| it.to_str().ok());
            // Nothing of the query string, the other headers or the body: there may be a secret in them.
            tracing::debug!(
                client = %origin.peer,
                method = method.as_str(),
                path = uri.path(),
                operation = handled.operation,
                status = response.status().as_u16(),
                substatus = header("x-ms-substatus"),
                charge = header("x-ms-request-charge"),
                milliseconds = header("x-ms-request-duration-ms"),
                activity = header("x-ms-activity-id"),
                "request"
            );
            self.write_down(who, response.status().as_u16(), &handled);
            if let Some(standing) = standing(handled.credential, response.status()) {
                response.extensions_mut().insert(standing);
            }
        }
        response
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
