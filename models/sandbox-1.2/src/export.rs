//! The component's exports: the contract's functions, each a call into the model.

use arena as _;

use crate::{
    Behaviour, ChainValue, Report, Scenario, Subject,
    bindings::{self, exports::assay::model::sandbox::Guest},
    types::{Factor, ModelInfo, OffChain},
};

struct Component;

impl Guest for Component {
    fn describe() -> ModelInfo {
        crate::describe()
    }

    fn score(address: Vec<u8>) -> u32 {
        crate::score(&address)
    }

    fn boosted_score(address: Vec<u8>, off_chain: OffChain) -> u32 {
        crate::boosted_score(&address, &off_chain)
    }

    fn factors(address: Vec<u8>) -> Vec<Factor> {
        crate::factors(&address)
    }

    fn report(address: Vec<u8>) -> Report {
        crate::report(&address)
    }

    fn portfolio(address: Vec<u8>) -> Vec<ChainValue> {
        crate::portfolio(&address)
    }

    fn scenarios() -> Vec<Scenario> {
        crate::scenarios()
    }

    fn behaviour_of(subject: Subject) -> Option<Behaviour> {
        crate::behaviour_of(&subject)
    }
}

bindings::export!(Component with_types_in bindings);
