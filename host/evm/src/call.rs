//! Contract calls as values, which lets the calls of several readers share one request.

use alloy::{
    primitives::Bytes,
    rpc::json_rpc::ErrorPayload,
    sol,
    sol_types::{SolCall, SolValue},
    transports::TransportError,
};
use serde_json::{Value, json};

use crate::{fault::Fault, request::Ask};
use assay_domain::{Address, U256};

sol! {
    #[derive(Debug)]
    struct Call3 { address target; bool allowFailure; bytes callData; }
    #[derive(Debug)]
    struct Returned { bool success; bytes returnData; }
    function aggregate3(Call3[] calls) external payable returns (Returned[] returned);
    function getEthBalance(address account) external view returns (uint256 balance);
}

/// One read of state.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Call {
    Contract {
        to: Address,
        data: Bytes,
    },
    /// Native balance, with an answer like a contract's `uint256`.
    Balance(Address),
}

impl Call {
    pub fn new(to: Address, call: &impl SolCall) -> Self {
        Self::Contract { to, data: call.abi_encode().into() }
    }

    /// The JSON-RPC request for this call at `block`.
    pub fn ask(&self, block: Value) -> Ask {
        match self {
            Self::Contract { to, data } => ("eth_call", json!([{ "to": to, "data": data }, block])),
            Self::Balance(account) => ("eth_getBalance", json!([account, block])),
        }
    }

    /// The result in the answer to [`ask`](Self::ask); `None` if the call reverted.
    pub fn answered(&self, answer: Result<Value, Fault>) -> Result<Option<Bytes>, Fault> {
        let malformed = |error: serde_json::Error| Fault::unreadable(&error);
        match (self, answer) {
            (_, Err(Fault::Reverted { .. })) => Ok(None),
            (_, Err(fault)) => Err(fault),
            (Self::Contract { .. }, Ok(value)) => serde_json::from_value(value).map(Some).map_err(malformed),
            (Self::Balance(_), Ok(value)) => serde_json::from_value::<U256>(value)
                .map(|balance| Some(balance.abi_encode().into()))
                .map_err(malformed),
        }
    }

    fn aggregated(&self, multicall: Address) -> Call3 {
        let (target, call_data) = match self {
            Self::Contract { to, data } => (*to, data.clone()),
            Self::Balance(account) => (multicall, getEthBalanceCall { account: *account }.abi_encode().into()),
        };
        Call3 { target, allowFailure: true, callData: call_data }
    }
}

/// The decoded result of a call; `None` if it reverted, or the address has no such function.
pub fn returned<C: SolCall>(answer: Option<&Option<Bytes>>) -> Option<C::Return> {
    C::abi_decode_returns(answer?.as_deref()?).ok()
}

/// Call data of one Multicall3 call that makes all of `calls`.
pub fn aggregate(multicall: Address, calls: &[Call]) -> Bytes {
    aggregate3Call { calls: calls.iter().map(|call| call.aggregated(multicall)).collect() }.abi_encode().into()
}

/// The results of the individual calls in the answer to [`aggregate`].
pub fn aggregated(answer: &[u8], calls: usize) -> Result<Vec<Option<Bytes>>, Fault> {
    let returned = aggregate3Call::abi_decode_returns(answer).map_err(|error| Fault::Malformed(error.to_string()))?;
    if returned.len() != calls {
        return Err(Fault::Malformed(format!("{} answers to {calls} calls", returned.len())));
    }
    Ok(returned.into_iter().map(|one| one.success.then_some(one.returnData)).collect())
}

/// The data with which a call reverted: the error's data, or hexadecimal digits somewhere in it, or in the message of a
/// revert (`execution reverted: 0x…`, `reverted with data: 0x…`).
pub fn revert_data(error: &ErrorPayload) -> Option<Bytes> {
    let data = error.data.as_ref().map(|data| data.get()).unwrap_or_default();
    let whole = || serde_json::from_str::<Bytes>(data).ok().filter(|data| !data.is_empty());
    // Four bytes in a message may be the start of an error that is spelt out.
    let in_message = || encoded(&error.message).filter(|data| data.len() > 4);
    let reverted = error.message.to_lowercase().contains("revert");
    whole().or_else(|| encoded(data)).or_else(|| if reverted { in_message() } else { None })
}

/// The longest encoded error in `text`: four bytes and whole words, unlike addresses and hashes.
fn encoded(text: &str) -> Option<Bytes> {
    let runs = text.split("0x").skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(rest.len());
        rest.get(..end).filter(|digits| digits.len() % 64 == 8)
    });
    hex::decode(runs.max_by_key(|digits| digits.len())?).ok().map(Bytes::from)
}

/// The data of the revert that `error` reports; empty if it has none.
///
/// # Errors
/// [`Fault`] if the error is no revert.
pub fn revert(error: TransportError) -> Result<Bytes, Fault> {
    if let Some(data) = error.as_error_resp().and_then(revert_data) {
        return Ok(data);
    }
    match Fault::of_transport("eth_call", error) {
        Fault::Reverted { .. } => Ok(Bytes::new()),
        fault => Err(fault),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_domain::address;

    #[test]
    fn an_aggregate_answers_call_by_call() {
        let answers = vec![
            Returned { success: true, returnData: U256::from(5).abi_encode().into() },
            Returned { success: false, returnData: Bytes::from_static(b"why") },
        ];
        let bytes = aggregate3Call::abi_encode_returns(&answers);
        let read = aggregated(&bytes, 2).unwrap();
        assert_eq!(returned::<getEthBalanceCall>(read.first()), Some(U256::from(5)));
        assert_eq!(returned::<getEthBalanceCall>(read.get(1)), None);
        assert!(aggregated(&bytes, 3).is_err());
    }

    #[test]
    fn an_address_without_code_returns_no_list() {
        sol! { function list() external view returns (address[] list); }
        assert_eq!(returned::<listCall>(Some(&Some(Bytes::new()))), None);
        assert_eq!(
            returned::<listCall>(Some(&Some(listCall::abi_encode_returns(&Vec::new()).into()))),
            Some(Vec::new())
        );
    }

    #[test]
    fn a_revert_is_an_answer_and_a_refusal_is_not() {
        let call = Call::Balance(address!("0x00000000000000000000000000000000000000aa"));
        let refused = |code, message: &str| Err(Fault::Refused { code, message: message.into() });
        assert_eq!(call.answered(Err(Fault::Reverted { message: "execution reverted".into() })), Ok(None));
        assert!(call.answered(refused(-32000, "header not found")).is_err());
        assert_eq!(call.answered(Ok(json!("0x10"))), Ok(Some(U256::from(16).abi_encode().into())));
    }

    /// Each row: where the data is, the message, the error's `data`, and the data that is read.
    #[test]
    fn the_data_of_a_revert_is_found_wherever_an_endpoint_puts_it() {
        let word = "00".repeat(32);
        let data = format!("0x08c379a0{word}");
        let hash = format!("0x{}", "ab".repeat(32));
        for (form, message, at, found) in [
            ("geth", "execution reverted", Some(json!(data)), true),
            ("upper case", "execution reverted", Some(json!(data.replace("08c379a0", "08C379A0"))), true),
            ("Parity", "VM execution error.", Some(json!(format!("Reverted {data}"))), true),
            ("nested", "call failed", Some(json!({ "data": data, "message": "reverted" })), true),
            ("behind a hash", "reverted", Some(json!({ "txHash": hash, "result": data })), true),
            ("message, null beside it", "execution reverted: DATA", Some(Value::Null), true),
            ("message", "execution reverted: DATA", None, true),
            ("message with words", "VM Exception: reverted with data: \"DATA\" (call)", None, true),
            ("message of another error", "no block DATA", None, false),
            ("behind its selector", "reverted", Some(json!({ "error": "0x08c379a0", "data": data })), true),
            ("a selector in the message", "execution reverted: custom error 0x08c379a0: 0000", None, false),
            ("missing", "execution reverted", None, false),
            ("null", "execution reverted", Some(Value::Null), false),
            ("empty", "execution reverted", Some(json!("0x")), false),
            ("a hash only", "execution reverted in HASH", Some(json!({ "txHash": hash })), false),
        ] {
            let error = json!({
                "code": 3, "message": message.replace("DATA", &data).replace("HASH", &hash), "data": at
            });
            let error: ErrorPayload = serde_json::from_value(error).unwrap();
            assert_eq!(revert_data(&error).map(|found| found.to_string()), found.then(|| data.clone()), "{form}");
        }
    }
}
