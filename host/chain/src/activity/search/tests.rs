use proptest::prelude::*;

use super::{
    known::Known,
    state::{Bracket, Dated, Point, Round, Search},
};
use crate::activity::records::SentProgress;
use assay_domain::B256;
use assay_evm::client::Block;

const PROBES: u64 = 31;
/// Ethereum in 2025.
const HEIGHT: u64 = 25_000_000;

/// A node with the state of blocks from `oldest` on, and an account that sent in the blocks `sent`.
#[derive(Clone)]
struct Node {
    head: u64,
    sent: Vec<u64>,
    oldest: u64,
}

impl Node {
    fn new(head: u64, mut sent: Vec<u64>) -> Self {
        sent.sort_unstable();
        Self { head, sent, oldest: 0 }
    }

    fn nonce(&self, block: u64) -> u64 {
        self.sent.iter().filter(|sent| **sent <= block).count() as u64
    }

    fn top(&self) -> Point {
        Point { block: self.head, nonce: self.nonce(self.head) }
    }

    fn block(&self, number: u64) -> Block {
        Block { number, hash: B256::left_padding_from(&number.to_be_bytes()), time: number * 12 }
    }

    fn answer(&self, round: &Round, search: &mut Search) {
        round.nonces.iter().for_each(|b| search.learn(*b, (*b >= self.oldest).then(|| self.nonce(*b))));
        round.blocks.iter().for_each(|number| search.learn_block(self.block(*number)));
    }

    /// Searches until nothing is left to ask; the number of rounds.
    fn search(&self, search: &mut Search) -> u32 {
        search.learn_block(self.block(self.head));
        let mut rounds = 0;
        while !search.is_over(self.top()) {
            rounds += 1;
            let round = search.round(self.top(), PROBES);
            assert!(round.nonces.len() <= 62 && round.blocks.len() <= 64, "{round:?}");
            self.answer(&round, search);
            assert!(rounds < 64, "{search:?}");
        }
        rounds
    }

    /// Searches with a first round up to `scouted`; the number of all rounds.
    fn search_from(&self, scouted: u64, search: &mut Search) -> u32 {
        self.answer(&Round::first(scouted, PROBES), search);
        1 + self.search(search)
    }

    fn dates(&self, search: &Search) -> [Dated; 2] {
        let top = self.top();
        [search.dated(1, top), search.dated(top.nonce, top)]
    }

    /// What a search that knows everything says.
    fn right(&self) -> [Dated; 2] {
        [self.sent.first(), self.sent.last()].map(|block| Dated::In(self.block(*block.unwrap())))
    }
}

/// Blocks in which an account sent, of a chain with this head.
fn sent(head: u64) -> impl Strategy<Value = Vec<u64>> {
    let anywhere = 1..=head;
    prop_oneof![
        proptest::collection::vec(anywhere.clone(), 1..20),
        // Close to each other, as those of most accounts are.
        (anywhere, proptest::collection::vec(0u64..2_000, 1..20))
            .prop_map(move |(from, after)| after.iter().map(|after| (from + after).min(head)).collect())
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn five_rounds_find_both_at_the_height_of_ethereum(sent in sent(HEIGHT), behind in 0u64..40) {
        let node = Node::new(HEIGHT, sent);
        let mut search = Search::default();
        let rounds = node.search_from(HEIGHT - behind, &mut search);
        prop_assert_eq!(node.dates(&search), node.right());
        prop_assert!(rounds <= 5, "{} rounds", rounds);
    }

    #[test]
    fn any_height_is_exact((head, sent) in (1u64..100_000_000).prop_flat_map(|head| (Just(head), sent(head)))) {
        let node = Node::new(head, sent);
        let mut search = Search::default();
        let rounds = node.search_from(head, &mut search);
        prop_assert_eq!(node.dates(&search), node.right());
        prop_assert!(rounds <= 6, "{} rounds", rounds);
    }

    #[test]
    fn a_nonce_that_grows_between_rounds_is_searched_for(
        earlier in sent(HEIGHT), later in sent(1_000), after in 0usize..6,
    ) {
        let node = Node::new(HEIGHT, earlier.clone());
        let mut search = Search::default();
        node.answer(&Round::first(HEIGHT, PROBES), &mut search);
        for _ in 0..after {
            node.answer(&search.round(node.top(), PROBES), &mut search);
        }
        let grown = Node::new(HEIGHT + 1_000, [earlier, later.iter().map(|block| HEIGHT + block).collect()].concat());
        grown.search(&mut search);
        prop_assert_eq!(grown.dates(&search), grown.right());
    }

    #[test]
    fn what_lies_before_kept_state_is_not_guessed(sent in sent(HEIGHT), oldest in 1..=HEIGHT) {
        let node = Node { oldest, ..Node::new(HEIGHT, sent) };
        let mut search = Search::default();
        node.search_from(HEIGHT, &mut search);
        for (date, right) in node.dates(&search).into_iter().zip(node.right()) {
            let Dated::In(block) = right else { unreachable!() };
            // The nonce before the block is needed too; nobody sends in block 0.
            let is_kept = block.number > oldest || oldest <= 1;
            prop_assert_eq!(date, if is_kept { right } else { Dated::Missing });
        }
    }

    #[test]
    fn a_search_that_broke_off_continues_without_a_wrong_date(
        sent in sent(HEIGHT), rounds in 0usize..6, finality in 0u64..100, grown in any::<bool>(),
    ) {
        let node = Node::new(HEIGHT, sent);
        let mut search = Search::default();
        node.answer(&Round::first(HEIGHT, PROBES), &mut search);
        for _ in 0..rounds {
            node.answer(&search.round(node.top(), PROBES), &mut search);
        }
        let last = node.block(HEIGHT - finality);
        let kept = Known::of(&search, node.top(), Some(last));
        let there: Vec<Block> = kept.anchors().map(|number| node.block(number)).collect();
        // The store keeps nonces of final blocks alone.
        let stored = kept.record();
        if let Some(SentProgress { nonces, seen, .. }) = &stored {
            prop_assert!(nonces.keys().all(|block| *block <= last.number) && nonces.len() <= 4);
            prop_assert!(seen.iter().all(|seen| seen.block <= last.number));
        }
        let mut later = node.clone();
        later.head += 50;
        later.sent.extend(grown.then_some(HEIGHT + 7));
        for known in [Some(kept), stored.map(Known::from)].into_iter().flatten() {
            let mut search = known.verified(&there);
            prop_assert!(later.search(&mut search) <= 5);
            for (date, right) in later.dates(&search).into_iter().zip(later.right()) {
                let (Dated::In(date), Dated::In(right)) = (date, right) else { panic!("{date:?}") };
                prop_assert_eq!((date.number, date.time), (right.number, right.time));
            }
        }
    }
}

#[test]
fn a_chain_that_was_replaced_is_searched_anew() {
    let node = Node::new(1_000, vec![10, 990]);
    let mut search = Search::default();
    node.search(&mut search);
    let known = Known::of(&search, node.top(), Some(node.block(900)));
    let [anchor, tail] = [900, 990].map(|number| node.block(number));
    assert_eq!(known.anchors().collect::<Vec<_>>(), [900, 990]);
    let other = Block { hash: B256::ZERO, ..tail };
    assert!(known.clone().verified(&[anchor, tail]).is_over(node.top()));
    // The last transaction may be in another block now; the first one is not.
    let rest = known.clone().verified(&[anchor, other]);
    assert_eq!(rest.dated(1, node.top()), Dated::In(node.block(10)));
    assert!(matches!(rest.dated(2, node.top()), Dated::Between(..)));
    assert_eq!(known.verified(&[other]), Search::default());
}

#[test]
fn a_bracket_has_times_before_it_is_closed() {
    let node = Node::new(HEIGHT, vec![20_000_000]);
    let mut search = Search::default();
    node.answer(&Round::first(HEIGHT, PROBES), &mut search);
    for _ in 0..3 {
        node.answer(&search.round(node.top(), PROBES), &mut search);
    }
    let Dated::Between(Some(after), Some(through)) = search.dated(1, node.top()) else { panic!("{search:?}") };
    assert!(after.number < 20_000_000 && through.number >= 20_000_000 && through.time - after.time < 86_400);
}

#[test]
fn probes_divide_a_bracket_and_leave_out_its_ends() {
    let bracket = Bracket { low: 10, high: 42, low_seen: true };
    assert_eq!(bracket.probes(31), (11..42).collect());
    assert_eq!(bracket.probes(3), [18, 26, 34].into());
    assert!(Bracket { low: 7, high: 8, low_seen: true }.probes(31).is_empty());
}
