//! The component's exports: the contract's functions, each a call into the model.

use arena as _;

use crate::{
    bindings::{self, exports::assay::model::credit::Guest},
    types::{Factor, Features, ModelInfo, Refusal},
};

struct Component;

impl Guest for Component {
    fn describe() -> ModelInfo {
        crate::describe()
    }

    fn score(features: Features) -> Result<crate::Verdict, Refusal> {
        crate::score(&features)
    }

    fn explain(features: Features) -> Result<Vec<Factor>, Refusal> {
        crate::explain(&features)
    }

    fn decile(score: u32) -> u8 {
        crate::decile(score)
    }
}

bindings::export!(Component with_types_in bindings);
