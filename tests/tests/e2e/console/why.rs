//! Why a score is what it is, and what would change it.

use std::path::Path;

use assay_tests::service::binary;

use super::*;
use crate::statements;

/// 1.4 in the place of the champion: its score follows the position.
async fn with_positions_scored(shelf: &Path) -> Service {
    let service = on_devnet(shelf, "").await;
    let forced = json!({ "version": "1.4", "force": true, "why": "its score follows the position" });
    service.keyed().put("/api/v2/admin/models/credit/champion", &forced).await.ok();
    service
}

#[test]
fn a_look_up_says_why_what_would_help_and_what_would_be() {
    run(async {
        let shelf = shelf_copy();
        let service = with_positions_scored(shelf.path()).await;
        let wallet = devnet().await.wallet("leveraged").address;
        let ask = format!("/api/v2/score/address/{wallet}?include_reasons=true&include_changes=true");
        let score = service.keyed().get(&ask).await.ok();
        let steps = json!([
            { "click": "#applicant summary" }, { "click": "button.fold" }, { "text": ["assets", "tr.more"] },
            { "text": ["changes", ".changes table"] },
            { "click": "#what-if summary" }, { "fill": ["#repay", "5000"] }, { "click": ".tries button" },
            { "wait": "#what-if .outcome" }, { "text": ["then", "#what-if .outcome"] },
        ]);
        let views = json!([with_steps(view("look-up", &format!("#/look-up/{wallet}"), ".factors"), steps)]);
        let seen = tour(service.base(), KEY, &ALL_SIZES, views).await;
        assert_eq!(seen.findings, [] as [&str; 0]);
        let says = |view: &str, text: &str| assert!(seen.texts[view].contains(text), "{view}: {}", seen.texts[view]);
        for reason in score["reasons"].as_array().unwrap() {
            for words in ["text", "applicant_text", "code"] {
                says("look-up", reason[words].as_str().unwrap());
            }
        }
        for text in ["Aave v3 Core on Ethereum", "Such wallets: that owe at least $100"] {
            says("look-up", text);
        }
        assert!(!seen.texts["look-up"].contains("lenderA_v3"), "{}", seen.texts["look-up"]);
        for text in ["WETH", "collateral", "85 %", "below $"] {
            says("assets", text);
        }
        let (repaid, fall) = (&score["changes"]["raise"][0], &score["changes"]["lower"]);
        assert_eq!((&repaid["reaches"], &fall["reaches"]), (&json!(true), &json!(true)), "{score}");
        let cents = (repaid["change"]["repay"]["usd"].as_f64().unwrap() * 100.0).round();
        says("changes", &format!("Repay {} to Aave v3", look_up::dollars(&json!(cents / 100.0))));
        says("changes", &repaid["score"].to_string());
        says("changes", "Waiting does not reach");
        says("changes", &format!("falls by {} %", -fall["change"]["price"]["percent"].as_f64().unwrap()));
        let what_if = format!("/api/v2/score/address/{wallet}/what-if");
        let asked = json!({ "changes": [{ "repay": { "market": "1/lenderA_v3/Core", "usd": 5000 } }] });
        let then = service.keyed().post(&what_if, &asked).await.ok();
        says("then", &format!("Score then\n{}", then["score"]));
        says("then", &look_up::dollars(&then["liquidation_prices"][0]["liquidation_price_usd"]));
        says("then", "can be liquidated");
    });
}

#[test]
fn a_statement_is_signed_saved_and_verified_by_the_line_that_is_shown() {
    run(async {
        let more = statements::signing(statements::ATTESTER, 8453, statements::PREDEPLOY);
        let service = on_devnet(&plugins(), &more).await;
        let wallet = devnet().await.wallet("borrower").address;
        let steps = json!([
            { "click": "#statement summary" }, { "click": "#sign" }, { "wait": "#statement pre" },
            { "text": ["line", "#statement pre"] }, { "save": ["statement.json", "text=Save statement.json"] },
            { "save": ["evidence.json", "text=Save evidence.json"] },
        ]);
        let views = json!([with_steps(view("look-up", &format!("#/look-up/{wallet}"), ".factors"), steps)]);
        let seen = tour(service.base(), KEY, &["light"], views).await;
        assert_eq!(seen.findings, [] as [&str; 0]);
        let folder = tempfile::tempdir().expect("a folder");
        for file in ["statement.json", "evidence.json"] {
            fs::write(folder.path().join(file), &seen.texts[file]).expect("a file");
        }
        let mut words = seen.texts["line"].split_whitespace();
        assert_eq!(words.next(), Some("assay"), "{}", seen.texts["line"]);
        let verified = Command::new(binary()).args(words).current_dir(folder.path()).output().await.expect("assay");
        let said = String::from_utf8_lossy(&verified.stdout);
        assert!(verified.status.success() && said.contains("evidence   agrees"), "{said}");
    });
}
