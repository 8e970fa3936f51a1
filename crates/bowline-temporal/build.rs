//! Server stubs, from the descriptors that the `temporalio-protos` crate leaves for its dependants.
//! The message types are that crate's own: no proto file is copied here, and no compiler needed.

use std::error::Error;

use prost::Message;

/// The packages whose services are answered here.
const SERVED: &[&str] =
    &["temporal.api.workflowservice.v1", "temporal.api.operatorservice.v1", "grpc.health.v1"];

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::var("DEP_TEMPORALIO_PROTOS_DESCRIPTOR_PATH")?;
    println!("cargo:rerun-if-changed={path}");
    println!("cargo:rerun-if-changed=build.rs");
    let mut set = prost_types::FileDescriptorSet::decode(&*std::fs::read(&path)?)?;
    for file in &mut set.file {
        if !SERVED.contains(&file.package()) {
            file.service.clear();
        }
    }
    let calls = set.file.iter().flat_map(|file| {
        let services = file.service.iter();
        services.flat_map(move |service| {
            let named = format!("{}.{}", file.package(), service.name());
            service.method.iter().map(move |method| format!("{named}/{}", method.name()))
        })
    });
    let calls: Vec<String> = calls.collect();
    // For the test that compares them with the documentation.
    let out = std::path::PathBuf::from(std::env::var("OUT_DIR")?);
    std::fs::write(out.join("calls.rs"), format!("&{calls:?}"))?;
    tonic_prost_build::configure()
        .build_client(false)
        .build_server(true)
        .generate_default_stubs(true)
        .extern_path(".temporal.api", "::temporalio_protos::temporal::api")
        .compile_fds(set)?;
    Ok(())
}
