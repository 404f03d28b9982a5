//! The routes of the server beside its document.

#![expect(clippy::unwrap_used, reason = "its helpers are parts of tests")]

mod sample;

use std::collections::BTreeSet;

use assay::routes::document;
use assay_http::{Admission, PriceClass};
use serde_json::Value;

use sample::Sample;

/// Paths that are not API resources: pages and their files, and the documentation itself.
const UNDOCUMENTED: [&str; 8] =
    ["/", "/console", "/console/", "/console/{*file}", "/openapi.json", "/docs", "/docs/", "/docs/{*file}"];

#[tokio::test]
async fn every_route_is_documented_and_every_document_is_routed() {
    let sample = Sample::with_origins(&[]).await;
    let whole = |path: &str| path.trim_end_matches('/').to_owned();
    let rows = sample.assembled.routes.rows();
    let routed: BTreeSet<(String, String)> = rows
        .iter()
        .filter(|row| !UNDOCUMENTED.contains(&row.route.path))
        .map(|row| (row.route.method.to_lowercase(), whole(row.route.path)))
        .collect();
    let document = serde_json::to_value(document()).unwrap();
    let mut documented = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            documented.insert((method.clone(), whole(path)));
            let responses = operation["responses"].as_object().unwrap();
            let keyed = path.starts_with("/api/") || path.starts_with("/v2/models/");
            assert_eq!(
                (operation["security"].is_array(), responses.contains_key("401")),
                (keyed, keyed),
                "{method} {path}"
            );
            let parameters =
                operation["parameters"].as_array().into_iter().flatten().filter(|p| p["in"] == "path").count();
            assert_eq!(parameters, path.matches('{').count(), "{method} {path}");
        }
    }
    assert_eq!(documented, routed);
    let mut dangling = Vec::new();
    references(&document, &mut |reference| {
        if document.pointer(reference.trim_start_matches('#')).is_none() {
            dangling.push(reference.to_owned());
        }
    });
    assert_eq!(dangling, Vec::<String>::new());
}

/// Whether callers without a key get more from a route than a refusal.
fn needs_no_key(admission: Admission) -> bool {
    use PriceClass::{Attestation, Submission};
    match admission {
        Admission::Public | Admission::Operation | Admission::Priced(Submission | Attestation) => true,
        priced @ Admission::Priced(_) => priced.admits_guests(),
    }
}

#[tokio::test]
async fn the_guide_says_what_each_route_without_a_key_can_cause() {
    let sample = Sample::with_origins(&[]).await;
    let rows = sample.assembled.routes.rows();
    let open = rows.iter().filter(|row| needs_no_key(row.route.admission));
    let open: Vec<String> = open.map(|row| format!("{} {}", row.route.method, row.route.path)).collect();
    let guide = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/operate.md")).unwrap();
    let section = guide.split("\n## Without a key\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let codes = section.split('`').skip(1).step_by(2);
    let named: Vec<String> = codes.filter(|code| code.contains(" /")).map(str::to_owned).collect();
    assert_eq!(named.iter().collect::<BTreeSet<_>>(), open.iter().collect::<BTreeSet<_>>());
    assert_eq!(named.len(), open.len(), "each once");
}

fn references(value: &Value, found: &mut impl FnMut(&str)) {
    match value {
        Value::Object(map) => {
            map.get("$ref").and_then(Value::as_str).into_iter().for_each(&mut *found);
            map.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}
