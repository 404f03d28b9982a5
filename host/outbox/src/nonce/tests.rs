//! The state machine of a nonce: every state, every move, and no sequence that raises a price without a reason.

use alloy::{
    consensus::{SignableTransaction, TxEip1559},
    eips::eip2718::Encodable2718,
    primitives::Bytes,
    signers::{SignerSync, local::PrivateKeySigner},
};
use assay_domain::time_from_unix;
use assay_evm::client::Block;

use super::*;

const GWEI: u64 = 1_000_000_000;
const RULES: Rules = Rules {
    ceiling: 50 * GWEI,
    replace_after: Duration::from_secs(30),
    resend_after: Duration::from_secs(5),
    most: 16,
};
const MARKET: FeeMarket = FeeMarket { base: GWEI, tip: GWEI / 100 };
const HELD: Seen = Seen { held: true, first: true, answer: None };
const NOWHERE: Seen = Seen { held: false, first: true, answer: None };

fn now() -> Time {
    time_from_unix(1_768_473_000)
}

fn after(seconds: u64) -> Time {
    now() + Duration::from_secs(seconds)
}

fn signed(n: u8, offer: Offer, cancels: bool) -> SignedRecord {
    let Offer { max_fee, priority_fee } = offer;
    SignedRecord { hash: B256::repeat_byte(n), raw: Bytes::from(vec![n]), max_fee, priority_fee, at: now(), cancels }
}

fn slot() -> NonceRecord {
    NonceRecord { nonce: 7, signed: vec![signed(1, MARKET.offer(RULES.ceiling).unwrap(), false)] }
}

fn view(settled_nonce: u64, used_nonce: u64) -> AccountView {
    let block = |number| Block { number, hash: B256::repeat_byte(9), time: 0 };
    AccountView {
        head: block(20),
        settled: block(18),
        used_nonce,
        settled_nonce,
        next_nonce: used_nonce,
        market: MARKET,
    }
}

#[test]
fn a_nonce_is_of_the_account_that_signed_it() {
    let key = PrivateKeySigner::random();
    let transaction = TxEip1559 { chain_id: 8453, nonce: 7, ..TxEip1559::default() };
    let signature = key.sign_hash_sync(&transaction.signature_hash()).unwrap();
    let raw = transaction.into_signed(signature).encoded_2718().into();
    let offer = MARKET.offer(RULES.ceiling).unwrap();
    let own = NonceRecord { nonce: 7, signed: vec![SignedRecord { raw, ..signed(1, offer, false) }] };
    assert_eq!(own.signer(), Some((8453, key.address())));
    assert_eq!(slot().signer(), None);
}

#[test]
fn a_nonce_stands_as_its_transactions_and_the_account_say() {
    let mut slot = slot();
    slot.signed.push(signed(2, MARKET.offer(RULES.ceiling).unwrap(), true));
    let stands = |first, second, settled, used| {
        let statuses = HashMap::from([(B256::repeat_byte(1), first), (B256::repeat_byte(2), second)]);
        state_of(&slot, &view(settled, used), &statuses)
    };
    use TransactionStatus::{Mined, Missing, Pooled, Unknown};
    let mined = |succeeded, settled| Mined { block: 5, gas_used: 6, cost: 7, succeeded, settled };
    let landed = |n| LandedRecord { hash: B256::repeat_byte(n), block: 5, gas_used: 6, cost: 7 };
    for (first, second, settled, used, wanted) in [
        (Missing, Missing, 7, 7, NonceState::Waiting { held: false }),
        (Missing, Pooled, 7, 7, NonceState::Waiting { held: true }),
        // Who does not answer may hold it.
        (Unknown, Missing, 7, 7, NonceState::Waiting { held: true }),
        (Missing, Missing, 7, 8, NonceState::Unsettled),
        (Unknown, Missing, 8, 8, NonceState::Unsettled),
        (mined(true, false), Missing, 7, 8, NonceState::Unsettled),
        (Missing, Missing, 8, 8, NonceState::Ended(Ended::NoReceipt)),
        (mined(true, true), Missing, 8, 8, NonceState::Ended(Ended::Succeeded(landed(1)))),
        (mined(false, true), Missing, 8, 8, NonceState::Ended(Ended::Reverted(landed(1)))),
        (Missing, mined(true, true), 8, 8, NonceState::Ended(Ended::Cancelled(landed(2)))),
    ] {
        assert_eq!(stands(first, second, settled, used), wanted, "{first:?} {second:?} {settled} {used}");
    }
}

#[test]
fn a_price_is_raised_only_where_the_market_asks_for_more() {
    let slot = slot();
    let step = |seen, market, seconds| next_move(&slot, seen, false, market, &RULES, after(seconds)).unwrap();
    // Hours without a block, without a reason to pay more.
    assert_eq!(step(HELD, MARKET, 36_000), Move::Send);
    let dear = FeeMarket { base: 4 * GWEI, ..MARKET };
    assert_eq!(step(HELD, dear, 29), Move::Send);
    assert_eq!(step(Seen { first: false, ..HELD }, dear, 36_000), Move::Send);
    let Move::Sign(offer) = step(HELD, dear, 30) else { panic!("it stays below the price") };
    assert!(dear.is_met_by(offer) && offer.max_fee <= 3 * (dear.base + dear.tip), "{offer:?}");
    // The node itself asks for more.
    let refused = Seen { answer: Some(SendOutcome::Underpriced), ..HELD };
    assert!(matches!(step(refused, MARKET, 30), Move::Sign(offer) if offer.max_fee > slot.signed[0].max_fee));
    assert_eq!(step(HELD, FeeMarket { base: 60 * GWEI, ..MARKET }, 30), Move::Send, "above the ceiling it waits");
}

#[test]
fn what_no_node_holds_starts_from_the_market_again() {
    let fresh = MARKET.offer(RULES.ceiling).unwrap();
    let step = |slot: &NonceRecord, seen, cancel| next_move(slot, seen, cancel, MARKET, &RULES, after(40)).unwrap();
    assert_eq!(step(&slot(), NOWHERE, false), Move::Send);
    let high = Offer { max_fee: 44 * GWEI, priority_fee: 40 * GWEI };
    let escalated = NonceRecord { nonce: 7, signed: vec![signed(1, high, false)] };
    assert_eq!(step(&escalated, NOWHERE, false), Move::Sign(fresh));
    assert_eq!(step(&escalated, HELD, false), Move::Send, "what a node holds is not replaced by less");
    // A node that was not asked holds it after all.
    let refused = Seen { answer: Some(SendOutcome::ReplacementUnderpriced), ..NOWHERE };
    assert_eq!(step(&escalated, refused, false), Move::Send);
    assert_eq!(step(&escalated, NOWHERE, true), Move::Sign(fresh));
}

#[test]
fn a_cancellation_is_signed_once_and_exceeds_what_is_held() {
    let mut slot = slot();
    let cancel = |slot: &NonceRecord| next_move(slot, HELD, true, MARKET, &RULES, after(1)).unwrap();
    let Move::Sign(offer) = cancel(&slot) else { panic!("it is cancelled at once") };
    assert!(offer.max_fee * 8 >= slot.signed[0].max_fee * 9);
    slot.signed.push(SignedRecord { at: after(1), ..signed(2, offer, true) });
    assert_eq!(cancel(&slot), Move::Send);
}

#[test]
fn a_day_without_ether_signs_nothing_new_while_the_market_moves_little() {
    let mut slot = slot();
    let unpaid = Seen { answer: Some(SendOutcome::InsufficientFunds), ..NOWHERE };
    for minute in 0..1_440 {
        let market = FeeMarket { base: GWEI + (minute % 7) * GWEI / 10, tip: GWEI / 100 };
        let at = after(60 * minute);
        if let Some(Move::Sign(offer)) = next_move(&slot, unpaid, false, market, &RULES, at) {
            assert!(offer.max_fee <= 3 * (market.base + market.tip), "{offer:?}");
            slot.signed.push(SignedRecord { at, ..signed(2, offer, false) });
        }
    }
    assert_eq!(slot.signed.len(), 1);
}
