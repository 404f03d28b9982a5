//! What contracts say of the accounts that may be proxies of a wallet, and the vaults that these have.

use alloy::{primitives::Bytes, sol};

use super::contracts::Contracts;
use assay_domain::{Address, B256};
use assay_evm::{Block, Call, Client, Fault, client::Bounds, returned};

sol! {
    function owner() external view returns (address owner);
    function authority() external view returns (address authority);
    function isProxy(address proxy) external view returns (bool answer);
    #[derive(Debug)]
    function getCdpsAsc(address manager, address guy)
        external view returns (uint256[] ids, address[] urns, bytes32[] ilks);
}

/// What contracts say of an account that may be a proxy of a wallet.
pub(super) struct Proxy {
    pub address: Address,
    /// Whether the factory or the registry built it: it names its owner truly.
    pub is_proxy: bool,
    /// Whether it names the wallet as its owner, as any contract can.
    pub is_owned: bool,
    /// Whether another contract decides who else may use it. Whoever gave it away may have set that before.
    pub is_shared: bool,
    pub vaults: Vec<(VaultRow, Address)>,
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

    /// Asks what `accounts` are to `wallet`, for which the registry built `built`. `None` if the list of vaults, the
    /// factory or a proxy that it built does not answer.
    pub(super) async fn proxies(
        &self,
        client: &Client,
        (accounts, built): (&[Address], Option<Address>),
        wallet: Address,
        at: Block,
    ) -> Result<Option<Vec<Proxy>>, Fault> {
        let of_account = |account: &Address| {
            let is_proxy = isProxyCall { proxy: *account };
            [self.list(*account), Call::new(self.factory, &is_proxy)]
        };
        let answers = client.shared_calls(accounts.iter().flat_map(of_account).collect(), at.hash).await?;
        let read = |(address, answers): (&Address, &[Option<Bytes>])| {
            let (vaults, is_proxy) = (listed(answers.first(), *address)?, returned::<isProxyCall>(answers.get(1))?);
            let is_proxy = is_proxy || built == Some(*address);
            Some(Proxy { address: *address, is_proxy, is_owned: false, is_shared: false, vaults })
        };
        let found = accounts.iter().zip(answers.chunks(2)).map(read).collect::<Option<Vec<_>>>();
        let Some(mut found) = found else { return Ok(None) };
        // Anybody can deploy the other contracts, so only those that have vaults are asked.
        let (built, mut strangers): (Vec<_>, Vec<_>) = found
            .iter_mut()
            .filter(|account| account.is_proxy || !account.vaults.is_empty())
            .partition(|account| account.is_proxy);
        let owner = |of: &Proxy| Call::new(of.address, &ownerCall {});
        let of_built = |of: &&mut Proxy| [owner(of), Call::new(of.address, &authorityCall {})];
        let (of_built, of_strangers): (Vec<_>, Vec<_>) = (
            built.iter().flat_map(of_built).collect(),
            strangers.iter().map(|of| (owner(of), Bounds::CONSTANT)).collect(),
        );
        let (of_built, of_strangers) =
            tokio::try_join!(client.shared_calls(of_built, at.hash), client.stranger_calls(&of_strangers, at.hash))?;
        for (proxy, answers) in built.into_iter().zip(of_built.chunks(2)) {
            let said = returned::<ownerCall>(answers.first()).zip(returned::<authorityCall>(answers.get(1)));
            let Some((owner, authority)) = said else { return Ok(None) };
            (proxy.is_owned, proxy.is_shared) = (owner == wallet, !authority.is_zero());
        }
        for (account, answer) in strangers.iter_mut().zip(&of_strangers) {
            account.is_owned = returned::<ownerCall>(Some(answer)) == Some(wallet);
        }
        Ok(Some(found))
    }
}
