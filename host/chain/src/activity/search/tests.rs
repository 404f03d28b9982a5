use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{
    bracket::Bracket,
    known::KnownNonces,
    round::{Goal, SearchPlan, SearchRound, Width},
    state::{Dated, Point, Search},
};
use crate::activity::records::SentProgress;
use assay_domain::B256;
use assay_evm::client::Block;

/// Ethereum in 2025.
const HEIGHT: u64 = 25_000_000;
/// The time of its first block.
const START: u64 = 1_438_269_973;
const DAY: u64 = 86_400;
/// Few round trips, to the block.
const WIDE: SearchPlan = SearchPlan { goal: Goal::Block, width: Width::WIDE, genesis_accounts: false };
/// The default of a score.
const BALANCED: SearchPlan = SearchPlan { goal: Goal::Day, width: Width::BALANCED, ..WIDE };

/// A node with the state of blocks from `oldest` on, and an account that sent in the blocks `sent`.
#[derive(Clone)]
struct Node {
    head: u64,
    sent: Vec<u64>,
    oldest: u64,
    /// Answers with the newest nonce whatever the block.
    ignores_blocks: bool,
    /// Blocks that have the same time, after which the chain stands still; 0 if it never does.
    at_once: u64,
}

/// What a search cost.
#[derive(Debug, Clone, Copy, Default)]
struct Spent {
    rounds: u32,
    calls: usize,
}

impl Node {
    fn new(head: u64, mut sent: Vec<u64>) -> Self {
        sent.sort_unstable();
        Self { head, sent, oldest: 0, ignores_blocks: false, at_once: 0 }
    }

    fn nonce(&self, block: u64) -> u64 {
        let block = if self.ignores_blocks { self.head } else { block };
        self.sent.iter().filter(|sent| **sent <= block).count() as u64
    }

    fn top(&self) -> Point {
        Point { block: self.head, nonce: self.nonce(self.head) }
    }

    fn block(&self, number: u64) -> Block {
        // Blocks come some seconds early or late.
        let time = START + number * 12 + number % 11;
        let time = number.checked_div(self.at_once).map_or(time, |step| START + step * self.at_once * 4);
        Block { number, hash: B256::left_padding_from(&number.to_be_bytes()), time }
    }

    fn answer(&self, round: &SearchRound, search: &mut Search) {
        round.nonces.iter().for_each(|b| search.learn(*b, (*b >= self.oldest).then(|| self.nonce(*b))));
        round.blocks.iter().for_each(|number| search.learn_block(self.block(*number)));
    }

    /// Searches as planned until nothing is left to ask.
    fn search_by(&self, plan: SearchPlan, search: &mut Search) -> Spent {
        search.learn_block(self.block(self.head));
        let mut spent = Spent::default();
        while !search.is_over(self.top(), plan.goal) {
            let round = search.round(self.top(), plan);
            assert!(round.nonces.len() <= 63 && round.blocks.len() <= 64, "{round:?}");
            spent.rounds += 1;
            spent.calls += round.nonces.len() + round.blocks.len() + usize::from(round.first_balance);
            self.answer(&round, search);
            assert!(spent.rounds < 64, "{search:?}");
            if search.is_contradictory(self.top(), plan.genesis_accounts) {
                break;
            }
        }
        spent
    }

    /// Searches to the block, in few round trips.
    fn search(&self, search: &mut Search) -> u32 {
        self.search_by(WIDE, search).rounds
    }

    /// Searches with a first round up to `scouted`; the number of all rounds.
    fn search_from(&self, scouted: u64, search: &mut Search) -> u32 {
        self.answer(&SearchRound::first(scouted, Width::WIDE), search);
        1 + self.search(search)
    }

    /// Whether the dates of `search` are the days in which a scan of all blocks finds the transactions, or the next
    /// midnight less than 90 minutes later.
    fn is_by_the_day(&self, search: &Search) -> bool {
        let ends = self.sent.first().zip(self.sent.last()).map(|(first, last)| [*first, *last]).unwrap();
        self.dates(search).into_iter().zip(ends).all(|(dated, sent)| match dated {
            Dated::In(block) => block == self.block(sent),
            Dated::On(day) => {
                let time = self.block(sent).time;
                let is_near = time < day.time && day.time - time <= 5_500;
                day.time % DAY == 0 && sent <= day.number && (is_near || time / DAY * DAY == day.time)
            }
            Dated::Between(..) | Dated::Missing => false,
        })
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

fn by_number(blocks: impl IntoIterator<Item = Block>) -> BTreeMap<u64, Block> {
    blocks.into_iter().map(|block| (block.number, block)).collect()
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
        node.answer(&SearchRound::first(HEIGHT, Width::WIDE), &mut search);
        for _ in 0..after {
            node.answer(&search.round(node.top(), WIDE), &mut search);
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
        node.answer(&SearchRound::first(HEIGHT, Width::WIDE), &mut search);
        for _ in 0..rounds {
            node.answer(&search.round(node.top(), WIDE), &mut search);
        }
        let last = node.block(HEIGHT - finality);
        let kept = KnownNonces::of(&search, node.top(), Some(last));
        let there = by_number(kept.anchors().map(|anchor| node.block(anchor.number)));
        // The store keeps nonces of final blocks alone.
        let stored = kept.record();
        if let Some(SentProgress { nonces, seen, .. }) = &stored {
            prop_assert!(nonces.keys().all(|block| *block <= last.number) && nonces.len() <= 4);
            prop_assert!(seen.iter().all(|seen| seen.block <= last.number));
        }
        let mut later = node.clone();
        later.head += 50;
        later.sent.extend(grown.then_some(HEIGHT + 7));
        for known in [Some(kept), stored.map(KnownNonces::from)].into_iter().flatten() {
            let mut search = known.verified(&there);
            prop_assert!(later.search(&mut search) <= 5);
            for (date, right) in later.dates(&search).into_iter().zip(later.right()) {
                let (Dated::In(date), Dated::In(right)) = (date, right) else { panic!("{date:?}") };
                prop_assert_eq!((date.number, date.time), (right.number, right.time));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_score_takes_few_calls_in_few_round_trips(sent in sent(HEIGHT)) {
        let node = Node::new(HEIGHT, sent);
        let mut search = Search::default();
        let spent = node.search_by(BALANCED, &mut search);
        prop_assert!(node.is_by_the_day(&search), "{:?}", node.dates(&search));
        prop_assert!(spent.rounds <= MAX_ROUNDS && spent.calls <= MAX_CALLS, "{:?}", spent);
    }

    #[test]
    fn a_report_goes_on_from_the_day_to_the_block(sent in sent(HEIGHT)) {
        let node = Node::new(HEIGHT, sent);
        let mut search = Search::default();
        node.search_by(BALANCED, &mut search);
        let spent = node.search_by(SearchPlan { goal: Goal::Block, ..BALANCED }, &mut search);
        prop_assert_eq!(node.dates(&search), node.right());
        prop_assert!(spent.rounds <= 6 && spent.calls <= 90, "{:?}", spent);
    }

    #[test]
    fn halving_finds_the_day_too(sent in sent(HEIGHT)) {
        let node = Node::new(HEIGHT, sent);
        let mut search = Search::default();
        let spent = node.search_by(SearchPlan { width: Width::HALVING, ..BALANCED }, &mut search);
        prop_assert!(node.is_by_the_day(&search), "{:?}", node.dates(&search));
        prop_assert!(spent.calls <= 48, "{:?}", spent);
    }

    #[test]
    fn the_day_on_which_a_chain_went_on_is_found(steps in proptest::collection::vec(1u64..250, 1..9)) {
        const AT_ONCE: u64 = 100_000;
        let sent = steps.into_iter().map(|step| step * AT_ONCE).collect();
        let node = Node { at_once: AT_ONCE, ..Node::new(HEIGHT, sent) };
        let mut search = Search::default();
        let spent = node.search_by(BALANCED, &mut search);
        prop_assert!(node.is_by_the_day(&search), "{:?}", node.dates(&search));
        prop_assert!(spent.rounds <= MAX_ROUNDS && spent.calls <= MAX_CALLS, "{:?}", spent);
    }

    #[test]
    fn a_low_chain_is_searched_to_the_block(
        (head, sent) in (1u64..1_000).prop_flat_map(|head| (Just(head), sent(head)))
    ) {
        let node = Node::new(head, sent);
        let mut search = Search::default();
        let spent = node.search_by(BALANCED, &mut search);
        prop_assert!(node.is_by_the_day(&search), "{:?}", node.dates(&search));
        prop_assert!(spent.rounds <= 4 && spent.calls <= MAX_CALLS, "{:?}", spent);
    }

    #[test]
    fn answers_for_another_block_are_contradictory(sent in sent(HEIGHT), balanced in any::<bool>()) {
        let plan = if balanced { BALANCED } else { WIDE };
        let honest = Node::new(HEIGHT, sent.clone());
        let ignoring = Node { ignores_blocks: true, ..Node::new(HEIGHT, sent) };
        for (node, is_contradictory) in [(honest, false), (ignoring, true)] {
            let mut search = Search::default();
            node.search_by(plan, &mut search);
            prop_assert_eq!(search.is_contradictory(node.top(), false), is_contradictory);
        }
    }
}

/// Round trips of a first read, without the one that asks for the head and the nonce.
const MAX_ROUNDS: u32 = 6;
/// Its calls, of which a read needs up to 15 for everything else.
const MAX_CALLS: usize = 85;

#[test]
fn no_wallet_takes_more() {
    let table: [(&str, Vec<u64>); 11] = [
        ("new", vec![HEIGHT - 40_000, HEIGHT - 300]),
        ("old", vec![60_000, 90_000]),
        ("one transaction", vec![12_345_678]),
        ("one transaction in the last block", vec![HEIGHT]),
        ("busiest", (1..=HEIGHT).step_by(1_000).collect()),
        ("first in block 1", vec![1, 20_000_000]),
        ("only in block 1", vec![1]),
        ("last transaction now", vec![46_147, HEIGHT]),
        ("all in one block", vec![9_999_999; 7]),
        ("a day apart", vec![17_000_000, 17_007_200]),
        ("never", vec![]),
    ];
    for (name, sent) in table {
        let node = Node::new(HEIGHT, sent);
        let mut search = Search::default();
        let spent = node.search_by(BALANCED, &mut search);
        println!("{name}: {spent:?}");
        assert!(spent.rounds <= MAX_ROUNDS && spent.calls <= MAX_CALLS, "{name}: {spent:?}");
        assert!(node.sent.is_empty() || node.is_by_the_day(&search), "{name}: {:?}", node.dates(&search));
        assert!(!node.sent.is_empty() || spent.calls == 0, "{name}: {spent:?}");
        assert!(!search.is_contradictory(node.top(), false), "{name}");
    }
}

#[test]
fn accounts_from_before_the_first_block_are_known_by_their_balance() {
    let plan = SearchPlan { genesis_accounts: true, ..BALANCED };
    // The account of another chain, which has not sent since.
    let node = Node { ignores_blocks: true, ..Node::new(HEIGHT, vec![5, 6, 7]) };
    for (funded, is_contradictory) in [(true, false), (false, true)] {
        let mut search = Search::default();
        search.learn_block(node.block(HEIGHT));
        for _ in 0..2 {
            let round = search.round(node.top(), plan);
            node.answer(&round, &mut search);
            if round.first_balance {
                search.learn_first_balance(funded);
            }
        }
        assert_eq!(search.is_contradictory(node.top(), true), is_contradictory);
    }
}

#[test]
fn nonces_that_fall_are_contradictory() {
    let node = Node::new(HEIGHT, vec![1_000, 2_000]);
    let mut search = Search::default();
    search.learn(500, Some(1));
    search.learn(700, Some(0));
    assert!(search.is_contradictory(node.top(), false));
}

#[test]
fn a_chain_that_was_replaced_is_searched_anew() {
    let node = Node::new(1_000, vec![10, 990]);
    let mut search = Search::default();
    node.search(&mut search);
    let known = KnownNonces::of(&search, node.top(), Some(node.block(900)));
    let [anchor, tail] = [900, 990].map(|number| node.block(number));
    assert_eq!(known.anchors().map(|anchor| anchor.number).collect::<Vec<_>>(), [900, 990]);
    let other = Block { hash: B256::ZERO, ..tail };
    assert!(known.clone().verified(&by_number([anchor, tail])).is_over(node.top(), Goal::Block));
    // The last transaction may be in another block now; the first one is not.
    let rest = known.clone().verified(&by_number([anchor, other]));
    assert_eq!(rest.dated(1, node.top()), Dated::In(node.block(10)));
    assert!(matches!(rest.dated(2, node.top()), Dated::Between(..)));
    assert_eq!(known.verified(&by_number([other])), Search::default());
}

#[test]
fn a_bracket_has_times_before_it_is_closed() {
    let node = Node::new(HEIGHT, vec![20_000_000]);
    let mut search = Search::default();
    node.answer(&SearchRound::first(HEIGHT, Width::WIDE), &mut search);
    for _ in 0..3 {
        node.answer(&search.round(node.top(), WIDE), &mut search);
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
