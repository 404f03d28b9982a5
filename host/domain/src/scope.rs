//! The scopes of API keys.

use serde::Deserialize;

/// What a key may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    Read,
    Submit,
    Admin,
}

impl std::str::FromStr for Scope {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let all = [Self::Read, Self::Submit, Self::Admin];
        all.into_iter().find(|scope| scope.as_str() == name).ok_or("a scope is read, submit or admin")
    }
}

impl Scope {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Submit => "submit",
            Self::Admin => "admin",
        }
    }
}
