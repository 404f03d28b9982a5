//! Every row of the contract's tables of scores and reports: recorded full answers about the devnet's wallets, without
//! the values that change between runs. A change of shape changes these files: `ASSAY_RECORD=1` writes them again.

use std::path::Path;

use assay_tests::devnet::actors;
use reqwest::Method;
use serde_json::{Map, Value, json};

use super::super::{released_on_devnet, run};

/// Name of the file, method, path and body. `{borrower}` stands for that wallet's address.
const ROWS: &[(&str, &str, &str, &str)] = &[
    ("score", "GET", "/api/v2/score/address/{borrower}", ""),
    ("score-factors", "GET", "/api/v2/score/address/{liquidated}?include_factors=true", ""),
    ("score-enhanced", "POST", "/api/v2/score/address/{borrower}", r#"{"total_asset_usd":50000}"#),
    ("score-unknown", "GET", "/api/v2/score/address/{empty}", ""),
    ("score-invalid-address", "GET", "/api/v2/score/address/0x12", ""),
    ("score-several", "GET", "/api/v2/score/?address={borrower},{liquidated}", ""),
    ("score-several-invalid", "GET", "/api/v2/score/?address=nonsense", ""),
    ("score-batch", "GET", "/api/v2/score/batch/?address={borrower},{liquidated}&include_factors=true", ""),
    ("report", "GET", "/api/v2/report/address/{liquidated}", ""),
    ("report-empty", "GET", "/api/v2/report/address/{empty}", ""),
    (
        "report-enhanced",
        "POST",
        "/api/v2/report/address/{borrower}",
        concat!(
            r#"{"name":"My bank","total_asset_usd":10,"total_collateral_usd":5,"total_debt_usd":2,"#,
            r#""count_transactions":3,"count_transfers":4}"#
        ),
    ),
    ("report-enhanced-without-name", "POST", "/api/v2/report/address/{borrower}", r#"{"total_asset_usd":10}"#),
    ("report-enhanced-negative", "POST", "/api/v2/report/address/{borrower}", r#"{"name":"x","total_asset_usd":-1}"#),
    ("report-aggregated", "GET", "/api/v2/report/?address={borrower},nonsense,{liquidated}", ""),
    ("report-aggregated-invalid", "GET", "/api/v2/report/?address=nonsense", ""),
    ("report-chain", "GET", "/api/v2/report/address/{borrower}/chain/1", ""),
    ("report-chain-invalid", "GET", "/api/v2/report/address/{borrower}/chain/42220", ""),
    ("report-chain-summary", "GET", "/api/v2/report/address/{borrower}/chain/8453/summary", ""),
    ("report-chain-summary-unsupported", "GET", "/api/v2/report/address/{borrower}/chain/250/summary", ""),
    ("report-total", "GET", "/api/v2/report/address/{borrower}/total/usd", ""),
    ("report-total-aggregate", "GET", "/api/v2/report/address/{borrower}/total/usd/aggregate", ""),
];

#[test]
fn every_row_of_scores_and_reports_is_as_recorded() {
    run(async {
        let service = released_on_devnet().await;
        let api = service.keyed();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/recorded");
        let record = std::env::var_os("ASSAY_RECORD").is_some();
        // The first request of each wallet happens before, so that every row uses an existing reading.
        for wallet in ["borrower", "liquidated", "empty"] {
            api.get(&filled(&format!("/api/v2/report/address/{{{wallet}}}"))).await.ok();
        }
        let mut differing = Vec::new();
        for (name, method, path, body) in ROWS {
            let request = api
                .request(Method::from_bytes(method.as_bytes()).expect("a method"), &filled(path))
                .body((*body).to_owned());
            let answer = assay_tests::service::answer(request).await;
            let mut headers = Map::new();
            for header in ["content-type", "cache-control", "vary", "age", "etag", "x-assay-sandbox"] {
                let value = answer.headers.get(header).map(|value| value.to_str().expect("a text").to_owned());
                let fixed = |value: String| {
                    if ["age", "etag"].contains(&header) { json!(format!("<{header}>")) } else { json!(value) }
                };
                headers.extend(value.map(|value| (header.to_owned(), fixed(value))));
            }
            let found = json!({
                "request": format!("{method} {path}"), "body": body, "status": answer.status.as_u16(),
                "headers": headers,
                "answer": steady(answer.json(), ""),
            });
            let found = serde_json::to_string_pretty(&found).expect("JSON") + "\n";
            let file = folder.join(format!("{name}.json"));
            if record {
                std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&file, &found)).expect("recording");
            }
            let recorded = std::fs::read_to_string(&file).unwrap_or_default();
            if let Some((was, is)) = first_difference(&recorded, &found) {
                differing.push(format!("{name}.json: recorded {was:?}, now {is:?}\n{found}"));
            }
        }
        assert!(differing.is_empty(), "{} of {} differ:\n{}", differing.len(), ROWS.len(), differing.join("\n"));
    });
}

fn filled(path: &str) -> String {
    ["borrower", "liquidated", "empty"].iter().fold(path.to_owned(), |path, name| {
        path.replace(&format!("{{{name}}}"), &actors::address(name).to_checksum(None))
    })
}

/// Removes values that depend on the time: times, and amounts, which bear interest.
fn steady(value: Value, field: &str) -> Value {
    match value {
        Value::Object(fields) => {
            Value::Object(fields.into_iter().map(|(name, value)| (name.clone(), steady(value, &name))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(|item| steady(item, field)).collect()),
        Value::String(text) if chrono::DateTime::parse_from_rfc3339(&text).is_ok() => json!("<time>"),
        Value::String(_) if field == "balance" => json!("<amount>"),
        Value::Number(number) if field == "timestamp" && number.is_u64() => json!("<unix>"),
        Value::Number(number) if number.is_f64() && number.as_f64() != Some(0.0) => json!("<dollars>"),
        other => other,
    }
}

fn first_difference(was: &str, is: &str) -> Option<(String, String)> {
    if was == is {
        return None;
    }
    let (mut before, mut after) = (was.lines(), is.lines());
    loop {
        let (one, other) = (before.next(), after.next());
        if one != other {
            return Some((one.unwrap_or("nothing").to_owned(), other.unwrap_or("nothing").to_owned()));
        }
    }
}
