//! Models from a registry of the ecosystem.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use assay_tests::{
    oci::{Registry, tokens::Tokens},
    service::{Service, binary, plugins, sandbox_config},
};
use sha2::{Digest as _, Sha256};

use super::run;

fn assay(arguments: &[&str]) -> Output {
    Command::new(binary()).args(arguments).env("NO_COLOR", "1").output().expect("assay runs")
}

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat()
}

/// The last line of a command that succeeds.
fn last(arguments: &[&str]) -> String {
    let done = assay(arguments);
    let text = said(&done);
    assert!(done.status.success(), "{text}");
    text.lines().last().expect("a line").to_owned()
}

/// A signed component in `folder`, and the public key.
fn signed(folder: &Path) -> (String, String) {
    let [key, file] = ["author.key", "credit.wasm"].map(|name| folder.join(name).display().to_string());
    let public = last(&["model", "key", "-o", &key]);
    let released = plugins().join("credit-1.1.wasm");
    last(&["model", "sign", released.to_str().expect("a path"), "--key", &key, "-o", &file]);
    (file, public)
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_component_comes_back_from_a_registry_with_its_signature_or_not_at_all() {
    let (folder, registry) = (tempfile::tempdir().expect("a folder"), Registry::start());
    let (file, public) = signed(folder.path());
    let component = fs::read(&file).expect("a component");
    let place = format!("oci://{}/lender/credit:1.1", registry.host());
    let pinned = last(&["model", "push", &file, &place]);
    assert!(pinned.starts_with(&format!("{place}@sha256:")), "{pinned}");
    // What is there is not sent again; the manifest has another date.
    let again = last(&["model", "push", &file, &place]);
    let out = folder.path().join("pulled.wasm");
    let pull = |place: &str| assay(&["model", "pull", place, "-o", out.to_str().expect("a path")]);
    for place in [&place, &pinned, &again] {
        let done = pull(place);
        let text = said(&done);
        assert!(done.status.success() && text.contains(&format!("signed by {public}")), "{text}");
        assert_eq!(fs::read(&out).expect("a component"), component, "{place}");
        fs::remove_file(&out).expect("a file");
    }
    // The manifest is that of other tools of WebAssembly.
    let manifest_file = registry.blob(pinned.rsplit(':').next().expect("a digest"));
    let manifest = fs::read_to_string(&manifest_file).expect("a manifest");
    let value: serde_json::Value = serde_json::from_str(&manifest).expect("JSON");
    assert_eq!(value["config"]["mediaType"], "application/vnd.wasm.config.v0+json");
    assert_eq!(value["layers"][0]["mediaType"], "application/wasm");
    assert_eq!(value["layers"][0]["digest"], format!("sha256:{}", hex(&component)));
    let config = registry.blob(value["config"]["digest"].as_str().expect("a digest").trim_start_matches("sha256:"));
    let config: serde_json::Value = serde_json::from_slice(&fs::read(config).expect("a file")).expect("JSON");
    assert_eq!(config["component"]["exports"][0], "assay:model/credit@1.0.0");
    assert_eq!(config["layerDigests"][0], value["layers"][0]["digest"]);

    let refused = |place: &str, code: i32, words: &str| {
        let done = pull(place);
        let text = said(&done);
        assert!(done.status.code() == Some(code) && text.contains(words), "{words}: {:?} {text}", done.status);
        assert!(!out.exists(), "{words}: nothing is written");
    };
    let other = format!("{place}@sha256:{}", hex(b"another manifest"));
    refused(&other, 1, "the registry has no such component: check repository, tag and digest");
    refused(&place.replace(":1.1", ":9"), 1, "the registry has no such component");
    refused("credit:1.1", 2, "is not a reference to a registry");
    // Bytes that were changed in the registry, in the manifest and in the component.
    fs::write(&manifest_file, manifest.replacen('{', "{ ", 1)).expect("a file");
    refused(&pinned, 1, "do not use it, and ask its publisher");
    fs::write(&manifest_file, &manifest).expect("a file");
    let blob = registry.blob(&hex(&component));
    let mut changed = component.clone();
    *changed.last_mut().expect("a byte") ^= 1;
    fs::write(&blob, &changed).expect("a file");
    refused(&pinned, 1, "but its manifest names");
    fs::write(&blob, &component[..component.len() / 2]).expect("a file");
    refused(&pinned, 1, "the download ended after");
    fs::write(&blob, [&component[..], b"more"].concat()).expect("a file");
    refused(&pinned, 1, "the registry sends more bytes than the limit");
    fs::write(&blob, &component).expect("a file");
    assert!(pull(&pinned).status.success());
    fs::remove_file(&out).expect("a file");
    drop(registry);
    refused(&pinned, 2, "the registry does not answer");
}

/// A component goes to the registry and comes back with the right login only.
fn opens_for_its_login(registry: &Registry) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = plugins().join("credit-1.1.wasm").display().to_string();
    let (place, out) = (format!("oci://{}/lender/credit:1.1", registry.host()), folder.path().join("pulled.wasm"));
    let asked = |arguments: &[&str], password: Option<&str>| {
        let mut command = Command::new(binary());
        command.args(arguments).env("NO_COLOR", "1").env("ASSAY_OCI_USER", "lender");
        command.env_remove("ASSAY_OCI_PASSWORD").envs(password.map(|password| ("ASSAY_OCI_PASSWORD", password)));
        command.output().expect("assay runs")
    };
    let (push, pull) =
        (["model", "push", &file, &place], ["model", "pull", &place, "-o", out.to_str().expect("a path")]);
    let right = Some("open sesame");
    for password in [None, Some("open barley")] {
        let done = asked(&push, password);
        assert!(!done.status.success() && said(&done).contains("ASSAY_OCI_PASSWORD"), "{}", said(&done));
    }
    let done = asked(&push, right);
    assert!(done.status.success(), "{}", said(&done));
    for password in [None, Some("open barley")] {
        let done = asked(&pull, password);
        let text = said(&done);
        assert!(!done.status.success() && !out.exists() && text.contains("ASSAY_OCI_PASSWORD"), "{text}");
        assert!(!text.contains("barley"), "{text}");
    }
    let done = asked(&pull, right);
    assert!(done.status.success(), "{}", said(&done));
    assert_eq!(fs::read(&out).expect("a component"), fs::read(&file).expect("a component"));
}

#[test]
fn a_registry_that_wants_a_password_gets_it() {
    opens_for_its_login(&Registry::with_password());
}

#[test]
fn a_registry_that_wants_a_token_gets_it() {
    run(async {
        let tokens = Tokens::start().await;
        opens_for_its_login(&tokens.registry());
        let scopes = tokens.take();
        let of = |actions: &str| scopes.iter().any(|scope| *scope == format!("repository:lender/credit:{actions}"));
        assert!(of("pull") && of("pull,push"), "{scopes:?}");
    });
}

#[test]
fn a_server_takes_the_named_models_as_soon_as_their_registry_answers() {
    run(async {
        let (folder, registry) = (tempfile::tempdir().expect("a folder"), Registry::start());
        let (file, public) = signed(folder.path());
        let place = format!("oci://{}/lender/credit:1.1", registry.host());
        let pinned = last(&["model", "push", &file, &place]);
        let (data, port) = registry.stop();
        let shelf = folder.path().join("shelf");
        fs::create_dir(&shelf).expect("a folder");
        let config = |source: &str| {
            let sources = format!("[models]\nsources = [\"{source}\"]\ntrust = [\"{public}\"]\n");
            sandbox_config(&shelf).replace("[models]\n", &sources)
        };
        let unpinned = folder.path().join("unpinned.toml");
        fs::write(&unpinned, config(&place).replace("{dir}", "data")).expect("a file");
        let text = said(&assay(&["check-config", "--config", unpinned.to_str().expect("a path")]));
        assert!(text.contains("models.sources") && text.contains("has no digest, and a tag can change"), "{text}");

        let service = Service::start(&config(&pinned));
        service.logged("a model was not pulled").await;
        let registry = Registry::start_in(data, port).expect("the registry starts again");
        service.logged("pulled a model").await;
        // The shelf is watched.
        service.keyed().until("/api/v2/models", |models| models.ok().to_string().contains("\"1.1\"")).await;
        service.terminate().await;
        drop(registry);
        // What is on the shelf needs no registry.
        let service = Service::start(&config(&pinned));
        let models = service.keyed().get("/api/v2/models").await.ok();
        assert!(models.to_string().contains("\"1.1\""), "{models}");
        assert!(!service.log().contains("a model was not pulled"), "{}", service.log());
    });
}
