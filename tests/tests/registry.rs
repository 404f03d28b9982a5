//! The registry on real files: which files it rejects and with which messages, and that no file disturbs the served
//! models.

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use assay_domain::{Assessment, ModelKind, ModelVersion, features::Features};
use assay_registry::{CreditModel, Limits, Registry, Role, ScoreError, Settings, SigningKey, State, check};
use assay_tests::hostile::{self, Credit, EVERY_HUNDREDTH, IN_PRODUCTION, act};
use tempfile::TempDir;

const KIND: ModelKind = ModelKind::Credit;

fn v(text: &str) -> ModelVersion {
    text.parse().unwrap()
}

fn at(as_of: u64) -> Features {
    Features { as_of, ..Features::default() }
}

fn put(shelf: &Path, name: &str, bytes: &[u8]) {
    let part = shelf.join(format!("{name}.part"));
    fs::write(&part, bytes).unwrap();
    fs::rename(&part, shelf.join(format!("{name}.wasm"))).unwrap();
}

/// A registry on a shelf with these models. It reads the shelf only on request.
fn open(models: &[(&str, Vec<u8>)]) -> (TempDir, Arc<Registry>) {
    let shelf = TempDir::new().unwrap();
    for (name, bytes) in models {
        put(shelf.path(), name, bytes);
    }
    let registry = Registry::open(Settings { watch: false, ..Settings::new(shelf.path()) }).unwrap();
    (shelf, registry)
}

fn champion(registry: &Registry) -> String {
    registry.champion::<CreditModel>().unwrap().version().to_string()
}

#[tokio::test]
async fn every_hostile_file_is_refused_by_name_and_disturbs_nobody() {
    let (shelf, registry) = open(&[("good", Credit::new("1.0").build())]);
    let cases = hostile::refused();
    for case in &cases {
        put(shelf.path(), case.name, &case.bytes);
    }
    registry.rescan().await;

    let list = registry.list();
    for case in &cases {
        let file = format!("{}.wasm", case.name);
        let status = list
            .iter()
            .find(|status| status.file.as_deref() == Some(&file))
            .unwrap_or_else(|| panic!("{file} is not listed"));
        let reason = status.reason.as_ref().unwrap();
        println!("{:18} {}: {}", case.name, reason.code, reason.message);
        assert_eq!(status.state, State::Failed, "{}", case.name);
        assert_eq!(reason.code, case.code, "{}: {}", case.name, reason.message);
        assert!(reason.message.contains(case.says), "{}: {:?} not in {:?}", case.name, case.says, reason.message);
    }
    assert_eq!(list.len(), cases.len() + 1);
    assert_eq!(champion(&registry), "1.0");
    let answer = registry.champion::<CreditModel>().unwrap().score(&at(1)).unwrap();
    assert_eq!((answer.score.get(), answer.decile.get(), answer.factors.len()), (700, 6, 1));
}

#[tokio::test]
async fn only_models_that_a_trusted_key_signed_are_loaded() {
    let key = || SigningKey::generate().unwrap().0;
    let (author, revoked, stranger) = (key(), key(), key());
    let shelf = TempDir::new().unwrap();
    let mut changed = author.sign(&Credit::new("1.3").build());
    changed[20] ^= 1;
    put(shelf.path(), "good", &author.sign(&Credit::new("1.0").build()));
    put(shelf.path(), "unsigned", &Credit::new("1.1").build());
    put(shelf.path(), "strange", &stranger.sign(&Credit::new("1.2").build()));
    put(shelf.path(), "changed", &changed);
    put(shelf.path(), "revoked", &revoked.sign(&Credit::new("1.4").build()));
    let compiled = TempDir::new().unwrap();
    let open = |keys: &[&SigningKey]| {
        let limits = Limits { trust: keys.iter().map(|key| key.public()).collect(), ..Limits::default() };
        let compiled = Some(compiled.path().join("code"));
        Registry::open(Settings { watch: false, compiled, limits, ..Settings::new(shelf.path()) }).unwrap()
    };
    let codes = |registry: &Registry| {
        let mut codes: Vec<_> = registry
            .list()
            .iter()
            .map(|status| (status.file.clone().unwrap(), status.reason.as_ref().map(|reason| reason.code.to_string())))
            .collect();
        codes.sort();
        codes
    };
    let expected = |revoked: Option<&str>| {
        [
            ("changed", Some("forged")),
            ("good", None),
            ("revoked", revoked),
            ("strange", Some("untrusted")),
            ("unsigned", Some("unsigned")),
        ]
        .map(|(file, code)| (format!("{file}.wasm"), code.map(str::to_owned)))
    };
    let registry = open(&[&author, &revoked]);
    assert_eq!(codes(&registry), expected(None));
    assert_eq!(champion(&registry), "1.4");
    let refused = registry.add(Credit::new("1.5").build()).await.unwrap_err();
    assert_eq!(refused.code(), "unsigned");
    registry.add(author.sign(&Credit::new("1.5").build())).await.unwrap();
    drop(registry);

    // Its compiled code is still there; without the key it is not used.
    fs::remove_file(
        fs::read_dir(shelf.path())
            .unwrap()
            .flatten()
            .map(|file| file.path())
            .find(|file| file.to_string_lossy().contains("credit-1.5"))
            .unwrap(),
    )
    .unwrap();
    let registry = open(&[&author]);
    assert_eq!(codes(&registry), expected(Some("untrusted")));
    assert_eq!(champion(&registry), "1.0");
}

/// Where the model gets no more of what it asks for, it traps.
fn unless(granted: &str) -> String {
    format!("(if (i32.eq {granted} (i32.const -1)) (then unreachable))")
}

#[tokio::test]
async fn a_model_has_what_its_class_has_and_traps_in_words_beyond() {
    let more = |pages: u32| unless(&format!("(memory.grow (i32.const {pages}))"));
    let rows = unless("(table.grow $functions (ref.null func) (i32.const 9000))");
    let (shelf, compiled) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let of_class = |class: &str, version: &str| match class {
        "small" => Credit::new(version),
        "medium" => Credit::new(version).pages(40),
        _ => Credit::new(version).pages(100).table(6_000),
    };
    for (class, version) in [("small", "1"), ("medium", "2"), ("large", "3")] {
        let model = |minor: u32| of_class(class, &format!("{version}.{minor}"));
        put(shelf.path(), &format!("{class}-good"), &model(0).build());
        put(shelf.path(), &format!("{class}-grows"), &model(1).act(&more(300)).build());
        put(shelf.path(), &format!("{class}-grows-later"), &model(2).act_when(IN_PRODUCTION, &more(300)).build());
        put(shelf.path(), &format!("{class}-table-later"), &model(3).act_when(IN_PRODUCTION, &rows).build());
    }
    let limits = Limits { large_lanes: 1, ..Limits::default() };
    let settings = Settings { watch: false, limits, ..Settings::new(shelf.path()) };
    let registry =
        Registry::open(Settings { compiled: Some(compiled.path().join("code")), ..settings.clone() }).unwrap();

    let memory = [("1", "small", 2 << 20), ("2", "medium", 4 << 20), ("3", "large", 16 << 20)];
    for ((version, class, memory), rows) in memory.into_iter().zip([1_024, 4_096, 8_192]) {
        let model = |minor| registry.version::<CreditModel>(&v(&format!("{version}.{minor}"))).unwrap();
        let good = model(0);
        assert_eq!(good.class().as_str(), class);
        assert_eq!(good.score(&at(1)).unwrap().score.get(), 700);
        let price = good.price();
        assert!(price.memory > 0 && price.code > 0 && !price.call.is_zero(), "{price:?}");
        assert!(
            registry.version::<CreditModel>(&v(&format!("{version}.1"))).is_none(),
            "{class}: the self-test sees it"
        );
        let grows = model(2).score(&at(1_900_000_000)).unwrap_err();
        assert!(matches!(grows, ScoreError::MemoryLimit { asked, cap } if asked > cap && cap == memory), "{grows}");
        let table = model(3).score(&at(1_900_000_000)).unwrap_err();
        assert!(matches!(table, ScoreError::TableLimit { asked, cap } if asked > cap && cap == rows), "{table}");
        println!("{class}: {price:?}\n  {grows}\n  {table}");
    }
    for status in registry.list().into_iter().filter(|status| status.state != State::Ready) {
        let (file, reason) = (status.file.unwrap(), status.reason.unwrap());
        println!("{file}: {}", reason.message);
        assert!(
            file.contains("-grows.") && reason.message.contains("bytes of memory and may have"),
            "{file}: {reason:?}"
        );
    }
    let mapped = fs::read_to_string("/proc/self/maps").unwrap();
    let mapped = |version: &str| {
        let digest = registry.version::<CreditModel>(&v(version)).unwrap().digest().to_string();
        mapped.lines().any(|line| line.contains(&digest))
    };
    assert_eq!(
        ["1.0", "2.0", "3.0"].map(mapped),
        [false, true, true],
        "the code of larger classes is mapped, not copied"
    );
    drop(registry);

    // The code of the first start, and an operator who takes large models no more.
    let limits = Limits::default();
    let registry =
        Registry::open(Settings { compiled: Some(compiled.path().join("code")), limits, ..settings }).unwrap();
    assert_eq!(registry.champion::<CreditModel>().unwrap().version(), &v("2.3"));
    let refused = registry.list().into_iter().filter(|status| status.state == State::Failed);
    let codes: Vec<_> = refused.filter_map(|status| status.reason.map(|reason| reason.code)).collect();
    assert_eq!(codes.iter().filter(|code| **code == "needs_large").count(), 4, "{codes:?}");
}

#[tokio::test]
async fn a_large_model_is_compiled_while_others_are_loaded() {
    let (shelf, _) = open(&[("good", Credit::new("1.0").build())]);
    let limits = Limits { large_lanes: 1, ..Limits::default() };
    let registry = Registry::open(Settings { watch: false, limits, ..Settings::new(shelf.path()) }).unwrap();
    let large = |version: &str| Credit::new(version).pages(100);
    put(shelf.path(), "large", &large("2.0").build());
    put(shelf.path(), "large-again", &large("2.0").build());
    put(shelf.path(), "large-liar", &large("2.1").act(act::TRAP).build());
    put(shelf.path(), "small", &Credit::new("1.1").build());
    registry.rescan().await;
    assert!(registry.version::<CreditModel>(&v("1.1")).is_some(), "it does not wait for the large one");
    let states = loop {
        let states: Vec<_> = registry.list().into_iter().map(|status| (status.file.unwrap(), status.state)).collect();
        if states.iter().all(|(_, state)| *state != State::Compiling) {
            break states;
        }
        registry.rescan().await;
    };
    let state = |file: &str| states.iter().find(|(name, _)| name == file).map(|(_, state)| *state);
    // Two files with the same bytes are one model.
    assert_eq!(state("large.wasm").or(state("large-again.wasm")), Some(State::Ready), "{states:?}");
    assert_eq!(state("large-liar.wasm"), Some(State::Failed), "{states:?}");
    // An upload answers when it can be called.
    let added = registry.add(large("2.2").build()).await.unwrap();
    assert_eq!(registry.version::<CreditModel>(&added.version).unwrap().class().as_str(), "large");
    assert_eq!(registry.add(large("2.3").act(act::LOOP).build()).await.unwrap_err().code(), "self_test");
}

#[tokio::test]
async fn the_same_version_with_other_bytes_is_refused_until_the_first_is_gone() {
    let (shelf, registry) = open(&[("a", Credit::new("1.0").build()), ("b", Credit::new("1.1").build())]);
    let refused = registry.add(Credit::new("1.0").score("(i32.const 701)").build()).await.unwrap_err();
    assert_eq!(refused.code(), "version_taken");
    put(shelf.path(), "c", &Credit::new("1.0").score("(i32.const 701)").build());
    registry.rescan().await;
    assert_eq!(registry.version::<CreditModel>(&v("1.0")).unwrap().score(&at(1)).unwrap().score.get(), 700);

    fs::remove_file(shelf.path().join("a.wasm")).unwrap();
    registry.rescan().await;
    assert_eq!(registry.version::<CreditModel>(&v("1.0")).unwrap().score(&at(1)).unwrap().score.get(), 701);
}

#[tokio::test]
async fn a_model_that_fails_on_the_hundredth_call_goes_after_three_in_a_row() {
    for misbehaviour in [act::TRAP, act::LOOP, act::BOMB, act::RECURSE, act::LONG_TEXT] {
        let bad = Credit::new("1.2").act_when(EVERY_HUNDREDTH, misbehaviour).build();
        let (_shelf, registry) = open(&[
            ("a", Credit::new("1.0").build()),
            ("b", Credit::new("1.1").score("(i32.const 800)").build()),
            ("c", bad),
        ]);
        registry.set_champion(KIND, &v("1.0")).unwrap();
        registry.set_champion(KIND, &v("1.2")).unwrap();
        let mut roles = registry.watch_roles();
        roles.mark_unchanged();

        for second in 0..250_u64 {
            let model = registry.champion::<CreditModel>().unwrap();
            let answer = model.score(&at(second));
            assert_eq!(answer.is_err(), second % 100 == 99, "{second}: {answer:?}");
        }
        assert_eq!(champion(&registry), "1.2", "two failures with answers between them are not three in a row");

        for _ in 0..3 {
            let error = registry.champion::<CreditModel>().unwrap().score(&at(99)).unwrap_err();
            assert!(error.is_fault(), "{error}");
        }
        assert_eq!(champion(&registry), "1.0", "the champion before it, not the highest");
        assert!(roles.has_changed().unwrap());
        assert_eq!(roles.borrow().champion(KIND), Some(&v("1.0")));
        let list = registry.list();
        let benched =
            list.iter().find(|status| status.info.as_ref().is_some_and(|info| info.version == v("1.2"))).unwrap();
        assert_eq!((benched.state, benched.role, benched.failures), (State::OutOfService, Role::Available, 5));
        assert!(benched.reason.as_ref().unwrap().message.contains("3 times in a row"));

        registry.set_champion(KIND, &v("1.2")).unwrap();
        assert_eq!(champion(&registry), "1.2", "an operator may give it another chance");
    }
}

#[tokio::test]
async fn a_nonsense_answer_is_an_error_of_its_own() {
    let score = format!("(select (i32.const 1001) (i32.const 700) {EVERY_HUNDREDTH})");
    let (_shelf, registry) = open(&[("a", Credit::new("1.0").score(&score).build())]);
    let model = registry.champion::<CreditModel>().unwrap();
    assert!(matches!(model.score(&at(199)), Err(ScoreError::OutOfRange(_))));
    for _ in 0..10 {
        let _ = registry.champion::<CreditModel>().unwrap().score(&at(99));
    }
    assert!(
        registry.champion::<CreditModel>().unwrap().score(&at(100)).is_ok(),
        "the only version goes on serving whom it can"
    );
}

#[tokio::test]
async fn a_core_module_from_cargo_is_as_good_as_a_component() {
    let (shelf, registry) = open(&[]);
    assert!(matches!(registry.champion::<CreditModel>(), Err(ScoreError::NoChampion(KIND))));
    let reference = registry.add(Credit::new("1.0").module()).await.unwrap();
    assert_eq!(champion(&registry), "1.0");
    let name = format!("credit-1.0-{}.wasm", &reference.digest.to_string()[..12]);
    assert_eq!(fs::read(shelf.path().join(name)).unwrap(), Credit::new("1.0").module());
    assert_eq!(
        registry.add(Credit::new("1.0").module()).await.unwrap(),
        reference,
        "the same bytes again change nothing"
    );
    assert_eq!(registry.list().len(), 1);
}

#[tokio::test]
async fn a_champion_is_not_removed_and_outlives_its_file() {
    let (shelf, registry) = open(&[("a", Credit::new("1.0").build()), ("b", Credit::new("1.1").build())]);
    assert_eq!(champion(&registry), "1.1", "the highest version, when nothing was decided");
    assert_eq!(registry.remove(KIND, &v("1.1")).await.unwrap_err().code(), "is_champion");
    assert_eq!(registry.remove(KIND, &v("9.9")).await.unwrap_err().code(), "unknown_model");

    fs::remove_file(shelf.path().join("b.wasm")).unwrap();
    registry.rescan().await;
    assert_eq!(champion(&registry), "1.1");
    let status = |registry: &Registry, version| {
        registry.list().into_iter().find(|status| status.info.as_ref().is_some_and(|info| info.version == v(version)))
    };
    assert_eq!(status(&registry, "1.1").unwrap().reason.unwrap().code, "file_gone");
    registry.set_champion(KIND, &v("1.0")).unwrap();
    assert!(status(&registry, "1.1").is_none(), "without file and without role it goes");

    registry.add(Credit::new("1.2").build()).await.unwrap();
    assert_eq!(champion(&registry), "1.0", "a newcomer takes no role");
    registry.set_challengers(KIND, &[v("1.2")]).unwrap();
    assert_eq!(registry.active().challengers::<CreditModel>().len(), 1);
    assert_eq!(registry.set_challengers(KIND, &[v("1.0")]).unwrap_err().code(), "challenges_itself");
    registry.remove(KIND, &v("1.2")).await.unwrap();
    assert_eq!((registry.active().challengers::<CreditModel>().len(), registry.list().len()), (0, 1));
    assert_eq!(fs::read_dir(shelf.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn a_bad_file_over_a_good_one_changes_nothing() {
    let (shelf, registry) = open(&[("a", Credit::new("1.0").build()), ("b", Credit::new("1.1").build())]);
    put(shelf.path(), "a", &hostile::truncated("1.0"));
    registry.rescan().await;
    assert!(registry.version::<CreditModel>(&v("1.0")).unwrap().score(&at(1)).is_ok());
    assert_eq!(registry.list().len(), 3);
    put(shelf.path(), "a", &Credit::new("1.0").build());
    registry.rescan().await;
    assert_eq!(registry.list().len(), 2);
    fs::remove_file(shelf.path().join("a.wasm")).unwrap();
    registry.rescan().await;
    assert!(registry.version::<CreditModel>(&v("1.0")).is_none());
}

#[tokio::test]
async fn roles_come_back_from_the_store_and_may_name_what_is_not_there_yet() {
    let (shelf, registry) = open(&[("a", Credit::new("1.0").build()), ("b", Credit::new("1.1").build())]);
    registry.set_champion(KIND, &v("1.0")).unwrap();
    registry.set_challengers(KIND, &[v("1.1")]).unwrap();
    let roles = registry.roles();
    drop(registry);

    fs::rename(shelf.path().join("a.wasm"), shelf.path().join("a.away")).unwrap();
    let settings = Settings { watch: false, roles: roles.clone(), ..Settings::new(shelf.path()) };
    let registry = Registry::open(settings).unwrap();
    assert_eq!(champion(&registry), "1.1", "somebody has to answer meanwhile");
    assert_eq!(registry.roles(), roles, "the decision stands");
    fs::rename(shelf.path().join("a.away"), shelf.path().join("a.wasm")).unwrap();
    registry.rescan().await;
    assert_eq!(champion(&registry), "1.0");
    assert_eq!(registry.active().challengers::<CreditModel>()[0].version(), &v("1.1"));
}

#[tokio::test]
async fn a_file_dropped_on_the_shelf_is_noticed() {
    let shelf = TempDir::new().unwrap();
    let registry = Registry::open(Settings::new(shelf.path())).unwrap();
    let mut roles = registry.watch_roles();
    roles.mark_unchanged();
    put(shelf.path(), "anything", &Credit::new("1.0").build());
    roles.changed().await.unwrap();
    assert_eq!(champion(&registry), "1.0");
}

#[tokio::test]
async fn active_models_keep_their_champion_after_a_swap() {
    let (_shelf, registry) =
        open(&[("a", Credit::new("1.0").build()), ("b", Credit::new("1.1").score("(i32.const 800)").build())]);
    let active = registry.active();
    registry.set_champion(KIND, &v("1.0")).unwrap();
    registry.remove(KIND, &v("1.1")).await.unwrap();
    let model = active.champion::<CreditModel>().unwrap();
    assert_eq!((model.version().as_str(), model.score(&at(1)).unwrap().score.get()), ("1.1", 800));
    assert_eq!(registry.champion::<CreditModel>().unwrap().score(&at(1)).unwrap().score.get(), 700);
}

#[tokio::test]
async fn compiled_code_is_kept_and_a_damaged_copy_is_not_used() {
    let (shelf, compiled) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    put(shelf.path(), "a", &Credit::new("1.0").build());
    let settings =
        Settings { watch: false, compiled: Some(compiled.path().join("code")), ..Settings::new(shelf.path()) };
    for damage in [false, true, true] {
        let registry = Registry::open(settings.clone()).unwrap();
        assert_eq!(registry.champion::<CreditModel>().unwrap().score(&at(1)).unwrap().score.get(), 700);
        let file = fs::read_dir(compiled.path().join("code")).unwrap().next().unwrap().unwrap().path();
        if damage {
            let mut bytes = fs::read(&file).unwrap();
            let last = bytes.len() - 1;
            bytes[last] ^= 1;
            fs::write(&file, bytes).unwrap();
        }
    }
}

#[test]
fn every_released_component_passes_the_check_and_costs_the_same_twice() {
    let shelf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins");
    let mut kinds = Vec::new();
    for entry in fs::read_dir(shelf).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "wasm") {
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        let (first, second) = (check(&bytes, &Limits::default()).unwrap(), check(&bytes, &Limits::default()).unwrap());
        println!("{first}");
        assert!(first.ok, "{first}");
        assert!(!first.costs.is_empty());
        for (first, second) in first.costs.iter().zip(&second.costs) {
            assert!(first.fuel > 0 && first.memory > 0, "{first:?}");
            assert_eq!((first.fuel, first.memory), (second.fuel, second.memory));
        }
        kinds.push(first.model.unwrap().kind);
    }
    assert!(ModelKind::ALL.iter().all(|kind| kinds.contains(kind)), "{kinds:?}");
}

#[test]
fn a_check_tells_everything_that_is_wrong_at_once() {
    let grown = |types: &str| {
        types.replace("borrowed-usd: f64,", "debt-usd: f64,").replace("enum rating { low,", "enum rating { awful,")
    };
    let module = Credit::new("1.0").importing_wasi().module_on(grown);
    let report = check(&hostile::component(&module), &Limits::default()).unwrap();
    println!("{report}\n{}", serde_json::to_string_pretty(&report).unwrap());
    assert!(!report.ok);
    let codes: Vec<_> = report.problems.iter().map(|problem| problem.code).collect();
    assert_eq!(codes, ["imports", "type_mismatch"]);
    let differences = &report.problems[1].message;
    for part in [
        "`debt-usd`",
        "lacks the field `borrowed-usd`",
        "has the case `awful`",
        "lacks the case `low`",
        "record `market-features`",
    ] {
        assert!(differences.contains(part), "{part:?} not in {differences}");
    }
}

#[tokio::test]
async fn forty_swaps_under_load_lose_no_call_and_mislabel_none() {
    let (_shelf, registry) =
        open(&[("a", Credit::new("1.0").build()), ("b", Credit::new("1.1").score("(i32.const 800)").build())]);
    let done = AtomicBool::new(false);
    let calls: usize = std::thread::scope(|scope| {
        let hammer = || {
            let mut calls = 0;
            while !done.load(Relaxed) {
                let model = registry.champion::<CreditModel>().unwrap();
                let score = model.score(&at(1)).unwrap().score.get();
                assert_eq!(score, if model.version() == &v("1.0") { 700 } else { 800 });
                calls += 1;
            }
            calls
        };
        let hammers: Vec<_> = (0..4).map(|_| scope.spawn(hammer)).collect();
        for swap in 0..40 {
            registry.set_champion(KIND, &v(["1.0", "1.1"][swap % 2])).unwrap();
            // Waits as long as some scores of the new champion take.
            (0..20).for_each(|_| drop(registry.champion::<CreditModel>().unwrap().score(&at(1)).unwrap()));
        }
        done.store(true, Relaxed);
        hammers.into_iter().map(|hammer| hammer.join().unwrap()).sum()
    });
    let counted: u64 = registry.list().iter().map(|status| status.calls).sum();
    assert_eq!(counted, calls as u64 + 40 * 20);
    assert!(registry.list().iter().all(|status| status.failures == 0));
}

#[tokio::test]
async fn a_model_of_v2_is_asked_for_words_only_where_they_are_shown() {
    let trapping = Credit::v2("2.0").explain_when(IN_PRODUCTION, act::TRAP).build();
    let (_shelf, registry) = open(&[("old", Credit::new("1.0").build()), ("new", trapping)]);
    let now = at(1_760_000_000);
    let (old, new): (CreditModel, CreditModel) =
        (registry.version(&v("1.0")).unwrap(), registry.version(&v("2.0")).unwrap());
    let (before, after) = (old.score(&now).unwrap(), new.score(&now).unwrap());
    assert_eq!((before.score, before.decile), (after.score, after.decile));
    let numbers = |of: &Assessment| of.factors.iter().map(|f| (f.label.clone(), f.points)).collect::<Vec<_>>();
    assert_eq!(numbers(&before), numbers(&after), "points have the labels of the words");
    assert!(before.is_explained() && !after.is_explained());
    assert!(matches!(new.explained(&now), Err(ScoreError::Trap { .. })), "its words fail, and only they");
    assert_eq!(old.explained(&now).unwrap(), before);
    let words = new.explained(&at(1_748_736_000)).unwrap();
    assert_eq!(words, old.score(&at(1_748_736_000)).unwrap(), "with words both answers are the same");
    // One call for the numbers, and one for the words where they are asked for.
    assert_eq!(new.calls(), (5, 1));
}
