//! The vaults of Maker, by the real contracts: the events of every wallet equal the receipts of all blocks, and its
//! collateral, debt and health factor the state.

mod walk;

use std::sync::Arc;

use alloy::primitives::{Address, B256, Bytes, FixedBytes, I256, U256};
use alloy::sol_types::{SolCall, SolEvent};
use assay_domain::{ChainSnapshot, Coverage, Protocol, Secret, Snapshot};
use assay_tests::devnet::actors::address as wallet;
use assay_tests::devnet::receipts::LendingEvents;
use assay_tests::explorer::{Explorer, Flavour};
use assay_tests::lenders::config::{CHAIN, Setup, price_feed};
use assay_tests::lenders::maker::{self, Account, Actions, Cat, Dog, End, EndKind, Kind, Maker, Manager, Vat};
use assay_tests::lenders::{Log, Small};
use assay_tests::proxy::{Call, Proxy, Reply};
use tokio::sync::OnceCell;

use super::super::lies::topic;
use super::super::wallets::counted;
use super::super::{PATIENCE, RUNTIME, Reader, one_log};
use super::{Done, pool, position, read_after};

const ETHER_USD: f64 = 2_000.0;
/// Wallets whose history is complete.
const NAMES: [&str; 14] =
    ["ada", "ben", "cleo", "emil", "finn", "frida", "gus", "hal", "ivy", "jim", "lou", "mia", "ned", "ola"];

/// Wallets whose logs name a vault or a proxy that no contract lists for them: the first read learns of it.
const AT_THE_SECOND_READ: [&str; 2] = ["mia", "ned"];

struct World {
    chain: Small,
    maker: Maker,
    /// Time and logs of every block, read from its receipts.
    blocks: Vec<(u64, Vec<Log>)>,
    setup: Setup,
}

static WORLD: OnceCell<World> = OnceCell::const_new();

fn with(test: impl AsyncFnOnce(&World)) {
    RUNTIME.block_on(async { test(WORLD.get_or_init(async || World::start().await.unwrap()).await).await });
}

/// Whole units with 18 decimals, of which some can be negative.
fn whole(amount: i64) -> I256 {
    I256::try_from(i128::from(amount) * 1_000_000_000_000_000_000).unwrap()
}

/// The call of a proxy, as bytes.
fn act(call: impl SolCall) -> Bytes {
    call.abi_encode().into()
}

fn give(maker: &Maker, cdp: U256, usr: Address) -> Bytes {
    act(Actions::giveCall { manager: maker.manager, cdp, usr })
}

/// Opens a vault by the proxy of `owner`, fills it, and returns its number.
async fn opened(
    chain: &mut Small,
    maker: &Maker,
    owner: &str,
    kind: Kind,
    amounts: (i64, i64),
) -> Result<U256, assay_tests::devnet::Error> {
    let proxy = maker.proxy(chain, wallet(owner)).await?;
    let cdp = maker.newest(chain).await? + U256::ONE;
    let open = act(Actions::openCall { manager: maker.manager, ilk: kind.ilk, usr: proxy });
    maker.by_proxy(chain, wallet(owner), vec![open]).await?;
    change(chain, maker, owner, cdp, amounts).await?;
    Ok(cdp)
}

/// Changes a vault by the proxy of `owner`.
async fn change(chain: &mut Small, maker: &Maker, owner: &str, cdp: U256, amounts: (i64, i64)) -> Done {
    let proxy = maker.proxy(chain, wallet(owner)).await?;
    change_by(chain, maker, (owner, proxy), cdp, amounts).await
}

/// Changes a vault by a proxy that the registry does not know as that of `owner`.
async fn change_by(
    chain: &mut Small,
    maker: &Maker,
    (owner, proxy): (&str, Address),
    cdp: U256,
    (collateral, debt): (i64, i64),
) -> Done {
    deposit(chain, maker, cdp, collateral).await?;
    let (dink, dart) = (whole(collateral), whole(debt));
    maker
        .by(chain, wallet(owner), proxy, vec![act(Actions::frobCall { manager: maker.manager, cdp, dink, dart })])
        .await
}

/// Collateral for the urn of a vault, to be added to it in the same block.
async fn deposit(chain: &mut Small, maker: &Maker, cdp: U256, collateral: i64) -> Done {
    let urn = chain.view(maker.manager, &Manager::urnsCall { cdp }, chain.head).await?;
    let ilk = chain.view(maker.manager, &Manager::ilksCall { cdp }, chain.head).await?;
    let kind = if ilk == maker.ether.ilk { maker.ether } else { maker.bitcoin };
    if collateral > 0 {
        maker.queue_collateral(chain, kind, urn, whole(collateral));
    }
    Ok(())
}

/// The collateral is worth `price`, and the Dog takes this share of the vault; without a share, the Cat takes it.
async fn seize(chain: &mut Small, maker: &Maker, cdp: U256, price: f64, percent: Option<u64>) -> Done {
    let urn = chain.view(maker.manager, &Manager::urnsCall { cdp }, chain.head).await?;
    let ilk = maker.ether.ilk;
    maker.queue_price(chain, maker.ether, price);
    match percent {
        Some(percent) => {
            chain.queue(wallet("keeper"), maker.dog, &Dog::barkCall { ilk, urn, percent: U256::from(percent) });
        }
        None => chain.queue(wallet("keeper"), maker.cat, &Cat::biteCall { ilk, urn }),
    }
    maker.queue_price(chain, maker.ether, ETHER_USD);
    chain.mine().await
}

async fn live(chain: &mut Small, maker: &Maker) -> Done {
    let (ether, bitcoin) = (maker.ether, maker.bitcoin);
    // One vault, with every kind of event but a liquidation; one call is two events.
    let of_ada = opened(chain, maker, "ada", ether, (10, 8_000)).await?;
    change(chain, maker, "ada", of_ada, (0, -1_000)).await?;
    change(chain, maker, "ada", of_ada, (-1, 0)).await?;
    change(chain, maker, "ada", of_ada, (2, 500)).await?;
    chain.call(wallet("keeper"), maker.jug, &maker::Jug::dripCall { ilk: ether.ilk }).await?;
    // A vault without a proxy.
    let owner = wallet("ben");
    chain.call(owner, maker.manager, &Manager::openCall { ilk: bitcoin.ilk, usr: owner }).await?;
    let of_ben = maker.newest(chain).await?;
    deposit(chain, maker, of_ben, 1).await?;
    chain.call(owner, maker.manager, &Manager::frobCall { cdp: of_ben, dink: whole(1), dart: whole(10_000) }).await?;
    // Liquidated in part and then whole.
    let of_cleo = opened(chain, maker, "cleo", ether, (10, 12_000)).await?;
    seize(chain, maker, of_cleo, 1_700.0, Some(40)).await?;
    change(chain, maker, "cleo", of_cleo, (1, 0)).await?;
    seize(chain, maker, of_cleo, 1_200.0, Some(100)).await?;
    // Given away with its debt, and used by both.
    let of_dora = opened(chain, maker, "dora", ether, (20, 9_000)).await?;
    change(chain, maker, "dora", of_dora, (0, -2_000)).await?;
    let to = maker.proxy(chain, wallet("emil")).await?;
    maker.by_proxy(chain, wallet("dora"), vec![give(maker, of_dora, to)]).await?;
    change(chain, maker, "emil", of_dora, (0, -3_000)).await?;
    change(chain, maker, "emil", of_dora, (-5, 0)).await?;
    // Two vaults, of which one moves into the other; and one that leaves the manager.
    let first = opened(chain, maker, "gus", ether, (5, 2_000)).await?;
    let second = opened(chain, maker, "gus", ether, (3, 1_000)).await?;
    opened(chain, maker, "gus", bitcoin, (1, 5_000)).await?;
    let shift = Actions::shiftCall { manager: maker.manager, cdpSrc: first, cdpOrg: second };
    maker.by_proxy(chain, wallet("gus"), vec![act(shift)]).await?;
    let of_frida = opened(chain, maker, "frida", ether, (4, 1_500)).await?;
    let frida = wallet("frida");
    let proxy = maker.proxy(chain, frida).await?;
    chain.queue(frida, maker.manager, &Manager::urnAllowCall { usr: proxy, ok: U256::ONE });
    chain.queue(frida, maker.vat, &Vat::hopeCall { usr: maker.manager });
    let quit = Actions::quitCall { manager: maker.manager, cdp: of_frida, dst: frida };
    maker.by_proxy(chain, frida, vec![act(quit)]).await?;
    // Into the urn of the proxy itself.
    let of_jim = opened(chain, maker, "jim", ether, (20, 5_000)).await?;
    let jim = maker.proxy(chain, wallet("jim")).await?;
    let hope = Actions::hopeCall { obj: maker.vat, usr: maker.manager };
    let quit = Actions::quitCall { manager: maker.manager, cdp: of_jim, dst: jim };
    maker.by_proxy(chain, wallet("jim"), vec![act(hope), act(quit)]).await?;
    // Closed.
    let of_hal = opened(chain, maker, "hal", bitcoin, (2, 7_000)).await?;
    change(chain, maker, "hal", of_hal, (0, -7_000)).await?;
    change(chain, maker, "hal", of_hal, (-2, 0)).await?;
    // In the Vat without a vault.
    let ivy = wallet("ivy");
    maker.queue_collateral(chain, ether, ivy, whole(2));
    let call = Vat::frobCall { i: ether.ilk, u: ivy, v: ivy, w: ivy, dink: whole(2), dart: whole(600) };
    chain.call(ivy, maker.vat, &call).await?;
    // A proxy that another wallet has now.
    opened(chain, maker, "kay", ether, (1, 200)).await?;
    let proxy = maker.proxy(chain, wallet("kay")).await?;
    chain.call(wallet("kay"), proxy, &Account::setOwnerCall { owner: wallet("somebody") }).await?;
    // Lent to another wallet, which borrows and repays, and given back.
    let of_lou = opened(chain, maker, "lou", ether, (10, 2_000)).await?;
    let [lou, mia] = [maker.proxy(chain, wallet("lou")).await?, maker.proxy(chain, wallet("mia")).await?];
    maker.by_proxy(chain, wallet("lou"), vec![give(maker, of_lou, mia)]).await?;
    change(chain, maker, "mia", of_lou, (0, 1_000)).await?;
    change(chain, maker, "mia", of_lou, (0, -1_000)).await?;
    maker.by_proxy(chain, wallet("mia"), vec![give(maker, of_lou, lou)]).await?;
    // A proxy with a debt, which the new owner changes.
    let of_nan = opened(chain, maker, "nan", ether, (10, 6_000)).await?;
    let proxy = maker.proxy(chain, wallet("nan")).await?;
    chain.call(wallet("nan"), proxy, &Account::setOwnerCall { owner: wallet("ned") }).await?;
    change_by(chain, maker, ("ned", proxy), of_nan, (0, -300)).await?;
    // Liquidated by the Cat, whose auctions are older.
    let of_ola = opened(chain, maker, "ola", ether, (10, 12_000)).await?;
    seize(chain, maker, of_ola, 1_700.0, None).await?;
    // All blocks above are settled.
    for _ in 0..40 {
        chain.mine().await?;
    }
    Ok(())
}

impl World {
    async fn start() -> Result<Self, assay_tests::devnet::Error> {
        Self::of(live).await
    }

    async fn of(live: impl AsyncFnOnce(&mut Small, &Maker) -> Done) -> Result<Self, assay_tests::devnet::Error> {
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
        let mut blocks = Vec::new();
        for number in 0..=chain.head {
            blocks.push(chain.block(number).await?);
        }
        Ok(Self { chain, maker, blocks, setup })
    }

    /// The first block in which the manager logs a call of `selector`.
    fn block_of(&self, selector: FixedBytes<4>) -> u64 {
        let is_it = |log: &Log| log.address == self.maker.manager && log.topics[0][..4] == selector[..];
        self.blocks.iter().position(|(_, logs)| logs.iter().any(is_it)).unwrap() as u64
    }

    fn reader(&self) -> Reader {
        super::reader(&self.setup, &self.chain)
    }

    /// Compares what was read with the state after block `block`.
    async fn compare(&self, name: &str, read: &ChainSnapshot, block: u64) -> LendingEvents {
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

fn uncached(config: &mut assay::config::Config) {
    (config.scoring.cache_ttl, config.scoring.incomplete_cache_ttl) = Default::default();
}

fn told(lived: &LendingEvents) -> [u64; 5] {
    [lived.supply, lived.withdraw, lived.borrow, lived.repay, lived.liquidation]
}

#[test]
fn every_wallet_is_what_receipts_and_the_state_say() {
    with(async |world| {
        let reader = world.reader().with(uncached).started().await;
        let mut all = Vec::new();
        for name in NAMES {
            let mut snapshot = reader.read(wallet(name)).await;
            if AT_THE_SECOND_READ.contains(&name) {
                let first = pool(&snapshot.chains[0], world.maker.vat);
                assert_eq!(first.coverage, Coverage::Partial, "{name}");
                assert!(first.remark.is_some(), "{name}");
                snapshot = reader.read(wallet(name)).await;
            }
            let read = &snapshot.chains[0];
            let told = pool(read, world.maker.vat);
            assert_eq!((told.protocol, told.feeds_score), (Protocol::MakerVaults, false));
            all.push((name, self::told(&world.compare(name, read, world.chain.head).await)));
        }
        let expected = [
            ("ada", [2, 1, 2, 1, 0]),
            ("ben", [1, 0, 1, 0, 0]),
            ("cleo", [2, 0, 1, 0, 2]),
            ("emil", [0, 1, 0, 1, 0]),
            ("finn", [0, 0, 0, 0, 0]),
            ("frida", [1, 0, 1, 0, 0]),
            ("gus", [3, 0, 3, 0, 0]),
            ("hal", [1, 1, 1, 1, 0]),
            ("ivy", [1, 0, 1, 0, 0]),
            ("jim", [1, 0, 1, 0, 0]),
            ("lou", [1, 0, 1, 0, 0]),
            ("mia", [0, 0, 1, 1, 0]),
            ("ned", [0, 0, 0, 1, 0]),
            ("ola", [1, 0, 1, 0, 1]),
        ];
        assert_eq!(all, expected);
    });
}

#[test]
fn the_collateral_that_a_debt_needs_is_in_the_position() {
    with(async |world| {
        let snapshot = world.reader().started().await.read(wallet("ada")).await;
        let held = pool(&snapshot.chains[0], world.maker.vat).position.clone().unwrap();
        let close = |one: Option<f64>, other: f64| (one.unwrap() - other).abs() < 1e-9;
        assert!(close(held.liquidation_threshold, 100.0 / 150.0), "{held:?}");
        let debt = position(&snapshot.chains[0], world.maker.vat).unwrap().borrowed_usd;
        assert!(debt > 7_500.0, "the stability fee until now: {debt}");
        assert!(close(held.health_factor, 11.0 * ETHER_USD / 1.5 / debt), "{held:?}");
    });
}

#[test]
fn what_a_wallet_did_before_it_gave_a_vault_away_is_found_by_the_second_read() {
    with(async |world| {
        let reader = world.reader().with(uncached).started().await;
        let first = reader.read(wallet("dora")).await;
        assert_eq!(pool(&first.chains[0], world.maker.vat).coverage, Coverage::Partial);
        let second = reader.read(wallet("dora")).await;
        let lived = world.compare("dora", &second.chains[0], world.chain.head).await;
        assert_eq!(told(&lived), [1, 0, 1, 1, 0]);
    });
}

#[test]
fn a_proxy_that_another_wallet_has_now_makes_the_history_partial() {
    with(async |world| {
        let snapshot = world.reader().started().await.read(wallet("kay")).await;
        let told = pool(&snapshot.chains[0], world.maker.vat);
        assert_eq!(told.coverage, Coverage::Partial);
        assert!(told.remark.as_ref().unwrap().contains("proxy belongs to another wallet"), "{:?}", told.remark);
    });
}

#[test]
fn changes_that_no_log_shows_lower_the_coverage() {
    with(async |world| {
        let selector = |selector: [u8; 4]| B256::right_padding_from(&selector);
        for (name, kind) in [
            ("ada", selector(Vat::frobCall::SELECTOR)),
            ("cleo", selector(Vat::grabCall::SELECTOR)),
            ("gus", selector(Vat::forkCall::SELECTOR)),
            ("hal", Manager::NewCdp::SIGNATURE_HASH),
            ("ben", Manager::NewCdp::SIGNATURE_HASH),
            ("emil", selector(Manager::giveCall::SELECTOR)),
        ] {
            let proxy = Proxy::start(world.chain.url()).await;
            proxy.forget(move |log| topic(log, 0) == Some(kind));
            let read = world.reader().through(&[&proxy]).started().await.read(wallet(name)).await;
            let told = pool(&read.chains[0], world.maker.vat);
            assert_eq!(told.coverage, Coverage::Partial, "{name} {kind}");
            assert!(told.remark.as_ref().unwrap().contains("do not explain the position"), "{name} {kind}");
        }
    });
}

#[test]
fn a_log_that_is_left_out_makes_no_history_wrong_and_complete() {
    with(async |world| {
        let (shared, reader) = (["dora", "lou", "mia"], || world.reader());
        let others: Vec<&str> = NAMES.into_iter().filter(|name| !shared.contains(name)).collect();
        // Wallets of one vault are not read at once: each would lack two logs.
        for names in [&others[..], &["dora", "lou"], &["mia"]] {
            let wallets = names.iter().map(|name| (*name, wallet(name))).collect();
            let chain = &world.chain;
            let world = one_log::World { reader: &reader, url: chain.url(), rpc: &chain.rpc, chain: CHAIN, wallets };
            one_log::none_is_wrong("Maker vaults", world).await;
        }
    });
}

#[test]
fn the_only_log_of_an_urn_a_vault_or_a_proxy_is_missed() {
    with(async |world| {
        let selector = |selector: [u8; 4]| B256::right_padding_from(&selector);
        // A debt without a vault, a proxy that was given and used, and a debt under a proxy.
        for (name, kind, named) in [
            ("ivy", selector(Vat::frobCall::SELECTOR), 2),
            ("ned", Account::LogSetOwner::SIGNATURE_HASH, 1),
            ("jim", selector(Vat::forkCall::SELECTOR), 3),
        ] {
            let node = Proxy::start(world.chain.url()).await;
            let own = match name {
                "jim" => world
                    .chain
                    .view(world.maker.registry, &maker::Registry::proxiesCall { owner: wallet(name) }, world.chain.head)
                    .await
                    .unwrap(),
                _ => wallet(name),
            };
            node.forget(move |log| topic(log, 0) == Some(kind) && topic(log, named) == Some(own.into_word()));
            let reader = world.reader().through(&[&node]).with(uncached).started().await;
            for time in 0..3 {
                let read = reader.read(wallet(name)).await;
                let told = pool(&read.chains[0], world.maker.vat);
                assert_eq!(told.coverage, Coverage::Partial, "{name}, read {time}");
                assert!(told.remark.as_ref().unwrap().contains("do not explain the position"), "{name}");
            }
        }
    });
}

#[test]
fn an_explorer_that_lists_no_log_of_a_vault_leaves_none_out() {
    with(async |world| {
        let explorer = Explorer::start(Flavour::Etherscan, CHAIN, world.chain.rpc.clone()).await;
        let node = Proxy::start(world.chain.url()).await;
        // So many ranges that an explorer is asked instead.
        node.rule(|call| match call.span() {
            Some((from, to)) if to > from => {
                Reply::Error { code: -32600, message: "query exceeds max block range 1".to_owned() }
            }
            _ => Reply::Pass,
        });
        let explored = |config: &mut assay::config::Config| {
            config.chains[0].explorer = Some(Secret::new(&explorer.url));
            (config.reading.explorer.per_second, config.reading.explorer.timeout) = (0, PATIENCE);
        };
        let reader = world.reader().through(&[&node]).with(explored).started().await;
        reader.read(wallet("nobody")).await;
        for name in NAMES.into_iter().filter(|name| !AT_THE_SECOND_READ.contains(name)) {
            let read = reader.read(wallet(name)).await;
            world.compare(name, &read.chains[0], world.chain.head).await;
        }
        assert!(explorer.take().iter().any(|asked| asked.action == "getLogs"), "it was not asked");
    });
}

#[test]
fn the_index_says_what_the_node_says() {
    with(async |world| {
        let at_once = NAMES.iter().copied().filter(|name| !AT_THE_SECOND_READ.contains(name));
        let wallets: Vec<Address> = at_once.chain(["kay", "keeper", "finn"]).map(wallet).collect();
        super::super::index::agrees_within(4, &world.setup, &world.chain, &wallets).await;
    });
}

/// Reads `names` as the chain was after block `block`.
async fn read_at(world: &World, block: u64, names: &[&str]) -> Vec<Arc<Snapshot>> {
    let wallets: Vec<Address> = names.iter().copied().map(wallet).collect();
    read_after(&world.reader(), (block, world.blocks[block as usize].0), &wallets).await
}

#[test]
fn a_past_block_is_read_as_it_was() {
    with(async |world| {
        let names = ["ada", "cleo", "dora"];
        let mut seen = 0;
        // The last one is before the vault is given away.
        let given = world.block_of(Manager::giveCall::SELECTOR.into());
        for block in [4, given / 3, given / 2, given * 2 / 3, given - 1] {
            for (name, snapshot) in names.iter().zip(read_at(world, block, &names).await) {
                seen += world.compare(name, &snapshot.chains[0], block).await.liquidation;
            }
        }
        assert!(seen > 0);
    });
}

#[test]
fn it_counts_in_the_score_where_it_is_configured_to() {
    with(async |world| {
        let counts = |config: &mut assay::config::Config| config.chains[0].markets[0].feeds_score = Some(true);
        let snapshot = world.reader().with(counts).started().await.read(wallet("ada")).await;
        assert!(pool(&snapshot.chains[0], world.maker.vat).feeds_score);
    });
}

#[test]
fn another_chainlog_or_vat_has_no_complete_history() {
    with(async |world| {
        let nobody = Address::repeat_byte(0x77);
        let elsewhere = |config: &mut assay::config::Config| config.chains[0].markets[0].chainlog = Some(nobody);
        let snapshot = world.reader().with(elsewhere).started().await.read(wallet("ada")).await;
        assert_ne!(pool(&snapshot.chains[0], world.maker.vat).coverage, Coverage::Complete);
        let reader = world.reader().with(|config| config.chains[0].markets[0].address = nobody).started().await;
        let snapshot = reader.read(wallet("ada")).await;
        assert_ne!(pool(&snapshot.chains[0], nobody).coverage, Coverage::Complete);
    });
}

#[test]
fn a_wallet_costs_a_query_for_each_topic() {
    with(async |world| {
        let proxy = Proxy::start(world.chain.url()).await;
        let reader = world.reader().through(&[&proxy]).started().await;
        for name in ["finn", "ada"] {
            proxy.take();
            reader.read(wallet(name)).await;
            // One is for proxies.
            assert_eq!(proxy.take().iter().filter_map(Call::span).count(), 4, "{name}");
        }
    });
}

#[test]
fn a_shutdown_settles_vaults_without_a_liquidation() {
    RUNTIME.block_on(async {
        let world = World::of(async |chain: &mut Small, maker: &Maker| {
            let ilk = maker.ether.ilk;
            let of_ada = opened(chain, maker, "ada", maker.ether, (10, 8_000)).await?;
            opened(chain, maker, "ben", maker.ether, (5, 2_000)).await?;
            let urn = chain.view(maker.manager, &Manager::urnsCall { cdp: of_ada }, chain.head).await?;
            let ivy = wallet("ivy");
            maker.queue_collateral(chain, maker.ether, ivy, whole(2));
            let call = Vat::frobCall { i: ilk, u: ivy, v: ivy, w: ivy, dink: whole(2), dart: whole(600) };
            chain.call(ivy, maker.vat, &call).await?;
            chain.queue(maker.governance, maker.end, &End::cageCall {});
            chain.queue(wallet("keeper"), maker.end, &EndKind::cageCall { ilk });
            for urn in [urn, ivy] {
                chain.queue(wallet("keeper"), maker.end, &End::skimCall { ilk, urn });
            }
            chain.mine().await?;
            chain.call(ivy, maker.end, &End::freeCall { ilk }).await?;
            for _ in 0..40 {
                chain.mine().await?;
            }
            Ok(())
        });
        let world = world.await.unwrap();
        let reader = world.reader().started().await;
        let mut all = Vec::new();
        for name in ["ada", "ben", "ivy"] {
            let read = reader.read(wallet(name)).await;
            all.push(told(&world.compare(name, &read.chains[0], world.chain.head).await));
        }
        assert_eq!(all, [[1, 0, 1, 0, 0], [1, 0, 1, 0, 0], [1, 1, 1, 0, 0]]);
    });
}

#[test]
fn an_endpoint_that_shows_no_proxy_of_a_new_owner_makes_the_history_partial() {
    with(async |world| {
        let node = Proxy::start(world.chain.url()).await;
        node.rule(|call| match call.span() {
            Some(_) if call.params[0]["address"].is_null() => {
                Reply::Error { code: -32602, message: "Please specify an address in your request".to_owned() }
            }
            _ => Reply::Pass,
        });
        let reader = world.reader().through(&[&node]).with(uncached).started().await;
        for name in ["ned", "finn"] {
            let read = reader.read(wallet(name)).await;
            let told = pool(&read.chains[0], world.maker.vat);
            assert_eq!(told.coverage, Coverage::Partial, "{name}");
            assert!(told.remark.as_ref().unwrap().contains("over all contracts"), "{name}: {:?}", told.remark);
        }
    });
}
