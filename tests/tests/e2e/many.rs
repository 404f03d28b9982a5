//! Hundreds of models are added, answer, are removed and added again: no resources remain, and no old model is ever
//! served.

use assay_tests::{
    hostile::Credit,
    service::{Service, shelf_copy},
    until::until,
};
use serde_json::{Value, json};

use super::{configured, run};

/// Models in all, and under `make soak`.
const MODELS: (u32, u32) = (150, 500);
/// Models that are loaded at one time.
const AT_ONCE: u32 = 5;
/// One model in this many is added again; every model under `make soak`.
const AGAIN: u32 = 10;

/// Each model has its own score.
fn model(n: u32, generation: u32) -> Vec<u8> {
    Credit::new(&format!("8.{n}")).score(&format!("(i32.const {})", 300 + (n + generation * 350) % 701)).build()
}

#[test]
fn hundreds_of_models_come_and_go_and_nothing_of_them_stays() {
    run(async {
        let shelf = shelf_copy();
        // Other tests share the folder of compiled models.
        let own = "[models]\ncompiled_path = \"{dir}/compiled\"";
        let service = Service::start(&configured(shelf.path(), "").await.replace("[models]", own));
        let api = service.keyed();
        let path = format!("/api/v2/score/address/{}", assay_tests::devnet::actors::address("saver"));
        let versions = |list: &Value| -> Vec<String> {
            let models = list["models"].as_array().unwrap().iter().filter(|model| model["kind"] == "credit");
            models.map(|model| model["version"].as_str().unwrap().to_owned()).collect()
        };
        let (models, every) = if std::env::var_os("ASSAY_SOAK").is_some() { (MODELS.1, 1) } else { (MODELS.0, AGAIN) };
        let mut warm = 0;
        for n in 0..models {
            let (name, score) = (format!("8.{n}"), 300 + n % 701);
            api.post_bytes("/api/v2/admin/models", model(n, 0)).await.expect(201);
            api.put("/api/v2/admin/models/credit/champion", &json!({ "version": name })).await.ok();
            let answer = api.get(&path).await.ok();
            assert_eq!((&answer["model_version"], &answer["score"]), (&json!(name), &json!(score)), "{n}");
            if n >= AT_ONCE {
                let old = n - AT_ONCE;
                assert_eq!(api.delete(&format!("/api/v2/admin/models/credit/8.{old}")).await.status, 204);
                // The same version returns with other bytes; a cache by version would confuse it with the old model.
                if old.is_multiple_of(every) {
                    api.post_bytes("/api/v2/admin/models", model(old, 1)).await.expect(201);
                    let answer = api.get(&format!("{path}?model_version=8.{old}")).await.ok();
                    assert_eq!(answer["score"], 300 + (old + 350) % 701, "8.{old} again");
                    assert_eq!(api.delete(&format!("/api/v2/admin/models/credit/8.{old}")).await.status, 204);
                }
            }
            if n % 50 == 49 {
                let list = api.get("/api/v2/models").await.ok();
                let expected: Vec<String> = ["1.0", "1.1", "1.2", "1.3", "1.4"]
                    .map(str::to_owned)
                    .into_iter()
                    .chain((n - AT_ONCE + 1..=n).map(|n| format!("8.{n}")))
                    .collect();
                assert_eq!(versions(&list), expected, "after {n}");
            }
            // By now pools, caches and the allocator have a stable size.
            if n == models / 2 {
                warm = service.resident();
            }
        }
        api.put("/api/v2/admin/models/credit/champion", &json!({ "version": "1.1" })).await.ok();
        // The allocator returns freed memory as it goes on, so answers go on until it has.
        let most = warm + warm / 10 + (8 << 20);
        let resident = async || {
            api.get(&path).await.ok();
            service.resident()
        };
        let (warm_mib, end_mib) = (warm >> 20, until(resident, |now| *now <= most).await >> 20);
        let kept = std::fs::read_dir(service.dir().join("compiled")).unwrap().count();
        let files = std::fs::read_dir(shelf.path()).unwrap().count();
        println!(
            "{models} models; resident {warm_mib} MiB after half of them, {end_mib} MiB at the end; {kept} compiled \
             files, {files} on the shelf"
        );
        // A model that is reviewed for a promotion is compiled for the shadow too.
        assert!(kept <= 2 * files && files < 20, "{kept} compiled files, {files} on the shelf");
    });
}
