//! A stub of Maker. The events of a wallet are counted from the receipts of every block: each call in a log is decoded
//! as a whole, the owner of a vault is the one in the manager's state at the end of that block, and liquidations are
//! those that the Dog says. This module never queries logs by filter, and shares no code with the host.

use alloy::primitives::{Address, B256, Bytes, U256};
use alloy::sol;
use alloy::sol_types::{SolCall, SolEvent, SolValue};

use super::{Log, Small, stubs};
use crate::devnet::receipts::LendingEvents;
use crate::devnet::{Error, actors};

sol! {
    interface Vat {
        function init(bytes32 ilk, uint256 dust) external;
        function frob(bytes32 i, address u, address v, address w, int256 dink, int256 dart) external;
        function grab(bytes32 i, address u, address v, address w, int256 dink, int256 dart) external;
        function fork(bytes32 ilk, address src, address dst, int256 dink, int256 dart) external;
        function urns(bytes32 ilk, address urn) external view returns (uint256 ink, uint256 art);
        function ilks(bytes32 ilk) external view returns (uint256 all, uint256 rate, uint256 spot, uint256 line,
            uint256 dust);
    }
    interface Manager {
        event NewCdp(address indexed usr, address indexed own, uint256 indexed cdp);
        function open(bytes32 ilk, address usr) external returns (uint256 cdp);
        function give(uint256 cdp, address dst) external;
        function frob(uint256 cdp, int256 dink, int256 dart) external;
        function quit(uint256 cdp, address dst) external;
        function shift(uint256 cdpSrc, uint256 cdpDst) external;
        function cdpi() external view returns (uint256 count);
        function urns(uint256 cdp) external view returns (address urn);
        function owns(uint256 cdp) external view returns (address owner);
        function ilks(uint256 cdp) external view returns (bytes32 ilk);
    }
    interface Account {
        function owner() external view returns (address owner);
        function setOwner(address owner) external;
        function run(address[] targets, bytes[] calls) external;
    }
    interface Registry {
        function proxies(address owner) external view returns (address proxy);
        function build(address owner) external;
    }
    interface Jug {
        function set(bytes32 ilk, uint256 duty) external;
        function setBase(uint256 base) external;
        function drip(bytes32 ilk) external;
        function rateAt(bytes32 ilk, uint256 time) external view returns (uint256 rate);
    }
    interface Spotter {
        function poke(bytes32 ilk, uint256 price, uint256 mat) external;
    }
    interface Dog {
        event Bark(bytes32 indexed ilk, address indexed urn, uint256 ink, uint256 art, uint256 due, address clip,
            uint256 indexed id);
        function bark(bytes32 ilk, address urn, uint256 percent) external;
    }
    interface Kinds {
        function set(bytes32 ilk, address token) external;
    }
    interface ChainLog {
        function setAddress(bytes32 key, address to) external;
    }
    interface Token {
        function decimals() external view returns (uint8 decimals);
    }
}

/// A kind of collateral.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kind {
    pub ilk: B256,
    pub token: Address,
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
    pub jug: Address,
    spotter: Address,
    pub dog: Address,
    pub dai: Address,
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
const WAD: u64 = 1_000_000_000_000_000_000;

/// 5 % a year by the second, in ray.
const FEE: &str = "1000000001547125957863212448";

/// A word with a name.
pub fn word(name: &str) -> B256 {
    B256::right_padding_from(name.as_bytes())
}

/// Deploys the contracts with two kinds of collateral.
///
/// # Errors
/// When compiling or a transaction fails.
pub async fn deploy(chain: &mut Small, ether_usd: f64) -> Result<Maker, Error> {
    let code = stubs("Maker.sol").await?;
    let creation = |name: &str| code.get(name).cloned().ok_or_else(|| Error::Unknown(format!("the contract {name}")));
    let owner = actors::address(DEPLOYER);
    let vat = chain.create(creation("VatStub")?, "the Vat");
    let mut with_vat = |name: &str| -> Result<Address, Error> {
        Ok(chain.create([creation(name)?.as_ref(), &vat.abi_encode()].concat(), "a contract of Maker"))
    };
    let (manager, jug) = (with_vat("ManagerStub")?, with_vat("JugStub")?);
    let (spotter, dog) = (with_vat("SpotterStub")?, with_vat("DogStub")?);
    let mut bare = |name: &str| Ok::<_, Error>(chain.create(creation(name)?, "a contract of Maker"));
    let (lists, registry, kinds, chainlog) =
        (bare("ListsStub")?, bare("RegistryStub")?, bare("KindsStub")?, bare("ChainLogStub")?);
    let tokens = stubs("Comet.sol").await?.remove("TokenStub").ok_or_else(|| Error::Unknown("a token".to_owned()))?;
    let mut token = || chain.create([tokens.as_ref(), &U256::from(18).abi_encode()].concat(), "a token");
    let dai = token();
    let ether = Kind { ilk: word("ETH-A"), token: token(), ratio: 150 };
    let bitcoin = Kind { ilk: word("WBTC-A"), token: token(), ratio: 175 };
    for (name, to) in [
        ("MCD_VAT", vat),
        ("CDP_MANAGER", manager),
        ("PROXY_REGISTRY", registry),
        ("GET_CDPS", lists),
        ("MCD_SPOT", spotter),
        ("MCD_JUG", jug),
        ("ILK_REGISTRY", kinds),
        ("MCD_DAI", dai),
    ] {
        chain.queue(owner, chainlog, &ChainLog::setAddressCall { key: word(name), to });
    }
    for (kind, fee) in [(ether, FEE), (bitcoin, "1000000000000000000000000000")] {
        let ilk = kind.ilk;
        // At least 100 DAI.
        let dust = U256::from(100) * U256::from(WAD) * U256::from(10).pow(U256::from(27));
        chain.queue(owner, vat, &Vat::initCall { ilk, dust });
        chain.queue(owner, jug, &Jug::setCall { ilk, duty: fee.parse().map_err(|_| Error::Unknown(fee.to_owned()))? });
        chain.queue(owner, kinds, &Kinds::setCall { ilk, token: kind.token });
    }
    let maker = Maker { chainlog, vat, manager, registry, jug, spotter, dog, dai, ether, bitcoin };
    maker.queue_price(chain, ether, ether_usd);
    maker.queue_price(chain, bitcoin, 30_000.0);
    chain.mine().await?;
    Ok(maker)
}

impl Maker {
    pub fn queue_price(&self, chain: &mut Small, kind: Kind, dollars: f64) {
        let price = U256::from((dollars * 100.0).round() as u64) * U256::from(WAD / 100);
        let mat = U256::from(kind.ratio) * U256::from(10).pow(U256::from(25));
        chain.queue(actors::address(DEPLOYER), self.spotter, &Spotter::pokeCall { ilk: kind.ilk, price, mat });
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

    /// Calls the manager in the name of the proxy of `owner`, all in one transaction.
    ///
    /// # Errors
    /// When a transaction fails.
    pub async fn by_proxy(&self, chain: &mut Small, owner: Address, calls: Vec<Bytes>) -> Result<(), Error> {
        let proxy = self.proxy(chain, owner).await?;
        let targets = vec![self.manager; calls.len()];
        chain.call(owner, proxy, &Account::runCall { targets, calls }).await
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
        Ok(chain.view(owner, &Account::ownerCall {}, block).await.unwrap_or(owner))
    }

    /// An urn at the end of a block.
    ///
    /// # Errors
    /// When the node does not answer.
    pub async fn held(&self, chain: &Small, kind: Kind, urn: Address, block: u64) -> Result<Held, Error> {
        let ilk = kind.ilk;
        let Vat::urnsReturn { ink, art } = chain.view(self.vat, &Vat::urnsCall { ilk, urn }, block).await?;
        let spot = chain.view(self.vat, &Vat::ilksCall { ilk }, block).await?.spot;
        let (time, _) = chain.block(block).await?;
        let rate = chain.view(self.jug, &Jug::rateAtCall { ilk, time: U256::from(time) }, block).await?;
        let (wad, ray) = (WAD as f64, 1e27);
        let price = f64::from(spot) / ray * kind.ratio as f64 / 100.0;
        let health = (!art.is_zero()).then(|| f64::from(ink * spot) / f64::from(art * rate));
        let debt = f64::from(art * rate) / ray / wad;
        Ok(Held { collateral: ink, debt, dollars: f64::from(ink) / wad * price, health })
    }

    /// Every vault that `wallet` has at the end of a block, and its urn without a vault of either kind.
    ///
    /// # Errors
    /// When the node does not answer.
    pub async fn all(&self, chain: &Small, wallet: Address, block: u64) -> Result<Vec<Held>, Error> {
        let mut found = Vec::new();
        for kind in [self.ether, self.bitcoin] {
            found.push(self.held(chain, kind, wallet, block).await?);
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
                    None => urn,
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
        if log.address == self.dog && log.topics.first() == Some(&Dog::Bark::SIGNATURE_HASH) {
            let bark = Dog::Bark::decode_raw_log(log.topics.iter().copied(), &log.data).ok()?;
            return Some((bark.urn, [false, false, false, false, true]));
        }
        let call = log.data.get(64..64 + 4 + 6 * 32).filter(|_| log.address == self.vat)?;
        let Vat::frobCall { u, dink, dart, .. } = Vat::frobCall::abi_decode(call).ok()?;
        Some((u, [dink.is_positive(), dink.is_negative(), dart.is_positive(), dart.is_negative(), false]))
    }
}
