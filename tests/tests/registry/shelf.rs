//! The files of the shelf, the roles of their models, and compiled code that is kept.

use super::*;

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
