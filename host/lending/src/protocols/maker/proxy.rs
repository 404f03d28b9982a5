//! What contracts say of an account that may be a proxy of a wallet, and the vaults that it has.

use alloy::{primitives::Bytes, sol};

use super::contracts::Contracts;
use assay_domain::{Address, B256};
use assay_evm::{Call, returned};

sol! {
    function owner() external view returns (address owner);
    function isProxy(address proxy) external view returns (bool answer);
    #[derive(Debug)]
    function getCdpsAsc(address manager, address guy)
        external view returns (uint256[] ids, address[] urns, bytes32[] ilks);
}

/// What contracts say of an account that may be a proxy of a wallet.
pub(super) struct Proxy {
    pub address: Address,
    /// Whether it names the wallet as its owner, as any contract can.
    pub is_owned: bool,
    /// Whether the factory built it, so that it acts only for its owner.
    pub is_proxy: bool,
    pub vaults: Vec<(VaultRow, Address)>,
}

impl Proxy {
    /// `None` if the list of vaults or the factory does not answer.
    pub(super) fn read(address: Address, wallet: Address, answers: &[Option<Bytes>]) -> Option<Self> {
        let is_owned = returned::<ownerCall>(answers.first()) == Some(wallet);
        let vaults = listed(answers.get(1), address)?;
        Some(Self { address, is_owned, is_proxy: returned::<isProxyCall>(answers.get(2))?, vaults })
    }
}

/// The number, the urn and the kind of collateral of a vault.
pub(super) type VaultRow = (B256, Address, B256);

/// The vaults in the answer to [`Contracts::list`] for `holder`; `None` without one.
pub(super) fn listed(answer: Option<&Option<Bytes>>, holder: Address) -> Option<Vec<(VaultRow, Address)>> {
    let list = returned::<getCdpsAscCall>(answer)?;
    let vaults = list.ids.iter().zip(&list.urns).zip(&list.ilks);
    Some(vaults.map(|((id, urn), ilk)| ((B256::from(*id), *urn, *ilk), holder)).collect())
}

impl Contracts {
    /// The call for the vaults of an account.
    pub(super) fn list(&self, guy: Address) -> Call {
        Call::new(self.lists, &getCdpsAscCall { manager: self.manager, guy })
    }

    /// The calls for [`Proxy::read`].
    pub(super) fn of_proxy(&self, proxy: Address) -> [Call; 3] {
        let is_proxy = Call::new(self.factory, &isProxyCall { proxy });
        [Call::new(proxy, &ownerCall {}), self.list(proxy), is_proxy]
    }
}
