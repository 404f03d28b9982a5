//! The forms of a name that contracts use: its hash, its DNS encoding, and the reverse name of an address.

use alloy::primitives::keccak256;

use assay_domain::{Address, B256};

/// The node of a name, by EIP-137.
pub(super) fn namehash(name: &str) -> B256 {
    name.rsplit('.')
        .filter(|label| !label.is_empty())
        .fold(B256::ZERO, |node, label| keccak256([node.as_slice(), keccak256(label).as_slice()].concat()))
}

/// The name in DNS wire format; `None` if a label is longer than 255 bytes.
pub(super) fn dns_encoded(name: &str) -> Option<Vec<u8>> {
    let mut wire = Vec::with_capacity(name.len() + 2);
    for label in name.split('.') {
        wire.push(u8::try_from(label.len()).ok()?);
        wire.extend_from_slice(label.as_bytes());
    }
    wire.push(0);
    Some(wire)
}

/// The reverse name of `address`, which its owner controls.
pub(super) fn reverse(address: Address, below: &str) -> String {
    format!("{}.{below}", hex::encode(address))
}

/// The name and its parents, nearest first.
pub(super) fn upwards(name: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(name), |name| name.split_once('.').map(|(_, above)| above))
}

#[cfg(test)]
mod tests {
    use alloy::primitives::{address, b256};

    use super::*;

    #[test]
    fn nodes_are_those_of_the_standard() {
        assert_eq!(namehash(""), B256::ZERO);
        // The examples of EIP-137, and constants of published contracts.
        for (name, node) in [
            ("eth", b256!("0x93cdeb708b7545dc668eb9280176169d1c33cfd8ed6f04690a0bcc88a93fc4ae")),
            ("foo.eth", b256!("0xde9b09fd7c5f901e23a3f19fecc54828e9c848539801e86591bd9801b019f84f")),
            ("addr.reverse", b256!("0x91d1777781884d03a6757a803996e38de2a42967fb37eeaca72729271025a9e2")),
            ("base.eth", b256!("0xff1e3c0eb00ec714e34b6114125fbde1dea2f24a72fbf672e7b7fd5690328e10")),
            ("80002105.reverse", b256!("0x08d9b0993eb8c4da57c37a4b84a6e384c2623114ff4e9370ed51c9b8935109ba")),
        ] {
            assert_eq!(namehash(name), node, "{name}");
        }
    }

    #[test]
    fn a_name_is_written_as_dns_does() {
        assert_eq!(dns_encoded("base.eth").unwrap(), b"\x04base\x03eth\x00");
        assert_eq!(dns_encoded(&format!("{}.eth", "a".repeat(256))), None);
    }

    #[test]
    fn the_names_above_a_name() {
        assert_eq!(upwards("a.b.eth").collect::<Vec<_>>(), ["a.b.eth", "b.eth", "eth"]);
        let wallet = address!("0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045");
        assert_eq!(reverse(wallet, "addr.reverse"), "d8da6bf26964af9d7eed9e03e53415d37aa96045.addr.reverse");
    }
}
