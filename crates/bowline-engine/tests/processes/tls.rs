//! A server that speaks TLS, with a certificate of our own making: whom a store trusts, and whom it
//! refuses.

use bowline_postgres::{PostgresStore, Settings};
use bowline_store::{Error, Filter, Store};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};

use crate::cluster::{Cluster, Stop};

/// Somebody who signs certificates, and whose own is in a file.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    folder: TempDir,
}

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = CertificateParams::new([]).expect("no names");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let own = params.self_signed(&key).expect("it signs for itself").pem();
        let folder = TempDir::new().expect("there is room for a folder");
        std::fs::write(folder.path().join("a root.crt"), own).expect("there is room for a file");
        Self { issuer: Issuer::new(params, key), folder }
    }

    /// The file, as it is written in a URL.
    fn root(&self) -> String {
        format!("{}/a%20root.crt", self.folder.path().display())
    }

    /// A certificate in this name, and its key.
    fn sign(&self, name: &str) -> (String, String) {
        let params = CertificateParams::new([name.to_owned()]).expect("a name");
        let key = KeyPair::generate().expect("a key");
        let signed = params.signed_by(&key, &self.issuer).expect("it signs");
        (signed.pem(), key.serialize_pem())
    }
}

/// Opens the store behind a URL, and asks it something.
async fn open(cluster: &Cluster, asked: &str) -> Result<PostgresStore, Error> {
    let plain = cluster.url();
    let (place, _) = plain.split_once('?').expect("it asks for something");
    let url = format!("{place}?application_name=sealed&{asked}");
    let mut settings = Settings::default();
    settings.schema = "sealed".into();
    let opened = tokio::task::spawn_blocking(move || PostgresStore::open_with(&url, settings));
    let store = opened.await.expect("no panic")?;
    let filter = Filter { limit: 1, ..Filter::default() };
    assert!(store.find(filter).await?.runs.is_empty());
    Ok(store)
}

async fn refused(cluster: &Cluster, asked: &str) -> String {
    match open(cluster, asked).await {
        Err(Error::Open(why)) => why,
        Err(other) => panic!("refused in another way: {other:?}"),
        Ok(_) => panic!("{asked}: it opened"),
    }
}

/// Speaks to the server itself, in plain words.
async fn plain(cluster: &Cluster) -> Client {
    let connected = tokio_postgres::connect(&cluster.url(), NoTls).await;
    let (client, connection) = connected.expect("the server runs");
    tokio::spawn(connection);
    client
}

/// Starts the server again with this certificate. It writes the files itself: nobody else may own
/// its key.
async fn certify(cluster: &mut Cluster, (certificate, key): (String, String)) {
    let client = plain(cluster).await;
    for (file, text) in [("server.crt", certificate), ("server.key", key)] {
        let lines = text.lines().map(|line| format!("('{line}')")).collect::<Vec<_>>().join(", ");
        let copy = format!("COPY (VALUES {lines}) TO PROGRAM 'umask 077; cat > {file}'");
        client.batch_execute(&copy).await.expect("the server writes its files");
    }
    client.batch_execute("ALTER SYSTEM SET ssl = on").await.expect("the server knows TLS");
    drop(client);
    cluster.down(Stop::Fast);
    cluster.up();
}

/// How many connections the store has, and how many of them are encrypted.
async fn connections(cluster: &Cluster) -> (i64, i64) {
    let sql = "SELECT count(*), count(*) FILTER (WHERE s.ssl) FROM pg_stat_ssl s \
               JOIN pg_stat_activity a USING (pid) WHERE a.application_name = 'sealed'";
    let row = plain(cluster).await.query_one(sql, &[]).await.expect("it is SQL");
    (row.get(0), row.get(1))
}

/// What the URL asks for is what happens: whoever has to prove who they are, and cannot, is refused
/// by name, and nothing is ever said in plain words that was to be encrypted.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_proves_who_it_is_where_the_url_asks_for_it() {
    let mut cluster = Cluster::start();
    let (right, wrong) = (Authority::new("right"), Authority::new("wrong"));
    let full = |trusted: &Authority| format!("sslmode=verify-full&sslrootcert={}", trusted.root());

    let why = refused(&cluster, "sslmode=require").await;
    assert!(why.contains("server does not support TLS"), "{why}");
    open(&cluster, "sslmode=prefer").await.expect("nobody asked for more").close().await;

    certify(&mut cluster, right.sign("127.0.0.1")).await;
    let require = format!("sslmode=require&sslrootcert={}", right.root());
    for asked in [full(&right), require, "sslmode=prefer".to_owned()] {
        let store = open(&cluster, &asked).await.expect("the server has proved who it is");
        let (all, encrypted) = connections(&cluster).await;
        assert!(all > 0 && all == encrypted, "{asked}: {encrypted} of {all} are encrypted");
        store.close().await;
    }
    for asked in [full(&wrong), "sslmode=verify-full".to_owned(), "sslmode=require".to_owned()] {
        let why = refused(&cluster, &asked).await;
        assert!(why.contains("invalid peer certificate: UnknownIssuer"), "{asked}: {why}");
    }

    certify(&mut cluster, right.sign("elsewhere.example")).await;
    let why = refused(&cluster, &full(&right)).await;
    assert!(why.contains("certificate not valid for name \"127.0.0.1\""), "{why}");
}

/// A URL that contradicts itself, or names a file that is no use, is refused before anybody is
/// spoken to.
#[tokio::test]
async fn what_is_asked_of_tls_has_to_make_sense() {
    let folder = TempDir::new().expect("there is room for a folder");
    std::fs::write(folder.path().join("empty"), "").expect("there is room for a file");
    let folder = folder.path().display();
    for (asked, wanted) in [
        (format!("sslrootcert={folder}/empty"), "write sslmode=verify-full beside it".to_owned()),
        (format!("sslmode=verify-full&sslrootcert={folder}/none"), format!("{folder}/none")),
        (format!("sslmode=verify-full&sslrootcert={folder}/empty"), "there is none in it".into()),
    ] {
        let url = format!("postgres://nobody@127.0.0.1:1/none?{asked}");
        let Err(Error::Open(why)) = PostgresStore::open(&url) else { panic!("{asked}: it opened") };
        assert!(why.contains(&wanted), "{asked}: {why}");
    }
}
