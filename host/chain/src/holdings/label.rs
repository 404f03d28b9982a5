//! Names and symbols of contracts as text that is safe to show: they are not trusted.

use alloy::{primitives::Bytes, sol_types::SolValue};

use assay_domain::{Address, U256, display_text};

/// In characters.
const LONGEST: usize = 48;
/// Token ids with more digits are shortened.
const DIGITS: usize = 16;

/// The text in an answer of type `string`, or `bytes32` with old contracts; `None` if nothing of it can be shown.
pub(super) fn text(answer: &Bytes) -> Option<String> {
    let bytes = match Bytes::abi_decode(answer) {
        Ok(bytes) => bytes,
        Err(_) if answer.len() == 32 => answer.clone(),
        Err(_) => return None,
    };
    // The rest could not be shown.
    let bytes = bytes.get(..bytes.len().min(4 * LONGEST)).unwrap_or_default();
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_end_matches('\u{fffd}').split('\0').next().unwrap_or_default();
    let label = display_text(text, LONGEST);
    (!label.is_empty()).then_some(label)
}

/// The label of a contract without a name.
pub(super) fn of_contract(contract: Address) -> String {
    let hex = contract.to_checksum(None);
    format!("{}…{}", hex.get(..6).unwrap_or_default(), hex.get(38..).unwrap_or_default())
}

/// The label of one token of a collection.
pub(super) fn of_token(collection: &str, id: U256) -> String {
    let digits = id.to_string();
    match digits.get(digits.len().saturating_sub(4)..) {
        Some(end) if digits.len() > DIGITS => format!("{collection} #{}…{end}", digits.get(..6).unwrap_or_default()),
        _ => format!("{collection} #{digits}"),
    }
}

#[cfg(test)]
mod tests {
    use alloy::primitives::FixedBytes;

    use super::*;

    fn shown(name: &str) -> Option<String> {
        text(&name.to_owned().abi_encode().into())
    }

    #[test]
    fn names_are_shown_as_they_are_and_hostile_ones_without_what_cannot_be_seen() {
        assert_eq!(shown("Dai Stablecoin").as_deref(), Some("Dai Stablecoin"));
        assert_eq!(shown("US\u{200b}D\u{34f}C\u{202e}\n<b>\t x").as_deref(), Some("USDC <b> x"));
        assert_eq!(shown(" \u{200b}\0"), None);
        assert_eq!(shown(&"é".repeat(10_000)).map(|name| name.chars().count()), Some(LONGEST));
    }

    #[test]
    fn old_contracts_answer_with_32_bytes() {
        let mut old = [0; 32];
        old[..3].copy_from_slice(b"MKR");
        assert_eq!(text(&FixedBytes(old).abi_encode().into()).as_deref(), Some("MKR"));
        for bad in [vec![], vec![0; 32], vec![0xff; 64], vec![1; 31]] {
            assert_eq!(text(&bad.into()), None);
        }
    }

    #[test]
    fn what_has_no_name_is_told_by_its_address() {
        assert_eq!(of_contract(Address::repeat_byte(0x11)), "0x1111…1111");
        assert_eq!(of_token("Punks", U256::from(7)), "Punks #7");
        assert_eq!(of_token("Names", U256::MAX), "Names #115792…9935");
    }
}
