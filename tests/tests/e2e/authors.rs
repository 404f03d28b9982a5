//! What the author of a model tries beside a server.

use std::{
    path::Path,
    process::{Command, Output},
};

use assay_domain::ModelKind;
use assay_tests::{
    authors,
    devnet::actors::address as wallet,
    service::{Service, binary, plugins, sandbox_config, shelf_copy},
};
use serde_json::json;

use super::{configured, devnet, released_on_devnet, run};

/// `assay model try` of a released component, in `folder`.
fn tried(folder: &Path, component: &str, more: &[&str]) -> Output {
    let mut command = Command::new(binary());
    command.current_dir(folder).args(["model", "try"]).arg(plugins().join(component)).args(more);
    command.output().expect("assay runs")
}

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat()
}

#[test]
fn a_wallet_is_tried_as_the_chains_show_it() {
    run(async {
        let service = released_on_devnet().await;
        let who = wallet("borrower").to_checksum(None);
        let served = service.keyed().get(&format!("/api/v2/score/address/{who}")).await.ok();
        let files = || std::fs::read_dir(service.dir()).expect("a folder").count();
        let before = files();
        // The server has its store open, and `try` reads its configuration.
        let done = tried(service.dir(), "credit-1.1.wasm", &["--address", &who]);
        let text = said(&done);
        assert!(done.status.success() && text.contains(&format!("{who}: {}, decile ", served["score"])), "{text}");
        assert!(text.contains("  not read  NFTs on chain 1: no source lists them"), "{text}");
        assert!(!text.contains("not read  everything"), "{text}");
        assert_eq!(files(), before, "nothing is left behind");
        let named = said(&tried(service.dir(), "credit-1.1.wasm", &["--address", "no-such-name.eth"]));
        assert!(named.contains("assay: no-such-name.eth: "), "{named}");

        let unread = tempfile::tempdir().expect("a folder");
        let config = configured(&plugins(), "").await.replace(devnet().await.base.url(), "http://127.0.0.1:9");
        std::fs::write(unread.path().join("other.toml"), config).expect("a file");
        let text = said(&tried(unread.path(), "sybil-1.0.wasm", &["--address", &who, "--config", "other.toml"]));
        assert!(
            text.contains(&format!("{who}: risk ")) && text.contains("  not read  everything on chain 8453: "),
            "{text}"
        );

        let text = said(&tried(tempfile::tempdir().expect("a folder").path(), "credit-1.1.wasm", &["--address", &who]));
        assert!(text.contains("no chains are configured") && text.contains("--config"), "{text}");
        let text = said(&tried(unread.path(), "enhanced-boost-1.1.wasm", &["--score", "700", "--assets", "50000"]));
        assert!(text.contains("700 with 50000 dollars: 745\n"), "{text}");
        let text = said(&tried(unread.path(), "enhanced-boost-1.1.wasm", &["--address", &who]));
        assert!(text.contains("a boost model sees no wallet"), "{text}");
    });
}

/// `ASSAY_SOAK=1` builds the template and asks a server that serves it, which takes a compiler a minute.
#[tokio::test]
async fn a_generator_from_the_template_answers_for_a_sandbox_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = authors::built_as(ModelKind::Sandbox, "python", folder.path(), "0.2").expect_err("no template");
    assert!(refused.contains("--lang rust makes one"), "{refused}");
    if std::env::var_os("ASSAY_SOAK").is_none() {
        return;
    }
    let component = authors::built_as(ModelKind::Sandbox, "rust", folder.path(), "0.2").expect("a component");
    std::fs::write(folder.path().join("box.wasm"), &component).expect("a file");
    let mine = folder.path().join("box.wasm").display().to_string();
    let text = said(&tried(folder.path(), &mine, &["--address", "0x0000000000000000000000000000000000000064"]));
    assert!(text.contains("0x0000000000000000000000000000000000000064: 400\n"), "{text}");

    let shelf = shelf_copy();
    let service = Service::start_in(folder, &sandbox_config(shelf.path()), &["--sandbox"]);
    let api = service.keyed();
    api.post_bytes("/api/v2/admin/models", component).await.expect(201);
    api.put("/api/v2/admin/models/sandbox/champion", &json!({ "version": "0.2" })).await.ok();
    let score = api.get("/api/v2/score/address/0x0000000000000000000000000000000000000064").await.ok();
    assert_eq!(score["score"], 400, "{score}");
    let limited = api.get("/api/v2/score/address/0x00000000000000000000000000000000000000a1").await;
    assert_eq!((limited.status.as_u16(), &limited.headers["retry-after"]), (429, &"30".parse().expect("a header")));
}
