//! The names of rewards in forks of Compound v2. With each borrowing and repayment, whoever pays it, the Comptroller
//! logs a distribution to the borrower and writes the borrower's index.

use alloy::{primitives::Bytes, sol, sol_types::SolEvent};

use crate::config::Dialect;
use assay_domain::{Address, B256};
use assay_evm::{Call, Client, Fault, returned};

sol! {
    event DistributedBorrowerComp(address indexed cToken, address indexed borrower, uint256 delta, uint256 index);
    event DistributedBorrowerVenus(address indexed vToken, address indexed borrower, uint256 delta, uint256 index);
    event DistributedBorrowerReward(
        uint8 indexed tokenType, address indexed qiToken, address indexed borrower, uint256 delta, uint256 index);
    event DisbursedBorrowerRewards(
        address indexed mToken, address indexed borrower, address indexed emissionToken, uint256 totalAccrued);
    function compBorrowerIndex(address cToken, address account) external view returns (uint256 index);
    function venusBorrowerIndex(address vToken, address account) external view returns (uint256 index);
    function rewardBorrowerIndex(uint8 kind, address qiToken, address account) external view returns (uint256 index);
    function rewardDistributor() external view returns (address distributor);
}

/// The logs of distributions to borrowers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rewards {
    pub contract: Address,
    pub topic0: B256,
    /// The topic that names the borrower.
    pub borrower_at: usize,
}

/// Symbols of the markets of native currencies, which have no underlying token.
const NATIVE: [&str; 3] = ["cETH", "vBNB", "qiAVAX"];

impl Dialect {
    pub(super) const ALL: [Self; 4] = [Self::Compound, Self::Venus, Self::Benqi, Self::Moonwell];

    /// The name of the dialect in `chains.markets.dialect`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Compound => "compound",
            Self::Venus => "venus",
            Self::Benqi => "benqi",
            Self::Moonwell => "moonwell",
        }
    }

    /// Whether a market with this symbol is that of a native currency, which has no underlying token.
    pub fn is_native(symbol: &str) -> bool {
        NATIVE.contains(&symbol)
    }

    /// The dialect of the market at `comptroller`; `None` if unknown.
    ///
    /// # Errors
    /// [`Fault`] if the endpoint does not answer.
    pub async fn find(client: &Client, comptroller: Address, market: Address, at: B256) -> Result<Option<Self>, Fault> {
        let calls = Self::ALL.map(|dialect| dialect.ask_index(comptroller, market, market));
        Ok(Self::answering(&client.calls(&calls, at).await?))
    }

    /// The logs of distributions to borrowers, given the Comptroller and its `answers` to the calls of
    /// [`ALL`](Self::ALL). `None` without a distributor.
    pub(super) fn rewards(self, comptroller: Address, answers: &[Option<Bytes>]) -> Option<Rewards> {
        let (topic0, borrower_at) = match self {
            Self::Compound => (DistributedBorrowerComp::SIGNATURE_HASH, 2),
            Self::Venus => (DistributedBorrowerVenus::SIGNATURE_HASH, 2),
            Self::Benqi => (DistributedBorrowerReward::SIGNATURE_HASH, 3),
            Self::Moonwell => (DisbursedBorrowerRewards::SIGNATURE_HASH, 2),
        };
        let distributor = || returned::<rewardDistributorCall>(answers.last()).filter(|contract| !contract.is_zero());
        let contract = if self == Self::Moonwell { distributor()? } else { comptroller };
        Some(Rewards { contract, topic0, borrower_at })
    }

    /// The call that detects the dialect and, except for Moonwell, returns the index of the debt of `account`.
    pub(super) fn ask_index(self, comptroller: Address, market: Address, account: Address) -> Call {
        match self {
            Self::Compound => Call::new(comptroller, &compBorrowerIndexCall { cToken: market, account }),
            Self::Venus => Call::new(comptroller, &venusBorrowerIndexCall { vToken: market, account }),
            Self::Benqi => Call::new(comptroller, &rewardBorrowerIndexCall { kind: 0, qiToken: market, account }),
            Self::Moonwell => Call::new(comptroller, &rewardDistributorCall {}),
        }
    }

    /// Whether the answer to [`ask_index`](Self::ask_index) has an index.
    pub(super) fn is_indexed(self, answer: Option<&Option<Bytes>>) -> bool {
        let index = || returned::<compBorrowerIndexCall>(answer);
        self != Self::Moonwell && index().is_some_and(|index| !index.is_zero())
    }

    /// The dialect whose call a Comptroller answers; `answers` are those to [`ALL`](Self::ALL), in the same order.
    pub(super) fn answering(answers: &[Option<Bytes>]) -> Option<Self> {
        let is_number = |answer: &Option<Bytes>| answer.as_ref().is_some_and(|answer| answer.len() == 32);
        Self::ALL.into_iter().zip(answers).find(|(_, answer)| is_number(answer)).map(|(dialect, _)| dialect)
    }
}
