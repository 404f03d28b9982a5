//! What the wallets do in the markets.

use alloy::primitives::{Bytes, U256};
use assay_tests::devnet::actors::address as wallet;
use assay_tests::lenders::Small;
use assay_tests::lenders::morpho::{Blue, Coin, Market, Morpho};

use super::super::Done;
use super::world::{ETHER_USD, Markets};

/// Calls in one market on a chain. Amounts are thousandths of a whole token.
pub(super) struct On<'a>(pub &'a mut Small, pub &'a Morpho, pub &'a Market);

impl On<'_> {
    fn give(&mut self, to: &str, coin: Coin, amount: u64) -> U256 {
        let amount = coin.thousandths(amount);
        self.1.queue_tokens(self.0, wallet(to), coin, amount);
        amount
    }

    pub(super) async fn supply(&mut self, from: &str, to: &str, amount: u64) -> Done {
        let (assets, params) = (self.give(from, self.2.loan, amount), self.2.params.clone());
        let call = Blue::supplyCall { params, assets, shares: U256::ZERO, onBehalf: wallet(to), data: Bytes::new() };
        self.1.call(self.0, wallet(from), &call).await
    }

    pub(super) async fn withdraw(&mut self, from: &str, amount: u64) -> Done {
        let (assets, params) = (self.2.loan.thousandths(amount), self.2.params.clone());
        let (owner, receiver) = (wallet(from), wallet("somebody"));
        let call = Blue::withdrawCall { params, assets, shares: U256::ZERO, onBehalf: owner, receiver };
        self.1.call(self.0, wallet(from), &call).await
    }

    pub(super) async fn secure(&mut self, from: &str, to: &str, amount: u64) -> Done {
        let (assets, params) = (self.give(from, self.2.collateral, amount), self.2.params.clone());
        let call = Blue::supplyCollateralCall { params, assets, onBehalf: wallet(to), data: Bytes::new() };
        self.1.call(self.0, wallet(from), &call).await
    }

    pub(super) async fn release(&mut self, from: &str, amount: u64) -> Done {
        let (assets, params) = (self.2.collateral.thousandths(amount), self.2.params.clone());
        let (owner, receiver) = (wallet(from), wallet(from));
        let call = Blue::withdrawCollateralCall { params, assets, onBehalf: owner, receiver };
        self.1.call(self.0, wallet(from), &call).await
    }

    /// `by` borrows in the name of `of`, and gets it.
    pub(super) async fn borrow(&mut self, by: &str, of: &str, amount: u64) -> Done {
        let (assets, params) = (self.2.loan.thousandths(amount), self.2.params.clone());
        let (owner, receiver) = (wallet(of), wallet(by));
        let call = Blue::borrowCall { params, assets, shares: U256::ZERO, onBehalf: owner, receiver };
        self.1.call(self.0, wallet(by), &call).await
    }

    pub(super) async fn repay(&mut self, from: &str, of: &str, amount: u64) -> Done {
        let (assets, params) = (self.give(from, self.2.loan, amount), self.2.params.clone());
        let call = Blue::repayCall { params, assets, shares: U256::ZERO, onBehalf: wallet(of), data: Bytes::new() };
        self.1.call(self.0, wallet(from), &call).await
    }

    /// Repays every share of the debt.
    pub(super) async fn repay_all(&mut self, from: &str) -> Done {
        self.give(from, self.2.loan, 1_000_000_000);
        let call = Blue::positionCall { id: self.2.id(), user: wallet(from) };
        let shares = U256::from(self.0.view(self.1.blue, &call, self.0.head).await?.borrowShares);
        let (params, owner) = (self.2.params.clone(), wallet(from));
        let call = Blue::repayCall { params, assets: U256::ZERO, shares, onBehalf: owner, data: Bytes::new() };
        self.1.call(self.0, wallet(from), &call).await
    }

    /// The collateral is worth `price`, and a liquidator takes this much of it.
    pub(super) async fn liquidate(&mut self, borrower: &str, price: f64, amount: u64) -> Done {
        self.1.queue_price(self.0, self.2, price);
        self.give("liquidator", self.2.loan, 1_000_000_000);
        let (seized, params) = (self.2.collateral.thousandths(amount), self.2.params.clone());
        let borrower = wallet(borrower);
        let call = Blue::liquidateCall {
            params,
            borrower,
            seizedAssets: seized,
            repaidShares: U256::ZERO,
            data: Bytes::new(),
        };
        self.1.call(self.0, wallet("liquidator"), &call).await
    }
}

pub(super) async fn live(chain: &mut Small, morpho: &Morpho, markets: &Markets) -> Done {
    let Markets { dollars, ether, odd, hostile } = markets;
    let owner = wallet(assay_tests::devnet::actors::DEPLOYER);
    let (params, fee) = (dollars.params.clone(), U256::from(10).pow(U256::from(17)));
    morpho.call(chain, owner, &Blue::setFeeRecipientCall { recipient: wallet("treasury") }).await?;
    morpho.call(chain, owner, &Blue::setFeeCall { params, fee }).await?;
    On(chain, morpho, dollars).supply("bank", "bank", 50_000_000).await?;
    On(chain, morpho, ether).supply("bank", "bank", 10_000).await?;
    // In two markets, with a repayment by another.
    let mut on = On(chain, morpho, dollars);
    on.secure("ada", "ada", 10_000).await?;
    on.borrow("ada", "ada", 9_000_000).await?;
    on.repay("ada", "ada", 2_000_000).await?;
    on.supply("ben", "ben", 4_000_000).await?;
    on.repay("ben", "ada", 1_000_000).await?;
    on.release("ada", 1_000).await?;
    on.withdraw("ben", 1_500_000).await?;
    let mut on = On(chain, morpho, ether);
    on.secure("ada", "ada", 5_000_000).await?;
    on.borrow("ada", "ada", 1_000).await?;
    on.release("ada", 1_000_000).await?;
    // Liquidated in part, and with a debt that the collateral does not cover.
    let mut on = On(chain, morpho, dollars);
    on.secure("cleo", "cleo", 2_000).await?;
    on.borrow("cleo", "cleo", 3_000_000).await?;
    on.secure("dora", "dora", 1_000).await?;
    on.borrow("dora", "dora", 1_600_000).await?;
    on.liquidate("cleo", 1_700.0, 500).await?;
    on.liquidate("dora", 1_000.0, 1_000).await?;
    morpho.queue_price(on.0, dollars, ETHER_USD);
    // In the name of a wallet that allows it, to another receiver.
    let allow = Blue::setAuthorizationCall { authorized: wallet("manager"), isAuthorized: true };
    morpho.call(on.0, wallet("gus"), &allow).await?;
    on.secure("manager", "gus", 3_000).await?;
    on.borrow("manager", "gus", 2_000_000).await?;
    // A wallet that closes its whole position.
    on.secure("hal", "hal", 4_000).await?;
    on.borrow("hal", "hal", 100_000).await?;
    on.repay_all("hal").await?;
    on.release("hal", 4_000).await?;
    on.supply("kay", "kay", 50_000).await?;
    // Others supply what has no price, in a market of contracts that use up all gas.
    On(chain, morpho, hostile).secure("somebody", "ivy", 1_000).await?;
    On(chain, morpho, odd).secure("somebody", "emil", 7_000).await?;
    On(chain, morpho, dollars).supply("emil", "emil", 60_000).await?;
    let mut on = On(chain, morpho, odd);
    on.supply("bank", "bank", 1_000_000).await?;
    on.secure("frida", "frida", 9_000).await?;
    on.borrow("frida", "frida", 10_000).await?;
    // All blocks above are settled.
    for _ in 0..40 {
        chain.mine().await?;
    }
    Ok(())
}
