//! Statements after the chain has moved on, was reorganised or forgot its past; after keys and models changed.

use std::path::Path;

use alloy::primitives::U256;
use assay_tests::{
    devnet::actors,
    lenders::Small,
    proxy::{Call, Proxy, Reply},
    service::{KEY, Service, shelf_copy},
};
use serde_json::{Value, json};

use super::{ATTESTER, Filed, PREDEPLOY, run, signing};

pub(super) const CHAIN: u64 = 31_337;

/// 10,000 blocks, or 1,000 where the test is to be quick.
fn blocks() -> u32 {
    if std::env::var_os("ASSAY_SOAK").is_some() { 10_000 } else { 1_000 }
}

/// A server on one chain without lenders.
pub(super) fn config(shelf: &Path, rpc: &str, attestation: &str) -> String {
    format!(
        "listen = \"127.0.0.1:0\"\n[models]\nshelf = {shelf:?}\npublic = true\n[store]\nbackend = \"embedded\"\n\
         path = \"{{dir}}/assay.redb\"\n[[access.keys]]\nname = \"test\"\nkey = \"{KEY}\"\n\
         scopes = [\"read\", \"submit\", \"admin\"]\n[[chains]]\nid = {CHAIN}\nname = \"Local\"\nrpc = [\"{rpc}\"]\n\
         finality = 16\nmax_head_age = 0\nmarkets = []\ntokens = []\nnative = {{ symbol = \"ETH\" }}\n{attestation}"
    )
}

#[test]
fn a_statement_outlives_blocks_models_and_keys_and_not_a_reorganisation() {
    run(async {
        let (mut chain, wallet) = (Small::start(CHAIN).await.expect("a chain"), actors::address("a wallet"));
        for _ in 0..3 {
            chain.queue_payment(wallet, actors::address("another"), U256::from(1_000)).await.expect("the node answers");
            chain.mine().await.expect("a block");
        }
        let shelf = shelf_copy();
        let service = Service::start(&config(shelf.path(), chain.url(), &signing(ATTESTER, CHAIN, PREDEPLOY)));
        let one = Filed::of(&service, wallet, "1.1").await;
        let endpoint = format!("{CHAIN}={}", chain.url());
        let chains = one.config(&config(shelf.path(), chain.url(), ""));
        let read = ["--config", &chains, "--rpc", &endpoint];
        one.verify(&read).agrees(&["signer", "model", "chains"]);

        // The wallet and the chain move on.
        chain.queue_payment(wallet, actors::address("another"), U256::from(1_000)).await.expect("the node answers");
        chain.mine().await.expect("a block");
        for _ in 0..blocks() / 500 {
            let _: Value = chain.rpc.request("anvil_mine", json!(["0x1f4", "0xc"])).await.expect("five hundred blocks");
        }
        one.verify(&read).agrees(&["chains"]);

        // Another champion, and the model gone from the shelf.
        let api = service.keyed();
        let forced = json!({ "version": "1.3", "why": "a test", "force": true });
        api.put("/api/v2/admin/models/credit/champion", &forced).await.ok();
        std::fs::remove_file(shelf.path().join("credit-1.1.wasm")).expect("it was there");
        api.until("/api/v2/models/credit/1.1/component", |answer| answer.status == 404).await;
        let folder = service.terminate_keeping().await;
        one.verify(&read).agrees(&["model", "chains"]);

        // The key is replaced: the old account is listed first as retired, then as revoked.
        let old = actors::address(ATTESTER);
        let later = (chrono::Utc::now() + chrono::Duration::seconds(1)).to_rfc3339();
        let retired = |more: &str| {
            let retired = format!("[[attestation.retired]]\naddress = \"{old}\"\nuntil = \"{later}\"\n{more}");
            format!("{}{retired}", signing("another attester", CHAIN, PREDEPLOY))
        };
        let service = Service::start_in(folder, &config(shelf.path(), chain.url(), &retired("")), &[]);
        let listed = async |service: &Service| {
            one.write("signers", &service.keyed().get("/.well-known/assay-attestation.json").await.ok());
        };
        listed(&service).await;
        one.verify(&[]).agrees(&["signer"]);
        // The evidence outlives the server.
        let path = one.statement["evidence"].as_str().expect("a path");
        assert_eq!(service.keyed().get(path).await.ok(), one.evidence);
        let folder = service.terminate_keeping().await;
        let service = Service::start_in(folder, &config(shelf.path(), chain.url(), &retired("revoked = true\n")), &[]);
        listed(&service).await;
        let revoked = one.verify(&[]);
        assert_eq!(revoked.code, 12, "{}", revoked.said);
        assert!(revoked.step("signer")[0].1.contains("revoked"));
        one.write("signers", &one.signers);

        // An endpoint without old state cannot tell, and says so.
        let forgetful = Proxy::start(chain.url()).await;
        forgetful.rule(|call: &Call| match call.method.as_str() {
            "eth_getBlockByNumber" | "eth_chainId" => Reply::Pass,
            _ => Reply::Error { code: -32_000, message: "missing trie node".into() },
        });
        let endpoint = format!("{CHAIN}={}", forgetful.url);
        let unread = one.verify(&["--config", &chains, "--rpc", &endpoint]);
        assert_eq!(unread.code, 17, "{}{}", unread.said, unread.stderr);
        assert_eq!(one.verify(&["--config", &chains, "--rpc", "31337=http://127.0.0.1:1"]).code, 17);

        // A named block that was reorganised.
        let number = one.evidence["blocks"][0]["number"].as_u64().expect("a number");
        let head: alloy::primitives::U64 = chain.rpc.request("eth_blockNumber", json!([])).await.expect("a head");
        let depth = head.to::<u64>() - number + 1;
        let _: Value = chain.rpc.request("anvil_rollback", json!([depth])).await.expect("a rollback");
        let _: Value = chain.rpc.request("anvil_mine", json!(["0x40", "0x7"])).await.expect("other blocks");
        let gone = one.verify(&read);
        assert_eq!(gone.code, 16, "{}{}", gone.said, gone.stderr);
        assert!(gone.step("chains")[0].1.contains("reorganised"), "{}", gone.said);
    });
}
