//! Reads CSV with a line of column names, or only wallets.

use assay_domain::Subject;
use assay_http::separated::lines;
use serde_json::Value;

use super::{ONLY, Row, TableError};

pub(super) fn read(bytes: &[u8], most: usize) -> Result<(Vec<String>, Vec<Row>), TableError> {
    let (mut columns, mut rows) = (None::<Vec<String>>, Vec::new());
    for line in lines(bytes)? {
        let line = line?;
        let mut cells = line.cells;
        let Some(names) = &columns else {
            // Without names, a list of wallets begins at once.
            let is_list = matches!(&*cells, [only] if Subject::parse(only.trim()).is_ok());
            if is_list {
                rows.push(Row { cells: cells.into_iter().map(Value::String).collect() });
                columns = Some(vec![ONLY.to_owned()]);
            } else {
                columns = Some(named(cells)?);
            }
            continue;
        };
        // Programs write an empty last cell or leave it out.
        while cells.len() > names.len() && cells.last().is_some_and(String::is_empty) {
            cells.pop();
        }
        if cells.len() > names.len() {
            return Err(TableError::Cells { line: line.number, cells: cells.len(), columns: names.len() });
        }
        if rows.len() >= most {
            return Err(TableError::Rows { most });
        }
        cells.resize(names.len(), String::new());
        rows.push(Row { cells: cells.into_iter().map(Value::String).collect() });
    }
    Ok((columns.unwrap_or_default(), rows))
}

/// The names of the first line. A column without a name gets one by its place.
fn named(cells: Vec<String>) -> Result<Vec<String>, TableError> {
    let mut names: Vec<String> = Vec::with_capacity(cells.len());
    for (at, cell) in cells.into_iter().enumerate() {
        let name = match cell.trim() {
            "" => format!("column {}", at + 1),
            name => name.to_owned(),
        };
        if names.contains(&name) {
            return Err(TableError::SameName(name));
        }
        names.push(name);
    }
    Ok(names)
}
