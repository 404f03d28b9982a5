//! The reasons in the evidence of a statement, and that `assay verify` computes them again.

use assay_tests::service::{Service, plugins};
use serde_json::{Value, json};

use super::{ATTESTER, Filed, PREDEPLOY, ask, signing};
use crate::{configured, devnet, run};

#[test]
fn the_reasons_of_evidence_are_recomputed() {
    run(async {
        let config = configured(&plugins(), &signing(ATTESTER, 8453, PREDEPLOY)).await;
        let public = config.replacen("[models]", "[models]\npublic = true", 1);
        let service = Service::start(&public);
        let api = service.keyed();
        let wallet = devnet().await.wallet("liquidated-serially").address;
        let statement = ask(&api, wallet, "1.4").await.ok();
        let plain = Filed::made(&api, statement.clone()).await;
        assert_eq!(plain.evidence.get("reasons"), None, "only where they are asked for");
        let path = format!("{}?include_reasons=true", statement["evidence"].as_str().unwrap());
        let evidence = api.get(&path).await.ok();
        let score = format!("/api/v2/score/address/{wallet}?model_version=1.4&include_reasons=true");
        let score = api.get(&score).await.ok();
        assert_eq!(evidence["reasons"], score["reasons"], "{evidence}");
        assert_eq!(evidence["reason_codes"], "card");
        assert!(!evidence["reasons"].as_array().unwrap().is_empty(), "{evidence}");

        let words = |evidence: &Value| {
            plain.write("evidence", evidence);
            let verified = plain.verify(&[]);
            (verified.code, verified.step("model")[0].1.clone())
        };
        // Without the card, only the points can be compared.
        let (code, said) = words(&evidence);
        assert!(code == 0 && said.contains("of a card that is not in cards/"), "{code} {said}");
        std::fs::create_dir(plain.path("cards")).unwrap();
        std::fs::copy(plugins().join("cards/credit-1.4.toml"), plain.path("cards/credit-1.4.toml")).unwrap();
        let (code, said) = words(&evidence);
        assert!(code == 0 && said.contains("the same"), "{code} {said}");
        for (field, value) in [
            ("/reasons/0/code", json!("KIND")),
            ("/reasons/0/points_lost", json!(1)),
            ("/reasons/0/applicant_text", json!("Nothing.")),
        ] {
            let mut changed = evidence.clone();
            *changed.pointer_mut(field).unwrap() = value;
            let (code, said) = words(&changed);
            assert_eq!((code, said.as_str()), (15, "the model gives other reasons than the evidence"), "{field}");
        }
    });
}
