//! The address of a client: the peer of the connection, or the address that a trusted proxy forwards.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use axum::{extract::Request, http::HeaderMap};

use crate::{config::Network, server::Peer};

const FORWARDED: &str = "x-forwarded-for";

/// Each proxy appends the address of its peer. The last address that is not one of `proxies` is the client's; the
/// client may have forged the addresses before it.
pub(crate) fn origin(request: &Request, proxies: &[Network]) -> IpAddr {
    let peer = request.extensions().get::<Peer>().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.0);
    behind(peer, request.headers(), proxies)
}

fn behind(peer: IpAddr, headers: &HeaderMap, proxies: &[Network]) -> IpAddr {
    let is_trusted = |address: IpAddr| proxies.iter().any(|network| network.contains(address));
    let mut client = peer;
    let lines: Vec<&str> = headers.get_all(FORWARDED).iter().map(|line| line.to_str().unwrap_or_default()).collect();
    for hop in lines.iter().flat_map(|line| line.split(',')).rev() {
        if !is_trusted(client) {
            break;
        }
        // A trusted proxy copied an invalid value from its client: the address so far is the last one known.
        let Some(address) = address(hop.trim()) else { break };
        client = address;
    }
    client
}

/// An address, with or without a port.
fn address(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let found = bare.parse().or_else(|_| text.parse::<SocketAddr>().map(|with_port| with_port.ip()));
    found.ok().map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn only_a_trusted_proxy_is_believed_and_only_about_its_own_client() {
        let proxies: Vec<Network> = ["10.0.0.0/8", "fd00::1"].map(|text| text.parse().unwrap()).into();
        for (peer, lines, expected) in [
            ("203.0.113.1", &["198.51.100.1"][..], "203.0.113.1"),
            ("10.0.0.1", &[], "10.0.0.1"),
            ("10.0.0.1", &["198.51.100.1"], "198.51.100.1"),
            ("10.0.0.1", &["6.6.6.6, 198.51.100.1"], "198.51.100.1"),
            ("10.0.0.1", &["6.6.6.6, 198.51.100.1,10.2.3.4"], "198.51.100.1"),
            ("10.0.0.1", &["6.6.6.6", "198.51.100.1"], "198.51.100.1"),
            ("10.0.0.1", &["198.51.100.1:8080"], "198.51.100.1"),
            ("fd00::1", &["[2001:db8::1]:8080"], "2001:db8::1"),
            ("fd00::1", &["[2001:db8::1]"], "2001:db8::1"),
            ("10.0.0.1", &["nonsense"], "10.0.0.1"),
            ("10.0.0.1", &["6.6.6.6, nonsense, 10.0.0.2"], "10.0.0.2"),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(FORWARDED, HeaderValue::from_static(line));
            }
            assert_eq!(
                behind(peer.parse().unwrap(), &headers, &proxies),
                expected.parse::<IpAddr>().unwrap(),
                "{peer} {lines:?}"
            );
        }
        let mut headers = HeaderMap::new();
        headers.append(FORWARDED, HeaderValue::from_static("198.51.100.1"));
        assert_eq!(behind([10, 0, 0, 1].into(), &headers, &[]), IpAddr::from([10, 0, 0, 1]));
    }
}
