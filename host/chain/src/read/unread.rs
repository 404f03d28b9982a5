//! The unread parts of one chain's snapshot, with their reasons. Sends no request.

use super::discover::Discovered;
use crate::{activity::ListedScope, prices::Quotes};
use assay_domain::{Address, Coverage, Part, Position, TokenBalance, Unread};
use assay_evm::fault::Fault;
use assay_lending::{MarketResult, PositionGap};

/// The coverage of a chain without these parts.
pub(super) fn coverage(unread: &[Unread]) -> Coverage {
    if unread.iter().any(|unread| unread.part.is_scored()) { Coverage::Partial } else { Coverage::Complete }
}

/// Everything, because of `fault`, the answer of the endpoint that was asked last.
pub(super) fn failed(fault: &Fault) -> Unread {
    match fault {
        Fault::Unreachable(_) | Fault::TimedOut(_) => Unread::chain(),
        fault => Unread::new(Part::Chain, fault.reason()),
    }
}

/// Everything, if the deadline passed first.
pub(super) fn late() -> Unread {
    Unread::new(Part::Chain, "not read in time; ask again shortly")
}

/// Configured tokens that do not answer.
pub(super) fn silent(tokens: &[Address]) -> impl Iterator<Item = Unread> {
    tokens
        .iter()
        .map(|token| Unread::new(Part::Balances, format!("token {token} does not answer; correct chains.tokens")))
}

/// Prices that held tokens should have.
pub(super) fn prices(quotes: &Quotes, held: &[TokenBalance]) -> impl Iterator<Item = Unread> {
    let lacking = held.iter().filter(|token| quotes.lacking.contains(&token.contract));
    lacking.map(|token| Unread::price(token.contract))
}

/// The positions that could not be read or priced, and then those whose market did not return the health factor.
pub(super) fn positions(markets: &[MarketResult]) -> impl Iterator<Item = Unread> {
    let reasons = [
        (PositionGap::Unread, "its amounts or prices could not be read"),
        (PositionGap::HealthFactor, "the market did not return the health factor; try again later"),
    ];
    reasons.into_iter().flat_map(move |(gap, reason)| {
        let lacking = markets.iter().filter(move |market| market.gap == Some(gap)).map(|market| &market.market.config);
        lacking.map(move |market| Unread::new(Part::Position(market.protocol, market.address), reason))
    })
}

/// Positions that a market values with prices that are not believed.
pub(super) fn untrusted(quotes: &Quotes, positions: &[Position]) -> impl Iterator<Item = Unread> {
    let positions = if quotes.trusted { &[] } else { positions };
    positions.iter().map(|position| {
        let part = Part::Position(position.protocol, position.market_address);
        Unread::new(part, "the chain's price sources cannot be trusted now; try again later")
    })
}

/// What the source of a chain did not list, or all that it lists if the chain has none.
pub(super) fn listed(discovered: Option<&Discovered>) -> Vec<Unread> {
    let no_source = "no source lists them; configure an explorer or reading.discovery = \"logs\"";
    let Some(Discovered { listed, found, prices, from: _ }) = discovered else {
        return vec![Unread::new(Part::Transfers, no_source), Unread::new(Part::Nfts, no_source)];
    };
    let mut unread = Vec::new();
    if !listed.complete {
        let reason = "the list of the source is not complete; ask again shortly";
        unread.extend([Part::ListedTokens, Part::Transfers, Part::Nfts].map(|part| Unread::new(part, reason)));
    } else if listed.scope == ListedScope::Nothing {
        let reason = "the endpoint does not list them; configure an explorer";
        unread.extend([Part::Transfers, Part::Nfts].map(|part| Unread::new(part, reason)));
    } else {
        let failed = "the chain did not answer for all of them; try again later";
        let of_tokens =
            Some("the wallet has more tokens than are looked up").filter(|_| listed.progress.tokens_left_out);
        if let Some(reason) = of_tokens.or((!found.complete).then_some(failed)) {
            unread.push(Unread::new(Part::ListedTokens, reason));
        }
        unread.extend((!found.complete).then(|| Unread::new(Part::Nfts, failed)));
    }
    let silent = found.unread(&prices.prices);
    unread.extend(silent.map(|token| Unread::new(Part::ListedTokens, format!("token {token} does not answer"))));
    let lacking = prices.lacking.iter();
    unread.extend(lacking.map(|token| Unread::new(Part::Price(Some(*token)), "no API answers; try again later")));
    unread
}
