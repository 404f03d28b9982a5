//! Watches in the console: made on Look up, followed, tested and paused.

use super::*;

#[test]
fn a_wallet_is_watched_from_its_look_up() {
    run(async {
        let service = crate::released_on_devnet().await;
        let wallet = devnet().await.wallet("leveraged").address;
        let make = json!([
            { "click": "text=Watch this wallet" }, { "wait": "#health" }, { "fill": ["#health", "1.5"] },
            { "fill": ["#url", "https://lender.invalid/hooks"] }, { "click": "form.stack button.main" },
            { "wait": ".secret" }, { "text": ["secret", ".secret code"] }, { "click": "text=Open the watch" },
            { "wait": "td:has-text('Aave v3')" }, { "wait": "tr:has-text('confirmation')" },
            { "text": ["values", "table"] }, { "click": "button:text-is('Test')" },
            { "wait": "tr:has-text('test')" }, { "click": "button:text-is('Pause')" },
            { "wait": ".mark:text-is('paused')" },
        ]);
        let views = json!([
            with_steps(view("watch", &format!("#/look-up/{wallet}"), ".factors"), make),
            view("list", "#/watches", "tbody tr"),
        ]);
        let seen = tour(service.base(), KEY, &["light"], views).await;
        assert_eq!(seen.findings, [] as [&str; 0]);
        let watches = service.keyed().get("/api/v2/watches").await.ok();
        let watch = &watches["watches"][0];
        assert_eq!((&watch["subject"], &watch["state"]), (&json!(wallet.to_string()), &json!("paused")), "{watches}");
        assert!(seen.texts["secret"].starts_with("whsec_"), "{}", seen.texts["secret"]);
        for text in ["health factor below 1.5", "Aave v3 on Ethereum", "liquidations"] {
            assert!(seen.texts["values"].contains(text), "{text}: {}", seen.texts["values"]);
        }
        for text in ["paused", "unconfirmed", "health factor below 1.5"] {
            assert!(seen.texts["list"].contains(text), "{text}: {}", seen.texts["list"]);
        }
        assert!(!seen.texts["list"].contains(seen.texts["secret"].trim()), "it is shown once");
    });
}
