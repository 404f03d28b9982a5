//! The WIT world of a component: the one model interface that it exports.

use wasmparser::{BinaryReaderError, Parser, Payload};
use wasmtime::{Engine, component::Component};

use crate::LoadError;
use assay_domain::ModelKind;

/// A major version of the contract between host and models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Generation {
    V1,
    V2,
}

impl Generation {
    /// The folder of its contract.
    pub(crate) fn wit(self) -> &'static str {
        match self {
            Self::V1 => "wit/v1",
            Self::V2 => "wit/v2",
        }
    }

    /// The generation of an interface with this version, by its major number.
    fn of(version: &str) -> Option<Self> {
        match version.split('.').next() {
            Some("1") => Some(Self::V1),
            Some("2") => Some(Self::V2),
            _ => None,
        }
    }
}

/// The exported model interface.
#[derive(Debug)]
pub(crate) struct KindWorld {
    pub kind: ModelKind,
    pub generation: Generation,
    /// The full name with the version: `assay:model/credit@1.0.0`.
    pub interface: String,
}

/// The world named by the exports of a component, found without compiling it.
pub(crate) fn named(component: &[u8]) -> Result<KindWorld, LoadError> {
    among(&exports(component)?)
}

/// The names of a component's exports, found without compiling it.
///
/// # Errors
/// If it is not a component.
pub fn exports(component: &[u8]) -> Result<Vec<&str>, LoadError> {
    let invalid = |error: BinaryReaderError| LoadError::Invalid(error.to_string());
    let (mut depth, mut names) = (0_usize, Vec::new());
    for payload in Parser::new(0).parse_all(component) {
        match payload.map_err(invalid)? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentExportSection(exports) if depth == 0 => {
                for export in exports {
                    names.push(export.map_err(invalid)?.name.name);
                }
            }
            _ => {}
        }
    }
    Ok(names)
}

/// The one model interface of the exports. Other exports, which some toolchains add, are ignored.
pub(crate) fn world(component: &Component, engine: &Engine) -> Result<KindWorld, LoadError> {
    among(&component.component_type().exports(engine).map(|(name, _)| name).collect::<Vec<_>>())
}

fn among(exports: &[&str]) -> Result<KindWorld, LoadError> {
    let mut found = Vec::new();
    let mut other = None;
    for name in exports {
        let Some((interface, version)) = name.strip_prefix("assay:model/").and_then(|name| name.split_once('@')) else {
            continue;
        };
        let Ok(kind) = interface.parse::<ModelKind>() else { continue };
        match Generation::of(version) {
            Some(generation) => found.push(KindWorld { kind, generation, interface: (*name).to_owned() }),
            None => other = Some((*name).to_owned()),
        }
    }
    match (found.pop(), found.is_empty(), other) {
        (Some(world), true, _) => Ok(world),
        (Some(last), false, _) => {
            Err(LoadError::SeveralKinds(found.into_iter().chain([last]).map(|world| world.interface).collect()))
        }
        (None, _, Some(other)) => Err(LoadError::OtherGeneration(other)),
        (None, _, None) => Err(LoadError::WrongWorld(exports.iter().map(|name| (*name).to_owned()).collect())),
    }
}
