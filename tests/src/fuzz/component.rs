//! Files on the shelf: any bytes are either a model that stays within its limits, or refused.

use assay_domain::features::Features;
use assay_registry::{CreditModel, Limits, OfKind as _, standalone, to_component};

pub fn run(input: &[u8]) {
    // Refuse non-components early, so most of the time goes into later checks.
    if to_component(input).is_err() {
        return;
    }
    if let Ok(model) = standalone(input, &Limits::default())
        && let Some(model) = CreditModel::of(&model)
    {
        let _ = model.score(&Features::default());
    }
}
