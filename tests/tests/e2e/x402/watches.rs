//! Watches that payments buy: each once, without a key, managed by a token, and also after the server died in between.

use alloy::{primitives::U256, signers::local::PrivateKeySigner};
use assay_tests::{
    payment::{Order, Till, npm_client},
    receiver::{Consent, Receiver},
    service::{Answer, Caller, Service, answer},
    until::until,
};
use reqwest::{Method, header::ACCEPT};
use serde_json::{Value, json};

use super::receipt;
use crate::{reputation::subject, run, watches::delivery::allowing};

const PATH: &str = "/api/v2/watches";
/// Price of a watch for 30 days.
const PRICE: u64 = 70_000;
const SECRET: &str = "a secret of one payer 0001";

fn selling(till: &Till) -> String {
    format!(
        "{}[watches]\nmin_every_seconds = 1\n",
        till.config(till.world.chain.url(), &format!("watch_price = {PRICE}"))
    )
}

fn order(till: &Till, terms: u64) -> Order {
    let mut order = till.order();
    order.authorization.value = U256::from(PRICE * terms);
    order
}

fn body(n: usize) -> Value {
    json!({ "address": subject(n), "every_s": 1, "when": [{ "measure": "coverage", "below": "complete" }] })
}

fn in_days(days: i64) -> String {
    (chrono::Utc::now() + chrono::TimeDelta::days(days)).to_rfc3339()
}

/// Presents a payment until it is settled.
async fn buy(api: &Caller, body: &Value, header: &str, secret: &str) -> Answer {
    loop {
        let request = api.request(Method::POST, PATH).header("x-payment", header).header("idempotency-key", secret);
        let bought = answer(request.json(body)).await;
        if bought.status != 503 {
            return bought;
        }
        assert_eq!(bought.json()["code"], "settlement_pending", "{}", bought.text);
    }
}

fn path(bought: &Value) -> String {
    format!("{PATH}/{}", bought["watch"]["id"].as_str().expect("an id"))
}

fn token(bought: &Value) -> &str {
    bought["token"].as_str().expect("a token")
}

#[test]
fn a_payment_buys_one_watch_and_the_same_token_for_the_same_request() {
    run(async {
        let till = Till::start().await;
        let service = Service::start(&selling(&till));
        let api = service.anonymous();
        // Whoever asks for the price learns it, also for a longer term, and whatever is wrong.
        let longer = json!({ "until": in_days(45), "address": subject(1), "when": body(1)["when"] });
        for (asked, price) in [(&json!({}), PRICE), (&body(1), PRICE), (&longer, 2 * PRICE)] {
            let terms = api.post(PATH, asked).await.expect(402);
            assert_eq!(terms["accepts"][0]["maxAmountRequired"], price.to_string(), "{terms}");
        }
        let unfit = api.request(Method::POST, PATH).header("idempotency-key", "").json(&body(1));
        answer(unfit).await.expect(402);
        let header = order(&till, 1).header();
        let bare = answer(api.request(Method::POST, PATH).header("x-payment", &header).json(&body(1))).await;
        assert_eq!(bare.expect(400)["code"], "idempotency_key");
        buy(&api, &json!({ "address": subject(1) }), &header, SECRET).await.expect(422);
        let too_little = buy(&api, &longer, &header, SECRET).await.expect(402);
        assert_eq!(too_little["error"], "invalid_exact_evm_payload_authorization_value");
        assert_eq!(till.balance().await, 0);

        let bought = buy(&api, &body(1), &header, SECRET).await;
        assert_eq!(receipt(&bought)["success"], true);
        let bought = bought.expect(201);
        assert!(token(&bought).starts_with("watch_") && bought["secret"].as_str().is_some(), "{bought}");
        // A client that lost the answer gets it again, with the same payment or another one, which is not taken.
        for header in [&header, &order(&till, 1).header()] {
            let again = buy(&api, &body(1), header, SECRET).await.expect(201);
            assert_eq!((&again["token"], &again["secret"]), (&bought["token"], &bought["secret"]));
            assert_eq!(again["watch"]["id"], bought["watch"]["id"]);
        }
        // The payment is public now. Without the secret of its payer it buys nothing, and no other watch.
        for (body, secret) in [(body(1), "a secret of another one 2"), (body(2), SECRET)] {
            let refused = buy(&api, &body, &header, secret).await.expect(402);
            assert_eq!(refused["error"], "invalid_exact_evm_nonce_already_used");
        }
        assert_eq!((till.balance().await, till.transfers().await.len()), (PRICE, 1));
        // Without a price none is for sale.
        let silent = Service::start(&till.config(till.world.chain.url(), ""));
        assert_eq!(silent.anonymous().post(PATH, &body(1)).await.status, 401);
    });
}

#[test]
fn a_token_manages_its_watch_and_nothing_else() {
    run(async {
        let till = Till::start().await;
        let service = Service::start(&selling(&till));
        let mut bought = Vec::new();
        for n in 0..2 {
            let header = order(&till, 1).header();
            let secret = format!("a secret of payer number {n}");
            bought.push(buy(&service.anonymous(), &body(n), &header, &secret).await.expect(201));
        }
        let (mine, other) = (service.with_key(token(&bought[0])), service.with_key(token(&bought[1])));
        let path = path(&bought[0]);
        assert_eq!(mine.get(&path).await.ok()["id"], bought[0]["watch"]["id"]);
        assert_eq!(mine.post(&format!("{path}/test"), &json!({})).await.status, 202);
        let events = mine.until(&format!("{path}/events"), |answer| answer.text.contains("watch.test")).await.ok();
        let last = events["last"].as_u64().expect("a number");
        let replay = mine.post(&format!("{path}/replay"), &json!({ "from": last })).await.expect(409);
        assert_eq!(replay["code"], "no_receiver", "the watch has no URL");
        let request = mine.request(Method::GET, &format!("{path}/events")).header(ACCEPT, "text/event-stream");
        let mut stream = request.send().await.expect("the stream begins");
        let mut text = String::new();
        while !text.contains("event: watch.test") {
            let chunk = stream.chunk().await.expect("a part").expect("the stream goes on");
            text.push_str(&String::from_utf8_lossy(&chunk));
        }
        let patch = async |api: &Caller, change: Value| answer(api.request(Method::PATCH, &path).json(&change)).await;
        // Within what was paid, and not beyond.
        let changed = patch(&mine, json!({ "label": "Loan", "until": in_days(20) })).await.ok();
        assert_eq!(changed["watch"]["label"], "Loan");
        patch(&mine, json!({ "until": in_days(29) })).await.ok();
        let refused = patch(&mine, json!({ "until": in_days(31) })).await.expect(409);
        assert_eq!(refused["code"], "watch_paid_until");
        // Another payer, a token that nobody has, and the rest of the API.
        let forged = format!("{}{}", &token(&bought[0])[..60], "0000000000");
        for (api, status) in [(&other, 404), (&service.with_key(&forged), 401), (&service.anonymous(), 401)] {
            for path in [path.clone(), format!("{path}/events")] {
                assert_eq!(api.get(&path).await.status, status, "{path}");
            }
            assert_eq!(patch(api, json!({ "paused": true })).await.status, status);
            assert_eq!(api.delete(&path).await.status, status);
            assert_eq!(api.post(&format!("{path}/test"), &json!({})).await.status, status);
            assert_eq!(api.post(&format!("{path}/replay"), &json!({ "from": 1 })).await.status, status);
        }
        for path in
            [PATH, "/api/v2/watches/summary", "/api/v2/watches/groups", "/api/v2/admin/watches", "/api/v2/usage"]
        {
            assert_eq!(mine.get(path).await.status, 401, "{path}");
        }
        assert_eq!(mine.post("/api/v2/watches/groups", &json!({ "name": "Mine" })).await.status, 401);
        assert_eq!(mine.post("/api/v2/watches/bulk", &json!({ "wallets": [] })).await.status, 401);
        assert_eq!(mine.post(PATH, &body(3)).await.status, 402, "another watch has another price");
        // An admin sees it, and the token ends with its watch.
        let all = service.keyed().get("/api/v2/admin/watches?key=x402").await.ok();
        assert!(all["total"] == 2 && !all.to_string().contains(token(&bought[0])), "{all}");
        assert_eq!(mine.delete(&path).await.status, 204);
        assert_eq!(mine.get(&path).await.status, 401);
        assert!(!service.log().contains(token(&bought[0])) && !service.log().contains("a secret of payer"));
    });
}

#[test]
fn a_victim_is_asked_twenty_times_a_day_at_most_however_many_watches_are_paid_for() {
    run(async {
        let till = Till::start().await;
        let (victim, neighbour) = (Receiver::start(Consent::Never).await, Receiver::start(Consent::Never).await);
        let service = Service::start(&format!("{}{}", selling(&till), allowing(&[&victim, &neighbour])));
        let mut bought = Vec::new();
        let pay = async |n: usize, url: &str| {
            let mut body = body(n);
            body["url"] = json!(url);
            let secret = format!("a secret of payer number {n}");
            buy(&service.anonymous(), &body, &order(&till, 1).header(), &secret).await.expect(201)
        };
        for n in 0..3 {
            bought.push(pay(n, &format!("{}/{n}", victim.url)).await);
        }
        let attempts = |watch: &Value| watch["delivery"]["latest"].as_array().cloned().unwrap_or_default();
        let is_refused = |watch: &Value| {
            let outcome = attempts(watch).last().map(|last| last["outcome"].to_string());
            outcome.is_some_and(|outcome| outcome.contains("not asked again"))
        };
        // Resumes each watch until the server asks no more.
        for round in 0.. {
            let one = &bought[round % bought.len()];
            let mine = service.with_key(token(one));
            let count = attempts(&mine.get(&path(one)).await.ok()).len();
            answer(mine.request(Method::PATCH, &path(one)).json(&json!({ "paused": false }))).await.ok();
            let tried = mine.until(&path(one), |answer| attempts(&answer.json()).len() != count).await.ok();
            if is_refused(&tried) {
                break;
            }
        }
        let asked = victim.requests().len();
        assert!((40..=44).contains(&asked), "each question is an OPTIONS and a POST: {asked}");
        // Another payment buys no other question to this host, whatever the port.
        let other = pay(3, &neighbour.url).await;
        let mine = service.with_key(token(&other));
        mine.until(&path(&other), |answer| is_refused(&answer.json())).await.ok();
        assert_eq!((neighbour.requests().len(), victim.requests().len()), (0, asked));
    });
}

#[test]
fn a_watch_ends_with_its_term_and_its_token_reads_its_events() {
    run(async {
        let till = Till::start().await;
        let service = Service::start(&selling(&till));
        let until = (chrono::Utc::now() + chrono::TimeDelta::seconds(20)).to_rfc3339();
        let mut body = body(1);
        body["until"] = json!(until);
        let bought = buy(&service.anonymous(), &body, &order(&till, 1).header(), SECRET).await.expect(201);
        let mine = service.with_key(token(&bought));
        mine.until(&path(&bought), |answer| answer.json()["state"] == "ended").await.ok();
        assert!(mine.get(&format!("{}/events", path(&bought))).await.text.contains("watch.ended"));
        let change = mine.request(Method::PATCH, &path(&bought)).json(&json!({ "until": in_days(10) }));
        assert_eq!(answer(change).await.expect(409)["code"], "watch_ended");
        assert_eq!(mine.post(&format!("{}/test", path(&bought)), &json!({})).await.expect(409)["code"], "watch_ended");
    });
}

#[test]
fn a_paid_watch_outlives_the_server_that_settled_it() {
    run(async {
        let till = Till::start().await;
        let config = selling(&till);
        let mut service = Service::start(&config);
        for n in 0..4 {
            let (body, header, secret) = (body(n), order(&till, 1).header(), format!("a secret of payer number {n}"));
            // In every other round the transfer has not landed when the server dies.
            let lands = n % 2 == 0;
            till.world.mining(lands).await;
            let asked = tokio::spawn({
                let (api, body, header, secret) = (service.anonymous(), body.clone(), header.clone(), secret.clone());
                async move {
                    let request = api.request(Method::POST, PATH).header("x-payment", header);
                    let _ = request.header("idempotency-key", secret).json(&body).send().await;
                }
            });
            if lands {
                until(async || till.transfers().await.len(), |transfers| *transfers > n).await;
            } else {
                crate::reputation::waiting(&till.world, 1).await;
            }
            let folder = service.kill();
            asked.abort();
            till.world.mining(true).await;
            service = Service::start_in(folder, &config, &[]);
            let api = service.anonymous();
            // Another payment of the payer counts as the first one.
            let another = order(&till, 1).header();
            let bought = buy(&api, &body, if n < 2 { &header } else { &another }, &secret).await.expect(201);
            let again = buy(&api, &body, &header, &secret).await.expect(201);
            assert_eq!((&again["token"], &again["watch"]["id"]), (&bought["token"], &bought["watch"]["id"]));
            assert_eq!(service.with_key(token(&bought)).get(&path(&bought)).await.status, 200);
            assert_eq!((till.balance().await, till.transfers().await.len()), ((n as u64 + 1) * PRICE, n + 1));
            assert_eq!(service.keyed().get("/api/v2/admin/watches").await.ok()["total"], n + 1);
        }
    });
}

#[test]
fn an_unchanged_client_buys_a_watch() {
    run(async {
        let till = Till::start().await;
        let service = Service::start(&selling(&till));
        let url = format!("{}{PATH}", service.base());
        // It sends no key of its own, so nothing is taken from it, and it learns what is missing.
        let said: Value = npm_client(2, &url, &till.payer, &body(1)).await;
        assert_eq!((&said["status"], &said["body"]["code"]), (&json!(400), &json!("idempotency_key")), "{said}");
        assert_eq!(till.balance().await, 0);
        let stranger = PrivateKeySigner::random();
        let mut forged = order(&till, 1);
        forged.signer = stranger;
        buy(&service.anonymous(), &body(1), &forged.header(), SECRET).await.expect(402);
        assert_eq!(till.balance().await, 0);
    });
}
