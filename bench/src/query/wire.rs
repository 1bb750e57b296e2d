//! As much of Postgres's protocol as a query and a COPY need: one blocking connection, trusted
//! without a password.

use std::{
    io::{BufReader, Read as _, Write as _},
    net::TcpStream,
};

use anyhow::{Context as _, Result, bail};

/// Version 3.0.
const PROTOCOL: u32 = 3 << 16;
/// Longer messages are a sign of having lost the thread.
const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// A connection, and the process at its other end.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
    /// The process that serves it.
    pub(crate) process: u32,
}

/// What a statement answered.
#[derive(Default)]
pub(crate) struct Answer {
    pub(crate) rows: usize,
    /// The first column of the last row, as text.
    pub(crate) value: String,
}

impl Client {
    /// Connects as `user` to the database `postgres`.
    pub(crate) fn connect(address: &str, user: &str) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let mut client = Self { stream: BufReader::new(stream), process: 0 };
        let mut start = PROTOCOL.to_be_bytes().to_vec();
        for word in ["user", user, "database", "postgres", ""] {
            start.extend_from_slice(word.as_bytes());
            start.push(0);
        }
        client.write(&[], &start)?;
        client.answer(|_| Ok(()))?;
        Ok(client)
    }

    /// Runs a statement and reads all of its answer.
    pub(crate) fn run(&mut self, statement: &str) -> Result<Answer> {
        self.send(statement)?;
        self.answer(|_| Ok(()))
    }

    /// Runs a `COPY ... FROM STDIN` with these lines.
    pub(crate) fn copy(
        &mut self,
        statement: &str,
        lines: impl Iterator<Item = String>,
    ) -> Result<Answer> {
        self.send(statement)?;
        let mut lines = Some(lines);
        self.answer(|client| {
            for line in lines.take().into_iter().flatten() {
                client.write(b"d", line.as_bytes())?;
            }
            client.write(b"c", &[])
        })
    }

    fn send(&mut self, statement: &str) -> Result<()> {
        self.write(b"Q", &[statement.as_bytes(), &[0]].concat())
    }

    fn write(&mut self, kind: &[u8], body: &[u8]) -> Result<()> {
        let length = u32::try_from(body.len() + 4)?.to_be_bytes();
        Ok(self.stream.get_mut().write_all(&[kind, &length, body].concat())?)
    }

    /// Reads until the server waits for the next statement. `copy` sends what a COPY wants.
    fn answer(&mut self, mut copy: impl FnMut(&mut Self) -> Result<()>) -> Result<Answer> {
        let (mut answer, mut failure) = (Answer::default(), None);
        loop {
            let (kind, body) = self.read()?;
            match kind {
                b'D' => {
                    answer.rows += 1;
                    answer.value = first_column(&body).context("a row that is too short")?;
                }
                b'G' => copy(self)?,
                b'K' => {
                    let process = body.get(..4).context("a short message")?;
                    self.process = u32::from_be_bytes(process.try_into()?);
                }
                b'R' if body != [0; 4] => bail!("PostgreSQL wants a password"),
                // Fields, each of a letter and a text; M is for people.
                b'E' => {
                    let fields = String::from_utf8_lossy(&body).into_owned();
                    let text = fields.split('\0').find_map(|field| field.strip_prefix('M'));
                    failure = Some(text.unwrap_or(&fields).to_owned());
                }
                b'Z' => break,
                _ => {}
            }
            // A refused connection is closed without further words.
            if let (Some(failure), 0) = (&failure, self.process) {
                bail!("PostgreSQL: {failure}");
            }
        }
        match failure {
            Some(failure) => bail!("PostgreSQL: {failure}"),
            None => Ok(answer),
        }
    }

    fn read(&mut self) -> Result<(u8, Vec<u8>)> {
        let mut head = [0; 5];
        self.stream.read_exact(&mut head)?;
        let [kind, length @ ..] = head;
        let length = (u32::from_be_bytes(length) as usize).saturating_sub(4);
        if length > MESSAGE_BYTES_MAX {
            bail!("a message of {length} bytes");
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok((kind, body))
    }
}

fn first_column(row: &[u8]) -> Option<String> {
    let length = u32::from_be_bytes(row.get(2..6)?.try_into().ok()?) as usize;
    Some(String::from_utf8_lossy(row.get(6..6 + length)?).into_owned())
}
