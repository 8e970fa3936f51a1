//! Three `bowline serve` on one database, behind an address that gives every new connection to the
//! next of them.

use std::{
    io,
    net::{Shutdown, TcpListener, TcpStream},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use crate::server::Server;

/// Where tests look for a database. `cargo xtask test` sets it.
const VARIABLE: &str = "BOWLINE_TEST_POSTGRES";

/// Servers that share a schema which nobody else has.
pub(crate) struct Fleet {
    /// Each of them by name.
    pub(crate) replicas: Vec<Server>,
    /// Where all of them are found.
    pub(crate) address: String,
    schema: Schema,
}

impl Fleet {
    /// Starts three.
    pub(crate) fn start() -> Self {
        Self::with(&[])
    }

    /// The same, with options.
    pub(crate) fn with(options: &[&str]) -> Self {
        let schema = Schema::new();
        let start = |_| Server::at(&schema.url, &schema.name, options);
        let replicas: Vec<_> = (0..3).map(start).collect();
        let address = balance(replicas.iter().map(|replica| replica.address.clone()).collect());
        Self { replicas, address, schema }
    }
}

impl Fleet {
    /// Waits until the others have given one of them up. The database waits between two looks.
    pub(crate) fn gives_one_up(&self) {
        let looks = async {
            let schema = &self.schema;
            let connected = tokio_postgres::connect(&schema.url, tokio_postgres::NoTls).await;
            let (client, connection) = connected.expect("the database runs");
            tokio::spawn(connection);
            let sql = format!(
                "SELECT pg_sleep(0.1)::text, count(*) FROM {}.members WHERE state = 0",
                schema.name
            );
            let all = self.replicas.len() as i64;
            while client.query_one(&sql, &[]).await.expect("it is SQL").get::<_, i64>(1) == all {}
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(looks);
    }
}

/// A schema that goes with its test.
struct Schema {
    url: String,
    name: String,
}

impl Schema {
    fn new() -> Self {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let url = std::env::var(VARIABLE).unwrap_or_else(|_| {
            panic!("{VARIABLE} names a database to test with: run `cargo xtask test`")
        });
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        Self { url, name: format!("sdk_{}_{number}", std::process::id()) }
    }

    async fn drop_it(&self) -> Result<(), tokio_postgres::Error> {
        let (client, connection) =
            tokio_postgres::connect(&self.url, tokio_postgres::NoTls).await?;
        let connection = tokio::spawn(connection);
        let dropped =
            client.batch_execute(&format!("DROP SCHEMA IF EXISTS {} CASCADE", self.name)).await;
        drop(client);
        let _ = connection.await;
        dropped
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        // The database is a throwaway one; what cannot be dropped goes with it.
        let _ = runtime.expect("a runtime").block_on(self.drop_it());
    }
}

/// An address that passes every connection on to the next of these that listens.
fn balance(targets: Vec<String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its number").to_string();
    thread::spawn(move || {
        for (turn, client) in listener.incoming().enumerate() {
            let Ok(client) = client else { continue };
            let next = (0..targets.len()).map(|step| &targets[(turn + step) % targets.len()]);
            let found = next.into_iter().find_map(|target| TcpStream::connect(target).ok());
            if let Some(server) = found {
                join(client, server);
            }
        }
    });
    address
}

/// Bytes go both ways until either side ends; then both do.
fn join(client: TcpStream, server: TcpStream) {
    for stream in [&client, &server] {
        stream.set_nodelay(true).expect("a socket has this setting");
    }
    let ends = |stream: &TcpStream| stream.try_clone().expect("a second handle");
    for (mut from, mut to) in [(ends(&client), ends(&server)), (server, client)] {
        thread::spawn(move || {
            // However it ended, it has.
            let _ = io::copy(&mut from, &mut to);
            let _ = from.shutdown(Shutdown::Both);
            let _ = to.shutdown(Shutdown::Both);
        });
    }
}
