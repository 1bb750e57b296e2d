//! The worker process: reads a job from its pipe, runs it in a fresh engine, says what came of it,
//! and waits for the next. It ends when the pipe does.

use std::{
    cell::RefCell,
    io::{self, Read, Write},
    rc::Rc,
    thread,
};

use self::execute::Fresh;
use crate::{message, wire::Run};

mod api;
mod execute;
mod load;
mod rights;
mod state;

/// Bytes of the stack that scripts run on: more than any script's own limit, which the engine keeps.
const STACK_BYTES: usize = 16 << 20;

/// The whole life of a worker: `sheaf script-worker`, with its standard input and output.
///
/// Nothing is printed and no status is returned: a host that loses its worker starts another.
pub fn main(input: impl Read + Send + 'static, output: impl Write + Send + 'static) {
    let body = move || {
        if rights::drop_all().is_ok() {
            // When this fails the pipe is gone, and with it whoever could be told.
            let _ = serve(Pipe { input: Box::new(input), output: Box::new(output) });
        }
    };
    // A worker that cannot have a thread is of no use: it ends, and the host notices.
    if let Ok(thread) = thread::Builder::new().stack_size(STACK_BYTES).spawn(body) {
        let _ = thread.join();
    }
}

fn serve(pipe: Pipe) -> io::Result<()> {
    let pipe = Rc::new(RefCell::new(pipe));
    loop {
        let fresh = Fresh::new().map_err(io::Error::other)?;
        let message = pipe.borrow_mut().receive()?;
        execute::execute(Run::decode(&message)?, &pipe, fresh)?;
    }
}

/// The way to the host.
pub(crate) struct Pipe {
    input: Box<dyn Read>,
    output: Box<dyn Write>,
}

impl Pipe {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.output.write_all(message)?;
        self.output.flush()
    }

    fn receive(&mut self) -> io::Result<Vec<u8>> {
        let mut prefix = [0; 4];
        self.input.read_exact(&mut prefix)?;
        let mut text = vec![0; message::length(prefix)?];
        self.input.read_exact(&mut text)?;
        Ok(text)
    }
}
