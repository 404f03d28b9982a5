use proptest::prelude::*;
use serde_json::json;

use super::*;

const WALLET: &str = "0x0000000000000000000000000000000000000001";

fn csv(text: &str) -> Result<Table, TableError> {
    Table::read(text.as_bytes(), Form::Csv, None, 100)
}

fn texts(table: &Table) -> Vec<&str> {
    table.rows.iter().map(|row| row.text(table.wallets)).collect()
}

#[test]
fn own_columns_are_kept_and_the_wallets_are_found() {
    for (text, column) in [
        ("id,Wallet,note\n7, vitalik.eth ,\"a, b\"\n8,bob,\n", "Wallet"),
        ("id;account;note\n7;vitalik.eth;a\n8;b.eth;\n", "account"),
        ("name\taddress\nAnn\tvitalik.eth\nBob\tnobody\n", "address"),
        ("name,owner\nAnn Smith,vitalik.eth\nBob,b.eth\n", "owner"),
        ("name,owner\nann.eth,x\nbob.eth,y\n", "name"),
    ] {
        let table = csv(text).unwrap();
        assert_eq!(table.columns[table.wallets], column, "{text}");
        assert_eq!(table.rows.len(), 2);
    }
    let table = csv("id,Wallet,note\n7, vitalik.eth ,\"a, b\"\n8,bob\n").unwrap();
    assert_eq!(table.rows[0].cells, [json!("7"), json!(" vitalik.eth "), json!("a, b")]);
    assert_eq!(table.rows[1].cells, [json!("8"), json!("bob"), json!("")], "a short row is filled up");
    assert_eq!(texts(&table), ["vitalik.eth", "bob"]);
    let named = Table::read(b"a,b\nx.eth,y.eth\n", Form::Csv, Some("B"), 9).unwrap();
    assert_eq!(texts(&named), ["y.eth"]);
}

#[test]
fn a_list_needs_no_columns() {
    let marked = format!("\u{feff}{WALLET}\r\nvitalik.eth\r\nbob\r\n");
    assert_eq!(texts(&csv(&marked).unwrap()), [WALLET, "vitalik.eth", "bob"]);
    let json = Table::read(b"[\"vitalik.eth\", \"bob\"]", Form::Json, None, 9).unwrap();
    assert_eq!((json.columns.as_slice(), texts(&json)), (&["address".to_owned()][..], vec!["vitalik.eth", "bob"]));
    let objects = br#"{"rows": [{"wallet": "a.eth", "n": 1.50}, {"wallet": 5, "x": null}]}"#;
    let table = Table::read(objects, Form::Json, None, 9).unwrap();
    assert_eq!(table.columns, ["n", "wallet", "x"]);
    assert_eq!((table.rows[0].cells[0].clone(), texts(&table)), (json!(1.5), vec!["a.eth", ""]));
}

#[test]
fn what_cannot_be_read_is_refused_in_words() {
    let long = format!("address,note\na.eth,{}\n", "x".repeat(1 << 20));
    for (bytes, says) in [
        (&b""[..], "the table is empty"),
        (b"address,note\n", "the table is empty"),
        (b"address\na.eth\nb\xe4r.eth\n", "line 3 is not UTF-8"),
        (b"\xff\xfea\0", "save it as UTF-8"),
        (b"address,note\na.eth,one,two\n", "line 2 has 3 cells, and the first line has 2"),
        (b"note,address\n1,a.eth\n2,\"b.eth\n3,c.eth\n4,d.eth\n", "line 3 begins a quoted cell that never ends"),
        (b"address,address\na.eth,b.eth\n", "two columns are named \"address\""),
        (b"x,y\n1,2\n", "no column has addresses or names; name it with `column`: \"x\", \"y\""),
        (long.as_bytes(), "line 2 has more than 65536 bytes"),
    ] {
        let said = Table::read(bytes, Form::Csv, None, 100).unwrap_err().to_string();
        assert!(said.contains(says), "{said}");
    }
    for (text, says) in [
        ("5", "send a list"),
        ("{\"row\": []}", "send a list"),
        ("[1]", "item 1 is neither"),
        (r#"[{"a": 1, "wallet": "a.eth", "wallet": "b.eth"}]"#, "the field \"0.wallet\" is given twice"),
        ("[", "it is not JSON"),
        ("[]", "the table is empty"),
    ] {
        let said = Table::read(text.as_bytes(), Form::Json, None, 100).unwrap_err().to_string();
        assert!(said.contains(says), "{text}: {said}");
    }
    assert_eq!(csv(&"a.eth\n".repeat(101)), Err(TableError::Rows { most: 100 }));
    let unknown = Table::read(b"a\nx.eth\n", Form::Csv, Some("b"), 9).unwrap_err();
    assert!(matches!(unknown, TableError::NoColumn { .. }), "{unknown}");
}

proptest! {
    /// Any bytes are a table or a refusal, and a table has each line.
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400), json in any::<bool>()) {
        let form = if json { Form::Json } else { Form::Csv };
        if let Ok(table) = Table::read(&bytes, form, None, 50) {
            prop_assert!(table.rows.iter().all(|row| row.cells.len() == table.columns.len()));
            prop_assert!(table.wallets < table.columns.len());
        }
    }
}
