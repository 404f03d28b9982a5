//! Model cards: the purpose of a model, its origin, its evidence, and its claims by population. A card is a section of
//! the component, or a file `cards/<kind>-<version>.toml` on the shelf that names the digest of the component; together
//! with the model's own description it is rendered as a page of Markdown.

mod reasons;

use std::{
    fmt::Write as _,
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use assay_domain::{
    Claim, ClaimVerdict, Claimed, Claims, Digest, Factor, ModelInfo, ModelKind, ModelRef, ModelVersion, Population,
    Rate, ReasonCode, ReasonCodes, Reasons, Standing, stats::Interval,
};
use assay_registry::{LARGEST_CARD, Registry};
use config::{Config, File, FileFormat};
use moka::future::Cache;
use serde::Deserialize;

use crate::{Basis, Scored};
use assay_tasks::blocking;

pub use reasons::codes;

/// Models whose claims are kept.
const KEPT: u64 = 256;
/// How long a changed card may go unnoticed.
const MOMENT: Duration = Duration::from_secs(1);
/// A test with fewer wallets shows nothing.
const ENOUGH: u64 = 50;

/// Why a card cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum CardError {
    #[error("the card {} cannot be read: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
    #[error(
        "the card {} is for a component with digest {named}, but the model has {found}: replace the card",
        path.display()
    )]
    OtherBytes { path: PathBuf, named: String, found: Digest },
    #[error("the card {} has an invalid claim: {reason}", path.display())]
    BadClaim { path: PathBuf, reason: String },
    #[error("the card {} has an invalid reason: {reason}", path.display())]
    BadReason { path: PathBuf, reason: String },
    #[error("the card in the model {kind} {version} cannot be read: {reason}")]
    Packed { kind: ModelKind, version: ModelVersion, reason: String },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CardFile {
    /// Of the component. The card in a component has none.
    sha256: Option<String>,
    section: Vec<Section>,
    #[serde(default)]
    claim: Vec<CardClaims>,
    /// What the points of the factors are added to.
    base: Option<i32>,
    #[serde(default)]
    reason: Vec<ReasonCode>,
}

/// A claim as a card states it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CardClaims {
    /// In words.
    population: String,
    /// The population: wallets that owe at least this many dollars, and whose whole debt was read.
    owes_usd: Option<f64>,
    /// The population: wallets that were liquidated, and may have an unread debt.
    #[serde(default)]
    debt_unread: bool,
    /// The regime in which the rates hold, in words.
    condition: Option<String>,
    outcome: String,
    horizon_days: u32,
    rates: Vec<StatedRate>,
    /// The rates on records that they were not measured on.
    #[serde(default)]
    tested: Vec<Tested>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StatedRate {
    range: String,
    low: f64,
    estimate: f64,
    high: f64,
}

/// The observations in one range, on records that its rate was not measured on.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tested {
    range: String,
    wallets: u64,
    low: f64,
    observed: f64,
    high: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    title: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    head: Vec<String>,
    #[serde(default)]
    rows: Vec<Vec<String>>,
}

/// Where the card of a model is.
pub fn path(shelf: &Path, kind: ModelKind, version: &ModelVersion) -> PathBuf {
    shelf.join("cards").join(format!("{kind}-{version}.toml"))
}

/// Refuses a text that is not a card for a component.
///
/// # Errors
/// The problem and its place.
pub fn check(text: &str) -> Result<(), String> {
    if text.len() > LARGEST_CARD {
        return Err(format!("it has {} bytes, more than the limit of {LARGEST_CARD}", text.len()));
    }
    let card = parse(text)?;
    card.codes()?;
    match card.sha256 {
        Some(_) => Err("it names `sha256`: remove it, because the card becomes part of the bytes".into()),
        None => Ok(()),
    }
}

fn parse(text: &str) -> Result<CardFile, String> {
    let parsed = Config::builder().add_source(File::from_str(text, FileFormat::Toml)).build();
    parsed.and_then(Config::try_deserialize).map_err(|error| error.to_string())
}

/// The card as Markdown: that of the shelf or, without one, the `packed` one; `None` if the model has neither.
///
/// # Errors
/// [`CardError`].
pub fn markdown(
    shelf: &Path,
    info: &ModelInfo,
    digest: Digest,
    packed: Option<&str>,
) -> Result<Option<String>, CardError> {
    let Some(card) = card(shelf, info, digest, packed)? else { return Ok(None) };
    Ok(Some(render(&card, &claims(shelf, info, digest, packed)?, info, digest)))
}

/// The claims of a model, by population and horizon: those of its card, otherwise that of its component.
///
/// # Errors
/// [`CardError`], also if a claim of the component is not in the card.
pub fn claims(shelf: &Path, info: &ModelInfo, digest: Digest, packed: Option<&str>) -> Result<Vec<Claim>, CardError> {
    let stated = match card(shelf, info, digest, packed)? {
        Some(card) => card.claims(info, &path(shelf, info.kind, &info.version))?,
        None => Vec::new(),
    };
    Ok(if stated.is_empty() { in_words(info) } else { stated })
}

/// The claims of a model that are not shown to hold, in a sentence; `None` if it claims nothing, or if every rate holds
/// on records that it was not measured on, by the rule of a backtest. A test with fewer than 50 wallets shows nothing.
///
/// # Errors
/// As [`claims`].
pub fn doubts(
    shelf: &Path,
    info: &ModelInfo,
    digest: Digest,
    packed: Option<&str>,
) -> Result<Option<String>, CardError> {
    let claims = claims(shelf, info, digest, packed)?;
    let stated = card(shelf, info, digest, packed)?.map(|card| card.claim).unwrap_or_default();
    let mut found = Vec::new();
    for (index, claim) in claims.iter().enumerate() {
        let tested = stated.get(index).map(|stated| &stated.tested[..]).unwrap_or_default();
        let [failed, not_shown] = [ClaimVerdict::Fails, ClaimVerdict::NotShown].map(|wanted| {
            let of = claim.claims.rates.iter().filter(|rate| judged(rate, tested) == wanted);
            of.map(|rate| rate.range.as_str()).collect::<Vec<_>>().join(", ")
        });
        let days = claim.claims.horizon_days;
        for (ranges, verdict) in [(failed, "failed"), (not_shown, "not shown")] {
            if !ranges.is_empty() {
                found.push(format!("{ranges} within {days} days {verdict}"));
            }
        }
    }
    let words = |found: Vec<_>| format!("its card does not show that its claims hold ({})", found.join("; "));
    Ok((!found.is_empty()).then(|| words(found)))
}

/// The verdict on a rate: it fails if one test fails, and holds if none fails and one holds.
fn judged(rate: &Rate, tested: &[Tested]) -> ClaimVerdict {
    let own = tested.iter().filter(|test| test.range == rate.range.as_str() && test.wallets >= ENOUGH);
    let verdicts: Vec<_> =
        own.map(|test| rate.verdict(test.observed, Interval { low: test.low, high: test.high })).collect();
    let has = |verdict| verdicts.contains(&verdict);
    match () {
        () if has(ClaimVerdict::Fails) => ClaimVerdict::Fails,
        () if has(ClaimVerdict::Holds) => ClaimVerdict::Holds,
        () => ClaimVerdict::NotShown,
    }
}

/// The claim of the component.
pub fn in_words(info: &ModelInfo) -> Vec<Claim> {
    info.claims
        .iter()
        .map(|claims| Claim { population: Population::Words, condition: None, claims: claims.clone() })
        .collect()
}

/// The card of the shelf or, without one, the `packed` one; `None` if the model has neither.
fn card(shelf: &Path, info: &ModelInfo, digest: Digest, packed: Option<&str>) -> Result<Option<CardFile>, CardError> {
    let path = path(shelf, info.kind, &info.version);
    let unreadable = |reason: String| CardError::Unreadable { path: path.clone(), reason };
    let text = match read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return packed.map(parse).transpose().map_err(|reason| {
                let (kind, version) = (info.kind, info.version.clone());
                CardError::Packed { kind, version, reason }
            });
        }
        text => text.map_err(|error| unreadable(error.to_string()))?,
    };
    let card = parse(&text).map_err(unreadable)?;
    let named = card.sha256.clone().unwrap_or_default();
    if named != digest.to_string() {
        return Err(CardError::OtherBytes { path, named, found: digest });
    }
    Ok(Some(card))
}

impl CardFile {
    fn claims(&self, info: &ModelInfo, path: &Path) -> Result<Vec<Claim>, CardError> {
        let bad = |reason: String| CardError::BadClaim { path: path.to_owned(), reason };
        let claims: Vec<Claim> = self.claim.iter().map(CardClaims::checked).collect::<Result<_, _>>().map_err(bad)?;
        // A card that states populations states that of the component too, with the same rates.
        let says = |own: &Claims, claim: &Claim| {
            let Claims { outcome, horizon_days, rates, .. } = &claim.claims;
            (outcome, horizon_days, rates) == (&own.outcome, &own.horizon_days, &own.rates)
        };
        match &info.claims {
            Some(own) if !claims.is_empty() && !claims.iter().any(|claim| says(own, claim)) => Err(bad(format!(
                "none has the outcome, the horizon and the rates that the component claims ({} within {} days)",
                own.outcome, own.horizon_days
            ))),
            _ => Ok(claims),
        }
    }
}

impl CardClaims {
    fn checked(&self) -> Result<Claim, String> {
        let population = match (self.owes_usd, self.debt_unread) {
            (Some(usd), false) if usd.is_finite() && usd > 0.0 => Population::Owing { usd },
            (None, true) => Population::Unread,
            _ => return Err("it needs either owes_usd, above 0, or debt_unread = true".to_owned()),
        };
        let rate = |rate: &StatedRate| {
            let range = rate.range.parse().map_err(|()| format!("there is no range {:?}", rate.range))?;
            Ok(Rate { range, low: rate.low, estimate: rate.estimate, high: rate.high })
        };
        let is_test = |test: &Tested| {
            let shares = [0.0, test.low, test.observed, test.high, 1.0];
            shares.is_sorted() && self.rates.iter().any(|rate| rate.range == test.range)
        };
        if let Some(test) = self.tested.iter().find(|test| !is_test(test)) {
            return Err(format!("a test of the range {:?} without a rate, or with shares out of order", test.range));
        }
        let claims = Claims {
            outcome: self.outcome.clone(),
            horizon_days: self.horizon_days,
            population: self.population.clone(),
            rates: self.rates.iter().map(rate).collect::<Result<_, String>>()?,
        };
        claims.check()?;
        let condition = self.condition.as_deref().and_then(|text| text.parse().ok());
        Ok(Claim { population, condition, claims })
    }
}

/// A model's description of itself, and the card in its component.
pub type Described = (ModelInfo, Option<Arc<str>>);

/// What answers use of a card.
#[derive(Clone, Default)]
struct Kept {
    claims: Arc<[Claim]>,
    codes: Arc<ReasonCodes>,
}

/// The claims and reason codes of models in service, cached until their cards change.
pub struct Cards {
    shelf: PathBuf,
    kept: Cache<(Digest, Option<SystemTime>), Kept>,
    /// When a card was changed, for the moment: each score asks.
    changed: Cache<PathBuf, Option<SystemTime>>,
}

impl Cards {
    /// The claims of the model of `scored` for the wallet.
    pub async fn claimed(&self, registry: &Registry, scored: &Scored) -> Claimed {
        if matches!(scored.basis, Basis::Unknown) {
            return Claimed::Nothing;
        }
        let claims = self.claims(&scored.model, || described(registry, &scored.model)).await;
        match scored.basis {
            Basis::Wallet(standing) => assay_domain::claimed(&claims, &standing, scored.assessment.score.range()),
            _ if claims.is_empty() => Claimed::Nothing,
            _ => Claimed::Outside("No rate is claimed for a score with off-chain assets.".to_owned()),
        }
    }

    /// The reasons of `scored`; `None` if its model was not asked for words. A score with off-chain assets has those of
    /// the score from the chains alone, and a mock score has no base.
    pub async fn reasons(&self, registry: &Registry, scored: &Scored) -> Option<Reasons> {
        let standing = match &scored.basis {
            Basis::Wallet(standing) => Some(standing),
            Basis::Boosted | Basis::Unknown => None,
        };
        let factors = &scored.assessment.factors;
        let reasons = self.codes(registry, &scored.model).await.reasons(factors, standing)?;
        let clamp = reasons.clamp.filter(|_| !matches!(scored.basis, Basis::Unknown));
        Some(Reasons { clamp, ..reasons })
    }

    /// The reasons of a score with `factors` by `model`.
    pub async fn reasons_of(
        &self,
        registry: &Registry,
        model: &ModelRef,
        factors: &[Factor],
        standing: &Standing,
    ) -> Option<Reasons> {
        self.codes(registry, model).await.reasons(factors, Some(standing))
    }

    async fn codes(&self, registry: &Registry, model: &ModelRef) -> Arc<ReasonCodes> {
        self.kept(model, || described(registry, model)).await.codes
    }

    pub fn new(shelf: &Path) -> Self {
        let changed = Cache::builder().max_capacity(KEPT).time_to_live(MOMENT).build();
        Self { shelf: shelf.to_owned(), kept: Cache::new(KEPT), changed }
    }

    /// The claims of a loaded version that are not shown to hold, for the review of its promotion.
    pub async fn doubts(&self, registry: &Registry, kind: ModelKind, version: &ModelVersion) -> Option<String> {
        let model = registry.version_of(kind, version)?;
        let (shelf, digest, info) = (self.shelf.clone(), model.digest(), model.info().clone());
        let packed = model.notes().card.clone();
        let found = blocking(move || doubts(&shelf, &info, digest, packed.as_deref())).await;
        found.unwrap_or_else(|error| Some(error.to_string()))
    }

    /// The folder of models and their cards.
    pub fn shelf(&self) -> &Path {
        &self.shelf
    }

    /// The claims of `model`. A card that cannot be used claims nothing, and is logged. `info` is called only if the
    /// card was not read before.
    pub async fn claims(&self, model: &ModelRef, info: impl FnOnce() -> Option<Described>) -> Arc<[Claim]> {
        self.kept(model, info).await.claims
    }

    async fn kept(&self, model: &ModelRef, info: impl FnOnce() -> Option<Described>) -> Kept {
        let file = path(&self.shelf, model.kind, &model.version);
        let look = {
            let file = file.clone();
            blocking(move || fs::metadata(file).and_then(|found| found.modified()).ok())
        };
        let changed = self.changed.get_with(file, look).await;
        let read = async {
            let (info, packed) = info()?;
            let (shelf, digest) = (self.shelf.clone(), model.digest);
            let read = move || {
                let packed = packed.as_deref();
                (claims(&shelf, &info, digest, packed), codes(&shelf, &info, digest, packed))
            };
            let (claims, codes) = blocking(read).await;
            let claims = claims.inspect_err(|error| tracing::warn!(%error, "no claim is served"));
            let codes = codes.inspect_err(|error| tracing::warn!(%error, "reasons have codes of their labels"));
            Some(Kept {
                claims: claims.map(Into::into).unwrap_or_default(),
                codes: codes.map(Arc::new).unwrap_or_default(),
            })
        };
        self.kept.optionally_get_with((model.digest, changed), read).await.unwrap_or_default()
    }
}

/// The description and the packed card of a loaded model.
fn described(registry: &Registry, model: &ModelRef) -> Option<Described> {
    let loaded = registry.version_of(model.kind, &model.version);
    let loaded = loaded.filter(|loaded| loaded.digest() == model.digest)?;
    Some((loaded.info().clone(), loaded.notes().card.clone()))
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let read = fs::File::open(path)?.take(LARGEST_CARD as u64 + 1).read_to_string(&mut text)?;
    if read > LARGEST_CARD {
        return Err(io::Error::other(format!("it is larger than {LARGEST_CARD} bytes")));
    }
    Ok(text)
}

fn render(card: &CardFile, claims: &[Claim], info: &ModelInfo, digest: Digest) -> String {
    let mut page = format!("# {} {}\n\n{}\n\n", info.kind, info.version, info.title);
    // Writing to a string does not fail.
    let _ = writeln!(page, "- Component: SHA-256 `{digest}`\n- Authors: {}", info.authors.join(", "));
    let _ = writeln!(page, "- Reads: {}\n", info.reads.join(", "));
    if !claims.is_empty() {
        claimed(&mut page, claims);
    }
    for Section { title, text, head, rows } in &card.section {
        let _ = writeln!(page, "## {title}\n");
        if !text.is_empty() {
            let _ = writeln!(page, "{}\n", text.trim());
        }
        table(&mut page, head, rows);
    }
    card.render_reasons(&mut page);
    page
}

/// The claims, by population and horizon.
fn claimed(page: &mut String, claims: &[Claim]) {
    let _ = writeln!(page, "## What it claims\n");
    for claim in claims {
        let claims = &claim.claims;
        let _ = writeln!(
            page,
            "The share that is {} within {} days, by range. Population: {}. A range without a row has no claim.\n",
            claims.outcome,
            claims.horizon_days,
            claim.holds_for()
        );
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let row = |rate: &Rate| {
            let interval = format!("{} to {}", percent(rate.low), percent(rate.high));
            vec![rate.range.as_str().to_owned(), percent(rate.estimate), interval]
        };
        let head = ["Range", "Share", "95 % interval"].map(str::to_owned);
        table(page, &head, &claims.rates.iter().map(row).collect::<Vec<_>>());
    }
}

fn table(page: &mut String, head: &[String], rows: &[Vec<String>]) {
    if head.is_empty() {
        return;
    }
    let line = |cells: &[String]| {
        let cells: Vec<_> = cells.iter().map(|cell| cell.replace('|', "\\|").replace('\n', " ")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    page.push_str(&line(head));
    page.push_str(&format!("|{}\n", "---|".repeat(head.len())));
    rows.iter().for_each(|row| page.push_str(&line(row)));
    page.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_speaks_of_its_own_bytes_alone() {
        let shelf = tempfile::tempdir().unwrap();
        let info = ModelInfo {
            kind: ModelKind::Credit,
            version: "1.2".parse().unwrap(),
            title: "A model".into(),
            authors: vec!["me".into()],
            reads: vec!["as-of".into()],
            claims: None,
        };
        let packed = "[[section]]\ntitle = \"Limits\"\ntext = \"None known.\"\n";
        let own = markdown(shelf.path(), &info, Digest([1; 32]), Some(packed)).unwrap().unwrap();
        assert!(own.starts_with("# credit 1.2\n") && own.contains("## Limits\n\nNone known.\n"), "{own}");
        let wrong = markdown(shelf.path(), &info, Digest([1; 32]), Some("section = 1")).unwrap_err().to_string();
        assert!(wrong.contains("the card in the model credit 1.2 cannot be read"), "{wrong}");
        // The card of the shelf comes first.
        let card = |digest: Digest| markdown(shelf.path(), &info, digest, Some(packed).filter(|_| digest.0[0] != 1));
        assert!(card(Digest([1; 32])).unwrap().is_none(), "there is none");
        let file = path(shelf.path(), info.kind, &info.version);
        fs::create_dir(file.parent().unwrap()).unwrap();
        let text = format!(
            "sha256 = \"{}\"\n[[section]]\ntitle = \"Purpose\"\ntext = \"For A|B.\"\nhead = [\"Set\"]\nrows = \
             [[\"a|b\"]]\n",
            Digest([1; 32])
        );
        fs::write(&file, &text).unwrap();
        let page = card(Digest([1; 32])).unwrap().unwrap();
        assert!(
            page.starts_with("# credit 1.2\n")
                && page.contains("## Purpose\n\nFor A|B.\n\n| Set |\n|---|\n| a\\|b |\n"),
            "{page}"
        );
        assert!(matches!(card(Digest([2; 32])), Err(CardError::OtherBytes { .. })));
        let claim = "[[claim]]\npopulation = \"borrowers\"\noutcome = \"liquidated\"\nhorizon_days = 30\nowes_usd = \
                     10\n\
                     rates = [{ range = \"low\", low = 0.1, estimate = 0.2, high = 0.3 }]\n";
        let claims = |text: String| {
            fs::write(&file, text).unwrap();
            claims(shelf.path(), &info, Digest([1; 32]), None)
        };
        let found = claims(format!("{text}{claim}")).unwrap();
        assert_eq!((found.len(), found[0].population), (1, Population::Owing { usd: 10.0 }));
        let page = card(Digest([1; 32])).unwrap().unwrap();
        assert!(page.contains("within 30 days") && page.contains("| low | 20.0 % | 10.0 % to 30.0 % |"), "{page}");
        for (good, bad, words) in [
            ("owes_usd = 10", "debt_unread = false", "either owes_usd"),
            ("owes_usd = 10", "owes_usd = 10\ndebt_unread = true", "either owes_usd"),
            ("\"low\"", "\"lowest\"", "no range \"lowest\""),
            ("high = 0.3", "high = 0.1", "no shares in order"),
            ("horizon_days = 30", "horizon_days = 0", "a horizon of 0 days"),
        ] {
            let why = claims(format!("{text}{}", claim.replacen(good, bad, 1))).unwrap_err().to_string();
            assert!(why.contains(words), "{why}");
        }
        // The component claims other rates than the card.
        let own = Claims { horizon_days: 90, ..found[0].claims.clone() };
        let other = ModelInfo { claims: Some(own), ..info.clone() };
        fs::write(&file, format!("{text}{claim}")).unwrap();
        let why = super::claims(shelf.path(), &other, Digest([1; 32]), None).unwrap_err().to_string();
        assert!(why.contains("that the component claims (liquidated within 90 days)"), "{why}");
        fs::write(&file, text + "purpos = 1\n").unwrap();
        assert!(card(Digest([1; 32])).unwrap_err().to_string().contains("purpos"));
        fs::write(&file, " ".repeat(LARGEST_CARD + 1)).unwrap();
        assert!(card(Digest([1; 32])).unwrap_err().to_string().contains("larger than"));
    }

    /// The rates of the card of 1.3 are those that its fit measured.
    #[test]
    fn a_released_card_claims_what_its_fit_measured() {
        #[derive(Deserialize)]
        struct Scorecard {
            rate: Vec<Measured>,
        }
        #[derive(Deserialize)]
        struct Measured {
            population: String,
            days: u32,
            #[serde(flatten)]
            rate: StatedRate,
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let (shelf, file) = (root.join("plugins"), root.join("models/credit-1.3/scorecard.toml"));
        let model = assay_registry::standalone(&fs::read(shelf.join("credit-1.3.wasm")).unwrap(), &Default::default());
        let model = model.unwrap();
        let claims = claims(&shelf, model.info(), model.digest(), None).unwrap();
        let text = fs::read_to_string(file).unwrap();
        let fit = Config::builder().add_source(File::from_str(&text, FileFormat::Toml)).build().unwrap();
        let fit: Scorecard = fit.try_deserialize().unwrap();
        let claimed: Vec<_> = claims
            .iter()
            .flat_map(|Claim { population, claims, .. }| {
                let name = if *population == Population::Unread { "unread" } else { "position" };
                let one = move |Rate { range, low, estimate, high }: &Rate| {
                    (name.to_owned(), claims.horizon_days, range.as_str().to_owned(), *low, *estimate, *high)
                };
                claims.rates.iter().map(one)
            })
            .collect();
        let measured: Vec<_> = fit
            .rate
            .into_iter()
            .map(|Measured { population, days, rate }| {
                (population, days, rate.range, rate.low, rate.estimate, rate.high)
            })
            .collect();
        assert_eq!(claimed, measured);
    }

    /// The rates of the card of 1.4 are measured ones, of the regime that its claims name.
    #[test]
    fn a_claim_of_one_regime_is_a_measured_rate_of_it() {
        #[derive(Deserialize)]
        struct Evidence {
            rate: Vec<Measured>,
        }
        #[derive(Deserialize)]
        struct Measured {
            set: String,
            days: u32,
            regime: String,
            range: String,
            low: Option<f64>,
            estimate: f64,
            high: Option<f64>,
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let shelf = root.join("plugins");
        let model = assay_registry::standalone(&fs::read(shelf.join("credit-1.4.wasm")).unwrap(), &Default::default());
        let model = model.unwrap();
        let text = fs::read_to_string(root.join("models/credit-1.4/evidence.toml")).unwrap();
        let evidence = Config::builder().add_source(File::from_str(&text, FileFormat::Toml)).build().unwrap();
        let evidence: Evidence = evidence.try_deserialize().unwrap();
        let claims = claims(&shelf, model.info(), model.digest(), None).unwrap();
        assert_eq!(claims.len(), 3);
        for claim in &claims {
            assert_eq!(claim.condition, Some(assay_domain::Condition::Ether { percent: 30.0, falls: false }));
            let set = if claim.population == Population::Unread { "again" } else { "vaults" };
            for rate in &claim.claims.rates {
                let is_same = |found: &&Measured| {
                    (&*found.set, found.days, &*found.regime, &*found.range)
                        == (set, claim.claims.horizon_days, "otherwise", rate.range.as_str())
                };
                let found = evidence.rate.iter().find(is_same).unwrap();
                let measured = (found.low, found.estimate, found.high);
                assert_eq!(measured, (Some(rate.low), rate.estimate, Some(rate.high)), "{rate:?}");
            }
        }
    }

    #[test]
    fn a_claim_without_a_test_or_with_a_wide_one_is_not_shown() {
        let shelf = tempfile::tempdir().unwrap();
        let info = ModelInfo {
            kind: ModelKind::Credit,
            version: "2.0".parse().unwrap(),
            title: "A model".into(),
            authors: Vec::new(),
            reads: Vec::new(),
            claims: None,
        };
        let doubts_of = |info: &ModelInfo, packed: Option<&str>| doubts(shelf.path(), info, Digest([1; 32]), packed);
        assert_eq!(doubts_of(&info, None).unwrap(), None, "it claims nothing");
        let card = |tested: &str| {
            format!(
                "[[section]]\ntitle = \"Purpose\"\n[[claim]]\npopulation = \"borrowers\"\nowes_usd = 10\noutcome = \
                 \"liquidated\"\nhorizon_days = 30\nrates = [{{ range = \"low\", low = 0.08, estimate = 0.1, high = \
                 0.12 }}]\ntested = [{tested}]\n"
            )
        };
        let test = |wallets: u64, low: f64, observed: f64, high: f64| {
            format!("{{ range = \"low\", wallets = {wallets}, low = {low}, observed = {observed}, high = {high} }}, ")
        };
        let holds = test(900, 0.09, 0.1, 0.11);
        for (tested, says) in [
            (String::new(), Some("low within 30 days not shown")),
            (test(49, 0.09, 0.1, 0.11), Some("low within 30 days not shown")),
            (test(60, 0.03, 0.1, 0.3), Some("low within 30 days not shown")),
            (test(900, 0.2, 0.25, 0.3), Some("low within 30 days failed")),
            (holds.clone() + &test(900, 0.2, 0.25, 0.3), Some("low within 30 days failed")),
            (holds.clone() + &test(60, 0.03, 0.1, 0.3), None),
            (holds, None),
        ] {
            let found = doubts_of(&info, Some(&card(&tested))).unwrap();
            let says = says.map(|says| format!("its card does not show that its claims hold ({says})"));
            assert_eq!(found, says, "{tested}");
        }
        let wrong = doubts_of(&info, Some(&card(&test(60, 0.3, 0.1, 0.3)))).unwrap_err().to_string();
        assert!(wrong.contains("shares out of order"), "{wrong}");
        // A claim that only the component states.
        let rate = Rate { range: assay_domain::Range::Low, low: 0.1, estimate: 0.2, high: 0.3 };
        let (outcome, population) = ("liquidated".to_owned(), "all".to_owned());
        let own = Claims { outcome, horizon_days: 90, population, rates: vec![rate] };
        let info = ModelInfo { claims: Some(own), ..info };
        let found = doubts_of(&info, None).unwrap().unwrap();
        assert!(found.contains("low within 90 days not shown"), "{found}");
    }

    /// The tests in the card of 1.4 agree with its evidence, and by the rule of a backtest they are not enough.
    #[test]
    fn the_card_of_1_4_does_not_show_that_its_claims_hold() {
        #[derive(Deserialize)]
        struct Evidence {
            rate: Vec<Measured>,
        }
        #[derive(Deserialize)]
        struct Measured {
            set: String,
            days: u32,
            regime: String,
            range: String,
            wallets: u64,
            low: Option<f64>,
            estimate: f64,
            high: Option<f64>,
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let text = fs::read_to_string(root.join("models/credit-1.4/evidence.toml")).unwrap();
        let evidence = Config::builder().add_source(File::from_str(&text, FileFormat::Toml)).build().unwrap();
        let evidence: Evidence = evidence.try_deserialize().unwrap();
        let shelf = root.join("plugins");
        let model = assay_registry::standalone(&fs::read(shelf.join("credit-1.4.wasm")).unwrap(), &Default::default());
        let model = model.unwrap();
        let card = card(&shelf, model.info(), model.digest(), None).unwrap().unwrap();
        let tests = card.claim.iter().flat_map(|claim| claim.tested.iter().map(|test| (claim.horizon_days, test)));
        let mut count = 0;
        for (days, test) in tests {
            let is_same = |found: &&Measured| {
                (&*found.set, found.days, &*found.regime, &found.range) == ("borrowers", days, "otherwise", &test.range)
            };
            let found = evidence.rate.iter().find(is_same).unwrap();
            let measured = (found.wallets, found.low, found.estimate, found.high);
            assert_eq!(measured, (test.wallets, Some(test.low), test.observed, Some(test.high)), "{}", test.range);
            count += 1;
        }
        assert_eq!(count, 4);
        let found = doubts(&shelf, model.info(), model.digest(), None).unwrap().unwrap();
        assert!(found.contains("low, fair within 90 days not shown"), "{found}");
    }

    #[test]
    fn a_card_for_a_component_names_no_bytes() {
        assert_eq!(check("[[section]]\ntitle = \"Purpose\"\n"), Ok(()));
        let section = "[[section]]\ntitle = \"Purpose\"\n";
        for (text, words) in [
            (format!("sha256 = \"00\"\n{section}"), "it names `sha256`: remove it"),
            (section.replace("title", "titel"), "titel"),
            (section.repeat(10_000), "more than the limit of 262144"),
        ] {
            let said = check(&text).unwrap_err();
            assert!(said.contains(words), "{words}: {said}");
        }
    }
}
