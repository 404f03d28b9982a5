//! The child process that compiles one file: limits itself, reads the file, and writes the code or the problem.

use std::{
    io::{self, Read as _, Write as _},
    process::ExitStatus,
};

use super::{Compiler, EncodeError, Made, here};
use crate::{
    Class, LoadError,
    confine::engine::{self, Purpose, Runtime},
};

/// The compiler options and limits: the arguments of the child's command.
#[derive(Debug, Clone, Copy)]
pub struct CompileJob {
    /// Whether calls have a deadline.
    pub epoch: bool,
    /// Whether calls meter fuel.
    pub fuel: bool,
    /// Whether to run at the lowest priority.
    pub background: bool,
    /// Maximum CPU time, in seconds.
    pub seconds: u64,
    /// Maximum memory, in bytes.
    pub memory: u64,
}

/// The first byte of the output: the outcome.
const CODE: u8 = b'c';
const NOT_ENCODABLE: u8 = b'e';
const INVALID: u8 = b'i';
/// A feature of WebAssembly that is switched off.
const SWITCHED_OFF: u8 = b'f';
/// The child could not begin; why follows. It says nothing about the file.
const NOT_BEGUN: u8 = b'n';
/// No export is a model; the exports follow, one per line.
const WRONG_WORLD: u8 = b'w';

impl CompileJob {
    pub(super) fn new(compiler: &Compiler, runtime: &Runtime) -> Self {
        let Purpose { epoch, fuel, .. } = runtime.purpose;
        let background = runtime.class == Class::Large;
        Self { epoch, fuel, background, seconds: compiler.time.as_secs().max(1), memory: compiler.memory }
    }

    pub(super) fn arguments(&self) -> Vec<String> {
        let flags = [(self.epoch, "--epoch"), (self.fuel, "--fuel"), (self.background, "--background")];
        let flags = flags.into_iter().filter(|(set, _)| *set).map(|(_, flag)| flag.to_owned());
        let numbers = [("--seconds", self.seconds), ("--memory", self.memory)];
        flags.chain(numbers.map(|(name, number)| format!("{name}={number}"))).collect()
    }

    /// Compiles standard input to standard output. Limits this whole process. If it cannot begin, the output says why.
    ///
    /// # Errors
    /// If a stream fails.
    pub fn run(&self) -> io::Result<()> {
        let begun = self.limit().and_then(|()| {
            // Compiled code is the same with and without a pool, and a pool reserves a terabyte of address space.
            let purpose = Purpose { pool: false, scan: false, epoch: self.epoch, fuel: self.fuel, dump: true };
            engine::compiling(purpose).map_err(io::Error::other)
        });
        let mut bytes = Vec::new();
        io::stdin().read_to_end(&mut bytes)?;
        let made = match begun {
            Ok(engine) => here(&bytes, &engine),
            Err(error) => Err(LoadError::CompilerStart(error.to_string())),
        };
        let (tag, size, rest) = match made {
            Ok(Made { code, component_bytes }) => (CODE, component_bytes, code),
            Err(LoadError::Encode(error)) => (NOT_ENCODABLE, 0, error.reason().to_owned().into_bytes()),
            Err(LoadError::Invalid(error)) => (INVALID, 0, error.into_bytes()),
            Err(LoadError::SwitchedOff(feature)) => (SWITCHED_OFF, 0, feature.into_bytes()),
            Err(LoadError::WrongWorld(exports)) => (WRONG_WORLD, 0, exports.join("\n").into_bytes()),
            Err(LoadError::CompilerStart(error)) => (NOT_BEGUN, 0, error.into_bytes()),
            Err(error) => return Err(io::Error::other(error)),
        };
        let mut output = io::stdout().lock();
        output.write_all(&[tag])?;
        output.write_all(&(size as u64).to_le_bytes())?;
        output.write_all(&rest)?;
        output.flush()
    }

    #[cfg(target_os = "linux")]
    fn limit(&self) -> io::Result<()> {
        use rustix::process::{
            Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setpriority_process, setrlimit,
        };
        let limit = |resource, soft, hard| {
            setrlimit(resource, Rlimit { current: Some(soft), maximum: Some(hard) }).map_err(io::Error::from)
        };
        set_parent_process_death_signal(Some(Signal::KILL))?;
        if self.background {
            setpriority_process(None, 19)?;
        }
        limit(Resource::Core, 0, 0)?;
        let refused = |error: io::Error| match getrlimit(Resource::As).maximum {
            Some(most) if most < self.memory => io::Error::other(format!(
                "it may use {} MiB of address space (ulimit -v), and a compiler needs up to {} MiB; raise the first, \
                 or lower models.max_compile_memory_bytes",
                most >> 20,
                self.memory >> 20
            )),
            _ => error,
        };
        limit(Resource::As, self.memory, self.memory).map_err(refused)?;
        limit(Resource::Cpu, self.seconds, self.seconds + 1)
    }

    /// Other systems have no memory limit; the parent limits the time.
    #[cfg(not(target_os = "linux"))]
    fn limit(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads the answer in the output of a child; `None` if the output is not an answer.
pub(super) fn parse(output: &[u8]) -> Option<Result<Made, LoadError>> {
    let (tag, rest) = output.split_first()?;
    let (size, rest) = rest.split_first_chunk()?;
    let words = || String::from_utf8_lossy(rest).into_owned();
    Some(match *tag {
        CODE => Ok(Made { code: rest.to_owned(), component_bytes: usize::try_from(u64::from_le_bytes(*size)).ok()? }),
        NOT_ENCODABLE => Err(EncodeError::new(words()).into()),
        INVALID => Err(LoadError::Invalid(words())),
        SWITCHED_OFF => Err(LoadError::SwitchedOff(words())),
        NOT_BEGUN => Err(LoadError::CompilerStart(words())),
        WRONG_WORLD => Err(LoadError::WrongWorld(words().lines().map(str::to_owned).collect())),
        _ => return None,
    })
}

/// Whether the child used up its CPU time.
pub(super) fn out_of_time(status: ExitStatus) -> bool {
    /// The signal of the CPU time limit.
    const SIGXCPU: i32 = 24;
    signal(status) == Some(SIGXCPU)
}

/// Whether the child ended by an error of its streams, and not by what the file did to it.
pub(super) fn gave_up(status: ExitStatus) -> bool {
    /// The exit code of a command that cannot do what it is asked for.
    const CANNOT: i32 = 2;
    status.code() == Some(CANNOT)
}

/// Whether the child was killed from outside, such as by the kernel when memory runs out.
pub(super) fn killed(status: ExitStatus) -> bool {
    const SIGKILL: i32 = 9;
    signal(status) == Some(SIGKILL)
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> Option<i32> {
    None
}
