//! Validation packs: an operator makes one for a model in service, and a validator reads it offline.

use std::{
    path::Path,
    process::{Command, Output},
};

use assay_tests::{
    devnet::actors::{self, address},
    service::{KEY, Service, binary, plugins},
};

use super::{
    on_devnet, run,
    statements::{ATTESTER, PREDEPLOY, signing},
};

const WALLETS: [&str; 3] = ["borrower", "saver", "whale"];

fn assay(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(binary());
    command.current_dir(folder).env("ASSAY_TEST_KEY", KEY).args(arguments);
    command.output().expect("assay runs")
}

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat()
}

/// The ids of scores of three wallets, when they are recorded.
async fn scored(service: &Service) -> String {
    let (api, mut ids) = (service.keyed(), String::new());
    for wallet in WALLETS {
        let answer = api.get(&format!("/api/v2/score/address/{}", address(wallet))).await;
        let id = answer.headers["assay-score-id"].to_str().expect("an id").to_owned();
        api.until(&format!("/api/v2/score/{id}"), |answer| answer.status == 200).await;
        ids += &format!("{id}\n");
    }
    ids
}

#[test]
fn a_validator_opens_the_pack_of_a_model_offline() {
    run(async {
        let service = on_devnet(&plugins(), &signing(ATTESTER, 8453, PREDEPLOY)).await;
        let folder = service.dir();
        std::fs::write(folder.join("ids.txt"), scored(&service).await).expect("a file");
        std::fs::write(folder.join("page.html"), "<p>out of time</p>").expect("a file");
        let server = ["--server", service.base(), "--key-from", "ASSAY_TEST_KEY", "--config", "assay.toml"];
        let made = |more: &[&str]| {
            let pack = ["model", "dossier", "credit", "1.1", "-o", "pack.tar"];
            assay(folder, &[&pack, more, &server].concat())
        };
        let done = made(&["--scores", "ids.txt", "--include", "page.html", "--tier", "high"]);
        let text = said(&done);
        assert!(done.status.success() && text.contains("pack.tar: "), "{text}");
        // A part that cannot be had is named.
        assert!(text.contains("not in it: training.txt: the component has no digest of its training data"), "{text}");

        // Offline: no configuration, no server.
        let desk = tempfile::tempdir().expect("a folder");
        let pack = std::fs::read(folder.join("pack.tar")).expect("the pack");
        let put = |name: &str, bytes: &[u8]| std::fs::write(desk.path().join(name), bytes).expect("a file");
        put("pack.tar", &pack);
        let attester = actors::address(ATTESTER).to_string();
        let verified = assay(desk.path(), &["verify", "pack.tar", "--signer", &attester]);
        let text = said(&verified);
        assert!(verified.status.success(), "{text}");
        for words in
            ["a validation pack of credit 1.1", &format!("{attester}, as given"), " files are those of the manifest"]
        {
            assert!(text.contains(words), "{words}: {text}");
        }
        let other = assay(desk.path(), &["verify", "pack.tar", "--signer", &actors::address("borrower").to_string()]);
        assert_eq!(other.status.code(), Some(12), "{}", said(&other));
        let published = service.keyed().get("/.well-known/assay-attestation.json").await.expect(200).clone();
        let mut strangers = published.clone();
        strangers["signers"][0]["address"] = actors::address("borrower").to_string().into();
        put("signers.json", published.to_string().as_bytes());
        put("strangers.json", strangers.to_string().as_bytes());
        for (more, code, words) in [
            (["--signers", "signers.json"], 0, "listed for this moment"),
            (["--signers", "strangers.json"], 12, "signer"),
            (["--at", "2030-01-01"], 2, "--at is for a statement"),
            (["--evidence", "signers.json"], 2, "--evidence is for a statement"),
        ] {
            let verified = assay(desk.path(), &[&["verify", "pack.tar"][..], &more].concat());
            let text = said(&verified);
            assert!(verified.status.code() == Some(code) && text.contains(words), "{words}: {text}");
        }
        // A file of the same name never replaces one of the pack.
        for name in ["README.md", "manifest.json", "card.md"] {
            std::fs::write(folder.join(name), "mine").expect("a file");
            let refused = made(&["--include", name]);
            assert!(said(&refused).contains("rename it") && !refused.status.success(), "{name}: {}", said(&refused));
        }
        std::fs::write(folder.join("none.txt"), "\n").expect("a file");
        let done = made(&["--scores", "none.txt"]);
        assert!(said(&done).contains("not in it: replay.jsonl: none.txt has no score id"), "{}", said(&done));

        // Any tar opens it.
        let extracted = Command::new("tar").args(["-xf", "pack.tar"]).current_dir(desk.path()).status();
        assert!(extracted.expect("tar runs").success());
        let file =
            |name: &str| std::fs::read_to_string(desk.path().join(name)).unwrap_or_else(|why| panic!("{name}: {why}"));
        let replayed: Vec<serde_json::Value> =
            file("replay.jsonl").lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(replayed.len(), WALLETS.len());
        assert!(replayed.iter().all(|one| one["same"] == true), "{replayed:?}");
        assert!(
            file("card.md").contains("# credit 1.1") && file("model.json").contains("\"materiality_tier\": \"high\"")
        );
        assert!(file("drift.json").contains("minimum_wallets"));
        assert!(file("audit.json").contains("appoint") && file("shadow.json").contains("min_scores"));
        assert!(file("README.md").contains("training.txt: the component has no digest"));
        let component = std::fs::read(desk.path().join("component.wasm")).expect("the component");
        assert_eq!(component, std::fs::read(plugins().join("credit-1.1.wasm")).expect("the released one"));

        // The server makes the same by itself, of the newest scores.
        let path = "/api/v2/admin/models/credit/1.1/dossier?tier=low";
        let response = service.keyed().request(reqwest::Method::GET, path).send().await.expect("the server answers");
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "application/octet-stream");
        assert!(response.headers()["content-disposition"].to_str().expect("text").contains("credit-1.1.tar"));
        put("button.tar", &response.bytes().await.expect("the archive"));
        let verified = assay(desk.path(), &["verify", "button.tar", "--signer", &attester]);
        assert!(verified.status.success(), "{}", said(&verified));
        let extracted = Command::new("tar").args(["-xf", "button.tar"]).current_dir(desk.path()).status();
        assert!(extracted.expect("tar runs").success());
        let replayed: Vec<serde_json::Value> =
            file("replay.jsonl").lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(replayed.len(), WALLETS.len());
        assert!(replayed.iter().all(|one| one["same"] == true && one["served"] == one["now"]), "{replayed:?}");
        assert!(replayed.iter().all(|one| one["record"]["features"]["as_of"].is_u64()), "{replayed:?}");
        assert!(file("model.json").contains("\"materiality_tier\": \"low\""));
        assert!(file("drift.json").contains("minimum_wallets") && file("audit.json").contains("appoint"));
        let boost = service.keyed().get("/api/v2/admin/models/credit/9.9/dossier").await;
        assert_eq!(boost.expect(404)["code"], "no_component");
        let wrong = service.keyed().get("/api/v2/admin/models/credit/1.1/dossier?tier=huge").await;
        assert_eq!(wrong.status, 422, "{}", wrong.text);

        // A tampered byte is named: its file, and the 4 KiB that have it.
        let place = |what: &[u8]| pack.windows(what.len()).position(|window| window == what).expect("the bytes");
        for (at, code, words) in [
            (place(b"<p>out of time"), 14, "page.html: changed between bytes 0 and 18"),
            (place(&component) + 5000, 14, "component.wasm: changed between bytes 4096 and 8192"),
            (place(b"assay-dossier/1"), 10, "manifest.json has the form"),
            (place(b"\"made_at\": ") + 12, 11, "manifest.json or signature.json was changed"),
            (0, 10, "the header at byte 0 was changed"),
        ] {
            let mut changed = pack.clone();
            changed[at] ^= 1;
            put("changed.tar", &changed);
            let verified = assay(desk.path(), &["verify", "changed.tar"]);
            let text = said(&verified);
            assert!(verified.status.code() == Some(code) && text.contains(words), "{words}: {text}");
        }
        // Some programs would extract the second archive, too.
        put("changed.tar", &[pack.as_slice(), &pack].concat());
        let verified = assay(desk.path(), &["verify", "changed.tar"]);
        assert!(verified.status.code() == Some(10), "{}", said(&verified));

        // A score of a pack, tried against another component.
        let ids = std::fs::read_to_string(folder.join("ids.txt")).expect("ids");
        let first = ids.lines().next().expect("an id");
        let component = plugins().join("credit-1.2.wasm").display().to_string();
        let tried = assay(folder, &[&["model", "try", &component, "--score-id", first][..], &server].concat());
        let text = said(&tried);
        assert!(
            text.contains(&format!("{first}, which credit 1.1 scored ")) && text.contains("instructions"),
            "{text}"
        );
    });
}
