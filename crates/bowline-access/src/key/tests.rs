//! Keys are made, sent, replaced, revoked; what is wrong with them is refused.

use super::*;
use crate::Right;

fn path() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("keys.json");
    (folder, path)
}

fn make(path: &Path, name: &str, permission: &str) -> Made {
    let mut file = KeyFile::open(path).expect("it opens");
    file.make(name, &[permission.to_owned()], None).expect("a key")
}

fn refused(keys: &Keys, sent: &str) -> String {
    keys.caller(sent, now()).expect_err("it is refused").to_string()
}

#[test]
fn a_key_opens_what_it_was_made_for_until_it_is_revoked() {
    let (_folder, path) = path();
    let made = make(&path, "deploy", "orders:start");
    let keys = Keys::open(&path).expect("it reads");
    let caller = keys.caller(&made.key, now()).expect("it is known");
    assert_eq!(caller.who(), "key:deploy");
    assert!(caller.may(Right::Start, "orders") && !caller.may(Right::Start, "other"));
    let second = make(&path, "deploy", "orders:start");
    assert!(keys.caller(&second.key, now()).is_ok(), "the file is read again");
    assert!(KeyFile::open(&path).expect("it opens").revoke(&made.id).expect("it is written"));
    assert!(refused(&keys, &made.key).contains("revoked"));
    assert!(keys.caller(&second.key, now()).is_ok());
    assert!(!KeyFile::open(&path).expect("it opens").revoke("nothing").expect("it reads"));
}

#[test]
fn a_wrong_key_is_refused_and_does_not_say_how_wrong() {
    let (_folder, path) = path();
    let made = make(&path, "deploy", "*:admin");
    let keys = Keys::open(&path).expect("it reads");
    let (id, secret) = made.key[PREFIX.len()..].split_once('_').expect("two parts");
    let last = if secret.ends_with('0') { '1' } else { '0' };
    let wrong = format!("{PREFIX}{id}_{}{last}", &secret[..63]);
    let foreign = format!("{PREFIX}0000000000000000_{secret}");
    assert_eq!(refused(&keys, &wrong), refused(&keys, &foreign));
    for part in ["bwl_", "bwl__", &format!("bwl_{id}"), &format!("bwl_{id}_"), "bwl", ""] {
        refused(&keys, part);
    }
    let upper = format!("{PREFIX}{id}_{}", secret.to_uppercase());
    if upper != made.key {
        refused(&keys, &upper);
    }
}

#[test]
fn a_key_expires() {
    let (_folder, path) = path();
    let mut file = KeyFile::open(&path).expect("it opens");
    let hour = Duration::from_secs(3600);
    let made = file.make("deploy", &["a:read".into()], Some(hour)).expect("a key");
    let keys = Keys::open(&path).expect("it reads");
    assert!(keys.caller(&made.key, now()).is_ok());
    let later = keys.caller(&made.key, now() + 3600).expect_err("it is over");
    assert_eq!(later, Refused::Bad("the API key has expired"));
    assert!(file.shown()[0].is_live);
}

#[test]
fn a_name_has_two_live_keys_at_most() {
    let (_folder, path) = path();
    let mut file = KeyFile::open(&path).expect("it opens");
    let read = ["a:read".to_owned()];
    let over = file.make("deploy", &read, Some(Duration::ZERO)).expect("a key");
    file.make("deploy", &read, None).expect("one that has expired does not count");
    file.make("deploy", &read, None).expect("the one that takes its place");
    let third = file.make("deploy", &read, None).expect_err("three are too many");
    assert!(third.to_string().contains("two live keys"), "{third}");
    file.make("other", &read, None).expect("another name has its own");
    assert!(file.revoke(&over.id).expect("it is written"));
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let (_folder, path) = path();
    let mut file = KeyFile::open(&path).expect("it opens");
    for (name, permission) in [("a b", "x:read"), ("", "x:read"), ("a", "x:root"), ("a", "read")] {
        file.make(name, &[permission.to_owned()], None).expect_err("it is refused");
    }
    assert!(!path.exists(), "nothing was written");
    for text in ["", "{", "[7]", "{\"keyz\":[]}", "{\"keys\":[{\"id\":\"a\"}]}"] {
        std::fs::write(&path, text).expect("it is written");
        assert!(KeyFile::open(&path).is_err() && Keys::open(&path).is_err(), "{text}");
    }
}

#[test]
fn certificates_have_rights_by_their_names() {
    let (_folder, path) = path();
    let text = r#"{"certificates":[{"name":"worker-1","permissions":["orders:worker"]},
        {"name":"*","permissions":["orders:read"]}]}"#;
    std::fs::write(&path, text).expect("it is written");
    let keys = Keys::open(&path).expect("it reads");
    let worker = keys.certified(&["a.example".into(), "worker-1".into()]).expect("it is known");
    assert_eq!(worker.who(), "cert:worker-1");
    assert!(worker.may(Right::Work, "orders") && !worker.may(Right::Read, "orders"));
    let other = keys.certified(&["b.example".into()]).expect("any name");
    assert!(other.may(Right::Read, "orders") && other.who() == "cert:b.example");
    assert!(keys.certified(&[]).is_none(), "without a name nobody is meant");
}

/// Nobody finds a secret where it does not belong: in the file, in what is printed for debugging.
#[test]
fn no_secret_is_kept_or_shown() {
    let (_folder, path) = path();
    let made = make(&path, "deploy", "*:admin");
    let secret = made.key.rsplit('_').next().expect("a secret");
    let text = std::fs::read_to_string(&path).expect("it reads");
    assert!(!text.contains(secret), "{text}");
    let file = KeyFile::open(&path).expect("it opens");
    let shown = format!("{made:?} {file:?} {:?}", file.shown());
    assert!(!shown.contains(secret) && !shown.contains(&hex(hashed(secret).as_ref())), "{shown}");
    #[cfg(unix)]
    {
        let mode = std::fs::metadata(&path).expect("it is there");
        let mode = std::os::unix::fs::PermissionsExt::mode(&mode.permissions());
        assert_eq!(mode & 0o777, 0o600);
    }
}
