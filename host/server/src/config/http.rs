//! `[http]`: the bounds of the HTTP server, and whose word about a client's address counts.

use std::{net::IpAddr, str::FromStr};

use serde::Deserialize;

/// Bounds of the HTTP server.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Http {
    /// Largest request body, in bytes. Component uploads have `models.max_component_bytes` instead.
    pub max_body_bytes: usize,
    /// Largest request line with its headers, in bytes, before it is answered with 431.
    pub max_head_bytes: usize,
    /// Longest time a request may take, in milliseconds, before it is answered with 504.
    pub request_timeout_ms: u64,
    /// Longest time for a client to send its headers, and for an idle connection to stay open, in milliseconds.
    pub header_timeout_ms: u64,
    /// Longest time for a request's body to arrive, in milliseconds, before it is answered with 408.
    pub body_timeout_ms: u64,
    /// Longest time in which a client takes nothing of its answer, in milliseconds, before its connection is closed.
    pub write_timeout_ms: u64,
    /// Connections open at once; more wait until one ends.
    pub max_connections: usize,
    /// Of these, from one address, or of IPv6 from one /64; more are closed at once. 0: without bound, which
    /// `trusted_proxies` are always.
    pub max_connections_per_address: usize,
    /// Requests at work at once; more are answered with 503 at once.
    pub max_requests: usize,
    /// Most addresses in one multi-address request.
    pub max_addresses: usize,
    /// How long a server that was told to stop says so at `/readyz` and still takes requests, in milliseconds.
    pub drain_notice_ms: u64,
    /// Longest wait for requests in flight when the server is told to stop, in milliseconds.
    pub drain_timeout_ms: u64,
    /// Proxies whose `X-Forwarded-For` is believed, and who have as many connections as they like.
    pub trusted_proxies: Vec<Network>,
}

/// Addresses with a common beginning: `10.0.0.0/8`, or one address alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Network {
    first: IpAddr,
    bits: u32,
}

/// Not a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an address or a network, such as 10.0.0.0/8")]
pub struct NotANetwork;

impl Network {
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.first, address.to_canonical()) {
            (IpAddr::V4(first), IpAddr::V4(address)) => {
                same(first.to_bits().into(), address.to_bits().into(), 32 - self.bits)
            }
            (IpAddr::V6(first), IpAddr::V6(address)) => same(first.to_bits(), address.to_bits(), 128 - self.bits),
            _ => false,
        }
    }
}

/// Whether two addresses differ in nothing but their last `free` bits.
fn same(one: u128, other: u128, free: u32) -> bool {
    let kept = |bits: u128| bits.checked_shr(free).unwrap_or(0);
    kept(one) == kept(other)
}

impl FromStr for Network {
    type Err = NotANetwork;

    fn from_str(text: &str) -> Result<Self, NotANetwork> {
        let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let first: IpAddr = address.parse().map_err(|_| NotANetwork)?;
        let most = if first.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(most), |bits| bits.parse().map_err(|_| NotANetwork))?;
        if bits > most { Err(NotANetwork) } else { Ok(Self { first, bits }) }
    }
}

impl TryFrom<String> for Network {
    type Error = NotANetwork;

    fn try_from(text: String) -> Result<Self, NotANetwork> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_has_those_that_begin_like_it() {
        for (network, inside, outside) in [
            ("10.0.0.0/8", "10.255.0.1", "11.0.0.1"),
            ("10.0.0.7", "::ffff:10.0.0.7", "10.0.0.8"),
            ("0.0.0.0/0", "203.0.113.9", "::1"),
            ("fd00::/8", "fdff::1", "fe00::1"),
            ("::/0", "::1", "127.0.0.1"),
        ] {
            let known: Network = network.parse().unwrap();
            assert!(known.contains(inside.parse().unwrap()) && !known.contains(outside.parse().unwrap()), "{network}");
        }
        for bad in ["", "10.0.0.0/33", "10.0.0.0/", "10.0.0/8", "fd00::/129", "proxy.internal"] {
            assert_eq!(bad.parse::<Network>(), Err(NotANetwork), "{bad}");
        }
    }
}
