//! Links the core modules of a component into one: a Python or JavaScript interpreter comes as several, which share a
//! memory and a table. wasmtime prepares a table that a module defines, and fills one that it imports at each start:
//! linked into one, a call of a Python model costs half, and of a JavaScript model two thirds.
//!
//! | file | owns |
//! |---|---|
//! | `component` | the walk over the component: what each of its indices means |
//! | `tables` | where the tables of the modules begin in the one table |
//! | `merged` | the sections of the one module |
//! | `renumber` | the indices of a module in the one module |
//! | `pages` | the pages that are written together, so that a host clears few runs of them |

mod component;
mod merged;
mod pages;
mod renumber;
mod tables;

use std::{collections::BTreeSet, fmt::Display, ops::Range};

use wasmparser::{Parser, Payload};

/// One core module with the exports of `component`, and with the component type of its world. `wit` gives the contract
/// by the version of the interface that the component exports, and `world` names the world by that interface. What the
/// component would ask of its host stops the module, and the name of that function is kept for the error. `written` are
/// the pages of memory that its calls write, empty if they are not known.
///
/// # Errors
/// What the component has that cannot be linked.
pub(crate) fn fuse(
    component: &[u8],
    wit: impl Fn(&str) -> [(&'static str, &'static str); 3],
    world: impl Fn(&str) -> String,
    written: &BTreeSet<u32>,
) -> Result<Vec<u8>, String> {
    let (mut merged, exports) = component::link(inner(component))?;
    merged.touch(written);
    let interface = exports.keys().find_map(|name| name.strip_prefix("assay:model/")?.split_once('@'));
    let (interface, version) = interface.ok_or("it exports no interface of a model")?;
    Ok(merged.module(&exports, &component_type(&wit(version), &world(interface))?))
}

/// A toolchain may wrap the component in another one, beside stubs of what it imports.
fn inner(mut bytes: &[u8]) -> &[u8] {
    let largest = |bytes| {
        let nested = Parser::new(0).parse_all(bytes).filter_map(|payload| match payload {
            Ok(Payload::ComponentSection { unchecked_range, .. }) => part(bytes, &unchecked_range).ok(),
            _ => None,
        });
        nested.max_by_key(|part| part.len()).filter(|part| part.len() > bytes.len() / 2)
    };
    while let Some(inner) = largest(bytes) {
        bytes = inner;
    }
    bytes
}

/// The bytes of a module or component within another.
fn part<'a>(bytes: &'a [u8], range: &Range<u64>) -> Result<&'a [u8], String> {
    let range = usize::try_from(range.start).map_err(text)?..usize::try_from(range.end).map_err(text)?;
    bytes.get(range).ok_or_else(|| "a part ends after its file".to_owned())
}

/// The section from which a core module becomes a component.
fn component_type(wit: &[(&str, &str)], world: &str) -> Result<Vec<u8>, String> {
    let mut sources = wit_parser::SourceMap::new();
    for (name, text) in wit {
        sources.push_str(name, *text);
    }
    let mut resolve = wit_parser::Resolve::default();
    let parsed = sources.parse().map_err(|(_, error)| text(error))?;
    let package = resolve.push_group(parsed).map_err(text)?;
    let world = resolve.select_world(&[package], Some(world)).map_err(text)?;
    wit_component::metadata::encode(&resolve, world, wit_component::StringEncoding::UTF8, None, false).map_err(text)
}

fn text(error: impl Display) -> String {
    error.to_string()
}
