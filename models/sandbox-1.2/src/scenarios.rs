//! Scenarios: addresses from 0x…0101 on and agents from 101 on, each for one condition in which production answers.

use crate::{Behaviour, PaymentRefusal, Phase, Scenario, Subject};

/// The first 19 bytes of a scenario's address. The last byte is its place in the list, from 1 on.
const PREFIX: [u8; 19] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
/// The first agent with a scenario.
const FIRST_AGENT: u64 = 101;

/// Id, title, what a client sees, and the behaviour.
type Row = (&'static str, &'static str, &'static str, Behaviour);

const ADDRESSES: [Row; 11] = [
    (
        "pending",
        "Pending, and complete at the third request",
        "The coverage is `pending` and the score provisional; the third request for a score or report is complete.",
        Behaviour::Pending(3),
    ),
    (
        "partial",
        "A history that is not current",
        "The coverage of one pool is `partial`, and the score is provisional.",
        Behaviour::Partial,
    ),
    (
        "failed-pool",
        "A pool that could not be read",
        "The coverage of one pool is `failed`, its counts are null, and the score is provisional.",
        Behaviour::FailedPool,
    ),
    (
        "provisional",
        "A score that lacks a price",
        "All lending events are read, but the score is provisional; `unread` in the report says why.",
        Behaviour::Provisional,
    ),
    (
        "chain-unread",
        "A chain that could not be read",
        "Nothing of chain 42161 was read: the score is provisional, `unread` says it, and reports of that chain are 502.",
        Behaviour::ChainUnread(42_161),
    ),
    (
        "liquidated-yesterday",
        "Liquidated yesterday",
        "The report has one liquidation more, on the day before the request.",
        Behaviour::LiquidatedYesterday,
    ),
    ("not-found", "No activity", "404: the address has no on-chain activity.", Behaviour::NotFound),
    (
        "rate-limited",
        "Too many requests",
        "429 with `Retry-After: 30`, as a key that made too many requests gets it.",
        Behaviour::RateLimited(30),
    ),
    (
        "upstream-failed",
        "No chain answers",
        "502 with `Retry-After`: no chain could be read.",
        Behaviour::UpstreamFailed,
    ),
    ("unavailable", "Overloaded", "503 with `Retry-After`: too many requests are at work.", Behaviour::Unavailable),
    ("slow", "A slow answer", "The plain answer, after five seconds.", Behaviour::Slow(5_000)),
];

const AGENTS: [Row; 13] = [
    failing("scoring", "A submission fails while it is scored", Phase::Scoring),
    failing("uploading", "A submission fails while its document is uploaded", Phase::Uploading),
    failing("submitting", "A submission fails while it is sent", Phase::Submitting),
    refused("network", "A payment on another network", PaymentRefusal::Network),
    refused("recipient", "A payment to somebody else", PaymentRefusal::Recipient),
    refused("value", "A payment of another amount", PaymentRefusal::Value),
    refused("not-yet-valid", "A payment that is not valid yet", PaymentRefusal::NotYetValid),
    refused("expired", "A payment that has expired", PaymentRefusal::Expired),
    refused("signature", "A payment with a wrong signature", PaymentRefusal::Signature),
    refused("insufficient-funds", "A payer without money", PaymentRefusal::InsufficientFunds),
    refused("nonce-used", "A payment that was used before", PaymentRefusal::NonceUsed),
    refused("transaction-reverted", "A transfer that reverts", PaymentRefusal::TransactionReverted),
    refused("settlement-failed", "A transfer that does not arrive", PaymentRefusal::SettlementFailed),
];

const fn failing(id: &'static str, title: &'static str, phase: Phase) -> Row {
    let seen = "The submission is accepted, and its status becomes `failed` in this phase, with the reason in `error`.";
    (id, title, seen, Behaviour::SubmissionFails(phase))
}

const fn refused(id: &'static str, title: &'static str, why: PaymentRefusal) -> Row {
    let seen = "Without a key: 402 with the terms, and 402 with this reason in `error` for every payment.";
    (id, title, seen, Behaviour::PaymentRefused(why))
}

/// All scenarios, addresses first.
pub fn scenarios() -> Vec<Scenario> {
    let addresses = ADDRESSES.iter().zip(1_u8..).map(|(row, at)| (row, String::new(), Subject::Address(address(at))));
    let agents = AGENTS.iter().zip(FIRST_AGENT..).map(|(row, id)| {
        let kind = if matches!(row.3, Behaviour::PaymentRefused(_)) { "payment-refused-" } else { "submission-fails-" };
        (row, kind.to_owned(), Subject::Agent(id))
    });
    let scenario = |((id, title, description, _), kind, subject): (&Row, String, Subject)| Scenario {
        id: kind + id,
        title: (*title).to_owned(),
        subject,
        description: (*description).to_owned(),
    };
    addresses.chain(agents).map(scenario).collect()
}

/// None for a subject without a scenario.
pub fn behaviour_of(subject: &Subject) -> Option<Behaviour> {
    let row = match subject {
        Subject::Address(bytes) => {
            let (last, before) = bytes.split_last()?;
            let at = last.checked_sub(1).filter(|_| before == PREFIX)?;
            ADDRESSES.get(usize::from(at))?
        }
        Subject::Agent(id) => AGENTS.get(usize::try_from(id.checked_sub(FIRST_AGENT)?).ok()?)?,
    };
    Some(row.3)
}

fn address(at: u8) -> Vec<u8> {
    PREFIX.into_iter().chain([at]).collect()
}
