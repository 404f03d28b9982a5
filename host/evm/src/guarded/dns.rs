//! Looks hosts up for the guarded client, and gives it those addresses alone that it may connect to: what is checked is
//! what is connected to, so that a name that answers otherwise the next time gains nothing.

use std::{io, net::SocketAddr, sync::Arc};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::{Allowed, addresses::is_public};

/// A host that has no address in the open.
#[derive(Debug, thiserror::Error)]
#[error("the host has no public address")]
pub(super) struct Inward;

pub(super) struct Checked {
    /// For these hosts whatever is found is good. Which of their ports is asked was judged before.
    pub allowed: Arc<Allowed>,
}

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let any = self.allowed.has_host(name.as_str());
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            if found.is_empty() {
                return Err(io::Error::from(io::ErrorKind::NotFound).into());
            }
            let allowed: Vec<_> = found.into_iter().filter(|at| any || is_public(at.ip())).collect();
            if allowed.is_empty() { Err(Inward.into()) } else { Ok(Box::new(allowed.into_iter()) as Addrs) }
        })
    }
}
