//! Matches the columns of a file with the columns of a features file, by name.

use parquet::{
    basic::{ConvertedType, LogicalType},
    schema::types::{ColumnDescriptor, SchemaDescriptor},
};

use super::table::{self, Column};
use crate::record::misspelt;

/// Where the values of a column go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// The group of a known column and its index there.
    Known(usize, usize),
    /// An unknown plain column, by its name.
    Other(String),
    /// A list column without values.
    Nowhere,
}

type Groups = [(Option<&'static str>, Vec<Column>)];

/// The place of each column of the file.
///
/// # Errors
/// Which column is unknown, wrong or missing.
pub(crate) fn places(schema: &SchemaDescriptor) -> Result<Vec<Place>, String> {
    let groups = table::all();
    let mut places: Vec<Place> = Vec::new();
    for column in schema.columns() {
        let place = place(column, &groups)?;
        if place != Place::Nowhere && places.contains(&place) {
            return Err(format!("column {} is there twice", column.path().string()));
        }
        places.push(place);
    }
    check_required(&places, &groups)?;
    Ok(places)
}

fn place(column: &ColumnDescriptor, groups: &Groups) -> Result<Place, String> {
    let (path, parts) = (column.path().string(), column.path().parts());
    let unknown =
        || format!("there is no column {path} in a features file; leave it out, or give it the name that it has there");
    let (list, name) = match parts {
        [name] => (None, name),
        [list, .., name] => (Some(list.as_str()), name),
        [] => return Err(unknown()),
    };
    let group = groups.iter().position(|(group, _)| *group == list).ok_or_else(unknown)?;
    // pandas and polars give a list that is empty in every row a column of unknown type.
    if list.is_some() && parts.len() == 3 && column.logical_type_ref() == Some(&LogicalType::Unknown) {
        return Ok(Place::Nowhere);
    }
    let known = |columns: &[Column]| columns.iter().position(|known| known.name == *name);
    let place = match groups.get(group).and_then(|(_, columns)| known(columns)) {
        Some(place) => Place::Known(group, place),
        None if list.is_none() && !misspelt(name) => Place::Other(name.clone()),
        None => return Err(unknown()),
    };
    let wanted = i16::from(list.is_some());
    if column.max_rep_level() != wanted {
        let wanted = if wanted == 0 { "one value a row" } else { "a list of structs" };
        return Err(format!(
            "column {path} is nested otherwise than it should be: {} is {wanted}",
            list.unwrap_or(name)
        ));
    }
    if let Some(meaning) = foreign(column) {
        return Err(format!(
            "column {path} holds {meaning}; times are whole seconds since 1970 (UTC) and amounts are floats"
        ));
    }
    Ok(place)
}

/// # Errors
/// Which required column is missing. A whole list may be missing.
fn check_required(places: &[Place], groups: &Groups) -> Result<(), String> {
    for (index, (list, columns)) in groups.iter().enumerate() {
        if list.is_some() && !places.iter().any(|place| matches!(place, Place::Known(group, _) if *group == index)) {
            continue;
        }
        for (place, column) in columns.iter().enumerate() {
            if !column.optional && !places.contains(&Place::Known(index, place)) {
                let list = list.map(|list| format!("{list}.")).unwrap_or_default();
                return Err(format!("there is no column {list}{}, without which nothing can be scored", column.name));
            }
        }
    }
    Ok(())
}

/// The meaning of a column that is not a plain number.
fn foreign(column: &ColumnDescriptor) -> Option<&'static str> {
    match column.logical_type_ref() {
        Some(LogicalType::Timestamp(_) | LogicalType::Date | LogicalType::Time(_)) => {
            return Some("times of another kind");
        }
        Some(LogicalType::Decimal(_)) => return Some("decimals"),
        _ => {}
    }
    match column.converted_type() {
        ConvertedType::DATE
        | ConvertedType::TIME_MILLIS
        | ConvertedType::TIME_MICROS
        | ConvertedType::TIMESTAMP_MILLIS
        | ConvertedType::TIMESTAMP_MICROS
        | ConvertedType::INTERVAL => Some("times of another kind"),
        ConvertedType::DECIMAL => Some("decimals"),
        _ => None,
    }
}
