//! Wallets with several accounts that do what can be done with vaults, in random order: each of them is what the
//! receipts of all blocks and the vaults say. `ASSAY_SOAK` makes the walk longer.

use std::sync::Mutex;

use alloy::primitives::{Address, U256};
use assay_domain::Coverage;
use assay_tests::devnet::actors::address as wallet;
use assay_tests::dice::Dice;
use assay_tests::lenders::Small;
use assay_tests::lenders::config::CHAIN;
use assay_tests::lenders::euler::{BatchItem, Connector, Euler, Vault, account, item};

use super::super::super::{RUNTIME, index::indexed};
use super::super::{Done, pool};
use super::told;
use super::wallets::{accrue, liquidate, loan, repay, supply};
use super::world::{NUMBERS, World};

/// The wallets of a walk.
#[derive(Default)]
struct Walk {
    names: Vec<String>,
    /// Actions that were tried, and those that succeeded.
    steps: [usize; 2],
}

impl Walk {
    async fn start(chain: &mut Small, euler: &Euler, wallets: usize) -> Result<Self, assay_tests::devnet::Error> {
        for (coin, amount) in [(euler.usdc, 900_000_000), (euler.weth, 900_000)] {
            supply(chain, euler, "bank", coin, wallet("bank"), amount).await?;
        }
        let names: Vec<String> = (0..wallets).map(|number| format!("walker-{number}")).collect();
        for name in &names {
            for number in NUMBERS {
                euler.queue_tokens(chain, account(wallet(name), number), euler.weth, euler.weth.thousandths(900_000));
            }
            let account = account(wallet(name), 1);
            let call = Connector::setAccountOperatorCall { account, operator: wallet("operator"), authorized: true };
            chain.call(wallet(name), euler.connector, &call).await?;
        }
        // The flag lies beside the debt.
        for (name, coin) in names.iter().step_by(2).zip([euler.usdc, euler.weth].iter().cycle()) {
            let flag = Vault::enableBalanceForwarderCall {};
            let of = |number| item(coin.vault, account(wallet(name), number), &flag);
            euler.batch(chain, wallet(name), NUMBERS.map(of).into()).await?;
        }
        Ok(Self { names, steps: [0; 2] })
    }

    /// One action of a random kind. A transaction that fails changes nothing.
    async fn step(&mut self, chain: &mut Small, euler: &Euler, dice: &mut Dice) {
        let done = self.act(chain, euler, dice).await;
        self.steps[0] += 1;
        self.steps[1] += usize::from(done.is_ok());
    }

    async fn act(&self, chain: &mut Small, euler: &Euler, dice: &mut Dice) -> Done {
        let name = self.names[dice.place(self.names.len())].as_str();
        let other = self.names[dice.place(self.names.len())].as_str();
        let of = |name: &str, place: usize| account(wallet(name), NUMBERS[place]);
        let (own, next) = (of(name, dice.place(4)), of(name, dice.place(4)));
        let theirs = of(other, dice.place(4));
        let (usdc, weth, head) = (euler.usdc, euler.weth, chain.head);
        let shares = chain.view(weth.vault, &Vault::balanceOfCall { account: own }, head).await?;
        let debt = chain.view(usdc.vault, &Vault::debtOfCall { account: own }, head).await?;
        let owed = u64::try_from(debt / usdc.thousandths(1)).unwrap_or_default();
        let enabled = |of: Address| -> Vec<BatchItem> { euler.enabled(of, usdc, weth).into() };
        match dice.below(20) {
            0..=3 => {
                let items = loan(euler, own, 1_000 + dice.below(3_000), 200_000 + dice.below(900_000));
                euler.batch(chain, wallet(name), items).await
            }
            4 => {
                let items = loan(euler, of(name, 1), 1_000, 300_000);
                euler.batch(chain, wallet("operator"), items).await
            }
            5 | 6 if owed > 0 => repay(chain, euler, name, own, Some(1 + dice.below(owed))).await,
            7 if owed > 0 => repay(chain, euler, name, own, None).await,
            8 if owed > 0 => repay(chain, euler, "bank", own, Some(1 + dice.below(owed))).await,
            9 if !shares.is_zero() => {
                let part = shares / U256::from(1 + dice.below(4));
                let redeem = Vault::redeemCall { shares: part, receiver: own, owner: own };
                euler.batch(chain, wallet(name), vec![item(weth.vault, own, &redeem)]).await
            }
            10 if !shares.is_zero() => {
                let amount = shares / U256::from(2);
                let call = Vault::transferCall { to: next, amount };
                euler.batch(chain, wallet(name), vec![item(weth.vault, own, &call)]).await
            }
            11 | 12 if owed > 0 && own != next => {
                let mut items = enabled(next);
                let assets = if dice.below(2) == 0 { U256::MAX } else { usdc.thousandths(1 + dice.below(owed)) };
                items.push(item(usdc.vault, next, &Vault::pullDebtCall { assets, from: own }));
                euler.batch(chain, wallet(name), items).await
            }
            13 if owed > 0 && name != other => {
                let mut items = enabled(theirs);
                let assets = usdc.thousandths(1 + dice.below(owed));
                items.push(item(usdc.vault, theirs, &Vault::pullDebtCall { assets, from: own }));
                euler.batch(chain, wallet(other), items).await
            }
            14 | 15 if owed > 100 && !shares.is_zero() => {
                let price = 0.5 * f64::from(debt) / 1e6 / (f64::from(shares) / 1e18);
                let part = dice.below(2) == 0;
                let price = if part { price * 2.2 } else { price };
                liquidate(chain, euler, own, price, part.then_some(owed / 3)).await
            }
            16 => accrue(chain, euler, 100 + dice.below(3)).await,
            17 => supply(chain, euler, "bank", weth, own, 1 + dice.below(900)).await,
            18 => {
                let amount = weth.thousandths(1 + dice.below(50));
                chain.call(wallet("bank"), weth.vault, &Vault::transferCall { to: own, amount }).await
            }
            19 => supply(chain, euler, name, weth, own, 1 + dice.below(500)).await,
            _ => Ok(()),
        }
    }
}

#[test]
fn random_walks_are_what_receipts_and_the_vaults_say() {
    let is_soak = std::env::var_os("ASSAY_SOAK").is_some();
    let (wallets, steps) = if is_soak { (40, 1_200) } else { (6, 90) };
    let walked = Mutex::new(Walk::default());
    RUNTIME.block_on(async {
        let world = World::of(async |chain: &mut Small, euler: &Euler| {
            let (mut walk, mut dice) = (Walk::start(chain, euler, wallets).await?, Dice(52));
            for _ in 0..steps {
                walk.step(chain, euler, &mut dice).await;
            }
            for _ in 0..40 {
                chain.mine().await?;
            }
            *walked.lock().unwrap() = walk;
            Ok(())
        });
        let world = world.await.unwrap();
        let walk = walked.into_inner().unwrap();
        for has_index in [false, true] {
            let reader = world.reader();
            let reader = if has_index { reader.with(indexed) } else { reader }.started().await;
            if has_index {
                reader.in_step(CHAIN, &world.chain.rpc).await;
            }
            let mut sums = [0; 5];
            for name in walk.names.iter().map(String::as_str).chain(["liquidator", "bank"]) {
                let read = reader.read(wallet(name)).await;
                let told_ = pool(&read.chains[0], world.euler.factory);
                assert_eq!(told_.coverage, Coverage::Complete, "{name}, index {has_index}: {:?}", told_.remark);
                let lived = told(&world.compare(name, &read.chains[0], world.chain.head).await);
                sums.iter_mut().zip(lived).for_each(|(sum, lived)| *sum += lived);
            }
            println!("{} wallets, index {has_index}: {sums:?} events", walk.names.len());
            assert!(sums.iter().all(|sum| *sum > 0), "{sums:?}");
        }
        let [tried, done] = walk.steps;
        println!("{done} of {tried} actions in {} blocks", world.chain.head);
        assert!(done * 10 > tried * 8, "{done} of {tried} actions");
    });
}
