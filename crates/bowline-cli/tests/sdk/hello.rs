//! The first thing that anybody tries.

use crate::{python, server::Server};

/// A workflow with one activity, in a worker that knows nothing of us.
#[test]
fn a_python_worker_says_hello() {
    let Some(interpreter) = python::interpreter() else { return };
    let server = Server::start();
    let said = python::run(&interpreter, "hello.py", &[&server.address]);
    assert!(said.contains("Hello, world!"), "{said}");
}
