//! Refusals: what a reachable server does not do, such as a write when its memory is full. A refusal lasts until the
//! watch finds that the server accepts a write again.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use redis::{ErrorKind, RedisError, ServerErrorKind};

/// The codes of refusals, and what to do. Other refusals are reported in the server's words.
const REMEDIES: [(&str, &str); 6] = [
    ("OOM", "OOM: the memory of its server is full; raise maxmemory there, or remove what else is stored there"),
    ("NOREPLICAS", "NOREPLICAS: its server has too few replicas; check them and min-replicas-to-write"),
    ("READONLY", "READONLY: its server is a replica; check which server store.url names"),
    ("MISCONF", "MISCONF: its server cannot save to its disk; check the disk there"),
    ("NOPERM", "NOPERM: its user lacks a permission; allow the user all commands on keys with store.prefix"),
    ("NOAUTH", "NOAUTH: its server wants a password; check store.url"),
];

/// The current refusal, if there is one.
#[derive(Default)]
pub(super) struct Refusals(Mutex<Option<RedisRefusal>>);

struct RedisRefusal {
    since: Instant,
    last: Instant,
    reason: String,
    /// A refused record that other records do not share a node with.
    apart: Option<String>,
}

impl Refusals {
    pub(super) fn begin(&self, reason: &str) {
        let (mut current, now) = (self.lock(), Instant::now());
        if current.as_ref().is_none_or(|refusal| refusal.reason != reason) {
            metrics::gauge!("assay_store_writable").set(0.0);
            tracing::error!(reason, "the store's server refuses calls; it is tried again until it accepts them");
        }
        let (since, apart) = current.take().map_or((now, None), |refusal| (refusal.since, refusal.apart));
        *current = Some(RedisRefusal { since, last: now, reason: reason.to_owned(), apart });
    }

    /// Names a record of the current refusal that is on another node than those of batches.
    pub(super) fn is_of(&self, record: &str) {
        if let Some(refusal) = self.lock().as_mut() {
            refusal.apart = Some(record.to_owned());
        }
    }

    /// Ends a refusal that a check from `started` on did not meet.
    pub(super) fn end(&self, started: Instant) {
        let mut current = self.lock();
        if current.take_if(|refusal| refusal.last < started).is_some() {
            metrics::gauge!("assay_store_writable").set(1.0);
            tracing::info!("the store's server accepts calls again");
        }
    }

    pub(super) fn since(&self) -> Option<Instant> {
        self.lock().as_ref().map(|refusal| refusal.since)
    }

    pub(super) fn reason(&self) -> Option<String> {
        self.lock().as_ref().map(|refusal| refusal.reason.clone())
    }

    pub(super) fn apart(&self) -> Option<String> {
        self.lock().as_ref().and_then(|refusal| refusal.apart.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Option<RedisRefusal>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether an error is the fault of a script or of a record of another type, and thus no refusal.
pub(super) fn is_fault(error: &RedisError) -> bool {
    let text = error.detail().unwrap_or_default();
    match error.kind() {
        ErrorKind::Server(ServerErrorKind::CrossSlot) => true,
        // Redis 7, then Redis 6. The error of a command in a script has the position at its end.
        ErrorKind::Server(ServerErrorKind::ResponseError) => {
            text.starts_with("user_script:")
                || text.starts_with("Error compiling script")
                || (text.starts_with("Error running script") && text.contains(": user_script:"))
        }
        ErrorKind::Server(_) => false,
        ErrorKind::Extension => error.code() == Some("WRONGTYPE"),
        _ => true,
    }
}

/// Whether an error has this code. Redis 6 reports errors of commands in scripts with their code in the text.
pub(super) fn has_code(error: &RedisError, code: &str) -> bool {
    let is_nested = |text: &str| text.starts_with("Error running script") && text.contains(&format!(" -{code} "));
    error.code() == Some(code) || error.detail().is_some_and(is_nested)
}

/// Why the server refuses, with the remedy.
pub(super) fn reason(error: &RedisError, said: &str) -> String {
    let known = REMEDIES.iter().find(|(code, _)| has_code(error, code));
    known.map_or_else(|| said.to_owned(), |(_, remedy)| (*remedy).to_owned())
}

#[cfg(test)]
mod tests {
    use redis::{Value, parse_redis_value};

    use super::*;

    fn error(line: &str) -> RedisError {
        parse_redis_value(format!("-{line}\r\n").as_bytes()).and_then(Value::extract_error).unwrap_err()
    }

    #[test]
    fn every_refusal_is_told_from_a_fault_of_a_script() {
        let script = "Error running script (call to f_1): @user_script:9:";
        for (line, is_own, code) in [
            ("OOM command not allowed when used memory > 'maxmemory'. script: 1, on @user_script:9.", false, "OOM"),
            (&format!("ERR {script} @user_script: 9: -OOM command not allowed"), false, "OOM"),
            (&format!("ERR {script} @user_script: 9: -READONLY You can't write against it"), false, "READONLY"),
            ("NOREPLICAS Not enough good replicas to write.", false, "NOREPLICAS"),
            ("READONLY You can't write against a read only replica.", false, "READONLY"),
            ("MISCONF Redis is configured to save RDB snapshots", false, "MISCONF"),
            ("NOPERM this user has no permissions to run the 'evalsha' command", false, "NOPERM"),
            ("NOAUTH Authentication required.", false, "NOAUTH"),
            ("ERR unknown command 'EVALSHA', with args beginning with:", false, "ERR"),
            ("ERR The user executing the script can't run this command script: 1, on @user_script:9.", false, "ERR"),
            ("QUOTA of a provider that nobody listed", false, "QUOTA"),
            ("ERR user_script:9: attempt to index nil script: 1, on @user_script:9.", true, "ERR"),
            (&format!("ERR {script} user_script:9: attempt to index nil"), true, "ERR"),
            ("ERR Error compiling script (new function): user_script:1", true, "ERR"),
            ("WRONGTYPE Operation against a key holding the wrong kind of value", true, "WRONGTYPE"),
            ("CROSSSLOT Keys in request don't hash to the same slot", true, "CROSSSLOT"),
        ] {
            let error = error(line);
            assert_eq!((is_fault(&error), has_code(&error, code)), (is_own, true), "{line}: {error:?}");
        }
    }
}
