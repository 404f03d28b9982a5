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
    let settings = Settings { watch: false, roles: roles.clone(), ..of_shelf(shelf.path()) };
    let registry = Registry::open(settings).unwrap();
    assert!(
        matches!(registry.champion::<CreditModel>(), Err(ScoreError::NoChampion(KIND))),
        "nothing stands in for it"
    );
    let vacancy = registry.vacancy(KIND).unwrap();
    assert!(vacancy.contains("no credit model 1.0 is loaded; loaded are 1.1"), "{vacancy}");
    assert_eq!(registry.roles(), roles, "the decision stands");
    fs::rename(shelf.path().join("a.away"), shelf.path().join("a.wasm")).unwrap();
    registry.rescan().await;
    assert_eq!(champion(&registry), "1.0");
    assert_eq!(registry.active().challengers::<CreditModel>()[0].version(), &v("1.1"));
}

#[tokio::test]
async fn a_version_with_a_role_is_loaded_only_with_its_recorded_bytes() {
    let (right, wrong) = (Credit::new("1.0").build(), Credit::new("1.0").score("(i32.const 701)").build());
    let digest = |bytes: &[u8]| open(&[("a", bytes.to_vec())]).1.loaded(KIND, &v("1.0")).unwrap().digest();
    let [released, other] =
        [&right, &wrong].map(|bytes| assay_registry::Released::from([((KIND, v("1.0")), digest(bytes))]));
    let score = |registry: &Registry| {
        registry.champion::<CreditModel>().ok().map(|model| model.score(&at(1)).unwrap().score.get())
    };
    let mut roles = assay_registry::Roles::default();
    roles.promote(KIND, &v("1.0"));

    let shelf = TempDir::new().unwrap();
    put(shelf.path(), "a", &wrong);
    let settings = Settings { watch: false, roles, released, ..of_shelf(shelf.path()) };
    let registry = Registry::open(settings.clone()).unwrap();
    assert_eq!(score(&registry), None);
    let (state, reason) = status(&registry, "a.wasm").unwrap();
    assert_eq!((state, reason.unwrap().0.as_str()), (State::Failed, "version_taken"));
    let vacancy = registry.vacancy(KIND).unwrap();
    assert!(vacancy.contains("credit 1.0 was released with other bytes"), "{vacancy}");
    let refused = registry.add(Credit::new("1.0").score("(i32.const 702)").build()).await.unwrap_err();
    assert_eq!(refused.code(), "version_taken");
    assert!(!registry.check(&wrong).unwrap().ok);

    // The released bytes answer, whichever file is read first.
    registry.add(right).await.unwrap();
    assert_eq!(score(&registry), Some(700));
    drop(registry);
    let registry = Registry::open(settings).unwrap();
    assert_eq!(score(&registry), Some(700));
    // Another host has promoted a component of this version with other bytes.
    registry.release(&other);
    registry.rescan().await;
    assert_eq!(score(&registry), Some(701));
}

#[tokio::test]
async fn a_file_dropped_on_the_shelf_is_noticed() {
    let shelf = TempDir::new().unwrap();
    let registry = Registry::open(of_shelf(shelf.path())).unwrap();
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
    let settings = Settings { watch: false, compiled: Some(compiled.path().join("code")), ..of_shelf(shelf.path()) };
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

/// The bytes of a model with a custom section of `size` bytes.
fn padded(model: &[u8], size: usize) -> Vec<u8> {
    let mut bytes = model.to_vec();
    bytes.push(0);
    let mut rest = size;
    loop {
        let low = (rest & 0x7f) as u8;
        rest >>= 7;
        bytes.push(if rest == 0 { low } else { low | 0x80 });
        if rest == 0 {
            break;
        }
    }
    bytes.push(3);
    bytes.extend(b"pad");
    bytes.resize(bytes.len() + size - 4, 0);
    bytes
}

/// Size of the padding of a file that is compiled in the background.
const LARGE: usize = 300 << 10;

fn status(registry: &Registry, file: &str) -> Option<(State, Option<(String, String)>)> {
    let found = registry.list().into_iter().find(|status| status.file.as_deref() == Some(file))?;
    Some((found.state, found.reason.map(|reason| (reason.code.to_owned(), reason.message))))
}

/// Limits with a script as compiler.
fn compiler(folder: &Path, script: &str) -> Limits {
    use std::os::unix::fs::PermissionsExt as _;
    let program = folder.join("compiler");
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
    let compiler = assay_registry::Compiler { program, time: Duration::from_secs(60), memory: 1 << 30 };
    Limits { compiler: Some(compiler), ..lenient() }
}

#[tokio::test]
async fn a_component_without_a_model_is_refused_before_it_is_compiled() {
    let shelf = TempDir::new().unwrap();
    put(shelf.path(), "component", &wat::parse_str("(component (core module (func (nop))))").unwrap());
    // The compiler always fails.
    let settings = Settings { watch: false, limits: compiler(shelf.path(), "exit 1"), ..of_shelf(shelf.path()) };
    let registry = Registry::open(settings).unwrap();
    let (state, reason) = status(&registry, "component.wasm").unwrap();
    assert_eq!((state, reason.unwrap().0.as_str()), (State::Failed, "wrong_world"));
}

#[tokio::test]
async fn a_refused_file_is_not_compiled_again() {
    let (shelf, notes) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    // It exports the interface of a model without its functions.
    let differs = "(component (component $empty) (instance $i (instantiate $empty)) \
                   (export \"assay:model/credit@1.0.0\" (instance $i)))";
    put(shelf.path(), "a", &wat::parse_str(differs).unwrap());
    let settings = Settings { watch: false, attempts: Some(notes.path().to_owned()), ..of_shelf(shelf.path()) };
    let first = status(&Registry::open(settings.clone()).unwrap(), "a.wasm").unwrap();
    assert_eq!(first.1.as_ref().unwrap().0, "type_mismatch");
    let again = status(&Registry::open(settings.clone()).unwrap(), "a.wasm").unwrap();
    assert_eq!(first, again);
    let note = fs::read_dir(notes.path()).unwrap().next().unwrap().unwrap().path();
    // The message comes from the note.
    let words = fs::read_to_string(&note).unwrap();
    fs::write(&note, words.lines().take(2).chain(["a note"]).collect::<Vec<_>>().join("\n")).unwrap();
    let noted = status(&Registry::open(settings.clone()).unwrap(), "a.wasm").unwrap();
    assert_eq!(noted.1.unwrap(), ("type_mismatch".to_owned(), "a note".to_owned()));
    fs::remove_file(note).unwrap();
    assert_eq!(status(&Registry::open(settings).unwrap(), "a.wasm").unwrap(), first);
}

#[tokio::test]
async fn a_start_compiles_half_a_megabyte_of_small_files_smallest_first() {
    const FILES: usize = 8;
    let (shelf, kept) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    for n in 0..FILES {
        put(shelf.path(), &format!("a{n}"), &padded(&Credit::new(&format!("2.{n}")).build(), 180 << 10));
    }
    put(shelf.path(), "small", &Credit::new("1.0").build());
    // It refuses three files at once, then waits for the test before each further one.
    let (pipe, calls) = (kept.path().join("pipe"), kept.path().join("calls"));
    make_pipe(&pipe);
    let script = format!(
        "echo >> {calls}; [ $(wc -l < {calls}) -le 3 ] || read line < {}; exit 1",
        pipe.display(),
        calls = calls.display()
    );
    let limits = compiler(kept.path(), &script);
    let settings = Settings { watch: false, patient: false, limits, ..of_shelf(shelf.path()) };
    let registry = Registry::open(settings).unwrap();
    let in_state = |state| registry.list().into_iter().filter(|status| status.state == state).count();
    assert_eq!((in_state(State::Failed), in_state(State::Compiling)), (3, 6));
    assert_eq!(status(&registry, "small.wasm").unwrap().0, State::Failed);
    for left in (0..6).rev() {
        release(&pipe);
        while in_state(State::Compiling) > left {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn small_models_answer_while_a_large_file_is_compiled() {
    let (shelf, kept) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let settings =
        Settings { watch: false, patient: false, compiled: Some(kept.path().join("code")), ..of_shelf(shelf.path()) };
    put(shelf.path(), "small", &Credit::new("1.0").build());
    drop(Registry::open(settings.clone()).unwrap());
    // From here the compiler waits until the test writes to its pipe.
    let (pipe, begun) = (kept.path().join("pipe"), kept.path().join("begun"));
    make_pipe(&pipe);
    let limits = compiler(kept.path(), &format!("touch {}; read line < {}; exit 1", begun.display(), pipe.display()));
    put(shelf.path(), "large", &padded(&Credit::new("1.1").build(), LARGE));

    let registry = Registry::open(Settings { limits: limits.clone(), ..settings.clone() }).unwrap();
    assert_eq!(champion(&registry), "1.0");
    assert_eq!(status(&registry, "large.wasm").unwrap().0, State::Compiling);
    // Before that, an upload would go first.
    while !begun.exists() {
        tokio::task::yield_now().await;
    }
    // The background thread compiles the file of the shelf, so the upload gives up.
    let upload = padded(&Credit::new("1.2").build(), LARGE);
    let refused = registry.add_within(upload, Duration::from_millis(10)).await.unwrap_err();
    assert_eq!(refused.code(), "busy");
    assert_eq!(registry.add_within(Credit::new("1.0").build(), IN_TIME).await.unwrap().version, v("1.0"));
    release(&pipe);
    while status(&registry, "large.wasm").unwrap().0 == State::Compiling {
        tokio::task::yield_now().await;
    }
    assert_eq!(status(&registry, "large.wasm").unwrap().1.unwrap().0, "compiler_failed");
    drop(registry);

    // No other version replaces a champion that is being compiled.
    fs::write(shelf.path().join("large.wasm"), padded(&Credit::new("1.3").build(), LARGE)).unwrap();
    let mut roles = assay_registry::Roles::default();
    roles.promote(KIND, &v("1.3"));
    let registry = Registry::open(Settings { limits, roles, ..settings }).unwrap();
    assert!(matches!(registry.champion::<CreditModel>(), Err(ScoreError::NoChampion(KIND))));
    // A version may be one of the files that are not compiled yet.
    assert_eq!(registry.in_service::<CreditModel>(&v("1.3")).unwrap_err().code(), "starting");
    release(&pipe);
    while status(&registry, "large.wasm").unwrap().0 == State::Compiling {
        tokio::task::yield_now().await;
    }
    // Nor one whose file turns out to be no model.
    assert!(matches!(registry.champion::<CreditModel>(), Err(ScoreError::NoChampion(KIND))));
    assert!(registry.vacancy(KIND).unwrap().contains("no other version stands in for it"));
    registry.set_champion(KIND, &v("1.0")).unwrap();
    assert_eq!((champion(&registry), registry.vacancy(KIND)), ("1.0".to_owned(), None));
}

/// Longer than any check of a small model.
const IN_TIME: Duration = Duration::from_secs(60);

fn make_pipe(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Lets one compiler continue.
fn release(pipe: &Path) {
    fs::write(pipe, "go\n").unwrap();
}
