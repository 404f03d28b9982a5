//! A route as data: what it demands of its caller, what a call costs and how large its body may be.

use crate::{ApiError, RequestLimits};
use assay_access::PriceClass;

/// A route without its handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    pub method: &'static str,
    /// As the router, the metrics and the OpenAPI document write it.
    pub path: &'static str,
    pub admission: Admission,
    pub body: BodySize,
    /// A call costs the price once for each subject or version that it names.
    pub several: bool,
    /// Pages of every origin may call it: it is public information, or free and without a risk for its caller.
    pub is_open: bool,
    /// Its handler decides whether a caller without a key may make the call: one that holds what was paid for.
    pub admits_holders: bool,
}

/// The requirements of a route for its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// A key, or a payment, at this price.
    Priced(PriceClass),
    /// No key; requests count against the rate of their address.
    Public,
    /// No key and no rate: the operator's tools call it, also while the server is overloaded.
    Operation,
}

/// The size limit of a request body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodySize {
    /// `http.max_body_bytes`.
    Small,
    /// `models.max_component_bytes`.
    Component,
    /// `http.max_table_bytes`.
    Table,
}

/// The size limit of the body of one request, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct BodyLimit {
    pub most: u64,
    /// The same on a server that takes large models.
    pub with_large: u64,
    /// The refusal of a body between the two, by its size.
    pub needs_large: fn(&str, u64) -> ApiError,
}

impl Admission {
    /// Callers without a key may use the route on a server that accepts payments: a client that pays for a submission
    /// needs the agents before it and the status after it.
    pub const fn admits_guests(self) -> bool {
        matches!(self, Self::Priced(PriceClass::Agents | PriceClass::Status))
    }
}

impl Route {
    /// The route of requests that match no other.
    pub const NONE: Self = Self::new("GET", "", Admission::Public);

    pub const fn new(method: &'static str, path: &'static str, admission: Admission) -> Self {
        Self { method, path, admission, body: BodySize::Small, several: false, is_open: false, admits_holders: false }
    }

    /// Its body may be a component.
    #[must_use]
    pub const fn component(self) -> Self {
        Self { body: BodySize::Component, ..self }
    }

    /// Its body may be a table of wallets.
    #[must_use]
    pub const fn table(self) -> Self {
        Self { body: BodySize::Table, ..self }
    }

    /// Its calls name several subjects or versions.
    #[must_use]
    pub const fn several(self) -> Self {
        Self { several: true, ..self }
    }

    /// Pages of every origin may call it.
    #[must_use]
    pub const fn open(self) -> Self {
        Self { is_open: true, ..self }
    }

    /// Its handler also admits a caller without a key who has the token of something that was paid for.
    #[must_use]
    pub const fn held(self) -> Self {
        Self { admits_holders: true, ..self }
    }

    pub fn price(&self) -> Option<PriceClass> {
        match self.admission {
            Admission::Priced(price) => Some(price),
            Admission::Public | Admission::Operation => None,
        }
    }

    /// The price of a call whose units can be reserved before its handler: one that costs the price once. The units of
    /// a submission are taken together with its record.
    pub fn single_price(&self) -> Option<PriceClass> {
        self.price().filter(|price| !self.several && *price != PriceClass::Submission)
    }

    /// Its path with the slash at the end added or removed; `None` if it ends with the path of a file.
    pub fn other_path(&self) -> Option<String> {
        match self.path.strip_suffix('/') {
            Some("") => None,
            Some(path) => Some(path.to_owned()),
            None => (!self.path.contains("{*")).then(|| format!("{}/", self.path)),
        }
    }
}

impl BodySize {
    pub fn limit(self, limits: &RequestLimits) -> BodyLimit {
        let needs_large = limits.components.needs_large;
        match self {
            Self::Small => BodyLimit { most: limits.body, with_large: limits.body, needs_large },
            Self::Table => BodyLimit { most: limits.table, with_large: limits.table, needs_large },
            Self::Component => {
                BodyLimit { most: limits.components.largest, with_large: limits.components.large, needs_large }
            }
        }
    }
}
