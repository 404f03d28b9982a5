//! The lines of a configuration file on which its keys stand.

use std::{collections::BTreeMap, path::Path};

use toml::de::{DeTable, DeValue, Error};

use super::Problem;

/// The lines of the keys of a file, and the environment variables that set keys.
pub(super) struct Places {
    file: String,
    lines: BTreeMap<String, usize>,
}

impl Places {
    /// # Errors
    /// Every fault of the syntax, with its line.
    pub(super) fn of(path: &Path, text: &str) -> Result<Self, Vec<Problem>> {
        let file = path.display().to_string();
        let (table, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            return Err(errors.iter().map(|error| syntax(&file, text, error)).collect());
        }
        let mut lines = BTreeMap::new();
        each(table.get_ref(), "", text, &mut lines);
        Ok(Self { file, lines })
    }

    /// No file.
    pub(super) fn nowhere() -> Self {
        Self { file: String::new(), lines: BTreeMap::new() }
    }

    /// Where the value of a key comes from: a variable, or the line of the key or of what it is in.
    pub(super) fn of_key(&self, key: &str) -> Option<String> {
        let variable = format!("ASSAY__{}", key.to_ascii_uppercase().replace('.', "__"));
        if std::env::var(&variable).is_ok() {
            return Some(variable);
        }
        let mut known = key;
        loop {
            if let Some(line) = self.lines.get(known) {
                return Some(format!("{}:{line}", self.file));
            }
            known = &known[..known.rfind(['.', '['])?];
        }
    }
}

fn each(table: &DeTable<'_>, above: &str, text: &str, lines: &mut BTreeMap<String, usize>) {
    for (name, value) in table {
        let key = if above.is_empty() { name.get_ref().to_string() } else { format!("{above}.{}", name.get_ref()) };
        lines.insert(key.clone(), line(text, name.span().start));
        below(value.get_ref(), &key, text, lines);
    }
}

fn below(value: &DeValue<'_>, key: &str, text: &str, lines: &mut BTreeMap<String, usize>) {
    match value {
        DeValue::Table(table) => each(table, key, text, lines),
        DeValue::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                let key = format!("{key}[{at}]");
                lines.insert(key.clone(), line(text, item.span().start));
                below(item.get_ref(), &key, text, lines);
            }
        }
        _ => {}
    }
}

/// A fault of the syntax in words without the text of the line, which may be a secret.
fn syntax(file: &str, text: &str, error: &Error) -> Problem {
    let at = error.span().map_or(0, |span| span.start).min(text.len());
    let number = line(text, at);
    let value = text.lines().nth(number - 1).and_then(|line| line.split_once('=')).map(|(_, value)| value.trim());
    let is_bare = |value: &str| value.starts_with(|c: char| c.is_alphanumeric() || c == '/' || c == '$' || c == '.');
    let is_word = |value: &str| ["true", "false"].contains(&value) || value.parse::<f64>().is_ok();
    let advice = match value {
        Some(value) if is_bare(value) && !is_word(value) => "; a text needs quotes",
        Some(value) if value.starts_with('"') && value.matches('"').count() % 2 == 1 => "; a quote is missing",
        _ => "",
    };
    let words = error.message().lines().next().unwrap_or_default();
    Problem { key: format!("{file}:{number}"), what: format!("{words}{advice}") }
}

fn line(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or_default().matches('\n').count() + 1
}
