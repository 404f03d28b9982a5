//! The checks of every answer before it leaves the registry: ranges, lengths, finite numbers.

use crate::{ChainValue, MockNft, MockPool, MockPosition, MockReport, MockToken, Refusal, ScoreError, abi::raw};
use assay_domain::{Assessment, Decile, Factor, ModelInfo, ModelKind, Range, RiskAssessment, Score};

/// The longest `label`, `title` and name, in characters.
const NAME: usize = 80;
/// The longest `description`, in characters.
const DESCRIPTION: usize = 500;
/// The most factors, authors and chains.
const FEW: usize = 32;
/// The most entries of any other list.
const MANY: usize = 256;
/// 2100-01-01: no mock event is later.
const FAR_FUTURE: u64 = 4_102_444_800;

type Checked<T> = Result<T, ScoreError>;

pub(crate) fn info(raw: raw::ModelInfo) -> Result<ModelInfo, String> {
    let version = raw.version.parse()?;
    let text = |field: &str, text: &str| check_text(field, text, NAME).map_err(|error| error.to_string());
    text("title", &raw.title)?;
    count("authors", raw.authors.len(), FEW)
        .and_then(|()| count("reads", raw.reads.len(), MANY))
        .map_err(|error| error.to_string())?;
    raw.authors.iter().try_for_each(|author| text("author", author))?;
    raw.reads.iter().try_for_each(|read| text("input in `reads`", read))?;
    Ok(ModelInfo { kind: kind(raw.kind), version, title: raw.title, authors: raw.authors, reads: raw.reads })
}

pub(crate) fn assessment(
    raw: Result<raw::Assessment, raw::Refusal>,
    decile: impl Fn(Score) -> Decile,
) -> Checked<Assessment> {
    let raw = raw.map_err(|refusal| match refusal {
        raw::Refusal::NoActivity => ScoreError::Refused(Refusal::NoActivity),
        raw::Refusal::Missing(what) => ScoreError::Refused(Refusal::Missing(what.chars().take(DESCRIPTION).collect())),
    })?;
    let score = score(raw.score)?;
    let decile = decile(score);
    if raw.decile != decile.get() {
        return nonsense(format!(
            "a decile of {} beside the score {score}, whose decile it calls {}",
            raw.decile,
            decile.get()
        ));
    }
    Ok(Assessment { score, decile, factors: factors(raw.factors)? })
}

pub(crate) fn risk(raw: raw::RiskAssessment) -> Checked<RiskAssessment> {
    match u8::try_from(raw.risk) {
        Ok(risk) if risk <= 100 => Ok(RiskAssessment { risk, factors: factors(raw.factors)? }),
        _ => nonsense(format!("a risk of {}, which is not 0 to 100", raw.risk)),
    }
}

pub(crate) fn score(value: u32) -> Checked<Score> {
    Score::new(value).map_or_else(|| nonsense(format!("a score of {value}, which is not 300 to 1000")), Ok)
}

pub(crate) fn decile(value: u8) -> Checked<Decile> {
    Decile::new(value).map_or_else(|| nonsense(format!("a decile of {value}, which is not 1 to 10")), Ok)
}

pub(crate) fn boosted(value: u32, from: Score) -> Checked<Score> {
    let boosted = score(value)?;
    if boosted < from {
        nonsense(format!("a boosted score of {boosted}, below the {from} it started from"))
    } else {
        Ok(boosted)
    }
}

pub(crate) fn factors(raw: Vec<raw::Factor>) -> Checked<Vec<Factor>> {
    count("factors", raw.len(), FEW)?;
    raw.into_iter().map(factor).collect()
}

fn factor(raw: raw::Factor) -> Checked<Factor> {
    check_text("factor label", &raw.label, NAME)?;
    check_text("factor description", &raw.description, DESCRIPTION)?;
    let rating = match raw.rating {
        raw::Rating::Low => Range::Low,
        raw::Rating::Fair => Range::Fair,
        raw::Rating::Good => Range::Good,
        raw::Rating::VeryGood => Range::VeryGood,
        raw::Rating::Excellent => Range::Excellent,
    };
    if i64::from(raw.points) > i64::from(raw.possible) {
        return nonsense(format!("{} points of {} possible for {:?}", raw.points, raw.possible, raw.label));
    }
    Ok(Factor { label: raw.label, rating, description: raw.description, points: raw.points, possible: raw.possible })
}

pub(crate) fn report(raw: raw::MockReport) -> Checked<MockReport> {
    for (field, length, most) in [
        ("tokens", raw.tokens.len(), MANY),
        ("nfts", raw.nfts.len(), MANY),
        ("positions", raw.positions.len(), MANY),
        ("pools", raw.pools.len(), MANY),
        ("active chains", raw.active_chains.len(), FEW),
    ] {
        count(field, length, most)?;
    }
    time("first transaction", Some(raw.first_transaction))?;
    Ok(MockReport {
        score: score(raw.score)?,
        tokens: raw.tokens.into_iter().map(token).collect::<Checked<_>>()?,
        nfts: raw.nfts.into_iter().map(nft).collect::<Checked<_>>()?,
        positions: raw.positions.into_iter().map(position).collect::<Checked<_>>()?,
        pools: raw.pools.into_iter().map(pool).collect::<Checked<_>>()?,
        first_transaction: raw.first_transaction,
        total_transactions: raw.total_transactions,
        active_chains: raw.active_chains,
    })
}

pub(crate) fn portfolio(raw: Vec<raw::ChainValue>) -> Checked<Vec<ChainValue>> {
    count("chains", raw.len(), FEW)?;
    let mut chains: Vec<ChainValue> = Vec::with_capacity(raw.len());
    for raw::ChainValue { chain_id, total_asset_usd } in raw {
        dollars("total-asset-usd", total_asset_usd)?;
        if chains.iter().any(|chain| chain.chain_id == chain_id) {
            return nonsense(format!("chain {chain_id} twice in one portfolio"));
        }
        chains.push(ChainValue { chain_id, total_asset_usd });
    }
    Ok(chains)
}

fn token(raw: raw::Token) -> Checked<MockToken> {
    check_text("token symbol", &raw.symbol, NAME)?;
    check_text("token name", &raw.name, NAME)?;
    check_text("token balance", &raw.balance, NAME)?;
    dollars("token value-usd", raw.value_usd)?;
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let (whole, fraction) =
        raw.balance.split_once('.').map_or((raw.balance.as_str(), None), |(whole, fraction)| (whole, Some(fraction)));
    if !digits(whole) || !fraction.is_none_or(digits) {
        return nonsense(format!("the token balance {:?}, which is no decimal number", raw.balance));
    }
    Ok(MockToken {
        symbol: raw.symbol,
        name: raw.name,
        balance: raw.balance,
        value_usd: raw.value_usd,
        chain_id: raw.chain_id,
    })
}

fn nft(raw: raw::Nft) -> Checked<MockNft> {
    check_text("nft name", &raw.name, NAME)?;
    check_text("nft collection", &raw.collection, NAME)?;
    Ok(MockNft { name: raw.name, collection: raw.collection, chain_id: raw.chain_id })
}

fn position(raw: raw::Position) -> Checked<MockPosition> {
    check_text("position name", &raw.name, NAME)?;
    dollars("position supplied", raw.supplied)?;
    dollars("position borrowed", raw.borrowed)?;
    Ok(MockPosition { name: raw.name, supplied: raw.supplied, borrowed: raw.borrowed, chain_id: raw.chain_id })
}

fn pool(raw: raw::Pool) -> Checked<MockPool> {
    check_text("pool protocol", &raw.protocol, NAME)?;
    if let Some(market) = &raw.market {
        check_text("pool market", market, NAME)?;
    }
    if assay_domain::parse_address(&raw.market_address).is_err() {
        return nonsense("a pool whose market-address is no Ethereum address".to_owned());
    }
    time("pool first-event", raw.first_event)?;
    time("pool last-event", raw.last_event)?;
    Ok(MockPool {
        protocol: raw.protocol,
        market_address: raw.market_address,
        market: raw.market,
        chain_id: raw.chain_id,
        synced_to_block: raw.synced_to_block,
        supply: raw.supply,
        withdraw: raw.withdraw,
        borrow: raw.borrow,
        repay: raw.repay,
        liquidation: raw.liquidation,
        first_event: raw.first_event,
        last_event: raw.last_event,
    })
}

fn kind(raw: raw::Kind) -> ModelKind {
    match raw {
        raw::Kind::Credit => ModelKind::Credit,
        raw::Kind::Boost => ModelKind::Boost,
        raw::Kind::Sybil => ModelKind::Sybil,
        raw::Kind::Sandbox => ModelKind::Sandbox,
    }
}

fn check_text(field: &str, text: &str, most: usize) -> Checked<()> {
    // A text of n bytes has at most n characters, so only long texts are counted.
    let length = if text.len() <= most { text.len() } else { text.chars().count() };
    match length {
        0 => nonsense(format!("an empty {field}")),
        _ if length > most => Err(ScoreError::TextTooLong { field: field.to_owned(), length, most }),
        _ if text.bytes().any(|b| b.is_ascii_control()) => nonsense(format!("control characters in a {field}")),
        _ => Ok(()),
    }
}

fn count(field: &str, length: usize, most: usize) -> Checked<()> {
    if length > most { nonsense(format!("{length} {field}, of which there may be {most}")) } else { Ok(()) }
}

fn dollars(field: &str, value: f64) -> Checked<()> {
    if value.is_finite() && value >= 0.0 {
        Ok(())
    } else {
        nonsense(format!("a {field} of {value}, which is no amount of dollars"))
    }
}

fn time(field: &str, seconds: Option<u64>) -> Checked<()> {
    match seconds {
        Some(seconds) if seconds > FAR_FUTURE => nonsense(format!("a {field} at {seconds}, after the year 2100")),
        _ => Ok(()),
    }
}

fn nonsense<T>(what: String) -> Checked<T> {
    Err(ScoreError::OutOfRange(what))
}
