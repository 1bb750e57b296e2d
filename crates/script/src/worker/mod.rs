//! The worker process: reads a job from its pipe, runs it in an engine that is as if fresh, reports
//! the result, and waits for the next. It ends when the pipe is closed.

use std::{
    cell::RefCell,
    io::{self, Read, Write},
    rc::Rc,
    thread,
};

use self::execute::Engine;
use crate::{message, wire::Run};

mod ahead;
mod api;
mod execute;
mod load;
mod memory;
mod rights;
mod state;

/// The stack size for scripts: more than any script's own limit, which the engine enforces.
const STACK_BYTES: usize = 16 << 20;

/// Runs a worker until the end: `sheaf script-worker`, with its standard input and output.
///
/// Prints nothing and returns no status: a host that loses its worker starts another.
pub fn main(input: impl Read + Send + 'static, output: impl Write + Send + 'static) {
    let body = move || {
        if rights::drop_all().is_ok() {
            // An error means that the pipe is gone, so there is nobody to report it to.
            let _ = serve(Pipe { input: Box::new(input), output: Box::new(output) });
        }
    };
    // A worker that cannot start a thread is useless: it ends, and the host notices.
    if let Ok(thread) = thread::Builder::new().stack_size(STACK_BYTES).spawn(body) {
        let _ = thread.join();
    }
}

fn serve(pipe: Pipe) -> io::Result<()> {
    let pipe = Rc::new(RefCell::new(pipe));
    let engine = Engine::new().map_err(io::Error::other)?;
    loop {
        let message = pipe.borrow_mut().receive()?;
        execute::execute(Run::decode(&message)?, &pipe, engine)?;
    }
}

/// The connection to the host.
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
