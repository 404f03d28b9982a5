//! The lines of a configuration file on which its keys stand.

use std::{collections::BTreeMap, ops::Range, path::Path};

use toml::{
    Spanned,
    de::{DeTable, DeValue, Error},
};

use super::Problem;

/// The lines of the keys of a file, and the environment variables that set keys.
pub(super) struct Places {
    file: String,
    lines: BTreeMap<String, usize>,
}

/// A file that was read once.
pub(super) struct Read {
    pub places: Places,
    /// The file with 0 in place of numbers that no type has.
    pub text: String,
    /// Those numbers.
    pub beyond: Vec<Problem>,
}

impl Places {
    /// # Errors
    /// Every fault of the syntax, with its line.
    pub(super) fn of(path: &Path, text: &str) -> Result<Read, Vec<Problem>> {
        let file = path.display().to_string();
        let (table, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            return Err(errors.iter().map(|error| syntax(&file, text, error)).collect());
        }
        let mut seen = Seen { text, lines: BTreeMap::new(), beyond: Vec::new() };
        seen.table(table.get_ref(), "");
        let Seen { lines, beyond, .. } = seen;
        let mut readable = text.to_owned();
        for (_, span) in &beyond {
            let zero = format!("{:<1$}", 0, span.len());
            readable.replace_range(span.clone(), &zero);
        }
        let what = "the number is too large";
        let beyond = beyond.into_iter().map(|(key, _)| Problem { key, what: what.to_owned() }).collect();
        Ok(Read { places: Self { file, lines }, text: readable, beyond })
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

/// What is found in a file.
struct Seen<'a> {
    text: &'a str,
    lines: BTreeMap<String, usize>,
    /// Numbers that no type has, with their keys.
    beyond: Vec<(String, Range<usize>)>,
}

impl Seen<'_> {
    fn table(&mut self, table: &DeTable<'_>, above: &str) {
        for (name, value) in table {
            let key = if above.is_empty() { name.get_ref().to_string() } else { format!("{above}.{}", name.get_ref()) };
            self.lines.insert(key.clone(), line(self.text, name.span().start));
            self.value(value, &key);
        }
    }

    fn value(&mut self, value: &Spanned<DeValue<'_>>, key: &str) {
        match value.get_ref() {
            DeValue::Table(table) => self.table(table, key),
            DeValue::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    let key = format!("{key}[{at}]");
                    self.lines.insert(key.clone(), line(self.text, item.span().start));
                    self.value(item, &key);
                }
            }
            DeValue::Integer(number) if i64::from_str_radix(number.as_str(), number.radix()).is_err() => {
                self.beyond.push((key.to_owned(), value.span()));
            }
            DeValue::Float(number) => {
                let is_written = number.as_str().ends_with("inf");
                let is_infinite = number.as_str().parse().is_ok_and(f64::is_infinite);
                if is_infinite && !is_written {
                    self.beyond.push((key.to_owned(), value.span()));
                }
            }
            _ => {}
        }
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
