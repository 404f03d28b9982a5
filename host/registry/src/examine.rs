//! Makes a model from the bytes of a file, or lists every problem. The shelf and `assay model check` use the same steps
//! in the same order.

use std::{
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use sha2::{Digest as _, Sha256};
use wasmtime::component::Component;

use crate::{
    LoadError, Model, ScoreError, answer, bounds,
    compiled::{self, Compiled},
    compiler::{self, Made},
    contract,
    deciles::Deciles,
    encode,
    engine::Runtime,
    linked::{Linked, text},
    selftest, signature,
    tally::Tally,
    whole::whole,
    world::{self, World},
};
use assay_domain::{Digest, ModelInfo, ModelRef};

/// The result of the examination of a file.
pub(crate) struct Examined {
    pub digest: Digest,
    /// The model, where it can be called; it is served only where there is no problem.
    pub model: Option<Arc<Model>>,
    /// The model's own description, where `describe` was reached.
    pub info: Option<ModelInfo>,
    /// In the order of the steps.
    pub problems: Vec<LoadError>,
    /// The size of the component, also where it was encoded from a core module.
    pub component_bytes: usize,
    pub was_core_module: bool,
    pub compile: Duration,
    pub self_test: Duration,
}

/// SHA-256 of a file.
pub(crate) fn digest(bytes: &[u8]) -> Digest {
    Digest(Sha256::digest(bytes).into())
}

/// Examines `bytes` on `runtime`. It compiles them, so it does not run in a request.
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
    signature::check(bytes, &runtime.limits.trust)?;
    whole(bytes)?;
    bounds::within(bytes)?;
    found.was_core_module = encode::is_core_module(bytes);

    let started = Instant::now();
    let Ready { component, made } = compile(bytes, found.digest, runtime, compiled)?;
    found.component_bytes = made.as_ref().map_or(bytes.len(), |made| made.component_bytes);
    found.compile = started.elapsed();

    let world = interface(&component, runtime, &mut found.problems)?;
    if !found.problems.is_empty() {
        return Ok(());
    }
    let model = link(&component, &world, runtime, found.digest)?;
    let started = Instant::now();
    found.info = Some(model.info.clone());
    let (model, problems) = selftest::run(model);
    found.model = Some(model);
    found.problems.extend(problems);
    found.self_test = started.elapsed();
    if found.problems.is_empty() {
        keep(made, found.digest, runtime, compiled);
    }
    Ok(())
}

/// A compiled component, with its code where it was compiled now.
struct Ready {
    component: Component,
    made: Option<Made>,
}

/// The compiled component: from the folder of compiled code, or compiled now.
fn compile(bytes: &[u8], digest: Digest, runtime: &Runtime, compiled: Option<&Compiled>) -> Result<Ready, LoadError> {
    if let Some(component) = compiled.and_then(|compiled| compiled.get(runtime.engine(), &digest)) {
        return Ok(Ready { component, made: None });
    }
    let made = compiler::compile(bytes, runtime)?;
    let component = compiled::fresh(runtime.engine(), &made.code).map_err(|error| load_error(&error))?;
    Ok(Ready { component, made: Some(made) })
}

/// Keeps the code of a component that passed every check.
fn keep(made: Option<Made>, digest: Digest, runtime: &Runtime, compiled: Option<&Compiled>) {
    if let (Some(made), Some(compiled)) = (made, compiled) {
        compiled.put(runtime.engine(), &digest, &made.code);
    }
}

/// The model interface of `component`. Adds imports and differences to `problems`.
fn interface(component: &Component, runtime: &Runtime, problems: &mut Vec<LoadError>) -> Result<World, LoadError> {
    let imports = world::imports(component, runtime.engine());
    if !imports.is_empty() {
        problems.push(LoadError::Imports(imports));
    }
    let world = world::world(component, runtime.engine())?;
    let differences = contract::differences(component, runtime.engine(), &world).map_err(LoadError::Link)?;
    if !differences.is_empty() {
        problems.push(LoadError::TypeMismatch { kind: world.kind, wit: world.generation.wit(), differences });
    }
    Ok(world)
}

/// Loads `original` on `runtime` too, from the same `bytes`. It passed every check before, so none is repeated.
pub(crate) fn again(
    original: &Model,
    bytes: &[u8],
    runtime: &Arc<Runtime>,
    compiled: Option<&Compiled>,
) -> Result<Model, LoadError> {
    let digest = digest(bytes);
    if digest != original.digest() {
        return Err(LoadError::Read(format!("the bytes have changed: their digest is {digest}")));
    }
    let Ready { component, made } = compile(bytes, digest, runtime, compiled)?;
    let world = world::world(&component, runtime.engine())?;
    let mut model = link(&component, &world, runtime, digest)?;
    keep(made, digest, runtime, compiled);
    model.deciles.clone_from(&original.deciles);
    model.labels.clone_from(&original.labels);
    Ok(model)
}

/// Links the component, starts one instance, and calls `describe`.
fn link(component: &Component, world: &World, runtime: &Arc<Runtime>, digest: Digest) -> Result<Model, LoadError> {
    let linked = Linked::new(component, world, runtime).map_err(LoadError::Link)?;
    let info = describe(&linked, world, runtime)?;
    Ok(Model {
        reference: ModelRef { kind: info.kind, version: info.version.clone(), digest },
        tally: Tally::new(&info),
        info,
        loaded_at: chrono::Utc::now(),
        generation: world.generation,
        deciles: Deciles::default(),
        labels: Vec::new(),
        runtime: Arc::clone(runtime),
        linked,
        supervisor: OnceLock::new(),
    })
}

fn describe(linked: &Linked, world: &World, runtime: &Runtime) -> Result<ModelInfo, LoadError> {
    // A busy machine may delay a call beyond its deadline, so there are three attempts.
    let mut attempts = 3;
    let (mut call, abi) = loop {
        attempts -= 1;
        match linked.start(runtime) {
            Err(ScoreError::Deadline(_) | ScoreError::Busy { .. }) if attempts > 0 => {}
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
    Ok(info)
}

fn load_error(error: &wasmtime::Error) -> LoadError {
    let text = text(error);
    // The pool rejects a component that does not fit into any of its instances.
    if text.contains("exceeds the limit") || text.contains("exceeds the configured maximum") {
        LoadError::TooDemanding(text)
    } else {
        LoadError::Invalid(text)
    }
}
