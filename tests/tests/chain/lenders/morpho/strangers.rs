//! Markets whose oracle does every deed of the table: they change neither what others get and cost, nor the state of
//! the endpoint.

use alloy::primitives::Address;
use alloy::sol;
use assay_domain::{ChainSnapshot, Coverage, Secret};
use assay_tests::devnet::actors::{self, address as wallet};
use assay_tests::lenders::Small;
use assay_tests::lenders::config::{CHAIN, Setup, price_feed};
use assay_tests::lenders::morpho::{self, Blue, Market, MarketParams};
use assay_tests::proxy::Proxy;
use assay_tests::strangers::{Strangers, deeds};

use super::super::super::bystanders::{Requests, standing};
use super::super::super::{RUNTIME, chain};
use super::super::{position, reader};
use super::wallets::On;
use super::world::ETHER_USD;

sol! {
    function arm() external;
}

/// Wallets with a deposit of the same size.
const BYSTANDERS: [&str; 4] = ["ada", "ben", "cleo", "dora"];

struct Siege {
    chain: Small,
    setup: Setup,
    blue: Address,
    attackers: Vec<String>,
}

impl Siege {
    async fn start() -> Result<Self, assay_tests::devnet::Error> {
        let (mut chain, code) = (Small::start(CHAIN).await?, Strangers::compiled().await?);
        let (native_feed, dollar) = (price_feed(&mut chain, ETHER_USD), price_feed(&mut chain, 1.0));
        let morpho = morpho::deploy(&mut chain, ETHER_USD).await?;
        let (usdc, weth) = (morpho.usdc, morpho.weth);
        let honest = morpho.market(&mut chain, (usdc, weth), ETHER_USD, 860).await?;
        for name in BYSTANDERS {
            On(&mut chain, &morpho, &honest).supply("bank", name, 500_000).await?;
        }
        let mut attackers = Vec::new();
        for (number, deed) in deeds().iter().enumerate() {
            let oracle = code.create(&mut chain, deed, &["price()"], [Address::ZERO; 2], false);
            let params = MarketParams { oracle, irm: Address::ZERO, ..honest.params.clone() };
            let market = Market { params: params.clone(), loan: usdc, collateral: weth };
            chain.queue(wallet(actors::DEPLOYER), morpho.blue, &Blue::createMarketCall { params });
            let name = format!("attacker {number}");
            let mut on = On(&mut chain, &morpho, &market);
            on.supply("bank", "bank", 1_000_000).await?;
            on.secure("somebody", &name, 1_000).await?;
            on.borrow(&name, &name, 100_000).await?;
            chain.queue(wallet("somebody"), oracle, &armCall {});
            attackers.push(name);
        }
        for _ in 0..20 {
            chain.mine().await?;
        }
        let (tokens, blue) = (vec![(usdc.token, 6, dollar)], morpho.blue);
        let markets = vec![("morpho_blue", "All", blue)];
        let setup = Setup { native_feed, wrapped: Some(weth.token), tokens, markets, ..Setup::default() };
        Ok(Self { chain, setup, blue, attackers })
    }

    /// What a score takes from a bystander's snapshot.
    fn worth(&self, read: &ChainSnapshot) -> (Coverage, f64, usize) {
        let supplied = position(read, self.blue).map_or(0.0, |position| position.supplied_usd);
        (read.coverage, supplied, read.unread.len())
    }
}

#[test]
fn oracles_of_strangers_disturb_nobody() {
    RUNTIME.block_on(async {
        let siege = Siege::start().await.unwrap();
        let proxy = Proxy::start(siege.chain.url()).await;
        let there = vec![Secret::new(&proxy.url)];
        let reader = reader(&siege.setup, &siege.chain).with(|config| config.chains[0].rpc = there).started().await;
        let client = reader.chains().client(CHAIN).unwrap();
        let read = async |name: &str| {
            proxy.take();
            let read = chain(&*reader.read(wallet(name)).await, CHAIN).clone();
            (read, Requests::of(&proxy.take()))
        };
        let (first, _) = read(BYSTANDERS[0]).await;
        assert!(siege.worth(&first).1 > 500.0 - 1e-6 && first.coverage == Coverage::Complete, "{:?}", first.unread);
        let ((before, undisturbed), stood) = (read(BYSTANDERS[1]).await, standing(&client));
        for attacker in &siege.attackers {
            let (its, requests) = read(attacker).await;
            assert!(requests.0.len() <= undisturbed.0.len() + 6, "{attacker}: {requests:?}");
            // Its debt is known; only an answer that can be read has a health factor.
            assert!(position(&its, siege.blue).is_some_and(|its| its.borrowed_usd >= 100.0 - 1e-6), "{attacker}");
        }
        let (after, disturbed) = read(BYSTANDERS[2]).await;
        assert_eq!(standing(&client), stood);
        assert_eq!(disturbed, undisturbed);
        // In shared requests too.
        let together = reader.chains().together();
        let (last, _) = tokio::join!(
            together.snapshot(wallet(BYSTANDERS[3])),
            futures::future::join_all(siege.attackers.iter().map(|name| together.snapshot(wallet(name))))
        );
        for bystander in [&before, &after, chain(&last.snapshot, CHAIN)] {
            assert_eq!(siege.worth(bystander).0, Coverage::Complete, "{:?}", bystander.unread);
            assert!((siege.worth(bystander).1 - siege.worth(&first).1).abs() < 1e-6);
        }
        assert_eq!(standing(&client), stood);
    });
}
