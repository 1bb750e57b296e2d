//! The floor: hyper on tokio, set up like the server's own listener, answering 1 KB to anything.

use std::convert::Infallible;

use anyhow::Result;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{Method, Request, Response, body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpListener, runtime::Runtime};

use crate::api::{Layout, document};

/// Serves until killed. It has its own runtime with a thread per core, as the real server has.
pub(crate) fn serve() -> Result<()> {
    // The caller runs inside the driver's runtime, where another cannot be entered.
    std::thread::spawn(|| Runtime::new()?.block_on(accept())).join().expect("the floor panicked")
}

async fn accept() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("ready endpoint=http://{}/", listener.local_addr()?);
    let body = Bytes::from(document(Layout::ManyKeys, 0));
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let body = body.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request| answer(request, body.clone()));
            let connection = hyper::server::conn::http1::Builder::new();
            connection.serve_connection(TokioIo::new(stream), service).await.ok();
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    body: Bytes,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let status = if request.method() == Method::POST { 201 } else { 200 };
    request.into_body().collect().await.ok();
    let response = Response::builder().status(status).header("content-type", "application/json");
    Ok(response.body(Full::new(body)).expect("constant parts make a valid response"))
}
