//! Content identifiers (CIDs) of small documents, computed here so that an IPFS node's answer can be checked.

use sha2::{Digest, Sha256};

/// The largest document in one block: a node splits a larger one, and its CID is that of the list of blocks.
pub(super) const ONE_BLOCK: usize = 256 << 10;

/// CID version 1, raw bytes, SHA-256.
const PREFIX: [u8; 4] = [0x01, 0x55, 0x12, 0x20];
/// RFC 4648 in lower case, without padding; multibase calls it `b`.
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// The CID of `bytes` as one raw block, in base 32.
pub fn cid(bytes: &[u8]) -> String {
    let mut binary = PREFIX.to_vec();
    binary.extend_from_slice(&Sha256::digest(bytes));
    let mut text = String::from("b");
    let (mut held, mut bits) = (0_u32, 0_u32);
    for byte in binary {
        held = (held << 8) | u32::from(byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            text.push(letter(held >> bits));
        }
    }
    if bits > 0 {
        text.push(letter(held << (5 - bits)));
    }
    text
}

fn letter(value: u32) -> char {
    ALPHABET.get((value & 31) as usize).map_or('a', |letter| char::from(*letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_known_documents_have_their_cids() {
        // Made with another implementation of SHA-256 and base 32.
        assert_eq!(cid(b""), "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku");
        assert_eq!(cid(b"hello world"), "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e");
    }
}
