//! The released components match their source: a new build has the same bytes, and the components give the same answers
//! as native code.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use assay_domain::{Address, Coverage, EventCounts, Population, Score, Standing, features::Features};
use assay_model::v2::{self, CreditModel as _};
use assay_model::{Assessment, CreditModel as _, types};
use assay_registry::{
    self, BoostModel, CreditModel, Limits, MockNft, MockPool, MockPosition, MockReport, MockToken, OfKind, Refusal,
    Registry, SandboxModel, ScoreError, Settings, SybilModel,
};
use assay_tests::{features, native};
use example::Repayments;
use example_v2::Leverage;
use sha2::{Digest, Sha256};

/// Released models whose source is in an earlier commit, which the last lines of `SHA256SUMS` name.
const REPLACED: [&str; 1] = ["credit-1.2"];

const COMPONENTS: [&str; 10] = [
    "credit-1.0",
    "credit-1.1",
    "credit-1.3",
    "credit-1.4",
    "enhanced-boost-1.1",
    "enhanced-boost",
    "sandbox-1.1",
    "sandbox-1.2",
    "sandbox",
    "sybil-1.0",
];

/// For each model that scores features.
const FEATURE_SETS: usize = 12_000;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace")
}

fn shelf() -> PathBuf {
    root().join("plugins")
}

/// Runs one script at a time: two concurrent scripts that add a target to rustup fail.
fn script(arguments: &[&str]) -> String {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let output = Command::new(root().join(".ci/models"))
        .args(arguments)
        .stderr(Stdio::inherit())
        // Cargo sets these variables for this test; the script needs its own.
        .env_remove("CARGO")
        .env_remove("RUSTC")
        .env_remove("CARGO_TARGET_DIR")
        .output()
        .expect("starting .ci/models");
    assert!(output.status.success(), ".ci/models {arguments:?}: {}", output.status);
    String::from_utf8(output.stdout).expect("text")
}

/// Every component, built from source once for all tests of this file.
fn rebuilt() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guests");
        let cores = folder.join("cores");
        // The script does not overwrite files that differ.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        script(&["--core", cores.to_str().expect("a path of text")]);
        for name in COMPONENTS {
            let core = fs::read(file(&cores, name)).expect("a core module");
            let component = assay_registry::to_component(&core).expect("a component");
            fs::write(file(&folder, name), component).expect("writing a component");
        }
        folder
    })
}

fn file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.wasm"))
}

/// The models of a folder, with the host's checks and confinement.
struct Shelf(Arc<Registry>);

impl Shelf {
    fn open(folder: &Path) -> Self {
        // Unoptimised tests on a busy machine are slow, and this test compares only answers.
        let limits =
            Limits { deadline: Duration::from_secs(60), self_test: Duration::from_secs(600), ..Limits::default() };
        Self(Registry::open(Settings { watch: false, limits, ..Settings::new(folder) }).expect("a registry"))
    }

    fn model<M: OfKind>(&self, version: &str) -> M {
        let found = self.0.version(&version.parse().expect("a version"));
        found.unwrap_or_else(|| panic!("{} {version} is not in service: {:#?}", M::KIND, self.0.list()))
    }
}

/// The results that must be equal in two implementations of a model.
#[derive(Debug, PartialEq)]
enum Answer {
    Score { score: u32, decile: u8, factors: Vec<Factor> },
    Refused(Refusal),
}

/// Label, rating from 0 for low, description, points, possible.
type Factor = (String, u8, String, i32, u32);

fn hosted(factors: Vec<assay_domain::Factor>) -> Vec<Factor> {
    let hosted = |factor: assay_domain::Factor| {
        let words = factor.words.expect("a model of wit/v1 gives words with every answer");
        (factor.label, words.rating as u8, words.description, factor.points, words.possible)
    };
    factors.into_iter().map(hosted).collect()
}

fn hosted_score(model: &CreditModel, features: &Features) -> Answer {
    match model.score(features) {
        Ok(a) => Answer::Score { score: a.score.get(), decile: a.decile.get(), factors: hosted(a.factors) },
        Err(ScoreError::Refused(why)) => Answer::Refused(why),
        Err(error) => panic!("{error}, on {features:?}"),
    }
}

fn native_factors(factors: Vec<types::Factor>) -> Vec<Factor> {
    factors.into_iter().map(|f| (f.label, f.rating as u8, f.description, f.points, f.possible)).collect()
}

fn native_score(answer: Result<Assessment, types::Refusal>) -> Answer {
    match answer {
        Ok(a) => Answer::Score { score: a.score, decile: a.decile, factors: native_factors(a.factors) },
        Err(types::Refusal::NoActivity) => Answer::Refused(Refusal::NoActivity),
        Err(types::Refusal::Missing(what)) => Answer::Refused(Refusal::Missing(what)),
    }
}

/// The released components; also the new build, unless its bytes are equal.
fn folders() -> Vec<PathBuf> {
    let same = COMPONENTS
        .iter()
        .all(|name| fs::read(file(&shelf(), name)).unwrap() == fs::read(file(rebuilt(), name)).unwrap());
    if same { vec![shelf()] } else { vec![shelf(), rebuilt().to_owned()] }
}

#[test]
fn the_pinned_toolchain_builds_the_released_bytes_again() {
    let toolchain = script(&["--print-toolchain"]);
    for name in COMPONENTS {
        let (released, built) = (fs::read(file(&shelf(), name)).unwrap(), fs::read(file(rebuilt(), name)).unwrap());
        if toolchain.contains("bytes=equal") {
            assert!(
                released == built,
                "{name} built from source differs from plugins/{name}.wasm, with the pinned toolchain: {toolchain}"
            );
        }
    }
}

#[test]
fn the_digests_are_those_of_the_components() {
    let sums = fs::read_to_string(shelf().join("SHA256SUMS")).unwrap();
    let digest = |name: &str| hex::encode(Sha256::digest(fs::read(file(&shelf(), name)).unwrap()));
    let (listed, notes): (Vec<&str>, Vec<&str>) = sums.lines().partition(|line| !line.starts_with('#'));
    let mut expected: Vec<String> =
        COMPONENTS.iter().chain(&REPLACED).map(|name| format!("{}  {name}.wasm", digest(name))).collect();
    expected.sort_by(|one, other| one[64..].cmp(&other[64..]));
    assert_eq!(listed, expected, "run .ci/models");
    assert!(REPLACED.iter().zip(notes).all(|(name, note)| note.contains(&format!("{name}.wasm"))), "{sums}");
}

#[test]
fn credit_models_answer_as_native_code_does() {
    let all = features::generate(11, FEATURE_SETS);
    for folder in folders() {
        let shelf = Shelf::open(&folder);
        let (one, two) = (shelf.model::<CreditModel>("1.0"), shelf.model::<CreditModel>("1.1"));
        for features in &all {
            let native = native::features(features);
            assert_eq!(hosted_score(&one, features), native_score(credit_1_0::score(&native)), "1.0 on {features:?}");
            assert_eq!(hosted_score(&two, features), native_score(credit_1_1::score(&native)), "1.1 on {features:?}");
        }
        for score in Score::MIN.get()..=Score::MAX.get() {
            let decile = |model: &CreditModel| model.decile(Score::new(score).unwrap()).get();
            assert_eq!((decile(&one), decile(&two)), (credit_1_0::decile(score), credit_1_1::decile(score)));
        }
    }
}

#[test]
fn fitted_models_answer_as_native_code_does() {
    type Native = fn(&v2::Features) -> Result<v2::Verdict, v2::Refusal>;
    let models: [(&str, Native); 2] = [("1.3", credit_1_3::score), ("1.4", credit_1_4::score)];
    for folder in folders() {
        let shelf = Shelf::open(&folder);
        for (version, native) in models {
            let model = shelf.model::<CreditModel>(version);
            for features in features::generate_v2(14, FEATURE_SETS) {
                match (model.score(&features), native(&native::features_v2(&features))) {
                    (Ok(answer), Ok(verdict)) => {
                        assert_eq!((answer.score.get(), answer.decile.get()), (verdict.score, verdict.decile));
                        let points: Vec<_> = answer.factors.iter().map(|factor| factor.points).collect();
                        assert_eq!(points, verdict.points, "{version} on {features:?}");
                    }
                    (Err(ScoreError::Refused(_)), Err(_)) => {}
                    (answer, native) => panic!("{version}: {answer:?} against {native:?}, on {features:?}"),
                }
            }
        }
    }
}

/// The words of the model say of each wallet whether it owes and whether a debt may be unread: the host must decide
/// alike.
#[test]
fn the_host_finds_the_population_of_a_wallet_as_the_model_does() {
    let (mut owing, mut unread) = (0, 0);
    for features in features::generate_v2(15, FEATURE_SETS) {
        let Ok(factors) = credit_1_3::explain(&native::features_v2(&features)) else { continue };
        let (words, wallet) = (&factors[0].description, Standing::of(&features));
        let owes = words.starts_with("You owe ") && !words.starts_with("You owe nothing");
        assert_eq!(wallet.owes(10.0), owes, "{words}: {wallet:?} of {features:?}");
        // Where nothing secures the debt, the words do not say whether all of it was read.
        if !words.contains("no deposit that secures it") {
            let hidden =
                words.contains("so you are scored as an average") || words.contains("other debt could not be read");
            assert_eq!(wallet.is_debt_unread, hidden, "{words}: {wallet:?} of {features:?}");
        }
        owing += u64::from(Population::Owing { usd: 10.0 }.contains(&wallet));
        unread += u64::from(Population::Unread.contains(&wallet));
    }
    assert!(owing > 100 && unread > 10, "{owing} owe, {unread} may owe");
}

#[test]
fn a_model_written_with_the_kit_is_checked_and_scores() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kit");
    let _ = fs::remove_dir_all(&folder);
    script(&["--core", "--package", "example", folder.to_str().expect("a path of text")]);
    let model = Shelf::open(&folder).model::<CreditModel>("0.1");
    for features in features::generate(13, 1_000) {
        let native = Repayments::score(native::features(&features));
        assert_eq!(hosted_score(&model, &features), native_score(native), "on {features:?}");
    }
}

#[test]
fn a_model_of_v2_sees_every_field_and_its_words_are_its_own() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kit-v2");
    let _ = fs::remove_dir_all(&folder);
    script(&["--core", "--package", "example-v2", folder.to_str().expect("a path of text")]);
    let model = Shelf::open(&folder).model::<CreditModel>("0.2");
    for features in features::generate_v2(13, 1_000) {
        let native = native::features_v2(&features);
        let (verdict, factors) = (Leverage::score(native.clone()).unwrap(), Leverage::explain(native).unwrap());
        let plain = model.score(&features).unwrap_or_else(|error| panic!("{error}, on {features:?}"));
        assert_eq!((plain.score.get(), plain.decile.get()), (verdict.score, verdict.decile), "on {features:?}");
        let points: Vec<_> = plain.factors.iter().map(|factor| factor.points).collect();
        assert_eq!(points, verdict.points);
        assert!(plain.factors.iter().all(|factor| factor.words.is_none()));
        let explained = hosted(model.explain(&features, &plain).unwrap().factors);
        let native: Vec<_> =
            factors.into_iter().map(|f| (f.label, f.rating as u8, f.description, f.points, f.possible)).collect();
        assert_eq!(explained, native, "on {features:?}");
    }
}

#[test]
fn the_sybil_model_answers_as_native_code_does() {
    let all = features::generate(12, FEATURE_SETS);
    for folder in folders() {
        let model = Shelf::open(&folder).model::<SybilModel>("1.0");
        for features in &all {
            let hosted_risk = model.risk(features).unwrap_or_else(|error| panic!("{error}, on {features:?}"));
            let native_risk = sybil_1_0::risk(&native::features(features));
            assert_eq!(u32::from(hosted_risk.risk), native_risk.risk);
            assert_eq!(hosted(hosted_risk.factors), native_factors(native_risk.factors), "on {features:?}");
        }
    }
}

#[test]
fn the_boost_answers_as_native_code_does() {
    let amounts = [0.0, 0.01, 1.0, 777.77, 33_333.333, 49_999.99, 50_000.0, 1e6, 1e300, -3.0, f64::NAN, f64::INFINITY];
    for folder in folders() {
        let shelf = Shelf::open(&folder);
        let (one, two) = (shelf.model::<BoostModel>("1.0"), shelf.model::<BoostModel>("1.1"));
        for score in (300..=1000).filter_map(Score::new) {
            for total_asset_usd in amounts {
                let off_chain = types::OffChain { total_asset_usd };
                let native = enhanced_boost::boost(score.get(), &off_chain);
                assert_eq!(one.boost(score, total_asset_usd).unwrap().get(), native, "{score} with {total_asset_usd}");
                let native = enhanced_boost_1_1::boost(score.get(), &off_chain);
                assert_eq!(two.boost(score, total_asset_usd).unwrap().get(), native, "{score} with {total_asset_usd}");
            }
        }
    }
}

/// The sandbox's fixed wallets 0x…00 to 0x…04, and 3,000 from a hash.
fn wallets() -> impl Iterator<Item = Address> {
    let hash = |n: u64| Sha256::digest(n.to_be_bytes());
    let drawn = (0..3_000).map(move |n| Address::from_slice(&hash(n)[..20]));
    (0..=4).map(Address::with_last_byte).chain(drawn)
}

/// The same for both versions of the generator, which are crates with equal functions.
macro_rules! answers_as_native_code_does {
    ($model:expr, $native:ident) => {
        for address in wallets() {
            let bytes = address.as_slice();
            let assets = f64::from(u32::from(bytes[0]) * 500);
            let boosted = $native::boosted_score(bytes, &types::OffChain { total_asset_usd: assets });
            assert_eq!($model.score(&address).unwrap().get(), $native::score(bytes));
            assert_eq!($model.boosted(&address, assets).unwrap().get(), boosted);
            assert_eq!(hosted($model.factors(&address).unwrap()), native_factors($native::factors(bytes)));
            let portfolio = $model.portfolio(&address).unwrap();
            let portfolio: Vec<_> = portfolio.iter().map(|chain| (chain.chain_id, chain.total_asset_usd)).collect();
            let expected = $native::portfolio(bytes);
            let expected: Vec<_> = expected.iter().map(|chain| (chain.chain_id, chain.total_asset_usd)).collect();
            assert_eq!(portfolio, expected);
            assert_eq!($model.report(&address).unwrap(), native_report($native::report(bytes)));
        }
    };
}

#[test]
fn the_sandbox_answers_as_native_code_does() {
    for folder in folders() {
        let shelf = Shelf::open(&folder);
        answers_as_native_code_does!(shelf.model::<SandboxModel>("1.0"), sandbox);
        answers_as_native_code_does!(shelf.model::<SandboxModel>("1.1"), sandbox_1_1);
        // The wallets of 1.2 are those of 1.1.
        answers_as_native_code_does!(shelf.model::<SandboxModel>("1.2"), sandbox_1_1);
    }
}

/// The generator's report in the host's type.
fn native_report(report: sandbox::MockReport) -> MockReport {
    let token = |t: sandbox::Token| MockToken {
        symbol: t.symbol,
        name: t.name,
        balance: t.balance,
        value_usd: t.value_usd,
        chain_id: t.chain_id,
    };
    let nft = |n: sandbox::Nft| MockNft { name: n.name, collection: n.collection, chain_id: n.chain_id };
    let position = |p: sandbox::Position| MockPosition {
        name: p.name,
        supplied: p.supplied,
        borrowed: p.borrowed,
        chain_id: p.chain_id,
    };
    // A pool of a protocol that collects no deposits has null for them, as in production.
    let pool = |p: sandbox::Pool| {
        let deposits = p.protocol != "lenderB_v2";
        MockPool {
            protocol: p.protocol,
            market_address: p.market_address,
            market: p.market,
            chain_id: p.chain_id,
            coverage: Coverage::Complete,
            feeds_score: deposits,
            synced_to_block: Some(p.synced_to_block),
            counts: EventCounts {
                supply: deposits.then_some(p.supply),
                withdraw: deposits.then_some(p.withdraw),
                borrow: Some(p.borrow),
                repay: Some(p.repay),
                liquidation: Some(p.liquidation),
            },
            first_event: p.first_event,
            last_event: p.last_event,
        }
    };
    MockReport {
        score: Score::new(report.score).unwrap(),
        tokens: report.tokens.into_iter().map(token).collect(),
        nfts: report.nfts.into_iter().map(nft).collect(),
        positions: report.positions.into_iter().map(position).collect(),
        pools: report.pools.into_iter().map(pool).collect(),
        first_transaction: report.first_transaction,
        total_transactions: report.total_transactions,
        active_chains: report.active_chains,
    }
}
