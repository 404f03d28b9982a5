//! The items of a list without an answer.

/// An item of a list of subjects that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The item as the caller sent it.
    pub item: String,
    pub why: SkipReason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason {
    /// It is neither an address nor a name.
    Invalid,
    /// The address has no activity on any chain, or the name does not resolve.
    NotFound,
    /// It could not be read now.
    Unread,
}

/// The answers for the items of a list, in their order.
#[derive(Debug, Clone)]
pub struct Several<T> {
    pub found: Vec<T>,
    pub skipped: Vec<Skipped>,
}

impl SkipReason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::NotFound => "not_found",
            Self::Unread => "unread",
        }
    }
}
