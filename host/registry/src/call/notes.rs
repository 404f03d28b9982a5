//! An author's notes next to the code of a component, in sections that no model reads: its card, and the digest of the
//! wallets it was trained on.

use std::sync::Arc;

use wasmparser::{Parser, Payload};

use assay_domain::Digest;

/// The names of the sections.
const CARD: &str = "assay-card";
const TRAINING: &str = "assay-training";
/// Maximum size of a card, in bytes.
pub const LARGEST_CARD: usize = 256 << 10;

/// The notes of a component.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notes {
    /// Its card, in TOML.
    pub card: Option<Arc<str>>,
    /// SHA-256 of the features file that it was trained on.
    pub training: Option<Digest>,
}

impl Notes {
    /// The notes in `component`. A card that is too large or is not text is ignored.
    pub fn of(component: &[u8]) -> Self {
        let mut notes = Self::default();
        let mut depth = 0_usize;
        for payload in Parser::new(0).parse_all(component) {
            match payload {
                Ok(Payload::Version { .. }) => depth += 1,
                Ok(Payload::End(_)) => depth = depth.saturating_sub(1),
                Ok(Payload::CustomSection(section)) if depth == 1 => match section.name() {
                    CARD if section.data().len() <= LARGEST_CARD => {
                        notes.card = str::from_utf8(section.data()).ok().map(Arc::from);
                    }
                    TRAINING => notes.training = section.data().try_into().ok().map(Digest),
                    _ => {}
                },
                Ok(_) => {}
                Err(_) => break,
            }
        }
        notes
    }

    /// Appends these notes to `component`, which must not be signed yet.
    pub fn put(&self, mut component: Vec<u8>) -> Vec<u8> {
        if let Some(card) = &self.card {
            append(&mut component, CARD, card.as_bytes());
        }
        if let Some(Digest(digest)) = &self.training {
            append(&mut component, TRAINING, digest);
        }
        component
    }
}

/// Appends a custom section.
fn append(component: &mut Vec<u8>, name: &str, data: &[u8]) {
    let mut head = Vec::new();
    number(&mut head, name.len());
    component.push(0);
    number(component, head.len() + name.len() + data.len());
    component.extend([&head, name.as_bytes(), data].concat());
}

/// Writes an unsigned number as LEB128.
fn number(out: &mut Vec<u8>, mut number: usize) {
    loop {
        let low = (number & 0x7f) as u8;
        number >>= 7;
        if number == 0 {
            return out.push(low);
        }
        out.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SigningKey;

    #[test]
    fn notes_come_back_from_a_component_that_is_still_valid() {
        let component = wat::parse_str("(component (core module (@custom \"assay-card\" \"inner\")))").unwrap();
        assert_eq!(Notes::of(&component), Notes::default(), "a note of a module inside is none of the component");
        let notes = Notes { card: Some("x".repeat(300).into()), training: Some(Digest([7; 32])) };
        let noted = notes.put(component.clone());
        wasmparser::validate(&noted).unwrap();
        assert_eq!(Notes::of(&noted), notes);
        assert_eq!(Notes::of(&SigningKey::generate().unwrap().0.sign(&noted)), notes);
        let large = Notes { card: Some("x".repeat(LARGEST_CARD + 1).into()), training: None };
        assert_eq!(Notes::of(&large.put(component)), Notes::default());
    }
}
