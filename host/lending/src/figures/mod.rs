//! What protocols, histories and positions share: sums of events, balances, entries of the index, hints, and the stored
//! record of a history.

pub(crate) mod balance;
pub(crate) mod hints;
pub(crate) mod indexed;
pub mod record;
pub(crate) mod sums;
