//! A wallet's positions in the vaults that it used. Shares and debts are the vault's stored ones, to compare them with
//! the logs; amounts are the vault's own views, with the interest until now. The controller of an account states its
//! collateral and its debt in a unit of its own; the health factor is their quotient. Anybody can have a vault made
//! with any token and any oracle, and supply to it for any account: only a controller's view asks others, within
//! limits, and dollar prices come only from the chain's own sources.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use alloy::{
    primitives::{Bytes, keccak256, map::HashSet},
    sol,
};

use super::accounts::{account, is_in, part};
use crate::{
    asset::Asset,
    figures::{balance::Balance, hints::Naming, record::Side},
    protocols::{Held, LendingTerms, MarketTerms, Parts, Used},
};
use assay_domain::{Address, AssetSide, B256, PositionAsset, Prices, U256};
use assay_evm::{Block, Call, Client, Fault, client::Bounds, returned};

sol! {
    function getControllers(address account) external view returns (address[] memory list);
    function getCollaterals(address account) external view returns (address[] memory list);
    function asset() external view returns (address token);
    function balanceOf(address account) external view returns (uint256 shares);
    function debtOf(address account) external view returns (uint256 assets);
    function convertToAssets(uint256 shares) external view returns (uint256 assets);
    function accountLiquidity(address account, bool liquidation)
        external view returns (uint256 collateralValue, uint256 liabilityValue);
    function LTVLiquidation(address collateral) external view returns (uint16 share);
    function decimals() external view returns (uint8 decimals);
}

/// The slot of the mapping of accounts in a vault.
const USERS: u64 = 13;
/// Bits of an account's slot: shares come first, then the debt, then a flag.
const SHARES: usize = 112;
const OWED: usize = 143;
/// Bits of a debt after the point.
const POINT: usize = 31;
/// One, in the shares of collateral that a debt may reach.
const WHOLE: f64 = 1e4;
const ANOTHERS: &str = "the address is an account of another wallet in the protocol's connector, and what it has is \
                        that wallet's";

/// The state to read for a wallet.
#[derive(Debug, Clone)]
pub(super) struct Request {
    connector: Address,
    vaults: Arc<HashSet<Address>>,
    /// Vault and account.
    parts: BTreeSet<(Address, Address)>,
    accounts: BTreeSet<Address>,
    /// Vaults and accounts in which only one endpoint says that there is nothing.
    others: Vec<(Address, Address)>,
    /// Whether the wallet's accounts are another's.
    is_anothers: bool,
}

impl Request {
    /// `traced` are the vaults in which each account is read, except that of the wallet's address, which has traces.
    pub(super) fn of(
        connector: Address,
        vaults: Arc<HashSet<Address>>,
        traced: &[Address],
        wallet: Address,
        used: Used<'_>,
    ) -> Self {
        let is_anothers = used.hints.iter().any(|hint| matches!(hint.naming, Naming::Never { .. }));
        let owns = used.hints.iter().any(|hint| matches!(hint.naming, Naming::Accounts(_)));
        let mut parts = BTreeSet::new();
        for id in used.sums.markets() {
            // A call of another contract than a vault is no part.
            parts.extend(vaults.iter().filter(|vault| is_in(id, **vault)).map(|vault| (*vault, account(id))));
        }
        let accounts: BTreeSet<_> = parts.iter().map(|(_, account)| *account).chain(owns.then_some(wallet)).collect();
        let others = accounts.iter().filter(|account| **account != wallet);
        let others = others.flat_map(|account| traced.iter().map(move |vault| (*vault, *account)));
        let others = others.filter(|part| !parts.contains(part)).collect();
        Self { connector, vaults, parts, accounts, others, is_anothers }
    }
}

/// What an account has in a vault.
#[derive(Debug, Clone)]
struct EulerPosition {
    vault: Address,
    account: Address,
    token: Address,
    shares: U256,
    /// As stored, without the interest since then.
    owed: U256,
    debt: U256,
    /// The controller to which the shares are collateral.
    secures: Option<Address>,
}

/// The vaults that a wallet used.
#[derive(Debug, Clone, Default)]
pub(super) struct UsedVaults {
    positions: Vec<EulerPosition>,
    is_anothers: bool,
    /// Tokens that have a price, with their decimals if configured.
    priced: BTreeMap<Address, Option<u8>>,
}

/// A question about state that [`UsedVaults`] does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum EulerQuestion {
    /// The amount of the shares of the position at this index.
    Amount(usize),
    /// The collateral and the debt of its account, by its vault.
    Liquidity(usize),
    /// The share of the collateral that the controller lets the debt reach.
    Threshold(usize),
    Decimals(Address),
}

type EulerAnswers<'a> = BTreeMap<EulerQuestion, Option<&'a Option<Bytes>>>;

impl UsedVaults {
    /// The positions of a wallet. `None` if a contract does not answer, or does not keep accounts as expected.
    pub(super) async fn look_up(client: &Client, asked: Request, at: Block) -> Result<Option<Self>, Fault> {
        let Request { connector, vaults, mut parts, accounts, others, is_anothers } = asked;
        if is_anothers || accounts.is_empty() {
            return Ok(Some(Self { is_anothers, ..Self::default() }));
        }
        let both = |account: &Address| {
            let account = *account;
            [
                Call::new(connector, &getControllersCall { account }),
                Call::new(connector, &getCollateralsCall { account }),
            ]
        };
        let shares = |(vault, account): &(Address, Address)| Call::new(*vault, &balanceOfCall { account: *account });
        let calls = accounts.iter().flat_map(both).chain(others.iter().map(shares)).collect();
        let answers = client.shared_calls(calls, at.hash).await?;
        let (answers, of_others) = answers.split_at(accounts.len().saturating_mul(2).min(answers.len()));
        for (part, answer) in others.into_iter().zip(of_others) {
            let Some(shares) = returned::<balanceOfCall>(Some(answer)) else { return Ok(None) };
            parts.extend((!shares.is_zero()).then_some(part));
        }
        let mut secured = BTreeMap::<(Address, Address), Address>::new();
        for (account, answers) in accounts.iter().zip(answers.chunks(2)) {
            let Some(controllers) = returned::<getControllersCall>(answers.first()) else { return Ok(None) };
            let Some(collaterals) = returned::<getCollateralsCall>(answers.get(1)) else { return Ok(None) };
            let of_list = |list: &[Address]| list.iter().filter(|vault| vaults.contains(*vault)).copied().collect();
            let (controllers, collaterals): (Vec<Address>, Vec<Address>) =
                (of_list(&controllers), of_list(&collaterals));
            parts.extend(controllers.iter().chain(&collaterals).map(|vault| (*vault, *account)));
            let controller = controllers.first().copied();
            secured.extend(
                controller
                    .into_iter()
                    .flat_map(|controller| collaterals.iter().map(move |vault| ((*vault, *account), controller))),
            );
        }
        let three = |(vault, account): &(Address, Address)| {
            let (vault, account) = (*vault, *account);
            [
                Call::new(vault, &assetCall {}),
                Call::new(vault, &balanceOfCall { account }),
                Call::new(vault, &debtOfCall { account }),
            ]
        };
        let slots: Vec<_> = parts.iter().map(|(vault, account)| (*vault, slot(*account))).collect();
        let calls = client.shared_calls(parts.iter().flat_map(three).collect(), at.hash);
        let (answers, words) = tokio::join!(calls, client.storage(&slots, at.hash));
        let answers = answers?;
        let positions = parts.iter().zip(answers.chunks(3)).zip(words).map(|((key, answers), word)| {
            let secures = secured.get(key).copied();
            EulerPosition::read(*key, answers, word?, secures)
        });
        let positions = positions.collect::<Option<Vec<_>>>();
        Ok(positions.map(|positions| Self { positions, ..Self::default() }))
    }

    fn questions(&self) -> Vec<(EulerQuestion, Call)> {
        let mut asked = BTreeMap::new();
        for (place, position) in self.positions.iter().enumerate() {
            let EulerPosition { vault, account, shares, debt, secures, token, .. } = position;
            if !shares.is_zero() {
                let call = convertToAssetsCall { shares: *shares };
                asked.insert(EulerQuestion::Amount(place), Call::new(*vault, &call));
                let threshold = LTVLiquidationCall { collateral: *vault };
                let secures = secures.filter(|controller| self.owes(*controller, *account));
                let threshold = secures.map(|controller| Call::new(controller, &threshold));
                asked.extend(threshold.map(|call| (EulerQuestion::Threshold(place), call)));
            }
            if !debt.is_zero() {
                let call = accountLiquidityCall { account: *account, liquidation: true };
                asked.insert(EulerQuestion::Liquidity(place), Call::new(*vault, &call));
            }
            if position.is_held() && self.priced.get(token) == Some(&None) {
                asked.insert(EulerQuestion::Decimals(*token), Call::new(*token, &decimalsCall {}));
            }
        }
        asked.into_iter().collect()
    }

    fn owes(&self, controller: Address, account: Address) -> bool {
        let mut of = self.positions.iter().filter(|one| (one.vault, one.account) == (controller, account));
        of.any(|one| !one.debt.is_zero())
    }

    /// The decimals of a token; `None` for a token without a price.
    fn decimals(&self, token: Address, answers: &EulerAnswers<'_>) -> Option<u8> {
        match self.priced.get(&token)? {
            Some(configured) => Some(*configured),
            None => returned::<decimalsCall>(*answers.get(&EulerQuestion::Decimals(token))?),
        }
    }

    /// Adds the position at `place` to `held`, and returns its collateral in dollars times its threshold.
    fn add(
        &self,
        place: usize,
        position: &EulerPosition,
        answers: &EulerAnswers<'_>,
        prices: &Prices,
        held: &mut Held,
    ) -> Option<f64> {
        let token = position.token;
        let asset = |side, amount: U256, liquidation_threshold| {
            let decimals = self.decimals(token, answers)?;
            let price = prices.get(&Some(token))?.usd;
            let usd = f64::from(amount) / 10_f64.powi(decimals.into()) * price;
            let (token, symbol, price_usd) = (Some(token), None, Some(price));
            let account = position.account.into_word();
            Some(PositionAsset {
                token,
                symbol,
                side,
                amount,
                decimals,
                usd,
                liquidation_threshold,
                price_usd,
                account,
            })
        };
        if !position.debt.is_zero() {
            let debt = asset(AssetSide::Debt, position.debt, None)?;
            held.borrowed_usd += debt.usd;
            held.parts.assets.push(debt);
            let liquidity = answers.get(&EulerQuestion::Liquidity(place)).copied().flatten();
            let of = returned::<accountLiquidityCall>(liquidity).filter(|of| !of.liabilityValue.is_zero());
            match of {
                Some(of) => held.parts.nearest(f64::from(of.collateralValue) / f64::from(of.liabilityValue)),
                None => held.parts.lacking = true,
            }
        }
        if position.shares.is_zero() {
            return Some(0.0);
        }
        let amount = returned::<convertToAssetsCall>(answers.get(&EulerQuestion::Amount(place)).copied().flatten())?;
        let asked = answers.get(&EulerQuestion::Threshold(place));
        let threshold = asked.map(|answer| returned::<LTVLiquidationCall>(*answer));
        let threshold = threshold.map(|answer| answer.map(|share| f64::from(share) / WHOLE));
        let (side, of_debt) = match threshold {
            Some(threshold) => (AssetSide::Collateral, Some(threshold?)),
            None => (AssetSide::Deposit, None),
        };
        match asset(side, amount, of_debt) {
            Some(asset) => {
                let usd = asset.usd;
                held.supplied_usd += usd;
                held.parts.assets.push(asset);
                Some(usd * of_debt.unwrap_or_default())
            }
            // A debt without its collateral would be misleading.
            None if of_debt.is_some_and(|share| share > 0.0) => None,
            None => {
                held.parts.unpriced.push(token);
                Some(0.0)
            }
        }
    }
}

impl Parts for UsedVaults {
    fn tokens(&self) -> BTreeSet<Address> {
        self.positions.iter().filter(|position| position.is_held()).map(|position| position.token).collect()
    }

    fn priced(mut self: Box<Self>, priced: &dyn Fn(Address) -> Option<Option<u8>>) -> MarketTerms {
        self.priced = self.positions.iter().filter_map(|one| Some((one.token, priced(one.token)?))).collect();
        Arc::new(*self)
    }
}

impl LendingTerms for UsedVaults {
    fn calls(&self, _: Address) -> Vec<Call> {
        self.questions().into_iter().map(|(_, call)| call).collect()
    }

    /// Anybody can have a vault made with any token and any oracle.
    fn bounds(&self) -> Option<Bounds> {
        Some(Bounds::ACCOUNT)
    }

    /// The health factor is that of the account nearest to liquidation: no account secures another's debt.
    fn held_at(&self, answers: &[Option<Bytes>], prices: &Prices) -> Option<Held> {
        let questions = self.questions().into_iter().map(|(question, _)| question).enumerate();
        let answers: EulerAnswers<'_> = questions.map(|(place, question)| (question, answers.get(place))).collect();
        let (mut held, mut weighted) = (Held::default(), 0.0);
        for (place, position) in self.positions.iter().enumerate() {
            weighted += self.add(place, position, &answers, prices, &mut held)?;
        }
        if held.parts.lacking {
            // The account whose controller did not answer may be nearer.
            held.parts.health_factor = None;
        }
        held.parts.weigh_collateral(weighted);
        let supplied = self.positions.iter().filter(|position| !position.shares.is_zero());
        held.supplied_assets = u32::try_from(supplied.map(|one| one.token).collect::<BTreeSet<_>>().len()).ok()?;
        Some(held)
    }

    fn balances(&self, _: &[Option<Bytes>]) -> Option<Vec<Balance>> {
        let both = |position: &EulerPosition| {
            let id = Asset::Shares(part(position.vault, position.account));
            [Balance::still(Side::Supply, id, position.shares), Balance::still(Side::Debt, id, position.owed)]
        };
        Some(self.positions.iter().flat_map(both).collect())
    }

    fn token(&self, _: Side, asset: Asset) -> Option<(Address, f64)> {
        let Asset::Market(id) = asset else { return None };
        let of = self.positions.iter().find(|position| part(position.vault, position.account) == id)?;
        // Only a configured token has a class.
        let decimals = self.priced.get(&of.token).copied().flatten()?;
        Some((of.token, 10_f64.powi(decimals.into())))
    }

    fn lacks(&self) -> Option<&'static str> {
        self.is_anothers.then_some(ANOTHERS)
    }
}

impl EulerPosition {
    /// The part `key`. `word` is the account's slot, whose shares must be those that the vault returns.
    fn read(key: (Address, Address), answers: &[Option<Bytes>], word: U256, secures: Option<Address>) -> Option<Self> {
        let (vault, account) = key;
        let token = returned::<assetCall>(answers.first())?;
        let (balance, debt) = (returned::<balanceOfCall>(answers.get(1))?, returned::<debtOfCall>(answers.get(2))?);
        let (shares, exact) = (word & low(SHARES), (word >> SHARES) & low(OWED));
        let owed = (exact + low(POINT)) >> POINT;
        (shares == balance && owed <= debt).then_some(Self { vault, account, token, shares, owed, debt, secures })
    }

    fn is_held(&self) -> bool {
        !self.shares.is_zero() || !self.debt.is_zero()
    }
}

/// The slot of an account in a vault.
fn slot(account: Address) -> U256 {
    let key = [account.into_word().as_slice(), B256::from(U256::from(USERS)).as_slice()].concat();
    U256::from_be_bytes(keccak256(key).0)
}

/// The number of which the lowest `bits` are set.
fn low(bits: usize) -> U256 {
    (U256::ONE << bits).wrapping_sub(U256::ONE)
}
