//! Calls of contracts that anybody may have written. One of them may use up the gas of all that travel with it, or
//! answer with megabytes; it must not take the others along.

use alloy::primitives::Bytes;

use assay_domain::B256;
use assay_evm::{
    call::Call,
    client::{Client, pinned},
    fault::Fault,
};

/// Calls that travel together.
const AT_ONCE: usize = 100;

/// The answer to each of `calls` in the state after block `at`; `None` for one that was reverted. All together first;
/// those without an answer once more, each with gas of its own.
///
/// # Errors
/// [`Fault`] where the endpoint did not answer.
pub(super) async fn together(client: &Client, calls: &[Call], at: B256) -> Result<Vec<Option<Bytes>>, Fault> {
    let mut answers = Vec::with_capacity(calls.len());
    for part in calls.chunks(AT_ONCE) {
        match client.calls(part, at).await {
            Ok(part) => answers.extend(part),
            Err(Fault::Refused { .. } | Fault::TooDense { .. } | Fault::Malformed(_)) => {
                answers.extend(part.iter().map(|_| None))
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

/// As [`together`], each call with gas of its own from the start: for functions that most contracts do not have, some
/// of which use up all gas to say so.
pub(super) async fn alone(
    client: &Client,
    calls: &[Call],
    at: B256,
) -> Result<Vec<Result<Option<Bytes>, Fault>>, Fault> {
    let answers = client.batch(calls.iter().map(|call| call.ask(pinned(at))).collect()).await?;
    Ok(calls.iter().zip(answers).map(|(call, answer)| call.answered(answer)).collect())
}
