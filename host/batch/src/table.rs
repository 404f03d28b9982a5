//! A table of wallets, as a caller sends it: CSV, a JSON list of objects, or a list of addresses and names.

mod column;
mod separated;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use assay_http::{
    separated::{LONGEST, SeparatedError, without_mark},
    twice::given_twice,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Most columns of a table.
const COLUMNS: usize = 100;
/// Characters of a name in an error.
const SHOWN: usize = 100;
/// The column of a list without columns.
const ONLY: &str = "address";

/// Rows of equal length.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    pub columns: Vec<String>,
    pub rows: Vec<Row>,
    /// The column of the wallets.
    pub wallets: usize,
}

/// One row: the caller's own cells, in the order of the columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub cells: Vec<Value>,
}

/// The form of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Csv,
    Json,
}

/// Why a table cannot be read; says where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    #[error("the table is empty; send a row for each wallet")]
    Empty,
    #[error("the table has more than {most} rows; send it in parts")]
    Rows { most: usize },
    #[error("the table has {0} columns; send at most {COLUMNS}")]
    Columns(usize),
    #[error("row {row} has more than {LONGEST} bytes; shorten its cells")]
    LongRow { row: usize },
    #[error(transparent)]
    Separated(#[from] SeparatedError),
    #[error("line {line} has {cells} cells, and the first line has {columns}; quote cells with a separator in them")]
    Cells { line: u64, cells: usize, columns: usize },
    #[error("the field {0:?} is given twice; send it once")]
    Twice(String),
    #[error("two columns are named {0:?}; rename one")]
    SameName(String),
    #[error("it is not JSON: {0}")]
    NotJson(String),
    #[error("item {0} is neither a text nor an object; send a list of addresses and names, or of objects")]
    Item(usize),
    #[error("send a list, or an object with the list as `rows`")]
    NoList,
    #[error("no column is named {name:?}; the table has {known}")]
    NoColumn { name: String, known: String },
    #[error("no column has addresses or names; name it with `column`: {known}")]
    NoWallets { known: String },
}

impl Table {
    /// Reads a table with at most `most` rows. The wallets are in the column `column`; without one, the table tells.
    ///
    /// # Errors
    /// [`TableError`].
    pub fn read(bytes: &[u8], form: Form, column: Option<&str>, most: usize) -> Result<Self, TableError> {
        let (columns, rows) = match form {
            Form::Csv => separated::read(bytes, most)?,
            Form::Json => listed(bytes, most)?,
        };
        if rows.is_empty() {
            return Err(TableError::Empty);
        }
        if columns.len() > COLUMNS {
            return Err(TableError::Columns(columns.len()));
        }
        let wallets = column::of_wallets(&columns, &rows, column)?;
        Ok(Self { columns, rows, wallets })
    }
}

impl Form {
    /// The form given by the content type; if it gives none, the first character decides.
    pub fn of(content_type: Option<&str>, bytes: &[u8]) -> Self {
        let named = content_type.map(|text| text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase());
        match named.as_deref() {
            Some("text/csv" | "text/plain" | "text/tab-separated-values") => Self::Csv,
            Some("application/json") => Self::Json,
            _ => match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
                Some(b'[' | b'{') => Self::Json,
                _ => Self::Csv,
            },
        }
    }
}

impl Row {
    pub(crate) fn text(&self, column: usize) -> &str {
        self.cells.get(column).and_then(Value::as_str).unwrap_or_default().trim()
    }
}

/// Reads a list of JSON objects or texts. Columns are those of all objects, in alphabetical order.
fn listed(bytes: &[u8], most: usize) -> Result<(Vec<String>, Vec<Row>), TableError> {
    let bytes = without_mark(bytes)?;
    let value: Value = serde_json::from_slice(bytes).map_err(|error| TableError::NotJson(error.to_string()))?;
    if let Some(field) = given_twice(bytes).pop_first() {
        return Err(TableError::Twice(assay_domain::display_text(&field, SHOWN)));
    }
    let list = match value {
        Value::Array(list) => list,
        Value::Object(mut fields) => match fields.remove("rows") {
            Some(Value::Array(list)) => list,
            _ => return Err(TableError::NoList),
        },
        _ => return Err(TableError::NoList),
    };
    if list.len() > most {
        return Err(TableError::Rows { most });
    }
    let object = |(at, item): (usize, Value)| match item {
        Value::Object(fields) => Ok(fields),
        Value::String(text) => Ok(Map::from_iter([(ONLY.to_owned(), Value::String(text))])),
        _ => Err(TableError::Item(at + 1)),
    };
    let objects = list.into_iter().enumerate().map(object).collect::<Result<Vec<_>, _>>()?;
    let mut places = BTreeMap::new();
    for name in objects.iter().flat_map(Map::keys) {
        places.entry(name.clone()).or_insert(0);
    }
    if places.len() > COLUMNS {
        return Err(TableError::Columns(places.len()));
    }
    let columns: Vec<String> = places.into_keys().collect();
    let row = |(at, mut fields): (usize, Map<String, Value>)| {
        let cells: Vec<Value> = columns.iter().map(|name| fields.remove(name).unwrap_or_default()).collect();
        let length = |cell: &Value| cell.as_str().map_or_else(|| cell.to_string().len(), str::len);
        let is_long = cells.iter().map(length).sum::<usize>() > LONGEST;
        if is_long { Err(TableError::LongRow { row: at + 1 }) } else { Ok(Row { cells }) }
    };
    let rows = objects.into_iter().enumerate().map(row).collect::<Result<_, _>>()?;
    Ok((columns, rows))
}
