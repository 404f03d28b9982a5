//! The component's exports: the contract's functions, each a call into the model.

use arena as _;

use crate::{
    bindings::{self, exports::assay::model::boost::Guest},
    types::{ModelInfo, OffChain},
};

struct Component;

impl Guest for Component {
    fn describe() -> ModelInfo {
        crate::describe()
    }

    fn boost(score: u32, off_chain: OffChain) -> u32 {
        crate::boost(score, &off_chain)
    }
}

bindings::export!(Component with_types_in bindings);
