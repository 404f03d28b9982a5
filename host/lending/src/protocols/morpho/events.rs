//! The events of the contract, and what each changes.

use alloy::{
    primitives::{I256, U256},
    rpc::types::Log,
    sol,
    sol_types::SolEvent,
};

use crate::{
    asset::Asset,
    figures::{
        record::Side,
        sums::{Move, amount_at, signed},
    },
    protocols::{EventKind, Signature},
};
use assay_domain::B256;

sol! {
    event Supply(
        bytes32 indexed id, address indexed caller, address indexed onBehalf, uint256 assets, uint256 shares);
    event Withdraw(
        bytes32 indexed id, address caller, address indexed onBehalf, address indexed receiver, uint256 assets,
        uint256 shares);
    event Borrow(
        bytes32 indexed id, address caller, address indexed onBehalf, address indexed receiver, uint256 assets,
        uint256 shares);
    event Repay(bytes32 indexed id, address indexed caller, address indexed onBehalf, uint256 assets, uint256 shares);
    event SupplyCollateral(bytes32 indexed id, address indexed caller, address indexed onBehalf, uint256 assets);
    event WithdrawCollateral(
        bytes32 indexed id, address caller, address indexed onBehalf, address indexed receiver, uint256 assets);
    event Liquidate(
        bytes32 indexed id, address indexed caller, address indexed borrower, uint256 repaidAssets,
        uint256 repaidShares, uint256 seizedAssets, uint256 badDebtAssets, uint256 badDebtShares);
}

const SUPPLY: B256 = Supply::SIGNATURE_HASH;
const WITHDRAW: B256 = Withdraw::SIGNATURE_HASH;
const BORROW: B256 = Borrow::SIGNATURE_HASH;
const REPAY: B256 = Repay::SIGNATURE_HASH;
const SUPPLY_COLLATERAL: B256 = SupplyCollateral::SIGNATURE_HASH;
const WITHDRAW_COLLATERAL: B256 = WithdrawCollateral::SIGNATURE_HASH;
const LIQUIDATE: B256 = Liquidate::SIGNATURE_HASH;

/// The owner is `onBehalf`, and `borrower` of a liquidation. Topic 1 is the id of the market.
pub(super) const SIGNATURES: &[Signature] = &[
    Signature { topic0: WITHDRAW, wallet_at: 2 },
    Signature { topic0: BORROW, wallet_at: 2 },
    Signature { topic0: WITHDRAW_COLLATERAL, wallet_at: 2 },
    Signature { topic0: SUPPLY, wallet_at: 3 },
    Signature { topic0: REPAY, wallet_at: 3 },
    Signature { topic0: SUPPLY_COLLATERAL, wallet_at: 3 },
    Signature { topic0: LIQUIDATE, wallet_at: 3 },
];

/// Whether `log` changes a position of `wallet`. A receipt also has logs of other wallets.
pub(super) fn is_own(log: &Log, wallet: B256) -> bool {
    let topics = log.topics();
    SIGNATURES.iter().any(|s| topics.first() == Some(&s.topic0) && topics.get(s.wallet_at) == Some(&wallet))
}

/// The change of its owner's position in one market that a log shows.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MorphoReading {
    /// `None` for an amount of zero, such as shares worth less than the smallest unit.
    pub kind: Option<EventKind>,
    pub moves: Vec<Move>,
}

/// `None` for any other log, and for one without its amounts.
pub(super) fn read(log: &Log) -> Option<MorphoReading> {
    let [topic0, id, ..] = *log.topics() else { return None };
    let amount = |place| amount_at(log, place);
    let moved = |side, asset, amount: I256| Move { side, asset, amount, fixed_rate: false };
    // The amount of the token, and the shares of the market's total.
    let both = |kind, side, sign: fn(U256) -> I256, place: usize| {
        let (assets, shares) = (amount(place)?, amount(place + 1)?);
        let moves = vec![moved(side, Asset::Market(id), sign(assets)), moved(side, Asset::Shares(id), sign(shares))];
        Some(MorphoReading { kind: Some(kind).filter(|_| !assets.is_zero()), moves })
    };
    let collateral = |kind, sign: fn(U256) -> I256, place| {
        let assets = amount(place)?;
        let moves = vec![moved(Side::Collateral, Asset::Market(id), sign(assets))];
        Some(MorphoReading { kind: Some(kind).filter(|_| !assets.is_zero()), moves })
    };
    match topic0 {
        SUPPLY => both(EventKind::Supply, Side::Supply, signed, 0),
        // The caller, whom no topic names, comes first.
        WITHDRAW => both(EventKind::Withdraw, Side::Supply, negative, 1),
        BORROW => both(EventKind::Borrow, Side::Debt, signed, 1),
        REPAY => both(EventKind::Repay, Side::Debt, negative, 0),
        SUPPLY_COLLATERAL => collateral(EventKind::Supply, signed, 0),
        WITHDRAW_COLLATERAL => collateral(EventKind::Withdraw, negative, 1),
        LIQUIDATE => {
            let (repaid, shares, seized, written_off) = (amount(0)?, amount(1)?, amount(2)?, amount(4)?);
            let moves = vec![
                moved(Side::Debt, Asset::Market(id), negative(repaid)),
                moved(Side::Debt, Asset::Shares(id), negative(shares.saturating_add(written_off))),
                moved(Side::Collateral, Asset::Market(id), negative(seized)),
            ];
            Some(MorphoReading { kind: Some(EventKind::Liquidation), moves })
        }
        _ => None,
    }
}

fn negative(amount: U256) -> I256 {
    signed(amount).saturating_neg()
}

#[cfg(test)]
mod tests;
