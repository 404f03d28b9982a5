//! The component's exports: the contract's functions, each a call into the model.

use arena as _;

use crate::{
    bindings::{self, exports::assay::model::sybil::Guest},
    types::{Features, ModelInfo},
};

struct Component;

impl Guest for Component {
    fn describe() -> ModelInfo {
        crate::describe()
    }

    fn risk(features: Features) -> crate::RiskAssessment {
        crate::risk(&features)
    }
}

bindings::export!(Component with_types_in bindings);
