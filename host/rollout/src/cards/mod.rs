//! Model cards: the purpose of a model, its origin, its evidence, its inputs, and its claims by population. A card is a
//! section of the component, or a file `cards/<kind>-<version>.toml` on the shelf that names the digest of the
//! component; together with the model's own description it is rendered as a page of Markdown.
//!
//! | file | owns |
//! |---|---|
//! | `file` | the text of a card, and where it is |
//! | `claims`, `reasons`, `inputs` | what it says: rates of outcomes, reason codes, and the inputs of the model |
//! | `stated` | what the card of a model states, read from the shelf or the component |
//! | `page` | the page |
//! | `kept` | the cards of models in service, for answers |

mod claims;
mod file;
mod inputs;
mod kept;
mod page;
mod reasons;
mod stated;

use std::path::PathBuf;

use assay_domain::{Digest, ModelKind, ModelVersion};

pub use claims::in_words;
pub use file::{check, path};
pub use inputs::ModelInputs;
pub use kept::{Cards, Described};
pub use page::markdown;
pub use reasons::codes;
pub use stated::{claims, doubts, inputs};

/// Why a card cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum CardError {
    #[error("the card {} cannot be read: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
    #[error(
        "the card {} is for a component with digest {named}, but the model has {found}: replace the card",
        path.display()
    )]
    OtherBytes { path: PathBuf, named: String, found: Digest },
    #[error("the card {} has an invalid claim: {reason}", path.display())]
    BadClaim { path: PathBuf, reason: String },
    #[error("the card {} has an invalid reason: {reason}", path.display())]
    BadReason { path: PathBuf, reason: String },
    #[error("the card {} has an invalid input: {reason}", path.display())]
    BadInput { path: PathBuf, reason: String },
    #[error("the card in the model {kind} {version} cannot be read: {reason}")]
    Packed { kind: ModelKind, version: ModelVersion, reason: String },
}
