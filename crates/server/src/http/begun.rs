//! The first bytes of a connection, which are read to see what it is and then given to hyper.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::{Buf as _, Bytes};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};

/// How an HTTP/2 connection begins. No HTTP/1 method does.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Reads until it is clear whether this is HTTP/2; what was read.
pub(super) async fn begin<S: AsyncRead + Unpin>(stream: &mut S) -> io::Result<(bool, Bytes)> {
    let (mut begun, mut length) = ([0; PREFACE.len()], 0);
    while length < begun.len() {
        let read = stream.read(&mut begun[length..]).await?;
        length += read;
        if read == 0 || begun[..length] != PREFACE[..length] {
            return Ok((false, Bytes::copy_from_slice(&begun[..length])));
        }
    }
    Ok((true, Bytes::copy_from_slice(&begun)))
}

/// `S`, of which some bytes have been read already.
#[derive(Debug)]
pub(super) struct Begun<S> {
    begun: Bytes,
    stream: S,
}

impl<S> Begun<S> {
    /// A stream that begins with these bytes.
    pub(super) fn new(begun: Bytes, stream: S) -> Self {
        Self { begun, stream }
    }

    /// The stream alone. What it began with was read long ago.
    pub(super) fn into_inner(self) -> S {
        self.stream
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Begun<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.begun.is_empty() {
            return Pin::new(&mut self.stream).poll_read(context, buffer);
        }
        let count = self.begun.len().min(buffer.remaining());
        buffer.put_slice(&self.begun[..count]);
        self.begun.advance(count);
        if self.begun.is_empty() {
            self.begun = Bytes::new();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Begun<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn begun(mut bytes: &[u8]) -> (bool, Bytes) {
        begin(&mut bytes).await.unwrap()
    }

    #[tokio::test]
    async fn http2_begins_with_its_preface() {
        assert_eq!(begun(PREFACE).await, (true, Bytes::from_static(PREFACE)));
        assert!(!begun(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\rX").await.0);
        assert!(!begun(b"PR").await.0);
        assert_eq!(begun(b"").await, (false, Bytes::new()));
        assert!(!begun(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await.0);
    }

    #[tokio::test]
    async fn what_was_read_comes_first() {
        let rest: &[u8] = b"cdef";
        let mut stream = Begun::new(Bytes::from_static(b"ab"), rest);
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "abcdef");
    }
}
