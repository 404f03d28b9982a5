//! Components of toolchains that know nothing of Assay, built as `host/docs/components.md` says.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use assay_domain::{Coverage, Score};
use assay_registry::{CreditModel, OfKind as _, Question, ScoreError, Trials, standalone, to_component};
use assay_tests::{features, python};
use tempfile::TempDir;
use wit_component::{DecodedWasm, StringEncoding, decode, embed_component_metadata};
use wit_parser::{PackageId, Resolve};

use super::{limits, passes};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace")
}

fn page() -> String {
    fs::read_to_string(root().join("host/docs/components.md")).expect("the page")
}

/// The first blocks of each `language` on the page, in a new folder with the contract beside them.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let (page, place) = (page(), tempfile::tempdir().expect("a folder"));
    for (at, (language, file)) in files.iter().enumerate() {
        let before = files[..at].iter().filter(|(other, _)| other == language).count();
        let rest = page.split(&format!("\n```{language}\n")).nth(1 + before).unwrap_or_else(|| panic!("{language}"));
        let (text, _) = rest.split_once("\n```\n").expect("the end of the block");
        let path = place.path().join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, format!("{text}\n")).expect("a file");
    }
    let wit = place.path().join("wit");
    fs::create_dir(&wit).expect("a folder");
    for file in ["types.wit", "worlds.wit"] {
        fs::copy(root().join("wit/v1").join(file), wit.join(file)).expect("a file");
    }
    place
}

/// A line of the page, as a command with `program` in place of what it begins with.
fn line(program: impl AsRef<std::ffi::OsStr>, text: &str) -> Command {
    assert!(page().lines().any(|line| line == text), "the page has no line: {text}");
    let mut command = Command::new(program);
    command.args(text.split(' ').skip(1));
    command
}

/// The host takes the component, and its answers are those of the page's first sentence.
fn raises(bytes: &[u8]) {
    let component = to_component(bytes).expect("a component");
    let report = assay_registry::check(&component, &limits()).expect("it can be checked");
    assert!(report.ok, "{report}");
    println!("{report}");
    let trials = Trials::load(&component, &limits()).expect("a model");
    for (score, total_asset_usd) in (300..=1000).step_by(9).zip([0.0, 999_999.9, 1e6, f64::MAX].into_iter().cycle()) {
        let expected = if total_asset_usd >= 1e6 { u32::midpoint(score, 1000) } else { score };
        let score = Score::new(score).expect("a score");
        let answer = trials.ask(&Question::Boost { score, total_asset_usd }).answer.expect("a score");
        assert_eq!(answer.figure, expected, "{score} with {total_asset_usd}");
    }
}

fn soak() -> bool {
    env::var_os("ASSAY_SOAK").is_some()
}

#[test]
fn plain_rust_is_served() {
    let place = folder(&[("toml", "Cargo.toml"), ("rust", "src/lib.rs")]);
    // The packages that the workspace has.
    fs::copy(root().join("Cargo.lock"), place.path().join("Cargo.lock")).expect("a file");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("foreign");
    let mut cargo = line("cargo", "cargo build --release --target wasm32-unknown-unknown");
    passes(cargo.current_dir(place.path()).env("CARGO_TARGET_DIR", &target).env("CARGO_INCREMENTAL", "0"));
    raises(&fs::read(target.join("wasm32-unknown-unknown/release/half_the_gap.wasm")).expect("a module"));
}

/// The compiler has 100 MB, so only `ASSAY_SOAK=1` has this.
#[test]
fn plain_c_is_served() {
    if !soak() {
        return;
    }
    let place = folder(&[("c", "boost.c"), ("c", "credit.c")]);
    let packages = tempfile::tempdir().expect("a folder");
    let python = python::interpreter().expect("Python");
    let install = ["-m", "pip", "install", "--quiet", "--no-deps", "--target"];
    passes(Command::new(&python).args(install).arg(packages.path()).arg("ziglang==0.17.1"));
    let text = "python3 -m ziglang cc -target wasm32-freestanding -Os -nostdlib \
                -Wl,--no-entry,-z,stack-size=8192 -s boost.c -o raw.wasm";
    let built = |source: &str, world: &str| {
        let mut command = line(&python, text);
        if source != "boost.c" {
            command = Command::new(&python);
            command.args(text.replace("boost.c", source).split(' ').skip(1));
        }
        passes(command.current_dir(place.path()).env("PYTHONPATH", packages.path()));
        let mut module = fs::read(place.path().join("raw.wasm")).expect("a module");
        // What `wasm-tools component embed` does.
        let (resolve, package) = contract("v1");
        let world = resolve.select_world(&[package], Some(world)).expect("the world");
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8, false).expect("metadata");
        module
    };
    raises(&built("boost.c", "score-boost"));
    counts_transactions(&built("credit.c", "credit-model"));
}

/// The host takes the credit model of the page, and its answers are those of the page.
fn counts_transactions(module: &[u8]) {
    let component = to_component(module).expect("a component");
    let report = assay_registry::check(&component, &limits()).expect("it can be checked");
    assert!(report.ok, "{report}");
    println!("{report}");
    let model = CreditModel::of(&standalone(&component, &limits()).expect("a model")).expect("a credit model");
    let mut refused = 0;
    for wallet in features::generate(3, 500) {
        let read = wallet.chains.iter().filter(|chain| chain.coverage != Coverage::Failed);
        let sent: u64 = read.map(|chain| chain.transactions.min(70)).sum();
        match model.score(&wallet) {
            Ok(answer) => assert_eq!(u64::from(answer.score.get()), 300 + 10 * sent.min(70), "{wallet:?}"),
            Err(ScoreError::Refused(_)) if sent == 0 => refused += 1,
            Err(error) => panic!("{error}: {wallet:?}"),
        }
    }
    println!("500 wallets, {refused} refused");
}

/// The compiler has 100 MB, so only `ASSAY_SOAK=1` has this.
#[test]
fn a_component_of_componentize_js_is_served() {
    if !soak() {
        return;
    }
    let place = folder(&[("js", "model.js")]);
    passes(line("npm", "npm install @bytecodealliance/componentize-js@0.23.0").current_dir(place.path()));
    let text = "npx componentize-js model.js --wit wit --world-name score-boost \
                -d stdio random clocks http fetch-event -o boost.wasm";
    passes(line("npx", text).current_dir(place.path()));
    raises(&fs::read(place.path().join("boost.wasm")).expect("a component"));
}

/// Compiling it takes half a minute, so only `ASSAY_SOAK=1` has this.
#[test]
fn a_component_of_componentize_py_is_served() {
    if !soak() {
        return;
    }
    let place = folder(&[("python", "model.py")]);
    let tool: PathBuf = python::interpreter().expect("Python").with_file_name("componentize-py");
    let text = "componentize-py -d wit -w score-boost componentize --stub-wasi model -o boost.wasm";
    passes(line(tool, text).current_dir(place.path()));
    raises(&fs::read(place.path().join("boost.wasm")).expect("a component"));
}

fn contract(version: &str) -> (Resolve, PackageId) {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(root().join("wit").join(version)).expect("the contract");
    (resolve, package)
}

/// A folder of `wit` is one package, as wkg publishes it.
#[test]
fn the_contracts_are_packages() {
    for (version, name) in [("v1", "assay:model@1.0.0"), ("v2", "assay:model@2.0.0")] {
        let (resolve, package) = contract(version);
        let bytes = wit_component::encode(&resolve, package, false).expect("a package");
        let DecodedWasm::WitPackage(resolve, package) = decode(&bytes).expect("a package") else {
            panic!("wit/{version} is a component");
        };
        let package = &resolve.packages[package];
        let worlds: Vec<&str> = package.worlds.keys().map(String::as_str).collect();
        assert_eq!(package.name.to_string(), name);
        assert_eq!(worlds, ["credit-model", "score-boost", "sybil-model", "sandbox-generator"], "{name}");
        assert_eq!(resolve.packages.len(), 1, "{name} needs another package");
        assert!(page().contains(&format!("| `wit/{version}` | `{name}` |")), "{name}");
    }
}
