//! What the author of a model tries beside a server.

use std::{
    path::Path,
    process::{Command, Output},
};

use assay_tests::{
    devnet::actors::address as wallet,
    service::{binary, plugins},
};

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
        assert!(!text.contains("not read"), "{text}");
        assert_eq!(files(), before, "nothing is left behind");
        let named = said(&tried(service.dir(), "credit-1.1.wasm", &["--address", "no-such-name.eth"]));
        assert!(named.contains("assay: no-such-name.eth: "), "{named}");

        let unread = tempfile::tempdir().expect("a folder");
        let config = configured(&plugins(), "").await.replace(devnet().await.base.url(), "http://127.0.0.1:9");
        std::fs::write(unread.path().join("other.toml"), config).expect("a file");
        let text = said(&tried(unread.path(), "sybil-1.0.wasm", &["--address", &who, "--config", "other.toml"]));
        assert!(text.contains(&format!("{who}: risk ")) && text.contains("  not read  "), "{text}");
        assert!(text.contains(" on chain 8453: "), "{text}");

        let text = said(&tried(tempfile::tempdir().expect("a folder").path(), "credit-1.1.wasm", &["--address", &who]));
        assert!(text.contains("no chains are configured") && text.contains("--config"), "{text}");
        let text = said(&tried(unread.path(), "enhanced-boost-1.1.wasm", &["--score", "700", "--assets", "50000"]));
        assert!(text.contains("700 with 50000 dollars: 745\n"), "{text}");
        let text = said(&tried(unread.path(), "enhanced-boost-1.1.wasm", &["--address", &who]));
        assert!(text.contains("a boost model sees no wallet"), "{text}");
    });
}
