//! What takes a version out of the split, and what never answers in its place.

use super::*;

#[test]
fn a_share_grows_by_its_ramp_until_a_bound_takes_it_out_once() {
    run(async {
        let shelf = shelf_copy();
        let bounds = format!("{ALWAYS}[promotion]\nmin_scores = 3\nmax_latency_ratio = 1000\n");
        let service = on_devnet(shelf.path(), &bounds).await;
        let api = service.keyed();
        add_models(&api).await;
        let ramp = json!([{ "version": "7.0", "percent": 0.01, "ramp": [0.02, 0.03], "step_seconds": 1 }]);
        api.put(SPLIT, &json!({ "shares": ramp, "why": "a look" })).await.ok();
        let grown = api.until(SPLIT, |split| split.ok()["shares"][0]["percent"] == 0.03).await.ok();
        assert_eq!(grown["shares"][0]["ramp"], Value::Null, "{grown}");
        // The shadow sees that it answers 701 for everybody.
        for _ in 0..2 {
            for wallet in ["saver", "liquidated", "borrower", "whale"] {
                api.get(&path(wallet)).await.ok();
            }
        }
        let stopped = api.until(SPLIT, |split| split.ok()["shares"] == json!([])).await.ok();
        let why = stopped["stopped"].as_str().expect("a reason");
        assert!(why.starts_with("7.0 was taken out") && why.contains("the PSI of its scores is"), "{why}");
        let refused = api.put(SPLIT, &json!({ "shares": [share("7.0", 0.01)] })).await.expect(409);
        assert_eq!(refused["code"], "guarded");
        let forced = json!({ "shares": ramp, "force": true, "why": "the board said so" });
        api.put(SPLIT, &forced).await.ok();
        // No bound stops it now: it grows to its end.
        let grown = api.until(SPLIT, |split| split.ok()["shares"][0]["percent"] == 0.03).await.ok();
        assert_eq!((&grown["shares"][0]["forced"], &grown["stopped"]), (&json!(true), &Value::Null), "{grown}");
        // It stays forced: without `force`, the bounds would take it out at once.
        let unforced = json!({ "shares": [share("7.0", 0.03)], "choosers": ["dev"] });
        assert_eq!(api.put(SPLIT, &unforced).await.expect(409)["code"], "guarded");
        assert_eq!(api.get(SPLIT).await.ok(), grown);
        let step = |by: &str, action: &str, outcome: &str| (by.to_owned(), action.to_owned(), outcome.to_owned());
        let expected = [
            step("dev", "split", "done"),
            step("assay", "split", "done"),
            step("assay", "split", "done"),
            step("assay", "unsplit", "done"),
            step("dev", "split", "refused"),
            step("dev", "split", "done"),
            step("assay", "split", "done"),
            step("assay", "split", "done"),
            step("dev", "split", "refused"),
        ];
        assert_eq!(steps(&api).await, expected);
    });
}

#[test]
fn a_version_that_fails_is_replaced_by_the_champion_and_taken_out() {
    run(async {
        let shelf = shelf_copy();
        let service = on_devnet(shelf.path(), ALWAYS).await;
        let api = service.keyed();
        let bad = Credit::new("6.1").act_when(IN_PRODUCTION, act::TRAP).build();
        api.post_bytes("/api/v2/admin/models", bad).await.expect(201);
        api.put(SPLIT, &json!({ "shares": [share("6.1", 100.0)] })).await.ok();
        let answered = until(async || api.get(&path("saver")).await, |answer| answer.status == 200).await;
        assert_eq!((reason(&answered), &answered.json()["model_version"]), ("champion", &json!("1.1")));
        let split = api.until(SPLIT, |split| split.ok()["shares"] == json!([])).await.ok();
        let why = split["stopped"].as_str().expect("a reason");
        assert!(why.contains("it is out of service: it failed"), "{why}");
    });
}

/// The files of a version that was uploaded to the shelf.
fn files_of(shelf: &Path, version: &str) -> Vec<PathBuf> {
    let files = std::fs::read_dir(shelf).unwrap().map(|file| file.unwrap().path());
    let prefix = format!("credit-{version}-");
    files.filter(|file| file.file_name().unwrap().to_string_lossy().starts_with(&prefix)).collect()
}

#[test]
fn a_version_that_is_lost_at_a_start_answers_no_pin_in_another_guise_and_its_share_is_stopped() {
    run(async {
        let shelf = shelf_copy();
        let service = on_devnet(shelf.path(), &lender()).await;
        add_models(&service.keyed()).await;
        let pins = json!([{ "key": "lender", "version": "7.0", "until": "2099-01-01T00:00:00Z" }]);
        service.keyed().put(SPLIT, &json!({ "shares": [share("8.0", 100.0)], "pins": pins })).await.ok();
        assert_eq!(reason(&service.with_key(LENDER).get(&path("saver")).await), "pinned");

        let dir = service.kill();
        let [gone] = &files_of(shelf.path(), "7.0")[..] else { panic!("one file") };
        let [damaged] = &files_of(shelf.path(), "8.0")[..] else { panic!("one file") };
        let kept = std::fs::read(gone).unwrap();
        std::fs::remove_file(gone).unwrap();
        std::fs::write(damaged, &std::fs::read(damaged).unwrap()[..100]).unwrap();
        let service = Service::start_in(dir, &configured(shelf.path(), &lender()).await, &[]);
        let (api, lender) = (service.keyed(), service.with_key(LENDER));
        for path in [path("saver"), format!("/api/v2/score/?address={}", address("saver"))] {
            let lost = lender.get(&path).await;
            assert_eq!((lost.expect(503)["code"].as_str(), reason(&lost)), (Some("version_unavailable"), "none"));
            assert!(lost.text.contains("7.0 answers this request because it is pinned"), "{}", lost.text);
        }
        let named = lender.get(&(path("saver") + "?model_version=1.1")).await;
        assert_eq!((reason(&named), &named.ok()["model_version"]), ("requested", &json!("1.1")));
        let ready = api.get("/readyz").await.ok();
        let warnings = ready["warnings"].to_string();
        assert!(warnings.contains("no credit model 7.0 is loaded"), "{ready}");

        // The share goes to the champion, once, and that is said.
        let stopped = api.until(SPLIT, |split| split.ok()["shares"] == json!([])).await.ok();
        let why = stopped["stopped"].as_str().expect("a reason");
        assert!(why.starts_with("8.0 was taken out") && why.contains("no credit model 8.0 is loaded"), "{why}");
        assert_eq!(reason(&api.get(&path("saver")).await), "champion");
        let done = |by: &str, action: &str| (by.to_owned(), action.to_owned(), "done".to_owned());
        assert_eq!(steps(&api).await, [done("dev", "split"), done("assay", "unsplit")]);
        assert_eq!(stopped["pins"][0]["version"], "7.0", "{stopped}");

        std::fs::write(gone, kept).unwrap();
        let back = until(async || lender.get(&path("saver")).await, |answer| answer.status == 200).await;
        assert_eq!((reason(&back), &back.ok()["score"]), ("pinned", &json!(701)));
    });
}

#[test]
fn other_bytes_of_a_version_with_a_role_do_not_answer_after_a_restart() {
    run(async {
        let shelf = shelf_copy();
        let service = on_devnet(shelf.path(), &lender()).await;
        let api = service.keyed();
        add_models(&api).await;
        let champion = json!({ "version": "8.0", "force": true, "why": "a test" });
        api.put("/api/v2/admin/models/credit/champion", &champion).await.ok();
        let pins = json!([{ "key": "lender", "version": "7.0", "until": "2099-01-01T00:00:00Z" }]);
        api.put(SPLIT, &json!({ "pins": pins })).await.ok();

        // The file of the champion is replaced. That of the pinned version is still there, and read after another.
        let dir = service.kill();
        let other = |version: &str| Credit::new(version).score("(i32.const 555)").build();
        let [replaced] = &files_of(shelf.path(), "8.0")[..] else { panic!("one file") };
        let released = std::fs::read(replaced).unwrap();
        std::fs::write(replaced, other("8.0")).unwrap();
        std::fs::write(shelf.path().join("aaa.wasm"), other("7.0")).unwrap();
        let service = Service::start_in(dir, &configured(shelf.path(), &lender()).await, &[]);
        let (api, lender) = (service.keyed(), service.with_key(LENDER));
        let pinned = until(async || lender.get(&path("saver")).await, |answer| answer.status == 200).await;
        assert_eq!((reason(&pinned), &pinned.ok()["score"]), ("pinned", &json!(701)));
        assert_eq!(api.get(&path("saver")).await.expect(503)["code"], "no_champion");
        api.until("/readyz", |ready| ready.text.contains("credit 8.0 was released with other bytes")).await;
        let refused = api.post_bytes("/api/v2/admin/models", other("8.0")).await.expect(409);
        assert_eq!(refused["code"], "version_taken");

        std::fs::write(replaced, released).unwrap();
        let back = until(async || api.get(&path("saver")).await, |answer| answer.status == 200).await;
        assert_eq!(back.ok()["score"], 801);
    });
}
