//! Addresses and names from clients: every accepted text has one normal form, which parses to the same value.

use assay_domain::Subject;

pub fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    match Subject::parse(&text) {
        Err(_) => {}
        Ok(Subject::Address(address)) => {
            assert_eq!(Subject::parse(&address.to_string()).ok(), Some(Subject::Address(address)), "{text:?}");
            assert_eq!(text.len(), 42, "{text:?}");
        }
        Ok(Subject::Name(name)) => {
            let normal = name.as_str().to_owned();
            assert!(normal.contains('.') && normal.len() <= 10_000, "{normal:?}");
            match Subject::parse(&normal) {
                Ok(Subject::Name(again)) => assert_eq!(again.as_str(), normal, "{text:?}"),
                other => panic!("{text:?} is the name {normal:?}, which is {other:?}"),
            }
        }
    }
}
