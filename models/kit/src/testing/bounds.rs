//! The bounds of every answer, as the host checks them.

use crate::{Assessment, ChainValue, Factor, Kind, MockReport, ModelInfo, RiskAssessment};

/// The longest label, title and name, in characters.
const NAME: usize = 80;
/// The longest description, in characters.
const DESCRIPTION: usize = 500;
/// The most factors, authors, chains.
const FEW: usize = 32;
/// The most entries of any other list.
const MANY: usize = 256;
/// 2100-01-01: no mock event is later.
const FAR_FUTURE: u64 = 4_102_444_800;

type Checked = Result<(), String>;

pub fn info(info: &ModelInfo, kind: Kind) -> Checked {
    ensure(info.kind == kind, || format!("the kind is {:?}, not {kind:?}", info.kind))?;
    description(&info.version, &info.title, &info.authors, &info.reads)
}

pub fn description(version: &str, title: &str, authors: &[String], reads: &[String]) -> Checked {
    let number = |part: &str| (1..=9).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
    let dotted = (2..=4).contains(&version.split('.').count()) && version.split('.').all(number);
    ensure(dotted, || format!("version {version:?} is not two to four numbers joined by dots, such as 1.1"))?;
    text("title", title, NAME)?;
    count("authors", authors.len(), FEW)?;
    count("reads", reads.len(), MANY)?;
    authors.iter().try_for_each(|author| text("author", author, NAME))?;
    reads.iter().try_for_each(|input| text("input in `reads`", input, NAME))
}

pub fn assessment(answer: &Assessment, decile: impl Fn(u32) -> u8) -> Checked {
    score(answer.score)?;
    let expected = decile(answer.score);
    ensure(answer.decile == expected, || {
        format!("the decile is {}, and decile({}) is {expected}", answer.decile, answer.score)
    })?;
    factors(&answer.factors)
}

pub fn risk(answer: &RiskAssessment) -> Checked {
    ensure(answer.risk <= 100, || format!("the risk is {}, not 0 to 100", answer.risk))?;
    factors(&answer.factors)
}

pub fn score(score: u32) -> Checked {
    ensure((300..=1000).contains(&score), || format!("the score is {score}, not 300 to 1000"))
}

pub fn decile(decile: u8, last: u8) -> Checked {
    ensure((1..=10).contains(&decile), || format!("the decile is {decile}, not 1 to 10"))?;
    ensure(decile >= last, || format!("the decile is {decile}, below {last}: it never falls as the score rises"))
}

pub fn boosted(boosted: u32, from: u32) -> Checked {
    score(boosted)?;
    ensure(boosted >= from, || format!("the boosted score is {boosted}, below {from}"))
}

pub fn factors(factors: &[Factor]) -> Checked {
    count("factors", factors.len(), FEW)?;
    factors.iter().try_for_each(|factor| {
        text("factor label", &factor.label, NAME)?;
        text("factor description", &factor.description, DESCRIPTION)?;
        ensure(i64::from(factor.points) <= i64::from(factor.possible), || {
            format!("{} points of {} possible for {:?}", factor.points, factor.possible, factor.label)
        })
    })
}

pub fn report(report: &MockReport, expected: u32) -> Checked {
    ensure(report.score == expected, || format!("the score is {}, and score() is {expected}", report.score))?;
    count("tokens", report.tokens.len(), MANY)?;
    count("nfts", report.nfts.len(), MANY)?;
    count("positions", report.positions.len(), MANY)?;
    count("pools", report.pools.len(), MANY)?;
    count("active chains", report.active_chains.len(), FEW)?;
    time("first transaction", Some(report.first_transaction))?;
    for token in &report.tokens {
        text("token symbol", &token.symbol, NAME)?;
        text("token name", &token.name, NAME)?;
        text("token balance", &token.balance, NAME)?;
        decimal(&token.balance)?;
        dollars("token value-usd", token.value_usd)?;
    }
    for nft in &report.nfts {
        text("nft name", &nft.name, NAME)?;
        text("nft collection", &nft.collection, NAME)?;
    }
    for position in &report.positions {
        text("position name", &position.name, NAME)?;
        dollars("position supplied", position.supplied)?;
        dollars("position borrowed", position.borrowed)?;
    }
    for pool in &report.pools {
        text("pool protocol", &pool.protocol, NAME)?;
        pool.market.iter().try_for_each(|market| text("pool market", market, NAME))?;
        time("pool first-event", pool.first_event)?;
        time("pool last-event", pool.last_event)?;
    }
    Ok(())
}

pub fn portfolio(chains: &[ChainValue]) -> Checked {
    count("chains", chains.len(), FEW)?;
    let mut ids: Vec<_> = chains.iter().map(|chain| chain.chain_id).collect();
    ids.sort_unstable();
    ids.dedup();
    ensure(ids.len() == chains.len(), || "a chain is listed twice".to_owned())?;
    chains.iter().try_for_each(|chain| dollars("total-asset-usd", chain.total_asset_usd))
}

fn text(field: &str, text: &str, most: usize) -> Checked {
    let length = text.chars().count();
    ensure(length > 0, || format!("an empty {field}"))?;
    ensure(length <= most, || format!("a {field} of {length} characters; at most {most} are allowed"))?;
    ensure(!text.bytes().any(|b| b.is_ascii_control()), || format!("control characters in a {field}"))?;
    let is_hidden = |c| {
        matches!(c, '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
            || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    ensure(!text.chars().any(is_hidden), || format!("characters in a {field} that are not seen, or hide others"))
}

fn decimal(balance: &str) -> Checked {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let parts = balance.split_once('.').map_or((balance, "0"), |parts| parts);
    ensure(digits(parts.0) && digits(parts.1), || format!("the token balance {balance:?} is no decimal number"))
}

fn count(field: &str, length: usize, most: usize) -> Checked {
    ensure(length <= most, || format!("{length} {field}; at most {most} are allowed"))
}

fn dollars(field: &str, value: f64) -> Checked {
    ensure(value.is_finite() && value >= 0.0, || format!("a {field} of {value} is no amount of dollars"))
}

fn time(field: &str, seconds: Option<u64>) -> Checked {
    ensure(seconds.is_none_or(|at| at <= FAR_FUTURE), || format!("a {field} after the year 2100"))
}

fn ensure(holds: bool, problem: impl Fn() -> String) -> Checked {
    if holds { Ok(()) } else { Err(problem()) }
}
