//! The vaults of Maker, by the real contracts: the events of every wallet equal the receipts of all blocks, and its
//! collateral, debt and health factor the state.

mod walk;
mod wallets;
mod world;

use std::sync::Arc;

use alloy::primitives::{Address, B256};
use alloy::sol_types::{SolCall, SolEvent};
use assay_domain::{Coverage, Protocol, Secret, Snapshot};
use assay_tests::devnet::actors::address as wallet;
use assay_tests::devnet::receipts::LendingEvents;
use assay_tests::explorer::{Explorer, Flavour};
use assay_tests::lenders::Small;
use assay_tests::lenders::config::CHAIN;
use assay_tests::lenders::maker::{self, Account, End, EndKind, Maker, Manager, Vat};
use assay_tests::proxy::{Call, Proxy, Reply};

use super::super::lies::topic;
use super::super::{PATIENCE, RUNTIME, one_log};
use super::{pool, position, read_after};
use wallets::{change_by, opened, whole};
use world::{ETHER_USD, World, with};

/// Wallets whose history is complete.
const NAMES: [&str; 14] =
    ["ada", "ben", "cleo", "emil", "finn", "frida", "gus", "hal", "ivy", "jim", "lou", "mia", "ned", "ola"];

/// Wallets whose logs name a vault or a proxy that no contract lists for them: the first read learns of it.
const AT_THE_SECOND_READ: [&str; 2] = ["mia", "ned"];

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
        let wallets = NAMES.into_iter().chain(["dora"]).map(|name| (name, wallet(name))).collect();
        let (chain, reader) = (&world.chain, || world.reader());
        let world = one_log::World { reader: &reader, url: chain.url(), rpc: &chain.rpc, chain: CHAIN, wallets };
        one_log::none_is_wrong("Maker vaults", world).await;
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

#[test]
fn a_proxy_that_lets_others_use_it_makes_the_history_of_its_new_owner_partial() {
    RUNTIME.block_on(async {
        let world = World::of(async |chain: &mut Small, maker: &Maker| {
            for (giver, guard) in [("giver", Address::ZERO), ("stranger", wallet("guard"))] {
                let of_giver = opened(chain, maker, giver, maker.ether, (10, 2_000)).await?;
                let proxy = maker.proxy(chain, wallet(giver)).await?;
                if !guard.is_zero() {
                    chain.call(wallet(giver), proxy, &Account::setAuthorityCall { authority: guard }).await?;
                }
                let heir = format!("heir of {giver}");
                chain.call(wallet(giver), proxy, &Account::setOwnerCall { owner: wallet(&heir) }).await?;
                change_by(chain, maker, (&heir, proxy), of_giver, (0, -300)).await?;
            }
            Ok(())
        });
        let world = world.await.unwrap();
        let reader = world.reader().with(uncached).started().await;
        for (heir, coverage) in [("heir of giver", Coverage::Complete), ("heir of stranger", Coverage::Partial)] {
            reader.read(wallet(heir)).await;
            let second = reader.read(wallet(heir)).await;
            let told = pool(&second.chains[0], world.maker.vat);
            assert_eq!(told.coverage, coverage, "{heir}: {:?}", told.remark);
            let is_said = told.remark.as_ref().is_some_and(|remark| remark.contains("lets others use it"));
            assert_eq!(is_said, coverage == Coverage::Partial, "{heir}: {:?}", told.remark);
        }
    });
}

/// The code that creates a contract which logs that `owner` is its new owner, and whose every call uses up all gas.
fn endless(owner: Address) -> Vec<u8> {
    let owner = owner.into_word();
    let logs = [&[0x7f][..], owner.as_slice(), &[0x7f], Account::LogSetOwner::SIGNATURE_HASH.as_slice()];
    // Two empty arguments and LOG2; then the code `JUMPDEST PUSH1 0 JUMP` is returned.
    let returned = [0x5f, 0x5f, 0xa2, 0x63, 0x5b, 0x60, 0x00, 0x56, 0x5f, 0x52, 0x60, 4, 0x60, 28, 0xf3];
    [logs.concat(), returned.to_vec()].concat()
}

#[test]
fn contracts_of_strangers_that_name_a_wallet_as_their_owner_hide_nothing() {
    RUNTIME.block_on(async {
        let world = World::of(async |chain: &mut Small, maker: &Maker| {
            opened(chain, maker, "ada", maker.ether, (10, 2_000)).await?;
            for _ in 0..3 {
                chain.create(endless(wallet("ada")), "a contract of a stranger");
            }
            chain.mine().await
        });
        let world = world.await.unwrap();
        let reader = world.reader().with(uncached).started().await;
        for _ in 0..2 {
            let read = reader.read(wallet("ada")).await;
            let told = pool(&read.chains[0], world.maker.vat);
            assert_eq!(told.coverage, Coverage::Complete, "{:?}", told.remark);
            world.compare("ada", &read.chains[0], world.chain.head).await;
        }
    });
}
