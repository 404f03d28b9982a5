//! The events of the vaults and the connector, and what each log tells of one account in one vault.

use alloy::{
    primitives::{U256, map::HashSet},
    rpc::types::Log,
    sol,
    sol_types::{SolCall, SolEvent},
};

use super::accounts::are_of_one_owner;
use crate::figures::{
    hints::TRANSFER,
    sums::{address_at, amount_at},
};
use assay_domain::{Address, B256};

sol! {
    event Deposit(address indexed sender, address indexed owner, uint256 assets, uint256 shares);
    event Withdraw(
        address indexed sender, address indexed receiver, address indexed owner, uint256 assets, uint256 shares);
    event Borrow(address indexed account, uint256 assets);
    event Repay(address indexed account, uint256 assets);
    event InterestAccrued(address indexed account, uint256 assets);
    event Liquidate(
        address indexed liquidator, address indexed violator, address collateral, uint256 repayAssets,
        uint256 yieldBalance);
    event PullDebt(address indexed from, address indexed to, uint256 assets);
    event DebtSocialized(address indexed account, uint256 assets);
    /// Of the connector, whenever it calls a contract for an account.
    event CallWithContext(
        address indexed caller, bytes19 indexed onBehalfOfAddressPrefix, address onBehalfOfAccount,
        address indexed targetContract, bytes4 selector);

    function deposit(uint256 amount, address receiver) external returns (uint256 shares);
    function mint(uint256 amount, address receiver) external returns (uint256 assets);
    function withdraw(uint256 amount, address receiver, address owner) external returns (uint256 shares);
    function redeem(uint256 amount, address receiver, address owner) external returns (uint256 assets);
    function skim(uint256 amount, address receiver) external returns (uint256 shares);
    function borrow(uint256 amount, address receiver) external returns (uint256 assets);
    function repay(uint256 amount, address receiver) external returns (uint256 assets);
    function repayWithShares(uint256 amount, address receiver) external returns (uint256 shares, uint256 debt);
    function pullDebt(uint256 amount, address from) external;
    function liquidate(address violator, address collateral, uint256 repayAssets, uint256 minYieldBalance) external;
    function transfer(address to, uint256 amount) external returns (bool done);
    function transferFrom(address from, address to, uint256 amount) external returns (bool done);
    function transferFromMax(address from, address to) external returns (bool done);
}

pub(super) const REPAY: B256 = Repay::SIGNATURE_HASH;
const DEPOSIT: B256 = Deposit::SIGNATURE_HASH;
const WITHDRAW: B256 = Withdraw::SIGNATURE_HASH;
const BORROW: B256 = Borrow::SIGNATURE_HASH;
const INTEREST: B256 = InterestAccrued::SIGNATURE_HASH;
const LIQUIDATE: B256 = Liquidate::SIGNATURE_HASH;
const PULL: B256 = PullDebt::SIGNATURE_HASH;
const SOCIALIZED: B256 = DebtSocialized::SIGNATURE_HASH;
pub(super) const CALL: B256 = CallWithContext::SIGNATURE_HASH;

/// The logs of a vault that concern an account, each with a topic that names it.
pub(super) const NAMED: [(B256, usize); 11] = [
    (TRANSFER, 1),
    (TRANSFER, 2),
    (DEPOSIT, 2),
    (WITHDRAW, 3),
    (BORROW, 1),
    (REPAY, 1),
    (INTEREST, 1),
    (LIQUIDATE, 2),
    (PULL, 1),
    (PULL, 2),
    (SOCIALIZED, 1),
];

/// The calls that change a position of the account that makes them.
const CHANGES: [[u8; 4]; 13] = [
    depositCall::SELECTOR,
    mintCall::SELECTOR,
    withdrawCall::SELECTOR,
    redeemCall::SELECTOR,
    skimCall::SELECTOR,
    borrowCall::SELECTOR,
    repayCall::SELECTOR,
    repayWithSharesCall::SELECTOR,
    pullDebtCall::SELECTOR,
    liquidateCall::SELECTOR,
    transferCall::SELECTOR,
    transferFromCall::SELECTOR,
    transferFromMaxCall::SELECTOR,
];

/// What a log of a vault says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    /// Shares moved; the zero address for those that begin or end.
    Moved {
        from: Address,
        to: Address,
        shares: U256,
    },
    Deposited {
        owner: Address,
        assets: U256,
        shares: U256,
    },
    Withdrawn {
        owner: Address,
        assets: U256,
        shares: U256,
    },
    Borrowed {
        account: Address,
        assets: U256,
    },
    Repaid {
        account: Address,
        assets: U256,
    },
    Accrued {
        account: Address,
        assets: U256,
    },
    /// `assets` of debt went to the liquidator, and `seized` shares of the collateral.
    Liquidated {
        account: Address,
        assets: U256,
        seized: U256,
    },
    Pulled {
        from: Address,
        to: Address,
    },
    Socialized {
        account: Address,
    },
}

/// What a call through the connector was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ConnectorCall {
    pub caller: Address,
    pub account: Address,
    pub vault: Address,
    pub selector: [u8; 4],
}

/// `None` for any other log, and for one without its amounts.
pub(super) fn said(log: &Log) -> Option<Said> {
    let at = |topic| address_at(log, topic);
    let amount = |place| amount_at(log, place);
    Some(match *log.topic0()? {
        TRANSFER => Said::Moved { from: at(1)?, to: at(2)?, shares: amount(0)? },
        DEPOSIT => Said::Deposited { owner: at(2)?, assets: amount(0)?, shares: amount(1)? },
        WITHDRAW => Said::Withdrawn { owner: at(3)?, assets: amount(0)?, shares: amount(1)? },
        BORROW => Said::Borrowed { account: at(1)?, assets: amount(0)? },
        REPAY => Said::Repaid { account: at(1)?, assets: amount(0)? },
        INTEREST => Said::Accrued { account: at(1)?, assets: amount(0)? },
        // The collateral comes first.
        LIQUIDATE => Said::Liquidated { account: at(2)?, assets: amount(1)?, seized: amount(2)? },
        PULL => Said::Pulled { from: at(1)?, to: at(2)? },
        SOCIALIZED => Said::Socialized { account: at(1)? },
        _ => return None,
    })
}

/// The call in a log of the connector.
pub(super) fn called(log: &Log) -> Option<ConnectorCall> {
    if log.topic0() != Some(&CALL) {
        return None;
    }
    let account = Address::from_word(B256::from(amount_at(log, 0)?));
    let selector = amount_at(log, 1)?.to_be_bytes::<32>();
    let selector = selector.first_chunk().copied()?;
    Some(ConnectorCall { caller: address_at(log, 1)?, account, vault: address_at(log, 3)?, selector })
}

impl ConnectorCall {
    /// Whether it may have changed the account's position in the vault.
    pub(super) fn is_change(&self) -> bool {
        CHANGES.contains(&self.selector)
    }

    pub(super) fn is_repayment(&self) -> bool {
        [repayCall::SELECTOR, repayWithSharesCall::SELECTOR].contains(&self.selector)
    }

    pub(super) fn is_pull(&self) -> bool {
        self.selector == pullDebtCall::SELECTOR
    }

    /// Whether one of `vaults`, as the account's controller, took its collateral in another vault.
    pub(super) fn is_seizure(&self, vaults: &HashSet<Address>) -> bool {
        self.caller != self.vault && vaults.contains(&self.caller)
    }
}

impl Said {
    /// Whether a debt moved between two accounts of one owner.
    pub(super) fn is_between_own(&self) -> bool {
        matches!(self, Self::Pulled { from, to } if are_of_one_owner(*from, *to))
    }
}
