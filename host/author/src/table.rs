//! The columns of a CSV file, as `assay features table` and Python write them: a line of names, then numbers.

use std::path::Path;

use crate::FileFault;

/// The names of the columns. The mark that some programs write before UTF-8 is no part of them.
///
/// # Errors
/// There are none, commas do not separate them, or two have one name.
pub(crate) fn head<'a>(path: &Path, text: &'a str) -> Result<Vec<&'a str>, FileFault> {
    let line = text.lines().next().unwrap_or_default().trim_start_matches('\u{feff}');
    let names: Vec<&str> = cells(line).map(bare).collect();
    let twice = |(at, name): &(usize, &&str)| !name.is_empty() && names.iter().take(*at).any(|other| other == *name);
    if line.trim().is_empty() {
        return Err(FileFault::of(path, "its first line is empty, and not the names of the columns: write it again"));
    }
    if let (1, Some(mark)) = (names.len(), line.chars().find(|letter| matches!(letter, ';' | '\t' | '|'))) {
        return Err(FileFault::of(path, format!("its columns are separated by {mark:?}: write it with commas")));
    }
    match names.iter().enumerate().find(twice) {
        Some((_, name)) => Err(FileFault::of(path, format!("two columns have the name `{name}`: remove one"))),
        None => Ok(names),
    }
}

/// The columns `names` of each row; NaN if a cell is empty. Other columns are left out.
///
/// # Errors
/// A missing column, a row with more or fewer cells than columns, or the first cell that is not a number, or not a
/// finite one and has to be; with its line.
pub(crate) fn rows(path: &Path, text: &str, names: &[&str], is_finite: bool) -> Result<Vec<Vec<f64>>, FileFault> {
    let head = head(path, text)?;
    let place = |name: &&str| {
        let missing =
            || FileFault::of(path, format!("it has no column `{name}`. Write it again: assay features table"));
        head.iter().position(|column| column == name).ok_or_else(missing)
    };
    let places: Vec<usize> = names.iter().map(place).collect::<Result<_, _>>()?;
    let row = |(at, line): (usize, &str)| {
        let cells: Vec<&str> = cells(line).map(bare).collect();
        if cells.len() != head.len() {
            let found = format!("line {} has {} cells, and the first line {}", at + 2, cells.len(), head.len());
            return Err(FileFault::of(path, format!("{found}: write it again")));
        }
        let cell = |place: &usize| {
            let cell = cells.get(*place).copied().unwrap_or_default();
            number(cell).filter(|number| !(is_finite && number.is_infinite())).ok_or_else(|| {
                let name = head.get(*place).copied().unwrap_or_default();
                let kind = if is_finite { "a finite number" } else { "a number" };
                FileFault::of(path, format!("line {}: the column `{name}` is `{cell}`, which is not {kind}", at + 2))
            })
        };
        places.iter().map(cell).collect()
    };
    text.lines().skip(1).enumerate().filter(|(_, line)| !line.trim().is_empty()).map(row).collect()
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
        let said = |text: &str| rows(Path::new("t.csv"), text, &["b", "a"], true);
        assert_eq!(said("a,x,\"b\"\n1,q,2\n\n3,,4e1\n").unwrap(), [[2.0, 1.0], [40.0, 3.0]]);
        assert!(said("a,b\n,1").unwrap()[0][1].is_nan());
        assert_eq!(said("id,a,b\n\"x, \"\"y\"\", z\",1,2\n").unwrap(), [[2.0, 1.0]]);
        let fault = |text: &str| said(text).unwrap_err().to_string();
        assert_eq!(fault("a,c\n1,2"), "t.csv: it has no column `b`. Write it again: assay features table");
        assert_eq!(fault("a,b\n1,x"), "t.csv: line 2: the column `b` is `x`, which is not a finite number");
        assert_eq!(fault("a,b\n1e400,1"), "t.csv: line 2: the column `a` is `1e400`, which is not a finite number");
        assert_eq!(fault("a,b\n1,2\n1"), "t.csv: line 3 has 1 cells, and the first line 2: write it again");
        assert_eq!(fault("a,b,a\n1,2,3"), "t.csv: two columns have the name `a`: remove one");
        assert_eq!(fault("a;b\n1;2"), "t.csv: its columns are separated by ';': write it with commas");
        assert_eq!(fault("\n1,2"), "t.csv: its first line is empty, and not the names of the columns: write it again");
        assert_eq!(said("\u{feff}a,b\r\n1,2\r\n").unwrap(), [[2.0, 1.0]]);
        assert_eq!(rows(Path::new("t.csv"), "a\n-inf\n", &["a"], false).unwrap(), [[f64::NEG_INFINITY]]);
    }
}
