//! The registry refuses bad files, each with its message, and goes on serving the models that it has.

use super::*;

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
        let limits = Limits { trust: keys.iter().map(|key| key.public()).collect(), ..lenient() };
        let compiled = Some(compiled.path().join("code"));
        Registry::open(Settings { watch: false, compiled, limits, ..of_shelf(shelf.path()) }).unwrap()
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
        let (first, second) = (check(&bytes, &lenient()).unwrap(), check(&bytes, &lenient()).unwrap());
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
    let report = check(&hostile::component(&module), &lenient()).unwrap();
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
