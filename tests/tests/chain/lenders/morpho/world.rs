//! A chain with the contract, and the comparison of what is read with receipts and the package's library.

use assay_domain::{AssetClass, ChainSnapshot};
use assay_tests::devnet::actors::address as wallet;
use assay_tests::devnet::receipts::LendingEvents;
use assay_tests::lenders::config::{CHAIN, Setup, price_feed};
use assay_tests::lenders::morpho::{self, Market, Morpho};
use assay_tests::lenders::{Log, Small};
use tokio::sync::OnceCell;

use super::super::super::Reader;
use super::super::super::wallets::counted;
use super::super::{once, pool, position, reader};
use super::wallets::live;

pub(super) const ETHER_USD: f64 = 2_000.0;

pub(super) struct World {
    pub chain: Small,
    pub morpho: Morpho,
    pub markets: Markets,
    /// Time and logs of every block, read from its receipts.
    pub blocks: Vec<(u64, Vec<Log>)>,
    pub setup: Setup,
}

pub(super) struct Markets {
    /// Dollars against ether.
    pub dollars: Market,
    /// Ether against dollars.
    pub ether: Market,
    /// Dollars against a token without a price.
    pub odd: Market,
    /// A market whose contracts use up all gas.
    pub hostile: Market,
}

static WORLD: OnceCell<World> = OnceCell::const_new();

pub(super) fn with(test: impl AsyncFnOnce(&World)) {
    once(&WORLD, World::start, test);
}

impl World {
    pub(super) async fn start() -> Result<Self, assay_tests::devnet::Error> {
        let mut chain = Small::start(CHAIN).await?;
        let (native_feed, dollar) = (price_feed(&mut chain, ETHER_USD), price_feed(&mut chain, 1.0));
        let morpho = morpho::deploy(&mut chain, ETHER_USD).await?;
        let (usdc, weth, odd) = (morpho.usdc, morpho.weth, morpho.odd);
        let markets = Markets {
            dollars: morpho.market(&mut chain, (usdc, weth), ETHER_USD, 860).await?,
            ether: morpho.market(&mut chain, (weth, usdc), 1.0 / ETHER_USD, 900).await?,
            odd: morpho.market(&mut chain, (usdc, odd), 5.0, 770).await?,
            hostile: morpho.hostile(&mut chain, weth).await?,
        };
        live(&mut chain, &morpho, &markets).await?;
        let setup = Setup {
            native_feed,
            wrapped: Some(weth.token),
            tokens: vec![(usdc.token, 6, dollar)],
            markets: vec![("morpho_blue", "All", morpho.blue)],
            ..Setup::default()
        };
        let blocks = chain.blocks().await?;
        Ok(Self { chain, morpho, markets, blocks, setup })
    }

    pub(super) fn reader(&self) -> Reader {
        let stablecoin = |config: &mut assay::config::Config| config.chains[0].tokens[0].class = AssetClass::Stablecoin;
        reader(&self.setup, &self.chain).with(stablecoin)
    }

    fn markets(&self) -> [&Market; 4] {
        let Markets { dollars, ether, odd, hostile } = &self.markets;
        [dollars, ether, odd, hostile]
    }

    /// Compares what was read with the state after block `block`.
    pub(super) async fn compare(&self, name: &str, read: &ChainSnapshot, block: u64) -> LendingEvents {
        let lived = self.morpho.lived(&self.blocks[..=block as usize], wallet(name));
        let told = pool(read, self.morpho.blue);
        assert_eq!(counted(told), lived, "{name}");
        let (mut supplied, mut borrowed, mut health) = (0.0, 0.0, None::<f64>);
        for market in self.markets() {
            if self.created(market) > block {
                continue;
            }
            let held = self.morpho.held(&self.chain, market, wallet(name), block).await.unwrap();
            supplied += held.dollars.0;
            borrowed += held.dollars.1;
            health = [health, held.health].into_iter().flatten().reduce(f64::min);
        }
        let position = position(read, self.morpho.blue).map(|p| (p.supplied_usd, p.borrowed_usd)).unwrap_or_default();
        let close = |one: f64, other: f64| (one - other).abs() <= 1e-12 * one.abs().max(other.abs());
        assert!(
            close(position.0, supplied) && close(position.1, borrowed),
            "{name}: {position:?} {supplied} {borrowed}"
        );
        assert_eq!(told.position.as_ref().unwrap().health_factor, health, "{name}");
        lived
    }

    /// The first block in which a market is.
    fn created(&self, market: &Market) -> u64 {
        let named = |logs: &[Log]| logs.iter().any(|log| log.topics.get(1) == Some(&market.id()));
        self.blocks.iter().position(|(_, logs)| named(logs)).unwrap() as u64
    }
}
