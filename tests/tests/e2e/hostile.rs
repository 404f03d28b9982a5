//! Malicious components, given to a running server by every way, while it answers other callers.

use std::{
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use assay_tests::{
    hostile::{Credit, IN_PRODUCTION, act, bombs, refused, slow_to_compile, slow_to_compile_too},
    process::{End, Guarded, Lines},
    service::{Caller, Service, binary, sandbox_config, shelf_copy},
    until::until,
};
use serde_json::{Value, json};

use super::{on_devnet, run};

const SANDBOX: &str = "/api/v2/sandbox/score/address/0x0000000000000000000000000000000000000001";

/// Requests sandbox scores until `stop`; every answer must be correct.
fn bystander(api: &Caller, stop: &Arc<AtomicBool>) -> tokio::task::JoinHandle<u64> {
    let (api, stop) = (api.clone(), stop.clone());
    tokio::spawn(async move {
        let mut answers = 0;
        while !stop.load(Relaxed) {
            api.get(SANDBOX).await.ok();
            answers += 1;
        }
        answers
    })
}

/// What the list says of a file; null while it says nothing.
async fn listed(api: &Caller, file: &str) -> Value {
    let list = api.get("/api/v2/models").await.ok();
    list["models"].as_array().unwrap().iter().find(|model| model["file"] == file).cloned().unwrap_or_default()
}

#[test]
fn what_is_refused_is_refused_by_name_and_nobody_notices() {
    run(async {
        let shelf = shelf_copy();
        let service = Service::sandbox(shelf.path());
        let api = service.keyed();
        let stop = Arc::new(AtomicBool::new(false));
        let other = bystander(&api, &stop);
        let before = service.resident();
        for case in refused() {
            let answer = api.post_bytes("/api/v2/admin/models", case.bytes.clone()).await;
            assert!(answer.status.is_client_error(), "{}: {}", case.name, answer.text);
            let body = answer.json();
            assert_eq!(body["code"], case.code, "{}: {body}", case.name);
            // The length of an upload is refused before it is read as a file.
            let says = if case.name == "too-large" { "16777216" } else { case.says };
            assert!(body["detail"].as_str().unwrap().contains(says), "{}: {body}", case.name);

            let file = format!("{}.wasm", case.name);
            std::fs::write(shelf.path().join(&file), &case.bytes).unwrap();
            // The server may read a large file while it is still being written; it reads the complete file again.
            let refused = |entry: &Value| entry["state"] == "failed" && entry["reason"]["code"] == case.code;
            until(async || listed(&api, &file).await, refused).await;
        }
        let taken = Credit::new("1.1").build();
        let answer = api.post_bytes("/api/v2/admin/models", taken).await.expect(409);
        assert_eq!(answer["code"], "version_taken");
        stop.store(true, Relaxed);
        assert!(other.await.expect("every bystander's request was answered") > 0);
        assert_eq!(api.get(SANDBOX).await.ok()["model_version"], "1.1");
        let grown = service.resident().saturating_sub(before) >> 20;
        assert!(grown < 256, "{grown} MiB more than before");
    });
}

/// Waits until `file` is listed as failed, and returns the code of its reason.
async fn refusal(api: &Caller, file: &str) -> String {
    let entry = until(async || listed(api, file).await, |entry| entry["state"] == "failed").await;
    entry["reason"]["code"].as_str().unwrap().to_owned()
}

#[test]
fn compile_bombs_cost_nobody_an_answer_and_no_start() {
    run(async {
        let shelf = shelf_copy();
        let service = Service::sandbox(shelf.path());
        let api = service.keyed();
        let stop = Arc::new(AtomicBool::new(false));
        let other = bystander(&api, &stop);
        let before = service.peak();
        for (name, bytes) in bombs() {
            let answer = api.post_bytes("/api/v2/admin/models", bytes.clone()).await.expect(422);
            assert_eq!(answer["code"], "too_complex", "{name}: {answer}");
            println!("{name}: {}", answer["detail"]);
            let file = format!("{name}.wasm");
            std::fs::write(shelf.path().join(&file), bytes).unwrap();
            assert_eq!(refusal(&api, &file).await, "too_complex", "{name}");
        }
        stop.store(true, Relaxed);
        assert!(other.await.expect("every bystander's request was answered") > 0);
        let grown = service.peak().saturating_sub(before) >> 20;
        assert!(grown < 128, "{grown} MiB more at the peak");

        let again = Service::start_in(service.kill(), &sandbox_config(shelf.path()), &[]);
        assert_eq!(again.keyed().get(SANDBOX).await.ok()["model_version"], "1.1");
        for (name, _) in bombs() {
            assert_eq!(refusal(&again.keyed(), &format!("{name}.wasm")).await, "too_complex");
        }
    });
}

#[test]
fn a_file_that_compiles_too_long_is_refused_by_the_limit_of_time() {
    run(async {
        let shelf = shelf_copy();
        let config = sandbox_config(shelf.path()).replace("[models]", "[models]\nmax_compile_seconds = 1");
        let service = Service::start(&config);
        let api = service.keyed();
        let stop = Arc::new(AtomicBool::new(false));
        let other = bystander(&api, &stop);
        let answer = api.post_bytes("/api/v2/admin/models", slow_to_compile()).await.expect(422);
        assert_eq!(answer["code"], "compiler_limits", "{answer}");
        assert!(answer["detail"].as_str().unwrap().contains("more than 1 s of processor time"), "{answer}");
        stop.store(true, Relaxed);
        assert!(other.await.expect("every bystander's request was answered") > 0);
    });
}

#[test]
fn what_a_machine_lacked_at_one_start_is_no_fault_of_a_file_at_the_next() {
    run(async {
        let (shelf, dir) = (shelf_copy(), tempfile::tempdir().unwrap());
        let own = "[models]\ncompiled_path = \"{dir}/compiled\"";
        let config = sandbox_config(shelf.path()).replace("[models]", own);
        let file = dir.path().join("assay.toml");
        std::fs::write(&file, config.replace("{dir}", &dir.path().display().to_string())).unwrap();
        // Less address space than a compiler may use.
        let mut narrow = Command::new("sh");
        narrow.args(["-c", "ulimit -v 900000; exec \"$0\" serve --config \"$1\""]).arg(binary()).arg(&file);
        let listens = |line: &str| line.contains("listening").then_some(());
        let (process, ()) = Guarded::start(&narrow, End::Kill, Lines::Keep, listens).expect("a server starts");
        let said = process.last_lines();
        // A user who may raise the limit has no problem.
        if said.contains("not ready") {
            assert!(said.contains("compiler_start") && said.contains("(ulimit -v)"), "{said}");
        }
        drop(process);
        let again = Service::start_in(dir, &config, &[]);
        assert_eq!(again.keyed().get(SANDBOX).await.ok()["model_version"], "1.1");
    });
}

#[test]
fn forty_files_that_take_long_hold_up_no_start() {
    run(async {
        let shelf = shelf_copy();
        let file = |n: usize| format!("dear-{n:02}.wasm");
        for n in 0..40 {
            std::fs::write(shelf.path().join(file(n)), slow_to_compile_too(n)).unwrap();
        }
        let config = sandbox_config(shelf.path());
        let mut dir = tempfile::tempdir().unwrap();
        for start in ["cold", "again"] {
            let started = std::time::Instant::now();
            let service = Service::start_in(dir, &config, &[]);
            let api = service.keyed();
            api.until("/readyz", |ready| ready.status == 200).await;
            assert_eq!(api.get(SANDBOX).await.ok()["model_version"], "1.1");
            println!("{start}: ready and answering after {:.1} s", started.elapsed().as_secs_f64());
            // None of the last ones can have been compiled by now.
            assert_eq!(listed(&api, &file(39)).await["state"], "compiling");
            dir = service.kill();
        }
    });
}

#[test]
fn twelve_uploads_at_once_are_answered_while_the_server_serves_others() {
    run(async {
        let shelf = shelf_copy();
        // An upload that is being compiled is answered, however long that takes.
        let config = sandbox_config(shelf.path()) + "[http]\nrequest_timeout_ms = 300000\n";
        let service = Service::start(&config);
        let api = service.keyed();
        let stop = Arc::new(AtomicBool::new(false));
        let other = bystander(&api, &stop);
        let upload = async |n: usize| api.post_bytes("/api/v2/admin/models", slow_to_compile_too(n)).await;
        let answers = futures::future::join_all((0..12).map(upload)).await;
        for answer in &answers {
            assert!([422, 503].contains(&answer.status.as_u16()), "{} {}", answer.status, answer.text);
            assert!(answer.status == 422 || answer.headers.contains_key("retry-after"), "{}", answer.text);
        }
        println!(
            "{:?}",
            answers.iter().map(|answer| (answer.status, answer.json()["code"].clone())).collect::<Vec<_>>()
        );
        stop.store(true, Relaxed);
        assert!(other.await.expect("every bystander's request was answered") > 0);
    });
}

/// Uploads a file and kills the server while it compiles. Returns its folder.
async fn killed_while_loading(service: Service, bytes: Vec<u8>, attempts: usize) -> tempfile::TempDir {
    let api = service.keyed();
    let upload = tokio::spawn(async move {
        let request = api.request(reqwest::Method::POST, "/api/v2/admin/models").body(bytes);
        assert!(assay_tests::service::try_answer(request).await.is_err(), "the server is killed before it answers");
    });
    let noted = async || -> Vec<usize> {
        let files = std::fs::read_dir(service.dir().join("loading")).into_iter().flatten().flatten();
        let notes = files.filter(|file| file.path().extension().is_some_and(|extension| extension == "loading"));
        notes.map(|note| std::fs::read(note.path()).unwrap_or_default().len()).collect()
    };
    until(noted, |lengths| lengths.contains(&attempts)).await;
    let folder = service.kill();
    upload.await.unwrap();
    folder
}

#[test]
fn a_file_that_ended_the_server_twice_is_set_aside() {
    run(async {
        let shelf = shelf_copy();
        let config = sandbox_config(shelf.path()).replace("[models]", "[models]\nmax_compile_seconds = 3600");
        let first = killed_while_loading(Service::start(&config), slow_to_compile(), 1).await;
        let second = killed_while_loading(Service::start_in(first, &config, &[]), slow_to_compile(), 2).await;
        std::fs::write(shelf.path().join("slow.wasm"), slow_to_compile()).unwrap();
        let service = Service::start_in(second, &config, &[]);
        assert_eq!(refusal(&service.keyed(), "slow.wasm").await, "set_aside");
        assert_eq!(service.keyed().get(SANDBOX).await.ok()["model_version"], "1.1");
    });
}

#[test]
fn a_model_that_fails_in_production_costs_three_requests_and_its_role() {
    run(async {
        let shelf = shelf_copy();
        let service = on_devnet(shelf.path(), "").await;
        let api = service.keyed();
        let path = format!("/api/v2/score/address/{}", assay_tests::devnet::actors::address("borrower"));
        for (version, harm, code) in [
            ("6.1", act::TRAP, "trap"),
            ("6.2", act::LOOP, "deadline"),
            ("6.3", act::BOMB, "memory_limit"),
            ("6.4", act::RECURSE, "stack_overflow"),
        ] {
            let model = Credit::new(version).act_when(IN_PRODUCTION, harm).build();
            let added = api.post_bytes("/api/v2/admin/models", model).await.expect(201);
            assert_eq!((&added["kind"], &added["version"]), (&json!("credit"), &json!(version)));
            api.put("/api/v2/admin/models/credit/champion", &json!({ "version": version })).await.ok();
            for _ in 0..3 {
                let failed = api.get(&path).await.expect(500);
                assert_eq!(failed["code"], code, "{failed}");
            }
            assert_eq!(api.get(&path).await.ok()["model_version"], "1.1", "the champion before is back");
            let list = api.get("/api/v2/models").await.ok();
            let benched = list["models"].as_array().unwrap().iter().find(|model| model["version"] == version).unwrap();
            assert_eq!((&benched["state"], &benched["reason"]["code"]), (&json!("benched"), &json!(code)));
        }
    });
}
