//! Errors of one model call, each with a stable code.

use std::time::Duration;

use wasmtime::{Trap, WasmBacktrace};

use crate::{
    Chosen, Limits,
    confine::{dump::harmless, guest::Denied},
};
use assay_domain::{ModelKind, ModelVersion};

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScoreError {
    #[error("no {0} model is in service: put one on the shelf, or make a loaded version champion")]
    NoChampion(ModelKind),
    #[error("{kind} {version} answers this request because {}, and cannot: {why}. No other version stands in for it",
        chosen.cause())]
    Unavailable { kind: ModelKind, version: ModelVersion, chosen: Chosen, why: String },
    #[error("all {instances} model instances are busy: try again in a moment")]
    Busy { instances: u32 },
    #[error("the model does not score this subject: {0}")]
    Refused(Refusal),
    #[error("the model stopped: {kind}{}", at.as_deref().map(|at| format!(" in `{at}`")).unwrap_or_default())]
    Trap { kind: String, at: Option<String> },
    #[error("the model did not answer within {} ms", .0.as_millis())]
    Deadline(Duration),
    #[error("the model requested {asked} bytes of memory, more than the limit of {cap}")]
    MemoryLimit { asked: usize, cap: usize },
    #[error("the model requested a table of {asked} elements, more than the limit of {cap}")]
    TableLimit { asked: usize, cap: usize },
    #[error("the model used up its stack of {0} bytes: it recurses too deeply")]
    StackOverflow(usize),
    #[error(
        "the model ran out of its own stack: it recurses too deeply, keeps large arrays on the stack, or is Python \
         with imports that are too deep. Put a bound on the recursion; in Rust, link with a larger stack \
         (-zstack-size); in Python, import less"
    )]
    GuestStack,
    #[error("the model's answer is invalid: {0}")]
    OutOfRange(String),
    #[error("the model's {field} has {length} characters, more than the limit of {most}")]
    TextTooLong { field: String, length: usize, most: usize },
    #[error("the model's answer is larger than {0} bytes")]
    AnswerTooLarge(usize),
    #[error("the model's answer cannot be read: {0}")]
    Unreadable(String),
}

/// Why a model refuses a subject.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("there is no activity to judge")]
    NoActivity,
    #[error("a required input is absent: {0}")]
    Missing(String),
}

impl ScoreError {
    /// Stable: programs may rely on it.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoChampion(_) => "no_champion",
            Self::Unavailable { .. } => "version_unavailable",
            Self::Busy { .. } => "busy",
            Self::Refused(Refusal::NoActivity) => "no_activity",
            Self::Refused(Refusal::Missing(_)) => "missing_input",
            Self::Trap { .. } => "trap",
            Self::Deadline(_) => "deadline",
            Self::MemoryLimit { .. } => "memory_limit",
            Self::TableLimit { .. } => "table_limit",
            Self::StackOverflow(_) | Self::GuestStack => "stack_overflow",
            Self::OutOfRange(_) => "out_of_range",
            Self::TextTooLong { .. } => "text_too_long",
            Self::AnswerTooLarge(_) => "answer_too_large",
            Self::Unreadable(_) => "unreadable_answer",
        }
    }

    /// Whether the model failed. A refusal is an answer, and a busy host is not the model's fault.
    pub fn is_fault(&self) -> bool {
        !matches!(self, Self::NoChampion(_) | Self::Unavailable { .. } | Self::Busy { .. } | Self::Refused(_))
    }

    /// `denied` is the guest's request that was denied: on its own, a failed allocation is only an `unreachable`.
    pub(crate) fn of(error: &wasmtime::Error, denied: Option<Denied>, limits: &Limits) -> Self {
        if error.downcast_ref::<wasmtime::PoolConcurrencyLimitError>().is_some() {
            return Self::Busy { instances: limits.instances };
        }
        match (error.downcast_ref::<Trap>(), denied) {
            (Some(Trap::StackOverflow), _) => Self::StackOverflow(limits.stack),
            (_, Some(Denied::Memory(asked))) => Self::MemoryLimit { asked, cap: limits.memory },
            (_, Some(Denied::Table(asked))) => Self::TableLimit { asked, cap: limits.table },
            (Some(Trap::Interrupt | Trap::OutOfFuel), _) => Self::Deadline(limits.deadline),
            (
                Some(
                    Trap::StringOutOfBounds
                    | Trap::ListOutOfBounds
                    | Trap::InvalidDiscriminant
                    | Trap::UnalignedPointer
                    | Trap::InvalidChar,
                ),
                _,
            ) => Self::Unreadable(first_line(error)),
            (Some(trap), _) => match place(error) {
                Some(host) if host.starts_with("wasi") => Self::Trap { kind: asked(&host), at: None },
                at => Self::Trap { kind: trap.to_string(), at },
            },
            (None, _) => {
                let text = first_line(error);
                if text.contains("fuel allocated for hostcalls") {
                    Self::AnswerTooLarge(limits.answer)
                } else {
                    Self::Unreadable(text)
                }
            }
        }
    }
}

/// A script can reach functions of its language that call the host; only `assay model build` names them.
fn asked(host: &str) -> String {
    format!("it called {host}; a model has no clock, no randomness, no network and no files")
}

/// The innermost function with a name.
fn place(error: &wasmtime::Error) -> Option<String> {
    let frames = error.downcast_ref::<WasmBacktrace>()?.frames();
    frames.iter().find_map(|frame| frame.func_name()).map(|name| harmless(&name.chars().take(120).collect::<String>()))
}

/// The root cause on one line, without the backtrace.
fn first_line(error: &wasmtime::Error) -> String {
    let line: String = error.root_cause().to_string().lines().next().unwrap_or_default().chars().take(300).collect();
    harmless(&line)
}
