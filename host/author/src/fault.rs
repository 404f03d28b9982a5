//! A problem in a file of an author, and its place.

use std::{fmt, ops::Range, path::Path};

/// One problem of a file. `Display` names the file, and line and column if they are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFault {
    file: String,
    /// Line and column, counted from 1.
    place: Option<(usize, usize)>,
    message: String,
}

impl FileFault {
    /// A problem of a whole file.
    pub fn of(file: &Path, message: impl Into<String>) -> Self {
        let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
        Self { file: name, place: None, message: message.into() }
    }

    /// A problem at a byte of the text of a file.
    pub fn at(file: &Path, text: &str, byte: usize, message: impl Into<String>) -> Self {
        let before = text.get(..byte.min(text.len())).unwrap_or(text);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Self { place: Some((line, column)), ..Self::of(file, message) }
    }
}

impl fmt::Display for FileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some((line, column)) => write!(f, "{}:{line}:{column}: {}", self.file, self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

impl std::error::Error for FileFault {}

/// The byte after the opening quotes of a text in a TOML file. For a text with an escape, the byte of its first quote.
pub(crate) fn begins(text: &str, span: &Range<usize>, value: &str) -> usize {
    [3, 1]
        .into_iter()
        .map(|quotes| span.start + quotes)
        .find(|start| text.get(*start..).is_some_and(|rest| rest.starts_with(value)))
        .unwrap_or(span.start)
}
