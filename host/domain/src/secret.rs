//! Values that are never printed.

use std::{env, fmt};

use serde::{Deserialize, Deserializer, de::Error};

/// Text that may contain a credential. `$NAME` in the file is replaced from the environment. The text never reaches a
/// log.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself. Never display it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.strip_prefix('$') {
            None => Ok(Self(text)),
            Some(name) => env::var(name)
                .map(Self)
                .map_err(|_| D::Error::custom(format!("environment variable {name} is not set"))),
        }
    }
}
