//! The routes of the server beside its document.

mod sample;

use std::collections::BTreeSet;

use assay::routes::document;
use serde_json::Value;

use sample::Sample;

/// Paths that are not API resources: pages and their files, and the documentation itself.
const UNDOCUMENTED: [&str; 8] =
    ["/", "/console", "/console/", "/console/{*file}", "/openapi.json", "/docs", "/docs/", "/docs/{*file}"];

#[tokio::test]
async fn every_route_is_documented_and_every_document_is_routed() {
    let sample = Sample::new().await;
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
            let keyed = path.starts_with("/api/");
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
