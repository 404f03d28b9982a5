//! Lists of wallets as their owners keep them: CSV or JSON.

use assay_http::separated::lines;
use serde_json::Value;

/// Rows of one request.
pub(crate) const MOST_ROWS: usize = 1_000;
/// Characters of a label.
pub(crate) const LONGEST_LABEL: usize = 200;

/// One row as it was given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct GivenRow {
    /// An address or a name, not yet checked.
    pub address: String,
    pub label: Option<String>,
    /// Why it is no row.
    pub wrong: Option<String>,
}

impl GivenRow {
    fn wrong(why: impl Into<String>) -> Self {
        Self { wrong: Some(why.into()), ..Self::default() }
    }

    fn new(address: &str, label: Option<&str>) -> Self {
        let label = label.map(str::trim).filter(|label| !label.is_empty());
        let is_long = label.is_some_and(|label| label.chars().count() > LONGEST_LABEL);
        let wrong = is_long.then(|| format!("the label has more than {LONGEST_LABEL} characters"));
        let label = label.filter(|_| !is_long).map(str::to_owned);
        Self { address: address.trim().to_owned(), label, wrong }
    }

    /// An item of `wallets`: an address, or an object with `address` and `label`.
    pub(crate) fn of_json(item: &Value) -> Self {
        match item {
            Value::String(address) => Self::new(address, None),
            Value::Object(fields) => {
                if let Some(other) = fields.keys().find(|name| !["address", "label"].contains(&name.as_str())) {
                    let shown = assay_domain::display_text(other, LONGEST_LABEL);
                    return Self::wrong(format!("unknown field {shown}; a row has address and label"));
                }
                match (fields.get("address"), fields.get("label")) {
                    (Some(Value::String(address)), None | Some(Value::Null)) => Self::new(address, None),
                    (Some(Value::String(address)), Some(Value::String(label))) => Self::new(address, Some(label)),
                    (Some(Value::String(_)), _) => Self::wrong("label must be a text"),
                    _ => Self::wrong("address must be a text"),
                }
            }
            _ => Self::wrong("a row must be an address, or an object with address and label"),
        }
    }
}

/// The rows of a CSV file. The first line names the columns; `address` is required, `label` is kept, others are
/// ignored.
///
/// # Errors
/// Why it is no such file.
pub(crate) fn of_csv(bytes: &[u8]) -> Result<Vec<GivenRow>, String> {
    let is_blank = |cells: &[String]| cells.iter().all(|cell| cell.trim().is_empty());
    let (mut columns, mut rows) = (None, Vec::new());
    for line in lines(bytes).map_err(|why| why.to_string())? {
        let cells = line.map_err(|why| why.to_string())?.cells;
        if is_blank(&cells) {
            continue;
        }
        let Some((address, label)) = columns else {
            columns = Some(named(&cells)?);
            continue;
        };
        if rows.len() == MOST_ROWS {
            return Err(format!("more than {MOST_ROWS} rows; send them in several requests"));
        }
        rows.push(match cells.get(address) {
            Some(given) => GivenRow::new(given, label.and_then(|at: usize| cells.get(at)).map(String::as_str)),
            None => GivenRow::wrong("the row has no field address"),
        });
    }
    if columns.is_none() {
        return Err("the file is empty; its first line must name the columns, such as address,label".to_owned());
    }
    Ok(rows)
}

/// The columns of the addresses and of the labels.
fn named(header: &[String]) -> Result<(usize, Option<usize>), String> {
    let column = |name: &str| {
        let mut found = header.iter().enumerate().filter(|(_, field)| field.trim().eq_ignore_ascii_case(name));
        let first = found.next().map(|(at, _)| at);
        match found.next() {
            Some(_) => Err(format!("the first line names the column {name} twice; name it once")),
            None => Ok(first),
        }
    };
    let address = column("address")?.ok_or("the first line must name the columns, with one named address")?;
    Ok((address, column("label")?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(address: &str, label: Option<&str>) -> GivenRow {
        GivenRow { address: address.to_owned(), label: label.map(str::to_owned), wrong: None }
    }

    #[test]
    fn a_file_of_a_spreadsheet_is_read_with_its_labels() {
        let text =
            "\u{feff}Label;ADDRESS;since\r\n\"Ada \"\"A\"\"; first\n line\";0x01;2024\r\n;ada.eth\r\n\r\nBen; 0x02 ;";
        let rows = of_csv(text.as_bytes()).unwrap();
        let ada = row("0x01", Some("Ada \"A\"; first\n line"));
        assert_eq!(rows, [ada, row("ada.eth", None), row("0x02", Some("Ben"))]);
        assert_eq!(of_csv(b"address\n0x01\n0x01").unwrap(), [row("0x01", None), row("0x01", None)]);
        assert_eq!(of_csv(b"label,address\nBen").unwrap(), [GivenRow::wrong("the row has no field address")]);
    }

    #[test]
    fn a_file_without_addresses_is_refused_with_the_reason() {
        for (text, part) in [
            ("", "empty"),
            ("0x01\n0x02", "named address"),
            ("address,address\n0x01,0x02", "names the column address twice"),
            ("address;Label;since; label\n0x01", "names the column label twice"),
            ("address\n\"0x01", "line 2 begins a quoted cell"),
            (format!("address\n{}", "0x01\n".repeat(MOST_ROWS + 1)).as_str(), "more than 1000 rows"),
        ] {
            let why = of_csv(text.as_bytes()).unwrap_err();
            assert!(why.contains(part), "{why}");
        }
        assert_eq!(of_csv(format!("address\n{}", "0x01\n".repeat(MOST_ROWS)).as_bytes()).unwrap().len(), MOST_ROWS);
    }

    #[test]
    fn an_item_that_is_no_row_says_why() {
        assert_eq!(GivenRow::of_json(&json!("0x01")), row("0x01", None));
        let given = json!({ "address": "0x01", "label": " Ada " });
        assert_eq!(GivenRow::of_json(&given), row("0x01", Some("Ada")));
        let long = "x".repeat(LONGEST_LABEL + 1);
        for (item, part) in [
            (json!(7), "an address, or an object"),
            (json!({}), "address must be"),
            (json!({ "address": "0x01", "label": 7 }), "label must be"),
            (json!({ "address": "0x01", "colour": 7 }), "unknown field colour"),
            (json!({ "address": "0x01", "label": long }), "more than 200"),
        ] {
            let row = GivenRow::of_json(&item);
            assert!(row.wrong.as_ref().is_some_and(|why| why.contains(part)), "{item}: {row:?}");
        }
    }
}
