//! The ten chains beside the devnet's two. Each is a node of its own with a short history. One of them has two lenders.

use alloy::primitives::{Address, U256};
use futures::future::try_join_all;
use serde_json::{Value, json};

use crate::devnet::Error;
use crate::devnet::actors::address as wallet;
use crate::lenders::Small;
use crate::lenders::aave_v2::{self, Pool};
use crate::lenders::comet::{self, Comet};
use crate::lenders::config::price_feed;

/// The chains of the contract, beside the devnet's two.
pub const CHAINS: [(u64, &str); 10] = [
    (10, "Optimism"),
    (56, "BNB Smart Chain"),
    (137, "Polygon"),
    (250, "Fantom"),
    (324, "zkSync Era"),
    (42_161, "Arbitrum One"),
    (42_220, "Celo"),
    (43_114, "Avalanche"),
    (59_144, "Linea"),
    (534_352, "Scroll"),
];
/// The chain with the two lenders. Its currency is ether.
const LENT_ON: u64 = 42_161;
/// The price of one ether in dollars.
const ETHER: u64 = 2_000;

/// The chains whose native currency is not ether, with its symbol, name and price in dollars.
const CURRENCIES: [(u64, Currency); 5] = [
    (56, ("BNB", "BNB", 600.0)),
    (137, ("POL", "Polygon Ecosystem Token", 0.5)),
    (250, ("FTM", "Fantom", 0.4)),
    (42_220, ("CELO", "Celo", 0.5)),
    (43_114, ("AVAX", "Avalanche", 25.0)),
];
type Currency = (&'static str, &'static str, f64);

/// Payer and recipient of one payment a day, on each of the chains.
const PAYMENTS: [(&str, &str); 6] = [
    ("borrower", "saver"),
    ("whale", "borrower"),
    ("saver", "holder"),
    ("borrower", "whale"),
    ("bot", "receiver"),
    ("borrower", "collector"),
];

/// A chain with its contracts.
pub struct Other {
    pub id: u64,
    pub name: &'static str,
    pub currency: Currency,
    pub native_feed: Address,
    pub(super) lent: Lent,
    chain: Small,
}

/// What the lenders of a chain use.
#[derive(Default)]
pub(super) struct Lent {
    /// Wrapped native currency, where a lender needs it.
    pub wrapped: Option<Address>,
    /// A dollar token with six decimals, and its feed.
    pub dollar: Option<(Address, Address)>,
    /// Protocol, name and address.
    pub markets: Vec<(&'static str, &'static str, Address)>,
}

impl Other {
    pub fn url(&self) -> &str {
        self.chain.url()
    }

    /// # Errors
    /// When the node does not answer.
    pub async fn mine(&self) -> Result<(), Error> {
        self.chain.rpc.request::<Value>("anvil_mine", json!(["0x1"])).await.map(drop)
    }
}

/// Starts all of them at the same time.
///
/// # Errors
/// When a node, the compiler or a transaction fails.
pub async fn start() -> Result<Vec<Other>, Error> {
    try_join_all(CHAINS.map(|(id, name)| one(id, name))).await
}

async fn one(id: u64, name: &'static str) -> Result<Other, Error> {
    let currency = CURRENCIES.into_iter().find(|of| of.0 == id).map_or(("ETH", "Ether", ETHER as f64), |of| of.1);
    let mut chain = Small::start(id).await?;
    let native_feed = price_feed(&mut chain, currency.2);
    let lent = if id == LENT_ON { lend(&mut chain).await? } else { Lent::default() };
    for (from, to) in PAYMENTS {
        let tenth = U256::from(10).pow(U256::from(17));
        chain.queue_payment(wallet(from), wallet(to), tenth).await?;
        chain.mine().await?;
    }
    chain.arrive().await?;
    Ok(Other { id, name, currency, native_feed, lent, chain })
}

/// Aave v2, which `borrower` and `saver` use, and Compound v3, which `borrower` uses.
async fn lend(chain: &mut Small) -> Result<Lent, Error> {
    let (pool, wrapped) = aave_pool(chain).await?;
    let borrower = wallet("borrower");
    let market = comet::deploy(chain, &[(6, 1.0, [2_000.0, 30.0])]).await?.remove(0);
    let feed = price_feed(chain, 1.0);
    let pledge = Comet::supplyToCall { dst: borrower, asset: market.collateral[0], amount: whole_units(2, 18) };
    chain.call(borrower, market.comet, &pledge).await?;
    let borrow = Comet::withdrawToCall { to: borrower, asset: market.base, amount: whole_units(800, 6) };
    chain.call(borrower, market.comet, &borrow).await?;
    let repay = Comet::supplyToCall { dst: borrower, asset: market.base, amount: whole_units(300, 6) };
    chain.call(borrower, market.comet, &repay).await?;
    let markets = vec![("lenderA_v2", "Core", pool), ("lenderB_v3", "USDC", market.comet)];
    Ok(Lent { wrapped: Some(wrapped), dollar: Some((market.base, feed)), markets })
}

/// Returns the pool and its wrapped ether.
async fn aave_pool(chain: &mut Small) -> Result<(Address, Address), Error> {
    let pool = aave_v2::deploy(chain, ETHER).await?;
    let borrower = wallet("borrower");
    let supplies = [("bank", pool.usdc, 1_000_000), ("borrower", pool.weth, 4), ("saver", pool.usdc, 3_000)];
    for (who, reserve, amount) in supplies {
        let (asset, amount) = (reserve.asset, whole_units(amount, reserve.decimals));
        pool.queue_tokens(chain, wallet(who), reserve, amount);
        let call = Pool::depositCall { asset, amount, onBehalfOf: wallet(who), referralCode: 0 };
        chain.call(wallet(who), pool.pool, &call).await?;
    }
    let (asset, amount, variable) = (pool.usdc.asset, whole_units(1_500, 6), U256::from(2));
    let borrow = Pool::borrowCall { asset, amount, interestRateMode: variable, referralCode: 0, onBehalfOf: borrower };
    chain.call(borrower, pool.pool, &borrow).await?;
    let amount = whole_units(500, 6);
    pool.queue_tokens(chain, borrower, pool.usdc, amount);
    let repay = Pool::repayCall { asset, amount, rateMode: variable, onBehalfOf: borrower };
    chain.call(borrower, pool.pool, &repay).await?;
    Ok((pool.pool, pool.weth.asset))
}

/// Whole tokens in their smallest unit.
pub fn whole_units(whole: u64, decimals: u8) -> U256 {
    U256::from(whole) * U256::from(10).pow(U256::from(decimals))
}
