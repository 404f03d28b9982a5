//! Debt at a fixed rate, in v2: its token stores what was owed at the last change, with the interest until then, and
//! logs each change with that interest. So the sum of the logged changes equals the stored debt exactly, though the
//! rate is that of each loan.

use alloy::{primitives::I256, rpc::types::Log, sol_types::SolEvent};

use super::events::changes_debt_by;
use crate::{
    asset::Asset,
    figures::{
        hints::{Hint, Naming},
        record::Side,
        sums::{Move, amount_at, signed},
    },
    protocols::{EventKind, Evidence},
};
use assay_domain::{Address, B256};

mod token {
    alloy::sol! {
        event Mint(
            address indexed user, address indexed onBehalfOf, uint256 amount, uint256 currentBalance,
            uint256 balanceIncrease, uint256 newRate, uint256 avgStableRate, uint256 newTotalSupply);
        event Burn(
            address indexed user, uint256 amount, uint256 currentBalance, uint256 balanceIncrease,
            uint256 avgStableRate, uint256 newTotalSupply);
    }
}

const MINT: B256 = token::Mint::SIGNATURE_HASH;
const BURN: B256 = token::Burn::SIGNATURE_HASH;

/// The logs of a reserve's token of debt at a fixed rate.
pub(super) fn hints(asset: Address, token: Address) -> impl Iterator<Item = Hint> {
    let naming = move |topic0| Some(Naming::Balance { topic: holder_at(topic0)?, side: Side::Debt, asset });
    let hint = move |topic0| Some(Hint { contract: token.into(), topic0, naming: naming(topic0)?, explained_by: &[] });
    [MINT, BURN].into_iter().filter_map(hint)
}

/// The topic of a mint or a burn in which it names the holder.
pub(super) fn holder_at(topic0: B256) -> Option<usize> {
    match topic0 {
        MINT => Some(2),
        BURN => Some(1),
        _ => None,
    }
}

/// The changes of stored debt in the logs of `evidence`.
pub(super) fn moves<'a>(evidence: &Evidence<'a>) -> Vec<(Move, &'a Log)> {
    let moved = |log: &Log| {
        let topic0 = log.topic0().filter(|topic0| [MINT, BURN].contains(topic0))?;
        let is_it = |hint: &&Hint| hint.contract.has(log.address()) && hint.topic0 == *topic0;
        let Naming::Balance { asset, .. } = evidence.listed.iter().find(is_it)?.naming else { return None };
        let amount = changed(log, asset, &evidence.own)?;
        Some(Move { side: Side::Debt, asset: Asset::Fixed(asset), amount, fixed_rate: true })
    };
    evidence.hints.iter().filter_map(|log| Some((moved(log)?, *log))).collect()
}

/// The change of the stored debt. A loan is stored with the interest on the earlier ones. A repayment is stored less
/// the interest, as a mint if that is the larger one. `own` are the pool's logs that name the wallet.
fn changed(log: &Log, asset: Address, own: &[&Log]) -> Option<I256> {
    let (amount, interest) = (amount_at(log, 0)?, amount_at(log, 2)?);
    if log.topic0() == Some(&BURN) {
        return Some(signed(amount).saturating_neg());
    }
    let beside = || own.iter().filter(|own| own.transaction_hash == log.transaction_hash);
    let is_any = |kinds: &[EventKind]| beside().any(|own| changes_debt_by(own, asset, kinds));
    let is_repaid =
        amount < interest && is_any(&[EventKind::Repay, EventKind::Liquidation]) && !is_any(&[EventKind::Borrow]);
    Some(if is_repaid { signed(amount) } else { signed(amount).saturating_add(signed(interest)) })
}

#[cfg(test)]
mod tests {
    use alloy::primitives::{Bytes, LogData, keccak256};

    use super::{
        super::events::{BORROW_V2, REPAY_V2},
        *,
    };
    use assay_domain::U256;

    const WALLET: B256 = B256::repeat_byte(0xaa);
    const ASSET: Address = Address::repeat_byte(3);
    const TOKEN: Address = Address::repeat_byte(4);

    fn log(contract: Address, topics: &[B256], words: &[u64]) -> Log {
        let data: Vec<u8> = words.iter().flat_map(|word| U256::from(*word).to_be_bytes::<32>()).collect();
        let data = LogData::new_unchecked(topics.to_vec(), Bytes::from(data));
        Log { inner: alloy::primitives::Log { address: contract, data }, ..Log::default() }
    }

    /// The change by a log of the token, beside logs of the pool with these signatures.
    fn change(topic0: B256, amount: u64, interest: u64, beside: &[B256]) -> i64 {
        let topics = if topic0 == MINT { vec![MINT, WALLET, WALLET] } else { vec![BURN, WALLET] };
        let of_token = log(TOKEN, &topics, &[amount, 1_000 + interest, interest, 0, 0, 0]);
        let own: Vec<Log> =
            beside.iter().map(|topic0| log(Address::ZERO, &[*topic0, ASSET.into_word(), WALLET], &[1])).collect();
        let listed: Vec<Hint> = hints(ASSET, TOKEN).collect();
        let (own, hints) = (own.iter().collect(), vec![&of_token]);
        let evidence = Evidence { own, hints, listed: &listed, ..Evidence::default() };
        let [(moved, _)] = moves(&evidence)[..] else { panic!() };
        assert_eq!((moved.side, moved.asset), (Side::Debt, Asset::Fixed(ASSET)));
        i64::try_from(moved.amount).unwrap()
    }

    #[test]
    fn topics_are_the_hashes_of_the_events() {
        let mint = "Mint(address,address,uint256,uint256,uint256,uint256,uint256,uint256)";
        assert_eq!(MINT, keccak256(mint));
        assert_eq!(BURN, keccak256("Burn(address,uint256,uint256,uint256,uint256,uint256)"));
    }

    #[test]
    fn a_loan_adds_the_interest_on_earlier_ones() {
        assert_eq!(change(MINT, 500, 7, &[BORROW_V2]), 507);
        assert_eq!(change(MINT, 5, 7, &[BORROW_V2]), 12);
        assert_eq!(change(MINT, 500, 0, &[]), 500, "from another rate");
    }

    #[test]
    fn a_repayment_is_stored_less_the_interest() {
        assert_eq!(change(BURN, 93, 7, &[REPAY_V2]), -93);
        assert_eq!(change(MINT, 4, 7, &[REPAY_V2]), 4, "less than the interest was repaid");
    }
}
