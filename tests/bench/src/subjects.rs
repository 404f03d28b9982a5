//! The scored wallets: an ordinary one, and one that is active on every chain of a large host.

use assay_domain::{
    Activity, Address, AssetClass, ChainId, ChainOrigin, ChainSnapshot, Coverage, EventCounts, PoolEvents, PoolHistory,
    Position, Price, PriceSource, Protocol, Seen, Snapshot, TokenBalance, U256,
    features::{Features, features},
    time_from_unix,
};
use assay_registry::measure;

/// 2026-01-01.
const NOW: u64 = 1_767_225_600;
const YEAR: u64 = 31_557_600;

/// The chains of the API contract.
pub const CHAINS: [ChainId; 12] = [1, 10, 56, 137, 250, 324, 8453, 42_161, 42_220, 43_114, 59_144, 534_352];

/// A wallet, and its name in a row.
pub struct Subject {
    pub name: &'static str,
    pub features: Features,
}

/// Two chains, three markets.
pub fn ordinary() -> Subject {
    Subject { name: "2 chains, 3 markets", features: measure::typical() }
}

/// Twelve chains, thirty markets.
pub fn everywhere() -> Subject {
    Subject { name: "12 chains, 30 markets", features: features(&snapshot()) }
}

/// The snapshot of [`everywhere`].
pub fn snapshot() -> Snapshot {
    let chains = CHAINS.iter().enumerate().map(|(index, id)| chain(*id, if index < 6 { 3 } else { 2 })).collect();
    Snapshot {
        address: Address::repeat_byte(0xa5),
        as_of: time_from_unix(NOW),
        chains,
        attestations: Vec::new(),
        identity: Vec::new(),
    }
}

fn chain(chain_id: ChainId, markets: u8) -> ChainSnapshot {
    let seen = |ago: u64| Some(Seen { block: 20_000_000 - ago / 12, time: time_from_unix(NOW - ago) });
    ChainSnapshot {
        chain_id,
        chain_name: format!("Chain {chain_id}"),
        coverage: Coverage::Complete,
        activity: Activity {
            first_transaction: seen(4 * YEAR),
            last_transaction: seen(3 * 86_400),
            by_day: false,
            transactions: 640,
            transfers: Some(1_300),
            counterparties: Some(210),
            active_days: Some(180),
            active_hours: Some(19),
            median_gap_seconds: Some(41_000),
        },
        tokens: (0..10).map(|index| token(chain_id, index)).collect(),
        nfts: Vec::new(),
        positions: (0..markets).map(|index| position(chain_id, index)).collect(),
        pools: (0..markets).map(|index| pool(chain_id, index)).collect(),
        unread: Vec::new(),
        origin: ChainOrigin::default(),
    }
}

fn token(chain_id: ChainId, index: u8) -> TokenBalance {
    let classes =
        [AssetClass::Native, AssetClass::Stablecoin, AssetClass::Token, AssetClass::Wrapped, AssetClass::Liquidity];
    TokenBalance {
        chain_id,
        contract: (index > 0).then(|| Address::repeat_byte(index)),
        symbol: format!("TKN{index}"),
        name: format!("Token {index}"),
        amount: U256::from(1_250_000_000_000_000_000_u64) * U256::from(index + 1),
        decimals: 18,
        price: Some(Price { usd: 210.5, source: PriceSource::Feed }),
        class: classes[usize::from(index) % classes.len()],
    }
}

fn market(index: u8) -> (Protocol, Address, Option<String>) {
    let protocols = [Protocol::LenderAV3, Protocol::LenderBV3, Protocol::LenderAV2];
    (
        protocols[usize::from(index) % protocols.len()],
        Address::repeat_byte(0xd0 + index),
        (index == 1).then(|| "cUSDCv3".to_owned()),
    )
}

fn position(chain_id: ChainId, index: u8) -> Position {
    let (protocol, market_address, market) = market(index);
    Position {
        chain_id,
        protocol,
        market_address,
        market,
        supplied_usd: 4_200.0,
        borrowed_usd: 1_100.0,
        supplied_assets: 2,
        assets: Vec::new(),
        health_factor: None,
        mode: None,
        delegations: Some(Vec::new()),
    }
}

fn pool(chain_id: ChainId, index: u8) -> PoolHistory {
    let (protocol, market_address, market) = market(index);
    PoolHistory {
        chain_id,
        protocol,
        market_address,
        market,
        feeds_score: protocol.feeds_score(),
        coverage: Coverage::Complete,
        synced_to_block: Some(20_000_000),
        counts: EventCounts {
            supply: Some(14),
            withdraw: Some(6),
            borrow: Some(9),
            repay: Some(8),
            liquidation: Some(0),
        },
        first_event_at: Some(time_from_unix(NOW - 3 * YEAR)),
        last_event_at: Some(time_from_unix(NOW - 9 * 86_400)),
        last_liquidation_at: None,
        stopped: None,
        remark: None,
        events: PoolEvents::UNREAD,
        position: None,
    }
}
