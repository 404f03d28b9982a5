//! A store and a shelf that commit e01fb907 wrote, under this version: what is kept, and what is added.
//!
//! The store is the backup of a devnet of that commit: a key that used 13 of 1,000 units, scores, a promotion to credit
//! 1.3 and a confirmed submission.

use std::{fs, io::Read as _, path::Path};

use assay_tests::{
    reputation::World,
    service::{Service, plugins, shelf_copy},
    until::until,
};
use flate2::read::GzDecoder;
use redb::{Database, ReadableTable as _, TableDefinition};
use serde_json::{Value, json};
use tempfile::{NamedTempFile, TempDir};

use super::run;

/// The files that the shelf of that commit did not have.
const NEW: [&str; 2] = ["credit-1.4.wasm", "cards/credit-1.4.toml"];
const KEY: &str = "assay_8f0b152559503c77b81dcec786737c09341eaee67d7f6f33a9047d4f2983e7d9";
const SCORE: &str = "b03e98443bc54b0faf084dd507f1b2cd-ecdae29f0959c2cf";
const SUBMISSION: &str = "383c8a03-079a-4690-8a36-5a95dfe0381c";

fn old_store() -> TempDir {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("upgrade/e01fb907.redb.gz");
    let (dir, mut bytes) = (tempfile::tempdir().expect("a folder"), Vec::new());
    GzDecoder::new(fs::File::open(file).expect("the store")).read_to_end(&mut bytes).expect("a compressed store");
    let draft = NamedTempFile::new().expect("a file");
    fs::write(draft.path(), bytes).expect("a copy");
    keep_score(draft.path()).expect("the store can be changed");
    // Another file, since a process that another test starts may hold the lock of the first one a moment longer.
    fs::copy(draft.path(), dir.path().join("assay.redb")).expect("a copy");
    dir
}

/// Removes the expiry of the score, 30 days after it was stored, because this test also runs later.
fn keep_score(store: &Path) -> Result<(), redb::Error> {
    const RECORDS: TableDefinition<'static, &str, (u64, &[u8])> = TableDefinition::new("records");
    const EXPIRY: TableDefinition<'static, (u64, &str), ()> = TableDefinition::new("expiry");
    let (id, _) = SCORE.split_once('-').expect("a number and its signature");
    let key = format!("score/{id}");
    let database = Database::open(store)?;
    let writing = database.begin_write()?;
    {
        let (mut records, mut expiry) = (writing.open_table(RECORDS)?, writing.open_table(EXPIRY)?);
        let found = records.get(key.as_str())?.map(|found| (found.value().0, found.value().1.to_owned()));
        let (until, bytes) = found.expect("the store has the score");
        expiry.remove((until, key.as_str()))?.expect("the score has an end");
        records.insert(key.as_str(), (0_u64, bytes.as_slice()))?;
    }
    writing.commit()?;
    Ok(())
}

/// The versions of the credit model, each with its role.
async fn credit(service: &Service) -> Vec<(Value, Value)> {
    let list = service.keyed().get("/api/v2/models").await.ok();
    let models = list["models"].as_array().expect("models").iter();
    models
        .filter(|model| model["kind"] == "credit")
        .map(|model| (model["version"].clone(), model["role"].clone()))
        .collect()
}

#[test]
fn a_store_and_a_shelf_of_an_earlier_version_go_on() {
    run(async {
        let (world, shelf) = (World::start().await, shelf_copy());
        for file in NEW {
            fs::remove_file(shelf.path().join(file)).expect("the shelf has it");
        }
        let config = world.config(world.chain.url(), "endpoint = \"https://assay.example\"");
        let config = config.replace(&plugins().display().to_string(), &shelf.path().display().to_string());
        let mut dir = old_store();
        for start in ["first", "second"] {
            let service = Service::start_in(dir, &config, &[]);
            let (api, lender) = (service.keyed(), service.with_key(KEY));
            let usage = lender.get("/api/v2/usage").await.ok();
            let metered = ["name", "scopes", "units", "used", "rate"].map(|field| usage[field].clone());
            let kept = [json!("lender"), json!(["read", "submit"]), json!(1000), json!(13), json!(120)];
            assert_eq!(metered, kept, "{start}");
            let status = lender.get(&format!("/api/v2/agents/1/reputation/status/{SUBMISSION}")).await.ok();
            assert_eq!((&status["status"], &status["submission_id"]), (&json!("confirmed"), &json!(SUBMISSION)));
            let score = api.get(&format!("/api/v2/admin/scores/{SCORE}")).await.ok();
            assert_eq!((&score["asked_by"], &score["record"]["model"]["version"]), (&json!("lender"), &json!("1.1")));
            let audit = api.get("/api/v2/admin/audit").await.ok();
            let promoted =
                audit["entries"].as_array().expect("entries").iter().find(|entry| entry["action"] == "promote");
            assert_eq!(promoted.expect("the promotion")["why"], "the newest model convinces");
            assert!(credit(&service).await.contains(&(json!("1.3"), json!("champion"))), "{start}");

            // A new model is loaded, but does not answer until it is promoted.
            for file in NEW {
                fs::copy(plugins().join(file), shelf.path().join(file)).expect("a copy");
            }
            let is_loaded = |all: &Vec<(Value, Value)>| all.contains(&(json!("1.4"), json!("available")));
            let all = until(async || credit(&service).await, is_loaded).await;
            assert!(all.contains(&(json!("1.3"), json!("champion"))), "{all:?}");
            dir = service.terminate_keeping().await;
        }
    });
}
