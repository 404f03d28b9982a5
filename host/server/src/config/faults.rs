//! Every fault of form in a configuration: keys that do not exist, and values of a wrong type. The loader stops at the
//! first one, so each is noted and replaced, and the rest is read again.

use std::collections::BTreeMap;

use config::{Config as Values, Map, Value, ValueKind};

use serde::de::DeserializeOwned;

use super::{Problem, unset, words};

/// Repairs after which nothing more is looked for.
const MOST: usize = 500;

/// A fault, and what makes the rest of the values readable.
struct Fault {
    problem: Problem,
    repair: Repair,
}

enum Repair {
    /// Another value at the key.
    Replace,
    /// Values for the fields that the table at the key lacks.
    Fill {
        table: String,
        fields: Vec<String>,
    },
    Remove,
    /// The loader did not say where.
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Field(String),
    Item(usize),
}

/// A form of file.
pub(super) trait Form: DeserializeOwned {
    /// The place that shows its keys and values.
    const SHOWN: &str;
    /// Choices that a message lists.
    const LISTED: usize;

    /// A value for a field that a table of a list lacks.
    fn stand_in(_field: &str) -> Option<ValueKind> {
        None
    }
}

/// The file as far as it can be read, and every fault. Faulty values are replaced by others; `defaults` has some that
/// can be read.
pub(super) fn read<T: Form>(mut values: Values, defaults: &Value) -> (Option<T>, Vec<Problem>) {
    let mut problems = BTreeMap::<String, Problem>::new();
    let mut tried = BTreeMap::<String, usize>::new();
    let all = |problems: BTreeMap<String, Problem>| problems.into_values().collect();
    for _ in 0..MOST {
        let error = match values.clone().try_deserialize::<T>() {
            Ok(config) => return (Some(config), all(problems)),
            Err(error) => error,
        };
        let Fault { problem, repair } = Fault::of::<T>(&error, &values, defaults);
        let path = steps(&problem.key);
        let nth = tried.entry(problem.key.clone()).or_default();
        *nth += 1;
        let is_repaired = match repair {
            Repair::Unknown => false,
            Repair::Remove => remove(&mut values.cache, &path),
            Repair::Fill { table, fields } => fill::<T>(&mut values.cache, &table, &fields),
            // The fields of a table are read in any order, so the same key may fail again after others.
            Repair::Replace => replace(&mut values.cache, &path, defaults, *nth),
        };
        problems.entry(problem.key.clone()).or_insert(problem);
        if !is_repaired {
            break;
        }
    }
    (None, all(problems))
}

/// Sets the fields that a table lacks; false if one of them has no stand-in.
fn fill<T: Form>(root: &mut Value, table: &str, fields: &[String]) -> bool {
    let mut set_all = fields.iter().map(|field| {
        let path = steps(&format!("{table}.{field}"));
        T::stand_in(field).is_some_and(|kind| set(root, &path, kind))
    });
    set_all.all(|is_set| is_set)
}

/// Puts the `nth` of some values at `path`; false after the last.
fn replace(root: &mut Value, path: &[Step], defaults: &Value, nth: usize) -> bool {
    let default = path.iter().try_fold(defaults, step).map(|value| value.kind.clone());
    let texts = ["x", "127.0.0.1:1", "http://x", "0x0000000000000000000000000000000000000001"];
    let texts = texts.into_iter().map(|text| ValueKind::String(text.into()));
    let others = [ValueKind::Array(Vec::new()), ValueKind::Boolean(true), ValueKind::Table(Map::new())];
    let kinds = default.into_iter().chain([ValueKind::I64(1)]).chain(texts).chain(others);
    match kinds.map(Some).chain([None]).nth(nth - 1) {
        Some(Some(kind)) => set(root, path, kind),
        Some(None) => remove(root, path),
        None => false,
    }
}

impl Fault {
    fn of<T: Form>(error: &config::ConfigError, values: &Values, defaults: &Value) -> Self {
        let message = words::without_values(&error.to_string());
        let (message, at) =
            match message.rsplit_once(" for key `").map(|(words, key)| (words, key.trim_end_matches('`'))) {
                Some((words, key)) => (words.to_owned(), Some(key.to_owned())),
                None => (message.clone(), None),
            };
        let under = |name: &str| match at.as_deref() {
            None | Some("") => name.to_owned(),
            Some(at) => format!("{at}.{name}"),
        };
        if let Some((name, choices)) = unknown_field(&message) {
            let key = under(&name);
            let what = format!("no such key; {}", advice::<T>(&name, &choices));
            return Self { repair: Repair::Remove, problem: Problem { key, what } };
        }
        if let Some(name) =
            quoted(&message, "missing field `").or_else(|| quoted(&message, "missing configuration field \""))
        {
            // The loader names such a field by its whole path.
            let key = if name.contains(['.', '[']) { words::dotted(&name) } else { under(&name) };
            return Self { repair: Repair::Replace, problem: Problem { key, what: "missing".into() } };
        }
        if let Some((table, fields, what)) = lacking(&message) {
            let key = format!("{table}.{}", fields.first().map_or("", String::as_str));
            return Self { problem: Problem { key, what }, repair: Repair::Fill { table, fields } };
        }
        let Some(key) = at else {
            return Self { problem: Problem { key: "configuration".into(), what: message }, repair: Repair::Unknown };
        };
        let found = steps(&key).iter().try_fold(&values.cache, step).map(|value| &value.kind);
        let what = match found {
            Some(ValueKind::String(text)) if unset::variable(text).is_some() => unset::words(text),
            Some(ValueKind::String(text)) if message.contains(" does not have variant constructor ") => {
                let advice = match choices_of::<T>(defaults, &steps(&key), text) {
                    Some(choices) => advice::<T>(text, &choices),
                    None => format!("{} shows what it can be", T::SHOWN),
                };
                format!("cannot be {text:?}; {advice}")
            }
            _ => plain(&message),
        };
        Self { repair: Repair::Replace, problem: Problem { key, what } }
    }
}

/// An error about the type of a value, in words of a configuration.
fn plain(message: &str) -> String {
    let Some((found, expected)) =
        message.strip_prefix("invalid type: ").and_then(|rest| rest.split_once(", expected "))
    else {
        return match message {
            "invalid socket address syntax" => "not an address with a port, such as 127.0.0.1:8080".to_owned(),
            other => other.to_owned(),
        };
    };
    let found = match found.split_once('`') {
        // Never the text, which may be a secret.
        Some((_, value)) => value.trim_end_matches('`'),
        None => match found {
            "sequence" => "a list",
            "map" => "a table",
            other => other,
        },
    };
    let expected = match expected {
        "a sequence" => "a list",
        "a map" => "a table",
        "a string" => "a text in quotes",
        "an integer" => "a whole number",
        "a boolean" => "true or false",
        other if other.contains("unsigned") => "a whole number of at least 0",
        other if other.contains("integer") => "a whole number",
        other => other,
    };
    format!("{found}; must be {expected}")
}

/// The name of an unknown field, and the names that there are.
fn unknown_field(message: &str) -> Option<(String, Vec<String>)> {
    let rest = message.strip_prefix("unknown field `")?;
    let (name, choices) = rest.split_once('`')?;
    Some((name.to_owned(), choices_in(choices)))
}

/// The table, the fields that it lacks, and the sentence, of a message such as `chains[0] (id 5) lacks name, rpc: …`.
fn lacking(message: &str) -> Option<(String, Vec<String>, String)> {
    let (table, what) = message.lines().next()?.split_once(' ')?;
    let (_, fields) = what.split_once(" lacks ")?;
    let fields = fields.split(':').next()?.split(", ").map(str::to_owned).collect();
    table.ends_with(']').then(|| (table.to_owned(), fields, what.to_owned()))
}

/// The names in backquotes of an error of serde.
fn choices_in(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// What a text of a fixed set can be. The loader does not say; the reader of JSON does, of the defaults with this text.
fn choices_of<T: Form>(defaults: &Value, path: &[Step], text: &str) -> Option<Vec<String>> {
    let mut alone = serde_json::Value::from(text);
    for (at, to) in path.iter().enumerate().rev() {
        alone = match to {
            Step::Item(_) => serde_json::Value::from(vec![alone]),
            Step::Field(name) => {
                let above = path.iter().take(at).try_fold(defaults, step);
                let mut table = match above.map(json) {
                    Some(serde_json::Value::Object(table)) => table,
                    _ => serde_json::Map::new(),
                };
                table.insert(name.clone(), alone);
                table.into()
            }
        };
    }
    let error = serde_json::from_value::<T>(alone).err()?.to_string();
    let rest = error.strip_prefix(&format!("unknown variant `{text}`"))?;
    Some(choices_in(rest)).filter(|choices| !choices.is_empty())
}

fn json(value: &Value) -> serde_json::Value {
    match &value.kind {
        ValueKind::Nil => serde_json::Value::Null,
        ValueKind::Boolean(is) => (*is).into(),
        ValueKind::I64(number) => (*number).into(),
        ValueKind::U64(number) => (*number).into(),
        ValueKind::Float(number) => (*number).into(),
        ValueKind::Table(fields) => {
            serde_json::Value::Object(fields.iter().map(|(name, value)| (name.clone(), json(value))).collect())
        }
        ValueKind::Array(items) => items.iter().map(json).collect(),
        other => other.to_string().into(),
    }
}

/// The nearest of `choices`, and all of them if they are few.
fn advice<T: Form>(name: &str, choices: &[String]) -> String {
    let near = choices.iter().map(|choice| (strsim::damerau_levenshtein(name, choice), choice)).min();
    let near = near.filter(|(distance, choice)| *distance <= choice.len().max(3) / 3).map(|(_, choice)| choice);
    match near {
        Some(choice) => format!("did you mean `{choice}`?"),
        None if (1..=T::LISTED).contains(&choices.len()) => {
            let (last, rest) = choices.split_last().map_or(("", &[][..]), |(last, rest)| (last.as_str(), rest));
            let rest = rest.iter().map(|choice| format!("`{choice}`")).collect::<Vec<_>>().join(", ");
            if rest.is_empty() { format!("give `{last}`") } else { format!("give {rest} or `{last}`") }
        }
        None => format!("{} shows what there is", T::SHOWN),
    }
}

/// Every text of the values, with its key.
pub(super) fn texts(values: &Value) -> Vec<(String, &str)> {
    fn below<'a>(value: &'a Value, key: &str, found: &mut Vec<(String, &'a str)>) {
        match &value.kind {
            ValueKind::Table(fields) => {
                let under = |name: &String| if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
                fields.iter().for_each(|(name, value)| below(value, &under(name), found));
            }
            ValueKind::Array(items) => {
                items.iter().enumerate().for_each(|(at, item)| below(item, &format!("{key}[{at}]"), found));
            }
            ValueKind::String(text) => found.push((key.to_owned(), text)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    below(values, "", &mut found);
    found
}

fn quoted(message: &str, before: &str) -> Option<String> {
    let (_, rest) = message.split_once(before)?;
    rest.split(['`', '"']).next().map(str::to_owned)
}

/// The steps of a key such as `chains[0].rpc[1]`.
fn steps(key: &str) -> Vec<Step> {
    let parts = key.split(['.', '[']).filter(|part| !part.is_empty());
    parts
        .map(|part| match part.strip_suffix(']').and_then(|number| number.parse().ok()) {
            Some(number) => Step::Item(number),
            None => Step::Field(part.to_owned()),
        })
        .collect()
}

fn step<'a>(value: &'a Value, to: &Step) -> Option<&'a Value> {
    match (&value.kind, to) {
        (ValueKind::Table(fields), Step::Field(name)) => fields.get(name),
        (ValueKind::Array(items), Step::Item(number)) => items.get(*number),
        _ => None,
    }
}

fn parent<'a>(value: &'a mut Value, path: &[Step]) -> Option<&'a mut Value> {
    path.iter().try_fold(value, |value, to| match (&mut value.kind, to) {
        (ValueKind::Table(fields), Step::Field(name)) => fields.get_mut(name),
        (ValueKind::Array(items), Step::Item(number)) => items.get_mut(*number),
        _ => None,
    })
}

fn remove(root: &mut Value, path: &[Step]) -> bool {
    let Some((last, above)) = path.split_last() else { return false };
    match (parent(root, above).map(|value| &mut value.kind), last) {
        (Some(ValueKind::Table(fields)), Step::Field(name)) => fields.remove(name).is_some(),
        (Some(ValueKind::Array(items)), Step::Item(number)) if *number < items.len() => {
            items.remove(*number);
            true
        }
        _ => false,
    }
}

fn set(root: &mut Value, path: &[Step], kind: ValueKind) -> bool {
    let Some((last, above)) = path.split_last() else { return false };
    let value = Value::new(None, kind);
    match (parent(root, above).map(|value| &mut value.kind), last) {
        (Some(ValueKind::Table(fields)), Step::Field(name)) => {
            fields.insert(name.clone(), value);
            true
        }
        (Some(ValueKind::Array(items)), Step::Item(number)) => match items.get_mut(*number) {
            Some(item) => {
                *item = value;
                true
            }
            None => false,
        },
        _ => false,
    }
}
