//! Every call of the table, on the wire, with every kind of credential that is not enough: refused,
//! nothing changed, audited.

use std::{path::PathBuf, time::Duration};

use bowline_access::{Access, Audit, KeyFile, Need, Reach, Right};
use bowline_engine::{
    Engine, StartOptions,
    store::{Store, memory::MemoryStore},
};
use prost::{
    bytes::{Buf, BufMut},
    encoding,
};
use tonic::{
    Code, Request,
    client::Grpc as Client,
    codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
    transport::Channel,
};

use super::*;
use crate::{Door, Protection, bound::shapes};

/// Requests and answers as they are on the wire.
#[derive(Default)]
struct Raw;

impl Codec for Raw {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, into: &mut EncodeBuf<'_>) -> Result<(), Status> {
        into.put_slice(&item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        let bytes = from.remaining();
        Ok(Some(from.copy_to_bytes(bytes).to_vec()))
    }
}

/// A server with one open run, whose keys and audit log lie in a folder.
struct House {
    engine: Engine,
    channel: Channel,
    keys: PathBuf,
    audit: PathBuf,
    _listening: crate::Listening,
    _folder: tempfile::TempDir,
}

const SPACE: &str = "default";

impl House {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let [keys, audit] = ["keys.json", "audit.jsonl"].map(|name| folder.path().join(name));
        std::fs::write(&keys, "{}").expect("it is written");
        let access = Access::builder().keys(&keys).expect("it reads");
        let access = access.audit(Audit::to_file(&audit).expect("it opens")).build();
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let engine = Engine::builder(store).start().await.expect("it starts");
        let door = Door::new(engine.clone(), SPACE);
        let address = "127.0.0.1:0".parse().expect("an address");
        let protection = Protection { access: Some(access), tls: None };
        let listening =
            crate::serve_protected(door, address, protection).await.expect("it listens");
        let channel = Channel::from_shared(format!("http://{}", listening.address));
        let channel = channel.expect("a uri").connect_lazy();
        let options = StartOptions::new("flow", "order-1", "queue", None);
        engine.start(options).await.expect("it starts");
        Self { engine, channel, keys, audit, _listening: listening, _folder: folder }
    }

    fn key(&self, name: &str, permissions: &[String], lasts: Option<Duration>) -> String {
        let mut file = KeyFile::open(&self.keys).expect("it opens");
        file.make(name, permissions, lasts).expect("a key").key
    }

    /// What an empty request for a namespace is answered.
    async fn ask(&self, service: &str, row: &Row, space: &str, key: Option<&str>) -> Code {
        let package = service.rsplit_once('.').expect("a package").0;
        let name = format!("{package}.{}Request", row.call);
        let shape = shapes().iter().find(|shape| shape.name == name);
        let mut body = Vec::new();
        if let Some(number) = shape.and_then(|shape| shape.field("namespace")) {
            encoding::string::encode(number, &space.to_owned(), &mut body);
        }
        let mut request = Request::new(body);
        // Whoever waits for work waits for a moment only.
        request.set_timeout(Duration::from_secs(20));
        if let Some(key) = key {
            let value = format!("Bearer {key}").parse().expect("a value");
            request.metadata_mut().insert("authorization", value);
        }
        let mut client = Client::new(self.channel.clone());
        client.ready().await.expect("the server is there");
        let path = format!("/{service}/{}", row.call).parse().expect("a path");
        match client.unary(request, path, Raw).await {
            Ok(_) => Code::Ok,
            Err(status) => status.code(),
        }
    }

    /// The refusals that were written down since the last look, by call, with who and where.
    fn refusals(&self) -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(&self.audit).expect("it reads");
        std::fs::write(&self.audit, "").expect("it is emptied");
        let read = |line| serde_json::from_str(line).expect("an object");
        let lines: Vec<serde_json::Value> = text.lines().map(read).collect();
        for line in &lines {
            assert_eq!(line["outcome"], "refused", "nothing was allowed: {line}");
        }
        lines
    }

    /// All there is to see of the store: nothing may be added to it or taken from it.
    async fn state(&self) -> (String, usize) {
        let head = self.engine.current("order-1").await.expect("it is there");
        let spaces = self.engine.spaces().await.expect("they are there");
        (format!("{head:?}"), spaces.len())
    }
}

fn all() -> impl Iterator<Item = (&'static str, &'static Row)> {
    ROWS.iter().flat_map(|(service, rows)| rows.iter().map(move |row| (*service, row)))
}

#[tokio::test]
async fn without_credentials_nothing_is_answered_but_that_somebody_is_there() {
    let house = House::new().await;
    let before = house.state().await;
    for (service, row) in all() {
        let code = house.ask(service, row, SPACE, None).await;
        match row.need {
            Need::Nothing => assert_ne!(code, Code::Unauthenticated, "{}", row.call),
            _ => assert_eq!(code, Code::Unauthenticated, "{}", row.call),
        }
    }
    let refused: Vec<_> = house.refusals().iter().map(|line| line["verb"].clone()).collect();
    let wanted: Vec<_> = all().filter(|(_, row)| row.need != Need::Nothing).collect();
    assert_eq!(refused.len(), wanted.len());
    for (_, row) in wanted {
        assert!(refused.contains(&row.call.into()), "{} is not written down", row.call);
    }
    assert_eq!(house.state().await, before);
}

/// Also where none are needed: who has a wrong key is told so at once, and not at the first poll.
#[tokio::test]
async fn wrong_and_expired_credentials_are_refused_everywhere() {
    let house = House::new().await;
    let before = house.state().await;
    let expired = house.key("old", &["*:admin".into()], Some(Duration::ZERO));
    let revoked = house.key("gone", &["*:admin".into()], None);
    let id = revoked.split('_').nth(1).expect("an id");
    KeyFile::open(&house.keys).and_then(|mut file| file.revoke(id)).expect("it is revoked");
    let sound = house.key("sound", &["*:admin".into()], None);
    let wrong =
        format!("{}{}", &sound[..sound.len() - 1], if sound.ends_with('0') { 1 } else { 0 });
    for key in ["nonsense", "bwl_", "", "a.b.c", &expired, &revoked, &wrong] {
        for (service, row) in all() {
            let code = house.ask(service, row, SPACE, Some(key)).await;
            assert_eq!(code, Code::Unauthenticated, "{} with {key:?}", row.call);
        }
        assert_eq!(house.refusals().len(), all().count(), "{key:?}");
    }
    assert_eq!(house.state().await, before);
    let text = std::fs::read_to_string(&house.audit).expect("it reads");
    for secret in [&expired, &revoked, &wrong, &sound] {
        assert!(!text.contains(secret.rsplit('_').next().expect("a secret")));
    }
}

/// Somebody who may do everything, elsewhere.
#[tokio::test]
async fn rights_in_another_namespace_are_none_in_this_one() {
    let house = House::new().await;
    let before = house.state().await;
    let foreign = house.key("foreign", &["other:admin".into()], None);
    let mut asked = 0;
    for (service, row) in all().filter(|(_, row)| row.reach != Reach::Somewhere) {
        let code = house.ask(service, row, SPACE, Some(&foreign)).await;
        assert_eq!(code, Code::PermissionDenied, "{}", row.call);
        asked += 1;
    }
    let refused = house.refusals();
    assert_eq!(refused.len(), asked);
    for line in refused.iter().filter(|line| line["verb"] == "TerminateWorkflowExecution") {
        assert_eq!((&line["who"], &line["ns"]), (&"key:foreign".into(), &SPACE.into()));
    }
    assert_eq!(house.state().await, before);
}

/// Somebody who has every right but the ones that a call needs.
#[tokio::test]
async fn every_call_needs_the_rights_of_its_line() {
    let house = House::new().await;
    let before = house.state().await;
    let mut keys = std::collections::HashMap::new();
    for (service, row) in all() {
        let needed: Vec<Right> = match row.need {
            Need::Nothing => continue,
            Need::All(rights) => rights[..1].to_vec(),
            Need::Any(rights) => rights.to_vec(),
            // Whoever has `cancel_others` has `cancel`.
            Need::Cancel => vec![Right::Cancel, Right::CancelOthers],
        };
        let key = keys.entry(needed.clone()).or_insert_with_key(|needed| {
            let others = Right::ALL.iter().filter(|right| !needed.contains(right));
            let others: Vec<_> = others.map(|right| format!("*:{right}")).collect();
            let name = needed.iter().map(|right| right.name()).collect::<Vec<_>>().join("-");
            house.key(&format!("all-but-{name}"), &others, None)
        });
        let code = house.ask(service, row, SPACE, Some(key)).await;
        assert_eq!(code, Code::PermissionDenied, "{} without {needed:?}", row.call);
    }
    assert_eq!(house.refusals().len(), all().filter(|(_, row)| row.need != Need::Nothing).count());
    assert_eq!(house.state().await, before);
}

/// What is in no table is refused to everybody, and not answered that it is not there.
#[tokio::test]
async fn what_is_in_no_table_is_refused() {
    let house = House::new().await;
    let key = house.key("root", &["*:admin".into()], None);
    let row = Row::new("Unheard", &[]);
    let service = ROWS[0].0;
    assert_eq!(house.ask(service, &row, SPACE, Some(&key)).await, Code::PermissionDenied);
    assert_eq!(house.ask(service, &row, SPACE, None).await, Code::Unauthenticated);
    assert_eq!(house.refusals().len(), 2);
}
