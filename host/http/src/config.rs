//! `[http]`: the limits of the HTTP server, and the proxies that it trusts.

use std::{net::IpAddr, str::FromStr, time::Duration};

use assay_domain::settings::{self, Problems};
use http::{HeaderValue, uri::Authority};
use serde::Deserialize;

/// Limits of the HTTP server.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Http {
    /// Largest request body, in bytes. Component uploads have `models.max_component_bytes` instead.
    pub max_body_bytes: usize,
    /// Largest table of wallets, in bytes.
    pub max_table_bytes: usize,
    /// Largest request line with its headers, in bytes; larger ones are answered with 431.
    pub max_head_bytes: usize,
    /// Timeout of a request; then it is answered with 504.
    #[serde(rename = "request_timeout_ms", deserialize_with = "settings::millis")]
    pub request_timeout: Duration,
    /// Maximum time for a client to send its headers, and for a connection to be idle.
    #[serde(rename = "header_timeout_ms", deserialize_with = "settings::millis")]
    pub header_timeout: Duration,
    /// Maximum time for a request's body to arrive; then the request is answered with 408.
    #[serde(rename = "body_timeout_ms", deserialize_with = "settings::millis")]
    pub body_timeout: Duration,
    /// Maximum time in which a client reads nothing of its response; then its connection is closed.
    #[serde(rename = "write_timeout_ms", deserialize_with = "settings::millis")]
    pub write_timeout: Duration,
    /// Open connections; more wait until one ends.
    pub max_connections: usize,
    /// Open connections from one address, or from one /64 of IPv6; more are closed at once. 0 for no limit.
    /// `trusted_proxies` have no limit.
    pub max_connections_per_address: usize,
    /// Requests in flight; more are answered with 503 at once.
    pub max_requests: usize,
    /// Clients that wait for the next state of a submission; more are answered with 503 at once.
    pub max_waiting: usize,
    /// Largest number of addresses in one multi-address request.
    pub max_addresses: usize,
    /// Time in which a stopping server still takes requests while `/readyz` answers 503.
    #[serde(rename = "drain_notice_ms", deserialize_with = "settings::millis")]
    pub drain_notice: Duration,
    /// Maximum time that a stopping server waits for requests in flight.
    #[serde(rename = "drain_timeout_ms", deserialize_with = "settings::millis")]
    pub drain_timeout: Duration,
    /// Proxies whose `X-Forwarded-For` header is used, and whose connections are not limited.
    pub trusted_proxies: Vec<Network>,
    /// Origins whose pages may call every route from a browser.
    pub cors_origins: Vec<WebOrigin>,
}

impl Http {
    pub fn problems(&self) -> Problems {
        let mut found = Problems::default();
        found.number("max_body_bytes", self.max_body_bytes, 1..);
        found.number("max_table_bytes", self.max_table_bytes, 1..=256 << 20);
        // The least that the HTTP implementation takes.
        let small = self.max_head_bytes < 8_192;
        found.add_if(small, "max_head_bytes", "below 8192; requests of ordinary clients would be refused");
        found.number("max_head_bytes", self.max_head_bytes, ..=16 << 20);
        found.millis("header_timeout_ms", self.header_timeout, 1..=600_000);
        found.millis("body_timeout_ms", self.body_timeout, 1..);
        let what = "not below http.request_timeout_ms, so a slow body would get 504 instead of 408; lower it";
        found.add_if(self.body_timeout >= self.request_timeout, "body_timeout_ms", what);
        found.millis("write_timeout_ms", self.write_timeout, 1..=600_000);
        found.number("max_connections", self.max_connections, 1..=1_000_000);
        found.number("max_requests", self.max_requests, 1..=1_000_000);
        found.number("max_waiting", self.max_waiting, 0..=1_000_000);
        found.number("max_addresses", self.max_addresses, 1..);
        found
    }
}

/// The addresses that share a prefix, such as `10.0.0.0/8`, or one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Network {
    first: IpAddr,
    bits: u32,
}

/// The text is not a network.
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
    let prefix = |bits: u128| bits.checked_shr(free).unwrap_or(0);
    prefix(one) == prefix(other)
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

/// The origin of a page, such as `https://app.example:8443`, as browsers write it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct WebOrigin(String);

/// The text is not an origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an origin: write scheme://host or scheme://host:port, such as https://app.example, without a path")]
pub struct NotAnOrigin;

impl WebOrigin {
    /// Whether this is the value of an `Origin` header.
    pub(crate) fn is(&self, header: &HeaderValue) -> bool {
        header.as_bytes() == self.0.as_bytes()
    }
}

impl TryFrom<String> for WebOrigin {
    type Error = NotAnOrigin;

    /// Browsers write the host in lower case, and leave out the usual port of a scheme.
    fn try_from(text: String) -> Result<Self, NotAnOrigin> {
        let text = text.to_ascii_lowercase();
        let (scheme, host) = text.split_once("://").ok_or(NotAnOrigin)?;
        let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
        let authority: Authority = host.parse().map_err(|_| NotAnOrigin)?;
        let is_pattern = host.contains(['@', '*']) || authority.host().is_empty();
        // A port after a colon: neither only a colon nor a number above 65535.
        let is_whole = authority.port().is_none_or(|port| port.as_u16() > 0)
            && host.len() == authority.host().len() + authority.port().map_or(0, |port| 1 + port.as_str().len());
        if !is_scheme || is_pattern || !is_whole {
            return Err(NotAnOrigin);
        }
        let usual = match scheme {
            "https" => ":443",
            "http" => ":80",
            _ => "",
        };
        Ok(Self(format!("{scheme}://{}", host.strip_suffix(usual).unwrap_or(host))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_contains_the_addresses_with_its_prefix() {
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

    #[test]
    fn an_origin_is_written_as_browsers_write_it() {
        let read = |text: &str| WebOrigin::try_from(text.to_owned()).map(|origin| origin.0);
        for (text, origin) in [
            ("https://app.example", "https://app.example"),
            ("HTTPS://App.Example:443", "https://app.example"),
            ("http://localhost:80", "http://localhost"),
            ("http://127.0.0.1:3000", "http://127.0.0.1:3000"),
            ("https://[::1]:8443", "https://[::1]:8443"),
            ("https://app.example:80", "https://app.example:80"),
            ("moz-extension://0a1b", "moz-extension://0a1b"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(origin), "{text}");
        }
        for bad in [
            "",
            "*",
            "null",
            "app.example",
            "https://",
            "https://app.example/",
            "https://app.example/path",
            "https://app.example?a=b",
            "https://*.example",
            "https://user@app.example",
            "https://app.example:",
            "https://app.example:0",
            "https://app.example:99999",
            "https://app example",
            "1http://app.example",
        ] {
            assert_eq!(read(bad), Err(NotAnOrigin), "{bad}");
        }
    }
}
