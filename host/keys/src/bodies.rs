//! The keys that a server accepts, without their text.

use std::num::NonZeroU32;

use serde::Serialize;
use utoipa::ToSchema;

use assay_access::KnownKey;
use assay_http::values::Moment;

/// All keys.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Keys)]
pub struct KeysBody {
    pub keys: Vec<KeyBody>,
    pub count: usize,
}

/// One key, and the units it has used.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Key, example = json!({
    "name": "first", "scopes": ["read"], "units": 1000, "used": 13, "left": 987, "rate": 600, "source": "store",
    "minted_at": "2026-01-15T10:30:00Z"
}))]
pub struct KeyBody {
    name: String,
    /// `read`, `submit`, `admin`.
    #[schema(value_type = Vec<String>)]
    scopes: Vec<&'static str>,
    /// Total units it may use; null for a key that is not metered.
    units: Option<u64>,
    /// Null for a key that is not metered, because nothing is counted.
    used: Option<u64>,
    left: Option<u64>,
    /// Requests per minute that it may make; null when there is no limit.
    #[schema(value_type = Option<u32>)]
    rate: Option<NonZeroU32>,
    /// `configuration`, or `store` for a minted key.
    #[schema(value_type = String)]
    source: &'static str,
    /// Null for a key of the configuration.
    #[schema(value_type = Option<String>, format = DateTime)]
    minted_at: Option<Moment>,
}

/// A key that was just minted.
#[derive(Serialize, ToSchema)]
#[schema(as = MintedKey)]
pub struct MintedKeyBody {
    /// The text of the key, which is not shown again.
    pub secret: String,
    pub key: KeyBody,
}

impl From<KnownKey> for KeyBody {
    fn from(KnownKey { name, scopes, units, used, rate, minted_at }: KnownKey) -> Self {
        Self {
            name,
            scopes: scopes.iter().map(|scope| scope.as_str()).collect(),
            units,
            used,
            left: units.zip(used).map(|(limit, used)| limit.saturating_sub(used)),
            rate,
            source: if minted_at.is_some() { "store" } else { "configuration" },
            minted_at: minted_at.map(Moment),
        }
    }
}
