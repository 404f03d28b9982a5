//! The traits that connect readers to a lending protocol. Each protocol implements both in its own folder.

pub(crate) mod aave;
pub(crate) mod comet;
pub(crate) mod ctoken;
pub(crate) mod euler;
pub(crate) mod fluid;
mod held;
pub(crate) mod maker;
pub(crate) mod morpho;

use std::{collections::BTreeSet, fmt::Debug, sync::Arc};

use alloy::{
    primitives::{Bytes, I256},
    rpc::types::Log,
};
use futures::future::BoxFuture;

use crate::{
    asset::Asset,
    config::MarketConfig,
    figures::{
        balance::Balance,
        hints::Hint,
        indexed::{Entry, Had},
        record::{Side, StatePosition, Unexplained},
        sums::{Move, Sums},
    },
};
pub use assay_domain::EventKind;
use assay_domain::{Address, B256, EventCounts, Prices, U256};
use assay_evm::{Block, Call, Client, Fault, Span, client::Bounds};
pub use held::{AccountView, Held, HeldParts};

/// A log that a market emits about a wallet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Signature {
    pub topic0: B256,
    /// The topic that names the wallet: 1 to 3.
    pub wallet_at: usize,
}

/// The logs of a span of blocks that concern a wallet in one market, each list in chain order.
#[derive(Debug, Default)]
pub(crate) struct Evidence<'a> {
    /// Logs of the market that name the wallet, by its protocol's signatures, including those in `receipts`.
    pub own: Vec<&'a Log>,
    /// Logs that match the market's hints.
    pub hints: Vec<&'a Log>,
    /// All logs of the market in transactions that any market's hints point to. They may name other wallets, and
    /// include those in `own`.
    pub receipts: Vec<&'a Log>,
    /// The market's hints.
    pub listed: &'a [Hint],
    /// The amounts that were read before.
    pub before: Option<Before<'a>>,
}

/// The amounts of a market in the blocks before `next`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Before<'a> {
    pub next: u64,
    pub sums: &'a Sums,
}

/// The terms of several markets, in order; `None` for a market that does not answer as its protocol should.
pub(crate) type FoundTerms<'a> = BoxFuture<'a, Result<Vec<Option<MarketTerms>>, Fault>>;

/// The blocks to search for changes without a log, and what is known about them.
pub(crate) struct Quest<'a> {
    pub client: &'a Client,
    pub market: Address,
    pub wallet: Address,
    pub span: Span,
    /// The position in old state before `span`, if known.
    pub before: Option<StatePosition>,
    /// The amounts and the events that the logs of `span` show, by block.
    pub logged: Vec<(u64, Move)>,
    pub events: Vec<(u64, EventKind)>,
}

/// The changes that old state adds to the logs of a span.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Unlogged {
    /// By block, in chain order.
    pub events: Vec<(u64, EventKind)>,
    pub moves: Vec<(u64, Move)>,
    /// The position in old state after the span.
    pub after: StatePosition,
    /// What old state does not show, if anything.
    pub unsure: Option<Unexplained>,
}

impl Unlogged {
    /// These changes, followed by the `later` ones.
    #[must_use]
    pub(crate) fn then(mut self, later: Self) -> Self {
        self.events.extend(later.events);
        self.moves.extend(later.moves);
        Self { after: later.after, unsure: self.unsure.or(later.unsure), ..self }
    }
}

/// Why changes without a log are unknown.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// A later try may succeed.
    Unread(Fault),
    /// A later try would fail in the same way.
    Lasting(Unexplained),
}

impl From<Fault> for Obstacle {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::NoState => Self::Lasting(Unexplained::NoOldState),
            fault => Self::Unread(fault),
        }
    }
}

/// The facts about a protocol that hold for every wallet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Profile {
    /// Markets of one family are looked up together.
    pub family: &'static str,
    /// Raised if more is read from the logs, or the same logs come to mean something else. Stored histories of an
    /// earlier reading are read once more.
    pub reading: u32,
    /// The logs of a market that name a wallet.
    pub signatures: &'static [Signature],
    /// The market's logs that count in a receipt but are not among the signatures.
    pub in_receipts: &'static [B256],
    /// The counts before anything is read: `None` for an event type that the logs do not show.
    pub no_events: EventCounts,
    /// Whether each trace in the contracts' state came with a log.
    pub logs_its_traces: bool,
    /// Whether the parts of a position are known only from the logs. The position then does not show that the only log
    /// of a part is missing.
    pub names_its_parts: bool,
    /// Whether a market's own logs are worth reading while its terms are unknown.
    pub reads_without_terms: bool,
    /// Whether the terms list a contract from its first block on. Where a node keeps no state, an earlier list then
    /// shows that the contract did not exist.
    pub lists_new_contracts: bool,
    /// Whether a borrowing that no hint points to is missing from the history, even if its repayment is not.
    pub can_lack_borrowings: bool,
}

impl Profile {
    pub(crate) const fn new(family: &'static str, signatures: &'static [Signature]) -> Self {
        Self {
            family,
            reading: 1,
            signatures,
            in_receipts: &[],
            no_events: EventCounts::ZERO,
            logs_its_traces: false,
            names_its_parts: false,
            reads_without_terms: true,
            lists_new_contracts: false,
            can_lack_borrowings: false,
        }
    }

    /// Whether `counts`, which are complete, lack a borrowing that must have happened.
    pub(crate) fn lacks_a_borrowing(&self, counts: &EventCounts) -> bool {
        self.can_lack_borrowings && counts.borrow == Some(0) && counts.repay.max(counts.liquidation) > Some(0)
    }
}

/// Reads the history of a wallet in the markets of one protocol.
pub(crate) trait LendingProtocol: Debug + Send + Sync {
    fn profile(&self) -> Profile;

    /// The terms of `markets`, all of this protocol's family, in the state after block `at`.
    fn look_up<'a>(&self, client: &'a Client, markets: Vec<&'a MarketConfig>, at: Block) -> FoundTerms<'a>;

    /// The events of `wallet` in one market, in chain order. Several logs of a transaction may be one event.
    fn events<'a>(&self, evidence: &Evidence<'a>, wallet: B256) -> Vec<(EventKind, &'a Log)>;

    /// The amounts by which the same logs changed `wallet`'s position, in chain order.
    fn moves<'a>(&self, evidence: &Evidence<'a>, wallet: B256) -> Vec<(Move, &'a Log)>;

    /// Whether the logs show everything that changes a position, so the amounts can be compared with it.
    fn adds_up(&self, _hints: &[Hint]) -> bool {
        true
    }

    /// Whether `log`, which matches `hint`, needs no receipt because other logs of the transaction are enough: `own`,
    /// logs of the market that name the wallet, and `hinting`, logs that match its hints.
    fn is_explained(&self, hint: &Hint, _log: &Log, _wallet: B256, own: &[&Log], _hinting: &[&Log]) -> bool {
        hint.is_explained_by(own)
    }

    /// The class of `log` among the logs of its contract in a transaction that match `hint`:
    /// [`is_explained`](Self::is_explained) says the same of all logs of a class, and is asked once, for a transaction
    /// may have thousands. `None` if each log is asked about.
    fn explained_alike(&self, _hint: &Hint, _log: &Log, _wallet: B256) -> Option<usize> {
        None
    }

    /// The logs in `own`, the market's logs that name the wallet, without a log of the token that they changed, which
    /// may have been left out: `hinting` has the logs that match `hints`. The receipt has all.
    fn lonely<'a>(&self, _own: &[&'a Log], _hinting: &[&Log], _hints: &[Hint], _wallet: B256) -> Vec<&'a Log> {
        Vec::new()
    }

    /// The logs of tokens in `evidence` that lack the market's own log of the same change: it was left out, unless the
    /// block proves that there is none.
    fn unpaired<'a>(&self, _evidence: &Evidence<'a>, _wallet: B256) -> Vec<&'a Log> {
        Vec::new()
    }

    /// For a protocol whose logs do not show every change of a position.
    fn partial_logs(&self) -> Option<&dyn PartialLogs> {
        None
    }

    /// For a protocol whose logs name a wallet by other words, such as those of its vaults.
    fn aliases(&self) -> Option<&dyn Aliases> {
        None
    }

    /// For a protocol with logs that contain the number of a position but name no wallet.
    fn numbers(&self) -> Option<&dyn Numbers> {
        None
    }
}

/// Finds what the logs of a market leave out.
pub(crate) trait PartialLogs {
    /// The logs in `own`, logs of the market that name the wallet, whose kind of event depends on a certain log after
    /// them, and which no such log follows. Only the receipt shows that none was left out.
    fn unsettled<'a>(&self, own: &[&'a Log], wallet: B256) -> Vec<&'a Log>;

    /// The logs whose transaction may also have changed the position without a log, each with the least that the wallet
    /// owned after it, in the market's only asset.
    fn incomplete<'a>(&self, evidence: &Evidence<'a>, wallet: B256) -> Vec<(I256, &'a Log)>;

    /// The changes of a position that no log shows.
    fn unlogged<'a>(&self, quest: Quest<'a>) -> BoxFuture<'a, Result<Unlogged, Obstacle>>;
}

/// Reads histories that are kept under several words.
pub(crate) trait Aliases {
    /// Joins the entries of the words that identify a wallet in the logs of a market, by the wallet's hints. The wallet
    /// itself comes first. `None` if the entries leave a doubt.
    fn joined(&self, of_words: &[(B256, &[Entry])], hints: &[Hint]) -> Option<Vec<Entry>>;
}

/// Tells which numbered positions belonged to a wallet.
pub(crate) trait Numbers: Sync {
    /// The positions that a wallet held, according to its `own` entries in the index.
    fn had(&self, own: &[Entry]) -> Had;
}

/// The terms of one market: contracts and parameters that governance can change. They are looked up again every hour.
pub type MarketTerms = Arc<dyn LendingTerms>;

/// Reads the position of a wallet in one market, by the market's terms.
pub trait LendingTerms: Debug + Send + Sync {
    /// The calls that return a wallet's position.
    fn calls(&self, _wallet: Address) -> Vec<Call> {
        Vec::new()
    }

    /// The limits of these calls, if anybody may choose the contracts; `None` if the configuration or a market's
    /// governance does.
    fn bounds(&self) -> Option<Bounds> {
        None
    }

    /// The position in the answers to [`calls`](Self::calls), at these `prices`. `None` if a balance, or a price that
    /// matters, is missing: part of a position is not a position.
    fn held_at(&self, answers: &[Option<Bytes>], prices: &Prices) -> Option<Held> {
        self.held(answers, self.quoted_in().and_then(|asset| prices.get(&Some(asset)).map(|price| price.usd)))
    }

    /// The same if [`quoted_in`](Self::quoted_in) is the only price that matters.
    fn held(&self, _answers: &[Option<Bytes>], _quote_usd: Option<f64>) -> Option<Held> {
        None
    }

    /// What the market's controller states of the wallet, if this market asks for all of its markets.
    fn account(&self, _answers: &[Option<Bytes>]) -> Option<AccountView> {
        None
    }

    /// The balance of each asset in the answers to [`calls`](Self::calls); `None` if one is missing, or if this
    /// protocol does not compare amounts.
    fn balances(&self, _answers: &[Option<Bytes>]) -> Option<Vec<Balance>> {
        None
    }

    /// The token of an asset in [`Move`], and the number of its smallest units in one whole token.
    fn token(&self, _side: Side, _asset: Asset) -> Option<(Address, f64)> {
        None
    }

    /// The tokens by which the market records deposits and debts, other than itself. Their balances are part of the
    /// position.
    fn receipts(&self) -> Vec<Address> {
        Vec::new()
    }

    /// The calls that show whether a wallet without any event ever had a position, as far as contracts keep a trace.
    fn traces(&self, _wallet: Address) -> Vec<Call> {
        Vec::new()
    }

    /// Whether the answers to [`traces`](Self::traces) prove that it had one.
    fn ever_held(&self, _answers: &[Option<Bytes>]) -> bool {
        false
    }

    /// The balances that changed at least once, by the answers to [`traces`](Self::traces), with a log for each change.
    fn touched(&self, _answers: &[Option<Bytes>], _wallet: Address) -> Vec<(Side, Asset)> {
        Vec::new()
    }

    /// The storage slot with a trace that no call returns, if the answers to [`traces`](Self::traces) allow for one.
    fn trace_slot(&self, _answers: &[Option<Bytes>], _wallet: Address) -> Option<(Address, U256)> {
        None
    }

    /// Whether `value` in that slot proves that the wallet had a position.
    fn is_trace(&self, _value: U256) -> bool {
        false
    }

    /// Whether they list every contract. If not, they are looked up again by the next read.
    fn is_whole(&self) -> bool {
        true
    }

    /// Whether the answers to [`traces`](Self::traces) may lack a part of the position that the wallet has, in a market
    /// whose parts only logs name.
    fn lacks_parts(&self, _answers: &[Option<Bytes>]) -> bool {
        false
    }

    /// Whether the market did not exist yet, so that nobody has a history there.
    fn is_absent(&self) -> bool {
        false
    }

    /// Why no history in this market can be complete, in words; `None` if one can.
    fn lacks(&self) -> Option<&'static str> {
        None
    }

    /// The logs, other than those of the market, that point to a transaction.
    fn hints(&self) -> Vec<Hint> {
        Vec::new()
    }

    /// An oracle that prices every listed asset in dollars, and its number for one dollar.
    fn oracle(&self) -> Option<(Address, U256)> {
        None
    }

    /// The asset whose price in dollars [`held`](Self::held) needs.
    fn quoted_in(&self) -> Option<Address> {
        None
    }

    /// Looks up the words that identify `wallet` in the logs, in the state after block `at`. `known` are the parts of a
    /// position that the wallet once had. `None` for a market whose logs name only wallets; the future returns `None`
    /// if the market does not answer.
    fn aliases<'a>(
        &'a self,
        _client: &'a Client,
        _wallet: Address,
        _known: &'a BTreeSet<B256>,
        _at: Block,
    ) -> Option<FoundAliases<'a>> {
        None
    }

    /// Whether the answers to [`calls`](Self::calls) lead to every part of a position, so that the parts are read even
    /// if the history is not complete.
    fn states_its_parts(&self) -> bool {
        false
    }

    /// Reads the parts of a market that a wallet used, by its moves and answers in `used`, in the state after block
    /// `at`. They replace these terms for the wallet. `None` for a market whose position is in the answers to
    /// [`calls`](Self::calls); the future returns `None` if the market does not answer for a part.
    fn parts<'a>(
        &'a self,
        _client: &'a Client,
        _wallet: Address,
        _used: Used<'_>,
        _at: Block,
    ) -> Option<FoundParts<'a>> {
        None
    }
}

/// The hints of a wallet, in addition to those of its market.
pub type FoundAliases<'a> = BoxFuture<'a, Result<Option<Vec<Hint>>, Fault>>;

/// A wallet's moves and hints in a market.
#[derive(Debug, Clone, Copy)]
pub struct Used<'a> {
    /// Empty if the history is not complete.
    pub sums: &'a Sums,
    /// The market's hints for the wallet.
    pub hints: &'a [Hint],
    /// The answers to [`LendingTerms::calls`].
    pub answers: &'a [Option<Bytes>],
    /// Whether the index has what happened to positions whose logs name no wallet.
    pub is_counted: bool,
}

/// The parts of a market that a wallet used.
pub type FoundParts<'a> = BoxFuture<'a, Result<Option<Box<dyn Parts>>, Fault>>;

/// Markets in one contract, some of which a wallet used.
pub trait Parts: Send {
    /// The tokens that the wallet has or owes there.
    fn tokens(&self) -> BTreeSet<Address>;

    /// Their terms for the wallet. `priced` returns whether a token has a price in dollars, and its decimals if it is
    /// configured.
    fn priced(self: Box<Self>, priced: &dyn Fn(Address) -> Option<Option<u8>>) -> MarketTerms;
}

/// Boxes the terms of one protocol as those of any.
pub(crate) fn boxed<T: LendingTerms + 'static>(found: Vec<Option<T>>) -> Vec<Option<MarketTerms>> {
    found.into_iter().map(|terms| terms.map(|terms| Arc::new(terms) as MarketTerms)).collect()
}
