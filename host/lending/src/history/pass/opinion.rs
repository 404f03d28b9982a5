//! A second opinion on histories whose position does not show every missing log: another endpoint is asked for the same
//! logs.

use std::collections::HashSet;

use alloy::rpc::types::Log;
use futures::future::try_join_all;

use super::Pass;
use crate::{
    figures::{
        hints::{Alias, Hint, Naming},
        record::Unexplained,
        sums::{Move, Sums},
    },
    history::{
        events::{Asked, FoundLogs, extract},
        second::Opinion,
    },
    limits,
    market::Market,
};
use assay_domain::Address;
use assay_evm::{Fault, Span, failover::Witness};

impl Pass<'_> {
    /// Whether a log names a part of the wallet's position that may not be known otherwise.
    pub(super) fn names_parts(&self, log: &Log) -> bool {
        let wallet = self.plan.wallet.into_word();
        self.naming_markets().filter(|(_, hints)| !is_of_account(hints, log)).any(|(market, hints)| {
            market.is_own(log, wallet) || hints.iter().any(|hint| hint.names_parts() && hint.is(log, wallet))
        })
    }

    /// Removes logs that change what logs counted before them mean. The histories of their markets are read again.
    fn doubt_owners(&mut self, logs: &mut Vec<Log>) {
        let wallet = self.plan.wallet.into_word();
        let markets = self.reader.markets.iter().zip(self.plan.hints.iter()).zip(&mut self.ledger.entries);
        for ((market, hints), entry) in markets.filter(|((market, _), _)| market.protocol.aliases().is_some()) {
            let hints = hints.as_deref().unwrap_or_default();
            let is_hinted = |log: &Log| !is_of_account(hints, log) && hints.iter().any(|hint| hint.is(log, wallet));
            let is_of = |log: &Log| market.is_own(log, wallet) || is_hinted(log);
            if logs.iter().any(is_of) {
                entry.unexplained = Some(Unexplained::LogsMissing);
                logs.retain(|log| !is_of(log));
            }
        }
    }

    /// The contracts with such logs.
    fn naming_contracts(&self) -> HashSet<Address> {
        let contracts = |(market, hints): (&Market, &[Hint])| {
            let of_hints = hints.iter().filter(|hint| hint.names_parts()).flat_map(|hint| hint.contract.addresses());
            of_hints.chain([market.config.address]).collect::<Vec<_>>()
        };
        self.naming_markets().flat_map(contracts).collect()
    }

    /// The markets whose position has parts that only logs name, with their hints.
    fn naming_markets(&self) -> impl Iterator<Item = (&Market, &[Hint])> {
        let markets = self.reader.markets.iter().zip(self.plan.hints.iter());
        let read = markets.filter_map(|(market, hints)| Some((market, hints.as_deref()?)));
        read.filter(|(market, _)| market.protocol.profile().names_its_parts)
    }

    /// Before saving that a wallet has no history at all, asks an endpoint other than the one that answered once, if
    /// there is one. For a wallet with a history, asks only for logs that name parts of positions, because the position
    /// does not show every missing one, and for those also in the blocks of the record that no other was asked for.
    /// Most wallets have none, so an endpoint that does not answer for the whole span at once is not asked for parts of
    /// it.
    pub(super) async fn ask_another_endpoint(&mut self, through: u64) -> Result<(), Fault> {
        let (whole_from, unconfirmed_from) = (self.whole_from.take(), self.unconfirmed_from.take());
        let from = whole_from.into_iter().chain(unconfirmed_from).min();
        let Some(from) = from.filter(|_| self.reader.client.other_endpoints().is_some()) else { return Ok(()) };
        if from > through {
            self.unconfirmed_from = unconfirmed_from;
            return Ok(());
        }
        let is_whole = whole_from.is_some() && self.is_empty;
        let mut queries: Vec<_> = self.plan.queries.iter().cloned().enumerate().collect();
        if !is_whole {
            let naming = self.naming_contracts();
            queries.retain(|(_, query)| {
                query.addresses.is_empty() || query.addresses.iter().any(|contract| naming.contains(contract))
            });
            queries.iter_mut().for_each(|(_, query)| query.addresses.retain(|contract| naming.contains(contract)));
        }
        let span = Span { from, to: through };
        let (reader, mut questions) = (self.reader, Vec::new());
        for (index, query) in &queries {
            let parts = witnesses(&self.asked, *index, span).into_iter();
            questions.extend(parts.filter_map(|(part, witness)| Some((reader.besides(witness)?, query, part))));
        }
        if questions.len() > queries.len().saturating_mul(limits::OPINION_PARTS) {
            self.reader.count_opinion(Opinion::Unanswered);
            return Ok(());
        }
        let asked = questions.iter().map(|(other, query, part)| async move {
            match other.believed_logs(query, *part).await {
                // Few endpoints answer queries over all contracts.
                Err(_) if query.addresses.is_empty() => Ok(None),
                answer => answer.map(Some),
            }
        });
        let Ok(answers) = try_join_all(asked).await else {
            self.reader.count_opinion(Opinion::Unanswered);
            return Ok(());
        };
        let is_scoped = answers.iter().any(Option::is_none);
        // The other logs show the part, and its missing amount shows in the position.
        let is_known = |log: &Log| self.naming.contains(&(log.block_hash, log.log_index));
        let is_new = |log: &Log| !is_known(log) && (is_whole || self.names_parts(log));
        let mut logs: Vec<Log> = answers.into_iter().flatten().flatten().filter(is_new).collect();
        let is_record_doubted = self.doubt_records(logs.clone());
        logs.retain(|log| log.block_number.is_none_or(|block| block >= self.begun_at));
        let is_contradicted = is_record_doubted || !logs.is_empty();
        self.reader.count_opinion(if is_contradicted { Opinion::Contradicted } else { Opinion::Confirmed });
        self.confirm(is_whole, is_scoped, through);
        if !is_whole {
            self.doubt_owners(&mut logs);
        }
        if !logs.is_empty() {
            tracing::warn!(
                chain = self.reader.chain,
                logs = logs.len(),
                "an endpoint left out logs of a wallet, which another returned"
            );
            let receipts = self.reader.receipts(&self.plan, &logs).await?;
            let found = FoundLogs { logs, receipts, ..FoundLogs::default() };
            let found = self.whole(found).await?;
            self.count(found).await?;
        }
        Ok(())
    }

    /// Records that another endpoint was asked through block `through`; if it `is_scoped`, only for logs of contracts
    /// that the queries name.
    fn confirm(&mut self, is_whole: bool, is_scoped: bool, through: u64) {
        let markets = self.reader.markets.iter().zip(self.plan.hints.iter());
        for ((market, hints), entry) in markets.zip(&mut self.ledger.entries) {
            let is_asked = is_whole || market.protocol.profile().names_its_parts;
            let is_answered = !is_scoped || !hints.iter().flatten().any(Hint::is_of_any);
            if is_asked && is_answered && !entry.left_out {
                entry.confirmed = entry.confirmed.max(Some(through));
            }
        }
        self.unconfirmed_from = self.ledger.unconfirmed_from(&self.reader.markets);
    }

    /// Whether `logs` in the blocks of a record show a part that it does not have, or any event although it has none.
    /// The histories of these markets are read again.
    fn doubt_records(&mut self, logs: Vec<Log>) -> bool {
        let markets = &self.reader.markets;
        let mut found = FoundLogs { logs, ..FoundLogs::default() };
        let found = extract(markets, &self.plan, &mut found, &self.ledger.before(markets));
        let mut is_doubted = false;
        for (index, entry) in self.ledger.entries.iter_mut().enumerate() {
            let known = entry.settled_sums.as_ref().map(Sums::markets).unwrap_or_default();
            let is_new = |moved: &Move| moved.asset.part().is_some_and(|part| !known.contains(&part));
            let moves = found.moves.iter().filter(|moved| moved.market == index && moved.block < entry.next);
            let events = found.events.iter().filter(|event| event.market == index && event.block < entry.next);
            let is_blank = entry.settled.first.is_none() && entry.settled_sums.as_ref().is_none_or(Sums::is_empty);
            if moves.map(|moved| moved.amount).any(|moved| is_new(&moved)) || (is_blank && events.count() > 0) {
                entry.unexplained = Some(Unexplained::LogsMissing);
                is_doubted = true;
            }
        }
        is_doubted
    }
}

/// Whether an account of the wallet, which the hints name, emitted `log`. It names nothing that is not known.
fn is_of_account(hints: &[Hint], log: &Log) -> bool {
    let emitter = log.address().into_word();
    hints.iter().any(|hint| matches!(hint.naming, Naming::Alias { word, of: Alias::Account, .. } if word == emitter))
}

/// Who answered the query at `index` over each part of `span`; `None` where no endpoint was asked.
fn witnesses(asked: &[Asked], index: usize, span: Span) -> Vec<(Span, Option<Witness>)> {
    let mut parts: Vec<(Span, Option<Witness>)> = Vec::new();
    let mut add = |part: Span, witness| match parts.last_mut() {
        Some((last, same)) if *same == witness => last.to = part.to,
        _ => parts.push((part, witness)),
    };
    let mut at = span.from;
    for Asked { span: asked, witnesses } in asked {
        let part = Span { from: asked.from.max(at), to: asked.to.min(span.to) };
        if part.from > part.to {
            continue;
        }
        if let Some(to) = part.from.checked_sub(1).filter(|to| *to >= at) {
            add(Span { from: at, to }, None);
        }
        add(part, witnesses.get(index).copied().flatten());
        at = part.to.saturating_add(1);
    }
    if at <= span.to {
        add(Span { from: at, to: span.to }, None);
    }
    parts
}

/// Adds `part`, as one with the last of `asked` if it follows and has the same witnesses.
pub(super) fn note(asked: &mut Vec<Asked>, part: Asked) {
    match asked.last_mut() {
        Some(last) if last.witnesses == part.witnesses && last.span.to.checked_add(1) == Some(part.span.from) => {
            last.span.to = part.span.to;
        }
        _ => asked.push(part),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_a_span_has_who_answered_it() {
        let [one, other] = [Witness::at(0), Witness::at(1)].map(Some);
        let mut asked = Vec::new();
        for (from, to, witnesses) in
            [(10, 19, [one, one]), (20, 29, [one, one]), (30, 39, [one, other]), (50, 59, [other, None])]
        {
            note(&mut asked, Asked { span: Span { from, to }, witnesses: witnesses.into() });
        }
        let parts = |index, from, to| {
            let parts = witnesses(&asked, index, Span { from, to }).into_iter();
            parts.map(|(span, witness)| (span.from, span.to, witness)).collect::<Vec<_>>()
        };
        assert_eq!(parts(0, 10, 59), [(10, 39, one), (40, 49, None), (50, 59, other)]);
        assert_eq!(parts(1, 0, 70), [(0, 9, None), (10, 29, one), (30, 39, other), (40, 70, None)]);
        assert_eq!(parts(0, 15, 15), [(15, 15, one)]);
        assert_eq!(parts(2, 10, 20), [(10, 20, None)]);
        assert_eq!(witnesses(&[], 0, Span { from: 0, to: 0 }), [(Span { from: 0, to: 0 }, None)]);
    }
}
