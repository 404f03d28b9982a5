//! Looks up hosts for the guarded client and returns only addresses to which it may connect. The client connects to the
//! checked addresses, so a name that later resolves differently bypasses nothing.

use std::{io, net::SocketAddr, sync::Arc};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::{Allowed, addresses::is_public};

/// A host without a public address.
#[derive(Debug, thiserror::Error)]
#[error("the host has no public address")]
pub(super) struct NoPublicAddress;

pub(super) struct PublicResolver {
    /// Every address of these hosts is allowed. Their ports are checked before the lookup.
    pub allowed: Arc<Allowed>,
}

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let any = self.allowed.has_host(name.as_str());
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            if found.is_empty() {
                return Err(io::Error::from(io::ErrorKind::NotFound).into());
            }
            let allowed: Vec<_> = found.into_iter().filter(|at| any || is_public(at.ip())).collect();
            if allowed.is_empty() { Err(NoPublicAddress.into()) } else { Ok(Box::new(allowed.into_iter()) as Addrs) }
        })
    }
}
