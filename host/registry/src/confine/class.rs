//! Classes of models: the resources that a model may use, chosen by what its component declares.

use std::fmt;

use serde::Serialize;
use wasmparser::{BinaryReaderError, Parser, Payload};

use crate::{Limits, LoadError, load_error::SMALLER};

/// The resources that a model may use. Each class with a model on the shelf has separate engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// Rust and scorecards.
    Small,
    /// JavaScript and many trees: more memory, fewer concurrent calls.
    Medium,
    /// Python; only if `models.large_lanes` is not 0.
    Large,
}

/// Bytes of a small instance's memory that are cleared and reused for the next call: two pages of WebAssembly.
pub(crate) const RESIDENT: usize = 128 << 10;
/// Maximum concurrent calls of each class.
const MEDIUM_CALLS: u32 = 64;
const LARGE_CALLS_OF_A_LANE: u32 = 32;
/// How many times as long as a small model a large one may take to compile and to test.
const LARGE_PATIENCE: u32 = 6;
/// How many times as long a call may take: an interpreter needs about 20 ms to read 3,200 lending events of a wallet.
const MEDIUM_CALL: u32 = 2;
const LARGE_CALL: u32 = 4;

impl Class {
    pub const ALL: [Self; 3] = [Self::Small, Self::Medium, Self::Large];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
        }
    }

    /// The number of engines of this class. Each has its own pool, so calls in different lanes do not wait for each
    /// other.
    pub(crate) fn lanes(self, limits: &Limits, cores: u32) -> u32 {
        match self {
            Self::Small | Self::Medium => cores,
            Self::Large => limits.large_lanes,
        }
    }

    /// The modules, tables and memories of one component. A language that is not linked into one module has many.
    pub(crate) fn parts(self) -> ClassParts {
        match self {
            Self::Small => ClassParts { modules: 4, tables: 2, memories: 1 },
            Self::Medium => ClassParts { modules: 8, tables: 4, memories: 2 },
            Self::Large => ClassParts { modules: 48, tables: 8, memories: 2 },
        }
    }

    /// The class of a component that declares these sizes.
    ///
    /// # Errors
    /// [`LoadError::NeedsLarge`] if large models are refused, [`LoadError::TooDemanding`] if no class is large enough.
    pub(crate) fn of(declared: &Declared, limits: &Limits) -> Result<Self, LoadError> {
        // If its memory does not stay resident on engines of small models, a model runs faster on those of medium ones.
        let light = Limits { memory: limits.memory.min(RESIDENT), ..limits.clone() };
        // In order of preference. A file that is too large for medium may still be small.
        let medium = limits.of(Self::Medium);
        let mut choices = vec![(Self::Small, light), (Self::Medium, medium.clone()), (Self::Small, limits.clone())];
        if limits.large_lanes > 0 {
            choices.push((Self::Large, limits.of(Self::Large)));
        }
        // A declared maximum counts if some class allows it; many toolchains declare one that is never needed.
        let grown = Declared { memory: declared.most_memory, ..*declared };
        let chosen = [&grown, declared].into_iter().find_map(|declared| {
            choices.iter().find(|(_, limits)| declared.beyond(limits).is_none()).map(|(class, _)| *class)
        });
        let of_large = declared.beyond(&limits.of(Self::Large));
        match (chosen, of_large, declared.beyond(&medium)) {
            (Some(class), ..) => Ok(class),
            (None, None, Some(Beyond { has, advice })) => Err(LoadError::NeedsLarge { has, advice }),
            (None, Some(Beyond { has, advice }), _) => Err(LoadError::TooDemanding { has, advice }),
            // A component that fits medium was matched above.
            (None, None, None) => Ok(Self::Medium),
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The maximum number of each in one component.
pub(crate) struct ClassParts {
    pub modules: u32,
    pub tables: u32,
    pub memories: u32,
}

impl Limits {
    /// The limits of a class. The configuration keys are those of small models; the others are derived from them.
    pub(crate) fn of(&self, class: Class) -> Self {
        let mut limits = self.clone();
        match class {
            Class::Small => {}
            Class::Medium => {
                limits.file = self.file / 4;
                limits.memory = self.memory.saturating_mul(2);
                limits.deadline = self.deadline * MEDIUM_CALL;
                limits.table = self.table.saturating_mul(4);
                limits.instances = self.instances.min(MEDIUM_CALLS);
            }
            Class::Large => {
                limits.file = self.file.saturating_mul(2);
                limits.memory = self.memory.saturating_mul(8);
                limits.deadline = self.deadline * LARGE_CALL;
                limits.table = self.table.saturating_mul(8);
                limits.instances = self.instances.min(LARGE_CALLS_OF_A_LANE * self.large_lanes.max(1));
                limits.self_test = self.self_test * LARGE_PATIENCE;
                if let Some(compiler) = &mut limits.compiler {
                    compiler.time *= LARGE_PATIENCE;
                    compiler.memory = compiler.memory.saturating_mul(2);
                }
            }
        }
        limits
    }

    /// Maximum file size of any class.
    pub fn largest_file(&self) -> usize {
        self.of(Class::Large).file
    }
}

/// The sizes that a file declares, read before it is compiled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Declared {
    /// The size of the file, in bytes.
    pub file: usize,
    /// The largest initial memory of a module, in bytes.
    pub memory: usize,
    /// The largest size to which a memory may grow, if it declares one.
    pub most_memory: usize,
    /// The elements of its largest table.
    pub table: usize,
}

impl Declared {
    /// Walks `bytes`, with the modules inside.
    ///
    /// # Errors
    /// [`LoadError::Invalid`].
    pub(crate) fn of(bytes: &[u8]) -> Result<Self, LoadError> {
        let invalid = |error: BinaryReaderError| LoadError::Invalid(error.to_string());
        let mut found = Self { file: bytes.len(), ..Self::default() };
        for payload in Parser::new(0).parse_all(bytes) {
            match payload.map_err(invalid)? {
                Payload::MemorySection(memories) => {
                    for memory in memories {
                        let memory = memory.map_err(invalid)?;
                        let page = 1_u64.checked_shl(memory.page_size_log2.unwrap_or(16)).unwrap_or(u64::MAX);
                        let bytes = |pages: u64| usize::try_from(pages.saturating_mul(page)).unwrap_or(usize::MAX);
                        found.memory = found.memory.max(bytes(memory.initial));
                        found.most_memory = found.most_memory.max(bytes(memory.maximum.unwrap_or(memory.initial)));
                    }
                }
                Payload::TableSection(tables) => {
                    for table in tables {
                        let elements = table.map_err(invalid)?.ty.initial;
                        found.table = found.table.max(usize::try_from(elements).unwrap_or(usize::MAX));
                    }
                }
                _ => {}
            }
        }
        Ok(found)
    }

    /// The first size that exceeds these limits.
    fn beyond(&self, limits: &Limits) -> Option<Beyond> {
        let Self { file, memory, table, .. } = *self;
        let all = [
            (file, limits.file, "bytes", SMALLER),
            (
                memory,
                limits.memory,
                "bytes of memory at its start",
                "Link with a smaller stack, such as -zstack-size=32768, and keep less in statics",
            ),
            (
                table,
                limits.table,
                "elements in a table",
                "A table has the functions that are called by a pointer: link less code",
            ),
        ];
        let (size, most, what, advice) = all.into_iter().find(|(size, most, ..)| size > most)?;
        Some(Beyond { has: format!("{size} {what}, more than the limit of {most}"), advice })
    }
}

/// The limit that a file exceeds, and what its author can do.
struct Beyond {
    has: String,
    advice: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(text: &str, large_lanes: u32) -> Result<Class, &'static str> {
        let declared = Declared::of(&wat::parse_str(text).unwrap()).unwrap();
        Class::of(&declared, &Limits { large_lanes, ..Limits::default() }).map_err(|error| error.code())
    }

    #[test]
    fn the_class_follows_from_what_the_modules_declare() {
        let module = |memory: &str, table: usize| {
            format!("(component (core module (memory {memory})) (core module (table {table} funcref)))")
        };
        for (memory, table, without, with) in [
            ("1", 0, Ok(Class::Small), Ok(Class::Small)),
            ("2", 1_024, Ok(Class::Small), Ok(Class::Small)),
            ("3", 0, Ok(Class::Medium), Ok(Class::Medium)),
            ("1", 1_025, Ok(Class::Medium), Ok(Class::Medium)),
            ("64", 4_096, Ok(Class::Medium), Ok(Class::Medium)),
            ("65", 0, Err("needs_large"), Ok(Class::Large)),
            ("1", 4_097, Err("needs_large"), Ok(Class::Large)),
            ("256", 8_192, Err("needs_large"), Ok(Class::Large)),
            ("257", 0, Err("too_demanding"), Err("too_demanding")),
            ("1", 8_193, Err("too_demanding"), Err("too_demanding")),
            // A declared maximum counts if the class is available; a maximum beyond every class is ignored.
            ("1 1", 0, Ok(Class::Small), Ok(Class::Small)),
            ("1 40", 0, Ok(Class::Medium), Ok(Class::Medium)),
            ("1 200", 0, Ok(Class::Small), Ok(Class::Large)),
            ("1 65536", 0, Ok(Class::Small), Ok(Class::Small)),
        ] {
            let text = module(memory, table);
            assert_eq!((class(&text, 0), class(&text, 1)), (without, with), "{text}");
        }
    }

    #[test]
    fn a_file_that_medium_does_not_hold_may_still_be_small() {
        let limits = Limits::default();
        let declared = Declared { file: 5 << 20, memory: 3 << 19, most_memory: 3 << 19, table: 0 };
        assert_eq!(Class::of(&declared, &limits), Ok(Class::Small));
        let file = |bytes| Class::of(&Declared { file: bytes, ..Declared::default() }, &limits).map_err(|e| e.code());
        assert_eq!((file(16 << 20), file((16 << 20) + 1)), (Ok(Class::Small), Err("needs_large")));
        assert_eq!(file((32 << 20) + 1), Err("too_demanding"));
    }
}
