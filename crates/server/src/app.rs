//! What the port serves: the database's protocol, and the operators' pages beside it.

use std::sync::Arc;

use bytes::Bytes;
use gateway::Gateway;
use http_body_util::Full;
use hyper::{Request, Response};

use crate::{
    admin::{self, Admin},
    backup::{self, Backups},
    net::{Handler, Origin, RequestBody},
};

/// Everything that answers.
pub(crate) struct App {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) admin: Admin,
    pub(crate) backups: Arc<Backups>,
}

impl Handler for App {
    async fn handle(
        &self,
        origin: Origin,
        mut request: Request<RequestBody>,
    ) -> Response<Full<Bytes>> {
        let path = request.uri().path();
        if path == backup::PATH {
            return self.backups.answer(&self.gateway, origin, request).await;
        }
        if path.starts_with(admin::PREFIX) && !path.starts_with(admin::SIGNED_PREFIX) {
            return self.admin.answer(origin, request.method(), path);
        }
        request.extensions_mut().insert(gateway::Connection(origin.peer));
        self.gateway.handle(origin.scheme, request).await
    }
}
