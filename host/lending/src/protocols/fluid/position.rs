//! The positions of a wallet. The factory lists them, and says in which vault each is; the vault keeps the collateral,
//! the tick and the dust, which is not owed. If the tick was liquidated since the position was used, the vault computes
//! what is left. These are the steps of the protocol's own resolver.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use alloy::{
    primitives::{Bytes, I256, keccak256},
    sol,
    sol_types::SolValue,
};

use super::{
    events,
    math::{big, bits, ratio, small, tick},
    share::ShareToken,
    vault::{self, Parameters, Unit, Vault},
};
use crate::{
    figures::balance::Balance,
    limits,
    protocols::{Held, LendingTerms, MarketTerms, Parts},
};
use assay_domain::{Address, AssetSide, B256, PositionAsset, Prices, U256};
use assay_evm::{Block, Call, Client, Fault, returned};

sol! {
    function tokenOfOwnerByIndex(address owner, uint256 index) external view returns (uint256 id);
    #[derive(Debug)]
    function fetchLatestPosition(int256 positionTick, uint256 positionTickId, uint256 positionRawDebt, uint256 tickData)
        external view returns (int256 tick, uint256 debt, uint256 collateral, uint256 branchId, uint256 branchData);
    function convertToAssets(uint256 shares) external view returns (uint256 assets);
    function decimals() external view returns (uint8 decimals);
}

/// Where the factory keeps the owner and the vault of a position, and a vault its positions and ticks.
const CONFIGS: u64 = 3;
const POSITIONS: u64 = 3;
const TICKS: u64 = 5;
/// The address by which the protocol means the native currency.
const NATIVE: Address = Address::repeat_byte(0xee);
const NATIVE_DECIMALS: u8 = 18;
const POOL_DECIMALS: u8 = 18;

const UNREAD_VAULTS: &str = "the wallet has or had positions in vaults, whose logs name the position instead of the \
                             wallet, and whose liquidations are in no log: what was supplied, withdrawn, borrowed, \
                             repaid and liquidated there is not read; positions are";
const COUNTED_VAULTS: &str = "the wallet has or had positions in vaults, whose liquidations are in no log; what was \
                              supplied, withdrawn, borrowed and repaid there is counted as far as the index has read";
const LIQUIDATED: &str = "a position of the wallet was liquidated since it was last used, as its state shows; how \
                          often is in no log. What else was liquidated, and what was supplied, withdrawn, borrowed \
                          and repaid in vaults is not read; positions are";
const COUNTED_LIQUIDATED: &str = "a position of the wallet was liquidated since it was last used, as its state shows; \
                                  how often is in no log, as is what else was liquidated. What was supplied, \
                                  withdrawn, borrowed and repaid in vaults is counted as far as the index has read";
const UNREAD_POOLS: &str = "the wallet has a position whose collateral and debt are both shares of pools, which have \
                            no price: its amounts are not read, nor is what happened in vaults";

/// A position as a vault keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kept {
    supply: U256,
    /// `None` without debt.
    debt: Option<KeptDebt>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct KeptDebt {
    tick: i32,
    /// The number of the tick's generation: each liquidation begins another.
    generation: u32,
    /// With the dust.
    amount: U256,
    dust: U256,
}

/// A position in a vault, in the vault's units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct VaultPosition {
    id: u32,
    vault: Vault,
    supply: U256,
    borrow: U256,
    /// Whether it was liquidated after it was last used.
    is_liquidated: bool,
}

/// Shares of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct HeldShares {
    of: ShareToken,
    shares: U256,
}

/// What a wallet has.
#[derive(Debug, Clone, Default)]
pub(super) struct FluidPositions {
    positions: Vec<VaultPosition>,
    /// Every position that it has or had, and whether it has it.
    owned: BTreeMap<B256, bool>,
    shares: Vec<HeldShares>,
    /// Whether the index has what happened in vaults.
    is_counted: bool,
    /// Tokens that have a price, with their decimals if configured.
    priced: BTreeMap<Address, Option<u8>>,
}

/// A question about state that is asked last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum FluidQuestion {
    Decimals(Address),
    /// The deposit that the shares of a token are worth.
    Worth(Address),
}

type FluidAnswers<'a> = BTreeMap<FluidQuestion, Option<&'a Option<Bytes>>>;

impl FluidPositions {
    /// The `count` positions of `owner`, who had `past`. `None` if a contract does not answer, or if there are too
    /// many.
    pub(super) async fn look_up(
        client: &Client,
        factory: Address,
        owner: Address,
        count: U256,
        past: BTreeSet<B256>,
        at: Block,
    ) -> Result<Option<Self>, Fault> {
        let mut found = Self { owned: past.into_iter().map(|id| (id, false)).collect(), ..Self::default() };
        let Some(count) = usize::try_from(count).ok().filter(|count| *count <= limits::POSITIONS) else {
            return Ok(None);
        };
        if count == 0 {
            return Ok(Some(found));
        }
        let calls =
            (0..count).map(|index| Call::new(factory, &tokenOfOwnerByIndexCall { owner, index: U256::from(index) }));
        let answers = client.shared_calls(calls.collect(), at.hash).await?;
        let ids = answers.iter().map(|id| u32::try_from(returned::<tokenOfOwnerByIndexCall>(Some(id))?).ok());
        let Some(ids) = ids.collect::<Option<Vec<u32>>>() else { return Ok(None) };
        found.owned.extend(ids.iter().map(|id| (B256::from(U256::from(*id)), true)));
        let calls = ids.iter().map(|id| vault::word(factory, mapped(U256::from(*id), CONFIGS)));
        let answers = client.shared_calls(calls.collect(), at.hash).await?;
        let vault_of = |answer| {
            let word = vault::read(Some(answer))?;
            (Address::from_word(B256::from(bits(word, 0, 160))) == owner).then(|| small(word, 192, 32))
        };
        let Some(vaults) = answers.iter().map(vault_of).collect::<Option<Vec<u32>>>() else { return Ok(None) };
        let places = ids.into_iter().zip(vaults).collect();
        let Some(positions) = in_vaults(client, factory, places, at.hash).await? else { return Ok(None) };
        found.positions = positions;
        Ok(Some(found))
    }

    #[must_use]
    pub(super) fn with(self, shares: Vec<(ShareToken, U256)>, is_counted: bool) -> Self {
        let shares = shares.into_iter().map(|(of, shares)| HeldShares { of, shares }).collect();
        Self { shares, is_counted, ..self }
    }

    fn tokens_used(&self) -> impl Iterator<Item = Address> {
        let of_shares = self.shares.iter().filter(|held| !held.shares.is_zero()).map(|held| held.of.asset);
        let of_vaults = self.positions.iter().filter(|position| !position.is_empty()).flat_map(|position| {
            [position.vault.supply, position.vault.borrow].into_iter().filter_map(|unit| match unit {
                Unit::Token(token) => Some(token),
                Unit::Pool(_) => None,
            })
        });
        of_shares.chain(of_vaults).filter(|token| *token != NATIVE)
    }

    fn questions(&self) -> Vec<(FluidQuestion, Call)> {
        let mut asked = BTreeMap::new();
        for HeldShares { of, shares } in self.shares.iter().filter(|held| !held.shares.is_zero()) {
            let call = Call::new(of.token, &convertToAssetsCall { shares: *shares });
            asked.insert(FluidQuestion::Worth(of.token), call);
        }
        for token in self.tokens_used().filter(|token| self.priced.get(token) == Some(&None)) {
            asked.insert(FluidQuestion::Decimals(token), Call::new(token, &decimalsCall {}));
        }
        asked.into_iter().collect()
    }

    /// Decimals and price of a token; `None` without a price.
    fn quote(&self, token: Address, answers: &FluidAnswers<'_>, prices: &Prices) -> Option<(u8, f64)> {
        if token == NATIVE {
            return Some((NATIVE_DECIMALS, prices.get(&None)?.usd));
        }
        let decimals = match self.priced.get(&token)? {
            Some(configured) => *configured,
            None => returned::<decimalsCall>(*answers.get(&FluidQuestion::Decimals(token))?)?,
        };
        Some((decimals, prices.get(&Some(token))?.usd))
    }

    /// Adds a position to `held`, and returns its collateral in dollars times its threshold. `None` without a price
    /// that matters.
    fn add(
        &self,
        position: &VaultPosition,
        answers: &FluidAnswers<'_>,
        prices: &Prices,
        held: &mut Held,
    ) -> Option<f64> {
        let VaultPosition { id, vault, supply, borrow, .. } = position;
        let quote = |unit| match unit {
            Unit::Token(token) => self.quote(token, answers, prices),
            Unit::Pool(_) => None,
        };
        let decimals = |unit| match unit {
            Unit::Token(token) => self.quote(token, answers, prices).map(|(decimals, _)| decimals),
            Unit::Pool(_) => Some(POOL_DECIMALS),
        };
        let (of_supply, of_borrow) = (quote(vault.supply), quote(vault.borrow));
        // What the oracle says of a whole unit of collateral, in whole units of debt.
        let whole = |supply: u8, borrow: u8| Some(vault.rate()? * 10_f64.powi(i32::from(supply) - i32::from(borrow)));
        // Shares of a pool have the price that the vault's oracle gives them in the token on the other side.
        let priced = |unit, (places, price): (u8, f64), is_supply: bool| {
            let own = decimals(unit)?;
            let rate = if is_supply { whole(own, places)? } else { whole(places, own)?.recip() };
            Some((own, rate * price))
        };
        let borrow_quote = of_borrow.or_else(|| match vault.borrow {
            Unit::Pool(_) => priced(vault.borrow, of_supply?, false),
            Unit::Token(_) => None,
        });
        let supply_quote = of_supply.or_else(|| match vault.supply {
            Unit::Pool(_) => priced(vault.supply, of_borrow?, true),
            Unit::Token(_) => None,
        });
        let account = B256::from(U256::from(*id));
        let asset = |side, unit, amount: U256, (decimals, price): (u8, f64)| PositionAsset {
            token: unit_token(unit),
            symbol: None,
            side,
            amount,
            decimals,
            usd: f64::from(amount) / 10_f64.powi(decimals.into()) * price,
            liquidation_threshold: None,
            price_usd: Some(price),
            account,
        };
        if !borrow.is_zero() {
            let debt = asset(AssetSide::Debt, vault.borrow, *borrow, borrow_quote?);
            held.borrowed_usd += debt.usd;
            held.parts.assets.push(debt);
            match vault.most_debt(*supply) {
                Some(most) => held.parts.nearest(f64::from(most) / f64::from(*borrow)),
                None => held.parts.lacking = true,
            }
        }
        if supply.is_zero() {
            return Some(0.0);
        }
        let Some(supply_quote) = supply_quote else {
            // A debt without its collateral would be misleading.
            return borrow.is_zero().then(|| {
                held.parts.unpriced.extend(unit_token(vault.supply));
                0.0
            });
        };
        let mut collateral = asset(AssetSide::Collateral, vault.supply, *supply, supply_quote);
        collateral.liquidation_threshold = Some(vault.threshold());
        if !borrow.is_zero() {
            // The vault liquidates by its oracle, whatever the price of the collateral elsewhere.
            collateral.price_usd =
                borrow_quote.and_then(|(places, price)| Some(whole(supply_quote.0, places)? * price));
        }
        held.supplied_usd += collateral.usd;
        let weighted = collateral.usd * vault.threshold();
        held.parts.assets.push(collateral);
        Some(weighted)
    }

    /// Adds the deposits. `None` if one is unread.
    fn add_shares(&self, answers: &FluidAnswers<'_>, prices: &Prices, held: &mut Held) -> Option<()> {
        for HeldShares { of, .. } in self.shares.iter().filter(|held| !held.shares.is_zero()) {
            let amount = returned::<convertToAssetsCall>(*answers.get(&FluidQuestion::Worth(of.token))?)?;
            let Some((decimals, price)) = self.quote(of.asset, answers, prices) else {
                held.parts.unpriced.push(of.asset);
                continue;
            };
            let usd = f64::from(amount) / 10_f64.powi(decimals.into()) * price;
            held.supplied_usd += usd;
            held.parts.assets.push(PositionAsset {
                token: unit_token(Unit::Token(of.asset)),
                symbol: None,
                side: AssetSide::Deposit,
                amount,
                decimals,
                usd,
                liquidation_threshold: None,
                price_usd: Some(price),
                account: of.token.into_word(),
            });
        }
        Some(())
    }
}

/// The positions with these numbers, each in the vault with the number beside it.
async fn in_vaults(
    client: &Client,
    factory: Address,
    places: Vec<(u32, u32)>,
    at: B256,
) -> Result<Option<Vec<VaultPosition>>, Fault> {
    // The factory creates its vaults in the order of their numbers.
    let address = |vault: u32| factory.create(vault.into());
    let vaults: Vec<u32> = places.iter().map(|(_, vault)| *vault).collect::<BTreeSet<_>>().into_iter().collect();
    let mut calls: Vec<_> = vaults.iter().flat_map(|vault| Parameters::calls(address(*vault))).collect();
    calls.extend(places.iter().map(|(id, vault)| vault::word(address(*vault), mapped(U256::from(*id), POSITIONS))));
    let answers = client.shared_calls(calls, at).await?;
    let (of_vaults, of_positions) = answers.split_at(vaults.len().saturating_mul(2).min(answers.len()));
    let parameters = vaults.iter().zip(of_vaults.chunks(2)).map(|(id, of)| Parameters::read(factory, *id, of));
    let Some(parameters) = parameters.collect::<Option<Vec<_>>>() else { return Ok(None) };
    let kept = of_positions.iter().map(|answer| Kept::read(vault::read(Some(answer))?));
    let Some(kept) = kept.collect::<Option<Vec<_>>>() else { return Ok(None) };

    let mut calls: Vec<_> =
        vaults.iter().zip(&parameters).flat_map(|(vault, of)| of.state_calls(address(*vault))).collect();
    let debts = || places.iter().zip(&kept).filter_map(|((_, vault), kept)| Some((address(*vault), kept.debt?)));
    calls.extend(debts().map(|(vault, debt)| vault::word(vault, mapped(of_tick(debt.tick), TICKS))));
    let answers = client.shared_calls(calls, at).await?;
    let (of_vaults, of_ticks) = answers.split_at(vaults.len().saturating_mul(3).min(answers.len()));
    let states = parameters.iter().zip(of_vaults.chunks(3)).map(|(of, answers)| Vault::read(of, answers));
    let Some(states) = states.collect::<Option<Vec<_>>>() else { return Ok(None) };
    let Some(ticks) = of_ticks.iter().map(|answer| vault::read(Some(answer))).collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    let states: BTreeMap<u32, Vault> = vaults.into_iter().zip(states).collect();

    let calls = debts().zip(&ticks).filter_map(|((vault, debt), word)| debt.ask_latest(vault, *word));
    let calls: Vec<_> = calls.collect();
    let latest = if calls.is_empty() { Vec::new() } else { client.shared_calls(calls, at).await? };
    let (mut ticks, mut latest) = (ticks.into_iter(), latest.iter());
    let mut positions = Vec::new();
    for ((id, vault), kept) in places.into_iter().zip(kept) {
        let Some(vault) = states.get(&vault).copied() else { return Ok(None) };
        let (now, is_liquidated) = match kept.debt {
            None => (Some((kept.supply, U256::ZERO)), false),
            Some(debt) => match ticks.next() {
                Some(word) if debt.is_liquidated(word) => (debt.left(latest.next()), true),
                Some(_) => (Some((kept.supply, debt.without_dust(debt.amount))), false),
                None => (None, false),
            },
        };
        let Some((supply, borrow)) = now.and_then(|(supply, borrow)| vault.amounts(supply, borrow)) else {
            return Ok(None);
        };
        positions.push(VaultPosition { id, vault, supply, borrow, is_liquidated });
    }
    Ok(Some(positions))
}

impl Kept {
    /// The position in a word of a vault's storage. `None` for a number that cannot be one.
    fn read(word: U256) -> Option<Self> {
        let supply = big(word, 45)?;
        let is_supply_only = !bits(word, 0, 1).is_zero() || word.is_zero();
        if is_supply_only {
            return Some(Self { supply, debt: None });
        }
        let (tick, generation, dust) = (tick(word, 1), small(word, 21, 24), big(word, 109)?);
        let amount: U256 = ratio(tick)?.checked_mul(supply)? >> 96_usize;
        Some(Self { supply, debt: Some(KeptDebt { tick, generation, amount, dust }) })
    }
}

impl KeptDebt {
    /// Whether the position was liquidated after it was used, by the word of its tick.
    fn is_liquidated(self, tick: U256) -> bool {
        !bits(tick, 0, 1).is_zero() || small(tick, 1, 24) > self.generation
    }

    /// The call for what is left, if the position was liquidated.
    fn ask_latest(self, vault: Address, tick: U256) -> Option<Call> {
        let call = fetchLatestPositionCall {
            positionTick: I256::try_from(self.tick).ok()?,
            positionTickId: U256::from(self.generation),
            positionRawDebt: self.amount,
            tickData: tick,
        };
        self.is_liquidated(tick).then(|| Call::new(vault, &call))
    }

    /// The collateral and the debt that are left, by the answer to [`ask_latest`](Self::ask_latest).
    fn left(self, answer: Option<&Option<Bytes>>) -> Option<(U256, U256)> {
        let latest = returned::<fetchLatestPositionCall>(answer)?;
        Some((latest.collateral, self.without_dust(latest.debt)))
    }

    fn without_dust(self, debt: U256) -> U256 {
        debt.saturating_sub(self.dust)
    }
}

impl VaultPosition {
    fn is_empty(&self) -> bool {
        self.supply.is_zero() && self.borrow.is_zero()
    }

    /// Whether neither side has a token, by which the other could be priced.
    fn is_unpriceable(&self) -> bool {
        matches!((self.vault.supply, self.vault.borrow), (Unit::Pool(_), Unit::Pool(_))) && !self.is_empty()
    }
}

/// `None` for the native currency.
fn unit_token(unit: Unit) -> Option<Address> {
    let (Unit::Token(token) | Unit::Pool(token)) = unit;
    Some(token).filter(|token| *token != NATIVE)
}

/// The slot of an entry of the mapping at `slot`.
fn mapped(key: U256, slot: u64) -> B256 {
    keccak256((key, U256::from(slot)).abi_encode())
}

/// A tick as the key of a mapping.
fn of_tick(tick: i32) -> U256 {
    I256::try_from(tick).unwrap_or_default().into_raw()
}

impl Parts for FluidPositions {
    fn tokens(&self) -> BTreeSet<Address> {
        self.tokens_used().collect()
    }

    fn priced(mut self: Box<Self>, priced: &dyn Fn(Address) -> Option<Option<u8>>) -> MarketTerms {
        self.priced = self.tokens_used().filter_map(|token| Some((token, priced(token)?))).collect();
        Arc::new(*self)
    }
}

impl LendingTerms for FluidPositions {
    fn calls(&self, _: Address) -> Vec<Call> {
        self.questions().into_iter().map(|(_, call)| call).collect()
    }

    /// The health factor is that of the position nearest to liquidation: none secures another's debt.
    fn held_at(&self, answers: &[Option<Bytes>], prices: &Prices) -> Option<Held> {
        let questions = self.questions().into_iter().map(|(question, _)| question).enumerate();
        let answers: FluidAnswers<'_> = questions.map(|(place, question)| (question, answers.get(place))).collect();
        let (mut held, mut weighted) = (Held::default(), 0.0);
        self.add_shares(&answers, prices, &mut held)?;
        for position in self.positions.iter().filter(|position| !position.is_empty()) {
            weighted += self.add(position, &answers, prices, &mut held)?;
        }
        if held.parts.lacking {
            // The position whose oracle did not answer may be nearer.
            held.parts.health_factor = None;
        }
        held.parts.weigh_collateral(weighted);
        let assets = held.parts.assets.iter().filter(|asset| asset.side != AssetSide::Debt);
        let supplied: BTreeSet<_> = assets.map(|asset| asset.token).collect();
        held.supplied_assets = u32::try_from(supplied.len()).ok()?;
        Some(held)
    }

    /// Shares, and which positions the wallet has.
    fn balances(&self, _: &[Option<Bytes>]) -> Option<Vec<Balance>> {
        let positions = self.owned.iter().map(|(id, is_owned)| (events::position(*id), U256::from(*is_owned)));
        let shares = self.shares.iter().map(|held| (events::shares(held.of.token), held.shares));
        Some(positions.chain(shares).map(|((side, asset), amount)| Balance::still(side, asset, amount)).collect())
    }

    fn lacks(&self) -> Option<&'static str> {
        if self.positions.iter().any(VaultPosition::is_unpriceable) {
            return Some(UNREAD_POOLS);
        }
        if self.positions.iter().any(|position| position.is_liquidated) {
            return Some(if self.is_counted { COUNTED_LIQUIDATED } else { LIQUIDATED });
        }
        let words = if self.is_counted { COUNTED_VAULTS } else { UNREAD_VAULTS };
        (!self.owned.is_empty()).then_some(words)
    }
}

#[cfg(test)]
mod tests;
