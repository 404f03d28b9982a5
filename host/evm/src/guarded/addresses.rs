//! Which network addresses are public: all that the registries of special-purpose addresses do not list.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether `address` is reachable only over the internet. An address that embeds an IPv4 address counts as that one.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, d] = address.octets();
    let special = match (a, b) {
        // This network, private, loopback, link-local with the metadata services of clouds, private, private.
        (0 | 10 | 127, _) | (169, 254) | (172, 16..=31) | (192, 168) => true,
        // Shared behind a carrier's translation, where one cloud has its metadata.
        (100, 64..=127) => true,
        // Protocol assignments, documentation, relays of 6to4.
        (192, 0) => matches!(c, 0 | 2),
        (192, 88) => c == 99,
        // Benchmarks, documentation.
        (198, 18 | 19) => true,
        (198, 51) => c == 100,
        (203, 0) => c == 113,
        // The public address that one cloud serves to its own hosts.
        (168, 63) => (c, d) == (129, 16),
        // Multicast, reserved, broadcast.
        (224.., _) => true,
        _ => false,
    };
    !special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let embedded = |high: u16, low: u16| is_public_v4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)));
    match (a, b) {
        // Translated by NAT64 (64:ff9b::/96). Its other prefix is local, and ::ffff:0:0/96 is never on a wire.
        (0x64, 0xff9b) => (c, d, e, f) == (0, 0, 0, 0) && embedded(g, h),
        // 6to4.
        (0x2002, _) => embedded(b, c),
        // Protocol assignments, with Teredo and benchmarks; documentation.
        (0x2001, 0..=0x1ff | 0xdb8) => false,
        (0x3fff, 0..=0xfff) => false,
        // The range of global unicast; loopback, private, link-local and multicast are outside of it.
        _ => a & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_class_is_known() {
        let special = [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.100.100.200",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.255",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "64:ff9b::10.0.0.1",
            "64:ff9b::169.254.169.254",
            "64:ff9b:1::808:808",
            "64:ff9b:0:1::808:808",
            "100::1",
            "2001::1",
            "2001:2::1",
            "2001:10::1",
            "2001:db8::1",
            "2002:7f00:1::1",
            "2002:c0a8:101::1",
            "2002:a9fe:a9fe::1",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ];
        let open = [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "168.63.129.17",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.167.255.255",
            "198.17.255.255",
            "198.20.0.0",
            "203.0.114.0",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "2a00:1450:4001:80b::200e",
            "64:ff9b::8.8.8.8",
            "2002:808:808::1",
            "2001:200::1",
        ];
        for text in special {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
        for text in open {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
    }

    proptest! {
        #[test]
        fn an_embedded_address_counts_as_itself(bits: u32) {
            let inner = Ipv4Addr::from(bits);
            let [high, low] = [(bits >> 16) as u16, bits as u16];
            let expected = is_public(inner.into());
            prop_assert_eq!(is_public(Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low).into()), expected);
            prop_assert_eq!(is_public(Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1).into()), expected);
            prop_assert!(!is_public(inner.to_ipv6_mapped().into()) && !is_public(inner.to_ipv6_compatible().into()));
        }

        #[test]
        fn what_the_standard_library_calls_special_is_special(bits: u32, wide: u128) {
            let (v4, v6) = (Ipv4Addr::from(bits), Ipv6Addr::from(wide));
            let inner = v4.is_private() || v4.is_loopback() || v4.is_link_local() || v4.is_broadcast()
                || v4.is_documentation() || v4.is_multicast() || v4.is_unspecified();
            prop_assert!(!(inner && is_public(v4.into())), "{v4}");
            let inner = v6.is_loopback() || v6.is_multicast() || v6.is_unspecified() || v6.is_unique_local()
                || v6.is_unicast_link_local();
            prop_assert!(!(inner && is_public(v6.into())), "{v6}");
        }
    }
}
