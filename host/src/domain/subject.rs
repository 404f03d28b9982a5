//! Whom a request is about: an address, or a name that still has to be resolved.

use super::Address;

/// Neither an address nor a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Invalid Ethereum address format")]
pub struct InvalidAddress;

/// Whom a request is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    Address(Address),
    /// A dotted name such as `vitalik.eth`, as it was given.
    Name(String),
}

impl Subject {
    /// The longest name looked up, in bytes. DNS allows 253, ENS more; nobody owns a longer one.
    pub const MAX_NAME: usize = 255;

    /// # Errors
    /// [`InvalidAddress`] where `text` is neither.
    pub fn parse(text: &str) -> Result<Self, InvalidAddress> {
        if let Ok(address) = parse_address(text) {
            return Ok(Self::Address(address));
        }
        let labels_filled = text.split('.').all(|label| !label.is_empty());
        let clean = !text.chars().any(|c| c.is_control() || c.is_whitespace() || "/?#,%\\".contains(c));
        if text.contains('.') && labels_filled && clean && text.len() <= Self::MAX_NAME && !text.starts_with("0x") {
            Ok(Self::Name(text.to_owned()))
        } else {
            Err(InvalidAddress)
        }
    }
}

/// Reads `0x` and 40 hex digits. Mixed case must carry the EIP-55 checksum: a typing error must not become somebody else's score.
///
/// # Errors
/// [`InvalidAddress`] otherwise.
pub fn parse_address(text: &str) -> Result<Address, InvalidAddress> {
    let digits = text.strip_prefix("0x").filter(|d| d.len() == 40).ok_or(InvalidAddress)?;
    let address: Address = digits.parse().map_err(|_| InvalidAddress)?;
    let one_case = !digits.bytes().any(|b| b.is_ascii_lowercase()) || !digits.bytes().any(|b| b.is_ascii_uppercase());
    if one_case || address.to_checksum(None) == text { Ok(address) } else { Err(InvalidAddress) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_checksum_is_no_address() {
        let good = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045";
        assert!(parse_address(good).is_ok());
        assert!(parse_address(&good.to_lowercase()).is_ok());
        assert!(parse_address(&good.replace('B', "b")).is_err());
        assert!(parse_address(&good.replacen("0x", "0X", 1)).is_err());
    }

    #[test]
    fn names_need_a_dot_and_whole_labels() {
        assert_eq!(Subject::parse("vitalik.eth"), Ok(Subject::Name("vitalik.eth".into())));
        for bad in ["", ".", "eth", "a..eth", "a b.eth", "0x12.eth", "a.eth\n", &format!("{}.eth", "a".repeat(300))] {
            assert_eq!(Subject::parse(bad), Err(InvalidAddress), "{bad:?}");
        }
    }
}
