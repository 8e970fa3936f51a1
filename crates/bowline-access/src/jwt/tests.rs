//! Tokens that hold, and every way in which one may not.

use std::path::PathBuf;

use ring::{
    hmac,
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair},
};
use serde_json::json;

use super::*;
use crate::{Right, key::now};

/// A token that was signed once, with a key that was then thrown away.
const RSA_TOKEN: &str = include_str!("rsa/token.txt");
const RSA_PUBLIC: &str = include_str!("rsa/public.pem");
const RSA_MODULUS: &str = include_str!("rsa/modulus.txt");

/// Somebody who signs tokens.
struct Issuer {
    key: Ed25519KeyPair,
    path: PathBuf,
    _folder: tempfile::TempDir,
}

fn part(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

impl Issuer {
    fn new() -> Self {
        let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("a key");
        let key = Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).expect("it reads");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("jwks.json");
        let issuer = Self { key, path, _folder: folder };
        issuer.publish(&[("ed-1", &issuer.key)]);
        issuer
    }

    fn publish(&self, keys: &[(&str, &Ed25519KeyPair)]) {
        let jwk = |(kid, key): &(&str, &Ed25519KeyPair)| {
            let x = URL_SAFE_NO_PAD.encode(key.public_key());
            json!({ "kty": "OKP", "crv": "Ed25519", "kid": kid, "x": x, "use": "sig" })
        };
        let keys: Vec<_> = keys.iter().map(jwk).collect();
        std::fs::write(&self.path, json!({ "keys": keys }).to_string()).expect("it is written");
    }

    async fn tokens(&self) -> Tokens {
        Tokens::open(self.path.to_str().expect("text")).await.expect("it reads")
    }

    fn sign(&self, header: &Value, claims: &Value) -> String {
        let signed = format!("{}.{}", part(header), part(claims));
        let signature = self.key.sign(signed.as_bytes());
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    fn token(&self, claims: &Value) -> String {
        self.sign(&json!({ "alg": "EdDSA", "kid": "ed-1" }), claims)
    }
}

fn claims() -> Value {
    json!({ "sub": "alice", "exp": now() + 600, "permissions": ["orders:write", "audit:read"] })
}

fn changed(name: &str, value: Value) -> Value {
    let mut claims = claims();
    claims[name] = value;
    claims
}

async fn refused(tokens: &Tokens, token: &str) -> String {
    tokens.caller(token, now()).await.expect_err("it is refused").to_string()
}

#[tokio::test]
async fn a_sound_token_says_who_asks_and_what_they_may() {
    let issuer = Issuer::new();
    let tokens = issuer.tokens().await;
    let token = issuer.token(&claims());
    for _ in 0..2 {
        let alice = tokens.caller(&token, now()).await.expect("it holds");
        assert_eq!(alice.who(), "jwt:alice");
        assert!(alice.may(Right::Terminate, "orders") && !alice.may(Right::Administer, "orders"));
        assert!(alice.may(Right::Read, "audit") && !alice.may(Right::Start, "audit"));
    }
    // It was remembered, and still expires.
    let late = tokens.caller(&token, now() + 600 + 60).await.expect_err("it is over");
    assert_eq!(late, Refused::Bad("the token has expired"));
}

#[tokio::test]
async fn all_three_kinds_of_keys_verify() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("keys");
    let open = async |text: &str| {
        std::fs::write(&path, text).expect("it is written");
        Tokens::open(path.to_str().expect("text")).await.expect("it reads")
    };
    let tokens = open(RSA_PUBLIC).await;
    assert_eq!(tokens.caller(RSA_TOKEN, now()).await.expect("it holds").who(), "jwt:alice");
    let jwk =
        json!({ "kty": "RSA", "kid": "rsa-1", "n": RSA_MODULUS, "e": "AQAB", "alg": "RS256" });
    let tokens = open(&json!({ "keys": [jwk] }).to_string()).await;
    assert!(tokens.caller(RSA_TOKEN, now()).await.is_ok());

    let random = SystemRandom::new();
    let signing = &ECDSA_P256_SHA256_FIXED_SIGNING;
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(signing, &random).expect("a key");
    let key = EcdsaKeyPair::from_pkcs8(signing, pkcs8.as_ref(), &random).expect("it reads");
    let signed = format!("{}.{}", part(&json!({ "alg": "ES256" })), part(&claims()));
    let signature = key.sign(&random, signed.as_bytes()).expect("it is signed");
    let token = format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature));
    let point = key.public_key().as_ref();
    let [x, y] = [&point[1..33], &point[33..]].map(|half| URL_SAFE_NO_PAD.encode(half));
    let jwk = json!({ "kty": "EC", "crv": "P-256", "kid": "ec-1", "x": x, "y": y });
    let tokens = open(&json!({ "keys": [jwk] }).to_string()).await;
    assert!(tokens.caller(&token, now()).await.is_ok());
    // Any key of the right kind may be tried, and no key of another one.
    let pair = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).expect("a key");
    let tokens = open(&pair.public_key_pem()).await;
    refused(&tokens, &token).await;
    refused(&tokens, RSA_TOKEN).await;
}

/// What tokens were forged with elsewhere: no signature at all, and the public key as a secret.
#[tokio::test]
async fn a_token_does_not_say_how_it_is_verified() {
    let issuer = Issuer::new();
    let tokens = issuer.tokens().await;
    for alg in ["none", "None", "NONE", "", "HS256", "HS512", "RS512", "ES384", "eddsa"] {
        let header = json!({ "alg": alg, "kid": "ed-1" });
        let signed = format!("{}.{}", part(&header), part(&claims()));
        let secrets = [issuer.key.public_key().as_ref(), RSA_PUBLIC.as_bytes(), b""];
        for secret in secrets {
            let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), signed.as_bytes());
            let said = refused(&tokens, &format!("{signed}.{}", URL_SAFE_NO_PAD.encode(tag))).await;
            assert!(said.contains("not signed with"), "{alg}: {said}");
        }
        refused(&tokens, &format!("{signed}.")).await;
        refused(&tokens, &issuer.sign(&header, &claims())).await;
    }
    for alg in ["RS256", "ES256"] {
        let said = refused(&tokens, &issuer.sign(&json!({ "alg": alg }), &claims())).await;
        assert!(said.contains("no known key"), "{said}");
    }
    let own = json!({ "alg": "EdDSA", "jwk": { "kty": "OKP" }, "jku": "https://evil.example" });
    assert!(tokens.caller(&issuer.sign(&own, &claims()), now()).await.is_ok(), "not looked at");
    let crit = json!({ "alg": "EdDSA", "crit": ["exp"] });
    assert!(refused(&tokens, &issuer.sign(&crit, &claims())).await.contains("extensions"));
}

#[tokio::test]
async fn what_a_token_says_must_hold() {
    let issuer = Issuer::new();
    let mut tokens = issuer.tokens().await;
    for (name, value, says) in [
        ("exp", json!(now() - 61), "expired"),
        ("exp", json!((now() + 600).to_string()), "not a number"),
        ("exp", json!(null), "not a number"),
        ("exp", json!(-1), "not a number"),
        ("exp", json!([now() + 600]), "not a number"),
        ("nbf", json!(now() + 120), "not hold yet"),
        ("nbf", json!("0"), "does not read"),
        ("sub", json!(""), "no subject"),
        ("sub", json!(7), "does not read"),
        ("permissions", json!("orders:admin"), "does not read"),
    ] {
        let said = refused(&tokens, &issuer.token(&changed(name, value.clone()))).await;
        assert!(said.contains(says), "{name} {value}: {said}");
    }
    let mut without = claims();
    without.as_object_mut().expect("an object").remove("exp");
    refused(&tokens, &issuer.token(&without)).await;
    assert!(tokens.caller(&issuer.token(&changed("exp", json!(now() - 50))), now()).await.is_ok());
    let odd = changed("permissions", json!(["orders:root", 7, "orders", "orders:read"]));
    let odd = tokens.caller(&issuer.token(&odd), now()).await.expect("it holds");
    assert!(odd.may(Right::Read, "orders") && !odd.may(Right::Start, "orders"));
    tokens.issuer = Some("https://id.example".into());
    tokens.audience = Some("bowline".into());
    assert!(refused(&tokens, &issuer.token(&claims())).await.contains("another issuer"));
    let mut both = changed("iss", json!("https://id.example"));
    assert!(refused(&tokens, &issuer.token(&both)).await.contains("another audience"));
    both["aud"] = json!(["other", "bowline"]);
    assert!(tokens.caller(&issuer.token(&both), now()).await.is_ok());
}

#[tokio::test]
async fn what_is_no_token_is_refused() {
    let issuer = Issuer::new();
    let tokens = issuer.tokens().await;
    let token = issuer.token(&claims());
    let (signed, signature) = token.rsplit_once('.').expect("a signature");
    let (header, _) = signed.split_once('.').expect("claims");
    let root = changed("sub", json!("root"));
    for bad in [
        String::new(),
        "..".into(),
        "a.b.c".into(),
        "a.b.c.d".into(),
        signed.to_owned(),
        format!("{token}."),
        format!("{token}=="),
        format!("{header}.{}.{signature}", part(&root)),
        format!("{signed}.{}", &signature[..40]),
        format!("{}.{}.{signature}", part(&json!([])), part(&claims())),
        "[".repeat(10_000) + ".a.b",
    ] {
        refused(&tokens, &bad).await;
    }
    let deep = URL_SAFE_NO_PAD.encode("[".repeat(100_000));
    refused(&tokens, &format!("{deep}.{deep}.{deep}")).await;
}

/// A key that was taken out of the set opens nothing any more, also where a token was verified
/// with it a moment ago.
#[tokio::test]
async fn keys_are_replaced() {
    let issuer = Issuer::new();
    let tokens = issuer.tokens().await;
    let token = issuer.token(&claims());
    assert!(tokens.caller(&token, now()).await.is_ok());
    let next = Issuer::new();
    issuer.publish(&[("ed-2", &next.key), ("ed-1", &issuer.key)]);
    let new = next.sign(&json!({ "alg": "EdDSA", "kid": "ed-2" }), &claims());
    assert!(tokens.caller(&new, now()).await.is_ok());
    assert!(tokens.caller(&token, now()).await.is_ok());
    // The key that a token names is the only one that is tried.
    refused(&tokens, &next.sign(&json!({ "alg": "EdDSA", "kid": "ed-1" }), &claims())).await;
    issuer.publish(&[("ed-2", &next.key)]);
    refused(&tokens, &token).await;
    assert!(tokens.caller(&new, now()).await.is_ok());
}

/// A key set behind a URL: read at the start, asked again for a key that is not in it, and not for
/// every stranger's token.
#[tokio::test]
async fn a_key_set_is_read_from_a_url() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let issuer = Issuer::new();
    let body = std::fs::read_to_string(&issuer.path).expect("it reads");
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let served = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = served.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut asked = [0; 1024];
            let read = stream.read(&mut asked).await.expect("a request");
            assert!(asked[..read].starts_with(b"GET /jwks?x=1 HTTP/1.1\r\n"));
            count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            stream.write_all(answer.as_bytes()).await.expect("it is taken");
        }
    });
    let tokens = Tokens::open(&format!("http://{address}/jwks?x=1")).await.expect("it reads");
    assert!(tokens.caller(&issuer.token(&claims()), now()).await.is_ok());
    for kid in ["x", "y", "z"] {
        refused(&tokens, &issuer.sign(&json!({ "alg": "EdDSA", "kid": kid }), &claims())).await;
    }
    assert_eq!(served.load(std::sync::atomic::Ordering::SeqCst), 1, "not for every stranger");
    for bad in ["http://192.0.2.1/jwks", "ftp://localhost/", "https://"] {
        assert!(Tokens::open(bad).await.is_err(), "{bad}");
    }
}
