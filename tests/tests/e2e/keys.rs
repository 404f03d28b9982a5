//! Keys are created, listed, used and revoked: by `assay key` as a process, and by the API of a running server.

use std::{path::Path, process::Command};

use assay_tests::{
    redis::{self, DURABLE, Redis},
    service::{Service, binary, plugins, sandbox_config},
};
use serde_json::json;

/// Exit code, standard output and standard error.
fn key(config: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let done =
        Command::new(binary()).arg("key").args(arguments).arg("--config").arg(config).output().expect("assay runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (done.status.code(), text(done.stdout), text(done.stderr))
}

#[test]
fn the_file_of_a_running_server_is_left_to_it() {
    let service = Service::start(&sandbox_config(&plugins()));
    let (code, _, err) = key(&service.dir().join("assay.toml"), &["list"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("in use by another process; stop that one") && err.contains("with --server"), "{err}");
}

#[tokio::test]
async fn the_keys_of_a_running_server_are_minted_listed_and_revoked_by_its_url() {
    let service = Service::start(&sandbox_config(&plugins()));
    let config = service.dir().join("assay.toml");
    let ask = |arguments: &[&str]| key(&config, &[arguments, &["--server", service.base()]].concat());
    let (code, out, err) = ask(&["mint", "--name", "lender", "--units", "50", "--rate", "120"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("lender may read, for 50 units, 120 requests a minute"), "{err}");
    let minted = service.with_key(out.trim());
    let usage = minted.get("/api/v2/usage").await.ok();
    assert_eq!((&usage["name"], &usage["units"], &usage["rate"]), (&json!("lender"), &json!(50), &json!(120)));
    let (code, out, _) = ask(&["list"]);
    assert_eq!((code, out.lines().count()), (Some(0), 3), "{out}");
    assert!(out.contains("the configuration") && out.contains("the store, 20"), "{out}");
    for (arguments, code, says) in [
        (&["mint", "--name", "lender"][..], 1, "lender"),
        (&["mint", "--name", "other", "--store"], 2, "cannot be used with"),
        (&["change", "lender"], 2, "nothing to change"),
        (&["change", "lender", "--units", "80"], 0, "lender is changed"),
        (&["change", "test", "--units", "80"], 1, "configuration"),
        (&["change", "nobody", "--rate", "7"], 1, "(404)"),
        (&["mint", "--name", "a b"], 1, "body name: "),
        (&["revoke", "test"], 1, "configuration"),
        (&["revoke", "nobody"], 1, "(404)"),
        (&["revoke", "lender"], 0, "lender is revoked"),
        (&["revoke", "lender"], 1, "(404)"),
    ] {
        let (done, out, err) = ask(arguments);
        assert_eq!(done, Some(code), "{arguments:?}: {out}{err}");
        assert!(format!("{out}{err}").contains(says), "{arguments:?}: {out}{err}");
    }
    minted.get("/api/v2/usage").await.expect(401);
}

#[tokio::test]
async fn a_key_is_minted_listed_used_and_revoked() {
    let toml = sandbox_config(&plugins());
    let dir = Service::start(&toml).terminate_keeping().await;
    let config = dir.path().join("assay.toml");
    let (code, out, err) = key(
        &config,
        &[
            "mint", "--store", "--name", "lender", "--scope", "read", "--scope", "submit", "--units", "50", "--rate",
            "120",
        ],
    );
    assert_eq!(code, Some(0), "{err}");
    let minted = out.trim().to_owned();
    assert!(minted.starts_with("assay_") && minted.len() == 70, "{out}");
    assert!(err.contains("lender may read, submit, for 50 units, 120 requests a minute"), "{err}");
    let (code, _, err) = key(&config, &["mint", "--store", "--name", "lender"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("another key is named lender"), "{err}");

    let (code, out, _) = key(&config, &["list"]);
    assert_eq!(code, Some(0));
    let rows: Vec<Vec<&str>> =
        out.lines().map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()).collect();
    assert_eq!(rows[0], ["NAME", "SCOPES", "UNITS USED", "OF", "PER MINUTE", "FROM"]);
    // By name.
    assert_eq!(rows[2], ["test", "read, submit, admin", "-", "unmetered", "no bound", "the configuration"]);
    assert_eq!(rows[1][..5], ["lender", "read, submit", "0", "50", "120"]);
    assert!(rows.len() == 3 && rows[1][5].starts_with("the store, 20") && !out.contains(&minted[6..]), "{out}");

    let service = Service::start_in(dir, &toml, &[]);
    let usage = service.with_key(&minted).get("/api/v2/usage").await.ok();
    assert_eq!((&usage["name"], &usage["units"], &usage["rate"]), (&"lender".into(), &50.into(), &120.into()));
    let dir = service.terminate_keeping().await;
    let config = dir.path().join("assay.toml");
    let (code, out, _) = key(&config, &["revoke", "lender"]);
    assert_eq!(code, Some(0));
    assert!(out.contains("lender is revoked"), "{out}");
    for (name, words) in
        [("lender", "no key in the store is named \"lender\""), ("test", "is in the configuration; change it there")]
    {
        let (code, _, err) = key(&config, &["revoke", name]);
        assert_eq!(code, Some(1));
        assert!(err.contains(words), "{err}");
    }
    let service = Service::start_in(dir, &toml, &[]);
    service.with_key(&minted).get("/api/v2/usage").await.expect(401);
}

#[test]
fn a_block_for_the_file_is_one_that_it_takes() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("assay.toml");
    std::fs::write(&config, "").expect("an empty configuration");
    let (code, out, _) =
        key(&config, &["mint", "--name", "first", "--scope", "read", "--scope", "read", "--rate", "0"]);
    assert_eq!(code, Some(0));
    let block = out.split_once("[[access.keys]]").expect("a block").1;
    assert!(block.contains("scopes = [\"read\"]\nrate = 0"), "{out}");
    std::fs::write(&config, format!("[[access.keys]]{block}")).expect("the configuration");
    let checked = Command::new(binary()).args(["check-config", "--config"]).arg(&config).output().expect("assay runs");
    let [said, wrong] = [checked.stdout, checked.stderr].map(|text| String::from_utf8(text).expect("text"));
    assert!(checked.status.success() && said.contains("first (read; unmetered; without a rate)"), "{said}{wrong}");
}

#[tokio::test]
async fn an_admin_mints_and_revokes_keys_of_a_running_server() {
    let config = sandbox_config(&plugins())
        + "[[access.keys]]\nname = \"reader\"\nkey = \"assay_keys_reader\"\nscopes = [\"read\", \"submit\"]\n";
    let service = Service::start(&config);
    let api = service.keyed();
    let lender = json!({ "name": "lender", "scopes": ["read", "submit", "read"], "units": 50, "rate": 120 });
    let minted = api.post("/api/v2/admin/keys", &lender).await;
    assert_eq!(
        (&minted.headers["cache-control"], minted.headers.contains_key("etag")),
        (&"no-store".parse().unwrap(), false)
    );
    let body = minted.expect(201);
    let secret = body["secret"].as_str().expect("a key").to_owned();
    assert!(secret.starts_with("assay_") && secret.len() == 70, "{body}");
    let key = &body["key"];
    assert_eq!((&key["scopes"], &key["units"], &key["left"]), (&json!(["read", "submit"]), &json!(50), &json!(50)));
    let usage = service.with_key(&secret).get("/api/v2/usage").await.ok();
    assert_eq!((&usage["name"], &usage["units"], &usage["rate"]), (&json!("lender"), &json!(50), &json!(120)));
    assert_eq!(api.post("/api/v2/admin/keys", &json!({ "name": "lender" })).await.expect(409)["code"], "name_taken");
    let plain = api.post("/api/v2/admin/keys", &json!({ "name": "plain" })).await.expect(201);
    assert_eq!((&plain["key"]["scopes"], &plain["key"]["units"]), (&json!(["read"]), &json!(null)));

    // Only the scope `admin` may do it: a key cannot mint itself a better one.
    for key in ["assay_keys_reader", secret.as_str()] {
        let other = service.with_key(key);
        let more = json!({ "name": "more", "scopes": ["admin"] });
        assert_eq!(other.post("/api/v2/admin/keys", &more).await.expect(403)["code"], "scope");
        other.delete("/api/v2/admin/keys/plain").await.expect(403);
    }
    service.anonymous().post("/api/v2/admin/keys", &lender).await.expect(401);

    let listed = api.get("/api/v2/admin/keys").await;
    assert!(listed.text.contains("lender") && !listed.text.contains(&secret), "{}", listed.text);
    assert_eq!(api.delete("/api/v2/admin/keys/lender").await.status, 204);
    service.with_key(&secret).until("/api/v2/usage", |answer| answer.status == 401).await;
    assert_eq!(api.delete("/api/v2/admin/keys/lender").await.expect(404)["code"], "unknown_key");
    assert_eq!(api.delete("/api/v2/admin/keys/test").await.expect(409)["code"], "key_in_configuration");
    let log = service.logged("API key revoked").await;
    for part in ["API key minted", "API key revoked", "lender", "by"] {
        assert!(log.contains(part), "{part}: {log}");
    }
    assert!(!log.contains(&secret) && !log.contains(&secret[6..]), "{log}");
}

#[tokio::test]
async fn no_key_is_minted_from_a_request_that_is_wrong() {
    let service = Service::start(&sandbox_config(&plugins()));
    let api = service.keyed();
    let before = api.get("/api/v2/admin/keys").await.ok()["count"].clone();
    let name = "a".repeat(65);
    for (body, place) in [
        (json!({}), "name"),
        (json!({ "name": "" }), "name"),
        (json!({ "name": "../../etc" }), "name"),
        (json!({ "name": ".." }), "name"),
        (json!({ "name": "a b\n[[access.keys]]" }), "name"),
        (json!({ "name": "<img src=x>" }), "name"),
        (json!({ "name": name }), "name"),
        (json!({ "name": 7 }), "name"),
        (json!({ "name": "x", "scopes": [] }), "scopes"),
        (json!({ "name": "x", "scopes": ["root"] }), "scopes"),
        (json!({ "name": "x", "scopes": "admin" }), "scopes"),
        (json!({ "name": "x", "units": -1 }), "units"),
        (json!({ "name": "x", "units": 1e300 }), "units"),
        (json!({ "name": "x", "units": "10" }), "units"),
        (json!({ "name": "x", "rate": 4_294_967_296_u64 }), "rate"),
        (json!({ "name": "x", "rate": 0.5 }), "rate"),
        (json!({ "name": "x", "limit": 100 }), "limit"),
        (json!({ "name": "x", "unit": 100 }), "unit"),
    ] {
        let refused = api.post("/api/v2/admin/keys", &body).await.expect(422);
        assert_eq!(refused["detail"][0]["loc"], json!(["body", place]), "{body}: {refused}");
    }
    for path in ["%00", "%2e%2e", "a%2fb", "%ff", "%F0%9F%92%A9"] {
        let status = api.delete(&format!("/api/v2/admin/keys/{path}")).await.status.as_u16();
        assert!([404, 405].contains(&status), "{path}: {status}");
    }
    assert_eq!(api.get("/api/v2/admin/keys").await.ok()["count"], before);
}

#[tokio::test]
async fn every_host_of_a_fleet_takes_a_minted_key_and_refuses_a_revoked_one() {
    let server = Redis::start(&DURABLE);
    let config = redis::on(&sandbox_config(&plugins()), &format!("redis://127.0.0.1:{}", server.port), "keys:");
    let [one, two] = [(); 2].map(|()| Service::start(&config));
    let minted = one.keyed().post("/api/v2/admin/keys", &json!({ "name": "lender" })).await.expect(201);
    let secret = minted["secret"].as_str().expect("a key");
    for host in [&two, &one] {
        assert_eq!(host.with_key(secret).get("/api/v2/usage").await.ok()["name"], "lender");
    }
    assert_eq!(two.keyed().delete("/api/v2/admin/keys/lender").await.status, 204);
    for host in [&two, &one] {
        host.with_key(secret).until("/api/v2/usage", |answer| answer.status == 401).await;
    }
}
