//! The calls of one chain that a report needs, made again without a server: the same client library and order, without
//! decoding and checks.

use alloy::{
    primitives::{B256, U64},
    rpc::client::RpcClient,
};
use assay_tests::proxy::Call;
use futures::future::try_join_all;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Failure;

/// The calls of one chain.
pub struct Bare {
    client: RpcClient,
    calls: Vec<Call>,
    made: usize,
}

#[derive(Debug, Deserialize)]
struct Head {
    number: U64,
    hash: B256,
}

impl Bare {
    /// The necessary calls in `made`, the calls of one report: logs, contract calls and the wallet's nonce. The head is
    /// requested too. Calls that check for reorganisations or search for dates are left out.
    pub fn of(client: &RpcClient, made: &[Call]) -> Self {
        let of = |method: &'static str| made.iter().filter(move |call| call.method == method);
        let calls: Vec<Call> =
            of("eth_getLogs").chain(of("eth_call")).chain(of("eth_getTransactionCount").take(1)).cloned().collect();
        Self { client: client.clone(), calls, made: made.len() }
    }

    /// Makes the calls at the newest block.
    pub async fn run(&self) -> Result<(), Failure> {
        let head: Head = self.client.request("eth_getBlockByNumber", ("latest", false)).await?;
        let asked = self
            .calls
            .iter()
            .map(|call| self.client.request::<_, Value>(call.method.clone(), at(call.params.clone(), &head)));
        try_join_all(asked).await?;
        Ok(())
    }

    pub fn needed(&self) -> usize {
        self.calls.len() + 1
    }

    pub fn made(&self) -> usize {
        self.made
    }

    pub fn words(&self) -> String {
        let count = |method: &str| self.calls.iter().filter(|call| call.method == method).count();
        format!("{} eth_getLogs, {} eth_call and the nonce", count("eth_getLogs"), count("eth_call"))
    }
}

/// `params` with this block in place of their own.
fn at(mut params: Value, head: &Head) -> Value {
    for param in params.as_array_mut().into_iter().flatten() {
        for (key, value) in [("blockHash", json!(head.hash)), ("toBlock", json!(head.number))] {
            if let Some(place) = param.get_mut(key) {
                *place = value;
            }
        }
    }
    params
}
