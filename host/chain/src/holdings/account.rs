//! What an address holds and owes on one chain after one block: native balance, configured tokens and lending
//! positions, in one request if the chain has a Multicall3.

use alloy::{primitives::Bytes, sol};

use crate::config::{ChainConfig, TokenConfig};
use assay_domain::{Address, AssetClass, Prices, TokenBalance, U256};
use assay_evm::{
    call::{Call, getEthBalanceCall, returned},
    client::{Block, Client},
    fault::Fault,
};
use assay_lending::{ChainTerms, LendingRead};

sol! {
    function balanceOf(address owner) external view returns (uint256 balance);
}

/// The native currency of every supported chain has 18 decimals.
pub(crate) const NATIVE_DECIMALS: u8 = 18;

/// Balances, without prices.
#[derive(Debug, Default)]
pub(crate) struct WalletAccount {
    native: U256,
    /// One entry per configured token.
    tokens: Vec<U256>,
    /// Configured tokens that did not answer.
    pub silent: Vec<Address>,
}

impl WalletAccount {
    /// Reads `wallet` in the state after `head`: its balances, and in the same request what `lending` asks.
    ///
    /// # Errors
    /// [`Fault`] if the chain did not answer. A single contract that does not answer is silent, or a market without a
    /// position that can be read.
    pub(crate) async fn read(
        client: &Client,
        chain: &ChainConfig,
        terms: &ChainTerms,
        lending: &mut LendingRead,
        wallet: Address,
        head: Block,
    ) -> Result<Self, Fault> {
        let calls = Self::calls(chain, wallet).chain(lending.calls(terms)).collect();
        let answers = client.shared_calls(calls, head.hash).await?;
        let (account, slots) = Self::answered(chain, lending, &answers)?;
        lending.answer_slots(client.storage(&slots, head.hash).await);
        Ok(account)
    }

    /// The calls about the balances of a wallet.
    pub(crate) fn calls(chain: &ChainConfig, wallet: Address) -> impl Iterator<Item = Call> {
        let balance = move |token: &TokenConfig| Call::new(token.address, &balanceOfCall { owner: wallet });
        std::iter::once(Call::Balance(wallet)).chain(chain.tokens.iter().map(balance))
    }

    /// The account in the answers to [`calls`](Self::calls), which those about `lending` follow, and the storage slots
    /// to read for it.
    pub(crate) fn answered(
        chain: &ChainConfig,
        lending: &mut LendingRead,
        answers: &[Option<Bytes>],
    ) -> Result<(Self, Vec<(Address, U256)>), Fault> {
        let (balances, rest) = answers.split_at((1 + chain.tokens.len()).min(answers.len()));
        Ok((Self::balances(chain, balances)?, lending.answer(rest)))
    }

    /// The account with the native balance and those of the configured tokens.
    fn balances(chain: &ChainConfig, answers: &[Option<Bytes>]) -> Result<Self, Fault> {
        let native = returned::<getEthBalanceCall>(answers.first());
        let native = native.ok_or_else(|| Fault::Malformed("no native balance".into()))?;
        let mut account = Self { native, ..Self::default() };
        for (index, token) in chain.tokens.iter().enumerate() {
            let balance = returned::<balanceOfCall>(answers.get(index + 1));
            if balance.is_none() {
                account.silent.push(token.address);
            }
            account.tokens.push(balance.unwrap_or_default());
        }
        if !account.silent.is_empty() {
            let tokens = account.silent.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            tracing::warn!(chain = chain.id, tokens, "no ERC-20 answers at these addresses of chains.tokens");
        }
        Ok(account)
    }

    /// The balances above zero, with prices if there are any.
    pub(crate) fn holdings(&self, chain: &ChainConfig, prices: &Prices) -> Vec<TokenBalance> {
        let native = TokenBalance {
            chain_id: chain.id,
            contract: None,
            symbol: chain.native.symbol.clone(),
            name: chain.native.name.as_ref().unwrap_or(&chain.native.symbol).clone(),
            amount: self.native,
            decimals: NATIVE_DECIMALS,
            price: prices.get(&None).copied(),
            class: AssetClass::Native,
        };
        let tokens = chain.tokens.iter().zip(&self.tokens).map(|(token, amount)| TokenBalance {
            chain_id: chain.id,
            contract: Some(token.address),
            symbol: token.symbol.clone(),
            name: token.name.as_ref().unwrap_or(&token.symbol).clone(),
            amount: *amount,
            decimals: token.decimals,
            price: prices.get(&Some(token.address)).copied(),
            class: token.class,
        });
        // A configured token that shows the native balance again is not another holding.
        let is_mirror = |held: &TokenBalance| held.contract.is_some_and(|token| chain.native.mirrors.contains(&token));
        std::iter::once(native).chain(tokens).filter(|held| !held.amount.is_zero() && !is_mirror(held)).collect()
    }
}
