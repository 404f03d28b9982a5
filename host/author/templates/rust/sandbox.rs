//! {name}: mock wallets for testers, each drawn from the bytes of its address alone.

use assay_model::v2::{
    Behaviour, ChainValue, Coverage, Factor, Kind, MockReport, ModelInfo, OffChain, Pool, Rating, SandboxModel,
    Scenario, Subject, Token,
};

/// The model.
pub struct Model;

/// The one chain on which these wallets are active.
const CHAIN: u64 = 1;
/// 2024-01-01, before any transaction of a mock wallet.
const BEGIN: u64 = 1_704_067_200;
const DAY: u64 = 86_400;
/// The last byte of the address for which a server answers 429.
const LIMITED: u8 = 0xa1;

impl SandboxModel for Model {
    fn describe() -> ModelInfo {
        ModelInfo {
            kind: Kind::Sandbox,
            version: "0.1".into(),
            title: "{name}".into(),
            authors: vec![],
            reads: vec!["address".into(), "off-chain.total-asset-usd".into()],
            claims: None,
        }
    }

    /// 300 to 1000.
    fn score(address: Vec<u8>) -> u32 {
        300 + drawn(&address) % 701
    }

    /// Half of the gap to 1000, from 100,000 dollars on.
    fn boosted_score(address: Vec<u8>, off_chain: OffChain) -> u32 {
        let score = Self::score(address);
        let share = (off_chain.total_asset_usd / 100_000.0).clamp(0.0, 1.0);
        score + (f64::from(1000 - score) * 0.5 * share) as u32
    }

    fn factors(address: Vec<u8>) -> Vec<Factor> {
        let score = Self::score(address);
        vec![Factor {
            label: "Mock History".into(),
            rating: if score >= 750 { Rating::Good } else { Rating::Low },
            description: format!("This is a mock wallet with {} points.", score - 300),
            points: i32::try_from(score - 300).unwrap_or_default(),
            possible: 700,
        }]
    }

    fn report(address: Vec<u8>) -> MockReport {
        let (dollars, days) = (drawn(&address), u64::from(drawn(&address) % 365));
        let token = Token {
            symbol: "USDC".into(),
            name: "USD Coin".into(),
            balance: dollars.to_string(),
            value_usd: dollars.into(),
            chain_id: CHAIN,
        };
        MockReport {
            score: Self::score(address),
            tokens: vec![token],
            nfts: vec![],
            positions: vec![],
            pools: vec![pool(days)],
            first_transaction: BEGIN + days * DAY,
            total_transactions: days + 4,
            active_chains: vec![CHAIN],
        }
    }

    /// What the tokens and deposits of the report are worth.
    fn portfolio(address: Vec<u8>) -> Vec<ChainValue> {
        vec![ChainValue { chain_id: CHAIN, total_asset_usd: drawn(&address).into() }]
    }

    fn scenarios() -> Vec<Scenario> {
        vec![Scenario {
            id: "rate-limited".into(),
            title: "Too many requests".into(),
            subject: Subject::Address(limited()),
            description: "429 with `Retry-After: 30`.".into(),
        }]
    }

    /// What a server answers in place of the plain answer, for the subject of each scenario.
    fn behaviour_of(subject: Subject) -> Option<Behaviour> {
        match subject {
            Subject::Address(address) if address == limited() => Some(Behaviour::RateLimited(30)),
            _ => None,
        }
    }
}

/// The last two bytes as a number.
fn drawn(address: &[u8]) -> u32 {
    address.iter().rev().take(2).rev().fold(0, |number, byte| number * 256 + u32::from(*byte))
}

fn limited() -> Vec<u8> {
    [[0; 19].as_slice(), &[LIMITED]].concat()
}

/// One loan, taken and repaid.
fn pool(days: u64) -> Pool {
    Pool {
        protocol: "lenderA_v3".into(),
        market_address: "0x87870Bca3F3fD6335C3F4ce8392D69350B4fA4E2".into(),
        market: Some("Core".into()),
        chain_id: CHAIN,
        coverage: Coverage::Complete,
        feeds_score: true,
        synced_to_block: Some(20_000_000),
        supply: Some(1),
        withdraw: Some(1),
        borrow: Some(1),
        repay: Some(1),
        liquidation: Some(0),
        first_event: Some(BEGIN + days * DAY),
        last_event: Some(BEGIN + (days + 30) * DAY),
    }
}

assay_model::v2::export_with_panics!(sandbox Model);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_would_accept_it() {
        assay_model::v2::testing::sandbox::<Model>();
    }

    #[test]
    fn the_golden_addresses_keep_their_scores() {
        let of = |last: u8| Model::score([[0; 19].as_slice(), &[last]].concat());
        assert_eq!([1, 100, 255].map(of), [301, 400, 555]);
    }
}
