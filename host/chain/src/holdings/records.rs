//! What is kept of token contracts.

use assay_domain::{Address, ChainId};
use assay_store::{Family, Key};
use serde::{Deserialize, Serialize};

/// What a token contract that was found calls itself.
pub fn token(chain: ChainId, contract: Address) -> Key<TokenRecord> {
    Family::spread("token/").key(format_args!("{chain}/{contract:#x}"))
}

/// What a token contract says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRecord {
    pub symbol: Option<String>,
    pub name: Option<String>,
    pub decimals: Option<u8>,
    /// The tokens that a share of it is a share of.
    pub pair: Option<(Address, Address)>,
    /// The lending pool whose deposit or debt it stands for, as it says.
    pub pool: Option<Address>,
}
