//! The search index: the names and descriptions of all agents in one case-folded text, searched from start to end.
//!
//! A query matches an agent when its folded text is a substring of the folded name or of the folded description; a
//! match never crosses from one to the other. Folding maps each character to lower, upper and lower case again, so that
//! case does not matter in any script: `ß` and `ẞ` become `ss`, and every form of sigma becomes one. Nothing else is
//! equal: accents count, and composed and decomposed forms differ.

use memchr::memmem::Finder;

use assay_domain::Agent;

/// Separates two texts. Cleaned texts do not contain it.
const BETWEEN: char = '\0';

/// All agents at one moment, by ascending id.
#[derive(Debug, Default)]
pub struct AgentIndex {
    agents: Vec<Agent>,
    text: String,
    /// Where each agent's texts begin.
    starts: Vec<usize>,
}

/// One page of search results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentMatches {
    pub agents: Vec<Agent>,
    /// Agents that match, on all pages.
    pub total: u64,
}

impl AgentIndex {
    /// Builds the index of `agents`, which are sorted by ascending id.
    pub fn new(agents: Vec<Agent>) -> Self {
        let (mut text, mut starts) = (String::new(), Vec::with_capacity(agents.len()));
        for agent in &agents {
            starts.push(text.len());
            let metadata = agent.metadata.as_ref();
            for part in [metadata.and_then(|m| m.name.as_deref()), metadata.and_then(|m| m.description.as_deref())]
                .into_iter()
                .flatten()
            {
                text.extend(part.chars().flat_map(fold));
                text.push(BETWEEN);
            }
        }
        Self { agents, text, starts }
    }

    pub fn len(&self) -> usize {
        self.agents.len()
    }

    pub fn is_empty(&self) -> bool {
        self.agents.is_empty()
    }

    /// The agent with this id, as the index has it.
    pub fn get(&self, id: u64) -> Option<&Agent> {
        let at = self.agents.binary_search_by_key(&id, |agent| agent.id).ok()?;
        self.agents.get(at)
    }

    /// Agents that match `query`, by ascending id: `limit` of them after `skip`.
    pub fn search(&self, query: &str, skip: u64, limit: u64) -> AgentMatches {
        let needle: String = query.chars().flat_map(fold).collect();
        let mut found = AgentMatches { agents: Vec::new(), total: 0 };
        if needle.is_empty() || needle.contains(BETWEEN) {
            return found;
        }
        let finder = Finder::new(&needle);
        let (mut from, mut agent) = (0, 0);
        while let Some(at) = self.text.as_bytes().get(from..).and_then(|rest| finder.find(rest)) {
            agent = self.agent_at(from + at, agent);
            if found.total >= skip && (found.agents.len() as u64) < limit {
                found.agents.extend(self.agents.get(agent).cloned());
            }
            found.total += 1;
            agent += 1;
            // Continue after this agent, so that each agent is found once.
            let Some(next) = self.starts.get(agent) else { break };
            from = *next;
        }
        found
    }

    /// The agent whose texts contain the byte at `at`; it is the agent at `first` or a later one. The next agent is
    /// checked first: for a query that matches most agents, a binary search for each match would be slow.
    fn agent_at(&self, at: usize, first: usize) -> usize {
        let next = self.starts.get(first + 1);
        if next.is_none_or(|next| at < *next) {
            return first;
        }
        let later = self.starts.get(first + 1..).unwrap_or_default();
        first + later.partition_point(|start| *start <= at)
    }
}

fn fold(c: char) -> impl Iterator<Item = char> {
    c.to_lowercase().flat_map(char::to_uppercase).flat_map(char::to_lowercase)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use assay_domain::{Address, AgentMetadata};

    fn agent(id: u64, name: Option<&str>, description: Option<&str>) -> Agent {
        let text = |text: Option<&str>| text.map(str::to_owned);
        let metadata = AgentMetadata { name: text(name), description: text(description), image: None };
        Agent { id, owner: Address::ZERO, metadata: Some(metadata) }
    }

    fn ids(index: &AgentIndex, query: &str) -> Vec<u64> {
        index.search(query, 0, 100).agents.iter().map(|agent| agent.id).collect()
    }

    #[test]
    fn case_does_not_matter_in_any_script() {
        let names = ["Straße", "ΟΔΥΣΣΕΥΣ", "Привет", "ﬁsh", "İstanbul", "日本語エージェント", "Ǆungla", "ᲐᲑᲒ"];
        let index = AgentIndex::new(names.iter().zip(1..).map(|(name, id)| agent(id, Some(name), None)).collect());
        for (query, id) in [
            ("STRASSE", 1),
            ("straẞe", 1),
            ("οδυσσεύς", 0),
            ("οδυσσευς", 2),
            ("ПРИВЕТ", 3),
            ("FISH", 4),
            ("İSTANBUL", 5),
            ("エージェント", 6),
            ("ǆUNGLA", 7),
            ("აბგ", 8),
        ] {
            assert_eq!(ids(&index, query), if id == 0 { vec![] } else { vec![id] }, "{query}");
        }
    }

    #[test]
    fn a_match_is_within_one_text_of_one_agent() {
        let none = Agent { id: 9, owner: Address::ZERO, metadata: None };
        let index = AgentIndex::new(vec![
            agent(1, Some("ab"), Some("cd")),
            agent(5, Some("cda"), Some("a a")),
            agent(7, None, None),
            none,
        ]);
        assert_eq!(ids(&index, "a"), [1, 5]);
        assert_eq!(ids(&index, "cd"), [1, 5]);
        for query in ["bc", "dc", "b\0c", "\0", ""] {
            assert_eq!(ids(&index, query), Vec::<u64>::new(), "{query:?}");
        }
        assert_eq!(index.search("a", 1, 1).agents.first().map(|agent| agent.id), Some(5));
        assert_eq!((index.search("a", 2, 5).agents.len(), index.search("a", u64::MAX, 5).total), (0, 2));
        assert_eq!((index.get(7).map(|agent| agent.id), index.get(8)), (Some(7), None));
    }

    proptest! {
        #[test]
        fn a_scan_finds_what_a_look_at_each_finds(
            texts in prop::collection::vec(("[aAbB é]{0,4}", "[aAbB é]{0,6}"), 0..30),
            query in "[aAbBÉ]{1,2}",
            skip in 0u64..5,
        ) {
            let agents = texts.iter().zip(1..).map(|((name, about), id)| agent(id, Some(name), Some(about)));
            let agents: Vec<Agent> = agents.collect();
            let expected: Vec<Agent> = agents.iter().zip(&texts).filter(|(_, (name, about))| {
                [name, about].iter().any(|text| text.to_lowercase().contains(&query.to_lowercase()))
            }).map(|(agent, _)| agent.clone()).collect();
            let found = AgentIndex::new(agents).search(&query, skip, 3);
            prop_assert_eq!(found.total, expected.len() as u64);
            prop_assert_eq!(found.agents, expected.into_iter().skip(skip as usize).take(3).collect::<Vec<_>>());
        }
    }
}
