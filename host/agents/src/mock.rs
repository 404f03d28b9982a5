//! The mock agents of the sandbox. They never change, and they include every case that a client has to handle: burned
//! ids, documents that cannot be fetched, and agents without feedback.

use std::{future::ready, sync::Arc};

use alloy::primitives::keccak256;
use futures::FutureExt;

use super::{AgentAnswer, AgentError, AgentIndex, AgentMatches, AgentPage, AgentSource};
use assay_domain::{Address, Agent, AgentMetadata, AgentReputation, Tag, TagSummary};

/// Agents ever registered; their ids start at 1.
const REGISTERED: u64 = 120;
const FIRST: [&str; 7] = ["Harbor", "Ledger", "Beacon", "Quarry", "Sable", "Orchid", "Compass"];
const LAST: [&str; 5] = ["Lender", "Scout", "Trader", "Courier", "Auditor"];

pub(super) struct Mock {
    index: AgentIndex,
}

impl Mock {
    pub(super) fn new() -> Self {
        Self { index: AgentIndex::new((1..=REGISTERED).filter_map(agent).collect()) }
    }
}

impl AgentSource for Mock {
    fn page(&self, page: u64, limit: u64) -> AgentAnswer<'_, AgentPage> {
        let first = page.saturating_sub(1).saturating_mul(limit).saturating_add(1);
        let ids = first..=REGISTERED.min(first.saturating_add(limit).saturating_sub(1));
        ready(Ok(AgentPage { agents: ids.filter_map(agent).collect(), total: REGISTERED })).boxed()
    }

    fn get(&self, id: u64) -> AgentAnswer<'_, Agent> {
        ready(agent(id).ok_or(AgentError::Unknown)).boxed()
    }

    fn search<'a>(&'a self, query: &'a str, skip: u64, limit: u64) -> AgentAnswer<'a, AgentMatches> {
        ready(Ok(self.index.search(query, skip, limit))).boxed()
    }

    fn reputation(&self, id: u64) -> AgentAnswer<'_, Arc<AgentReputation>> {
        ready(agent(id).map(|_| Arc::new(reputation(id))).ok_or(AgentError::Unknown)).boxed()
    }
}

fn reputation(id: u64) -> AgentReputation {
    let clients = id % 5;
    let summaries = match clients {
        0 => Vec::new(),
        _ => Tag::ALL.iter().map(|tag| summary(*tag, id, clients)).collect(),
    };
    // Each client gave feedback once under each tag.
    let clients = usize::try_from(clients).unwrap_or_default();
    AgentReputation { summaries, clients, clients_read: clients, complete: true }
}

/// Whether the mock registry has this agent.
pub fn is_mock_agent(id: u64) -> bool {
    agent(id).is_some()
}

/// Every twentieth agent is burned. Ids that end in 7 have a document that cannot be fetched.
fn agent(id: u64) -> Option<Agent> {
    if !(1..=REGISTERED).contains(&id) || id.is_multiple_of(20) {
        return None;
    }
    let word = |from: &[&'static str]| from.iter().cycle().nth(id as usize).copied().unwrap_or_default();
    let metadata = AgentMetadata {
        name: Some(format!("{} {} {id}", word(&FIRST), word(&LAST))),
        description: Some(format!("Agent {id} of the sandbox, which exists nowhere else")),
        image: Some(format!("https://agents.example/{id}.png")),
    };
    let owner = Address::from_word(keccak256(format!("owner of agent {id} of the sandbox")));
    Some(Agent { id, owner, metadata: Some(metadata).filter(|_| id % 10 != 7) })
}

fn summary(tag: Tag, id: u64, clients: u64) -> TagSummary {
    let (least, step) = match tag {
        Tag::CreditScore => (560 + id, 20),
        Tag::SybilRisk => (id % 60, 4),
        Tag::IdentityCount => (id % 4, 0),
    };
    let most = least + step * (clients - 1);
    let (least, most) = (least as f64, most as f64);
    TagSummary { tag: tag.to_string(), count: clients, clients, mean: f64::midpoint(least, most), least, most }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn pages_and_search_show_the_same_agents() {
        let mock = Mock::new();
        let page = async |page, limit| mock.page(page, limit).await.unwrap().agents;
        let mut all = Vec::new();
        for number in 1..=7 {
            all.extend(page(number, 20).await);
        }
        assert_eq!(
            (all.len(), page(1, 20).await.len(), page(7, 20).await.len(), page(u64::MAX, 100).await.len()),
            (114, 19, 0, 0)
        );
        for agent in &all {
            assert_eq!(mock.get(agent.id).await.as_ref(), Ok(agent));
        }
        assert_eq!(mock.search("LENDER", 0, 100).await.unwrap().total, 18);
        for id in [0, 20, 121, u64::MAX] {
            let found = (mock.get(id).await, mock.reputation(id).await.is_err());
            assert_eq!(found, (Err(AgentError::Unknown), true), "{id}");
        }
        for agent in &all {
            let held = mock.reputation(agent.id).await.unwrap();
            assert!(
                held.summaries.iter().all(|tag| tag.least <= tag.mean && tag.mean <= tag.most && tag.most <= 1000.0),
                "{held:?}"
            );
        }
    }
}
