//! Converts answers of `wit/v1` to the types of the newest interface.

use super::{super::raw, Assessment, RiskAssessment, sandbox, wit};
use assay_domain::Protocol;

impl From<wit::ModelInfo> for raw::ModelInfo {
    fn from(info: wit::ModelInfo) -> Self {
        let wit::ModelInfo { kind, version, title, authors, reads } = info;
        let kind = match kind {
            wit::Kind::Credit => raw::Kind::Credit,
            wit::Kind::Boost => raw::Kind::Boost,
            wit::Kind::Sybil => raw::Kind::Sybil,
            wit::Kind::Sandbox => raw::Kind::Sandbox,
        };
        Self { kind, version, title, authors, reads, claims: None }
    }
}

impl From<wit::Refusal> for raw::Refusal {
    fn from(refusal: wit::Refusal) -> Self {
        match refusal {
            wit::Refusal::NoActivity => Self::NoActivity,
            wit::Refusal::Missing(what) => Self::Missing(what),
        }
    }
}

impl From<Assessment> for raw::Verdict {
    fn from(Assessment { score, decile, factors: given }: Assessment) -> Self {
        Self { score, decile, factors: raw::Factors::Words(factors(given)) }
    }
}

impl From<RiskAssessment> for raw::RiskVerdict {
    fn from(RiskAssessment { risk, factors: given }: RiskAssessment) -> Self {
        Self { risk, factors: raw::Factors::Words(factors(given)) }
    }
}

pub(super) fn factors(given: Vec<wit::Factor>) -> Vec<raw::Factor> {
    given.into_iter().map(Into::into).collect()
}

impl From<wit::Factor> for raw::Factor {
    fn from(factor: wit::Factor) -> Self {
        let wit::Factor { label, rating, description, points, possible } = factor;
        let rating = match rating {
            wit::Rating::Low => raw::Rating::Low,
            wit::Rating::Fair => raw::Rating::Fair,
            wit::Rating::Good => raw::Rating::Good,
            wit::Rating::VeryGood => raw::Rating::VeryGood,
            wit::Rating::Excellent => raw::Rating::Excellent,
        };
        Self { label, rating, description, points, possible }
    }
}

impl From<sandbox::MockReport> for raw::MockReport {
    fn from(report: sandbox::MockReport) -> Self {
        Self {
            score: report.score,
            tokens: report.tokens.into_iter().map(Into::into).collect(),
            nfts: report.nfts.into_iter().map(Into::into).collect(),
            positions: report.positions.into_iter().map(Into::into).collect(),
            pools: report.pools.into_iter().map(Into::into).collect(),
            first_transaction: report.first_transaction,
            total_transactions: report.total_transactions,
            active_chains: report.active_chains,
        }
    }
}

impl From<sandbox::Token> for raw::Token {
    fn from(token: sandbox::Token) -> Self {
        let sandbox::Token { symbol, name, balance, value_usd, chain_id } = token;
        Self { symbol, name, balance, value_usd, chain_id }
    }
}

impl From<sandbox::Nft> for raw::Nft {
    fn from(sandbox::Nft { name, collection, chain_id }: sandbox::Nft) -> Self {
        Self { name, collection, chain_id }
    }
}

impl From<sandbox::Position> for raw::Position {
    fn from(sandbox::Position { name, supplied, borrowed, chain_id }: sandbox::Position) -> Self {
        Self { name, supplied, borrowed, chain_id }
    }
}

impl From<sandbox::ChainValue> for raw::ChainValue {
    fn from(sandbox::ChainValue { chain_id, total_asset_usd }: sandbox::ChainValue) -> Self {
        Self { chain_id, total_asset_usd }
    }
}

/// A pool of this version has only counts. As in production, a protocol that does not collect deposits has none.
impl From<sandbox::Pool> for raw::Pool {
    fn from(pool: sandbox::Pool) -> Self {
        let bare = pool.protocol == Protocol::LenderBV2.as_str();
        let deposits = |count| (!bare).then_some(count);
        Self {
            coverage: raw::Coverage::Complete,
            feeds_score: !bare,
            synced_to_block: Some(pool.synced_to_block),
            supply: deposits(pool.supply),
            withdraw: deposits(pool.withdraw),
            borrow: Some(pool.borrow),
            repay: Some(pool.repay),
            liquidation: Some(pool.liquidation),
            protocol: pool.protocol,
            market_address: pool.market_address,
            market: pool.market,
            chain_id: pool.chain_id,
            first_event: pool.first_event,
            last_event: pool.last_event,
        }
    }
}
