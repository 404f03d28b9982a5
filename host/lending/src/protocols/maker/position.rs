//! The collateral and the debt of a wallet's vaults. Debt includes the stability fee until now. Collateral has the
//! price of the protocol's own oracle, by which it also liquidates.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use alloy::{primitives::Bytes, sol};

use super::{
    alias,
    contracts::Contracts,
    math::{RAY, WAD, accrued},
    owners::WalletNames,
    parts,
};
use crate::{
    asset::Asset,
    figures::{balance::Balance, hints::Alias, record::Side},
    protocols::{Held, LendingTerms, MarketTerms, Parts, Used},
};
use assay_domain::{Address, AssetSide, B256, PositionAsset, Prices, U256};
use assay_evm::{Block, Call, Client, Fault, returned};

sol! {
    interface Vat {
        #[derive(Debug)]
        function urns(bytes32 ilk, address urn) external view returns (uint256 ink, uint256 art);
        #[derive(Debug)]
        function ilks(bytes32 ilk)
            external view returns (uint256 art, uint256 rate, uint256 spot, uint256 line, uint256 dust);
        /// Zero after a shutdown.
        function live() external view returns (uint256 live);
    }
    interface Spotter {
        function ilks(bytes32 ilk) external view returns (address pip, uint256 mat);
        function par() external view returns (uint256 par);
    }
    interface Jug {
        #[derive(Debug)]
        function ilks(bytes32 ilk) external view returns (uint256 duty, uint256 rho);
        function base() external view returns (uint256 base);
    }
    function gem(bytes32 ilk) external view returns (address token);
}

/// Units of collateral and debt in the Vat have 18 decimals.
const PLACES: u8 = 18;
const DECIMALS: f64 = 1e18;
const LOST: &str = "a proxy belongs to another wallet now or lets others use it, or another contract of the wallet \
                    has vaults; what the wallet did with it is not known";

/// The state to read for a wallet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UrnRequest {
    wallet: Address,
    /// Part of the position, kind of collateral and urn.
    urns: Vec<(B256, B256, Address)>,
    /// The same of urns that are not in the position: of proxies, without a log, and of vaults that were given away.
    others: Vec<(B256, B256, Address)>,
    /// Every known vault, as an account has it, and every proxy in the history; and whether the wallet has it.
    owned: BTreeMap<B256, bool>,
    /// Contracts whose owner the wallet became, and which may be proxies.
    unknown: Vec<B256>,
    is_lost: bool,
}

/// A kind of collateral.
#[derive(Debug, Clone, Copy)]
struct Ilk {
    /// The value of one unit of debt, with the fee until now.
    rate: U256,
    /// The debt that a unit of collateral allows, in ray.
    spot: U256,
    /// The collateral that a debt needs, as a multiple of it, in ray.
    ratio: U256,
    token: Address,
}

#[derive(Debug, Clone)]
struct VaultHolding {
    id: B256,
    kind: Ilk,
    collateral: U256,
    debt: U256,
}

/// The vaults of a wallet.
#[derive(Debug, Clone)]
pub(super) struct Holdings {
    holdings: Vec<VaultHolding>,
    /// What other urns have, to compare it with the history.
    others: Vec<(B256, Urn)>,
    owned: BTreeMap<B256, bool>,
    /// Accounts that the logs made known: only the next read has what they did.
    unread: Vec<B256>,
    is_lost: bool,
    /// The dollars at which the protocol aims for one DAI, in ray.
    par: U256,
    dai: Address,
}

/// What an urn has in state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Urn {
    collateral: U256,
    debt: U256,
}

/// The urns in the answers to [`Contracts::urn`].
pub(super) fn urns_of(answers: &[Option<Bytes>]) -> impl Iterator<Item = Option<Urn>> {
    answers.iter().map(|answer| {
        let Vat::urnsReturn { ink, art } = returned::<Vat::urnsCall>(Some(answer))?;
        Some(Urn { collateral: ink, debt: art })
    })
}

impl Urn {
    /// The sides of a part of a position that are not empty.
    pub(super) fn sides(self, id: B256) -> impl Iterator<Item = (Side, Asset)> {
        let collateral = (!self.collateral.is_zero()).then_some((Side::Collateral, Asset::Market(id)));
        let debt = (!self.debt.is_zero()).then_some((Side::Debt, Asset::Shares(id)));
        collateral.into_iter().chain(debt)
    }
}

impl Contracts {
    /// The call for an urn.
    pub(super) fn urn(&self, ilk: B256, urn: Address) -> Call {
        Call::new(self.vat, &Vat::urnsCall { ilk, urn })
    }
}

impl Holdings {
    /// The state to read. The proxies of the wallet may have an urn in each of `ilks`, even without a log.
    pub(super) fn asked(wallet: Address, used: Used<'_>, ilks: &[B256]) -> UrnRequest {
        let (names, ids) = (WalletNames::of(used.hints, wallet.into_word()), used.sums.markets());
        let urn = |id: &B256| {
            let (ilk, account) = parts::urn(*id, &names.accounts, names.wallet)?;
            Some((*id, ilk, Address::from_word(account)))
        };
        let own = ids.iter().filter_map(urn);
        let proxies = names.accounts.iter().filter(|account| **account != names.wallet);
        let of_proxies = proxies.flat_map(|proxy| ilks.iter().map(|ilk| parts::urn_of(*ilk, *proxy, names.wallet)));
        let of_proxies = of_proxies.filter(|id| !ids.contains(id)).filter_map(|id| urn(&id));
        // All logs of a vault that was given away are in the history.
        let given = names.vaults.iter().filter(|vault| vault.holder.is_none());
        let given = given.map(|vault| (vault.id, vault.ilk, Address::from_word(vault.urn)));
        let others = of_proxies.chain(given).collect();
        let held = names.vaults.iter().filter(|vault| vault.holder.is_some());
        let urns = own.chain(held.map(|vault| (vault.id, vault.ilk, Address::from_word(vault.urn)))).collect();
        let is_owner = |id: &B256| names.accounts.contains(id);
        let shares = ids.iter().filter(|id| parts::vault(**id).or(parts::account(**id)).is_some());
        let mut owned: BTreeMap<B256, bool> = shares.map(|id| (*id, is_owner(id))).collect();
        owned.extend(names.vaults.iter().map(|vault| match vault.holder {
            Some(holder) => (parts::held_by(vault.id, holder, names.wallet), true),
            None => (vault.id, false),
        }));
        let lost: BTreeSet<B256> =
            used.hints.iter().filter_map(alias).filter(|(_, of)| *of == Alias::Lost).map(|(word, _)| word).collect();
        let is_known = |id: &B256| is_owner(id) || lost.contains(id);
        let unknown = ids.iter().filter_map(|id| parts::account(*id)).filter(|id| !is_known(id)).collect();
        UrnRequest { wallet, urns, others, owned, unknown, is_lost: !lost.is_empty() }
    }

    /// `None` if a contract does not answer for one of them.
    pub(super) async fn look_up(
        client: &Client,
        contracts: Contracts,
        asked: UrnRequest,
        at: Block,
    ) -> Result<Option<Self>, Fault> {
        let UrnRequest { wallet, urns, others, owned, unknown, is_lost } = asked;
        let mut found = Self {
            holdings: Vec::new(),
            others: Vec::new(),
            owned,
            unread: Vec::new(),
            is_lost,
            par: RAY,
            dai: contracts.dai,
        };
        if !unknown.is_empty() {
            let accounts: Vec<_> = unknown.iter().map(|id| Address::from_word(*id)).collect();
            let Some(proxies) = contracts.proxies(client, (&accounts, None), wallet, at).await? else {
                return Ok(None);
            };
            for (id, proxy) in unknown.iter().zip(proxies) {
                found.owned.remove(id);
                // A contract without vaults that is no proxy has no part in the history.
                if proxy.is_proxy || (proxy.is_owned && !proxy.vaults.is_empty()) {
                    found.unread.push(*id);
                }
            }
        }
        if urns.is_empty() && others.is_empty() {
            return Ok(Some(found));
        }
        let ilks: BTreeSet<B256> = urns.iter().map(|(_, ilk, _)| *ilk).collect();
        let mut calls = vec![
            Call::new(contracts.jug, &Jug::baseCall {}),
            Call::new(contracts.spotter, &Spotter::parCall {}),
            Call::new(contracts.vat, &Vat::liveCall {}),
        ];
        calls.extend(ilks.iter().flat_map(|ilk| Ilk::calls(&contracts, *ilk)));
        calls.extend(urns.iter().chain(&others).map(|(_, ilk, urn)| contracts.urn(*ilk, *urn)));
        let answers = client.shared_calls(calls, at.hash).await?;
        let (Some(base), Some(par), Some(live)) = (
            returned::<Jug::baseCall>(answers.first()),
            returned::<Spotter::parCall>(answers.get(1)),
            returned::<Vat::liveCall>(answers.get(2)),
        ) else {
            return Ok(None);
        };
        found.par = par;
        // After a shutdown debts no longer grow.
        let base = (!live.is_zero()).then_some(base);
        let (_, rest) = answers.split_at(3);
        let (of_kinds, of_urns) = rest.split_at(ilks.len().saturating_mul(4).min(rest.len()));
        let kinds = ilks.iter().zip(of_kinds.chunks(4)).map(|(ilk, of)| Some((*ilk, Ilk::read(of, base, at.time)?)));
        let Some(kinds) = kinds.collect::<Option<BTreeMap<_, _>>>() else { return Ok(None) };
        let mut of_urns = urns_of(of_urns);
        for ((id, ilk, _), urn) in urns.iter().zip(of_urns.by_ref()) {
            let Some((Urn { collateral, debt }, kind)) = urn.zip(kinds.get(ilk)) else { return Ok(None) };
            found.holdings.push(VaultHolding { id: *id, kind: *kind, collateral, debt });
        }
        for ((id, ..), urn) in others.iter().zip(of_urns) {
            let Some(urn) = urn else { return Ok(None) };
            found.others.push((*id, urn));
        }
        Ok(Some(found))
    }
}

impl Ilk {
    fn calls(contracts: &Contracts, ilk: B256) -> [Call; 4] {
        [
            Call::new(contracts.vat, &Vat::ilksCall { ilk }),
            Call::new(contracts.jug, &Jug::ilksCall { ilk }),
            Call::new(contracts.spotter, &Spotter::ilksCall { ilk }),
            Call::new(contracts.kinds, &gemCall { ilk }),
        ]
    }

    /// The kind in the answers to [`calls`](Self::calls), at the time `now`, in seconds since 1970. Without `base`, the
    /// fee of all kinds, debts do not grow.
    fn read(answers: &[Option<Bytes>], base: Option<U256>, now: u64) -> Option<Self> {
        let of_vat = returned::<Vat::ilksCall>(answers.first())?;
        let fee = returned::<Jug::ilksCall>(answers.get(1))?;
        let ratio = returned::<Spotter::ilksCall>(answers.get(2))?.mat;
        let token = returned::<gemCall>(answers.get(3))?;
        let since = u64::try_from(fee.rho).ok()?;
        // A kind without a fee was never set up in the Jug.
        let fee = base.map_or(Some(U256::ZERO), |base| fee.duty.checked_add(base))?;
        let rate = match fee.is_zero() {
            true => of_vat.rate,
            false => accrued(of_vat.rate, fee, now.saturating_sub(since))?,
        };
        Some(Self { rate, spot: of_vat.spot, ratio, token })
    }
}

impl VaultHolding {
    fn urn(&self) -> Urn {
        Urn { collateral: self.collateral, debt: self.debt }
    }

    /// In ray of a unit of DAI, the unit in which the contract compares it.
    fn owed(&self) -> Option<U256> {
        self.debt.checked_mul(self.kind.rate)
    }

    fn allowed(&self) -> Option<U256> {
        self.collateral.checked_mul(self.kind.spot)
    }

    /// The oracle's price of a unit of collateral, in dollars.
    fn price(&self, par: U256) -> Option<f64> {
        let price =
            self.kind.spot.checked_mul(self.kind.ratio)?.checked_div(RAY)?.checked_mul(par)?.checked_div(RAY)?;
        (!price.is_zero()).then(|| f64::from(price) / f64::from(RAY))
    }

    /// Adds the holding to `held`, and its collateral in dollars times its threshold to `weighted`.
    fn add(&self, par: U256, dai: (Address, Option<f64>), (held, weighted): (&mut Held, &mut f64)) -> Option<()> {
        let (owed, token) = (self.owed()?, self.kind.token);
        if !owed.is_zero() {
            let debt = f64::from(owed) / f64::from(RAY) / DECIMALS * dai.1?;
            held.borrowed_usd += debt;
            // The protocol counts a DAI at the price that it aims for.
            let par = f64::from(par) / f64::from(RAY);
            let amount = owed.checked_div(RAY)?;
            held.parts.assets.push(self.asset(dai.0, AssetSide::Debt, amount, (debt, Some(par))));
            held.parts.nearest(f64::from(self.allowed()?) / f64::from(owed));
        }
        if self.collateral.is_zero() {
            return Some(());
        }
        match self.price(par) {
            Some(price) => {
                let usd = f64::from(self.collateral) / DECIMALS * price;
                let ratio = f64::from(self.kind.ratio);
                held.supplied_usd += usd;
                *weighted += usd * f64::from(RAY) / ratio;
                let asset = self.asset(token, AssetSide::Collateral, self.collateral, (usd, Some(price)));
                let liquidation_threshold = Some(f64::from(RAY) / ratio);
                held.parts.assets.push(PositionAsset { liquidation_threshold, ..asset });
            }
            // A debt without its collateral would be misleading.
            None if !owed.is_zero() => return None,
            None => held.parts.unpriced.push(token),
        }
        Some(())
    }

    fn asset(
        &self,
        token: Address,
        side: AssetSide,
        amount: U256,
        (usd, price_usd): (f64, Option<f64>),
    ) -> PositionAsset {
        PositionAsset {
            token: Some(token),
            symbol: None,
            side,
            amount,
            decimals: PLACES,
            usd,
            liquidation_threshold: None,
            price_usd,
            account: self.id,
        }
    }
}

impl Parts for Holdings {
    fn tokens(&self) -> BTreeSet<Address> {
        let owes = self.holdings.iter().any(|holding| !holding.debt.is_zero());
        owes.then_some(self.dai).into_iter().collect()
    }

    fn priced(self: Box<Self>, _: &dyn Fn(Address) -> Option<Option<u8>>) -> MarketTerms {
        Arc::new(*self)
    }
}

impl LendingTerms for Holdings {
    /// The health factor is that of the vault nearest to liquidation: no vault secures another's debt.
    fn held_at(&self, _: &[Option<Bytes>], prices: &Prices) -> Option<Held> {
        let (mut held, mut weighted) = (Held::default(), 0.0);
        let dai = (self.dai, prices.get(&Some(self.dai)).map(|price| price.usd));
        for holding in &self.holdings {
            holding.add(self.par, dai, (&mut held, &mut weighted))?;
        }
        held.parts.weigh_collateral(weighted);
        let supplied = self.holdings.iter().filter(|holding| !holding.collateral.is_zero());
        let supplied: BTreeSet<Address> = supplied.map(|holding| holding.kind.token).collect();
        held.supplied_assets = u32::try_from(supplied.len()).ok()?;
        Some(held)
    }

    fn balances(&self, _: &[Option<Bytes>]) -> Option<Vec<Balance>> {
        let of_urn = |id: B256, Urn { collateral, debt }: Urn| {
            [
                Balance::still(Side::Collateral, Asset::Market(id), collateral),
                Balance::still(Side::Debt, Asset::Shares(id), debt),
            ]
        };
        let amounts =
            self.holdings.iter().map(|holding| (holding.id, holding.urn())).chain(self.others.iter().copied());
        let amounts = amounts.flat_map(|(id, urn)| of_urn(id, urn));
        let owned = |(id, owned): (&B256, &bool)| Balance::still(Side::Supply, Asset::Shares(*id), U256::from(*owned));
        // No history has so many shares.
        let unread = self.unread.iter().map(|id| Balance::still(Side::Supply, Asset::Shares(*id), U256::MAX));
        Some(amounts.chain(self.owned.iter().map(owned)).chain(unread).collect())
    }

    fn token(&self, side: Side, asset: Asset) -> Option<(Address, f64)> {
        let Asset::Market(id) = asset else { return None };
        let holding = self.holdings.iter().find(|holding| side == Side::Collateral && holding.id == id)?;
        Some((holding.kind.token, f64::from(WAD)))
    }

    fn lacks(&self) -> Option<&'static str> {
        self.is_lost.then_some(LOST)
    }
}
