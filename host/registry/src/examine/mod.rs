//! Makes a model from the bytes of a file, or lists every problem. The shelf and `assay model check` use the same steps
//! in the same order.

pub(crate) mod bounds;
pub(crate) mod export_types;
mod imports;
pub(crate) mod selftest;
pub(crate) mod signature;
pub(crate) mod whole;

use std::{
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use sha2::{Digest as _, Sha256};
use wasmtime::component::Component;

use crate::{
    Class, Limits, LoadError, Model, ScoreError,
    call::{
        answer,
        decile_table::Deciles,
        linked::Linked,
        notes::Notes,
        price::{self, Footprint},
        tally::CallTally,
    },
    compile::{
        compiled::{Compiled, CompiledCode, KeptCode, Staged},
        compiler::{self, Made},
        encode,
        world::{self, KindWorld},
    },
    confine::{class::Declared, engine::Runtime, engines::Engines},
    load_error::in_words,
};
use assay_domain::{Digest, ModelInfo, ModelRef};
use whole::whole;

/// The result of examining a file.
pub(crate) struct Examined {
    pub digest: Digest,
    /// Present if the file is WebAssembly that fits a class.
    pub class: Option<Class>,
    /// The model, if it can be called; it is served only if there is no problem.
    pub model: Option<Arc<Model>>,
    /// The model's own description, if `describe` was reached.
    pub info: Option<ModelInfo>,
    /// In the order of the steps.
    pub problems: Vec<LoadError>,
    /// The size of the component, including one encoded from a core module.
    pub component_bytes: usize,
    pub was_core_module: bool,
    pub compile: Duration,
    pub self_test: Duration,
}

/// SHA-256 of a file.
pub(crate) fn digest(bytes: &[u8]) -> Digest {
    Digest(Sha256::digest(bytes).into())
}

/// Examines `bytes` on the engines of its class. Compiles them, so must not run in a request.
pub(crate) fn examine(bytes: &[u8], engines: &Engines, compiled: Option<&Compiled>) -> Examined {
    let mut found = Examined {
        digest: digest(bytes),
        class: None,
        model: None,
        info: None,
        problems: Vec::new(),
        component_bytes: 0,
        was_core_module: false,
        compile: Duration::ZERO,
        self_test: Duration::ZERO,
    };
    if let Err(problem) = steps(bytes, engines, compiled, &mut found) {
        found.problems.push(problem);
    }
    found
}

/// The class of a file, before any of it is compiled.
///
/// # Errors
/// Why this server does not compile the file.
pub(crate) fn class(bytes: &[u8], limits: &Limits) -> Result<Class, LoadError> {
    if bytes.len() > limits.largest_file() {
        return Err(LoadError::TooLarge { size: bytes.len() as u64, most: limits.largest_file() });
    }
    signature::check(bytes, &limits.trust)?;
    whole(bytes)?;
    bounds::within(bytes)?;
    if !encode::is_core_module(bytes) {
        world::named(bytes)?;
    }
    Class::of(&Declared::of(bytes)?, limits)
}

fn steps(bytes: &[u8], engines: &Engines, compiled: Option<&Compiled>, found: &mut Examined) -> Result<(), LoadError> {
    let class = class(bytes, &engines.limits)?;
    found.class = Some(class);
    found.was_core_module = encode::is_core_module(bytes);
    let runtime = &engines.of(class)?;
    let ready = compile(bytes, found.digest, engines, runtime, compiled)?;
    found.component_bytes = ready.component_bytes;
    found.compile = ready.compile;

    let world = interface(&ready.component, runtime, &mut found.problems)?;
    if !found.problems.is_empty() {
        return Ok(());
    }
    let mut model = link(&ready, &world, runtime, found.digest)?;
    model.notes = Notes::of(bytes);
    let started = Instant::now();
    found.info = Some(model.info.clone());
    let (model, problems) = selftest::run(model);
    found.problems.extend(problems);
    found.self_test = started.elapsed();
    if found.problems.is_empty() {
        model.tally.set_typical(price::typical(&model));
        ready.keep();
    }
    found.model = Some(model);
    Ok(())
}

/// A compiled component, with its code.
struct Ready {
    component: Component,
    code: CompiledCode,
    component_bytes: usize,
    /// Time to compile it, now or in an earlier start.
    compile: Duration,
    /// Present if it was compiled now.
    staged: Option<Staged>,
}

impl Ready {
    /// Keeps the code of a component that passed every check.
    fn keep(self) {
        if let Some(staged) = self.staged {
            staged.keep();
        }
    }
}

/// The compiled component: from the folder of compiled code, or compiled now.
fn compile(
    bytes: &[u8],
    digest: Digest,
    engines: &Engines,
    runtime: &Runtime,
    compiled: Option<&Compiled>,
) -> Result<Ready, LoadError> {
    // Copying a small model to each engine costs little, and needs no lasting file.
    let share = runtime.class != Class::Small;
    if let Some(KeptCode { code, compile }) = compiled.and_then(|compiled| compiled.get(&engines.names, &digest, share))
        && let Ok(component) = code.load(runtime.engine())
    {
        return Ok(Ready { component, code, component_bytes: bytes.len(), compile, staged: None });
    }
    let started = Instant::now();
    let Made { code, component_bytes } = compiler::compile(bytes, runtime)?;
    let compile = started.elapsed();
    let staged = compiled.and_then(|compiled| compiled.stage(&engines.names, &digest, &code, compile));
    let code = staged.as_ref().filter(|_| share).map_or(CompiledCode::Bytes(code), Staged::code);
    let component = code.load(runtime.engine()).map_err(|error| load_error(&error))?;
    Ok(Ready { component, code, component_bytes, compile, staged })
}

/// The model interface of `component`. Adds imports and differences to `problems`.
fn interface(component: &Component, runtime: &Runtime, problems: &mut Vec<LoadError>) -> Result<KindWorld, LoadError> {
    let imports = imports::imports(component, runtime.engine());
    if !imports.is_empty() {
        problems.push(LoadError::Imports(imports));
    }
    let world = world::world(component, runtime.engine())?;
    let differences = export_types::differences(component, runtime.engine(), &world).map_err(LoadError::Link)?;
    if !differences.is_empty() {
        problems.push(LoadError::TypeMismatch { kind: world.kind, wit: world.generation.wit(), differences });
    }
    Ok(world)
}

/// Loads `original` on other engines too, from the same `bytes`. It passed every check before, so none is repeated.
pub(crate) fn again(
    original: &Model,
    bytes: &[u8],
    engines: &Engines,
    compiled: Option<&Compiled>,
) -> Result<Model, LoadError> {
    let digest = digest(bytes);
    if digest != original.digest() {
        return Err(LoadError::Read(format!("the bytes have changed: their digest is {digest}")));
    }
    let runtime = &engines.of(original.class())?;
    let ready = compile(bytes, digest, engines, runtime, compiled)?;
    let world = world::world(&ready.component, runtime.engine())?;
    let mut model = link(&ready, &world, runtime, digest)?;
    ready.keep();
    model.deciles.clone_from(&original.deciles);
    model.labels.clone_from(&original.labels);
    model.notes.clone_from(&original.notes);
    Ok(model)
}

/// Links the component, starts one instance, and calls `describe`.
fn link(ready: &Ready, world: &KindWorld, runtime: &Arc<Runtime>, digest: Digest) -> Result<Model, LoadError> {
    let linked = Linked::new(&ready.component, &ready.code, world, runtime).map_err(LoadError::Link)?;
    let info = describe(&linked, world, runtime)?;
    Ok(Model {
        reference: ModelRef { kind: info.kind, version: info.version.clone(), digest },
        tally: CallTally::new(&info),
        info,
        loaded_at: chrono::Utc::now(),
        generation: world.generation,
        deciles: Deciles::default(),
        labels: Vec::new(),
        notes: Notes::default(),
        runtime: Arc::clone(runtime),
        linked,
        footprint: Footprint::of(&ready.code, runtime, ready.compile),
        supervisor: OnceLock::new(),
    })
}

fn describe(linked: &Linked, world: &KindWorld, runtime: &Runtime) -> Result<ModelInfo, LoadError> {
    // A busy machine may delay a call beyond its deadline, so there are three attempts.
    let mut attempts = 3;
    let (mut call, abi) = loop {
        attempts -= 1;
        match linked.start(runtime) {
            Err(ScoreError::Deadline(_) | ScoreError::Busy { .. }) if attempts > 0 => {}
            call => break call.map_err(LoadError::Start)?,
        }
    };
    abi.verify(&mut call).map_err(|error| LoadError::Link(in_words(&error)))?;
    call.rewind();
    let raw = abi.describe(&mut call).map_err(|error| LoadError::Describe(call.failure(&error)))?;
    let info = answer::info(raw).map_err(LoadError::Description)?;
    if info.kind != world.kind {
        return Err(LoadError::KindMismatch { says: info.kind, exports: world.kind });
    }
    Ok(info)
}

fn load_error(error: &wasmtime::Error) -> LoadError {
    let text = in_words(error);
    // The pool rejects a component that fits none of its instances.
    if text.contains("exceeds the limit") || text.contains("exceeds the configured maximum") {
        let advice = "It declares less than it uses: link it into one module, or build it again with its toolchain";
        LoadError::TooDemanding { has: text, advice }
    } else {
        LoadError::Invalid(text)
    }
}
