//! Numbers the assets of a chain in the order in which they first appear.

use alloy::primitives::map::HashMap;
use assay_lending::Asset;

#[derive(Debug, Clone, Default)]
pub(crate) struct AssetTable {
    list: Vec<Asset>,
    numbers: HashMap<Asset, u64>,
}

impl AssetTable {
    pub(crate) fn new(list: Vec<Asset>) -> Self {
        let numbers = list.iter().copied().zip(0..).collect();
        Self { list, numbers }
    }

    /// Returns the number of `asset`, and assigns one if it has none.
    pub(super) fn number(&mut self, asset: Asset) -> u64 {
        let next = self.list.len() as u64;
        *self.numbers.entry(asset).or_insert_with(|| {
            self.list.push(asset);
            next
        })
    }

    pub(super) fn asset(&self, number: u64) -> Option<Asset> {
        self.list.get(usize::try_from(number).ok()?).copied()
    }

    pub(crate) fn list(&self) -> &[Asset] {
        &self.list
    }
}
