//! The log: on standard error, so that what a command prints on standard output stays clean.

use std::{
    env,
    io::{IsTerminal, stderr},
};

use tracing_subscriber::{EnvFilter, fmt, prelude::*};

/// What is logged, in the syntax of `RUST_LOG`: `info`, or `warn,assay::chain=debug`.
const FILTER: &str = "RUST_LOG";
/// `text` or `json`. Where unset: text on a terminal, JSON otherwise.
const FORMAT: &str = "ASSAY_LOG_FORMAT";

/// The log cannot be set up as asked for.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error("{FILTER}={given:?} is no log filter: {reason}; use a level such as info, or warn,assay=debug")]
    Filter { given: String, reason: String },
    #[error("{FORMAT}={given:?} is no log format; use text or json")]
    Format { given: String },
    #[error("the log was already set up")]
    Twice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Text,
    Json,
}

/// Sends the log of this process to standard error. Called once, by the binary.
///
/// # Errors
/// [`LogError`]; nothing is logged then.
pub fn log_to_stderr() -> Result<(), LogError> {
    let read = |name| env::var(name).ok().filter(|text: &String| !text.is_empty());
    let filter = filter(read(FILTER))?;
    let terminal = stderr().is_terminal();
    let subscriber = tracing_subscriber::registry().with(filter);
    match format(read(FORMAT), terminal)? {
        Format::Text => subscriber.with(fmt::layer().with_writer(stderr).with_ansi(terminal)).try_init(),
        Format::Json => subscriber.with(fmt::layer().json().flatten_event(true).with_writer(stderr)).try_init(),
    }
    .map_err(|_| LogError::Twice)
}

fn filter(given: Option<String>) -> Result<EnvFilter, LogError> {
    let given = given.unwrap_or_else(|| "info".into());
    EnvFilter::try_new(&given).map_err(|error| LogError::Filter { given, reason: error.to_string() })
}

fn format(given: Option<String>, terminal: bool) -> Result<Format, LogError> {
    match given.as_deref() {
        Some("text") => Ok(Format::Text),
        Some("json") => Ok(Format::Json),
        Some(other) => Err(LogError::Format { given: other.to_owned() }),
        None if terminal => Ok(Format::Text),
        None => Ok(Format::Json),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_follows_the_terminal_unless_named() {
        assert_eq!(format(None, true).unwrap(), Format::Text);
        assert_eq!(format(None, false).unwrap(), Format::Json);
        assert_eq!(format(Some("text".into()), false).unwrap(), Format::Text);
        assert_eq!(format(Some("json".into()), true).unwrap(), Format::Json);
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        assert!(filter(Some("warn,assay=debug".into())).is_ok());
        assert!(filter(Some("assay=loud".into())).unwrap_err().to_string().contains("assay=loud"));
        assert!(format(Some("xml".into()), true).unwrap_err().to_string().contains("xml"));
    }
}
