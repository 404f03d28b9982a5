//! The events of a pool, and what each changes. The signatures list the events of which the owner of the position is
//! indexed.

use alloy::{primitives::U256, rpc::types::Log, sol_types::SolEvent};

use crate::{
    figures::{
        record::Side,
        sums::{Move, address_at, amount_at},
    },
    protocols::{EventKind, Signature},
};
use assay_domain::{Address, B256};

/// Events of both versions.
mod both {
    alloy::sol! {
        event Withdraw(address indexed reserve, address indexed user, address indexed to, uint256 amount);
        event LiquidationCall(
            address indexed collateralAsset, address indexed debtAsset, address indexed user, uint256 debtToCover,
            uint256 liquidatedCollateralAmount, address liquidator, bool receiveAToken);
    }
}

mod v2 {
    alloy::sol! {
        event Deposit(
            address indexed reserve, address user, address indexed onBehalfOf, uint256 amount, uint16 indexed referral);
        event Borrow(
            address indexed reserve, address user, address indexed onBehalfOf, uint256 amount, uint256 borrowRateMode,
            uint256 borrowRate, uint16 indexed referral);
        event Repay(address indexed reserve, address indexed user, address indexed repayer, uint256 amount);
    }
}

mod v3 {
    alloy::sol! {
        event Supply(
            address indexed reserve, address user, address indexed onBehalfOf, uint256 amount,
            uint16 indexed referralCode);
        event Borrow(
            address indexed reserve, address user, address indexed onBehalfOf, uint256 amount, uint8 interestRateMode,
            uint256 borrowRate, uint16 indexed referralCode);
        event Repay(
            address indexed reserve, address indexed user, address indexed repayer, uint256 amount, bool useATokens);
        /// Supply that a bridge will back later.
        event MintUnbacked(
            address indexed reserve, address user, address indexed onBehalfOf, uint256 amount,
            uint16 indexed referralCode);
        /// Debt left without collateral, written off in a liquidation.
        event DeficitCreated(address indexed user, address indexed debtAsset, uint256 amountCreated);
    }
}

const DEPOSIT_V2: B256 = v2::Deposit::SIGNATURE_HASH;
pub(super) const BORROW_V2: B256 = v2::Borrow::SIGNATURE_HASH;
pub(super) const REPAY_V2: B256 = v2::Repay::SIGNATURE_HASH;
const SUPPLY_V3: B256 = v3::Supply::SIGNATURE_HASH;
const BORROW_V3: B256 = v3::Borrow::SIGNATURE_HASH;
pub(super) const REPAY_V3: B256 = v3::Repay::SIGNATURE_HASH;
const MINT_UNBACKED: B256 = v3::MintUnbacked::SIGNATURE_HASH;
const DEFICIT: B256 = v3::DeficitCreated::SIGNATURE_HASH;
pub(super) const WITHDRAW: B256 = both::Withdraw::SIGNATURE_HASH;
pub(super) const LIQUIDATION: B256 = both::LiquidationCall::SIGNATURE_HASH;

/// The rate mode of debt at a fixed rate.
const STABLE: U256 = U256::from_limbs([1, 0, 0, 0]);

/// The owner is `onBehalfOf` of a deposit or borrow, `user` of the others.
pub(crate) const SIGNATURES_V2: &[Signature] = &[
    Signature { topic0: DEPOSIT_V2, wallet_at: 2 },
    Signature { topic0: WITHDRAW, wallet_at: 2 },
    Signature { topic0: BORROW_V2, wallet_at: 2 },
    Signature { topic0: REPAY_V2, wallet_at: 2 },
    Signature { topic0: LIQUIDATION, wallet_at: 3 },
];

/// The owner is `onBehalfOf` of a supply or borrow, `user` of the others.
pub(crate) const SIGNATURES_V3: &[Signature] = &[
    Signature { topic0: SUPPLY_V3, wallet_at: 2 },
    Signature { topic0: WITHDRAW, wallet_at: 2 },
    Signature { topic0: BORROW_V3, wallet_at: 2 },
    Signature { topic0: REPAY_V3, wallet_at: 2 },
    Signature { topic0: LIQUIDATION, wallet_at: 3 },
    Signature { topic0: MINT_UNBACKED, wallet_at: 2 },
    Signature { topic0: DEFICIT, wallet_at: 1 },
];

pub(super) fn order(log: &Log) -> (Option<u64>, Option<u64>) {
    (log.block_number, log.log_index)
}

pub(super) fn event(log: &Log) -> Option<EventKind> {
    match *log.topic0()? {
        DEPOSIT_V2 | SUPPLY_V3 | MINT_UNBACKED => Some(EventKind::Supply),
        WITHDRAW => Some(EventKind::Withdraw),
        BORROW_V2 | BORROW_V3 => Some(EventKind::Borrow),
        REPAY_V2 | REPAY_V3 => Some(EventKind::Repay),
        LIQUIDATION => Some(EventKind::Liquidation),
        _ => None,
    }
}

/// Whether a log of the pool changes a debt in `asset`.
pub(super) fn changes_debt(log: &Log, asset: Address) -> bool {
    let names = |topic| address_at(log, topic) == Some(asset);
    match log.topic0() {
        Some(&(BORROW_V2 | BORROW_V3 | REPAY_V2 | REPAY_V3)) => names(1),
        Some(&(LIQUIDATION | DEFICIT)) => names(2),
        _ => false,
    }
}

/// Whether a log of the pool changes a supply of `asset`.
pub(super) fn changes_supply(log: &Log, asset: Address) -> bool {
    address_at(log, 1) == Some(asset)
        && match log.topic0() {
            Some(&(DEPOSIT_V2 | SUPPLY_V3 | MINT_UNBACKED | WITHDRAW | LIQUIDATION)) => true,
            // Out of aTokens.
            Some(&REPAY_V3) => amount_at(log, 1).is_some_and(|flag| !flag.is_zero()),
            _ => false,
        }
}

/// Whether a log of the pool is one of these `kinds` and changes a debt in `asset`.
pub(super) fn changes_debt_by(log: &Log, asset: Address, kinds: &[EventKind]) -> bool {
    changes_debt(log, asset) && event(log).is_some_and(|kind| kinds.contains(&kind))
}

/// The amounts that a log of the pool moved. Collateral that a liquidator takes as aTokens, and the protocol's fee, are
/// in transfers of aTokens instead.
pub(super) fn moved(log: &Log) -> Option<Vec<Move>> {
    let flag = |place| Some(!amount_at(log, place)?.is_zero());
    Some(match *log.topic0()? {
        DEPOSIT_V2 | SUPPLY_V3 | MINT_UNBACKED => {
            vec![Move::gain(Side::Supply, address_at(log, 1)?, amount_at(log, 1)?)]
        }
        WITHDRAW => vec![Move::loss(Side::Supply, address_at(log, 1)?, amount_at(log, 0)?)],
        BORROW_V2 | BORROW_V3 => {
            let fixed_rate = amount_at(log, 2)? == STABLE;
            vec![Move { fixed_rate, ..Move::gain(Side::Debt, address_at(log, 1)?, amount_at(log, 1)?) }]
        }
        REPAY_V2 => vec![Move::loss(Side::Debt, address_at(log, 1)?, amount_at(log, 0)?)],
        REPAY_V3 => {
            let (asset, amount) = (address_at(log, 1)?, amount_at(log, 0)?);
            let out_of_supply = flag(1)?.then(|| Move::loss(Side::Supply, asset, amount));
            std::iter::once(Move::loss(Side::Debt, asset, amount)).chain(out_of_supply).collect()
        }
        LIQUIDATION => {
            let seized = (!flag(3)?).then_some(Move::loss(Side::Supply, address_at(log, 1)?, amount_at(log, 1)?));
            std::iter::once(Move::loss(Side::Debt, address_at(log, 2)?, amount_at(log, 0)?)).chain(seized).collect()
        }
        DEFICIT => vec![Move::loss(Side::Debt, address_at(log, 2)?, amount_at(log, 0)?)],
        _ => return None,
    })
}
