//! Which model answers, and what is known of those that might: roles, the audit log, challengers in the shadow, and the
//! records by which a served score is computed again.

pub mod records;
