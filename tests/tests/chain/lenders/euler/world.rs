//! A chain with the stubs of Euler v2. Compares what is read with the receipts and with the vaults' views.

use std::collections::BTreeSet;

use alloy::primitives::Address;
use assay_domain::{AssetClass, ChainSnapshot};
use assay_tests::devnet::actors::address as wallet;
use assay_tests::devnet::receipts::LendingEvents;
use assay_tests::lenders::config::{CHAIN, Setup, price_feed};
use assay_tests::lenders::euler::{self, Euler, account};
use assay_tests::lenders::{Log, Small};
use tokio::sync::OnceCell;

use super::super::super::wallets::counted;
use super::super::super::{RUNTIME, Reader};
use super::super::{Done, pool, position, reader};
use super::wallets::live;

pub(super) const ETHER_USD: f64 = 2_000.0;
/// The accounts that wallets use. The first is the wallet's own address.
pub(super) const NUMBERS: [u8; 4] = [0, 1, 2, 200];

pub(super) struct World {
    pub chain: Small,
    pub euler: Euler,
    /// Time and logs of every block, read from its receipts.
    pub blocks: Vec<(u64, Vec<Log>)>,
    pub setup: Setup,
}

static WORLD: OnceCell<World> = OnceCell::const_new();

pub(super) fn with(test: impl AsyncFnOnce(&World)) {
    RUNTIME.block_on(async { test(WORLD.get_or_init(async || World::of(live).await.unwrap()).await).await });
}

pub(super) fn accounts(name: &str) -> BTreeSet<Address> {
    NUMBERS.map(|number| account(wallet(name), number)).into()
}

impl World {
    /// A chain on which `live` is what happens.
    pub(super) async fn of(
        live: impl AsyncFnOnce(&mut Small, &Euler) -> Done,
    ) -> Result<Self, assay_tests::devnet::Error> {
        let mut chain = Small::start(CHAIN).await?;
        let (native_feed, dollar) = (price_feed(&mut chain, ETHER_USD), price_feed(&mut chain, 1.0));
        let euler = euler::deploy(&mut chain, ETHER_USD).await?;
        live(&mut chain, &euler).await?;
        let setup = Setup {
            native_feed,
            wrapped: Some(euler.weth.token),
            tokens: vec![(euler.usdc.token, 6, dollar)],
            markets: vec![("euler_v2", "All", euler.factory)],
            evc: Some(euler.connector),
            ..Setup::default()
        };
        let mut blocks = Vec::new();
        for number in 0..=chain.head {
            blocks.push(chain.block(number).await?);
        }
        Ok(Self { chain, euler, blocks, setup })
    }

    pub(super) fn reader(&self) -> Reader {
        let stablecoin = |config: &mut assay::config::Config| config.chains[0].tokens[0].class = AssetClass::Stablecoin;
        reader(&self.setup, &self.chain).with(stablecoin)
    }

    /// Compares what was read with the state after block `block`.
    pub(super) async fn compare(&self, name: &str, read: &ChainSnapshot, block: u64) -> LendingEvents {
        let accounts = accounts(name);
        let lived = self.euler.lived(&self.blocks[..=block as usize], &accounts);
        let told = pool(read, self.euler.factory);
        assert_eq!(counted(told), lived, "{name} after block {block}");
        let held = self.euler.held(&self.chain, &accounts, block).await.unwrap();
        let position = position(read, self.euler.factory).map(|p| (p.supplied_usd, p.borrowed_usd));
        let (supplied, borrowed) = position.unwrap_or_default();
        let close = |one: f64, other: f64| (one - other).abs() <= 1e-12 * one.abs().max(other.abs());
        assert!(
            close(supplied, held.supplied_usd) && close(borrowed, held.borrowed_usd),
            "{name} after block {block}: {supplied} {borrowed} {held:?}"
        );
        assert_eq!(told.position.as_ref().unwrap().health_factor, held.health, "{name} after block {block}");
        lived
    }
}
