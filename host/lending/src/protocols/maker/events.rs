//! The events of a vault, such as a liquidation (`grab`), and their logs. Logs of calls begin with the selector instead
//! of a signature. Then come the first arguments as topics, in the vault manager after the caller, and the call itself
//! as data.

use alloy::{
    primitives::{I256, U256},
    rpc::types::Log,
    sol,
    sol_types::{SolCall, SolEvent},
};

use crate::protocols::EventKind;
use assay_domain::B256;

sol! {
    function frob(bytes32 ilk, address u, address v, address w, int256 dink, int256 dart) external;
    function grab(bytes32 ilk, address u, address v, address w, int256 dink, int256 dart) external;
    function fork(bytes32 ilk, address src, address dst, int256 dink, int256 dart) external;
    function give(uint256 cdp, address dst) external;
    event NewCdp(address indexed usr, address indexed own, uint256 indexed cdp);
    event LogSetOwner(address indexed owner);
    interface Proxy {
        function execute(address target, bytes data) external;
        function execute(bytes code, bytes data) external;
    }
}

/// Calls of the Vat.
pub(super) const FROB: B256 = note(frobCall::SELECTOR);
pub(super) const GRAB: B256 = note(grabCall::SELECTOR);
pub(super) const FORK: B256 = note(forkCall::SELECTOR);
/// A call of the vault manager.
pub(super) const GIVE: B256 = note(giveCall::SELECTOR);
/// An event of the vault manager.
pub(super) const NEW_VAULT: B256 = NewCdp::SIGNATURE_HASH;
/// An event of a proxy.
pub(super) const NEW_OWNER: B256 = LogSetOwner::SIGNATURE_HASH;
/// Calls of a proxy. The next topic is the caller.
pub(super) const EXECUTED: [B256; 2] = [note(Proxy::execute_0Call::SELECTOR), note(Proxy::execute_1Call::SELECTOR)];

/// The first topic of the log of a call.
const fn note(selector: [u8; 4]) -> B256 {
    let [a, b, c, d] = selector;
    let mut topic = [0; 32];
    (topic[0], topic[1], topic[2], topic[3]) = (a, b, c, d);
    B256::new(topic)
}

/// Offset of the arguments in the data, after the offset and length of the call and its selector.
const ARGUMENTS: usize = 68;

/// The change of an urn in a log of the Vat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UrnChange {
    pub collateral: I256,
    /// Without the stability fee.
    pub debt: I256,
    pub kinds: [Option<EventKind>; 2],
}

/// The kind of collateral, and the change of `urn`. `ends` are the contracts that settle vaults after a shutdown, which
/// is no event.
pub(super) fn change(log: &Log, urn: B256, ends: &[B256]) -> Option<(B256, UrnChange)> {
    let [topic0, ilk, one, other] = *log.topics() else { return None };
    let (collateral, debt) = match topic0 {
        FROB | GRAB if one == urn => (argument(log, 4)?, argument(log, 5)?),
        FORK if (one == urn) != (other == urn) => {
            let (collateral, debt) = (argument(log, 3)?, argument(log, 4)?);
            if other == urn { (collateral, debt) } else { (collateral.wrapping_neg(), debt.wrapping_neg()) }
        }
        _ => return None,
    };
    let of = |amount: I256, gain, loss| (!amount.is_zero()).then(|| if amount.is_positive() { gain } else { loss });
    let kinds = match topic0 {
        FROB => [of(collateral, EventKind::Supply, EventKind::Withdraw), of(debt, EventKind::Borrow, EventKind::Repay)],
        // Without debt: the owner takes what a shutdown left.
        GRAB if debt.is_zero() => [of(collateral, EventKind::Supply, EventKind::Withdraw), None],
        GRAB if ends.contains(&other) => [None, None],
        GRAB => [Some(EventKind::Liquidation), None],
        _ => [None, None],
    };
    Some((ilk, UrnChange { collateral, debt, kinds }))
}

/// The argument at this position of the call in a log.
fn argument(log: &Log, place: usize) -> Option<I256> {
    let start = ARGUMENTS.checked_add(place.checked_mul(32)?)?;
    let word = log.data().data.get(start..start.checked_add(32)?)?;
    Some(I256::from_raw(U256::try_from_be_slice(word)?))
}

/// A change of a vault's owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Given {
    pub id: B256,
    /// The account that gave it away; `None` for a new vault.
    pub by: Option<B256>,
    pub to: B256,
}

pub(super) fn given(log: &Log) -> Option<Given> {
    match *log.topics() {
        [NEW_VAULT, _, to, id] => Some(Given { id, by: None, to }),
        [GIVE, by, id, to] => Some(Given { id, by: Some(by), to }),
        _ => None,
    }
}
