//! Real handshakes, over a connection in memory.

use std::{io, path::Path};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::{ClientConfig, pki_types::ServerName};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::*;
use crate::Proof;

/// Somebody who signs certificates.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = CertificateParams::new([]).expect("no names");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let pem = params.self_signed(&key).expect("it signs for itself").pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// A certificate in this name, and its key.
    fn sign(&self, name: &str) -> (String, String) {
        let mut params = CertificateParams::new([name.to_owned()]).expect("a name");
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().expect("a key");
        let signed = params.signed_by(&key, &self.issuer).expect("it signs");
        (signed.pem(), key.serialize_pem())
    }

    /// A client that trusts this one, with a certificate of its own or without.
    fn client(&self, own: Option<(String, String)>, alpn: &[&[u8]]) -> TlsConnector {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.pem.as_bytes()).expect("PEM")).expect("root");
        let builder = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots);
        let mut config = match own {
            None => builder.with_no_client_auth(),
            Some((own, key)) => {
                let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("a key");
                let chain = certificates(own.as_bytes()).expect("a certificate");
                builder.with_client_auth_cert(chain, key).expect("they fit")
            }
        };
        config.alpn_protocols = alpn.iter().map(|one| one.to_vec()).collect();
        Arc::new(config).into()
    }
}

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let (new, path) = (folder.join("new"), folder.join(name));
    std::fs::write(&new, text).expect("it is written");
    std::fs::rename(&new, &path).expect("it has its name");
    path
}

fn files(folder: &Path, (certificate, key): &(String, String)) -> TlsFiles {
    TlsFiles {
        certificate: write(folder, "server.pem", certificate),
        key: write(folder, "server.key", key),
        client_ca: None,
        is_client_optional: false,
    }
}

/// Both sides greet each other; what the client saw, and who the server thinks it is.
async fn greet(
    tls: &Tls,
    client: &TlsConnector,
) -> (Result<TlsStream<DuplexStream>, io::Error>, Option<Proof>) {
    let (near, far) = duplex(64 * 1024);
    let peer = Peer::named("grpc", "test".into());
    let mut server = tls.accept(far, peer.clone());
    let answering = async move {
        let mut asked = [0; 5];
        server.read_exact(&mut asked).await?;
        server.write_all(&asked).await?;
        server.flush().await?;
        Ok::<_, io::Error>(server)
    };
    let asking = async {
        let name = ServerName::try_from("bowline.example").expect("a name");
        let mut stream = client.connect(name, near).await?;
        stream.write_all(b"hello").await?;
        let mut heard = [0; 5];
        stream.read_exact(&mut heard).await?;
        assert_eq!(&heard, b"hello");
        Ok(stream)
    };
    let (_answered, seen) = tokio::join!(answering, asking);
    (seen, peer.proof().cloned())
}

#[tokio::test]
async fn a_connection_is_encrypted_and_both_protocols_are_spoken() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = Authority::new("root");
    let tls = Tls::open(files(folder.path(), &root.sign("bowline.example"))).expect("it opens");
    for (alpn, spoken) in [
        (&[b"h2".as_slice()][..], Some(b"h2".as_slice())),
        (&[b"http/1.1", b"h2"], Some(b"h2")),
        (&[b"http/1.1"], Some(b"http/1.1")),
        (&[], None),
    ] {
        let (seen, proof) = greet(&tls, &root.client(None, alpn)).await;
        let seen = seen.expect("it is let in");
        assert_eq!(seen.get_ref().1.alpn_protocol(), spoken);
        assert_eq!(proof, None);
    }
    let other = Authority::new("other");
    let (seen, _) = greet(&tls, &other.client(None, &[])).await;
    seen.expect_err("the client does not trust it");
}

#[tokio::test]
async fn certificates_are_read_again_when_they_change() {
    let folder = tempfile::tempdir().expect("a folder");
    let [old, new] = ["old", "new"].map(Authority::new);
    let tls = Tls::open(files(folder.path(), &old.sign("bowline.example"))).expect("it opens");
    let (mut open, _) = greet(&tls, &old.client(None, &[])).await;
    let pair = new.sign("bowline.example");
    // Half of a pair is not used.
    write(folder.path(), "server.pem", &pair.0);
    greet(&tls, &old.client(None, &[])).await.0.expect("it is as it was");
    write(folder.path(), "server.key", &pair.1);
    greet(&tls, &new.client(None, &[])).await.0.expect("it is the new one");
    greet(&tls, &old.client(None, &[])).await.0.expect_err("it is not the old one");
    assert!(open.as_mut().is_ok(), "who was let in before stays");
}

#[tokio::test]
async fn clients_show_certificates_of_the_roots_that_are_accepted() {
    let folder = tempfile::tempdir().expect("a folder");
    let [root, clients, strangers] = ["root", "clients", "strangers"].map(Authority::new);
    let mut files = files(folder.path(), &root.sign("bowline.example"));
    files.client_ca = Some(write(folder.path(), "clients.pem", &clients.pem));
    for optional in [false, true] {
        let tls = Tls::open(TlsFiles { is_client_optional: optional, ..files.clone() });
        let tls = tls.expect("it opens");
        let known = root.client(Some(clients.sign("worker.example")), &[b"h2"]);
        let (seen, proof) = greet(&tls, &known).await;
        seen.expect("it is let in");
        let names = ["worker.example", "worker.example"].map(str::to_owned).to_vec();
        assert_eq!(proof, Some(Proof::Certificate(names)));
        let strange = root.client(Some(strangers.sign("worker.example")), &[b"h2"]);
        let (seen, proof) = greet(&tls, &strange).await;
        seen.expect_err("nobody knows who signed it");
        assert_eq!(proof, None);
        let (seen, proof) = greet(&tls, &root.client(None, &[b"h2"])).await;
        assert_eq!((seen.is_ok(), proof), (optional, None));
    }
}

/// Whoever says nothing, or something else, does not stay.
#[tokio::test(start_paused = true)]
async fn a_slow_or_wrong_handshake_is_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = Authority::new("root");
    let tls = Tls::open(files(folder.path(), &root.sign("bowline.example"))).expect("it opens");
    let begun = tokio::time::Instant::now();
    let (_near, far) = duplex(1024);
    let mut silent = tls.accept(far, Peer::named("grpc", "test".into()));
    let ended = silent.read_u8().await.expect_err("it is ended");
    assert_eq!(ended.kind(), io::ErrorKind::TimedOut);
    assert_eq!(begun.elapsed().as_secs(), crate::limits::HANDSHAKE.as_secs());
    silent.read_u8().await.expect_err("it stays ended");
    let (mut near, far) = duplex(1024);
    near.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.expect("it is taken");
    let mut plain = tls.accept(far, Peer::named("grpc", "test".into()));
    plain.read_u8().await.expect_err("nothing is said in the clear");
}

#[test]
fn what_cannot_be_used_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = Authority::new("root");
    let (pair, other) = (root.sign("bowline.example"), root.sign("bowline.example"));
    let bad = files(folder.path(), &(pair.0.clone(), other.1));
    Tls::open(bad).expect_err("the key is of another one");
    let bad = files(folder.path(), &("nothing".into(), pair.1.clone()));
    let why = Tls::open(bad).expect_err("there is no certificate").to_string();
    assert!(why.contains("server.pem") && why.contains("no certificate"), "{why}");
    let why = Tls::open(files(folder.path(), &(pair.0, "x".into()))).expect_err("no key");
    assert!(!why.to_string().contains(&pair.1));
}
