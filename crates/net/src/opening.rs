//! The first bytes of a connection: a TLS handshake, or the protocol in plain.
//!
//! A TLS handshake begins with the byte 0x16, which no HTTP method begins with, so one port serves
//! both. A protocol whose messages may begin with that byte must not offer [`Tls::Optional`].

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use tokio::{net::TcpStream, sync::watch, time::timeout};
use tokio_rustls::server::TlsStream;

use crate::{
    clients::Client,
    stopped,
    tls::Tls,
    wire::{Peer, Refusal, Wire},
};

/// The content type of a TLS record that begins a handshake.
pub(crate) const TLS_HANDSHAKE: u8 = 0x16;

/// Opens a connection and serves it to its end.
pub(crate) async fn serve<W: Wire>(
    stream: TcpStream,
    address: SocketAddr,
    client: Arc<Client>,
    wire: Arc<W>,
    (tls, patience): (Tls, Duration),
    mut stop: watch::Receiver<bool>,
) {
    // Answers are small and complete: waiting to fill a packet only delays them.
    let _ = stream.set_nodelay(true);
    let opening = tokio::select! {
        opening = Box::pin(open(stream, &tls, patience)) => opening,
        () = stopped(&mut stop) => return,
    };
    match opening {
        Ok(Opened::Plain(stream)) => {
            let peer = Peer { address, is_tls: false, client };
            wire.serve(stream, peer, stop).await;
        }
        Ok(Opened::Tls(stream)) => {
            let peer = Peer { address, is_tls: true, client };
            wire.serve(stream, peer, stop).await;
        }
        // In a box: otherwise every connection would keep the room for it.
        Ok(Opened::Refused(stream, refusal)) => Box::pin(W::refuse(stream, refusal)).await,
        Err(error) => tracing::debug!(peer = %address, %error, "connection ended before a request"),
    }
}

/// An opened connection, or one that cannot be served.
enum Opened {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
    Refused(TcpStream, Refusal),
}

/// Waits for the first byte, and performs the TLS handshake if it begins one.
async fn open(stream: TcpStream, tls: &Tls, patience: Duration) -> io::Result<Opened> {
    let mut first = [0];
    if timeout(patience, stream.peek(&mut first)).await?? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    match (first[0] == TLS_HANDSHAKE, tls) {
        (true, Tls::Optional(acceptor) | Tls::Required(acceptor)) => {
            let stream = timeout(patience, acceptor.current().accept(stream)).await??;
            Ok(Opened::Tls(Box::new(stream)))
        }
        (true, Tls::Off) => Err(io::Error::other("TLS is off")),
        (false, Tls::Required(_)) => Ok(Opened::Refused(stream, Refusal::TlsRequired)),
        (false, Tls::Optional(_) | Tls::Off) => Ok(Opened::Plain(stream)),
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncRead, AsyncWrite},
        net::TcpListener,
    };

    use super::*;
    use crate::{
        clients::{ClientLimits, Clients},
        gate::Closed,
    };

    /// What a refusal reads at a time.
    const BUFFER_BYTES: usize = 4096;

    /// A protocol whose refusals need far more room than its connections.
    struct Small;

    impl Wire for Small {
        async fn serve<S>(self: Arc<Self>, stream: S, _: Peer, _: watch::Receiver<bool>)
        where
            S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        {
            drop(stream);
        }

        async fn refuse(stream: TcpStream, _: Refusal) {
            let mut buffer = [0; BUFFER_BYTES];
            while stream.readable().await.is_ok() && stream.try_read(&mut buffer).is_err() {}
        }

        fn closed(&self, _: SocketAddr, _: Closed) {}
    }

    #[tokio::test]
    async fn a_connection_keeps_no_room_for_its_refusal() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (address, stop) = (stream.peer_addr().unwrap(), watch::Sender::new(false));
        let client =
            Clients::new(ClientLimits::default()).at(address.ip(), tokio::time::Instant::now());
        let tls = (Tls::Off, Duration::from_secs(1));
        let served = serve(stream, address, client, Arc::new(Small), tls, stop.subscribe());
        assert!(size_of_val(&served) < BUFFER_BYTES / 4, "{}", size_of_val(&served));
        drop(served);
    }
}
