//! The data of a model as bytes: a header with the place of each section, then the sections, aligned to 8 bytes.

use tables::data::{HEADER, MAGIC, SECTIONS, Section};

/// The sections in their order.
#[derive(Clone)]
pub(crate) struct Packed {
    places: [(u32, u32); SECTIONS],
    body: Vec<u8>,
}

impl Packed {
    pub(crate) fn new() -> Self {
        Self { places: [(0, 0); SECTIONS], body: Vec::new() }
    }

    pub(crate) fn put(&mut self, section: Section, bytes: impl IntoIterator<Item = u8>) {
        self.body.resize(self.body.len().next_multiple_of(8), 0);
        let start = self.body.len();
        self.body.extend(bytes);
        if let Some(place) = self.places.get_mut(section as usize) {
            *place = (number(HEADER.next_multiple_of(8) + start), number(self.body.len() - start));
        }
    }

    pub(crate) fn numbers(&mut self, section: Section, numbers: impl IntoIterator<Item = u32>) {
        self.put(section, numbers.into_iter().flat_map(u32::to_le_bytes));
    }

    pub(crate) fn singles(&mut self, section: Section, numbers: impl IntoIterator<Item = f64>) {
        self.put(section, numbers.into_iter().flat_map(|number| (number as f32).to_le_bytes()));
    }

    pub(crate) fn doubles(&mut self, section: Section, numbers: impl IntoIterator<Item = f64>) {
        self.put(section, numbers.into_iter().flat_map(f64::to_le_bytes));
    }

    /// Writes the texts, and the place and length of each.
    pub(crate) fn texts(&mut self, texts: &[Vec<u8>]) {
        let mut start = 0;
        let place = |text: &Vec<u8>| {
            let place = [number(start), number(text.len())];
            start += text.len();
            place
        };
        let places: Vec<u32> = texts.iter().flat_map(place).collect();
        self.numbers(Section::TextPlaces, places);
        self.put(Section::Texts, texts.concat());
    }

    pub(crate) fn bytes(self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for (start, length) in self.places {
            bytes.extend(start.to_le_bytes());
            bytes.extend(length.to_le_bytes());
        }
        bytes.resize(HEADER.next_multiple_of(8), 0);
        bytes.extend(self.body);
        bytes
    }
}

/// A size as the format has it. `pack` refuses data long before a size reaches the largest `u32`.
pub(crate) fn number(size: usize) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}
