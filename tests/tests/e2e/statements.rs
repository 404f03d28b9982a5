//! Signed statements of scores: made by the server, recomputed by `assay verify` and by a second verifier, accepted by
//! a contract.

mod contract;
mod lasting;
mod past;
mod reasons;
mod submission;

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use alloy::{primitives::Address, signers::local::PrivateKeySigner};
use assay_statement::Signed;
use assay_tests::{
    devnet::actors,
    packages::statement_packages,
    service::{Answer, Caller, Service, binary, plugins, shelf_copy},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{configured, devnet, run};

/// The account that signs.
pub(super) const ATTESTER: &str = "attester";
/// The EAS contract on the chains of rollups, at which nothing is on the devnet.
pub(super) const PREDEPLOY: &str = "0x4200000000000000000000000000000000000021";

/// The section of a server whose statements `signer` signs for `contract` on `chain`.
pub(super) fn signing(signer: &str, chain: u64, contract: impl std::fmt::Display) -> String {
    let key = actors::private_key(signer);
    format!(
        "[attestation]\nsigner = \"{key}\"\nchain = {chain}\ncontract = \"{contract}\"\ncontract_version = \"1.4.0\"\n"
    )
}

/// A statement with everything that verifies it, in files.
pub(super) struct Filed {
    folder: TempDir,
    statement: Value,
    evidence: Value,
    signers: Value,
}

impl Filed {
    /// Asks the server for a statement of `wallet`, and for what verifies it.
    async fn of(service: &Service, wallet: impl std::fmt::Display, version: &str) -> Self {
        let statement = ask(&service.keyed(), wallet, version).await.ok();
        Self::made(&service.keyed(), statement).await
    }

    /// The same for a statement that the server has made.
    pub(super) async fn made(api: &Caller, statement: Value) -> Self {
        let evidence = api.get(statement["evidence"].as_str().expect("a path")).await.ok();
        let signers = api.get("/.well-known/assay-attestation.json").await.ok();
        let version = evidence["model"]["version"].as_str().expect("a version");
        let component = api.request(reqwest::Method::GET, &format!("/api/v2/models/credit/{version}/component"));
        let component = component.send().await.expect("an answer").bytes().await.expect("a component");
        let filed = Self { folder: tempfile::tempdir().expect("a folder"), statement, evidence, signers };
        for (name, value) in
            [("statement", &filed.statement), ("evidence", &filed.evidence), ("signers", &filed.signers)]
        {
            filed.write(name, value);
        }
        std::fs::write(filed.path("component"), component).expect("the folder can be written");
        filed
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, value: &Value) {
        std::fs::write(self.path(name), value.to_string()).expect("the folder can be written");
    }

    /// `assay verify` of these files, with `more` arguments.
    pub(super) fn verify(&self, more: &[&str]) -> Verified {
        let mut command = Command::new(binary());
        command.current_dir(self.folder.path()).args(["verify", "statement", "--evidence", "evidence", "--json"]);
        let done = command.args(["--component", "component", "--signers", "signers"]).args(more).output();
        Verified::new(&done.expect("assay runs"))
    }

    /// The configuration of the chains of a server, which names them to `assay verify`.
    fn config(&self, config: &str) -> String {
        let file = self.path("assay.toml");
        std::fs::write(&file, config.replace("{dir}", "nowhere")).expect("the folder can be written");
        file.display().to_string()
    }
}

/// What `assay verify` says.
pub(super) struct Verified {
    code: i32,
    said: Value,
    stderr: String,
}

impl Verified {
    fn new(done: &Output) -> Self {
        let said = serde_json::from_slice(&done.stdout).unwrap_or_default();
        let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
        Self { code: done.status.code().expect("it ended by itself"), said, stderr }
    }

    /// The outcomes and the words of a step.
    fn step(&self, name: &str) -> Vec<(String, String)> {
        let steps = self.said["steps"].as_array().into_iter().flatten().filter(|step| step["step"] == name);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        steps.map(|step| (text(&step["outcome"]), text(&step["words"]))).collect()
    }

    #[track_caller]
    pub(super) fn agrees(&self, steps: &[&str]) {
        assert_eq!(self.code, 0, "{}{}", self.said, self.stderr);
        for name in steps {
            assert!(self.step(name).iter().all(|(outcome, _)| outcome == "agrees"), "{name}: {}", self.said);
            assert!(!self.step(name).is_empty(), "{name}: {}", self.said);
        }
    }
}

async fn ask(api: &Caller, wallet: impl std::fmt::Display, version: &str) -> Answer {
    api.post(&format!("/api/v2/score/address/{wallet}/attestation?model_version={version}"), &json!({})).await
}

/// What the second verifier says of each statement, all by the same signers and model.
fn second(signers: &Path, component: &Path, statements: &[(&Value, &Value)]) -> Vec<String> {
    let script = statement_packages().expect("npm installs").with_file_name("verify.mjs");
    let mut command = Command::new("node");
    command.arg(script).args([signers, component]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut running = command.spawn().expect("node runs");
    let mut stdin = running.stdin.take().expect("its input");
    let lines: String = statements
        .iter()
        .map(|(statement, evidence)| format!("{}\n", json!({ "statement": statement, "evidence": evidence })))
        .collect();
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()).expect("it reads"));
    let done = running.wait_with_output().expect("it ends");
    writer.join().expect("the lines were written");
    assert!(done.status.success());
    String::from_utf8(done.stdout).expect("text").lines().map(str::to_owned).collect()
}

/// Another value of the same kind, one bit or one letter away.
fn flipped(value: &Value) -> Value {
    match value {
        Value::String(text) => {
            let mut letters: Vec<char> = text.chars().collect();
            let last = letters.len().saturating_sub(1);
            match letters.get_mut(last) {
                Some(letter) => *letter = if *letter == '1' { '2' } else { '1' },
                None => letters.push('1'),
            }
            letters.into_iter().collect::<String>().into()
        }
        Value::Number(number) => match number.as_u64() {
            Some(number) => (number ^ 1).into(),
            None => f64::from_bits(number.as_f64().expect("a number").to_bits() ^ 1).into(),
        },
        Value::Bool(is) => (!is).into(),
        other => panic!("{other} has no neighbour"),
    }
}

#[test]
fn two_verifiers_recompute_a_statement_and_see_each_changed_field() {
    run(async {
        let config = configured(&plugins(), &signing(ATTESTER, 8453, PREDEPLOY)).await.replacen(
            "[models]",
            "[models]\npublic = true",
            1,
        );
        let service = Service::start(&config);
        let devnet = devnet().await;
        for version in ["1.1", "1.3"] {
            let mut filed = Vec::new();
            for wallet in ["whale", "liquidated-serially", "beneficiary", "borrower", "borrower"] {
                filed.push(Filed::of(&service, devnet.wallet(wallet).address, version).await);
            }
            for one in &filed {
                let verified = one.verify(&["--config", &one.config(&config)]);
                verified.agrees(&["statement", "signature", "signer", "term", "evidence", "model", "chains"]);
                assert_eq!(verified.said["statement"]["score"], one.evidence["score"]);
            }
            let both: Vec<_> = filed.iter().map(|one| (&one.statement, &one.evidence)).collect();
            assert_eq!(second(&filed[0].path("signers"), &filed[0].path("component"), &both), vec!["ok"; both.len()]);
            let uids = filed.iter().map(|one| one.statement["sig"]["uid"].as_str().unwrap());
            assert_eq!(
                uids.collect::<std::collections::BTreeSet<_>>().len(),
                both.len() - 1,
                "the same score has the same statement for a minute"
            );
        }

        // A field at a time is changed, and the code says which step saw it.
        let one = Filed::of(&service, devnet.wallet("liquidated-serially").address, "1.3").await;
        let (mut changed, mut codes) = (Vec::new(), Vec::new());
        let message = "sig/message";
        let fields = [("statement", "sig/uid", 10), ("statement", "sig/domain/chainId", 11)];
        let fields = fields.into_iter().chain([
            ("statement", "sig/domain/name", 10),
            ("statement", "sig/domain/version", 11),
            ("statement", "sig/domain/verifyingContract", 11),
            ("statement", "sig/signature/r", 11),
            ("statement", "sig/signature/s", 11),
            ("statement", "sig/primaryType", 10),
            ("statement", "signer", 11),
            ("evidence", "features/as_of", 14),
            ("evidence", "features/chains/0/transactions", 14),
            ("evidence", "features/markets/0/supplied_usd", 14),
            ("evidence", "blocks/0/number", 14),
            ("evidence", "blocks/0/hash", 14),
            ("evidence", "blocks/1/chain_id", 14),
            ("evidence", "model/version", 14),
            ("evidence", "model/digest", 14),
            ("evidence", "score", 14),
            ("evidence", "decile", 14),
            ("evidence", "address", 14),
            ("evidence", "factors/0/points", 15),
        ]);
        let of_message =
            ["schema", "recipient", "time", "expirationTime", "revocable", "refUID", "data", "salt", "version"];
        let of_message: Vec<_> = of_message.iter().map(|name| format!("{message}/{name}")).collect();
        let fields = fields.chain(of_message.iter().map(|path| ("statement", path.as_str(), 10)));
        for (file, path, code) in fields {
            let (mut statement, mut evidence) = (one.statement.clone(), one.evidence.clone());
            let within = if file == "statement" { &mut statement } else { &mut evidence };
            let field = within.pointer_mut(&format!("/{path}")).unwrap_or_else(|| panic!("{path} is a field"));
            *field = flipped(field);
            one.write("statement", &statement);
            one.write("evidence", &evidence);
            let verified = one.verify(&[]);
            assert_eq!(verified.code, code, "{path}: {}{}", verified.said, verified.stderr);
            // Rows of the evidence that only describe are not committed to.
            if ![
                "evidence/score",
                "evidence/decile",
                "evidence/model/version",
                "evidence/model/digest",
                "evidence/factors/0/points",
            ]
            .contains(&format!("{file}/{path}").as_str())
            {
                changed.push((statement, evidence));
                codes.push(path);
            }
        }
        let lines: Vec<_> = changed.iter().map(|(statement, evidence)| (statement, evidence)).collect();
        for (said, path) in second(&one.path("signers"), &one.path("component"), &lines).iter().zip(codes) {
            assert_ne!(said, "ok", "{path}");
        }
    });
}

#[test]
fn files_that_are_not_a_statement_are_refused_in_words() {
    run(async {
        let config = configured(&plugins(), &signing(ATTESTER, 8453, PREDEPLOY)).await;
        let config = config.replacen("[models]", "[models]\npublic = true", 1);
        let service = Service::start(&config);
        let one = Filed::of(&service, devnet().await.wallet("borrower").address, "1.1").await;
        let refused = |name: &str, bytes: &[u8]| {
            let before = std::fs::read(one.path(name)).expect("a file");
            std::fs::write(one.path(name), bytes).expect("the folder can be written");
            let verified = one.verify(&[]);
            std::fs::write(one.path(name), before).expect("the folder can be written");
            (verified.code, verified.stderr)
        };
        let deep = [&b"{\"deep\":"[..], &b"[".repeat(100_000), &b"]".repeat(100_000), b"}"].concat();
        for (name, bytes, words) in [
            ("statement", &b""[..], "is empty"),
            ("statement", &b"{}"[..], "missing field `sig`"),
            ("evidence", &deep[..], "missing field"),
            ("evidence", &vec![b' '; (32 << 20) + 1][..], "more than the limit of 33554432"),
            ("signers", &b"null"[..], "invalid type"),
        ] {
            let (code, said) = refused(name, bytes);
            assert!(code == 2 && said.contains(words), "{name}: {code} {said}");
        }
        let twice = one.evidence.to_string().replacen("\"as_of\":", "\"as_of\":1,\"as_of\":", 1);
        assert!(refused("evidence", twice.as_bytes()).1.contains("duplicate field"));
        // Equal numbers in another text are the same features.
        let text = one.evidence.to_string();
        let (before, after) = text.split_once("\"assets_usd\":").expect("a chain");
        let (number, rest) = after.split_once(',').expect("another field");
        let spelled = format!("{before}\"assets_usd\": {number}e0,{rest}");
        assert_eq!(refused("evidence", spelled.as_bytes()), (0, String::new()));
        // A component of other bytes, and one that is none.
        let other = std::fs::read(plugins().join("credit-1.0.wasm")).expect("a model");
        assert_eq!(refused("component", &other).0, 15);
        assert_eq!(refused("component", b"\0asm").0, 15);
        // The evidence of another score.
        let whale = Filed::of(&service, devnet().await.wallet("whale").address, "1.1").await;
        assert_eq!(refused("evidence", whale.evidence.to_string().as_bytes()).0, 14);
        assert_eq!(one.verify(&["--at", "2020-01-01"]).code, 13, "not issued yet");
        assert_eq!(one.verify(&["--at", "2100-01-01"]).code, 13, "expired");
    });
}

#[test]
fn a_signer_who_gives_a_component_another_version_is_seen() {
    run(async {
        let config = configured(&plugins(), &signing(ATTESTER, 8453, PREDEPLOY)).await;
        let service = Service::start(&config.replacen("[models]", "[models]\npublic = true", 1));
        let one = Filed::of(&service, devnet().await.wallet("borrower").address, "1.1").await;
        one.verify(&[]).agrees(&["statement", "signature", "signer", "term", "evidence", "model"]);
        let signed: Signed = serde_json::from_value(one.statement.clone()).expect("a statement");
        let mut lie = signed.statement().expect("a statement of a score");
        lie.content.version = "1.2".parse().expect("a version");
        let key = PrivateKeySigner::from_bytes(&actors::private_key(ATTESTER)).expect("a key");
        one.write("statement", &json!(lie.sign(&key).expect("it is signed")));
        let mut evidence = one.evidence.clone();
        evidence["model"]["version"] = json!("1.2");
        one.write("evidence", &evidence);
        let seen = one.verify(&[]);
        assert_eq!(seen.code, 15, "{}", seen.said);
        let (outcome, words) = seen.step("model").remove(0);
        assert!(outcome != "agrees" && words.contains("says it is version 1.1"), "{outcome}: {words}");
    });
}

#[test]
fn what_is_not_final_is_not_signed_and_what_is_not_real_is_refused() {
    run(async {
        let (signs, wallet) = (signing(ATTESTER, 8453, PREDEPLOY), devnet().await.wallet("whale").address);
        let down = Service::start(&configured(&plugins(), &format!("{signs}{}", super::unread::gone())).await);
        let refused = ask(&down.keyed(), wallet, "1.1").await;
        assert_eq!(refused.expect(409)["code"], "provisional");
        assert!(refused.headers.contains_key("retry-after"));

        let service = Service::start(&configured(&plugins(), &signs).await);
        let api = service.keyed();
        ask(&api, Address::repeat_byte(0xee), "1.1").await.expect(404);
        ask(&api, "0x12", "1.1").await.expect(400);
        assert_eq!(ask(&api, wallet, "9.9").await.expect(404)["code"], "unknown_model");
        assert_eq!(api.get("/api/v2/models/credit/1.1/component").await.expect(403)["code"], "models_not_public");
        let statement = ask(&api, wallet, "1.1").await;
        let id = statement.headers["assay-score-id"].to_str().unwrap().to_owned();
        assert_eq!(statement.ok()["score_id"], id.as_str());
        let other = service.with_key("nobody");
        other.get(&format!("/api/v2/score/{id}/evidence")).await.expect(401);

        let silent = Service::start(&configured(&plugins(), "").await);
        assert_eq!(ask(&silent.keyed(), wallet, "1.1").await.expect(502)["code"], "attestation_not_configured");
        silent.keyed().get("/.well-known/assay-attestation.json").await.expect(502);

        let shelf = shelf_copy();
        let mock = assay_tests::service::sandbox_config(shelf.path());
        let mock = Service::start(&format!("sandbox = true\n{mock}\n{signs}"));
        let api = mock.keyed();
        let statement = ask(&api, wallet, "1.1").await.ok();
        // The key is not that of the configuration, whose domain it has.
        let signers = api.get("/.well-known/assay-attestation.json").await.ok();
        assert_eq!(signers["signers"][0]["address"], statement["signer"]);
        assert_ne!(statement["signer"], json!(actors::address(ATTESTER)));
        assert_eq!(statement["sig"]["domain"]["verifyingContract"], json!(PREDEPLOY.parse::<Address>().unwrap()));
        let evidence = api.get(statement["evidence"].as_str().expect("a path")).await.ok();
        assert_eq!(evidence["score"], api.get(&format!("/api/v2/score/address/{wallet}")).await.ok()["score"]);
        let pending = "0x0000000000000000000000000000000000000101";
        assert_eq!(ask(&api, pending, "1.1").await.expect(409)["code"], "provisional");
        // Its signature and its signer are right, and it is refused for what it says.
        let seen = Filed::made(&api, statement).await.verify(&[]);
        assert_eq!((seen.code, seen.said.to_string().contains("it is of a sandbox")), (10, true), "{}", seen.said);
    });
}
