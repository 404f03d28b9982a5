//! Contracts that are added to chains 1 and 8453 of the devnet: names, attestations, a lender, agents, a payable token
//! and collectibles.

use alloy::primitives::{Address, B256, Bytes, U256};
use alloy::sol;
use alloy::sol_types::SolValue;
use serde_json::{Value, json};

use super::other_chains::whole_units;
use super::{agents, payer, submitter};
use crate::agents::Agents;
use crate::devnet::actors::{self, address as wallet};
use crate::devnet::{Error, Wallet, cast};
use crate::dollar::{Dollar, PRICE, USDC};
use crate::ipfs::Ipfs;
use crate::lenders::ctoken::{self, CErc20, CToken, Token};
use crate::lenders::{Small, stubs};
use crate::people::eas::{self, Eas};
use crate::people::ens::{self, Ens};
use crate::people::stub;

sol! {
    interface Index {
        function set(address recipient, bytes32 schema, bytes32 uid) external;
    }
    interface Pictures {
        function mint(address to, uint256 id) external;
    }
}

/// Names in one block: ten transactions each, of which a block holds eighty.
const NAMES_IN_BLOCK: usize = 8;
/// The account that makes every attestation.
pub const ATTESTER: &str = "attester";
/// The domain of the reverse names of Base.
pub const BASE_REVERSE: &str = "80002105.reverse";
/// Blocks after which the registrations of agents are final.
const FINAL: u64 = 16;

/// The contracts on chain 1.
pub struct OnEthereum {
    pub ens: Ens,
    pub ctoken: Address,
}

/// The contracts on chain 8453.
pub struct OnBase {
    pub names: Ens,
    pub eas: Eas,
    pub index: Address,
    pub account: B256,
    pub country: B256,
    pub agents: Agents,
}

/// # Errors
/// When a part cannot be deployed.
pub async fn on_ethereum(chain: &mut Small) -> Result<OnEthereum, Error> {
    let ens = name_all(chain, &cast(), "eth", "addr.reverse").await?;
    let market = ctoken::deploy(chain, 2_000.0).await?.usdc;
    for name in ["borrower", "farmer"] {
        let (who, dollars) = (wallet(name), |whole| whole_units(whole, 6));
        chain.queue(who, market.underlying, &Token::giveCall { to: who, amount: dollars(500) });
        chain.queue(who, market.ctoken, &CErc20::mintCall { amount: dollars(400) });
        chain.queue(who, market.ctoken, &CToken::borrowCall { amount: dollars(100) });
        chain.mine().await?;
        chain.call(who, market.ctoken, &CErc20::repayBorrowCall { amount: dollars(30) }).await?;
    }
    Ok(OnEthereum { ens, ctoken: market.ctoken })
}

/// # Errors
/// When a part cannot be deployed.
pub async fn on_base(chain: &mut Small, ipfs: &Ipfs) -> Result<OnBase, Error> {
    let agents = agents::register(chain, ipfs).await?;
    let some: Vec<_> =
        cast().into_iter().filter(|one| ["whale", "bot", "base-only", "both-chains"].contains(&one.name)).collect();
    let names = name_all(chain, &some, "base.eth", BASE_REVERSE).await?;
    let eas = eas::deploy(chain).await?;
    let index = stub(chain, "IndexStub", vec![]).await?;
    let [account, country] = ["bool verifiedAccount", "string verifiedCountry"].map(|text| eas.schema(chain, text));
    chain.mine().await?;
    let on_base = OnBase { names, eas, index, account, country, agents };
    for name in ["borrower", "saver", "whale", "mainnet-only"] {
        on_base.attest(chain, account, wallet(name), true.abi_encode()).await?;
    }
    on_base.attest(chain, country, wallet("borrower"), "DE".to_owned().abi_encode()).await?;
    collectibles(chain).await?;
    dollars(chain).await?;
    for _ in 0..FINAL {
        chain.mine().await?;
    }
    Ok(on_base)
}

impl OnBase {
    async fn attest(&self, chain: &mut Small, schema: B256, to: Address, data: Vec<u8>) -> Result<(), Error> {
        let uid = self.eas.attest(chain, wallet(ATTESTER), (schema, to), 0, data).await?;
        chain.call(wallet(actors::DEPLOYER), self.index, &Index::setCall { recipient: to, schema, uid }).await
    }
}

/// Gives every wallet its own name under `under`, as a name and as its reverse name.
async fn name_all(chain: &mut Small, wallets: &[Wallet], under: &str, reverse: &str) -> Result<Ens, Error> {
    let ens = ens::deploy(chain).await?;
    for some in wallets.chunks(NAMES_IN_BLOCK) {
        for one in some {
            let name = format!("{}.{under}", one.name);
            ens.name(chain, &name, one.address);
            ens.call_itself(chain, one.address, reverse, &name);
        }
        chain.mine().await?;
    }
    Ok(ens)
}

async fn collectibles(chain: &mut Small) -> Result<(), Error> {
    let pictures = chain.create(code("Tokens.sol", "Pictures").await?, "pictures");
    for (id, to) in ["borrower", "borrower", "collector", "whale"].into_iter().enumerate() {
        let mint = Pictures::mintCall { to: wallet(to), id: U256::from(id + 1) };
        chain.queue(wallet(actors::FAUCET), pictures, &mint);
    }
    chain.mine().await
}

/// The code of a stub in one of the files of stubs.
async fn code(file: &'static str, name: &str) -> Result<Bytes, Error> {
    stubs(file).await?.remove(name).ok_or_else(|| Error::Unknown(format!("the stub {name}")))
}

/// Puts the dollar token at the address of USDC. Gives the payer the price of a hundred submissions, and gas to the
/// account that settles.
async fn dollars(chain: &mut Small) -> Result<(), Error> {
    let code = code("Dollar.sol", "DollarStub").await?;
    // The constructor returns the code of the contract.
    let made: Bytes = chain.rpc.request("eth_call", json!([{ "data": code }, "latest"])).await?;
    let _: Value = chain.rpc.request("anvil_setCode", json!([USDC, made])).await?;
    let _: Value = chain.rpc.request("anvil_setBalance", json!([submitter().address(), whole_units(100, 18)])).await?;
    let mint = Dollar::mintCall { to: payer().address(), value: U256::from(PRICE * 100) };
    chain.call(wallet(actors::FAUCET), USDC, &mint).await
}
