//! Wallets with proxies that do what can be done with vaults, in random order: each of them is what the receipts of all
//! blocks and the state say. `ASSAY_SOAK` makes the walk longer.

use std::collections::BTreeSet;
use std::sync::Mutex;

use alloy::primitives::{Address, I256, U256};
use assay_domain::Coverage;
use assay_tests::devnet::actors::address as wallet;
use assay_tests::dice::Dice;
use assay_tests::lenders::Small;
use assay_tests::lenders::maker::{Account, Actions, Jug, Maker, Manager, Vat};

use super::super::super::{RUNTIME, index::indexed};
use super::super::{Done, pool};
use super::wallets::{act, change_by, give, opened, seize, whole};
use super::{CHAIN, World, told, uncached};

/// Reads after which a history is complete: each may learn of a vault or a proxy.
const READS: usize = 4;
/// Has collateral and DAI in the Vat, and adds to the vaults of others.
const STRANGER: &str = "stranger";

/// A wallet with its proxy.
#[derive(Clone)]
struct Walker {
    name: String,
    proxy: Address,
}

/// The wallets of a walk.
#[derive(Default)]
struct Walk {
    walkers: Vec<Walker>,
    /// Each vault, and the walker that has it.
    vaults: Vec<(U256, usize)>,
    /// Wallets that gave their proxy away.
    lost: BTreeSet<String>,
    /// Actions that were tried, and those that succeeded.
    steps: [usize; 2],
}

impl Walk {
    async fn start(chain: &mut Small, maker: &Maker, wallets: usize) -> Result<Self, assay_tests::devnet::Error> {
        let mut walk = Self::default();
        for number in 0..wallets {
            let name = format!("walker-{number}");
            let proxy = maker.proxy(chain, wallet(&name)).await?;
            walk.walkers.push(Walker { name, proxy });
        }
        let (stranger, ether) = (wallet(STRANGER), maker.ether);
        maker.queue_collateral(chain, ether, stranger, whole(500));
        let (i, u) = (ether.ilk, stranger);
        let call = Vat::frobCall { i, u, v: u, w: u, dink: whole(100), dart: whole(20_000) };
        chain.call(stranger, maker.vat, &call).await?;
        Ok(walk)
    }

    /// One action of a random kind. A transaction that fails changes nothing.
    async fn step(&mut self, chain: &mut Small, maker: &Maker, dice: &mut Dice) {
        let place = if self.vaults.is_empty() { None } else { Some(dice.place(self.vaults.len())) };
        let done = match (place, dice.below(26)) {
            (None, _) | (_, 0 | 1) => self.open(chain, maker, dice).await,
            (Some(place), action) => self.act(chain, maker, dice, place, action).await,
        };
        self.steps[0] += 1;
        self.steps[1] += usize::from(done.is_ok());
    }

    async fn open(&mut self, chain: &mut Small, maker: &Maker, dice: &mut Dice) -> Done {
        let owner = dice.place(self.walkers.len());
        let collateral = 4 + dice.below(10) as i64;
        let name = self.walkers[owner].name.clone();
        let is_of_registry = maker.proxy(chain, wallet(&name)).await? == self.walkers[owner].proxy;
        if is_of_registry {
            let cdp = opened(chain, maker, &name, maker.ether, (collateral, collateral * 400)).await?;
            self.vaults.push((cdp, owner));
        }
        Ok(())
    }

    async fn act(&mut self, chain: &mut Small, maker: &Maker, dice: &mut Dice, place: usize, action: u64) -> Done {
        let (cdp, owner) = self.vaults[place];
        let Walker { name, proxy } = self.walkers[owner].clone();
        let by = (name.as_str(), proxy);
        let (manager, ilk, head) = (maker.manager, maker.ether.ilk, chain.head);
        let urn = chain.view(manager, &Manager::urnsCall { cdp }, head).await?;
        let held = maker.held(chain, maker.ether, urn, head).await?;
        let ether = f64::from(held.collateral) / 1e18;
        match action {
            2..=4 => change_by(chain, maker, by, cdp, (1 + dice.below(3) as i64, 0)).await,
            5..=7 if held.health.is_none_or(|health| health > 2.0) && ether > 1.0 => {
                change_by(chain, maker, by, cdp, (0, 200)).await
            }
            8..=10 if held.debt > 500.0 => change_by(chain, maker, by, cdp, (0, -200)).await,
            11 | 12 if held.health.is_none_or(|health| health > 2.5) && ether > 2.0 => {
                change_by(chain, maker, by, cdp, (-1, 0)).await
            }
            13..=15 => {
                let to = dice.place(self.walkers.len());
                maker.by(chain, wallet(by.0), proxy, vec![give(maker, cdp, self.walkers[to].proxy)]).await?;
                self.vaults[place].1 = to;
                Ok(())
            }
            16 | 17 if held.debt > 100.0 => {
                let price = held.debt * 1.4 / ether;
                seize(chain, maker, cdp, price, (action == 16).then(|| 20 + dice.below(50))).await
            }
            18 => {
                let other = self.vaults.iter().find(|(other, of)| *of == owner && *other != cdp).copied();
                let Some((into, _)) = other else { return Ok(()) };
                let shift = Actions::shiftCall { manager, cdpSrc: cdp, cdpOrg: into };
                maker.by(chain, wallet(by.0), proxy, vec![act(shift)]).await
            }
            19 => {
                let hope = Actions::hopeCall { obj: maker.vat, usr: manager };
                let quit = Actions::quitCall { manager, cdp, dst: proxy };
                maker.by(chain, wallet(by.0), proxy, vec![act(hope), act(quit)]).await
            }
            20 | 21 if held.debt > 500.0 => Self::added(chain, maker, urn, I256::ZERO, whole(-100)).await,
            22 => Self::added(chain, maker, urn, whole(1), I256::ZERO).await,
            23 => chain.call(wallet("keeper"), maker.jug, &Jug::dripCall { ilk }).await,
            24 if self.lost.len() * 10 < self.walkers.len() && !name.starts_with("heir") => {
                let heir = format!("heir-{}", self.lost.len());
                chain.call(wallet(by.0), proxy, &Account::setOwnerCall { owner: wallet(&heir) }).await?;
                self.lost.insert(name.clone());
                self.walkers[owner].name = heir.clone();
                change_by(chain, maker, (heir.as_str(), proxy), cdp, (1, 0)).await
            }
            _ => Ok(()),
        }
    }

    /// A stranger adds to an urn, or pays for it.
    async fn added(chain: &mut Small, maker: &Maker, urn: Address, dink: I256, dart: I256) -> Done {
        let stranger = wallet(STRANGER);
        let call = Vat::frobCall { i: maker.ether.ilk, u: urn, v: stranger, w: stranger, dink, dart };
        chain.call(stranger, maker.vat, &call).await
    }
}

#[test]
fn random_walks_are_what_receipts_and_the_state_say() {
    let is_soak = std::env::var_os("ASSAY_SOAK").is_some();
    let (wallets, steps) = if is_soak { (40, 1_200) } else { (6, 60) };
    let walked = Mutex::new(Walk::default());
    RUNTIME.block_on(async {
        let world = World::of(async |chain: &mut Small, maker: &Maker| {
            let (mut walk, mut dice) = (Walk::start(chain, maker, wallets).await?, Dice(51));
            for _ in 0..steps {
                walk.step(chain, maker, &mut dice).await;
            }
            for _ in 0..40 {
                chain.mine().await?;
            }
            *walked.lock().unwrap() = walk;
            Ok(())
        });
        let world = world.await.unwrap();
        let walk = walked.into_inner().unwrap();
        let names = walk.walkers.iter().map(|walker| walker.name.as_str()).chain(walk.lost.iter().map(String::as_str));
        let names: Vec<&str> = names.chain([STRANGER]).collect();
        for has_index in [false, true] {
            let reader = world.reader().with(uncached);
            let reader = if has_index { reader.with(indexed) } else { reader }.started().await;
            if has_index {
                reader.in_step(CHAIN, &world.chain.rpc).await;
            }
            let (mut sums, mut heirs) = ([0; 5], [0; 2]);
            for name in &names {
                let mut read = reader.read(wallet(name)).await;
                for _ in 1..READS {
                    if pool(&read.chains[0], world.maker.vat).coverage != Coverage::Complete {
                        read = reader.read(wallet(name)).await;
                    }
                }
                if walk.lost.contains(*name) {
                    assert_eq!(pool(&read.chains[0], world.maker.vat).coverage, Coverage::Partial, "{name}");
                    continue;
                }
                // The vaults of a proxy that was given away changed before, which the logs of its heir do not show.
                if name.starts_with("heir") {
                    let is_whole = pool(&read.chains[0], world.maker.vat).coverage == Coverage::Complete;
                    heirs[usize::from(is_whole)] += 1;
                    if !is_whole {
                        continue;
                    }
                }
                let lived = told(&world.compare(name, &read.chains[0], world.chain.head).await);
                sums.iter_mut().zip(lived).for_each(|(sum, lived)| *sum += lived);
            }
            let [partial, whole] = heirs;
            println!(
                "{} wallets, index {has_index}: {sums:?} events; heirs: {whole} whole, {partial} partial",
                names.len()
            );
            // A short walk has not done everything.
            let kinds = sums.iter().filter(|sum| **sum > 0).count();
            assert!(kinds == if is_soak { sums.len() } else { kinds.max(3) }, "{sums:?}");
        }
        let [tried, done] = walk.steps;
        println!("{done} of {tried} actions in {} blocks", world.chain.head);
        assert!(done * 10 > tried * 8, "{done} of {tried} actions");
    });
}
