//! What attestations say of the person behind a wallet.

use crate::types::Attestation;

/// How much humanity the attestations show, 0 to [`FULL`]. One more never shows less: within a kind the best counts,
/// and kinds add up.
pub fn shown(attestations: &[Attestation]) -> u32 {
    let mut best = [0; KINDS];
    for attestation in attestations {
        let (kind, worth) = worth(attestation);
        if let Some(best) = best.get_mut(kind) {
            *best = worth.max(*best);
        }
    }
    best.iter().sum::<u32>().min(FULL)
}

/// Enough to have no doubt left.
pub const FULL: u32 = 25;

const KINDS: usize = 4;

/// The kind of an attestation, and what it alone shows.
fn worth(attestation: &Attestation) -> (usize, u32) {
    match attestation.provider.as_str() {
        // A check of documents at an exchange: one person, rarely two accounts.
        "coinbase" => (0, 20),
        // A collection of proofs with a score of its own, by which 20 is a human: a quarter for having it, the rest in
        // step with the score.
        "human-passport" => (1, 5 + passport(attestation.score)),
        // A name costs money every year, which farms of wallets do not spend on each.
        "ens" | "basename" => (2, 8),
        // Providers this version does not know: something is better than nothing.
        _ => (3, 4),
    }
}

/// 0 to 15, all of it from a score of 20 on. A score that is not a number shows nothing.
fn passport(score: Option<f64>) -> u32 {
    (score.unwrap_or(0.0).clamp(0.0, 20.0) * 0.75) as u32
}
