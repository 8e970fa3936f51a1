//! Garbage, wrong tokens, tokens of other attempts, unknown commands: the right status, and nothing
//! is changed.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use crate::{python, server::Server};

/// Every wrong request has the status that SDKs know what to do with.
#[test]
fn every_wrong_request_gets_its_status_and_changes_nothing() {
    let Some(interpreter) = python::interpreter() else { return };
    let server = Server::start();
    python::run(&interpreter, "bad_input.py", &[&server.address]);
}

/// Bytes that are no HTTP/2 at all end their own connection, and no other.
#[test]
fn garbage_on_the_port_disturbs_nobody() {
    let Some(interpreter) = python::interpreter() else { return };
    let server = Server::start();
    let half_a_preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff";
    for garbage in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0; 4096], half_a_preface, b"", b"\x16\x03"] {
        let mut connection = TcpStream::connect(&server.address).expect("it listens");
        // The server may hang up on the first bytes already.
        let _ = connection.write_all(garbage);
        let _ = connection.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = connection.read_to_end(&mut answer);
    }
    let said = python::run(&interpreter, "hello.py", &[&server.address]);
    assert!(said.contains("Hello, world!"), "{said}");
}
