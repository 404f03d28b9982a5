//! Says that the transactions of a submission are not mined because the chain has no new block.

use std::time::Duration;

use super::records::{SubmissionRecord, nonces};
use assay_domain::Time;

/// Time without a new block after which a waiting submission says so.
const SILENCE: Duration = Duration::from_secs(60);

/// Why transactions that were sent long ago are not mined: there is no new block.
pub(super) fn silence(record: &SubmissionRecord, head_since: Time, now: Time) -> Option<String> {
    let sent =
        nonces(std::slice::from_ref(record)).filter_map(|slot| slot.signed.last()).map(|signed| signed.at).max()?;
    let quiet = now.signed_duration_since(sent.max(head_since)).to_std().unwrap_or_default();
    (quiet >= SILENCE).then(|| {
        format!(
            "The node has shown no new block since {}; the transactions are sent and wait for a block",
            head_since.format("%F %T UTC")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{document, sample};
    use assay_domain::{B256, time_from_unix};
    use assay_outbox::nonce::{NonceRecord, SignedRecord};

    #[test]
    fn a_submission_says_that_there_is_no_new_block_after_a_minute() {
        let mut record = sample::pending();
        record.feedback = document::feedback(&record, &sample::scores(), &document::Beside::default()).unwrap();
        let said = |record: &SubmissionRecord, head, now| silence(record, time_from_unix(head), time_from_unix(now));
        assert_eq!(said(&record, 0, 1_000), None, "nothing is sent");
        let signed = SignedRecord {
            hash: B256::ZERO,
            raw: alloy::primitives::Bytes::new(),
            max_fee: 1,
            priority_fee: 1,
            at: time_from_unix(1_000),
            cancels: false,
        };
        record.feedback[0].slot = Some(NonceRecord { nonce: 0, signed: vec![signed] });
        assert_eq!(said(&record, 100, 1_059), None, "sent less than a minute ago");
        assert_eq!(said(&record, 1_030, 1_089), None, "a block came less than a minute ago");
        let words = said(&record, 1_030, 1_090).unwrap();
        assert!(words.contains("since 1970-01-01 00:17:10 UTC"), "{words}");
        assert_eq!(said(&record, 1_030, 2_000), Some(words), "the words stay the same");
    }
}
