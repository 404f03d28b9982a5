//! Compiles bytes to code: in a child process with limits of time and memory, or in this process.
//!
//! A file can keep a compiler busy for minutes, or use all memory. A server compiles in a child, so only the child
//! ends.

mod child;

use std::{
    io::{self, Read as _, Write as _},
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use wasmtime::Engine;

use super::{encode, features, world};
use crate::{EncodeError, LoadError, confine::engine::Runtime, load_error::in_words};
pub use child::CompileJob;

/// The child process that compiles, and its limits.
#[derive(Debug, Clone, PartialEq)]
pub struct Compiler {
    /// A program that runs [`CompileJob::run`] when its first argument is [`Compiler::COMMAND`].
    pub program: PathBuf,
    /// Maximum CPU time per file, in whole seconds. The elapsed time may be ten times as long.
    pub time: Duration,
    /// Maximum memory of the process, in bytes.
    pub memory: u64,
}

/// How many times its CPU time a child may take on a busy machine.
const PATIENCE: u32 = 10;

/// Compiled code, and the size of the component that it was made from.
pub(crate) struct Made {
    pub code: Vec<u8>,
    pub component_bytes: usize,
}

/// Encodes and compiles `bytes` for the engines of `runtime`.
pub(crate) fn compile(bytes: &[u8], runtime: &Runtime) -> Result<Made, LoadError> {
    match &runtime.limits.compiler {
        None => here(bytes, runtime.engine()),
        Some(compiler) => compiler.compile(bytes, &CompileJob::new(compiler, runtime)),
    }
}

fn here(bytes: &[u8], engine: &Engine) -> Result<Made, LoadError> {
    let named = |error: LoadError| features::switched_off(bytes).map_or(error, LoadError::SwitchedOff);
    let component = encode::to_component(bytes).map_err(|error| named(error.into()))?;
    // Checked before spending compile time. The exports of a core module are known only now.
    if let Err(LoadError::WrongWorld(exports)) = world::named(&component) {
        return Err(LoadError::WrongWorld(exports));
    }
    let code = engine.precompile_component(&component).map_err(|error| named(LoadError::Invalid(in_words(&error))))?;
    Ok(Made { code, component_bytes: component.len() })
}

impl Compiler {
    /// The program's hidden command.
    pub const COMMAND: &str = "compile-model";

    fn compile(&self, bytes: &[u8], job: &CompileJob) -> Result<Made, LoadError> {
        let failed = |error: io::Error| LoadError::CompilerStart(error.to_string());
        let mut child = Command::new(&self.program)
            .arg(Self::COMMAND)
            .args(job.arguments())
            // The child needs no secret.
            .env_clear()
            // The server's allocator reserves a gigabyte at start, which would count as used.
            .env("MIMALLOC_ARENA_RESERVE", "0")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(failed)?;
        let (output, in_time) = self.talk(&mut child, bytes);
        let status = child.wait().map_err(failed)?;
        match child::parse(&output).filter(|_| status.success()) {
            Some(answer) => answer,
            None => Err(self.explain(status, in_time)),
        }
    }

    /// Writes `bytes` to the child and reads its output; kills the child if it takes too long.
    fn talk(&self, child: &mut Child, bytes: &[u8]) -> (Vec<u8>, bool) {
        let (mut input, output) = (child.stdin.take(), child.stdout.take());
        let most = self.memory;
        let (done, finished) = mpsc::channel();
        thread::scope(|scope| {
            // A child that ends early closes its input; its status explains why.
            scope.spawn(move || input.as_mut().map(|input| input.write_all(bytes)));
            scope.spawn(move || {
                let mut read = Vec::new();
                let _ = output.map(|output| output.take(most).read_to_end(&mut read));
                let _ = done.send(read);
            });
            match finished.recv_timeout(self.time.saturating_mul(PATIENCE)) {
                Ok(read) => (read, true),
                Err(_) => {
                    let _ = child.kill();
                    (finished.recv().unwrap_or_default(), false)
                }
            }
        })
    }

    fn explain(&self, status: ExitStatus, in_time: bool) -> LoadError {
        let seconds = self.time.as_secs();
        if child::out_of_time(status) {
            return LoadError::Compiler(format!("it takes more than {seconds} s of processor time"));
        }
        if !in_time {
            let clock = self.time.saturating_mul(PATIENCE).as_secs();
            return LoadError::CompilerStopped(format!("it got less than {seconds} s of processor time in {clock} s"));
        }
        if child::killed(status) {
            return LoadError::CompilerStopped(
                "the system killed the compiler, as it does when memory runs out".to_owned(),
            );
        }
        if child::gave_up(status) {
            return LoadError::CompilerStart(format!("it ended with {status}"));
        }
        LoadError::CompilerFailed { memory: self.memory >> 20, status: status.to_string() }
    }
}
