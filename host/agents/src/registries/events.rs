//! The events of the identity registry, in the order of the chain.

use alloy::{rpc::types::Log, sol, sol_types::SolEvent};

use super::{AgentRegistries, AgentsError, MAX_AGENTS};
use assay_domain::{Address, U256};
use assay_evm::{
    fault::Fault,
    logs::{Ceiling, LogQuery, Reaction, in_order, reaction},
    span::Span,
};

sol! {
    event Registered(uint256 indexed agentId, string agentURI, address indexed owner);
    event URIUpdated(uint256 indexed agentId, string newURI, address indexed updatedBy);
    event Transfer(address indexed from, address indexed to, uint256 indexed tokenId);
}

/// Maximum span of one query, even if an endpoint allows more: the answer must fit into memory.
const WIDEST: u64 = 100_000;

/// One event of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentEvent {
    pub id: u64,
    pub change: AgentChange,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentChange {
    /// Its new owner.
    Owner(Address),
    /// Its new URI.
    Uri(String),
    Burned,
}

impl AgentRegistries {
    /// The events from block `from` on, and the last block that they cover, at most `to`.
    ///
    /// # Errors
    /// [`AgentsError`].
    pub async fn events(&self, from: u64, to: u64) -> Result<(Vec<AgentEvent>, u64), AgentsError> {
        let (client, log_range) = (&self.inner.client, self.inner.log_range);
        let query = LogQuery {
            addresses: vec![self.inner.identity],
            topics: [
                vec![Registered::SIGNATURE_HASH, URIUpdated::SIGNATURE_HASH, Transfer::SIGNATURE_HASH],
                vec![],
                vec![],
                vec![],
            ],
        };
        let (mut width, mut timeouts) = (WIDEST, 0);
        loop {
            let (span, _) = Span { from, to }.cut(width.min(client.log_ceiling()));
            let fault = match client.believed_logs(&query, span).await {
                Ok(mut logs) => {
                    in_order(&mut logs);
                    return Ok((logs.iter().filter_map(event).collect(), span.to));
                }
                Err(fault) => fault,
            };
            timeouts += u32::from(matches!(fault, Fault::TimedOut(_)));
            match reaction(&fault, span, log_range, timeouts) {
                Reaction::Ceiling(width) => client.lower_log_ceiling(Ceiling { width, is_named: true }),
                Reaction::Split(narrower) => width = narrower,
                Reaction::GiveUp => return Err(fault.into()),
            }
        }
    }
}

/// The event in a log; `None` for a malformed log or an impossible id.
pub(crate) fn event(log: &Log) -> Option<AgentEvent> {
    let log = &log.inner;
    let (id, change) = match log.topics().first() {
        Some(&Registered::SIGNATURE_HASH) => {
            let event = Registered::decode_log(log).ok()?;
            (event.agentId, AgentChange::Uri(event.agentURI.clone()))
        }
        Some(&URIUpdated::SIGNATURE_HASH) => {
            let event = URIUpdated::decode_log(log).ok()?;
            (event.agentId, AgentChange::Uri(event.newURI.clone()))
        }
        _ => {
            let event = Transfer::decode_log(log).ok()?;
            let change = if event.to == Address::ZERO { AgentChange::Burned } else { AgentChange::Owner(event.to) };
            (event.tokenId, change)
        }
    };
    (id <= U256::from(MAX_AGENTS)).then(|| AgentEvent { id: id.saturating_to(), change })
}

#[cfg(test)]
mod tests {
    use alloy::primitives::{Log as Inner, LogData};

    use super::*;

    fn log(data: LogData) -> Log {
        Log { inner: Inner { address: Address::ZERO, data }, ..Log::default() }
    }

    #[test]
    fn events_are_read_and_nonsense_is_none() {
        let owner = Address::repeat_byte(7);
        let uri = Registered { agentId: U256::from(3), agentURI: "ipfs://x".into(), owner };
        assert_eq!(
            event(&log(uri.encode_log_data())),
            Some(AgentEvent { id: 3, change: AgentChange::Uri("ipfs://x".into()) })
        );
        let moved = Transfer { from: owner, to: Address::repeat_byte(8), tokenId: U256::from(3) };
        assert_eq!(
            event(&log(moved.encode_log_data())),
            Some(AgentEvent { id: 3, change: AgentChange::Owner(Address::repeat_byte(8)) })
        );
        let burned = Transfer { from: owner, to: Address::ZERO, tokenId: U256::ZERO };
        assert_eq!(event(&log(burned.encode_log_data())), Some(AgentEvent { id: 0, change: AgentChange::Burned }));
        let beyond = Transfer { from: owner, to: owner, tokenId: U256::MAX };
        assert_eq!(event(&log(beyond.encode_log_data())), None);
        let cut = LogData::new_unchecked(vec![Registered::SIGNATURE_HASH], vec![1, 2, 3].into());
        assert_eq!(event(&log(cut)), None);
    }
}
