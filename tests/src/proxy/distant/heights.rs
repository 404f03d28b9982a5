//! Block heights multiplied by a spread: block n appears as block n * spread, so a few hundred blocks look like 25
//! million. A number between two such blocks means the lower block. Hashes do not change.

use serde_json::{Value, json};

/// The spread between blocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heights(pub u64);

/// The block of a request, with the number that the client used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The state after this block.
    State(u64),
    /// This block itself.
    Block(u64),
    /// The number of the newest block.
    Newest,
    /// A range that contains none of the node's blocks.
    Nowhere,
}

/// Parses a number in JSON-RPC's format.
pub(super) fn number(value: &Value) -> Option<u64> {
    u64::from_str_radix(value.as_str()?.strip_prefix("0x")?, 16).ok()
}

impl Heights {
    /// Replaces the block in `request` with the node's own, and returns which one was named.
    pub fn take(self, request: &mut Value) -> Option<Place> {
        let method = request["method"].as_str().unwrap_or_default();
        let (index, is_state) = match method {
            "eth_getBlockByNumber" | "eth_getBlockReceipts" => (0, false),
            "eth_getBalance" | "eth_getCode" | "eth_getTransactionCount" | "eth_call" => (1, true),
            "eth_getStorageAt" | "eth_getProof" => (2, true),
            "eth_blockNumber" => return Some(Place::Newest),
            "eth_getLogs" => return self.take_span(&mut request["params"][0]),
            _ => return None,
        };
        let named = request["params"].get_mut(index)?;
        let named = if named.is_object() { named.get_mut("blockNumber")? } else { named };
        let shown = number(named)?;
        *named = hex(shown / self.0);
        Some(if is_state { Place::State(shown) } else { Place::Block(shown) })
    }

    fn take_span(self, filter: &mut Value) -> Option<Place> {
        let (from, to) = (number(&filter["fromBlock"]), number(&filter["toBlock"]));
        let (from, to) = (from.map(|from| from.div_ceil(self.0)), to.map(|to| to / self.0));
        for (key, block) in [("fromBlock", from), ("toBlock", to)] {
            if let Some(block) = block {
                filter[key] = hex(block);
            }
        }
        from.zip(to).is_some_and(|(from, to)| from > to).then_some(Place::Nowhere)
    }

    /// Multiplies the heights in `answer`. A requested block keeps the number of the request.
    pub fn show(self, place: Option<Place>, answer: &mut Value) {
        let Some(result) = answer.get_mut("result") else { return };
        self.show_within(result);
        match (place, result.as_object_mut()) {
            (Some(Place::Newest), _) => self.raise(result),
            (Some(Place::Block(shown)), Some(block)) => _ = block.insert("number".to_owned(), hex(shown)),
            _ => {}
        }
    }

    fn show_within(self, value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.show_within(item)),
            Value::Object(fields) => {
                for (key, field) in fields {
                    match key.as_str() {
                        "blockNumber" | "number" => self.raise(field),
                        _ => self.show_within(field),
                    }
                }
            }
            _ => {}
        }
    }

    fn raise(self, field: &mut Value) {
        if let Some(own) = number(field) {
            *field = hex(own * self.0);
        }
    }
}

fn hex(number: u64) -> Value {
    json!(format!("{number:#x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEIGHTS: Heights = Heights(1_000);

    fn taken(method: &str, params: Value) -> (Option<Place>, Value) {
        let mut request = json!({ "method": method, "params": params });
        (HEIGHTS.take(&mut request), request["params"].clone())
    }

    #[test]
    fn a_number_between_two_blocks_means_the_block_below() {
        let (place, params) = taken("eth_getTransactionCount", json!(["0xaa", hex(7_999)]));
        assert_eq!((place, params), (Some(Place::State(7_999)), json!(["0xaa", "0x7"])));
        let (place, params) = taken("eth_getBlockByNumber", json!([hex(7_000), false]));
        assert_eq!((place, params), (Some(Place::Block(7_000)), json!(["0x7", false])));
        let (place, params) = taken("eth_call", json!([{}, { "blockNumber": hex(8_001) }]));
        assert_eq!((place, params), (Some(Place::State(8_001)), json!([{}, { "blockNumber": "0x8" }])));
    }

    #[test]
    fn a_word_or_a_hash_stays() {
        for block in [json!("latest"), json!({ "blockHash": "0x11" })] {
            assert_eq!(taken("eth_call", json!([{}, block])), (None, json!([{}, block])));
        }
    }

    #[test]
    fn a_span_holds_the_blocks_within_it_alone() {
        let span = |from, to| json!([{ "fromBlock": hex(from), "toBlock": hex(to) }]);
        assert_eq!(taken("eth_getLogs", span(1_001, 4_999)), (None, span(2, 4)));
        assert_eq!(taken("eth_getLogs", span(1_001, 1_999)).0, Some(Place::Nowhere));
        assert_eq!(taken("eth_getLogs", json!([{ "fromBlock": "0x0", "toBlock": "latest" }])).0, None);
    }

    #[test]
    fn answers_have_the_heights_that_are_shown() {
        let shown = |place, result: Value| {
            let mut answer = json!({ "result": result });
            HEIGHTS.show(place, &mut answer);
            answer["result"].clone()
        };
        let log = |number| json!([{ "blockNumber": hex(number), "data": "0x5" }]);
        assert_eq!(shown(None, log(5)), log(5_000));
        assert_eq!(shown(None, json!({ "number": "0x5" })), json!({ "number": hex(5_000) }));
        assert_eq!(shown(Some(Place::Block(5_432)), json!({ "number": "0x5" })), json!({ "number": hex(5_432) }));
        assert_eq!(shown(Some(Place::Block(5_432)), Value::Null), Value::Null);
        assert_eq!((shown(None, json!("0x5")), shown(Some(Place::Newest), json!("0x5"))), (json!("0x5"), hex(5_000)));
    }
}
