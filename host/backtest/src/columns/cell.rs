//! One value of a column, and its conversion to a field of a record. A value that does not fit is an error; values are
//! not rounded or truncated.

use parquet::data_type::ByteArray;
use serde::{
    Deserialize as _,
    de::{IntoDeserializer as _, value::Error},
};

use serde_json::Value as Json;

use crate::record::MAX_LINE;
use assay_domain::{
    AssetClass, Coverage,
    features::{Dollars, LendingEvent, PositionFeatures},
};

/// Above this, a float cannot represent every whole number.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A value in the file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell {
    Null,
    Bool(bool),
    /// Any integer of up to 64 bits.
    Whole(i128),
    Real(f64),
    Text(ByteArray),
}

impl Cell {
    fn what(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "true or false",
            Self::Whole(_) => "a whole number",
            Self::Real(_) => "a number with a fraction",
            Self::Text(_) => "text",
        }
    }
}

impl Cell {
    /// The value as JSON; a number that is not finite is null.
    ///
    /// # Errors
    /// If it is no text in UTF-8, or too long.
    pub(crate) fn json(&self) -> Result<Json, String> {
        Ok(match self {
            Self::Null => Json::Null,
            Self::Bool(value) => Json::from(*value),
            Self::Whole(value) => i64::try_from(*value)
                .map(Json::from)
                .or_else(|_| u64::try_from(*value).map(Json::from))
                .unwrap_or_default(),
            Self::Real(value) => Json::from(*value),
            Self::Text(_) => Json::from(text(self)?),
        })
    }
}

/// The type of a written column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CellKind {
    Bool,
    U32,
    U64,
    F64,
    Text,
}

/// A field of a record.
pub(crate) trait Value: Sized {
    const KIND: CellKind;
    const OPTIONAL: bool = false;

    /// # Errors
    /// Why `cell` is not such a value.
    fn read(cell: &Cell) -> Result<Self, String>;
    fn write(&self) -> Cell;
}

impl<V: Value> Value for Option<V> {
    const KIND: CellKind = V::KIND;
    const OPTIONAL: bool = true;

    fn read(cell: &Cell) -> Result<Self, String> {
        if *cell == Cell::Null { Ok(None) } else { V::read(cell).map(Some) }
    }

    fn write(&self) -> Cell {
        self.as_ref().map_or(Cell::Null, V::write)
    }
}

fn not<V>(expected: &str, cell: &Cell) -> Result<V, String> {
    Err(format!("expected {expected}, found {}", cell.what()))
}

impl Value for bool {
    const KIND: CellKind = CellKind::Bool;

    fn read(cell: &Cell) -> Result<Self, String> {
        if let Cell::Bool(value) = cell { Ok(*value) } else { not("true or false", cell) }
    }

    fn write(&self) -> Cell {
        Cell::Bool(*self)
    }
}

impl Value for u64 {
    const KIND: CellKind = CellKind::U64;

    fn read(cell: &Cell) -> Result<Self, String> {
        match *cell {
            Cell::Whole(value) => Self::try_from(value).map_err(|_| format!("{value} is negative")),
            // pandas writes a column of whole numbers with missing values as floats.
            Cell::Real(value) if value.fract() == 0.0 && (0.0..=EXACT).contains(&value) => Ok(value as Self),
            Cell::Real(value) => {
                Err(format!("{value} is no count; where it is not known, leave it empty (null, not NaN)"))
            }
            _ => not("a whole number", cell),
        }
    }

    fn write(&self) -> Cell {
        Cell::Whole((*self).into())
    }
}

impl Value for u32 {
    const KIND: CellKind = CellKind::U32;

    fn read(cell: &Cell) -> Result<Self, String> {
        let value = u64::read(cell)?;
        Self::try_from(value).map_err(|_| format!("{value} is more than {}", Self::MAX))
    }

    fn write(&self) -> Cell {
        Cell::Whole((*self).into())
    }
}

impl Value for f64 {
    const KIND: CellKind = CellKind::F64;

    fn read(cell: &Cell) -> Result<Self, String> {
        match *cell {
            Cell::Real(value) if value.is_finite() => Ok(value),
            Cell::Real(value) => {
                Err(format!("{value} is no finite number; where it is not known, leave it empty (null, not NaN)"))
            }
            Cell::Whole(value) => Ok(value as Self),
            _ => not("a number", cell),
        }
    }

    fn write(&self) -> Cell {
        Cell::Real(*self)
    }
}

impl Value for String {
    const KIND: CellKind = CellKind::Text;

    fn read(cell: &Cell) -> Result<Self, String> {
        text(cell).map(str::to_owned)
    }

    fn write(&self) -> Cell {
        Cell::Text(self.as_str().into())
    }
}

fn text(cell: &Cell) -> Result<&str, String> {
    match cell {
        Cell::Text(bytes) if bytes.len() > MAX_LINE => Err(format!("it is longer than {MAX_LINE} bytes")),
        Cell::Text(bytes) => bytes.as_utf8().map_err(|_| "it is no text in UTF-8".into()),
        _ => not("text", cell),
    }
}

/// Values of an enum, by their names in JSON.
macro_rules! words {
    ($($type:ty),*) => {$(
        impl Value for $type {
            const KIND: CellKind = CellKind::Text;

            fn read(cell: &Cell) -> Result<Self, String> {
                let word: serde::de::value::StrDeserializer<'_, Error> = text(cell)?.into_deserializer();
                Self::deserialize(word).map_err(|error| error.to_string().chars().take(300).collect())
            }

            fn write(&self) -> Cell {
                Cell::Text(self.as_str().into())
            }
        }
    )*};
}

words!(Coverage, AssetClass);

/// Nested values, as the text that they are in JSON.
macro_rules! nested {
    ($($type:ty),*) => {$(
        impl Value for $type {
            const KIND: CellKind = CellKind::Text;

            fn read(cell: &Cell) -> Result<Self, String> {
                serde_json::from_str(text(cell)?).map_err(|error| error.to_string().chars().take(300).collect())
            }

            fn write(&self) -> Cell {
                serde_json::to_string(self).map_or(Cell::Null, |text| Cell::Text(text.as_str().into()))
            }
        }
    )*};
}

nested!(Vec<LendingEvent>, Dollars, PositionFeatures);
