//! The wallets and addresses on which the host tries a model before it is published.

use crate::{AssetClass, Attestation, ChainFeatures, Coverage, Features, Holding, MarketFeatures};

/// 2025-06-01, so that ages are years.
const NOW: u64 = 1_748_736_000;
const YEAR: u64 = 31_557_600;

/// A wallet and its name in a message.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    pub name: String,
    pub features: Features,
    /// False where a model may say that there is nothing to judge.
    pub must_answer: bool,
}

/// A wallet with nothing, an ordinary one, and the edges of every field.
pub fn samples() -> Vec<Sample> {
    let sample = |name: &str, must_answer, features| Sample { name: name.to_owned(), features, must_answer };
    vec![
        sample("empty features", false, Features { as_of: NOW, ..Features::default() }),
        sample("an ordinary wallet", true, ordinary()),
        sample("a wallet of which nothing could be read", false, unread()),
        sample("the largest numbers", true, extreme(u64::MAX, u32::MAX, 1e18)),
        sample("zeros everywhere", false, extreme(0, 0, 0.0)),
    ]
}

/// The four bands first, then addresses with bits in every byte.
pub fn addresses() -> Vec<Vec<u8>> {
    let small = (1..=4).map(|last| [vec![0; 19], vec![last]].concat());
    let spread = [0, 0x11, 0x3c, 0x80, 0xa5, 0xff].map(|byte| vec![byte; 20]);
    small.chain(spread).collect()
}

/// An ordinary wallet: two chains, three lending markets, one attestation.
pub fn ordinary() -> Features {
    Features {
        as_of: NOW,
        chains: vec![active(1, 1400, 52_000.0), active(8453, 300, 4_100.5)],
        markets: vec![
            market(1, "lenderA_v3", Some(0)),
            market(8453, "lenderA_v3", Some(1)),
            market(1, "lenderB_v2", None),
        ],
        holdings: vec![
            Holding { class: AssetClass::Native, usd: 21_000.0, assets: 2 },
            Holding { class: AssetClass::Stablecoin, usd: 30_100.5, assets: 3 },
            Holding { class: AssetClass::Collateral, usd: 5_000.0, assets: 1 },
        ],
        identity: vec![Attestation {
            provider: "ens".to_owned(),
            issued: Some(NOW - YEAR),
            expires: Some(NOW + YEAR),
            score: None,
        }],
    }
}

fn active(chain_id: u64, transactions: u64, assets_usd: f64) -> ChainFeatures {
    ChainFeatures {
        chain_id,
        coverage: Coverage::Complete,
        first_transaction: Some(NOW - 4 * YEAR),
        last_transaction: Some(NOW - 86_400),
        transactions,
        transfers: Some(transactions * 2),
        counterparties: Some(120),
        active_days: Some(240),
        active_hours: Some(17),
        median_gap: Some(30_000),
        assets_usd,
        supplied_usd: 5_000.0,
        borrowed_usd: 1_200.0,
    }
}

fn market(chain_id: u64, protocol: &str, liquidations: Option<u64>) -> MarketFeatures {
    MarketFeatures {
        chain_id,
        protocol: protocol.to_owned(),
        market: None,
        coverage: Coverage::Complete,
        feeds_score: protocol != "lenderB_v2",
        supply: liquidations.map(|_| 12),
        withdraw: liquidations.map(|_| 5),
        borrow: Some(9),
        repay: Some(8),
        liquidation: liquidations.or(Some(0)),
        first_event: Some(NOW - 3 * YEAR),
        last_event: Some(NOW - 9 * 86_400),
        last_liquidation: liquidations.filter(|n| *n > 0).map(|_| NOW - YEAR),
        supplied_usd: 2_500.0,
        borrowed_usd: 600.0,
    }
}

fn unread() -> Features {
    let chain = ChainFeatures {
        coverage: Coverage::Failed,
        first_transaction: None,
        last_transaction: None,
        transactions: 0,
        transfers: None,
        counterparties: None,
        active_days: None,
        active_hours: None,
        median_gap: None,
        assets_usd: 0.0,
        supplied_usd: 0.0,
        borrowed_usd: 0.0,
        ..active(1, 0, 0.0)
    };
    let market = MarketFeatures {
        coverage: Coverage::Failed,
        supply: None,
        withdraw: None,
        borrow: None,
        repay: None,
        liquidation: None,
        first_event: None,
        last_event: None,
        last_liquidation: None,
        ..market(1, "lenderA_v3", Some(0))
    };
    Features { as_of: NOW, chains: vec![chain], markets: vec![market], holdings: Vec::new(), identity: Vec::new() }
}

/// `many` in every count and time, on as many chains and markets as a large host might have.
fn extreme(many: u64, some: u32, usd: f64) -> Features {
    let classes = [
        AssetClass::Native,
        AssetClass::Stablecoin,
        AssetClass::Token,
        AssetClass::Wrapped,
        AssetClass::Liquidity,
        AssetClass::Collateral,
    ];
    let attestation = || Attestation {
        provider: "human-passport".to_owned(),
        issued: Some(many),
        expires: Some(many),
        score: Some(usd),
    };
    Features {
        as_of: NOW,
        chains: (1..=16).map(|chain_id| extreme_chain(chain_id, many, some, usd)).collect(),
        markets: (1..=64).map(|chain_id| extreme_market(chain_id, many, usd)).collect(),
        holdings: classes.map(|class| Holding { class, usd, assets: some }).to_vec(),
        identity: (0..16).map(|_| attestation()).collect(),
    }
}

fn extreme_chain(chain_id: u64, many: u64, some: u32, usd: f64) -> ChainFeatures {
    ChainFeatures {
        chain_id,
        coverage: Coverage::Partial,
        first_transaction: Some(many),
        last_transaction: Some(many),
        transactions: many,
        transfers: Some(many),
        counterparties: Some(some),
        active_days: Some(some),
        active_hours: Some(some),
        median_gap: Some(many),
        assets_usd: usd,
        supplied_usd: usd,
        borrowed_usd: usd,
    }
}

fn extreme_market(chain_id: u64, many: u64, usd: f64) -> MarketFeatures {
    MarketFeatures {
        market: Some("a market with quite a long name of its own".to_owned()),
        supply: Some(many),
        withdraw: Some(many),
        borrow: Some(many),
        repay: Some(many),
        liquidation: Some(many),
        first_event: Some(many),
        last_event: Some(many),
        last_liquidation: Some(many),
        supplied_usd: usd,
        borrowed_usd: usd,
        ..market(chain_id, "lenderB_v3", Some(1))
    }
}
