//! `assay model card`: the card of a model on the shelf.

use assay_domain::{ModelKind, ModelVersion};

use super::read;
use crate::{ConfigFile, Failure, print};
use assay_rollout::cards;

pub fn card(kind: ModelKind, version: &ModelVersion, config: &ConfigFile) -> Result<(), Failure> {
    let config = config.load()?;
    let (shelf, limits) = (&config.models.shelf, config.models.limits());
    let none = || Failure::no(format!("the shelf {} has no {kind} model {version} with a card", shelf.display()));
    let entries = std::fs::read_dir(shelf).map_err(|error| Failure::cannot(format!("{}: {error}", shelf.display())))?;
    for file in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if file.extension().is_none_or(|extension| extension != "wasm") {
            continue;
        }
        let Ok(bytes) = read(&file, &limits) else { continue };
        let Ok(model) = assay_registry::standalone(&bytes, &limits) else { continue };
        if (model.kind(), model.version()) == (kind, version) {
            let packed = model.notes().card.as_deref();
            let page = cards::markdown(shelf, model.info(), model.digest(), packed).map_err(Failure::cannot)?;
            return print(page.ok_or_else(none)?.trim_end());
        }
    }
    Err(none())
}
