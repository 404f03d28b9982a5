//! The provenance of a served score, and the same score computed again from the same bytes.

use std::{
    collections::HashMap,
    io::Write as _,
    process::{Command, Stdio},
};

use assay_tests::{
    hostile::Credit,
    service::{Answer, Caller, Service, binary, shelf_copy},
};
use futures::{StreamExt, stream};
use serde_json::{Value, json};

use super::{configured, on_devnet, run, shadow::ALWAYS};

const READER: &str = "another_reader_of_scores";

fn address(wallet: &str) -> String {
    assay_tests::devnet::actors::address(wallet).to_string()
}

fn id(answer: &Answer) -> String {
    answer.headers["assay-score-id"].to_str().unwrap().to_owned()
}

#[test]
fn where_a_score_came_from_is_its_owners_alone() {
    run(async {
        let shelf = shelf_copy();
        let second = format!("[[access.keys]]\nname = \"second\"\nkey = \"{READER}\"\nscopes = [\"read\"]\n");
        let service = on_devnet(shelf.path(), &second).await;
        let (api, other) = (service.keyed(), service.with_key(READER));
        let path = format!("/api/v2/score/address/{}?include_factors=true", address("borrower"));
        let (mine, cached, theirs) = (api.get(&path).await, api.get(&path).await, other.get(&path).await);
        assert_eq!(id(&mine), id(&cached), "one record for one computed score");
        assert_ne!(id(&mine), id(&theirs), "an id is bound to its key");
        assert_eq!(mine.text, theirs.text, "and the answer is the same");
        let score = mine.ok();
        let list = api.get("/api/v2/models").await.ok();
        let model = list["models"]
            .as_array()
            .unwrap()
            .iter()
            .find(|model| model["kind"] == "credit" && model["version"] == "1.1")
            .unwrap()
            .clone();

        // Written directly after the answer.
        let wait = async |caller: &Caller, id: String| {
            caller.until(&format!("/api/v2/score/{id}"), |answer| answer.status == 200).await.json()
        };
        let found = wait(&api, id(&mine)).await;
        for field in ["address", "score", "decile", "range", "timestamp", "credit_events_coverage", "provisional"] {
            assert_eq!(found[field], score[field], "{field}");
        }
        assert_eq!((&found["model"]["version"], &found["model"]["digest"]), (&json!("1.1"), &model["digest"]));
        assert!(found["host_version"].is_string() && found["boost"].is_null());
        assert!(found["features"]["as_of"].as_u64().unwrap() > 1_700_000_000);
        assert_eq!(found["features"]["chains"].as_array().unwrap().len(), 2);
        for (ours, theirs) in found["factors"].as_array().unwrap().iter().zip(score["factors"].as_array().unwrap()) {
            assert_eq!(
                (&ours["label"], &ours["rating"], &ours["description"]),
                (&theirs["label"], &theirs["rating"], &theirs["description"])
            );
        }
        assert_eq!(wait(&other, id(&theirs)).await["score"], score["score"]);
        for (caller, id) in [
            (&other, id(&mine)),
            (&api, id(&theirs)),
            (&api, "batchwise".to_owned()),
            (&api, format!("{}-{}", "0".repeat(32), "0".repeat(16))),
        ] {
            assert_eq!(caller.get(&format!("/api/v2/score/{id}")).await.expect(404)["code"], "unknown_score");
        }
        let audited = api.get(&format!("/api/v2/admin/scores/{}", id(&theirs))).await.ok();
        assert_eq!(
            (&audited["asked_by"], &audited["score"]),
            (&json!("dev"), &score["score"]),
            "first computed for the first key"
        );
        assert_eq!(other.get(&format!("/api/v2/admin/scores/{}", id(&theirs))).await.status, 403);

        let both = format!("{},{}", address("borrower"), address("saver"));
        let batch = api.get(&format!("/api/v2/score/batch/?address={both}")).await;
        let ids: Vec<String> = id(&batch).split(',').map(str::to_owned).collect();
        let scores = batch.ok();
        for (score, id) in scores["scores"].as_array().unwrap().iter().zip(&ids) {
            assert_eq!(wait(&api, id.clone()).await["address"], score["address"]);
        }
        let report = api.get(&format!("/api/v2/report/address/{}", address("borrower"))).await;
        assert_eq!(id(&report), ids[0], "a report's score is that score");

        let service = on_devnet(shelf.path(), "[scoring]\nprovenance_days = 0\n").await;
        assert!(
            !service.keyed().get(&path).await.headers.contains_key("assay-score-id"),
            "nothing is kept, so there is nothing to ask for"
        );
    });
}

#[test]
fn a_thousand_scores_come_out_the_same_after_three_swaps_and_a_restart() {
    run(async {
        let shelf = shelf_copy();
        let service = on_devnet(shelf.path(), ALWAYS).await;
        let api = service.keyed();
        let handmade = Credit::new("7.0")
            .score("(i32.add (i32.const 300) (i32.wrap_i64 (i64.rem_u (local.get $as_of) (i64.const 700))))");
        api.post_bytes("/api/v2/admin/models", handmade.build()).await.expect(201);
        // Served bodies by id.
        let mut served: HashMap<String, String> = HashMap::new();
        for version in ["1.1", "1.0", "7.0", "1.1"] {
            api.put("/api/v2/admin/models/credit/champion", &json!({ "version": version })).await.ok();
            let asks = (0..250).map(|n| {
                let (api, wallet) = (api.clone(), address(["saver", "borrower", "liquidated"][n % 3]));
                async move {
                    let path = format!("/api/v2/score/address/{wallet}?include_factors=true");
                    if n % 2 == 0 {
                        api.get(&path).await
                    } else {
                        api.post(&path, &json!({ "total_asset_usd": 0.1 * n as f64 + 1e-7 })).await
                    }
                }
            });
            let answers: Vec<Answer> = stream::iter(asks).buffer_unordered(8).collect().await;
            for answer in answers {
                assert_eq!(answer.ok()["model_version"], version);
                served.insert(id(&answer), answer.text);
            }
        }
        // Concurrent requests may share one computed score; the others are sent one by one.
        for n in 0.. {
            if served.len() >= 1_000 {
                break;
            }
            assert!(n < 1_000, "{} scores", served.len());
            let answer = api
                .post(
                    &format!("/api/v2/score/address/{}?include_factors=true", address("saver")),
                    &json!({ "total_asset_usd": n }),
                )
                .await;
            served.insert(id(&answer), answer.text);
        }
        let dir = service.terminate_keeping().await;
        let config = configured(shelf.path(), ALWAYS).await;
        let service = Service::start_in(dir, &config, &[]);

        let replay = |input: &str| {
            let mut command = Command::new(binary());
            // The server has the store open, and listens on a port that is not in the file.
            command
                .args(["replay", "-", "--json", "--server", service.base(), "--config"])
                .arg(service.dir().join("assay.toml"));
            let mut child =
                command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            let mut stdin = child.stdin.take().unwrap();
            let input = input.to_owned();
            let writing = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
            let output = child.wait_with_output().unwrap();
            writing.join().unwrap().unwrap();
            output
        };
        let ids: String = served.keys().map(|id| format!("{id}\n")).collect();
        let output = tokio::task::block_in_place(|| replay(&ids));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut same = 0;
        for line in String::from_utf8(output.stdout).unwrap().lines() {
            let told: Value = serde_json::from_str(line).unwrap();
            let body = &served[told["id"].as_str().unwrap()];
            assert_eq!(told["now"].as_str().unwrap(), body, "{told}");
            assert_eq!(told["same"], true, "{told}");
            same += 1;
        }
        println!("{same} served scores computed again, all the same to the byte");
        assert_eq!(same, served.len());
        assert!(same >= 1_000);

        // A removed version computes its scores again, as long as its bytes are kept; then the command names them.
        let some = served.iter().find(|(_, body)| body.contains("\"model_version\":\"7.0\"")).unwrap().0;
        assert_eq!(service.keyed().delete("/api/v2/admin/models/credit/7.0").await.status, 204);
        let output = tokio::task::block_in_place(|| replay(some));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::remove_dir_all(shelf.path().join("removed")).unwrap();
        let output = tokio::task::block_in_place(|| replay(some));
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains("are not on the shelf"), "{output:?}");

        // After the server has stopped, the command opens the store.
        let dir = service.terminate_keeping().await;
        let (id, body) = served.iter().find(|(_, body)| body.contains("\"model_version\":\"1.0\"")).unwrap();
        let output = Command::new(binary())
            .args(["replay", id, "--config"])
            .arg(dir.path().join("assay.toml"))
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            output.status.success() && text.contains(body.as_str()) && text.contains("the same"),
            "{text} {}",
            String::from_utf8_lossy(&output.stderr)
        );
    });
}
