//! The text of an address.

use crate::Address;

/// The text is neither an address nor a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAddress {
    #[error("Invalid Ethereum address format")]
    Format,
    #[error(
        "Invalid Ethereum address format: the EIP-55 checksum is wrong, so a character may be too; check the address, \
         or send it in lower case"
    )]
    Checksum,
}

/// Reads `0x` and 40 hex digits. Mixed case must have the EIP-55 checksum, so a typing error does not select another
/// wallet.
///
/// # Errors
/// [`InvalidAddress`] otherwise.
pub fn parse_address(text: &str) -> Result<Address, InvalidAddress> {
    let digits = text.strip_prefix("0x").filter(|d| d.len() == 40).ok_or(InvalidAddress::Format)?;
    let address: Address = digits.parse().map_err(|_| InvalidAddress::Format)?;
    let one_case = !digits.bytes().any(|b| b.is_ascii_lowercase()) || !digits.bytes().any(|b| b.is_ascii_uppercase());
    if one_case || address.to_checksum(None) == text { Ok(address) } else { Err(InvalidAddress::Checksum) }
}
