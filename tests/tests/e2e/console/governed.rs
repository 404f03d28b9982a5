//! What a governor of models does: saves a version's validation pack, and looks at the drift of its inputs.

use super::*;
use crate::statements::{ATTESTER, PREDEPLOY, signing};

#[test]
fn a_pack_is_saved_and_the_drift_of_inputs_is_shown_as_the_server_has_it() {
    run(async {
        let service = on_devnet(&plugins(), &signing(ATTESTER, 8453, PREDEPLOY)).await;
        let api = service.keyed();
        for name in ["saver", "borrower", "whale"] {
            let wallet = devnet().await.wallet(name).address;
            api.until(&format!("/api/v2/score/address/{wallet}"), |answer| answer.status == 200).await;
        }
        let views = json!([
            with_steps(
                view("card", "#/models/card/credit/1.1", "text=Make the pack"),
                json!([{ "save": ["pack", "text=Make the pack"] }, { "wait": "button:has-text('Make the pack')" }]),
            ),
            view("drift", "#/models/evidence", "h2:has-text('Drift of inputs') ~ section table"),
        ]);
        let seen = tour(service.base(), KEY, &ALL_MODES, views).await;
        assert_eq!(seen.findings, [] as [&str; 0]);
        // A tar archive begins with the name of its first file, and names its form.
        let pack = &seen.texts["pack"];
        for part in ["ustar", "component.wasm", "audit.json", "drift.json", "replay.jsonl"] {
            assert!(pack.contains(part), "{part}: {:?}", pack.chars().take(400).collect::<String>());
        }
        let drift = api.get("/api/v2/admin/models/drift").await.ok();
        let week = &drift["models"][0]["weeks"][0];
        assert_eq!((&week["segment"], &week["wallets"]), (&json!("all"), &json!(3)), "{drift}");
        let says = |text: &str| assert!(seen.texts["drift"].contains(text), "{text}: {}", seen.texts["drift"]);
        for text in ["1.1, champion", "All, 3", "A week is compared if it has 500 wallets"] {
            says(text);
        }
        let inputs = week["inputs"].as_array().unwrap();
        assert!(inputs.len() > 3 && inputs.iter().all(|input| input["drift"].is_null()), "too few wallets: {week}");
        inputs.iter().for_each(|input| says(input["name"].as_str().unwrap()));
    });
}
