//! The names of rewards in forks of Compound v2. Each borrowing and repayment by any payer comes with the Comptroller's
//! distribution to the borrower, and writes the borrower's index.

use alloy::{primitives::Bytes, sol, sol_types::SolEvent};

use crate::config::Dialect;
use assay_domain::{Address, B256};
use assay_evm::{Call, Client, Fault, returned};

sol! {
    event DistributedBorrowerComp(address indexed cToken, address indexed borrower, uint256 delta, uint256 index);
    event DistributedBorrowerVenus(address indexed vToken, address indexed borrower, uint256 delta, uint256 index);
    function compBorrowerIndex(address cToken, address account) external view returns (uint256 index);
    function venusBorrowerIndex(address vToken, address account) external view returns (uint256 index);
}

/// The symbols of the markets of native currencies, which name no underlying token.
const NATIVE: [&str; 2] = ["cETH", "vBNB"];

impl Dialect {
    pub(super) const ALL: [Self; 2] = [Self::Compound, Self::Venus];

    /// As `chains.markets.dialect` names it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Compound => "compound",
            Self::Venus => "venus",
        }
    }

    /// Whether a market with this symbol is that of a native currency, which names no underlying token.
    pub fn is_native(symbol: &str) -> bool {
        NATIVE.contains(&symbol)
    }

    /// The dialect of the market at `comptroller`; `None` where it is not a known one.
    ///
    /// # Errors
    /// [`Fault`] where the endpoint does not answer.
    pub async fn find(client: &Client, comptroller: Address, market: Address, at: B256) -> Result<Option<Self>, Fault> {
        let calls = Self::ALL.map(|dialect| dialect.ask_index(comptroller, market, market));
        Ok(Self::answering(&client.calls(&calls, at).await?))
    }

    /// The log of a distribution to the borrower in topic 2.
    pub(super) fn distribution(self) -> B256 {
        match self {
            Self::Compound => DistributedBorrowerComp::SIGNATURE_HASH,
            Self::Venus => DistributedBorrowerVenus::SIGNATURE_HASH,
        }
    }

    /// The call for the index of the debt of `account` at `comptroller`.
    pub(super) fn ask_index(self, comptroller: Address, market: Address, account: Address) -> Call {
        match self {
            Self::Compound => Call::new(comptroller, &compBorrowerIndexCall { cToken: market, account }),
            Self::Venus => Call::new(comptroller, &venusBorrowerIndexCall { vToken: market, account }),
        }
    }

    /// Whether the answer to [`ask_index`](Self::ask_index) has an index.
    pub(super) fn is_indexed(self, answer: Option<&Option<Bytes>>) -> bool {
        match self {
            Self::Compound => returned::<compBorrowerIndexCall>(answer).is_some_and(|index| !index.is_zero()),
            Self::Venus => returned::<venusBorrowerIndexCall>(answer).is_some_and(|index| !index.is_zero()),
        }
    }

    /// The dialect whose call a Comptroller answers; `answers` are those for [`ALL`](Self::ALL), in their order.
    pub(super) fn answering(answers: &[Option<Bytes>]) -> Option<Self> {
        let is_number = |answer: &Option<Bytes>| answer.as_ref().is_some_and(|answer| answer.len() == 32);
        Self::ALL.into_iter().zip(answers).find(|(_, answer)| is_number(answer)).map(|(dialect, _)| dialect)
    }
}
