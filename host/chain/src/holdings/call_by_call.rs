//! Calls of untrusted contracts. A contract may use up the gas of its whole batch, or answer with megabytes; the other
//! calls of the batch must still get their answers.

use alloy::primitives::Bytes;

use assay_domain::B256;
use assay_evm::{
    call::Call,
    client::{Client, pinned},
    fault::Fault,
};

/// Calls in one batch.
const BATCH: usize = 100;

/// The answer to each of `calls` in the state after block `at`; `None` for a reverted one. Calls are batched first;
/// those without an answer are repeated, each with its own gas.
///
/// # Errors
/// [`Fault`] if the endpoint did not answer.
pub(super) async fn together(client: &Client, calls: &[Call], at: B256) -> Result<Vec<Option<Bytes>>, Fault> {
    let mut answers = Vec::with_capacity(calls.len());
    for part in calls.chunks(BATCH) {
        match client.calls(part, at).await {
            Ok(part) => answers.extend(part),
            Err(Fault::Refused { .. } | Fault::Reverted { .. } | Fault::TooDense { .. } | Fault::Malformed(_)) => {
                answers.extend(part.iter().map(|_| None));
            }
            Err(fault) => return Err(fault),
        }
    }
    let unanswered: Vec<_> =
        calls.iter().zip(&answers).filter(|(_, answer)| answer.is_none()).map(|(call, _)| call.clone()).collect();
    let mut again = alone(client, &unanswered, at).await?.into_iter();
    for answer in answers.iter_mut().filter(|answer| answer.is_none()) {
        *answer = again.next().transpose()?.flatten();
    }
    Ok(answers)
}

/// As [`together`], each call with its own gas from the start: for functions that most contracts lack, as some
/// contracts use up all gas on an unknown function.
pub(super) async fn alone(
    client: &Client,
    calls: &[Call],
    at: B256,
) -> Result<Vec<Result<Option<Bytes>, Fault>>, Fault> {
    let answers = client.batch(calls.iter().map(|call| call.ask(pinned(at))).collect()).await?;
    Ok(calls.iter().zip(answers).map(|(call, answer)| call.answered(answer)).collect())
}
