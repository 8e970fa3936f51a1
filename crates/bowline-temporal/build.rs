//! Server stubs, from the descriptors that the `temporalio-protos` crate leaves for its dependants.
//! The message types are that crate's own: no proto file is copied here, and no compiler needed.
//! Beside them the shapes of all requests, by which a message is looked at before it is unfolded.

use std::{collections::BTreeMap, error::Error, fmt::Write, path::PathBuf};

use prost::Message;
use prost_types::{DescriptorProto, FileDescriptorSet, field_descriptor_proto::Type as FieldType};

/// The packages whose services are answered here.
const SERVED: &[&str] =
    &["temporal.api.workflowservice.v1", "temporal.api.operatorservice.v1", "grpc.health.v1"];

/// What comes inside of requests in envelopes that name their type.
const ENVELOPED: &[&str] = &[
    "temporal.api.update.v1.Acceptance",
    "temporal.api.update.v1.Rejection",
    "temporal.api.update.v1.Response",
];

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::var("DEP_TEMPORALIO_PROTOS_DESCRIPTOR_PATH")?;
    println!("cargo:rerun-if-changed={path}");
    println!("cargo:rerun-if-changed=build.rs");
    let mut set = FileDescriptorSet::decode(&*std::fs::read(&path)?)?;
    for file in &mut set.file {
        if !SERVED.contains(&file.package()) {
            file.service.clear();
        }
    }
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    // For the test that compares them with the documentation.
    std::fs::write(out.join("calls.rs"), format!("&{:?}", calls(&set)))?;
    std::fs::write(out.join("shapes.rs"), shapes(&set)?)?;
    let mut config = prost_build::Config::new();
    config.enable_type_names();
    tonic_prost_build::configure()
        .build_client(false)
        .build_server(true)
        .generate_default_stubs(true)
        .codec_path("crate::bound::Codec")
        .extern_path(".temporal.api", "::temporalio_protos::temporal::api")
        .compile_fds_with_config(set, config)?;
    Ok(())
}

/// Every call that there is, answered or not.
fn calls(set: &FileDescriptorSet) -> Vec<String> {
    let calls = set.file.iter().flat_map(|file| {
        let services = file.service.iter();
        services.flat_map(move |service| {
            let named = format!("{}.{}", file.package(), service.name());
            service.method.iter().map(move |method| format!("{named}/{}", method.name()))
        })
    });
    calls.collect()
}

/// Every message that a request can have in it: its name, and its fields in the order of their
/// numbers, each with what it is on the wire.
fn shapes(set: &FileDescriptorSet) -> Result<String, Box<dyn Error>> {
    let mut known = BTreeMap::new();
    for file in &set.file {
        for message in &file.message_type {
            gather(file.package(), message, &mut known);
        }
    }
    let methods = set.file.iter().flat_map(|file| &file.service).flat_map(|one| &one.method);
    let mut waiting: Vec<_> =
        methods.map(|method| method.input_type().trim_start_matches('.').to_owned()).collect();
    waiting.extend(ENVELOPED.iter().map(|name| (*name).to_owned()));
    let mut wanted = BTreeMap::new();
    while let Some(name) = waiting.pop() {
        let message = *known.get(&name).ok_or_else(|| format!("no message {name}"))?;
        if wanted.insert(name, message).is_none() {
            waiting.extend(message.field.iter().filter_map(part));
        }
    }
    let places: BTreeMap<_, _> = wanted.keys().cloned().zip(0..).collect();
    let mut text = String::from("&[\n");
    for (name, message) in &wanted {
        let entry = message.options.as_ref().is_some_and(|options| options.map_entry());
        let mut fields: Vec<_> = message.field.iter().collect();
        fields.sort_by_key(|field| field.number());
        write!(text, "Shape {{ name: {name:?}, is_entry: {entry}, fields: &[")?;
        for field in fields {
            let kind = match (field.r#type(), part(field)) {
                (_, Some(name)) => format!("Kind::Part({})", places[&name]),
                (FieldType::String, None) => "Kind::Text".to_owned(),
                _ => "Kind::Plain".to_owned(),
            };
            write!(text, "({}, {:?}, {kind}), ", field.number(), field.name())?;
        }
        text.push_str("] },\n");
    }
    text.push(']');
    Ok(text)
}

/// The message that a field holds, if it holds one.
fn part(field: &prost_types::FieldDescriptorProto) -> Option<String> {
    let is_message = field.r#type() == FieldType::Message;
    is_message.then(|| field.type_name().trim_start_matches('.').to_owned())
}

fn gather<'m>(
    within: &str,
    message: &'m DescriptorProto,
    known: &mut BTreeMap<String, &'m DescriptorProto>,
) {
    let name = format!("{within}.{}", message.name());
    for nested in &message.nested_type {
        gather(&name, nested, known);
    }
    known.insert(name, message);
}
