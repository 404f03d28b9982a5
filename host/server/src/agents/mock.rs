//! The mock agents of the sandbox. They never change, and they include every case that a client has to handle: burned
//! ids, documents that cannot be fetched, and agents without feedback.

use alloy::primitives::keccak256;

use super::{AgentError, Found, Index, Page};
use assay_domain::{Address, Agent, AgentMetadata, AgentReputation, Tag, TagSummary};

/// Agents ever registered; their ids start at 1.
const REGISTERED: u64 = 120;
const FIRST: [&str; 7] = ["Harbor", "Ledger", "Beacon", "Quarry", "Sable", "Orchid", "Compass"];
const LAST: [&str; 5] = ["Lender", "Scout", "Trader", "Courier", "Auditor"];

pub(super) struct Mock {
    index: Index,
}

impl Mock {
    pub(super) fn new() -> Self {
        Self { index: Index::new((1..=REGISTERED).filter_map(agent).collect()) }
    }

    pub(super) fn page(&self, page: u64, limit: u64) -> Page {
        let first = page.saturating_sub(1).saturating_mul(limit).saturating_add(1);
        let ids = first..=REGISTERED.min(first.saturating_add(limit).saturating_sub(1));
        Page { agents: ids.filter_map(agent).collect(), total: REGISTERED }
    }

    pub(super) fn get(&self, id: u64) -> Result<Agent, AgentError> {
        agent(id).ok_or(AgentError::Unknown)
    }

    pub(super) fn search(&self, query: &str, skip: u64, limit: u64) -> Found {
        self.index.search(query, skip, limit)
    }

    pub(super) fn reputation(&self, id: u64) -> Result<AgentReputation, AgentError> {
        agent(id).ok_or(AgentError::Unknown)?;
        let clients = id % 5;
        let summaries = match clients {
            0 => Vec::new(),
            _ => Tag::ALL.iter().map(|tag| summary(*tag, id, clients)).collect(),
        };
        // Each client gave feedback once under each tag.
        let clients = usize::try_from(clients).unwrap_or_default();
        Ok(AgentReputation { summaries, clients, clients_read: clients, complete: true })
    }
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

    #[test]
    fn pages_and_search_show_the_same_agents() {
        let mock = Mock::new();
        let all: Vec<Agent> = (1..=7).flat_map(|page| mock.page(page, 20).agents).collect();
        assert_eq!(
            (
                all.len(),
                mock.page(1, 20).agents.len(),
                mock.page(7, 20).agents.len(),
                mock.page(u64::MAX, 100).agents.len()
            ),
            (114, 19, 0, 0)
        );
        assert!(all.iter().all(|agent| mock.get(agent.id).as_ref() == Ok(agent)));
        assert_eq!(mock.search("LENDER", 0, 100).total, 18);
        for id in [0, 20, 121, u64::MAX] {
            assert_eq!((mock.get(id), mock.reputation(id).is_err()), (Err(AgentError::Unknown), true), "{id}");
        }
        for agent in &all {
            let held = mock.reputation(agent.id).unwrap();
            assert!(
                held.summaries.iter().all(|tag| tag.least <= tag.mean && tag.mean <= tag.most && tag.most <= 1000.0),
                "{held:?}"
            );
        }
    }
}
