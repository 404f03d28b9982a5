//! The console in a real browser, and the pages that lead to it.

mod governed;
mod look_up;
mod search;
mod watches;
mod why;

use std::{collections::BTreeMap, fs, process::Stdio};

use assay_tests::{
    browser::{ALL_MODES, ALL_SIZES, tour},
    hostile::{Credit, IN_PRODUCTION, act},
    packages,
    service::{KEY, Service, answer, plugins, sandbox_config, shelf_copy},
    until,
};
use reqwest::{Method, StatusCode, header};
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt, process::Command};

use crate::{
    agents::{OFTEN, World, inline, until},
    devnet, on_devnet, run,
    shadow::ALWAYS,
};

/// Opens the changes of a model on the shelf.
const ROLE: &str = "summary[aria-label='Change role of credit 1.0']";

const ONE: &str = "0x0000000000000000000000000000000000000001";

/// A server that answers production paths from the generator, with a key for each scope alone.
fn sandbox() -> Service {
    let keys: String = ["read", "submit", "admin"]
        .map(|scope| {
            format!(
                "[[access.keys]]\nname = \"only-{scope}\"\nkey = \"only-to-{scope}\"\nscopes = [\"{scope}\"]\nunits = \
                 100\n"
            )
        })
        .concat();
    let dir = tempfile::tempdir().expect("a temporary folder");
    Service::start_in(dir, &format!("{}{keys}", sandbox_config(&plugins())), &["--sandbox"])
}

/// A view by its address and what shows that it is there.
fn view(name: &str, hash: &str, wait: &str) -> Value {
    json!({ "name": name, "hash": hash, "wait": wait })
}

fn with_steps(mut view: Value, steps: Value) -> Value {
    view["steps"] = steps;
    view
}

#[test]
fn every_view_is_accessible_light_dark_and_narrow() {
    run(async {
        let service = sandbox();
        let look_up = with_steps(
            view("look-up", &format!("#/look-up/{ONE}"), ".factors"),
            json!([
                { "click": "#identity summary" }, { "click": "#off-chain summary" }, { "click": "#boost" },
                { "press": "End" }, { "wait": ".boost b" },
            ]),
        );
        let views = json!([
            look_up,
            with_steps(
                view("not-found", "#/look-up/nonsense", "[role=alert]"),
                json!([{ "count": ["errors", "[role=alert]"] }])
            ),
            view("recent", "#/look-up", ".plain li"),
            view("watches", "#/watches", "main p"),
            view("new-watch", &format!("#/watches/new?address={ONE}"), "#url"),
            view("several", "#/several", "#list"),
            view("compare", "#/compare", "fieldset label"),
            view("shelf", "#/models/shelf", ".models"),
            view("card", "#/models/card/credit/1.3", ".prose h2"),
            view("no-card", "#/models/card/sybil/1.0", "[role=alert]"),
            view("evidence", "#/models/evidence", "details.raw"),
            view("split", "#/models/split", "section"),
            view("check", "#/models/check", "#file"),
            view("audit", "#/models/audit", "tbody tr"),
            view("agents", "#/agents", "tbody tr"),
            view("found", "#/agents?q=lender", "tbody tr"),
            view("agent", "#/agents/5", "form"),
            view("submissions", "#/submissions", "main p"),
            view("status", "#/status", ".facts"),
            view("keys", "#/keys", "section + section tbody tr"),
            view("nowhere", "#/nowhere", "h1"),
        ]);
        let seen = tour(service.base(), KEY, &ALL_MODES, views).await;
        assert_eq!(seen.findings, [] as [&str; 0]);
        let says = |view: &str, text: &str| assert!(seen.texts[view].contains(text), "{view}: {}", seen.texts[view]);
        let score = service.keyed().get(&format!("/api/v2/score/address/{ONE}")).await.ok()["score"].to_string();
        says("look-up", &score);
        says("look-up", "With them the score is");
        says("look-up", "Sandbox. This server answers mock figures");
        says("not-found", "Invalid Ethereum address format");
        assert_eq!(seen.texts["errors"], "1", "score and report fail for one reason");
        says("recent", ONE);
        let card = answer(service.keyed().request(Method::GET, "/api/v2/models/credit/1.3/card")).await.text;
        for line in card.lines().filter(|line| line.starts_with("## ")) {
            says("card", &line[3..]);
        }
        assert!(!seen.texts["card"].contains("##") && !seen.texts["card"].contains("|---"), "it is no plain text");
        says("no-card", "has no card");
        says("shelf", "Five factors, with repayment history");
        says("evidence", "Nothing was scored in the shadow");
        says("split", "answers every wallet");
        says("watches", "0 watches of your key");
        says("agents", "120 agents in the registry");
        says("found", "Lender");
        for key in ["test", "only-read", "only-submit", "only-admin"] {
            says("keys", key);
        }
        says("submissions", "0 submissions of your key");
        says("status", "This server reads no chain");
        for text in ["Gas at risk", "Transfers of accounts", "$0.50", "A loss returns evenly within 60 min"] {
            says("status", text);
        }
    });
}

#[test]
fn a_key_is_shown_what_its_scopes_may_do() {
    run(async {
        let service = sandbox();
        let start = || json!([view("start", "#/", "h1"), view("look-up", &format!("#/look-up/{ONE}"), "h1")]);
        for (key, shown, hidden, denied) in [
            ("only-to-read", ["Look up", "Compare"], "Check a file", false),
            ("only-to-submit", ["Agents", "Keys and limits"], "Compare", true),
            ("only-to-admin", ["Models", "Audit log"], "Compare", true),
        ] {
            let seen = tour(service.base(), key, &["light"], start()).await;
            assert_eq!(seen.findings, [] as [&str; 0], "{key}");
            let text = &seen.texts["start"];
            assert!(shown.iter().all(|name| text.contains(name)) && !text.contains(hidden), "{key}: {text}");
            assert_eq!(seen.texts["look-up"].contains("it needs the scope read"), denied, "{key}");
        }
    });
}

/// 24,000, or 300 where the test is to be quick.
fn crowd() -> usize {
    if std::env::var_os("ASSAY_SOAK").is_some() { 24_000 } else { 300 }
}

#[test]
fn a_server_without_anything_is_shown_and_one_with_thousands_of_agents() {
    run(async {
        let mut world = World::start().await;
        let (shelf, shipped) = (tempfile::tempdir().unwrap(), plugins());
        let config = world.config(world.chain.url(), OFTEN, "");
        let config = config.replace(&shipped.display().to_string(), &shelf.path().display().to_string());
        let service = Service::start(&config);
        until(&service.keyed(), "/api/v2/agents/", |list| list["total"] == 0).await;
        let nothing = json!([
            view("agents", "#/agents", "main p"),
            view("look-up", &format!("#/look-up/{ONE}"), "[role=alert]"),
            view("shelf", "#/models/shelf", "main p"),
            view("evidence", "#/models/evidence", "main p"),
        ]);
        let seen = tour(service.base(), KEY, &ALL_MODES, nothing).await;
        assert_eq!(seen.findings, [] as [&str; 0]);
        let says = |texts: &BTreeMap<String, String>, view: &str, text: &str| {
            assert!(texts[view].contains(text), "{view}: {}", texts[view]);
        };
        says(&seen.texts, "agents", "0 agents in the registry");
        says(&seen.texts, "look-up", "No credit model is in service");
        says(&seen.texts, "shelf", "The shelf is empty. No score can be computed.");
        says(&seen.texts, "evidence", "Nothing was scored in the shadow");

        let many: Vec<String> = (0..crowd()).map(|n| inline(&format!("Agent {n}"), "One of many")).collect();
        world.register("owner", &many).await;
        world.settle().await;
        until(&service.keyed(), "/api/v2/agents/", |list| list["total"] == many.len()).await;
        let last = view("last", &format!("#/agents?page={}", many.len().div_ceil(20)), "tbody tr");
        let found = view("found", "#/agents?q=many&page=2", "tbody tr");
        let seen =
            tour(service.base(), KEY, &ALL_MODES, json!([view("first", "#/agents", "tbody tr"), found, last])).await;
        assert_eq!(seen.findings, [] as [&str; 0]);
        // The API has no agent 0, and its total is the count of the registry.
        let (all, seen_by_callers) = if many.len() > 300 { ("24,000", "23,999") } else { ("300", "299") };
        says(&seen.texts, "first", &format!("{all} agents in the registry"));
        says(&seen.texts, "last", &format!("{all} agents in the registry"));
        says(&seen.texts, "found", &format!("{seen_by_callers} agents match"));
    });
}

#[test]
fn a_submission_is_made_and_followed_to_its_end() {
    run(async {
        let service = sandbox();
        let steps = json!([
            { "fill": ["#subject", "somebody.eth"] }, { "keep": ["here", ".steps .here"] },
            { "click": "form.stack button" }, { "kept": "here" }, { "wait": ".mark.good" },
            { "wait": "section + details.raw" }, { "click": "section + details.raw summary" },
        ]);
        let views = json!([
            with_steps(view("submission", "#/agents/5", "#subject"), steps),
            view("list", "#/submissions", "tbody tr")
        ]);
        let seen = tour(service.base(), KEY, &["light"], views).await;
        assert_eq!(seen.findings, [] as [&str; 0]);
        let text = &seen.texts["submission"];
        for part in ["State: confirmed", "creditScore", "sybilRisk", "identityCount", "ipfs://", "clientAddress"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let list = &seen.texts["list"];
        assert!(list.contains("1 submission of your key") && list.contains("confirmed"), "{list}");
    });
}

#[test]
fn a_model_is_checked_added_promoted_and_rolled_back() {
    run(async {
        let shelf = shelf_copy();
        let file = shelf.path().join("credit-1.0.wasm");
        let upload = tempfile::tempdir().expect("a temporary folder");
        let (good, broken) = (upload.path().join("good.wasm"), upload.path().join("broken.wasm"));
        let bytes = std::fs::read(&file).expect("a component");
        std::fs::write(&good, &bytes).expect("a copy");
        std::fs::write(&broken, &bytes[..bytes.len() / 2]).expect("a part");
        std::fs::write(shelf.path().join("none.wasm"), "no model").expect("a file");
        let service = Service::sandbox(shelf.path());
        let change = |name: &str, open: &str, button: &str, after: &str| {
            let steps = json!([{ "click": open }, { "click": button }, { "fill": ["#why", "to see it"] },
                { "click": "dialog button.main" }, { "wait": after }]);
            with_steps(view(name, "#/models/shelf", ".models"), steps)
        };
        // The list is read again after the server's answer.
        let champion = |version: &str| {
            format!("section:has(h2:text-is('Credit scores')) li:has(.mark.main) b:text-is('{version}')")
        };
        let views = json!([
            with_steps(
                view("broken", "#/models/check", "#file"),
                json!([{ "upload": ["#file", broken] }, { "wait": ".problems" }])
            ),
            with_steps(
                view("good", "#/models/check", "#file"),
                json!([{ "upload": ["#file", good] }, { "wait": ".card .mark.good" }, { "click": "p > button.main" },
                    { "wait": ".note.good" }])
            ),
            view("shelf", "#/models/shelf", ".models"),
            change("promoted", ROLE, "button[aria-label='Promote credit 1.0']", &champion("1.0")),
            with_steps(
                view("undone", "#/models/shelf", ".models"),
                json!([
                    { "text": ["happened", "dialog"] }, { "click": "dialog button:has-text('Undo')" },
                    { "wait": "dialog >> text=credit 1.1 is the champion" }, { "text": ["undo", "dialog"] },
                    { "click": "dialog button.main" },
                ])
            ),
            change("again", ROLE, "button[aria-label='Promote credit 1.0']", &champion("1.0")),
            with_steps(view("closed", "#/models/shelf", ".models"), json!([{ "click": "dialog button.main" }])),
            change("rolled-back", "h1", "text=Roll credit back to 1.1", &champion("1.1")),
            with_steps(view("end", "#/models/shelf", ".models"), json!([{ "click": "dialog button.main" }])),
            view("audit", "#/models/audit", "tbody tr"),
        ]);
        let seen = tour(service.base(), KEY, &["light"], views).await;
        assert_eq!(seen.findings, [] as [&str; 0]);
        let says = |view: &str, text: &str| assert!(seen.texts[view].contains(text), "{view}: {}", seen.texts[view]);
        let api = service.keyed();
        let checked = api.post_bytes("/api/v2/admin/models/check", std::fs::read(&broken).unwrap()).await.ok();
        says("broken", "would be refused");
        says("broken", checked["problems"][0]["message"].as_str().unwrap());
        says("good", "credit 1.0 is on the shelf");
        says("shelf", "this is not WebAssembly");
        let audit = api.get("/api/v2/admin/audit?limit=5").await.ok();
        let actions: Vec<_> = audit["entries"].as_array().unwrap().iter().map(|entry| &entry["action"]).collect();
        assert_eq!(actions, ["rollback", "promote", "rollback", "promote", "stage"]);
        assert_eq!(audit["entries"][3]["why"], "to see it");
        assert_eq!(audit["entries"][2]["why"], "undoes the promotion of 1.0");
        says("happened", "credit 1.0 is the champion");
        says("happened", "Undo: 1.1 answers again");
        says("undo", "credit 1.1 is the champion");
        assert!(!seen.texts["undo"].contains("Undo:"), "{}", seen.texts["undo"]);
        // There is an earlier champion only after a promotion.
        for view in ["shelf", "end"] {
            assert!(!seen.texts[view].contains("Roll "), "{view}: {}", seen.texts[view]);
        }
        says("audit", "to see it");
    });
}

#[test]
fn evidence_shows_what_challengers_said_and_which_one_fails() {
    run(async {
        let shelf = shelf_copy();
        let service = on_devnet(shelf.path(), &format!("{ALWAYS}[promotion]\nmin_scores = 3\n")).await;
        let api = service.keyed();
        let trap = Credit::new("6.1").act_when(IN_PRODUCTION, act::TRAP).build();
        api.post_bytes("/api/v2/admin/models", trap).await.expect(201);
        api.put("/api/v2/admin/models/credit/challengers", &json!({ "versions": ["6.1", "1.0"] })).await.ok();
        let evidence = async || {
            for name in ["saver", "borrower", "liquidated"] {
                api.get(&format!("/api/v2/score/address/{}", devnet().await.wallet(name).address)).await.ok();
            }
            api.get("/api/v2/models/credit/report").await.ok()["pairs"].take()
        };
        let seen_by_both = |pairs: &Value| {
            let of = |version: &str| pairs.as_array()?.iter().find(|pair| pair["challenger"]["version"] == version);
            Some(of("1.0")?["scored"].as_u64()? > 5 && of("6.1")?["failed"] == 3)
        };
        until::until(evidence, |pairs| seen_by_both(pairs) == Some(true)).await;
        let views = json!([
            view("evidence", "#/models/evidence", "figure"),
            with_steps(
                view("shelf", "#/models/shelf", ".mark.bad"),
                json!([
                    { "click": ROLE }, { "click": "button[aria-label='Promote credit 1.0']" },
                    { "wait": "dialog:has-text('Bounds of promotion')" },
                    { "text": ["promotion", "dialog"] }, { "click": "dialog button:has-text('Cancel')" },
                ])
            ),
        ]);
        let seen = tour(service.base(), KEY, &ALL_MODES, views).await;
        assert_eq!(seen.findings, [] as [&str; 0]);
        let says = |view: &str, text: &str| assert!(seen.texts[view].contains(text), "{view}: {}", seen.texts[view]);
        let kept = "3 scores of 3 wallets are kept";
        for text in ["1.0 against 1.1", "6.1 against 1.1", "trap 3 times", "Mean points by factor", "From \\ to", kept]
        {
            says("evidence", text);
        }
        let shown = ["Candidate\n1.0", "Champion\n1.1", "Wallets compared", "PSI", "Bounds of promotion", "From \\ to"];
        for text in shown.into_iter().chain(["Neither model claims a rate"]) {
            says("promotion", text);
        }
        let report = api.get("/api/v2/models/credit/report").await.ok();
        let pair =
            report["pairs"].as_array().unwrap().iter().find(|pair| pair["challenger"]["version"] == "1.0").unwrap();
        assert!(pair["bounds_apply"] == true && pair["bounds"].as_array().unwrap().len() == 4, "{pair}");
        for bound in pair["bounds"].as_array().unwrap() {
            let is_beyond = bound["value"].as_f64().is_some_and(|value| value > bound["most"].as_f64().unwrap());
            assert_eq!(bound["met"], !is_beyond, "{bound}");
        }
        let exceeded = pair["bounds"].as_array().unwrap().iter().filter(|bound| bound["met"] == false).count();
        assert_eq!(seen.texts["promotion"].matches("exceeded").count(), exceeded, "{}", seen.texts["promotion"]);
        let cells = seen.texts["promotion"].split(['\t', '\n']);
        assert_eq!(cells.filter(|cell| *cell == "met").count(), 4 - exceeded, "{}", seen.texts["promotion"]);
        for text in ["benched", "failed 3 times in a row"] {
            says("shelf", text);
        }
    });
}

/// The addresses of the files that a page names.
fn files(page: &str) -> Vec<&str> {
    ["href=\"", "src=\""]
        .iter()
        .flat_map(|mark| page.split(mark).skip(1))
        .filter_map(|rest| rest.split('"').next())
        .filter(|file| file.ends_with(".js") || file.ends_with(".css") || file.ends_with(".svg"))
        .collect()
}

#[tokio::test]
async fn the_console_is_kept_by_the_browser_and_runs_only_its_own_files() {
    let service = sandbox();
    let anyone = service.anonymous();
    let page = anyone.get("/console/").await;
    let policy = page.headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'self';") && !policy.contains("unsafe"), "{policy}");
    let tag = page.headers[header::ETAG].clone();
    let again = answer(anyone.request(Method::GET, "/console/").header(header::IF_NONE_MATCH, tag)).await;
    assert_eq!((again.status, again.text.as_str()), (StatusCode::NOT_MODIFIED, ""));
    let files = files(&page.text);
    assert_eq!(files.len(), 3, "{files:?}");
    for file in files {
        let kept = anyone.get(&format!("/console/{file}")).await;
        assert_eq!(
            (kept.status, &kept.headers[header::CACHE_CONTROL]),
            (StatusCode::OK, &"public, max-age=31536000, immutable".parse().unwrap())
        );
        // The file of another build is given, and not kept.
        let (build, name) = file.split_once('/').unwrap();
        let other = anyone.get(&format!("/console/{}/{name}", "0".repeat(build.len()))).await;
        assert_eq!((&other.text, &other.headers[header::CACHE_CONTROL]), (&kept.text, &"no-store".parse().unwrap()));
    }
    for missing in ["/console/x", "/console/x/none.js", "/console/x/../app.js", "/console/x/page.html"] {
        assert_eq!(anyone.get(missing).await.status, StatusCode::NOT_FOUND, "{missing}");
    }
    assert_eq!(anyone.get("/console").await.status, StatusCode::OK, "it leads to /console/");
}

#[tokio::test]
async fn the_first_page_is_for_browsers_and_for_programs() {
    let service = sandbox();
    let program = service.anonymous().get("/").await.ok();
    assert_eq!((&program["console"], &program["openapi"]), (&json!("console/"), &json!("openapi.json")));
    for (_, place) in
        program.as_object().unwrap().iter().filter(|(name, _)| !["name", "version"].contains(&name.as_str()))
    {
        let place = place.as_str().unwrap();
        assert_eq!(service.anonymous().get(&format!("/{place}")).await.status, StatusCode::OK, "{place}");
    }
    let accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    let browser = answer(service.anonymous().request(Method::GET, "/").header(header::ACCEPT, accept)).await;
    assert!(browser.headers[header::CONTENT_TYPE].to_str().unwrap().starts_with("text/html"));
    assert!(["console/", "docs/", "healthz"].iter().all(|place| browser.text.contains(&format!("href=\"{place}\""))));
}

#[tokio::test]
async fn an_admin_sees_every_key_and_nobody_its_text() {
    let service = sandbox();
    service.with_key("only-to-read").get("/api/v2/admin/keys").await.expect(403);
    let listed = service.keyed().get("/api/v2/admin/keys").await;
    let names: Vec<_> = listed.ok()["keys"].as_array().unwrap().iter().map(|key| key["name"].clone()).collect();
    assert_eq!(names, ["only-admin", "only-read", "only-submit", "test"].map(Value::from));
    assert!(!listed.text.contains("only-to-") && !listed.text.contains(KEY), "{}", listed.text);
}

#[tokio::test]
async fn the_documentation_shows_the_configured_address_and_signs_in_with_the_configured_key() {
    let address = "0xB81CAe10dEBf120889610E13A7F6649801b29B3f";
    let plain = Service::sandbox(&plugins());
    let filled =
        Service::start(&format!("{}\n[docs]\naddress = \"{address}\"\nkey = \"{KEY}\"\n", sandbox_config(&plugins())));
    for (service, is_filled) in [(&plain, false), (&filled, true)] {
        let document = service.anonymous().get("/openapi.json").await;
        let parameter = &document.ok()["paths"]["/api/v2/score/address/{address}"]["get"]["parameters"][0];
        assert_eq!(parameter["example"] == address, is_filled);
        assert_eq!(document.text.contains("0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"), !is_filled);
        let page = service.anonymous().get("/docs/").await;
        assert_eq!((page.status, page.text.contains(KEY)), (StatusCode::OK, is_filled));
        let policy = page.headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
        for rule in ["default-src 'none'", "script-src 'self';", "style-src 'self';", "frame-ancestors 'none'"] {
            assert!(policy.contains(rule), "{policy}");
        }
        assert_eq!(page.headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
        let life = if is_filled { "no-store" } else { "no-cache" };
        assert_eq!(page.headers[header::CACHE_CONTROL], life, "a page with a key is not kept");
    }
}

#[test]
fn keys_are_minted_and_revoked_in_the_console_and_shown_once() {
    run(async {
        let service = sandbox();
        let mint = json!([
            { "fill": ["#name", "lender"] }, { "click": "input[name=submit]" }, { "fill": ["#units", "50"] },
            { "click": "form button.main" }, { "wait": ".secret" }, { "text": ["secret", ".secret code"] },
            { "wait": "button[aria-label='Revoke lender']" },
        ]);
        let hide = json!([
            { "click": "text=I have kept it" }, { "wait": "section:not(:has(.secret)) form" },
            { "fill": ["#name", "lender"] }, { "click": "form button.main" }, { "wait": "[role=alert]" },
            { "text": ["taken", "[role=alert]"] },
        ]);
        let revoke = json!([
            { "click": "button[aria-label='Revoke lender']" }, { "wait": "dialog" }, { "text": ["asked", "dialog"] },
            { "click": "dialog button.main" }, { "wait": "section.stacked table:not(:has-text('lender'))" },
        ]);
        let views = json!([
            with_steps(view("minted", "#/keys", "#name"), mint),
            with_steps(view("hidden", "#/keys", "#name"), hide),
            with_steps(view("revoked", "#/keys", "#name"), revoke),
        ]);
        let seen = tour(service.base(), KEY, &["light"], views).await;
        assert_eq!(seen.findings, [] as [&str; 0]);
        let secret = seen.texts["secret"].trim();
        assert!(secret.starts_with("assay_") && secret.len() == 70, "{secret}");
        assert!(seen.texts["minted"].contains("is not shown again"));
        for view in ["hidden", "revoked"] {
            assert!(!seen.texts[view].contains(secret), "{view}");
        }
        assert!(seen.texts["taken"].contains("Another key is named lender"), "{}", seen.texts["taken"]);
        assert!(seen.texts["asked"].contains("Every host refuses it"), "{}", seen.texts["asked"]);
        service.with_key(secret).until("/api/v2/usage", |answer| answer.status == 401).await;
    });
}

#[test]
fn the_documentation_shows_every_operation_and_sends_a_request() {
    run(async {
        let service = sandbox();
        let try_it = json!([
            { "fill": ["#key", KEY] }, { "click": "#get_score summary" }, { "wait": "#get_score form" },
            { "fill": ["[id='get_score address']", ONE] }, { "click": "#get_score form button" },
            { "wait": "#get_score .outcome" }, { "text": ["outcome", "#get_score .outcome"] },
            { "click": "#mint_key summary" }, { "wait": "#mint_key textarea" },
            { "click": "#get_report summary" }, { "wait": "#get_report form" },
            { "count": ["operations", "details.operation"] },
        ]);
        let docs = json!([with_steps(json!({ "name": "docs", "page": "docs/", "wait": ".operation" }), try_it)]);
        let seen = tour(service.base(), KEY, &ALL_SIZES, docs).await;
        assert_eq!(seen.findings, [] as [&str; 0]);
        let document = service.anonymous().get("/openapi.json").await.ok();
        let items = document["paths"].as_object().unwrap().values().map(|item| item.as_object().unwrap().len());
        assert_eq!(seen.texts["operations"], items.sum::<usize>().to_string());
        let score = service.keyed().get(&format!("/api/v2/score/address/{ONE}")).await.ok()["score"].to_string();
        let outcome = &seen.texts["outcome"];
        assert!(outcome.contains("200") && outcome.contains(&format!("\"score\": {score}")), "{outcome}");
        assert!(outcome.contains("Bearer $KEY") && !outcome.contains(KEY), "the command names no key: {outcome}");
        let text = &seen.texts["docs"];
        for part in ["Example of 200", "Fields of 429", "needs an API key", "include_factors"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        // The look of the console, and nothing else: Swagger UI had a megabyte and a half.
        service.anonymous().get("/docs/swagger-ui-bundle.js").await.expect(404);
    });
}

#[tokio::test]
async fn the_scripts_are_checked_with_the_types_of_this_document() {
    let modules = tokio::task::spawn_blocking(packages::console_packages).await.expect("no panic").expect("packages");
    let folder = modules.parent().expect("the folder of the console");
    let document = sandbox().anonymous().get("/openapi.json").await.text;
    let mut node = Command::new("node");
    node.arg("check/generate.mjs").current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut node = node.spawn().expect("node");
    let mut stdin = node.stdin.take().expect("its input");
    stdin.write_all(document.as_bytes()).await.expect("the document is read");
    drop(stdin);
    let generated = node.wait_with_output().await.expect("an end").stdout;
    let committed = fs::read(folder.join("check/api.d.ts")).expect("the types");
    assert!(generated == committed, "the document has changed: assay openapi | npm --prefix host/console run generate");
}
