//! Ports for servers that go away and come back.
//!
//! A port that the system has picked, it picks again as soon as nobody listens there: for any other
//! server, or for the near end of any connection. These it never picks.

use std::{
    net::{Ipv4Addr, TcpListener},
    sync::atomic::{AtomicU32, Ordering},
};

/// Below what systems pick from: from 32,768 on, or higher.
const FIRST: u32 = 20_000;
const COUNT: u32 = 12_000;
/// How far apart the ports of two processes lie that were started one after the other.
const APART: u32 = 97;

/// A port that nobody listens on, and that this process is told once.
pub(crate) fn port() -> u16 {
    static TOLD: AtomicU32 = AtomicU32::new(0);
    let begin = std::process::id().wrapping_mul(APART);
    let ports = (0..COUNT).map(|_| {
        let number = TOLD.fetch_add(1, Ordering::Relaxed);
        u16::try_from(FIRST + begin.wrapping_add(number) % COUNT).expect("it is below 32,000")
    });
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    ports.into_iter().find(is_free).expect("one of so many is free")
}
