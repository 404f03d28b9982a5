//! The identity of an address, through the whole server: primary names on two chains, and attestations of the real
//! service.

use std::fmt::Write;
use std::path::Path;

use alloy::primitives::{Address, B256};
use alloy::sol;
use alloy::sol_types::SolValue;
use assay_tests::{
    devnet::actors::{self, address as wallet},
    lenders::Small,
    people::{
        self,
        eas::{self, Eas},
        ens::{self, Ens},
    },
    proxy::{Call, Proxy, Reply},
    service::{Answer, Caller, KEY, Service, plugins, sandbox_config},
};
use serde_json::{Value, json};

use super::{devnet, released_on_devnet, run};

sol! {
    interface Index {
        function set(address recipient, bytes32 schema, bytes32 uid) external;
    }
    struct Stamp { string provider; uint256 score; }
    struct Passport { bool passing; uint8 decimals; uint128 scorer; uint32 score; uint32 threshold; Stamp[] stamps; }
}

const BASE_REVERSE: &str = "80002105.reverse";

/// Two chains: names on both, attestations on the second.
struct World {
    ethereum: Small,
    base: Small,
    ens: Ens,
    basenames: Ens,
    eas: Eas,
    index: Address,
    account: B256,
    country: B256,
    passport: B256,
    open: B256,
}

impl World {
    async fn start() -> Self {
        let (ethereum, base) = tokio::join!(Small::start(1), Small::start(8_453));
        let (mut ethereum, mut base) = (ethereum.expect("chain 1 starts"), base.expect("chain 8453 starts"));
        let ens = ens::deploy(&mut ethereum).await.expect("ENS is deployed");
        let basenames = ens::deploy(&mut base).await.expect("its like is deployed on the other chain");
        let eas = eas::deploy(&mut base).await.expect("the attestation service is deployed");
        let index = people::stub(&mut base, "IndexStub", vec![]).await.expect("an index");
        let schemas =
            ["bool verifiedAccount", "string verifiedCountry", "bool passing, uint8 decimals", "string anything"];
        let [account, country, passport, open] = schemas.map(|schema| eas.schema(&mut base, schema));
        base.mine().await.expect("schemas are registered");
        Self { ethereum, base, ens, basenames, eas, index, account, country, passport, open }
    }

    /// Mines an indexed attestation by `attester`.
    async fn attest(&mut self, attester: &str, schema: B256, recipient: Address, expires: u64, data: Vec<u8>) -> B256 {
        let uid = self
            .eas
            .attest(&mut self.base, wallet(attester), (schema, recipient), expires, data)
            .await
            .expect("it is attested");
        self.list(recipient, schema, uid).await;
        uid
    }

    async fn list(&mut self, recipient: Address, schema: B256, uid: B256) {
        let set = Index::setCall { recipient, schema, uid };
        self.base.call(wallet(actors::DEPLOYER), self.index, &set).await.expect("it is indexed");
    }

    fn config(&self, ethereum: &str, base: &str) -> String {
        let mut toml = sandbox_config(&plugins());
        for (id, name, rpc) in [(1, "Ethereum", ethereum), (8_453, "Base", base)] {
            let _ = writeln!(
                toml,
                "[[chains]]\nid = {id}\nname = \"{name}\"\nrpc = [\"{rpc}\"]\nfinality = 16\nmax_head_age = \
                 0\nmulticall = \"none\""
            );
            let _ = writeln!(
                toml,
                "native = {{ symbol = \"ETH\" }}\nsequencer = \"none\"\ntokens = []\npair_factories = []\nmarkets = []"
            );
        }
        let _ = writeln!(toml, "[reading.rpc]\nretries = 0\n[names]\nregistries = [");
        let (ens, basenames) = (self.ens.registry, self.basenames.registry);
        let _ =
            writeln!(toml, "{{ provider = \"ens\", chain = 1, registry = \"{ens}\", reverse = \"addr.reverse\" }},");
        let _ = writeln!(
            toml,
            "{{ provider = \"basename\", chain = 8453, registry = \"{basenames}\", under = \"base.eth\", \
             reverse = \"{BASE_REVERSE}\" }},\n]"
        );
        let _ = writeln!(toml, "[identity]\nsources = [");
        let (service, attester) = (self.eas.service, wallet("coinbase"));
        for (provider, kind, index, lookup, schema, data) in [
            ("coinbase", "kind = \"verified-account\", ", self.index, "attestation-uid", self.account, "flag"),
            ("coinbase", "kind = \"verified-country\", ", self.index, "attestation-uid", self.country, "country"),
            ("human-passport", "", self.index, "user-attestation", self.passport, "passport-score"),
            ("friends", "", self.eas.indexer, "received", self.open, "any"),
        ] {
            let _ = writeln!(
                toml,
                "{{ provider = \"{provider}\", {kind}chain = 8453, eas = \"{service}\", index = \"{index}\", \
                 lookup = \"{lookup}\", schema = \"{schema}\", attester = \"{attester}\", data = \"{data}\" }},"
            );
        }
        let _ = writeln!(toml, "]");
        toml
    }

    fn serve(&self) -> Service {
        Service::start(&self.config(self.ethereum.url(), self.base.url()))
    }
}

async fn attestations(api: &Caller, subject: impl std::fmt::Display) -> Answer {
    api.get(&format!("/api/v2/identity/address/{subject}/attestations")).await
}

/// Provider and kind of each.
fn said(body: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let list = body["attestations"].as_array().expect("a list");
    let label =
        |one: &Value| [text(&one["provider"]), text(&one["kind"])].into_iter().flatten().collect::<Vec<_>>().join("/");
    list.iter().map(label).collect()
}

fn score(score: u32, decimals: u8) -> Vec<u8> {
    let stamps: Vec<Stamp> = vec![Stamp { provider: "github".into(), score: alloy::primitives::U256::from(1) }];
    Passport { passing: true, decimals, scorer: 335, score, threshold: 200_000, stamps }.abi_encode_params()
}

#[test]
fn what_holds_is_listed_and_what_does_not_is_not() {
    run(async {
        let mut world = World::start().await;
        let (ada, emil) = (wallet("ada"), wallet("emil"));
        let far = world.base.now() + 1_000 * 86_400;
        // Ada has one valid statement of each kind. Emil has one of each that is not valid.
        let account = world.attest("coinbase", world.account, ada, 0, true.abi_encode()).await;
        let revoked = world.attest("coinbase", world.country, ada, 0, "DE".to_owned().abi_encode()).await;
        world.attest("coinbase", world.passport, ada, far, score(254_321, 4)).await;
        world.attest("stranger", world.account, emil, 0, true.abi_encode()).await;
        world.attest("coinbase", world.country, emil, 0, "Germany".to_owned().abi_encode()).await;
        let soon = world.base.now() + 86_400 + 10;
        world.attest("coinbase", world.passport, emil, soon, score(254_321, 4)).await;
        // In a schema that every attester may use: the newest attestation is a stranger's, and the indexer has all of
        // them.
        for attester in ["coinbase", "stranger"] {
            let request = (world.open, ada);
            let uid = world
                .eas
                .attest(&mut world.base, wallet(attester), request, 0, "a friend".to_owned().abi_encode())
                .await
                .expect("attested");
            world
                .base
                .call(ada, world.eas.indexer, &eas::Indexer::indexAttestationCall { uid })
                .await
                .expect("indexed");
        }
        // Ada's names point back to her. Emil claims her names on both chains, without a right to them.
        world.ens.name(&mut world.ethereum, "ada.eth", ada);
        world.ens.call_itself(&mut world.ethereum, ada, "addr.reverse", "ada.eth");
        world.ens.call_itself(&mut world.ethereum, emil, "addr.reverse", "ada.eth");
        world.basenames.name(&mut world.base, "ada.base.eth", ada);
        world.basenames.call_itself(&mut world.base, ada, BASE_REVERSE, "ada.base.eth");
        world.basenames.call_itself(&mut world.base, emil, BASE_REVERSE, "Ada.base.eth");
        world.ethereum.mine().await.expect("names are registered");
        world.base.mine().await.expect("names are registered");

        let service = world.serve();
        let api = service.keyed();
        // By the name on the other chain, which needs no gateway.
        let answer = attestations(&api, "ADA.base.eth").await;
        let body = answer.ok();
        assert_eq!(body["address"], json!(ada.to_checksum(None)));
        let all =
            ["ens", "basename", "coinbase/verified-account", "coinbase/verified-country", "human-passport", "friends"];
        assert_eq!(
            (said(&body), &body["count"], &body["coverage"]),
            (all.map(str::to_owned).to_vec(), &json!(6), &json!("complete"))
        );
        assert_eq!(
            (&body["cached"], answer.headers["cache-control"].to_str().ok()),
            (&json!(false), Some("private, max-age=300"))
        );
        let one = |at: usize| &body["attestations"][at];
        assert_eq!(
            (&one(0)["name"], &one(0)["chain_id"], &one(1)["name"]),
            (&json!("ada.eth"), &json!(1), &json!("ada.base.eth"))
        );
        assert_eq!((&one(2)["uid"], &one(2)["schema"]), (&json!(account), &json!(world.account)));
        assert_eq!(
            (&one(2)["attester"], &one(2)["expires_at"]),
            (&json!(wallet("coinbase").to_checksum(None)), &Value::Null)
        );
        let ends =
            chrono::DateTime::from_timestamp(far as i64, 0).map(|at| at.format("%Y-%m-%dT%H:%M:%SZ").to_string());
        assert_eq!((&one(4)["score"], &one(4)["expires_at"]), (&json!(25.4321), &json!(ends)));
        assert!(one(2)["issued_at"].as_str().is_some_and(|at| at.ends_with('Z')));
        assert_eq!(body["sources"].as_array().map(Vec::len), Some(6));
        assert_eq!(attestations(&api, ada).await.ok()["cached"], true);

        let none = attestations(&api, emil).await.ok();
        assert_eq!((said(&none), &none["count"], &none["coverage"]), (vec![], &json!(0), &json!("complete")));
        let nobody = attestations(&api, wallet("nobody")).await.ok();
        assert_eq!((said(&nobody), &nobody["coverage"]), (vec![], &json!("complete")));
        attestations(&api, "nobody.eth").await.expect(404);
        attestations(&api, "nonsense").await.expect(400);
        attestations(&service.anonymous(), ada).await.expect(401);

        // Merged over addresses, each statement once.
        let list = format!("/api/v2/report/?address={ada},{emil}");
        let summary = &api.get(&list).await.ok()["report"]["summary"];
        let mut sorted = all.map(str::to_owned);
        sorted.sort();
        assert_eq!(
            (&summary["count_identity_attestations"], &summary["list_identity_attestations"]),
            (&json!(6), &json!(sorted))
        );

        // One attestation is revoked, and the name is sold: another server reads the new state, while this one still
        // has the old state in its cache.
        world.eas.revoke(&mut world.base, wallet("coinbase"), world.country, revoked).await.expect("it is revoked");
        world.ens.name(&mut world.ethereum, "ada.eth", emil);
        world.ethereum.mine().await.expect("the name is sold");
        let after = attestations(&world.serve().keyed(), ada).await.ok();
        assert_eq!(said(&after), ["basename", "coinbase/verified-account", "human-passport", "friends"]);
    });
}

#[test]
fn what_could_not_be_read_is_not_called_absent() {
    run(async {
        let mut world = World::start().await;
        let ada = wallet("ada");
        world.attest("coinbase", world.account, ada, 0, true.abi_encode()).await;
        world.ens.name(&mut world.ethereum, "ada.eth", ada);
        world.ens.call_itself(&mut world.ethereum, ada, "addr.reverse", "ada.eth");
        world.ethereum.mine().await.expect("names are registered");
        let (ethereum, base) = (Proxy::start(world.ethereum.url()).await, Proxy::start(world.base.url()).await);

        // A chain that does not respond.
        let service = Service::start(&world.config(world.ethereum.url(), &base.url));
        base.rule(|_| Reply::Status(500, None));
        let answer = attestations(&service.keyed(), ada).await;
        let body = answer.ok();
        assert_eq!((said(&body), &body["coverage"]), (vec!["ens".to_owned()], &json!("partial")));
        let failed =
            body["sources"].as_array().into_iter().flatten().filter(|source| source["coverage"] == "failed").count();
        assert_eq!((failed, answer.headers["cache-control"].to_str().ok()), (5, Some("private, max-age=30")));

        // The chain responds, but calls of these contracts fail: the report is complete, the attestations are not, and
        // the cache lifetime is that of an incomplete answer.
        let service_contract = json!(world.eas.service.to_string().to_lowercase());
        base.rule(move |call| match call.params[0]["to"] == service_contract {
            true => Reply::Error { code: -32000, message: "not now".into() },
            false => Reply::Pass,
        });
        let service = Service::start(&world.config(world.ethereum.url(), &base.url));
        let report = service.keyed().get(&format!("/api/v2/report/address/{ada}")).await;
        assert_eq!(report.headers["cache-control"].to_str().ok(), Some("private, max-age=30"), "{}", report.text);
        let body = attestations(&service.keyed(), ada).await.ok();
        assert_eq!(
            (said(&body), &body["coverage"], &body["cached"]),
            (vec!["ens".to_owned()], &json!("partial"), &json!(true))
        );

        // No call is answered.
        ethereum.rule(|_| Reply::Status(500, None));
        base.rule(|_| Reply::Status(500, None));
        let service = Service::start(&world.config(&ethereum.url, &base.url));
        attestations(&service.keyed(), ada).await.expect(502);
    });
}

/// Whether `call` looks for a contract; activity asks whether the wallet is one.
fn looks_up(call: &Call) -> bool {
    let wallets = ["first", "second"].map(|name| json!(wallet(name)));
    call.method == "eth_getCode" && !wallets.contains(&call.params[0])
}

#[test]
fn attestations_cost_one_request_and_nothing_where_there_are_none() {
    run(async {
        let world = World::start().await;
        let base = Proxy::start(world.base.url()).await;
        // The checks in the background ask for the same contracts.
        let unchecked = |config: String| format!("check_live = false\n{config}");
        let service = Service::start(&unchecked(world.config(world.ethereum.url(), &base.url)));
        let contracts = [world.basenames.registry, world.index, world.eas.indexer, world.eas.service]
            .map(|at| json!(at.to_string().to_lowercase()));
        let about = |calls: &[Call]| -> Vec<String> {
            let asked = |call: &&Call| looks_up(call) || contracts.contains(&call.params[0]["to"]);
            calls.iter().filter(asked).map(|call| call.method.clone()).collect()
        };
        attestations(&service.keyed(), wallet("first")).await.ok();
        base.take();
        attestations(&service.keyed(), wallet("second")).await.ok();
        let calls = base.take();
        // Four indexes, and the reverse name with its two parents: one batch, because this chain has no Multicall3.
        assert_eq!(about(&calls), vec!["eth_call"; 7], "{calls:?}");
        assert!(!calls.iter().any(looks_up), "which contracts are there is remembered");
        attestations(&service.keyed(), wallet("second")).await.ok();
        assert_eq!(about(&base.take()), Vec::<String>::new());

        // On a chain without the shipped contracts, each contract is looked up once.
        let proxy = Proxy::start(devnet().await.base.url()).await;
        let config = devnet().await.config_toml("127.0.0.1:0", &plugins(), Path::new("{dir}/assay.redb"), KEY);
        let service = Service::start(&unchecked(config.replace(devnet().await.base.url(), &proxy.url)));
        let api = service.keyed();
        let body = attestations(&api, wallet("first")).await.ok();
        assert_eq!((&body["coverage"], &body["sources"], &body["count"]), (&json!("complete"), &json!([]), &json!(0)));
        assert!(proxy.take().iter().any(looks_up));
        attestations(&api, wallet("second")).await.ok();
        let shipped =
            |call: &Call| looks_up(call) || call.params[0]["to"] == "0x2c7ee1e5f416dff40054c27a62f7b357c4e8619c";
        assert!(!proxy.take().iter().any(shipped));
    });
}

#[test]
fn the_shipped_sources_are_checked_where_any_of_them_is() {
    run(async {
        let world = World::start().await;
        let good = world.config(world.ethereum.url(), world.base.url());
        let (code, out, err) = super::check_config::check(&good);
        assert_eq!(code, Some(0), "{out}\n{err}");
        let wrong =
            good.replace(&format!("schema = \"{}\"", world.open), &format!("schema = \"{}\"", B256::repeat_byte(7)));
        let wrong = wrong
            .replace(&format!("index = \"{}\"", world.index), &format!("index = \"{}\"", world.basenames.registry));
        let (code, _, err) = super::check_config::check(&wrong);
        assert_eq!(code, Some(1), "{err}");
        assert!(
            err.contains("attestation service of friends") && err.contains("does not know the schema 0x0707"),
            "{err}"
        );
        assert!(err.contains("index of human-passport") && err.contains("does not answer like an index"), "{err}");
        let service = released_on_devnet().await;
        assert_eq!(
            service.keyed().get("/openapi.json").await.ok()["paths"]["/api/v2/identity/address/{address}/attestations"]
                ["get"]["tags"],
            json!(["identity"])
        );
    });
}

#[test]
fn the_sandbox_attests_to_nobody() {
    run(async {
        let service =
            Service::start_in(tempfile::tempdir().expect("a folder"), &sandbox_config(&plugins()), &["--sandbox"]);
        let answer = attestations(&service.keyed(), "ada.eth").await;
        let body = answer.ok();
        assert_eq!((said(&body), &body["count"], &body["coverage"]), (vec![], &json!(0), &json!("complete")));
        assert_eq!(answer.headers["x-assay-sandbox"], "true");
    });
}
