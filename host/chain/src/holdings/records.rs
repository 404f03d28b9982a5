//! Stored records of token contracts.

use assay_domain::{Address, ChainId};
use assay_store::{Family, Key};
use serde::{Deserialize, Serialize};

/// Key of the record of a token contract.
pub fn token(chain: ChainId, contract: Address) -> Key<TokenRecord> {
    Family::spread("token/").key(format_args!("{chain}/{contract:#x}"))
}

/// What a token contract states about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRecord {
    pub symbol: Option<String>,
    pub name: Option<String>,
    pub decimals: Option<u8>,
    /// The two tokens of the pool, for a pool's share.
    pub pair: Option<(Address, Address)>,
    /// The lending pool, for a token that is a deposit or a debt.
    pub pool: Option<Address>,
}
