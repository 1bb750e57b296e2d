//! A worker process for this crate's tests.

fn main() {
    script::worker::main(std::io::stdin(), std::io::stdout());
}
