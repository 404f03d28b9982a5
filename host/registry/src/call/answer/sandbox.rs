//! The checks of a sandbox model's answers.

use super::{CheckedAnswer, DESCRIPTION, FEW, MANY, NAME, check_text, count, nonsense, score};
use crate::{
    Behaviour, ChainValue, MockNft, MockPool, MockPosition, MockReport, MockSubject, MockToken, Phase, Scenario,
    call::abi::raw,
};
use assay_domain::{Address, Coverage, EventCounts, PaymentRefusal};

/// 2100-01-01, the latest time of a mock event.
const FAR_FUTURE: u64 = 4_102_444_800;
/// Maximum number of scenarios.
const SCENARIOS: usize = 64;

pub(crate) fn report(raw: raw::MockReport) -> CheckedAnswer<MockReport> {
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
        tokens: raw.tokens.into_iter().map(token).collect::<CheckedAnswer<_>>()?,
        nfts: raw.nfts.into_iter().map(nft).collect::<CheckedAnswer<_>>()?,
        positions: raw.positions.into_iter().map(position).collect::<CheckedAnswer<_>>()?,
        pools: raw.pools.into_iter().map(pool).collect::<CheckedAnswer<_>>()?,
        first_transaction: raw.first_transaction,
        total_transactions: raw.total_transactions,
        active_chains: raw.active_chains,
    })
}

pub(crate) fn portfolio(raw: Vec<raw::ChainValue>) -> CheckedAnswer<Vec<ChainValue>> {
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

fn token(raw: raw::Token) -> CheckedAnswer<MockToken> {
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

fn nft(raw: raw::Nft) -> CheckedAnswer<MockNft> {
    check_text("nft name", &raw.name, NAME)?;
    check_text("nft collection", &raw.collection, NAME)?;
    Ok(MockNft { name: raw.name, collection: raw.collection, chain_id: raw.chain_id })
}

fn position(raw: raw::Position) -> CheckedAnswer<MockPosition> {
    check_text("position name", &raw.name, NAME)?;
    dollars("position supplied", raw.supplied)?;
    dollars("position borrowed", raw.borrowed)?;
    Ok(MockPosition { name: raw.name, supplied: raw.supplied, borrowed: raw.borrowed, chain_id: raw.chain_id })
}

fn pool(raw: raw::Pool) -> CheckedAnswer<MockPool> {
    check_text("pool protocol", &raw.protocol, NAME)?;
    if let Some(market) = &raw.market {
        check_text("pool market", market, NAME)?;
    }
    if assay_domain::parse_address(&raw.market_address).is_err() {
        return nonsense("a pool whose market-address is no Ethereum address".to_owned());
    }
    time("pool first-event", raw.first_event)?;
    time("pool last-event", raw.last_event)?;
    let coverage = match raw.coverage {
        raw::Coverage::Complete => Coverage::Complete,
        raw::Coverage::Partial => Coverage::Partial,
        raw::Coverage::Pending => Coverage::Pending,
        raw::Coverage::Failed => Coverage::Failed,
    };
    let raw::Pool { supply, withdraw, borrow, repay, liquidation, .. } = raw;
    Ok(MockPool {
        protocol: raw.protocol,
        market_address: raw.market_address,
        market: raw.market,
        chain_id: raw.chain_id,
        coverage,
        feeds_score: raw.feeds_score,
        synced_to_block: raw.synced_to_block,
        counts: EventCounts { supply, withdraw, borrow, repay, liquidation },
        first_event: raw.first_event,
        last_event: raw.last_event,
    })
}

pub(crate) fn scenarios(raw: Vec<raw::Scenario>) -> CheckedAnswer<Vec<Scenario>> {
    count("scenarios", raw.len(), SCENARIOS)?;
    let mut scenarios: Vec<Scenario> = Vec::with_capacity(raw.len());
    for raw::Scenario { id, title, subject, description } in raw {
        check_text("scenario id", &id, NAME)?;
        check_text("scenario title", &title, NAME)?;
        check_text("scenario description", &description, DESCRIPTION)?;
        if !id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-') {
            return nonsense(format!(
                "the scenario id {id:?}, which has other than lower-case letters, digits, dashes"
            ));
        }
        if scenarios.iter().any(|other| other.id == id) {
            return nonsense(format!("the scenario id {id:?} twice"));
        }
        let subject = match subject {
            raw::Subject::Address(bytes) => match Address::try_from(bytes.as_slice()) {
                Ok(address) => MockSubject::Address(address),
                Err(_) => return nonsense(format!("an address of {} bytes in scenario {id:?}", bytes.len())),
            },
            raw::Subject::Agent(0) => return nonsense(format!("the agent id 0 in scenario {id:?}")),
            raw::Subject::Agent(agent) => MockSubject::Agent(agent),
        };
        scenarios.push(Scenario { id, title, subject, description });
    }
    Ok(scenarios)
}

pub(crate) fn behaviour(raw: Option<raw::Behaviour>) -> CheckedAnswer<Option<Behaviour>> {
    let Some(raw) = raw else { return Ok(None) };
    Ok(Some(match raw {
        raw::Behaviour::Pending(asks) => Behaviour::Pending(within("pending", asks, 2, 100)?),
        raw::Behaviour::Partial => Behaviour::Partial,
        raw::Behaviour::FailedPool => Behaviour::FailedPool,
        raw::Behaviour::Provisional => Behaviour::Provisional,
        raw::Behaviour::ChainUnread(chain) => Behaviour::ChainUnread(chain),
        raw::Behaviour::LiquidatedYesterday => Behaviour::LiquidatedYesterday,
        raw::Behaviour::NotFound => Behaviour::NotFound,
        raw::Behaviour::RateLimited(seconds) => Behaviour::RateLimited(within("rate-limited", seconds, 1, 3_600)?),
        raw::Behaviour::UpstreamFailed => Behaviour::UpstreamFailed,
        raw::Behaviour::Unavailable => Behaviour::Unavailable,
        raw::Behaviour::Slow(millis) => Behaviour::Slow(within("slow", millis, 0, 60_000)?),
        raw::Behaviour::SubmissionFails(phase) => Behaviour::SubmissionFails(match phase {
            raw::Phase::Scoring => Phase::Scoring,
            raw::Phase::Uploading => Phase::Uploading,
            raw::Phase::Submitting => Phase::Submitting,
        }),
        raw::Behaviour::PaymentRefused(reason) => Behaviour::PaymentRefused(payment(reason)),
    }))
}

fn payment(raw: raw::PaymentRefusal) -> PaymentRefusal {
    match raw {
        raw::PaymentRefusal::Network => PaymentRefusal::Network,
        raw::PaymentRefusal::Recipient => PaymentRefusal::Recipient,
        raw::PaymentRefusal::Value => PaymentRefusal::Value,
        raw::PaymentRefusal::NotYetValid => PaymentRefusal::NotYetValid,
        raw::PaymentRefusal::Expired => PaymentRefusal::Expired,
        raw::PaymentRefusal::Signature => PaymentRefusal::Signature,
        raw::PaymentRefusal::InsufficientFunds => PaymentRefusal::InsufficientFunds,
        raw::PaymentRefusal::NonceUsed => PaymentRefusal::NonceUsed,
        raw::PaymentRefusal::TransactionReverted => PaymentRefusal::TransactionReverted,
        raw::PaymentRefusal::SettlementFailed => PaymentRefusal::SettlementFailed,
    }
}

fn within(behaviour: &str, value: u32, least: u32, most: u32) -> CheckedAnswer<u32> {
    if (least..=most).contains(&value) {
        Ok(value)
    } else {
        nonsense(format!("{behaviour}({value}), which is not {least} to {most}"))
    }
}

fn dollars(field: &str, value: f64) -> CheckedAnswer<()> {
    if value.is_finite() && value >= 0.0 {
        Ok(())
    } else {
        nonsense(format!("a {field} of {value}, which is no amount of dollars"))
    }
}

fn time(field: &str, seconds: Option<u64>) -> CheckedAnswer<()> {
    match seconds {
        Some(seconds) if seconds > FAR_FUTURE => nonsense(format!("a {field} at {seconds}, after the year 2100")),
        _ => Ok(()),
    }
}
