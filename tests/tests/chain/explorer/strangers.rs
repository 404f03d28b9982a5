//! Tokens, pools and collectibles that strangers sent to a wallet: every deed of the table in every place. They change
//! neither what others get and cost, nor the state of the endpoint, nor what the wallet itself has.

use alloy::sol;
use assay_domain::Secret;
use assay_domain::{Address, ChainSnapshot, Coverage};
use assay_tests::explorer::{Explorer, Flavour};
use assay_tests::lenders::config::CHAIN;
use assay_tests::proxy::{Call, Proxy, Reply};
use assay_tests::strangers::{Deed, PLACES, Strangers, deeds};

use super::super::bystanders::{Requests, standing};
use super::super::{RUNTIME, Reader, chain};
use super::holdings::{ETHER, OTHER, Scene, WALLET, of};
use super::with_explorer;

sol! {
    function picture(address to, uint256 id) external;
}

/// Contracts of strangers in one block.
const AT_ONCE: usize = 15;
/// Wallets that nobody sends anything.
const BYSTANDERS: [Address; 4] =
    [Address::repeat_byte(0xb1), Address::repeat_byte(0xb2), Address::repeat_byte(0xb3), Address::repeat_byte(0xb4)];

/// A chain on which a wallet got every contract of the table, and its twin only the honest ones.
struct Siege {
    scene: Scene,
    strangers: usize,
    proxy: Proxy,
    explorer: Explorer,
}

impl Siege {
    async fn start() -> Self {
        let (mut scene, code) = (Scene::start().await.unwrap(), Strangers::compiled().await.unwrap());
        let honest = scene.coin("Honest", "HON", 18);
        scene.chain.mine().await.unwrap();
        let dollar = scene.dollar;
        for wallet in [WALLET, OTHER].into_iter().chain(BYSTANDERS) {
            scene.give(dollar, wallet, 250_000_000);
            scene.give(honest, wallet, 3 * ETHER);
        }
        scene.chain.mine().await.unwrap();
        let pool = [scene.ether, scene.dollar];
        let all: Vec<(Deed, &[&str])> =
            PLACES.iter().flat_map(|at| deeds().into_iter().map(move |deed| (deed, *at))).collect();
        for (number, (deed, at)) in all.iter().enumerate() {
            let contract = code.create(&mut scene.chain, deed, at, pool, true);
            if at.contains(&"ownerOf(uint256)") {
                let give = pictureCall { to: WALLET, id: alloy::primitives::U256::from(number) };
                scene.chain.queue(WALLET, contract, &give);
            } else {
                scene.give(contract, WALLET, ETHER);
            }
            if number % AT_ONCE == AT_ONCE - 1 {
                scene.chain.mine().await.unwrap();
            }
        }
        scene.chain.mine().await.unwrap();
        let proxy = Proxy::start(scene.chain.url()).await;
        let explorer = Explorer::start(Flavour::Etherscan, CHAIN, scene.chain.rpc.clone()).await;
        Self { scene, strangers: all.len(), proxy, explorer }
    }

    async fn reader(&self) -> Reader {
        let there = vec![Secret::new(&self.proxy.url)];
        with_explorer(self.scene.reader(), &self.explorer).with(|config| config.chains[0].rpc = there).started().await
    }

    /// What is read of a wallet, and the requests that it takes.
    async fn read(&self, reader: &Reader, wallet: Address) -> (ChainSnapshot, Requests) {
        self.proxy.take();
        let read = chain(&*reader.read(wallet).await, CHAIN).clone();
        (read, Requests::of(&self.proxy.take()))
    }
}

/// What a score takes from a snapshot, apart from its activity: the strangers' transfers are there.
fn worth(read: &ChainSnapshot) -> (Coverage, f64, Vec<Address>) {
    let dollars = read.tokens.iter().map(|held| held.value_usd()).sum();
    let priced = read.tokens.iter().filter(|held| held.price_usd().is_some()).filter_map(|held| held.contract);
    (read.coverage, dollars, priced.collect())
}

async fn besieged(rule: impl Fn(&Call) -> Reply + Send + 'static) -> (Requests, Requests, usize) {
    let siege = Siege::start().await;
    siege.proxy.rule(rule);
    let reader = siege.reader().await;
    let client = reader.chains().client(CHAIN).unwrap();
    let (first, _) = siege.read(&reader, BYSTANDERS[0]).await;
    let (twin, few) = siege.read(&reader, OTHER).await;
    let (before, undisturbed) = siege.read(&reader, BYSTANDERS[1]).await;
    let stood = standing(&client);
    let (victim, many) = siege.read(&reader, WALLET).await;
    let (after, disturbed) = siege.read(&reader, BYSTANDERS[2]).await;
    assert_eq!(disturbed, undisturbed, "requests of a bystander");
    assert_eq!(standing(&client), stood, "the endpoint");
    let (again, meanwhile) = tokio::join!(reader.read(WALLET), reader.read(BYSTANDERS[3]));
    for bystander in [&before, &after, chain(&meanwhile, CHAIN)] {
        assert_eq!((worth(bystander), &bystander.unread), (worth(&first), &first.unread));
        assert_eq!(bystander.tokens, first.tokens);
    }
    for victim in [&victim, chain(&again, CHAIN)] {
        assert_eq!(victim.unread, twin.unread, "no part is unread");
        let shares: f64 = victim
            .tokens
            .iter()
            .filter(|held| held.class == assay_domain::AssetClass::Liquidity)
            .map(|h| h.value_usd())
            .sum();
        let (coverage, dollars, _) = worth(victim);
        assert_eq!((coverage, dollars - shares), (worth(&twin).0, worth(&twin).1));
        assert_eq!(of(victim, siege.scene.dollar), of(&twin, siege.scene.dollar));
    }
    assert_eq!(standing(&client), stood, "the endpoint");
    (few, many, siege.strangers)
}

#[test]
fn what_strangers_send_to_a_wallet_disturbs_nobody() {
    RUNTIME.block_on(async {
        let (few, many, strangers) = besieged(|_| Reply::Pass).await;
        println!(
            "{strangers} contracts: {} requests of {} calls instead of {} of {}",
            many.0.len(),
            many.calls(),
            few.0.len(),
            few.calls()
        );
        assert!(many.0.len() <= few.0.len() + 6, "{many:?} instead of {few:?}");
    });
}

#[test]
fn it_disturbs_nobody_at_an_endpoint_that_runs_no_creation_code() {
    RUNTIME.block_on(async {
        let creates = |call: &Call| call.method == "eth_call" && call.params[0]["to"].is_null();
        let refuses = move |call: &Call| match creates(call) {
            true => Reply::Error { code: -32000, message: "contract creation is not supported".into() },
            false => Reply::Pass,
        };
        besieged(refuses).await;
    });
}
