//! Core modules from WebAssembly text, and their components.

use std::fmt::Write as _;

use wit_component::{StringEncoding, embed_component_metadata};
use wit_parser::{Resolve, SourceMap};

/// The types and worlds of `wit/v1` and `wit/v2`.
pub(crate) const CONTRACTS: [(&str, &str); 2] = [
    (include_str!("../../../wit/v1/types.wit"), include_str!("../../../wit/v1/worlds.wit")),
    (include_str!("../../../wit/v2/types.wit"), include_str!("../../../wit/v2/worlds.wit")),
];

/// Data segments of a module.
pub(crate) struct Data {
    pub at: usize,
    pub text: String,
}

impl Data {
    pub fn put(&mut self, text: &str) -> (usize, usize) {
        let (at, length) = (self.at, text.len());
        self.bytes(at, text.as_bytes());
        self.at += length;
        (at, length)
    }

    pub fn words(&mut self, at: usize, words: &[u32]) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.bytes(at, &bytes);
    }

    pub fn bytes(&mut self, at: usize, bytes: &[u8]) {
        write!(self.text, "(data (i32.const {at}) \"").expect("a string grows");
        for byte in bytes {
            write!(self.text, "\\{byte:02x}").expect("a string grows");
        }
        self.text.push_str("\")\n");
    }

    pub fn align(&mut self) {
        self.at = self.at.next_multiple_of(8);
    }
}

/// Parses `text` as a core module, and adds metadata that it implements `world` of the WIT files `types` and `worlds`.
pub(crate) fn module(text: &str, (types, worlds): (&str, &str), world: &str) -> Vec<u8> {
    let mut module = wat::parse_str(text).expect("the text of the model");
    let mut resolve = Resolve::new();
    let mut files = SourceMap::new();
    files.push_str("types.wit", types);
    files.push_str("worlds.wit", worlds);
    let package = files.parse().map_err(|(_, error)| error.to_string()).expect("the interface");
    let package = resolve.push_group(package).expect("the interface");
    let world = resolve.select_world(&[package], Some(world)).expect("the world");
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8, false).expect("metadata");
    module
}

/// Encodes a core module as a component.
pub fn component(module: &[u8]) -> Vec<u8> {
    assay_registry::to_component(module).expect("a component").into_owned()
}
