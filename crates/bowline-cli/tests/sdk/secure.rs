//! Official SDKs at a server that asks who they are: TLS with an API key, and with a certificate.

use std::{path::PathBuf, process::Command};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

use crate::{program::prepared, python, server::Server};

/// Certificates and keys in files.
struct House {
    folder: tempfile::TempDir,
}

impl House {
    fn new() -> Self {
        let house = Self { folder: tempfile::tempdir().expect("a folder") };
        let mut params = CertificateParams::new([]).expect("no names");
        params.distinguished_name.push(DnType::CommonName, "root");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        house.write("root.pem", &params.self_signed(&key).expect("it signs for itself").pem());
        let issuer = Issuer::new(params, key);
        for name in ["localhost", "worker"] {
            let params = CertificateParams::new([name.to_owned()]).expect("a name");
            let key = KeyPair::generate().expect("a key");
            let signed = params.signed_by(&key, &issuer).expect("it signs");
            house.write(&format!("{name}.pem"), &signed.pem());
            house.write(&format!("{name}.key"), &key.serialize_pem());
        }
        house
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().expect("text").to_owned()
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("it is written");
    }

    fn key(&self, name: &str, permission: &str) -> String {
        let made = Command::new(env!("CARGO_BIN_EXE_bowline"))
            .args(["key", "new", name, "--allow", permission, "--keys"])
            .arg(self.path("keys.json"))
            .output()
            .expect("the command runs");
        assert!(made.status.success(), "{made:?}");
        String::from_utf8(made.stdout).expect("text").trim().to_owned()
    }

    /// A server that speaks TLS and writes down what was asked, with these options besides.
    fn server(&self, options: &[&str]) -> Server {
        let [certificate, key, audit] =
            ["localhost.pem", "localhost.key", "audit.jsonl"].map(|name| self.text(name));
        let own = ["--tls-cert", &certificate, "--tls-key", &key, "--audit", &audit];
        Server::with(&[&own[..], options].concat())
    }

    fn audit(&self) -> String {
        std::fs::read_to_string(self.path("audit.jsonl")).expect("it reads")
    }
}

/// How a program shows who it is.
struct Shown<'a> {
    key: &'a str,
    certificate: Option<&'a str>,
}

/// Plays hello in Python; what it said if it was let in, and why it was not.
fn python(house: &House, server: &Server, shown: &Shown<'_>) -> Option<Result<String, String>> {
    let interpreter = python::interpreter()?;
    let root = house.text("root.pem");
    let own = shown
        .certificate
        .map(|name| [house.text(&format!("{name}.pem")), house.text(&format!("{name}.key"))]);
    let mut arguments = vec![server.address.as_str(), &root, shown.key];
    arguments.extend(own.iter().flatten().map(String::as_str));
    Some(python::tried(&interpreter, "secure.py", &arguments))
}

/// The same in Go.
fn go(house: &House, server: &Server, shown: &Shown<'_>) -> Option<Result<String, String>> {
    let mut program = Command::new(prepared("Go", "BOWLINE_GO")?);
    program.args([&server.address, "hello"]);
    program.env("SCENES_ROOT", house.path("root.pem")).env("SCENES_API_KEY", shown.key);
    if let Some(name) = shown.certificate {
        program.env("SCENES_CERT", house.path(&format!("{name}.pem")));
        program.env("SCENES_KEY", house.path(&format!("{name}.key")));
    }
    let output = program.output().expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let said = text(&output.stdout);
    Some(match output.status.success() && said.contains("\"passed\":true") {
        true => Ok(said),
        false => Err(said + &text(&output.stderr)),
    })
}

type Play = fn(&House, &Server, &Shown<'_>) -> Option<Result<String, String>>;

fn with_keys(play: Play) {
    let house = House::new();
    let key = house.key("hello", "default:write");
    let keys = house.text("keys.json");
    let server = house.server(&["--keys", &keys]);
    let Some(said) = play(&house, &server, &Shown { key: &key, certificate: None }) else { return };
    said.expect("it is let in");
    assert!(house.audit().contains("\"who\":\"key:hello\""), "{}", house.audit());
    let wrong = format!("{key}x");
    for key in ["", &wrong] {
        let refused = play(&house, &server, &Shown { key, certificate: None }).expect("it is here");
        refused.expect_err("it is refused");
    }
    assert!(house.audit().contains("\"outcome\":\"refused\""), "{}", house.audit());
}

fn with_certificates(play: Play) {
    let house = House::new();
    let root = house.text("root.pem");
    let server = house.server(&["--tls-client-ca", &root]);
    let shown = Shown { key: "", certificate: Some("worker") };
    let Some(said) = play(&house, &server, &shown) else { return };
    said.expect("it is let in");
    assert!(house.audit().contains("\"who\":\"cert:worker\""), "{}", house.audit());
    let refused = play(&house, &server, &Shown { key: "", certificate: None });
    refused.expect("it is here").expect_err("it has no certificate");
}

#[test]
fn python_connects_with_an_api_key() {
    with_keys(python);
}

#[test]
fn python_connects_with_a_certificate() {
    with_certificates(python);
}

#[test]
fn go_connects_with_an_api_key() {
    with_keys(go);
}

#[test]
fn go_connects_with_a_certificate() {
    with_certificates(go);
}
