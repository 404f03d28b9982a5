//! The search of Look up, and the session that it is in.

use super::*;

#[test]
fn the_search_takes_what_people_paste() {
    run(async {
        let service = sandbox();
        let other = "0x0000000000000000000000000000000000000004";
        let bare = &ONE[2..];
        let pasted = [
            format!("eth:{ONE}"),
            bare.to_owned(),
            format!("https://etherscan.io/address/{ONE}#code"),
            format!("  {ONE} "),
        ];
        let search = |name: &str, text: &str, wait: &str| {
            let steps =
                json!([{ "fill": ["#address", text] }, { "press": "Enter" }, { "wait": wait }, { "wait": "h1" }]);
            with_steps(view(name, "#/look-up", "#address"), steps)
        };
        let subject = format!(".subject code:text-is('{ONE}')");
        let mut views: Vec<Value> = pasted.iter().map(|text| search(text, text, &subject)).collect();
        views.push(search("list", &format!("{ONE}, eth:{other}"), "text=2 wallets found"));
        views.push(with_steps(view("recent", "#/look-up", ".plain li"), json!([{ "count": ["rows", ".plain li"] }])));
        let seen = tour(service.base(), KEY, &["light"], views.into()).await;
        assert_eq!(seen.findings, [] as [&str; 0]);
        assert_eq!(seen.texts["rows"], "1", "one row for one wallet: {}", seen.texts["recent"]);
    });
}

#[test]
fn nothing_that_is_typed_after_a_slash_is_lost() {
    run(async {
        let service = sandbox();
        let from = |name: &str, hash: &str, wait: &str| {
            let typed = format!("/{ONE}");
            let steps = json!([
                { "click": "h1" }, { "type": typed }, { "press": "Enter" },
                { "wait": format!(".subject code:text-is('{ONE}')") },
            ]);
            with_steps(view(name, hash, wait), steps)
        };
        let views = json!([
            from("models", "#/models/shelf", ".models"),
            from("status", "#/status", ".facts"),
            from("keys", "#/keys", "section + section tbody tr"),
            from("several", "#/several", "#list"),
        ]);
        let seen = tour(service.base(), KEY, &["light"], views).await;
        assert_eq!(seen.findings, [] as [&str; 0]);
    });
}

#[test]
fn a_key_is_asked_once_for_all_tabs_and_stays_nowhere() {
    run(async {
        let service = sandbox();
        let hash = format!("#/look-up/{ONE}");
        let steps = json!([
            { "title": "title" }, { "tab": ["tab", hash, ".decision"] }, { "stored": "stored" },
            { "click": "header button" }, { "wait": "#key" }, { "tab": ["after", hash, "#key"] },
        ]);
        let views = json!([with_steps(view("look-up", &hash, ".factors"), steps)]);
        let seen = tour(service.base(), KEY, &["light"], views).await;
        assert_eq!(seen.findings, [] as [&str; 0]);
        let score = service.keyed().get(&format!("/api/v2/score/address/{ONE}")).await.ok()["score"].to_string();
        for part in [&ONE[..10], &score] {
            assert!(seen.texts["title"].contains(part), "{part}: {}", seen.texts["title"]);
        }
        assert!(seen.texts["tab"].contains(&score), "{}", seen.texts["tab"]);
        assert!(!seen.texts["stored"].contains(KEY), "{}", seen.texts["stored"]);
        assert!(seen.texts["after"].contains("Sign in"), "whoever signs out has left every tab");
    });
}

#[test]
fn a_name_without_an_address_is_said_to_have_none() {
    run(async {
        let service = crate::released_on_devnet().await;
        let views = json!([view("nobody", "#/look-up/nobody-here.eth", "[role=alert]")]);
        let seen = tour(service.base(), KEY, &["light"], views).await;
        assert_eq!(seen.findings, [] as [&str; 0]);
        assert!(seen.texts["nobody"].contains("nobody-here.eth does not resolve"), "{}", seen.texts["nobody"]);
    });
}
