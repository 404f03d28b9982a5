//! A chain with Maker's contracts, and the comparison of what is read with receipts and state.

use alloy::primitives::FixedBytes;
use assay_domain::{ChainSnapshot, Coverage};
use assay_tests::devnet::actors::address as wallet;
use assay_tests::devnet::receipts::LendingEvents;
use assay_tests::lenders::config::{CHAIN, Setup, price_feed};
use assay_tests::lenders::maker::{self, Maker};
use assay_tests::lenders::{Log, Small};
use tokio::sync::OnceCell;

use super::super::super::Reader;
use super::super::super::wallets::counted;
use super::super::{Done, once, pool, position, reader};
use super::wallets::live;

pub(super) const ETHER_USD: f64 = 2_000.0;

pub(super) struct World {
    pub chain: Small,
    pub maker: Maker,
    /// Time and logs of every block, read from its receipts.
    pub blocks: Vec<(u64, Vec<Log>)>,
    pub setup: Setup,
}

static WORLD: OnceCell<World> = OnceCell::const_new();

pub(super) fn with(test: impl AsyncFnOnce(&World)) {
    once(&WORLD, World::start, test);
}

impl World {
    async fn start() -> Result<Self, assay_tests::devnet::Error> {
        Self::of(live).await
    }

    pub(super) async fn of(
        live: impl AsyncFnOnce(&mut Small, &Maker) -> Done,
    ) -> Result<Self, assay_tests::devnet::Error> {
        let mut chain = Small::start(CHAIN).await?;
        let (native_feed, dollar) = (price_feed(&mut chain, ETHER_USD), price_feed(&mut chain, 1.0));
        let maker = maker::deploy(&mut chain, ETHER_USD).await?;
        live(&mut chain, &maker).await?;
        let setup = Setup {
            native_feed,
            tokens: vec![(maker.dai, 18, dollar)],
            markets: vec![("maker_vaults", "All", maker.vat)],
            chainlog: Some(maker.chainlog),
            ..Setup::default()
        };
        let blocks = chain.blocks().await?;
        Ok(Self { chain, maker, blocks, setup })
    }

    /// The first block in which the manager logs a call of `selector`.
    pub(super) fn block_of(&self, selector: FixedBytes<4>) -> u64 {
        let is_it = |log: &Log| log.address == self.maker.manager && log.topics[0][..4] == selector[..];
        self.blocks.iter().position(|(_, logs)| logs.iter().any(is_it)).unwrap() as u64
    }

    pub(super) fn reader(&self) -> Reader {
        reader(&self.setup, &self.chain)
    }

    /// Compares what was read with the state after block `block`.
    pub(super) async fn compare(&self, name: &str, read: &ChainSnapshot, block: u64) -> LendingEvents {
        let blocks = &self.blocks[..=block as usize];
        let lived = self.maker.lived(&self.chain, blocks, wallet(name)).await.unwrap();
        let told = pool(read, self.maker.vat);
        assert_eq!(told.coverage, Coverage::Complete, "{name} at {block}: {:?}", told.remark);
        assert_eq!(counted(told), lived, "{name} at {block}");
        let proxies = self.maker.proxies(blocks);
        let held = self.maker.all(&self.chain, &proxies, wallet(name), block).await.unwrap();
        let (supplied, borrowed) = (held.iter().map(|h| h.dollars).sum(), held.iter().map(|h| h.debt).sum());
        let health = held.iter().filter_map(|held| held.health).reduce(f64::min);
        let position = position(read, self.maker.vat).map(|p| (p.supplied_usd, p.borrowed_usd)).unwrap_or_default();
        let close = |one: f64, other: f64| (one - other).abs() <= 1e-12 * one.abs().max(other.abs());
        assert!(
            close(position.0, supplied) && close(position.1, borrowed),
            "{name}: {position:?} {supplied} {borrowed}"
        );
        assert_eq!(told.position.as_ref().unwrap().health_factor, health, "{name}");
        lived
    }
}
