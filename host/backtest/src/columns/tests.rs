//! Tables of other programs (host/tests/features/make.py makes them), our own tables, and tampered tables.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::Writer;
use crate::record::{BadLine, Record};
use crate::source::RecordSource;
use assay_domain::Coverage;

fn recorded(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/features").join(name)
}

type Read = Vec<Result<Record, BadLine>>;

fn read(file: &Path) -> Result<Read, String> {
    let mut source = RecordSource::open(file).map_err(|error| error.to_string())?;
    let mut records = Vec::new();
    while let Some(chunk) = source.chunk().map_err(|error| error.to_string())? {
        assert_eq!(chunk.first, records.len() as u64 + 1);
        records.extend(chunk.records().filter_map(|(_, record)| record.transpose()));
    }
    assert_eq!(source.digest().unwrap().to_string().len(), 64);
    Ok(records)
}

fn wallets() -> Vec<Record> {
    read(&recorded("wallets.jsonl")).unwrap().into_iter().map(Result::unwrap).collect()
}

fn written(records: impl IntoIterator<Item = Record>) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut writer = Writer::new(file.reopen().unwrap()).unwrap();
    records.into_iter().for_each(|record| writer.write(record).unwrap());
    writer.finish().unwrap();
    file
}

#[test]
fn a_table_says_what_the_lines_say_whoever_wrote_it() {
    let expected: Read = wallets().into_iter().map(Ok).collect();
    assert_eq!(expected.len(), 5);
    let bare = read(&recorded("empty.parquet")).unwrap();
    assert_eq!(
        bare.iter().map(|read| read.as_ref().unwrap().features.chains.len()).collect::<Vec<_>>(),
        [0, 0],
        "lists of nothing"
    );
    for name in ["pyarrow.parquet", "polars.parquet", "pandas.parquet", "pages.parquet"] {
        assert_eq!(read(&recorded(name)).unwrap(), expected, "{name}");
    }
    let own = written(wallets());
    assert!(own.path().extension().is_none(), "its name says nothing");
    assert_eq!(read(own.path()).unwrap(), expected);
}

#[test]
fn a_long_table_is_read_in_its_order() {
    let mut records: Vec<_> = wallets().into_iter().cycle().take(super::write::GROUP + 700).collect();
    records.iter_mut().zip(0..).for_each(|(record, number)| record.features.as_of = number);
    let file = written(records.clone());
    assert!(read(file.path()).unwrap().into_iter().map(Result::unwrap).eq(records));
    assert_eq!(read(written([]).path()), Ok(Vec::new()));
}

#[test]
fn a_value_that_does_not_fit_is_named_by_row_and_column() {
    let found = read(&recorded("bad.parquet")).unwrap();
    let reasons: Vec<_> =
        found.iter().map(|read| read.as_ref().err().map(|bad| (bad.line, bad.reason.as_str()))).collect();
    assert_eq!(
        reasons,
        [
            None,
            Some((
                2,
                "chains[1].coverage: unknown variant `whole`, expected one of `failed`, `pending`, `partial`, \
                 `complete`"
            )),
            Some((3, "as_of: -5 is negative")),
            Some((4, "as_of: expected a whole number, found nothing")),
            Some((
                5,
                "chains[0].assets_usd: NaN is no finite number; where it is not known, leave it empty (null, not NaN)"
            )),
            Some((6, "chains[0].chain_id: expected a whole number, found nothing")),
            None,
        ]
    );
}

#[test]
fn an_unknown_plain_column_is_carried_along() {
    let found = read(&recorded("unknown.parquet")).unwrap();
    assert!(!found.is_empty());
    for record in found {
        let other = record.unwrap().other;
        assert_eq!(other.keys().collect::<Vec<_>>(), ["assets"], "{other:?}");
    }
}

#[test]
fn a_table_of_something_else_is_refused_by_its_column() {
    for (name, part) in [
        ("flat.parquet", "there is no column chains.list.element in a features file"),
        ("times.parquet", "column as_of holds times of another kind; times are whole seconds since 1970"),
        ("gzip.parquet", "write it with snappy, zstd or no compression"),
    ] {
        let error = read(&recorded(name)).unwrap_err();
        assert!(error.contains(part), "{name}: {error}");
    }
}

#[test]
fn a_damaged_table_ends_in_words() {
    let whole = fs::read(recorded("pyarrow.parquet")).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    for length in (4..whole.len()).step_by(97) {
        fs::write(file.path(), &whole[..length]).unwrap();
        let error = read(file.path()).unwrap_err();
        assert!(error.contains("cut off or damaged"), "{length}: {error}");
    }
    // Found by fuzzing: a column that begins before the file, and a column with more bytes than the file.
    let error = read(&recorded("negative.parquet")).unwrap_err();
    assert!(error.contains("row group 1: the file is damaged"), "{error}");
    let error = read(&recorded("levels.parquet")).unwrap_err();
    assert!(error.contains("rows 1 to 2: the file is damaged"), "{error}");
    // A changed byte leads to an error, to another value, or to no difference.
    let mut refused = 0;
    for at in (4..whole.len()).step_by(11) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        fs::write(file.path(), bytes).unwrap();
        refused += usize::from(read(file.path()).is_err());
    }
    assert!(refused > 100, "{refused}");
}

#[test]
fn positions_and_events_come_back_from_a_table_and_may_be_absent() {
    let market = r#"{"chain_id":1,"protocol":"a lender of tomorrow","market":null,"coverage":"complete",
        "feeds_score":true,"supply":1,"withdraw":null,"borrow":1,"repay":0,"liquidation":0,"first_event":1,
        "last_event":2,"last_liquidation":null,"supplied_usd":10.5,"borrowed_usd":3"#;
    let details = r#""events_coverage":"partial","liquidation_days":0,
        "events":[{"time":2,"kind":"borrow","usd":3.25,"class":"stablecoin"},{"time":1,"kind":"supply","class":null}],
        "dollars":{"borrow":3.25,"repay":0},
        "position":{"coverage":"complete","collateral":[{"class":"native","usd":10.5}],"debt":[],
            "liquidation_threshold":0.8,"health_factor":null,"utilisation":0.1}"#;
    let line = format!(r#"{{"as_of":3,"markets":[{market},{details}}},{market}}}]}}"#).replace('\n', "");
    let record = Record::read(1, line.as_bytes()).unwrap().unwrap();
    let [read_first, unread] = record.features.markets.as_slice() else { panic!("two markets") };
    assert_eq!((read_first.events.len(), read_first.dollars.borrow, read_first.dollars.supply), (2, Some(3.25), None));
    assert_eq!((unread.events_coverage, &unread.position, unread.events.len()), (Coverage::Failed, &None, 0));
    assert_eq!(read(written([record.clone()]).path()), Ok(vec![Ok(record.clone())]));
    assert_eq!(Record::read(1, record.clone().write().unwrap().as_bytes()), Ok(Some(record)));
}
