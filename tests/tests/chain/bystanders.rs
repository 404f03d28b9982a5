//! What others notice of contracts that a stranger chose: the requests that a read takes, and the state of an endpoint.

use std::collections::BTreeMap;

use assay_evm::client::Client;
use assay_evm::endpoint::EndpointStatus;
use assay_tests::proxy::Call;

/// The methods of each request, in no order.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Requests(pub Vec<Vec<String>>);

impl Requests {
    pub(super) fn of(calls: &[Call]) -> Self {
        let mut requests = BTreeMap::<u64, Vec<String>>::new();
        calls.iter().for_each(|call| requests.entry(call.request).or_default().push(call.method.clone()));
        let mut requests: Vec<_> = requests.into_values().collect();
        requests.iter_mut().for_each(|methods| methods.sort());
        requests.sort();
        Self(requests)
    }

    pub(super) fn calls(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }
}

/// What is believed of each endpoint, apart from the number of its answers.
pub(super) fn standing(client: &Client) -> Vec<String> {
    let of = |endpoint: EndpointStatus| {
        let (state, fault, failures) = (endpoint.state, endpoint.fault, endpoint.failures);
        let (pace, logs) = (endpoint.pace.map(|pace| pace.per_second), endpoint.log_range);
        format!("{state} {fault:?} {failures} {pace:?} {logs:?}")
    };
    client.endpoints().into_iter().map(of).collect()
}
