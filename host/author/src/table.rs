//! The columns of a CSV file, as `assay features table` and Python write them: a line of names, then numbers.

use std::path::Path;

use crate::FileFault;

/// The columns `names` of each row; NaN if a cell is empty. Other columns are left out.
///
/// # Errors
/// A missing column, or the first cell that is not a number, with its line.
pub(crate) fn rows(path: &Path, text: &str, names: &[&str]) -> Result<Vec<Vec<f64>>, FileFault> {
    let mut lines = text.lines();
    let head: Vec<&str> = cells(lines.next().unwrap_or_default()).map(bare).collect();
    let place = |name: &&str| {
        let missing =
            || FileFault::of(path, format!("it has no column `{name}`. Write it again: assay features table"));
        head.iter().position(|column| column == name).ok_or_else(missing)
    };
    let places: Vec<usize> = names.iter().map(place).collect::<Result<_, _>>()?;
    let row = |(at, line): (usize, &str)| {
        let cells: Vec<&str> = cells(line).collect();
        let cell = |place: &usize| {
            let cell = cells.get(*place).copied().map(bare);
            cell.and_then(number).ok_or_else(|| {
                let name = head.get(*place).copied().unwrap_or_default();
                let found = cell.map_or("is missing".to_owned(), |cell| format!("is `{cell}`, which is not a number"));
                FileFault::of(path, format!("line {}: the column `{name}` {found}", at + 2))
            })
        };
        places.iter().map(cell).collect()
    };
    lines.enumerate().filter(|(_, line)| !line.trim().is_empty()).map(row).collect()
}

/// The cells of a line. A comma between quotes belongs to a cell.
pub(crate) fn cells(line: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    line.split(move |letter| {
        quoted ^= letter == '"';
        letter == ',' && !quoted
    })
}

/// A cell without spaces and quotes.
pub(crate) fn bare(cell: &str) -> &str {
    cell.trim().trim_matches('"')
}

fn number(cell: &str) -> Option<f64> {
    if cell.is_empty() { Some(f64::NAN) } else { cell.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_name() {
        let said = |text: &str| rows(Path::new("t.csv"), text, &["b", "a"]);
        assert_eq!(said("a,x,\"b\"\n1,q,2\n\n3,,4e1\n").unwrap(), [[2.0, 1.0], [40.0, 3.0]]);
        assert!(said("a,b\n,1").unwrap()[0][1].is_nan());
        assert_eq!(said("id,a,b\n\"x, \"\"y\"\", z\",1,2\n").unwrap(), [[2.0, 1.0]]);
        let fault = |text: &str| said(text).unwrap_err().to_string();
        assert_eq!(fault("a,c\n1,2"), "t.csv: it has no column `b`. Write it again: assay features table");
        assert_eq!(fault("a,b\n1,x"), "t.csv: line 2: the column `b` is `x`, which is not a number");
        assert_eq!(fault("a,b\n1,2\n1"), "t.csv: line 3: the column `b` is missing");
    }
}
