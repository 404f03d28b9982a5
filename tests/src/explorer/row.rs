//! A row of a list, with what calls are compared with.

use serde_json::Value;

/// The texts are in lower case.
pub(super) struct Row {
    pub shown: Value,
    pub block: u64,
    pub transaction: u64,
    /// The two parties of a transaction or transfer; the contract of a log.
    parties: Vec<String>,
    topics: Vec<String>,
}

impl Row {
    /// A row of transactions or transfers, whose numbers are decimal.
    pub fn of_account(shown: Value) -> Self {
        let number = |key: &str| shown[key].as_str().and_then(|text| text.parse().ok()).unwrap_or_default();
        let parties = ["from", "to"].map(|key| lower(&shown[key])).into();
        Self {
            block: number("blockNumber"),
            transaction: number("transactionIndex"),
            parties,
            topics: Vec::new(),
            shown,
        }
    }

    /// A row of logs, whose numbers are hexadecimal.
    pub fn of_log(shown: Value) -> Self {
        let number = |key: &str| {
            let digits = shown[key].as_str().map(|text| text.trim_start_matches("0x"));
            digits.and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or_default()
        };
        let parties = vec![lower(&shown["address"])];
        let topics = shown["topics"].as_array().into_iter().flatten().map(lower).collect();
        Self { block: number("blockNumber"), transaction: number("transactionIndex"), parties, topics, shown }
    }

    /// Whether this address, in lower case, is a party or the contract.
    pub fn names(&self, address: &str) -> bool {
        self.parties.iter().any(|party| party == address)
    }

    /// Whether the topic at this place, if one is `wanted`, is that.
    pub fn has_topic(&self, at: usize, wanted: Option<&str>) -> bool {
        wanted.is_none_or(|wanted| self.topics.get(at).is_some_and(|topic| topic == wanted))
    }
}

fn lower(text: &Value) -> String {
    text.as_str().unwrap_or_default().to_ascii_lowercase()
}
