//! Aave v2 and v3: five pool events, in which the position's owner is always indexed, so that two queries tell a wallet's history
//! in all pools of a chain. Two of the events are the same in both versions; only the pool's address tells which it was.
//!
//! Not told by these logs: a native withdrawal through a gateway contract (the pool names the gateway), and a supply that moves
//! by a plain transfer of aTokens. Reading those belongs into [`event`]'s list as further signatures, on the aTokens.

mod deployment;
mod positions;

use alloy::{primitives::b256, rpc::types::Log};

use super::{EventKind, Signature};
use crate::domain::B256;

pub(super) use deployment::look_up;
pub(super) use positions::Terms;

/// Which contracts a pool belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    V2,
    V3,
}

const DEPOSIT_V2: B256 = b256!("0xde6857219544bb5b7746f48ed30be6386fefc61b2f864cacf559893bf50fd951");
const BORROW_V2: B256 = b256!("0xc6a898309e823ee50bac64e45ca8adba6690e99e7841c45d754e2a38e9019d9b");
const REPAY_V2: B256 = b256!("0x4cdde6e09bb755c9a5589ebaec640bbfedff1362d4b255ebf8339782b9942faa");
const SUPPLY_V3: B256 = b256!("0x2b627736bca15cd5381dcf80b0bf11fd197d01a037c52b927a881a10fb73ba61");
const BORROW_V3: B256 = b256!("0xb3d084820fb1a9decffb176436bd02558d15fac9b0ddfed8c465bc7359d7dce0");
const REPAY_V3: B256 = b256!("0xa534c8dbe71f871f9f3530e97a74601fea17b426cae02e1c5aee42c96c784051");
const WITHDRAW: B256 = b256!("0x3115d1449a7b732c986cba18244e897a450f61e1bb8d589cd2e69e6c8924f9f7");
const LIQUIDATION: B256 = b256!("0xe413a321e8681d831f4dbccbca790d2952b56f977908e45be37335533e005286");

/// The owner is `onBehalfOf` of a deposit or borrow, `user` of the others.
pub(super) const SIGNATURES_V2: &[Signature] = &[
    Signature { topic0: DEPOSIT_V2, wallet_at: 2 },
    Signature { topic0: WITHDRAW, wallet_at: 2 },
    Signature { topic0: BORROW_V2, wallet_at: 2 },
    Signature { topic0: REPAY_V2, wallet_at: 2 },
    Signature { topic0: LIQUIDATION, wallet_at: 3 },
];

/// The owner is `onBehalfOf` of a supply or borrow, `user` of the others.
pub(super) const SIGNATURES_V3: &[Signature] = &[
    Signature { topic0: SUPPLY_V3, wallet_at: 2 },
    Signature { topic0: WITHDRAW, wallet_at: 2 },
    Signature { topic0: BORROW_V3, wallet_at: 2 },
    Signature { topic0: REPAY_V3, wallet_at: 2 },
    Signature { topic0: LIQUIDATION, wallet_at: 3 },
];

/// What a checked log of a pool tells.
pub(super) fn event(log: &Log) -> Option<EventKind> {
    match *log.topic0()? {
        DEPOSIT_V2 | SUPPLY_V3 => Some(EventKind::Supply),
        WITHDRAW => Some(EventKind::Withdraw),
        BORROW_V2 | BORROW_V3 => Some(EventKind::Borrow),
        REPAY_V2 | REPAY_V3 => Some(EventKind::Repay),
        LIQUIDATION => Some(EventKind::Liquidation),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use alloy::primitives::keccak256;

    use super::*;

    #[test]
    fn topics_are_the_hashes_of_the_events() {
        for (topic, event) in [
            (DEPOSIT_V2, "Deposit(address,address,address,uint256,uint16)"),
            (BORROW_V2, "Borrow(address,address,address,uint256,uint256,uint256,uint16)"),
            (REPAY_V2, "Repay(address,address,address,uint256)"),
            (SUPPLY_V3, "Supply(address,address,address,uint256,uint16)"),
            (BORROW_V3, "Borrow(address,address,address,uint256,uint8,uint256,uint16)"),
            (REPAY_V3, "Repay(address,address,address,uint256,bool)"),
            (WITHDRAW, "Withdraw(address,address,address,uint256)"),
            (LIQUIDATION, "LiquidationCall(address,address,address,uint256,uint256,address,bool)"),
        ] {
            assert_eq!(topic, keccak256(event), "{event}");
        }
    }
}
