//! What a model of each class may use, and that a large one is compiled in the background.

use super::*;
use assay_tests::until::until;

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
    let limits = Limits { large_lanes: 1, ..lenient() };
    let settings = Settings { watch: false, limits, ..of_shelf(shelf.path()) };
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
            file.contains("-grows.") && reason.message.contains("bytes of memory, more than the limit of"),
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
    let limits = lenient();
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
    let limits = Limits { large_lanes: 1, ..lenient() };
    let registry = Registry::open(Settings { watch: false, limits, ..of_shelf(shelf.path()) }).unwrap();
    let large = |version: &str| Credit::new(version).pages(100);
    put(shelf.path(), "large", &large("2.0").build());
    put(shelf.path(), "large-again", &large("2.0").build());
    put(shelf.path(), "large-liar", &large("2.1").act(act::TRAP).build());
    put(shelf.path(), "small", &Credit::new("1.1").build());
    registry.rescan().await;
    assert!(registry.version::<CreditModel>(&v("1.1")).is_some(), "it does not wait for the large one");
    let states = async || -> Vec<_> {
        registry.rescan().await;
        registry.list().into_iter().map(|status| (status.file.unwrap(), status.state)).collect()
    };
    let states = until(states, |states| states.iter().all(|(_, state)| *state != State::Compiling)).await;
    let state = |file: &str| states.iter().find(|(name, _)| name == file).map(|(_, state)| *state);
    // Two files with the same bytes are one model.
    assert_eq!(state("large.wasm").or(state("large-again.wasm")), Some(State::Ready), "{states:?}");
    assert_eq!(state("large-liar.wasm"), Some(State::Failed), "{states:?}");
    // An upload answers when it can be called.
    let added = registry.add(large("2.2").build()).await.unwrap();
    assert_eq!(registry.version::<CreditModel>(&added.version).unwrap().class().as_str(), "large");
    assert_eq!(registry.add(large("2.3").act(act::LOOP).build()).await.unwrap_err().code(), "self_test");
}
