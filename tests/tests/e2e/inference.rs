//! The Open Inference Protocol: tensors of wallets become tensors of scores, and what is of no model is refused.

use assay_tests::{
    devnet::actors::address,
    service::{Answer, Caller, plugins},
};
use serde_json::{Value, json};

use super::{on_devnet, run};

const READER: &str = "[[access.keys]]\nname = \"reader\"\nkey = \"only-to-read\"\nscopes = [\"read\"]\nunits = 10\n";
const INFER: &str = "/v2/models/credit/infer";

/// The features of a scored wallet, as a line of a features file, and its score.
async fn scored(api: &Caller, name: &str) -> (String, Value) {
    let answer = api.get(&format!("/api/v2/score/address/{}", address(name))).await;
    let id = answer.headers["assay-score-id"].to_str().expect("an id").to_owned();
    let found = api.until(&format!("/api/v2/score/{id}"), |found| found.status == 200).await.json();
    let mut features = found["features"].clone();
    (features["id"], features["outcome"]) = (json!(name), json!(true));
    (features.to_string(), answer.ok())
}

fn tensor(data: &[&str]) -> Value {
    json!({ "name": "features", "datatype": "BYTES", "shape": [data.len()], "data": data })
}

/// The message of an error of the protocol.
fn error(answer: &Answer, status: u16) -> String {
    let body = answer.expect(status);
    assert_eq!(body.as_object().map(serde_json::Map::len), Some(1), "{body}");
    body["error"].as_str().unwrap_or_else(|| panic!("{body}")).to_owned()
}

#[test]
fn a_client_of_the_protocol_finds_the_server_its_model_and_its_scores() {
    run(async {
        let service = on_devnet(&plugins(), "").await;
        let (api, nobody) = (service.keyed(), service.anonymous());
        let server = nobody.get("/v2").await.ok();
        assert_eq!((&server["name"], &server["extensions"]), (&json!("assay"), &json!([])));
        for path in ["/v2/health/live", "/v2/health/ready"] {
            assert_eq!(nobody.get(path).await.ok(), json!({ "live": true }));
        }
        nobody.get("/v2/models/credit").await.expect(401);
        let model = api.get("/v2/models/credit").await.ok();
        assert_eq!(model["inputs"], json!([{ "name": "features", "datatype": "BYTES", "shape": [-1] }]));
        let versions = model["versions"].as_array().expect("versions").clone();
        assert!(versions.contains(&json!("1.1")) && model["platform"] == "assay-wasm", "{model}");
        for version in &versions {
            let path = format!("/v2/models/credit/versions/{}", version.as_str().expect("a version"));
            assert_eq!(api.get(&path).await.ok()["name"], "credit");
            assert_eq!(api.get(&format!("{path}/ready")).await.ok(), json!({ "name": "credit", "ready": true }));
        }
        assert_eq!(api.get("/v2/models/credit/ready").await.ok()["ready"], true);

        let (one, first) = scored(&api, "saver").await;
        let (two, second) = scored(&api, "borrower").await;
        let asked = json!({ "id": "a7", "parameters": {}, "inputs": [tensor(&[&one, &two])] });
        let answer = api.post(INFER, &asked).await;
        assert_eq!(answer.headers["assay-model-reason"], "champion");
        let result = |name: &str, datatype: &str, data: [&Value; 2]| {
            let shape = [2];
            json!({ "name": name, "datatype": datatype, "shape": shape, "data": data })
        };
        let expected = json!({
            "model_name": "credit", "model_version": "1.1", "id": "a7",
            "outputs": [
                result("score", "UINT32", [&first["score"], &second["score"]]),
                result("decile", "UINT8", [&first["decile"], &second["decile"]]),
            ],
        });
        assert_eq!(answer.ok(), expected);
        let asked = json!({ "inputs": [tensor(&[&one])], "outputs": [{ "name": "decile" }] });
        let by_version = api.post("/v2/models/credit/versions/1.0/infer", &asked).await;
        assert_eq!(by_version.headers["assay-model-reason"], "requested");
        let by_version = by_version.ok();
        assert_eq!((&by_version["model_version"], by_version.get("id")), (&json!("1.0"), None), "{by_version}");
        assert_eq!(by_version["outputs"].as_array().map(Vec::len), Some(1), "{by_version}");
    });
}

#[test]
fn each_wallet_of_a_tensor_costs_a_score_and_a_refused_tensor_nothing() {
    run(async {
        let service = on_devnet(&plugins(), READER).await;
        let (line, _) = scored(&service.keyed(), "saver").await;
        let reader = service.with_key("only-to-read");
        let asked = |count: usize| json!({ "inputs": [tensor(&vec![line.as_str(); count])] });
        let left = |answer: &Answer| answer.headers["assay-units-left"].to_str().expect("a number").to_owned();
        let answer = reader.post(INFER, &asked(4)).await;
        assert_eq!((answer.status.as_u16(), left(&answer)), (200, "6".to_owned()));
        error(&reader.post(INFER, &json!({ "inputs": [] })).await, 400);
        let beyond = reader.post(INFER, &asked(7)).await;
        assert_eq!(beyond.expect(429)["code"], "units_used_up");
        assert_eq!(left(&reader.post(INFER, &asked(6)).await), "0");
    });
}

#[test]
fn what_the_model_does_not_have_is_refused_in_the_words_of_the_protocol() {
    run(async {
        let service = on_devnet(&plugins(), "").await;
        let api = service.keyed();
        let (line, _) = scored(&api, "saver").await;
        let good = tensor(&[&line]);
        let with = |field: &str, value: Value| {
            let mut other = good.clone();
            other[field] = value;
            json!({ "inputs": [other] })
        };
        let twice = line.replacen('{', "{\"as_of\":1,", 1);
        for (body, words) in [
            (json!({}), "inputs"),
            (json!({ "inputs": [] }), "There is one input"),
            (json!({ "inputs": [good, good] }), "There is one input"),
            (with("name", json!("x")), "There is no input x"),
            (with("datatype", json!("FP32")), "FP32, and must be BYTES"),
            (with("shape", json!([2])), "The shape of features is [2], with 1 elements"),
            (with("shape", json!([1, 1])), "The shape of features is [1, 1]"),
            (with("shape", json!([-1])), "-1"),
            (with("data", json!([[1.0, 2.0]])), "invalid type"),
            (with("data", json!(["{}"])), "Element 0 of features: missing field `as_of`"),
            (with("data", json!(["a,b"])), "Element 0 of features: it must be a JSON object"),
            (with("data", json!([twice])), "as_of is given more than once"),
            (with("parameters", json!({ "binary_data_size": 8 })), "binary_data_size"),
            (with("data", json!([])), "with 0 elements"),
            (json!({ "inputs": [tensor(&["{\"as_of\":1}"; 101])] }), "from 1 to 100"),
            (json!({ "inputs": [good], "outputs": [{ "name": "logits" }] }), "There is no output logits"),
            (json!({ "inputs": [good], "parameters": { "priority": 1 } }), "priority"),
            (json!({ "inputs": [good], "input": [] }), "input"),
        ] {
            let said = error(&api.post(INFER, &body).await, 400);
            assert!(said.contains(words), "{words}: {said}");
        }
        let empty = json!({ "inputs": [tensor(&[&line, "{\"as_of\": 1}"])] });
        let refused = error(&api.post("/v2/models/credit/versions/1.4/infer", &empty).await, 404);
        assert!(refused.contains("this is element 1 of features"), "{refused}");
        assert!(error(&api.get("/v2/models/resnet").await, 404).contains("`credit`"));
        assert!(error(&api.get("/v2/models/credit/versions/9.9/ready").await, 404).contains("9.9"));
        assert!(error(&api.get("/v2/models/credit/versions/latest").await, 400).contains("version"));
        assert!(
            error(&api.post("/v2/models/credit/versions/9.9/infer", &json!({ "inputs": [good] })).await, 404)
                .contains("9.9")
        );
    });
}
