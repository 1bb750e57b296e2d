//! What the port serves: the database's protocol, and the operators' pages beside it.

use std::{net::SocketAddr, sync::Arc};

use bytes::Bytes;
use gateway::{Credential, Gateway, Handled};
use http_body_util::Full;
use hyper::{Method, Request, Response, header::ORIGIN};

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
        if path == backup::PATH {
            return self.backups.answer(&self.gateway, origin, request).await;
        }
        if path.starts_with(admin::PREFIX) && !path.starts_with(admin::SIGNED_PREFIX) {
            // An IPv6 socket sees IPv4 clients under mapped addresses.
            let is_local = origin.peer.ip().to_canonical().is_loopback()
                && gateway::is_called_local(request.headers(), request.uri());
            return self.admin.answer(is_local, request.method(), path);
        }
        request.extensions_mut().insert(gateway::Connection(origin.peer));
        let (method, uri) = (request.method().clone(), request.uri().clone());
        let mut response = self.gateway.handle(origin.scheme, request).await;
        if let Some(handled) = response.extensions_mut().remove::<Handled>() {
            let asked = Some((method.as_str(), uri.path()));
            let who = Who { client: origin.peer, asked };
            self.write_down(who, response.status().as_u16(), &handled);
            let standing = match handled.credential {
                Some(_) => Standing::Proven,
                None => Standing::Stranger,
            };
            response.extensions_mut().insert(standing);
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
