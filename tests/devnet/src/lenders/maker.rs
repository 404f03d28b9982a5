//! Maker: the real contracts, as the snapshot of its test chain on npm has them, and stubs of the Dog and the ChainLog,
//! which are newer. The events of a wallet are counted from the receipts of every block: each call in a log is decoded
//! as a whole, the owner of a vault is the one in the manager's state at the end of that block, and liquidations are
//! those that the Cat and the Dog say. This module never queries logs by filter, and shares no code with the host.

use std::collections::BTreeMap;
use std::process::Command;

use alloy::primitives::{Address, B256, Bytes, I256, U256, address};
use alloy::sol;
use alloy::sol_types::{SolCall, SolEvent, SolValue};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Log, Small, stubs};
use crate::devnet::receipts::LendingEvents;
use crate::devnet::{Error, actors};
use crate::node;

sol! {
    interface Vat {
        function rely(address usr) external;
        function hope(address usr) external;
        function file(bytes32 what, uint256 data) external;
        function fork(bytes32 ilk, address src, address dst, int256 dink, int256 dart) external;
        function frob(bytes32 i, address u, address v, address w, int256 dink, int256 dart) external;
        function grab(bytes32 i, address u, address v, address w, int256 dink, int256 dart) external;
        function fold(bytes32 ilk, address u, int256 rate) external;
        function slip(bytes32 ilk, address usr, int256 wad) external;
        function urns(bytes32 ilk, address urn) external view returns (uint256 ink, uint256 art);
        function ilks(bytes32 ilk) external view returns (uint256 all, uint256 rate, uint256 spot, uint256 line,
            uint256 dust);
    }
    interface VatKind {
        function file(bytes32 ilk, bytes32 what, uint256 data) external;
    }
    interface Manager {
        event NewCdp(address indexed usr, address indexed own, uint256 indexed cdp);
        function open(bytes32 ilk, address usr) external returns (uint256 cdp);
        function give(uint256 cdp, address dst) external;
        function frob(uint256 cdp, int256 dink, int256 dart) external;
        function urnAllow(address usr, uint256 ok) external;
        function cdpi() external view returns (uint256 count);
        function urns(uint256 cdp) external view returns (address urn);
        function owns(uint256 cdp) external view returns (address owner);
        function ilks(uint256 cdp) external view returns (bytes32 ilk);
    }
    /// What a proxy runs in its own name.
    interface Actions {
        function open(address manager, bytes32 ilk, address usr) external returns (uint256 cdp);
        function give(address manager, uint256 cdp, address usr) external;
        function frob(address manager, uint256 cdp, int256 dink, int256 dart) external;
        function quit(address manager, uint256 cdp, address dst) external;
        function shift(address manager, uint256 cdpSrc, uint256 cdpOrg) external;
        function hope(address obj, address usr) external;
    }
    interface Account {
        event LogSetOwner(address indexed owner);
        function owner() external view returns (address owner);
        function setOwner(address owner) external;
        function setAuthority(address authority) external;
        function execute(address target, bytes data) external;
    }
    interface Factory {
        event Created(address indexed sender, address indexed owner, address proxy, address cache);
    }
    interface Registry {
        function proxies(address owner) external view returns (address proxy);
        function build(address owner) external;
    }
    interface Jug {
        function file(bytes32 ilk, bytes32 what, uint256 data) external;
        function drip(bytes32 ilk) external returns (uint256 rate);
    }
    interface Spotter {
        function file(bytes32 ilk, bytes32 what, uint256 data) external;
        function poke(bytes32 ilk) external;
    }
    interface Pip {
        function poke(bytes32 price) external;
    }
    interface Cat {
        event Bite(bytes32 indexed ilk, address indexed urn, uint256 ink, uint256 art, uint256 tab, address flip,
            uint256 id);
        function bite(bytes32 ilk, address urn) external returns (uint256 id);
    }
    interface Dog {
        event Bark(bytes32 indexed ilk, address indexed urn, uint256 ink, uint256 art, uint256 due, address clip,
            uint256 indexed id);
        function bark(bytes32 ilk, address urn, uint256 percent) external;
    }
    interface End {
        function cage() external;
        function skim(bytes32 ilk, address urn) external;
        function free(bytes32 ilk) external;
    }
    interface EndKind {
        function cage(bytes32 ilk) external;
    }
    interface Kinds {
        function gem(bytes32 ilk) external view returns (address token);
    }
    interface ChainLog {
        function setAddress(bytes32 key, address to) external;
    }
}

/// The contracts that are set into the chain.
const REAL: [&str; 20] = [
    "MCD_VAT",
    "CDP_MANAGER",
    "GET_CDPS",
    "PROXY_REGISTRY",
    "PROXY_FACTORY",
    "PROXY_ACTIONS",
    "MCD_JUG",
    "MCD_SPOT",
    "MCD_CAT",
    "MCD_END",
    "MCD_VOW",
    "MCD_POT",
    "MCD_FLAP",
    "MCD_FLOP",
    "ILK_REGISTRY",
    "MCD_DAI",
    "MCD_FLIP_ETH_A",
    "MCD_FLIP_WBTC_A",
    "PIP_ETH",
    "PIP_WBTC",
];

/// A contract in the snapshot.
#[derive(Debug, Deserialize)]
struct Contract {
    address: Address,
    code: Bytes,
    storage: BTreeMap<B256, B256>,
}

/// A kind of collateral.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kind {
    pub ilk: B256,
    pub token: Address,
    /// The contract that has its price.
    pip: Address,
    /// The collateral that a debt needs, in hundredths of it.
    pub ratio: u64,
}

/// All deployed contracts.
#[derive(Debug, Clone)]
pub struct Maker {
    pub chainlog: Address,
    pub vat: Address,
    pub manager: Address,
    pub registry: Address,
    pub actions: Address,
    pub jug: Address,
    spotter: Address,
    pub cat: Address,
    pub dog: Address,
    pub end: Address,
    pub dai: Address,
    /// May change every contract.
    pub governance: Address,
    pub ether: Kind,
    pub bitcoin: Kind,
}

/// A vault, or an urn without a vault, in state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Held {
    pub collateral: U256,
    /// DAI with the stability fee, in dollars.
    pub debt: f64,
    /// Collateral in dollars.
    pub dollars: f64,
    pub health: Option<f64>,
}

const DEPLOYER: &str = actors::DEPLOYER;
/// The owner of the contracts that have the prices.
const PRICES: Address = address!("0x16Fb96a5fa0427Af0C8F7cF1eB4870231c8154B6");
const WAD: u64 = 1_000_000_000_000_000_000;

/// 5 % a year by the second, in ray.
const FEE: &str = "1000000001547125957863212448";

/// A word with a name.
pub fn word(name: &str) -> B256 {
    B256::right_padding_from(name.as_bytes())
}

/// The contracts in the snapshot, by name. Blocks.
fn snapshot() -> Result<BTreeMap<String, Contract>, Error> {
    let folder = node::root().join("maker");
    let modules = node::installed(folder.clone())?;
    let said = Command::new("node").arg(folder.join("state.mjs")).arg(modules).output();
    let said = said.map_err(|e| Error::Task(format!("node: {e}")))?;
    let bad = |e| Error::Task(format!("the snapshot of Maker: {e}: {}", String::from_utf8_lossy(&said.stderr)));
    serde_json::from_slice(&said.stdout).map_err(bad)
}

/// Sets the contracts into the chain, with two kinds of collateral.
///
/// # Errors
/// When a package is missing, compiling or a transaction fails.
pub async fn deploy(chain: &mut Small, ether_usd: f64) -> Result<Maker, Error> {
    let found = tokio::task::spawn_blocking(snapshot).await.map_err(|e| Error::Task(e.to_string()))??;
    let of = |name: &str| found.get(name).ok_or_else(|| Error::Unknown(format!("the contract {name}")));
    for name in REAL {
        let Contract { address, code, storage } = of(name)?;
        let _: Value = chain.rpc.request("anvil_setCode", json!([address, code])).await?;
        for (slot, word) in storage {
            let _: Value = chain.rpc.request("anvil_setStorageAt", json!([address, slot, word])).await?;
        }
    }
    let at = |name: &str| of(name).map(|contract| contract.address);
    let (owner, vat, governance) = (actors::address(DEPLOYER), at("MCD_VAT")?, at("MCD_PAUSE_PROXY")?);
    let mut code = stubs("Maker.sol").await?;
    let mut creation = |name: &str| code.remove(name).ok_or_else(|| Error::Unknown(format!("the contract {name}")));
    let dog = chain.create([creation("DogStub")?.as_ref(), &vat.abi_encode()].concat(), "the Dog");
    let chainlog = chain.create(creation("ChainLogStub")?, "the ChainLog");
    for name in [
        "MCD_VAT",
        "CDP_MANAGER",
        "PROXY_REGISTRY",
        "PROXY_FACTORY",
        "GET_CDPS",
        "MCD_SPOT",
        "MCD_JUG",
        "MCD_END",
        "ILK_REGISTRY",
        "MCD_DAI",
    ] {
        chain.queue(owner, chainlog, &ChainLog::setAddressCall { key: word(name), to: at(name)? });
    }
    chain.queue(governance, vat, &Vat::relyCall { usr: dog });
    chain.queue(governance, vat, &Vat::fileCall { what: word("Line"), data: U256::from(u128::MAX) << 64 });
    let (jug, registry) = (at("MCD_JUG")?, at("ILK_REGISTRY")?);
    let mut kinds = Vec::new();
    for (name, pip, fee, ratio) in
        [("ETH-A", "PIP_ETH", FEE, 150), ("WBTC-A", "PIP_WBTC", "1000000000000000000000000000", 175)]
    {
        let ilk = word(name);
        let fee: U256 = fee.parse().map_err(|_| Error::Unknown(fee.to_owned()))?;
        // At least 100 DAI.
        let dust = U256::from(100) * U256::from(WAD) * U256::from(10).pow(U256::from(27));
        for (what, data) in [("dust", dust), ("line", U256::from(u128::MAX) << 64)] {
            chain.queue(governance, vat, &VatKind::fileCall { ilk, what: word(what), data });
        }
        chain.queue(owner, jug, &Jug::dripCall { ilk });
        chain.queue(governance, jug, &Jug::fileCall { ilk, what: word("duty"), data: fee });
        let token = chain.view(registry, &Kinds::gemCall { ilk }, chain.head).await?;
        kinds.push(Kind { ilk, token, pip: at(pip)?, ratio });
    }
    let maker = Maker {
        chainlog,
        vat,
        manager: at("CDP_MANAGER")?,
        registry: at("PROXY_REGISTRY")?,
        actions: at("PROXY_ACTIONS")?,
        jug,
        spotter: at("MCD_SPOT")?,
        cat: at("MCD_CAT")?,
        dog,
        end: at("MCD_END")?,
        dai: at("MCD_DAI")?,
        governance,
        ether: kinds[0],
        bitcoin: kinds[1],
    };
    chain.mine().await?;
    // The fees since the snapshot are taken back, while nobody owes.
    for ilk in [maker.ether.ilk, maker.bitcoin.ilk] {
        let rate = chain.view(vat, &Vat::ilksCall { ilk }, chain.head).await?.rate;
        let rate = I256::from_raw(U256::from(10).pow(U256::from(27))) - I256::from_raw(rate);
        chain.queue(governance, vat, &Vat::foldCall { ilk, u: governance, rate });
    }
    maker.queue_price(chain, maker.ether, ether_usd);
    maker.queue_price(chain, maker.bitcoin, 30_000.0);
    chain.mine().await?;
    Ok(maker)
}

impl Maker {
    pub fn queue_price(&self, chain: &mut Small, kind: Kind, dollars: f64) {
        let price = U256::from((dollars * 100.0).round() as u64) * U256::from(WAD / 100);
        let mat = U256::from(kind.ratio) * U256::from(10).pow(U256::from(25));
        let ilk = kind.ilk;
        // The owner of the price is the account that deployed the test chain.
        chain.queue(PRICES, kind.pip, &Pip::pokeCall { price: price.into() });
        chain.queue(self.governance, self.spotter, &Spotter::fileCall { ilk, what: word("mat"), data: mat });
        chain.queue(PRICES, self.spotter, &Spotter::pokeCall { ilk });
    }

    /// Gives an account collateral in the Vat, as a deposit of the token would.
    pub fn queue_collateral(&self, chain: &mut Small, kind: Kind, usr: Address, wad: I256) {
        chain.queue(self.governance, self.vat, &Vat::slipCall { ilk: kind.ilk, usr, wad });
    }

    /// The proxy of `owner`, which is built if there is none.
    ///
    /// # Errors
    /// When a transaction fails.
    pub async fn proxy(&self, chain: &mut Small, owner: Address) -> Result<Address, Error> {
        let ask = Registry::proxiesCall { owner };
        let known = chain.view(self.registry, &ask, chain.head).await?;
        if !known.is_zero() {
            return Ok(known);
        }
        chain.call(owner, self.registry, &Registry::buildCall { owner }).await?;
        chain.view(self.registry, &ask, chain.head).await
    }

    /// Runs [`Actions`] in the name of the proxy of `owner`, all in one block.
    ///
    /// # Errors
    /// When a transaction fails.
    pub async fn by_proxy(&self, chain: &mut Small, owner: Address, calls: Vec<Bytes>) -> Result<(), Error> {
        let proxy = self.proxy(chain, owner).await?;
        self.by(chain, owner, proxy, calls).await
    }

    /// The same in the name of `proxy`, which `owner` has.
    ///
    /// # Errors
    /// When a transaction fails.
    pub async fn by(&self, chain: &mut Small, owner: Address, proxy: Address, calls: Vec<Bytes>) -> Result<(), Error> {
        for data in calls {
            chain.queue(owner, proxy, &Account::executeCall { target: self.actions, data });
        }
        chain.mine().await
    }

    /// The number of the newest vault.
    ///
    /// # Errors
    /// When the node does not answer.
    pub async fn newest(&self, chain: &Small) -> Result<U256, Error> {
        chain.view(self.manager, &Manager::cdpiCall {}, chain.head).await
    }

    /// The wallet that has the vault `cdp` at the end of a block: the owner, or the owner of the proxy.
    async fn owner(&self, chain: &Small, cdp: U256, block: u64) -> Result<Address, Error> {
        let owner = chain.view(self.manager, &Manager::ownsCall { cdp }, block).await?;
        Ok(self.account(chain, owner, block).await)
    }

    /// The owner of a proxy at the end of a block, or the account itself.
    async fn account(&self, chain: &Small, account: Address, block: u64) -> Address {
        chain.view(account, &Account::ownerCall {}, block).await.unwrap_or(account)
    }

    /// An urn at the end of a block.
    ///
    /// # Errors
    /// When the node does not answer.
    pub async fn held(&self, chain: &Small, kind: Kind, urn: Address, block: u64) -> Result<Held, Error> {
        let ilk = kind.ilk;
        let Vat::urnsReturn { ink, art } = chain.view(self.vat, &Vat::urnsCall { ilk, urn }, block).await?;
        let Vat::ilksReturn { spot, rate, .. } = chain.view(self.vat, &Vat::ilksCall { ilk }, block).await?;
        // After a shutdown debts no longer grow.
        let rate = chain.view(self.jug, &Jug::dripCall { ilk }, block).await.unwrap_or(rate);
        let (wad, ray) = (WAD as f64, 1e27);
        let price = f64::from(spot) / ray * kind.ratio as f64 / 100.0;
        let health = (!art.is_zero()).then(|| f64::from(ink * spot) / f64::from(art * rate));
        let debt = f64::from(art * rate) / ray / wad;
        Ok(Held { collateral: ink, debt, dollars: f64::from(ink) / wad * price, health })
    }

    /// Every proxy that was built in `blocks`, whoever has it now.
    #[must_use]
    pub fn proxies(&self, blocks: &[(u64, Vec<Log>)]) -> Vec<Address> {
        let built = |log: &Log| Factory::Created::decode_raw_log(log.topics.iter().copied(), &log.data).ok();
        blocks.iter().flat_map(|(_, logs)| logs).filter_map(built).map(|created| created.proxy).collect()
    }

    /// Every vault that `wallet` has at the end of a block, and the urns without a vault, of it and of those of
    /// `proxies` that it has.
    ///
    /// # Errors
    /// When the node does not answer.
    pub async fn all(
        &self,
        chain: &Small,
        proxies: &[Address],
        wallet: Address,
        block: u64,
    ) -> Result<Vec<Held>, Error> {
        let mut found = Vec::new();
        for kind in [self.ether, self.bitcoin] {
            found.push(self.held(chain, kind, wallet, block).await?);
        }
        for proxy in proxies {
            if self.account(chain, *proxy, block).await == wallet {
                for kind in [self.ether, self.bitcoin] {
                    found.push(self.held(chain, kind, *proxy, block).await?);
                }
            }
        }
        let count: u64 = chain.view(self.manager, &Manager::cdpiCall {}, block).await?.to();
        for cdp in (1..=count).map(U256::from) {
            if self.owner(chain, cdp, block).await? == wallet {
                let urn = chain.view(self.manager, &Manager::urnsCall { cdp }, block).await?;
                let ilk = chain.view(self.manager, &Manager::ilksCall { cdp }, block).await?;
                let kind = if ilk == self.ether.ilk { self.ether } else { self.bitcoin };
                found.push(self.held(chain, kind, urn, block).await?);
            }
        }
        Ok(found)
    }

    /// The events of `wallet` in `blocks`, given as the time and the logs of each.
    ///
    /// # Errors
    /// When the node does not answer.
    pub async fn lived(
        &self,
        chain: &Small,
        blocks: &[(u64, Vec<Log>)],
        wallet: Address,
    ) -> Result<LendingEvents, Error> {
        let mut lived = LendingEvents::default();
        let count: u64 = chain.view(self.manager, &Manager::cdpiCall {}, chain.head).await?.to();
        let mut vaults = Vec::new();
        for cdp in (1..=count).map(U256::from) {
            vaults.push((cdp, chain.view(self.manager, &Manager::urnsCall { cdp }, chain.head).await?));
        }
        for (block, (time, logs)) in blocks.iter().enumerate() {
            for log in logs {
                let Some((urn, changes)) = self.changes(log) else { continue };
                let vault = vaults.iter().find(|(_, of)| *of == urn);
                let owner = match vault {
                    Some((cdp, _)) => self.owner(chain, *cdp, block as u64).await?,
                    None => self.account(chain, urn, block as u64).await,
                };
                for (count, is) in [&mut lived.supply, &mut lived.withdraw, &mut lived.borrow, &mut lived.repay]
                    .into_iter()
                    .chain([&mut lived.liquidation])
                    .zip(changes)
                {
                    *count += u64::from(is && owner == wallet);
                }
                if owner == wallet && changes.contains(&true) {
                    lived.first.get_or_insert(*time);
                    lived.last = Some(*time);
                    lived.last_liquidation = if changes[4] { Some(*time) } else { lived.last_liquidation };
                }
            }
        }
        Ok(lived)
    }

    /// The urn of a log, and which events it is of: supply, withdrawal, borrowing, repayment, liquidation.
    fn changes(&self, log: &Log) -> Option<(Address, [bool; 5])> {
        let seized = |urn| Some((urn, [false, false, false, false, true]));
        if log.address == self.dog && log.topics.first() == Some(&Dog::Bark::SIGNATURE_HASH) {
            return seized(Dog::Bark::decode_raw_log(log.topics.iter().copied(), &log.data).ok()?.urn);
        }
        if log.address == self.cat && log.topics.first() == Some(&Cat::Bite::SIGNATURE_HASH) {
            return seized(Cat::Bite::decode_raw_log(log.topics.iter().copied(), &log.data).ok()?.urn);
        }
        let call = log.data.get(64..64 + 4 + 6 * 32).filter(|_| log.address == self.vat)?;
        if let Ok(Vat::grabCall { u, v, dink, .. }) = Vat::grabCall::abi_decode(call) {
            // Only the owner takes collateral out after a shutdown.
            return (u == v).then_some((u, [false, dink.is_negative(), false, false, false]));
        }
        let Vat::frobCall { u, dink, dart, .. } = Vat::frobCall::abi_decode(call).ok()?;
        Some((u, [dink.is_positive(), dink.is_negative(), dart.is_positive(), dart.is_negative(), false]))
    }
}
