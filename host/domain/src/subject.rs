//! The subject of a request: an address, or a name that must be resolved first.

use crate::{
    Address, Name,
    address::{InvalidAddress, parse_address},
};

/// The subject of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    Address(Address),
    Name(Name),
}

impl Subject {
    /// # Errors
    /// [`InvalidAddress`] if `text` is neither.
    pub fn parse(text: &str) -> Result<Self, InvalidAddress> {
        match parse_address(text) {
            Ok(address) => Ok(Self::Address(address)),
            Err(InvalidAddress::Format) => Name::parse(text).map(Self::Name),
            Err(error) => Err(error),
        }
    }
}

impl std::fmt::Display for Subject {
    /// An address with its EIP-55 checksum.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Address(address) => write!(f, "{address}"),
            Self::Name(name) => write!(f, "{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_checksum_is_no_address() {
        let good = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045";
        assert!(parse_address(good).is_ok());
        assert!(parse_address(&good.to_lowercase()).is_ok());
        assert_eq!(parse_address(&good.replace('B', "b")), Err(InvalidAddress::Checksum));
        assert_eq!(Subject::parse(&good.replace('B', "b")), Err(InvalidAddress::Checksum));
        assert_eq!(parse_address(&good.replacen("0x", "0X", 1)), Err(InvalidAddress::Format));
    }

    #[test]
    fn what_is_no_address_may_be_a_name() {
        assert_eq!(Subject::parse("Vitalik.eth"), Ok(Subject::Name(Name::parse("vitalik.eth").unwrap())));
        for bad in ["", "eth", "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA9604"] {
            assert_eq!(Subject::parse(bad), Err(InvalidAddress::Format), "{bad:?}");
        }
    }
}
