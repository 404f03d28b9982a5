use parquet::{
    file::reader::{FileReader as _, SerializedFileReader},
    record::RowAccessor as _,
};
use serde_json::json;

use super::*;
use crate::row::FoundRecord;
use assay_domain::{Address, Coverage, time_from_unix};

/// Two rows of a caller who has a column `score` of its own, and formulas.
fn answered() -> Answered {
    let found = FoundRecord {
        score: 640,
        decile: 4,
        range: "good".into(),
        coverage: Coverage::Complete,
        model_version: "1.1".into(),
        score_id: Some("id".into()),
        debt_usd: 1_234.5,
        collateral_usd: 0.0,
        lowest_health_factor: None,
        last_liquidation_at: Some(time_from_unix(1_700_000_000)),
        read_at: time_from_unix(1_700_000_001),
    };
    let read = RowRecord {
        address: Some(Address::repeat_byte(1)),
        found: Some(found),
        ..RowRecord::without(RowStatus::Found, None)
    };
    let columns = ["=1+1", "score", "address"].map(str::to_owned).to_vec();
    let row = |cells: [Value; 3]| Row { cells: cells.to_vec() };
    Answered {
        columns,
        rows: vec![
            (row([json!("=cmd|' /C calc'!A0"), json!("-12.5"), json!("vitalik.eth")]), read),
            (row([json!(null), json!({ "a": 1 }), json!("@nobody")]), RowRecord::invalid("@nobody")),
        ],
    }
}

#[test]
fn no_cell_of_a_csv_is_a_formula_and_numbers_stay() {
    let text = String::from_utf8(to_csv(&answered()).unwrap()).unwrap();
    let mut lines = csv::Reader::from_reader(text.as_bytes());
    let names: Vec<String> = lines.headers().unwrap().iter().map(str::to_owned).collect();
    assert_eq!(names[..6], ["'=1+1", "score", "address", "status", "reason", "resolved_address"]);
    assert_eq!(names[6], format!("assay_{}", names[1]), "an own column keeps its name");
    let rows: Vec<csv::StringRecord> = lines.records().map(Result::unwrap).collect();
    assert_eq!((&rows[0][0], &rows[0][1], &rows[0][6]), ("'=cmd|' /C calc'!A0", "-12.5", "640"));
    assert_eq!((&rows[1][0], &rows[1][1], &rows[1][2], &rows[1][3]), ("", "{\"a\":1}", "'@nobody", "invalid"));
    assert_eq!(&rows[0][13], "2023-11-14T22:13:20Z");
}

#[test]
fn json_keeps_the_types_of_own_cells() {
    let rows = answered().to_json();
    assert_eq!(rows[0]["input"]["score"], "-12.5");
    assert_eq!(rows[1]["input"]["score"], json!({ "a": 1 }));
    assert_eq!(
        (&rows[0]["score"], &rows[1]["score"], &rows[1]["status"]),
        (&json!(640), &json!(null), &json!("invalid"))
    );
}

#[test]
fn a_parquet_file_has_the_same_rows() {
    let bytes = to_parquet(&answered()).unwrap();
    let file = SerializedFileReader::new(axum::body::Bytes::from(bytes)).unwrap();
    let rows: Vec<_> = file.get_row_iter(None).unwrap().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 2);
    assert_eq!((rows[0].get_string(2).unwrap().as_str(), rows[0].get_long(6).unwrap()), ("vitalik.eth", 640));
    assert_eq!((rows[0].get_double(10).unwrap(), rows[1].get_string(3).unwrap().as_str()), (1_234.5, "invalid"));
    assert!(rows[1].get_long(6).is_err(), "no score is no 0");
}
