//! Files on the shelf: whatever bytes there are, they are a model that keeps to its bounds or they are refused.

use assay_domain::features::Features;
use assay_registry::{CreditModel, Limits, OfKind as _, standalone, to_component};

pub fn run(input: &[u8]) {
    // What is no component is refused cheaply, so that most of the time goes into what comes after.
    if to_component(input).is_err() {
        return;
    }
    if let Ok(model) = standalone(input, &Limits::default())
        && let Some(model) = CreditModel::of(&model)
    {
        let _ = model.score(&Features::default());
    }
}
