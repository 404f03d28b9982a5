//! From bytes to a model that may be published, or to everything that is wrong with them. The shelf and
//! `assay model check` use the same steps in the same order.

use std::{
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use sha2::{Digest as _, Sha256};
use wasmtime::component::Component;

use crate::{
    LoadError, ScoreError, abi, answer,
    compiled::{self, Compiled},
    contract, encode,
    engine::Runtime,
    lane::Door,
    model::{Model, Tally},
    selftest,
    world::{self, World},
};
use assay_domain::{Digest, ModelInfo, ModelKind, ModelRef};

/// What was found out about a file.
pub(crate) struct Examined {
    pub digest: Digest,
    /// The model, where nothing was wrong.
    pub model: Option<Model>,
    /// Who it says it is, where it got so far.
    pub info: Option<ModelInfo>,
    /// In the order in which they were found.
    pub problems: Vec<LoadError>,
    /// The component, also where a core module was encoded to it.
    pub component_bytes: usize,
    pub was_core_module: bool,
    pub compile: Duration,
    pub self_test: Duration,
}

/// SHA-256 of a file.
pub(crate) fn digest(bytes: &[u8]) -> Digest {
    Digest(Sha256::digest(bytes).into())
}

/// Examines `bytes` on `runtime`. Takes as long as compiling does: never on a request's path.
pub(crate) fn examine(bytes: &[u8], runtime: &Arc<Runtime>, compiled: Option<&Compiled>) -> Examined {
    let mut found = Examined {
        digest: digest(bytes),
        model: None,
        info: None,
        problems: Vec::new(),
        component_bytes: 0,
        was_core_module: false,
        compile: Duration::ZERO,
        self_test: Duration::ZERO,
    };
    if let Err(problem) = steps(bytes, runtime, compiled, &mut found) {
        found.problems.push(problem);
    }
    if !found.problems.is_empty() {
        found.model = None;
    }
    found
}

fn steps(
    bytes: &[u8],
    runtime: &Arc<Runtime>,
    compiled: Option<&Compiled>,
    found: &mut Examined,
) -> Result<(), LoadError> {
    if bytes.len() > runtime.limits.file {
        return Err(LoadError::TooLarge { size: bytes.len() as u64, most: runtime.limits.file });
    }
    whole(bytes)?;
    let encoded = encode::to_component(bytes)?;
    found.component_bytes = encoded.len();
    found.was_core_module = matches!(encoded, std::borrow::Cow::Owned(_));

    let started = Instant::now();
    let component = match compiled.and_then(|compiled| compiled.get(runtime.engine(), &found.digest)) {
        Some(component) => component,
        None => Component::new(runtime.engine(), &encoded).map_err(|error| refused(&error))?,
    };
    found.compile = started.elapsed();

    let imports = world::imports(&component, runtime.engine());
    if !imports.is_empty() {
        found.problems.push(LoadError::Imports(imports));
    }
    let world = world::world(&component, runtime.engine())?;
    let differences = contract::differences(&component, runtime.engine(), &world).map_err(LoadError::Link)?;
    if !differences.is_empty() {
        found.problems.push(LoadError::TypeMismatch { kind: world.kind, differences });
    }
    if !found.problems.is_empty() {
        return Ok(());
    }

    let model = link(&component, &world, runtime, found.digest)?;
    if let Some(compiled) = compiled {
        compiled.put(runtime.engine(), &found.digest, &component);
    }
    let started = Instant::now();
    found.info = Some(model.info.clone());
    let model = found.model.insert(model);
    found.problems.extend(selftest::run(model));
    found.self_test = started.elapsed();
    Ok(())
}

/// `original` once more on `runtime`, from its own `bytes`: it has passed every check, so none is made again.
pub(crate) fn again(
    original: &Model,
    bytes: &[u8],
    runtime: &Arc<Runtime>,
    compiled: Option<&Compiled>,
) -> Result<Model, LoadError> {
    let found = digest(bytes);
    if found != original.digest() {
        return Err(LoadError::Read(format!("it holds other bytes by now, of digest {found}")));
    }
    let encoded = encode::to_component(bytes)?;
    let kept = compiled.and_then(|compiled| compiled.get(runtime.engine(), &found));
    let component = match kept {
        Some(component) => component,
        None => Component::new(runtime.engine(), &encoded).map_err(|error| refused(&error))?,
    };
    let world = world::world(&component, runtime.engine())?;
    let mut model = link(&component, &world, runtime, found)?;
    if let Some(compiled) = compiled {
        compiled.put(runtime.engine(), &found, &component);
    }
    model.deciles.clone_from(&original.deciles);
    Ok(model)
}

/// Links, starts one instance on trial, and asks it who it is.
fn link(component: &Component, world: &World, runtime: &Arc<Runtime>, digest: Digest) -> Result<Model, LoadError> {
    let mut doors = Vec::new();
    for (index, lane) in runtime.lanes().enumerate() {
        let copy = if index == 0 { Ok(component.clone()) } else { compiled::copy(component, &lane.engine) };
        let component = copy.map_err(|error| LoadError::Link(text(&error)))?;
        let pre = lane.linker.instantiate_pre(&component).map_err(|error| LoadError::Link(text(&error)))?;
        let abi = abi::bind(&component, world.kind, &world.interface).map_err(LoadError::Link)?;
        doors.push(Door { pre, abi });
    }
    // A few tries, since the machine may have been busy elsewhere for as long as a call may take.
    let mut tries = 3;
    let (mut call, abi) = loop {
        tries -= 1;
        match runtime.start(&doors) {
            Err(ScoreError::Deadline(_) | ScoreError::Busy { .. }) if tries > 0 => {}
            call => break call.map_err(LoadError::Start)?,
        }
    };
    abi.verify(&mut call).map_err(|error| LoadError::Link(text(&error)))?;
    call.rewind();
    let raw = abi.describe(&mut call).map_err(|error| LoadError::Describe(call.failure(&error)))?;
    let info = answer::info(raw).map_err(LoadError::Description)?;
    if info.kind != world.kind {
        return Err(LoadError::KindMismatch { says: info.kind, exports: world.kind });
    }
    drop(call);
    let reference = ModelRef { kind: info.kind, version: info.version.clone(), digest };
    let tally = Tally::new(&info);
    let deciles = Vec::with_capacity(if info.kind == ModelKind::Credit { 701 } else { 0 });
    let loaded_at = chrono::Utc::now();
    Ok(Model {
        info,
        reference,
        loaded_at,
        deciles,
        runtime: Arc::clone(runtime),
        doors,
        tally,
        supervisor: OnceLock::new(),
    })
}

/// Walks the sections, so that a file that was cut short is told from one that is wrong.
fn whole(bytes: &[u8]) -> Result<(), LoadError> {
    const MAGIC: &[u8] = b"\0asm";
    const PREAMBLE: usize = 8;
    let start = bytes.get(..MAGIC.len().min(bytes.len())).unwrap_or_default();
    if !MAGIC.starts_with(start) {
        return Err(LoadError::NotWasm { start: format!("{:?}", String::from_utf8_lossy(start)) });
    }
    if bytes.len() < PREAMBLE {
        return Err(LoadError::Truncated(format!("it has {} bytes, not even a preamble of 8", bytes.len())));
    }
    let mut at = PREAMBLE;
    while at < bytes.len() {
        let section = at;
        // One byte names the section, then comes its size.
        at += 1;
        let size = leb128(bytes, &mut at);
        let Some(end) = size.and_then(|size| at.checked_add(size)).filter(|end| *end <= bytes.len()) else {
            return Err(LoadError::Truncated(format!(
                "it ends within the section that starts at byte {section} of {}",
                bytes.len()
            )));
        };
        at = end;
    }
    Ok(())
}

/// Reads an unsigned number of at most 32 bits and moves `at` behind it.
fn leb128(bytes: &[u8], at: &mut usize) -> Option<usize> {
    let mut value = 0_usize;
    for shift in (0..35).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn refused(error: &wasmtime::Error) -> LoadError {
    let text = text(error);
    // The pool refuses what no instance of it could hold.
    if text.contains("exceeds the limit") || text.contains("exceeds the configured maximum") {
        LoadError::TooDemanding(text)
    } else {
        LoadError::Invalid(text)
    }
}

fn text(error: &wasmtime::Error) -> String {
    format!("{error:#}").chars().take(400).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_cut_anywhere_within_a_section_is_cut_short() {
        let module =
            wat::parse_str("(module (memory 1) (data (i32.const 0) \"some bytes that may go missing\"))").unwrap();
        assert_eq!(whole(&module), Ok(()));
        let mut boundaries = 0;
        for length in 0..module.len() {
            match whole(&module[..length]) {
                Ok(()) => boundaries += 1,
                error => assert!(matches!(error, Err(LoadError::Truncated(_))), "{length}: {error:?}"),
            }
        }
        assert_eq!(boundaries, 2, "after the preamble and between the two sections a shorter file is whole");
        assert!(matches!(whole(b"PK\x03\x04"), Err(LoadError::NotWasm { .. })));
    }
}
