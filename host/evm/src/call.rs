//! Contract calls as values, which lets the calls of several readers share one request.

use alloy::{
    primitives::Bytes,
    rpc::json_rpc::ErrorPayload,
    sol,
    sol_types::{SolCall, SolValue},
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

/// The data with which a call reverted. Nodes put it into the error's data, some after a word, some in an object.
pub fn revert_data(error: &ErrorPayload) -> Option<Bytes> {
    let data = error.data.as_ref()?.get();
    let hex = data.split_once("0x")?.1;
    let digits = hex.find(|c: char| !c.is_ascii_hexdigit()).map_or(hex, |end| hex.get(..end).unwrap_or_default());
    // Such objects also contain transaction hashes. A custom error is four bytes and whole words.
    (digits.len() % 64 == 8).then(|| hex::decode(digits).ok()).flatten().map(Bytes::from)
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
}
