//! The checks of every request: keys with their rates and units, and the limits of the server. Cheap to clone.

use std::{ops::Deref, sync::Arc, time::Duration};

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::{
    ApiError,
    config::{Http, Network, WebOrigin},
};
use assay_access::Access;

/// The gate of a server.
#[derive(Clone)]
pub struct Gate(Arc<GateState>);

/// The parts of a [`Gate`].
pub struct GateState {
    pub access: Access,
    pub limits: RequestLimits,
    /// Callers may pay instead of having a key.
    pub takes_payments: bool,
    /// The server is stopping.
    pub stopping: CancellationToken,
    /// Permits of concurrent requests.
    pub(crate) request_permits: Semaphore,
    /// Proxies whose `X-Forwarded-For` is trusted.
    pub(crate) proxies: Vec<Network>,
    /// Origins whose pages may call every route.
    pub(crate) cors_origins: Vec<WebOrigin>,
}

/// The limits of one request.
#[derive(Debug, Clone)]
pub struct RequestLimits {
    /// Largest request line with its headers, in bytes.
    pub head: usize,
    /// Largest body, in bytes.
    pub body: u64,
    /// Largest table of wallets, in bytes.
    pub table: u64,
    pub components: Components,
    /// Most addresses in one request.
    pub addresses: usize,
    /// Longest time until the response.
    pub request: Duration,
    /// Longest time to receive the body.
    pub arrival: Duration,
}

/// The limits of uploaded components, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Components {
    pub largest: u64,
    /// The same on a server that takes large models.
    pub large: u64,
    /// The refusal of a component that only such a server takes, by its size and the limit.
    pub needs_large: fn(&str, u64) -> ApiError,
}

impl Gate {
    pub fn new(http: &Http, components: Components, access: Access, takes_payments: bool) -> Self {
        Self(Arc::new(GateState {
            access,
            limits: RequestLimits {
                head: http.max_head_bytes,
                body: http.max_body_bytes as u64,
                table: http.max_table_bytes as u64,
                components,
                addresses: http.max_addresses,
                request: http.request_timeout,
                arrival: http.body_timeout,
            },
            takes_payments,
            stopping: CancellationToken::new(),
            request_permits: Semaphore::new(http.max_requests),
            proxies: http.trusted_proxies.clone(),
            cors_origins: http.cors_origins.clone(),
        }))
    }
}

impl Deref for Gate {
    type Target = GateState;

    fn deref(&self) -> &GateState {
        &self.0
    }
}
