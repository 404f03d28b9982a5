//! Look up: one wallet, what a lender decides by, and lists of wallets.

use super::*;

#[test]
fn a_look_up_on_chains_says_what_is_provisional_and_why() {
    run(async {
        let dead = "[[chains]]\nid = 10\nname = \"Optimism\"\nrpc = [\"http://127.0.0.1:1\"]\n";
        let service = on_devnet(&plugins(), dead).await;
        let wallet = devnet().await.wallet("liquidated").address;
        let views = json!([
            with_steps(
                view("look-up", &format!("#/look-up/{wallet}"), ".points"),
                json!([{ "click": ".unread summary" }])
            ),
            view("compare", &format!("#/compare/{wallet}?versions=1.1,1.0,9.9"), "table"),
        ]);
        let seen = tour(service.base(), KEY, &ALL_MODES, views).await;
        assert_eq!(seen.findings, [] as [&str; 0]);
        let report = service.keyed().get(&format!("/api/v2/report/address/{wallet}")).await.ok();
        let says = |view: &str, text: &str| assert!(seen.texts[view].contains(text), "{view}: {}", seen.texts[view]);
        says("look-up", "Provisional.");
        for unread in report["unread"].as_array().expect("a list") {
            says("look-up", unread.as_str().unwrap());
        }
        says("look-up", "Repayment History");
        says("compare", "no credit model 9.9 is loaded");
        says("compare", "not in this version");
    });
}

#[test]
fn the_score_over_time_is_read_and_drawn_when_somebody_asks_for_it() {
    run(async {
        let service = crate::released_on_devnet().await;
        let wallet = devnet().await.wallet("liquidated-serially").address;
        let steps = json!([{ "click": "#over-time summary" }, { "click": "#course" }, { "wait": ".course svg" }]);
        let views = json!([with_steps(view("look-up", &format!("#/look-up/{wallet}"), "#over-time"), steps)]);
        let seen = tour(service.base(), KEY, &ALL_MODES, views).await;
        assert_eq!(seen.findings, [] as [&str; 0]);
        for text in ["Score over time", "The score by credit 1.1 every 30 days", "What changed it"] {
            assert!(seen.texts["look-up"].contains(text), "{text}: {}", seen.texts["look-up"]);
        }
    });
}

/// As the console writes dollars.
pub(super) fn dollars(value: &Value) -> String {
    let cents = (value.as_f64().expect("an amount") * 100.0).round() as u64;
    let digits = (cents / 100).to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).expect("digits")).collect();
    format!("${}.{:02}", groups.join(","), cents % 100)
}

#[test]
fn a_lender_is_answered_by_the_head_of_the_look_up() {
    run(async {
        let (devnet, service) = (devnet().await, crate::released_on_devnet().await);
        let api = service.keyed();
        let names = [
            "borrower",
            "whale",
            "saver",
            "liquidated",
            "liquidated-recently",
            "liquidated-serially",
            "newcomer",
            "ordinary-one",
        ];
        let head = |name: &str| {
            let steps = json!([
                { "text": [format!("{name} head"), ".decision"] },
                { "count": [format!("{name} marks"), ".timeline .event"] },
            ]);
            with_steps(view(name, &format!("#/look-up/{}", devnet.wallet(name).address), ".points"), steps)
        };
        let seen = tour(service.base(), KEY, &["desk"], names.map(head).to_vec().into()).await;
        assert_eq!(seen.findings, [] as [&str; 0]);
        assert!(seen.heights["borrower"] <= 1_800, "{}", seen.heights["borrower"]);
        for name in names {
            let address = devnet.wallet(name).address;
            let score = api.get(&format!("/api/v2/score/address/{address}")).await.ok();
            let report = api.get(&format!("/api/v2/report/address/{address}")).await.ok();
            let (events, defi) = (&report["credit_events"], &report["defi"]);
            let last = events["last_liquidation_at"].as_str().map_or("never", |time| &time[..10]);
            let better = match score["decile"].as_u64().unwrap() {
                1 => "In the lowest tenth of wallets".to_owned(),
                decile => format!("Better than {} of 10 wallets", decile - 1),
            };
            let others = format!("{} lenders not read", events["not_covered"].as_array().unwrap().len());
            let coverage = format!("{}\n", events["coverage"].as_str().unwrap());
            let text = &seen.texts[&format!("{name} head")];
            for answer in [
                score["score"].to_string(),
                better,
                dollars(&defi["total_borrowed"]),
                dollars(&defi["total_supplied"]),
                format!("Last liquidation\n{last}"),
                format!("Lending history\n{coverage}"),
                others,
                "This model claims no probability".to_owned(),
            ] {
                assert!(text.contains(&answer), "{name}: {answer} is not in {text}");
            }
            let owing = events["positions"].as_array().unwrap().iter().any(|one| one["health_factor"].is_f64());
            assert_eq!(text.contains("health factor"), owing, "{name}: {text}");
            let kinds = ["borrow", "repay", "liquidation"].map(Value::from);
            let drawn = events["events"].as_array().unwrap().iter().filter(|one| kinds.contains(&one["kind"])).count();
            assert_eq!(seen.texts[&format!("{name} marks")], drawn.to_string(), "{name}: a mark for each event");
        }
    });
}

#[test]
fn a_wallet_without_activity_is_no_error() {
    run(async {
        let service = crate::released_on_devnet().await;
        let empty = devnet().await.wallet("empty").address;
        let steps = json!([{ "count": ["errors", "[role=alert]"] }]);
        let views = json!([with_steps(view("empty", &format!("#/look-up/{empty}"), ".decision"), steps)]);
        let seen = tour(service.base(), KEY, &["light"], views).await;
        assert_eq!((seen.findings.len(), seen.texts["errors"].as_str()), (0, "0"), "{:?}", seen.findings);
        assert!(seen.texts["empty"].contains("No activity. This wallet shows none"), "{}", seen.texts["empty"]);
    });
}

#[test]
fn a_first_reading_is_muted_and_asked_about_until_it_is_complete() {
    run(async {
        let service = sandbox();
        let api = service.keyed();
        let scenarios = api.get("/api/v2/sandbox/scenarios").await.ok();
        let pending = scenarios["scenarios"].as_array().unwrap().iter().find(|one| one["id"] == "pending").unwrap();
        // The page asks again after a few seconds.
        let before = json!([{ "keep": ["first", ".decision:has(.muted)"] }]);
        let steps = json!([{ "kept": "first" }, { "text": ["last", ".decision:not(:has(.muted))"] }]);
        let hash = format!("#/look-up/{}", pending["address"].as_str().unwrap());
        let views = json!([
            with_steps(view("search", "#/look-up", "#address"), before),
            with_steps(view("pending", &hash, "body"), steps)
        ]);
        let seen = tour(service.base(), KEY, &["light"], views).await;
        assert_eq!(seen.findings, [] as [&str; 0]);
        let (first, last) = (&seen.texts["first"], &seen.texts["last"]);
        assert!(first.contains("markets read. This page asks again by itself."), "{first}");
        assert!(!last.contains("provisional") && last.contains("complete"), "{last}");
    });
}

#[test]
fn a_list_of_wallets_is_scored_and_nothing_is_cut_off_on_any_screen() {
    run(async {
        let service = sandbox();
        let four = "0x0000000000000000000000000000000000000004";
        let folder = tempfile::tempdir().expect("a temporary folder");
        let table = folder.path().join("wallets.csv");
        std::fs::write(&table, format!("id,wallet\n1,{four}\n2,0x12\n3,{ONE}\n")).expect("a file");
        let steps = json!([
            { "fill": ["#list", format!("name;wallet\nann;{ONE}\nben;{four}\n{ONE}\n0x123456 ann@bank.eth")] },
            { "wait": "text=2 wallets found" }, { "wait": "text=no wallet: 0x123456, ann@bank.eth" },
            { "click": "form button.main" }, { "wait": ".scores tbody tr + tr" },
            { "text": ["sorted", ".scores tbody"] }, { "click": ".scores th:nth-child(2) button" },
            { "text": ["turned", ".scores tbody"] },
        ]);
        let of_table = json!([
            { "upload": ["#table", table] }, { "click": "text=Score the table" }, { "wait": ".scores tbody tr + tr" },
            { "text": ["job", ".facts"] }, { "save": ["saved", "text=Save as CSV"] },
        ]);
        let removed = json!([{ "click": "th a" }, { "click": "text=Remove" }, { "wait": "#list" }]);
        let views = json!([
            with_steps(view("several", "#/several", "#list"), steps),
            with_steps(view("table", "#/several", "#table"), of_table),
            with_steps(view("jobs", "#/several", "tbody tr + tr"), removed),
            with_steps(
                view("search", "#/look-up", "#address"),
                json!([{ "press": "/" }, { "wait": "#address:focus" }])
            ),
            with_steps(view("look-up", &format!("#/look-up/{ONE}"), ".factors"), json!([{ "print": "printed" }])),
            view("compare", "#/compare", "fieldset label"),
            view("shelf", "#/models/shelf", ".models"),
            view("check", "#/models/check", "#file"),
            view("agents", "#/agents", "tbody tr"),
            view("agent", "#/agents/5", "form"),
            view("keys", "#/keys", "section + section tbody tr"),
        ]);
        let seen = tour(service.base(), KEY, &ALL_SIZES, views).await;
        assert_eq!(seen.findings, [] as [&str; 0]);
        let (sorted, turned) = (&seen.texts["sorted"], &seen.texts["turned"]);
        assert!(sorted.starts_with(ONE) && turned.starts_with(four), "{sorted} {turned}");
        assert_eq!(sorted.matches("0x").count(), 2, "each once: {sorted}");
        let job = &seen.texts["job"];
        assert!(job.contains("3 of 3") && job.contains("no address or name") && job.contains("wallet"), "{job}");
        let saved: Vec<&str> = seen.texts["saved"].lines().collect();
        assert!(
            saved.len() == 4 && saved[0].starts_with("id,wallet,status,reason,resolved_address,score"),
            "{saved:?}"
        );
        let score = service.keyed().get(&format!("/api/v2/score/address/{ONE}")).await.ok()["score"].to_string();
        assert!(saved[3].starts_with(&format!("3,{ONE},found,,{ONE},{score},")), "{saved:?}");
        let printed = &seen.texts["printed"];
        assert!(printed.contains(&score) && !printed.contains("Sign out") && !printed.contains("JSON"), "{printed}");
    });
}

#[test]
fn what_is_not_loaded_is_hatched_what_others_owe_is_said_and_a_print_is_complete() {
    run(async {
        let (devnet, service) = (devnet().await, crate::released_on_devnet().await);
        let look_up = |name: &str, steps: Value| {
            with_steps(view(name, &format!("#/look-up/{}", devnet.wallet(name).address), ".points"), steps)
        };
        let views = json!([
            look_up("busy", json!([{ "count": ["hatched", ".timeline .unknown"] }])),
            look_up("borrower", json!([{ "count": ["whole", ".timeline .unknown"] }, { "print": "printed" }])),
            look_up("delegate", json!([{ "text": ["owes", ".answers"] }])),
        ]);
        let seen = tour(service.base(), KEY, &["desk"], views).await;
        assert_eq!(seen.findings, [] as [&str; 0]);
        assert_eq!((seen.texts["hatched"].as_str(), seen.texts["whole"].as_str()), ("1", "0"));
        assert!(seen.texts["busy"].contains("not loaded"), "{}", seen.texts["busy"]);
        assert!(seen.texts["owes"].contains("drew $10,000.00 that others owe"), "{}", seen.texts["owes"]);
        let report = format!("/api/v2/report/address/{}", devnet.wallet("borrower").address);
        let report = service.keyed().get(&report).await.ok();
        let printed = &seen.texts["printed"];
        for token in report["assets"]["tokens"].as_array().expect("a list") {
            assert!(printed.contains(token["name"].as_str().expect("a name")), "{token}: {printed}");
        }
        let host = service.base().trim_start_matches("http://");
        for text in [host, "Lenders that are not read", "WETH", "The 2 markets"] {
            assert_eq!(printed.contains(text), text != "The 2 markets", "{text}: {printed}");
        }
    });
}
