//! Checks the version and the settings of the server when the store is opened.

use redis::{FromRedisValue, InfoDict, Value, cmd};

use super::{
    address::Address,
    link::{CallError, Link},
};

/// The oldest version with the scripts and the expiry that the store needs.
const WANTED: (u64, u64) = (6, 2);

/// Checks the server. A setting that can lose records is logged as a warning.
///
/// # Errors
/// Why the server is unusable, and what to do.
pub(super) async fn inspect(link: &Link) -> Result<(), String> {
    let info = match link.ask(cmd("INFO").arg("server")).await {
        Ok(answer) => InfoDict::from_redis_value(of_one(link, answer)).map_err(|error| error.to_string())?,
        Err(CallError::Refused(why) | CallError::Fault(why)) => {
            return Err(format!("the server does not let this user in, or not see what it is: {why}"));
        }
        Err(CallError::Away(why) | CallError::Unanswered(why)) => return Err(why),
        Err(CallError::NoScript) => return Ok(()),
    };
    let version: String = info.get("redis_version").unwrap_or_default();
    if !is_wanted(&version) {
        return Err(format!("the server is Redis {version:?}; version {}.{} or later is wanted", WANTED.0, WANTED.1));
    }
    let readable = [check_eviction(link).await?, warn_of_flushes(link).await];
    warn_of_replicas(link).await;
    if readable.contains(&false) {
        tracing::warn!(
            "the settings of the store's server cannot be read: it needs appendonly yes, appendfsync always and \
             maxmemory-policy noeviction"
        );
    }
    tracing::info!(server = link.address().kind(), version, "store");
    Ok(())
}

/// A setting of the server; `None` if it is not readable.
async fn setting(link: &Link, name: &str) -> Option<String> {
    let answer = of_one(link, link.ask(cmd("CONFIG").arg("GET").arg(name)).await.ok()?);
    Vec::<String>::from_redis_value(flat(answer)).ok()?.into_iter().nth(1)
}

/// The answer of one node; in a cluster, each node answers.
fn of_one(link: &Link, answer: Value) -> Value {
    match (answer, link.address()) {
        (Value::Map(mut nodes), Address::Cluster(_)) => nodes.pop().map_or(Value::Nil, |(_, answer)| answer),
        (answer, _) => answer,
    }
}

/// Returns whether the policy is readable.
///
/// # Errors
/// If the server evicts records when its memory is full.
async fn check_eviction(link: &Link) -> Result<bool, String> {
    match evicts(link).await {
        Ok(None) => Ok(true),
        Ok(Some(reason)) => Err(reason),
        Err(_) => Ok(false),
    }
}

/// How a node evicts records when its memory is full, and what to do; `None` if none does. A server reports these
/// settings even if it hides its configuration.
pub(super) async fn evicts(link: &Link) -> Result<Option<String>, CallError> {
    let answers = match link.ask(cmd("INFO").arg("memory")).await? {
        Value::Map(nodes) if matches!(link.address(), Address::Cluster(_)) => {
            nodes.into_iter().map(|(_, answer)| answer).collect()
        }
        answer => vec![answer],
    };
    let infos = answers.into_iter().filter_map(|answer| InfoDict::from_redis_value(answer).ok());
    let policy = |info: InfoDict| {
        let is_bounded = info.get::<u64>("maxmemory").is_some_and(|most| most > 0);
        info.get::<String>("maxmemory_policy").filter(|policy| is_bounded && policy != "noeviction")
    };
    Ok(infos.into_iter().find_map(policy).map(|policy| {
        format!(
            "its server evicts records when its memory is full (maxmemory-policy {policy}), so submissions and units \
             are lost. Set maxmemory-policy noeviction there"
        )
    }))
}

/// Returns whether the settings are readable.
async fn warn_of_flushes(link: &Link) -> bool {
    match (setting(link, "appendonly").await.as_deref(), setting(link, "appendfsync").await.as_deref()) {
        (Some("yes"), Some("always")) => {}
        (Some("yes"), Some("everysec")) => tracing::warn!(
            "the store's server flushes its append-only file once a second: when that machine fails, submissions, \
             units and payments of the last second are lost. Set appendfsync always there"
        ),
        (Some("yes"), Some(other)) => tracing::warn!(
            appendfsync = other,
            "the operating system of the store's server decides when the append-only file is flushed: when that \
             machine fails, accepted submissions are lost"
        ),
        (Some(_), _) => tracing::warn!(
            "the store's server has no append-only file: when it restarts, everything since its last snapshot is lost, \
             submissions and units among it. Set appendonly yes and appendfsync always there"
        ),
        (None, _) => return false,
    }
    true
}

async fn warn_of_replicas(link: &Link) {
    if matches!(link.address(), Address::Sentinel { .. })
        && setting(link, "min-replicas-to-write").await.as_deref() == Some("0")
    {
        tracing::warn!(
            "the store's master accepts writes without a replica: when another server becomes the master, these are \
             lost. Set min-replicas-to-write 1 and a small min-replicas-max-lag there"
        );
    }
}

fn is_wanted(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse::<u64>().unwrap_or_default());
    (parts.next().unwrap_or_default(), parts.next().unwrap_or_default()) >= WANTED
}

/// Converts a map to the list that older protocols return.
fn flat(answer: Value) -> Value {
    match answer {
        Value::Map(pairs) => Value::Array(pairs.into_iter().flat_map(|(key, value)| [key, value]).collect()),
        answer => answer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        for (version, wanted) in
            [("7.0.15", true), ("6.2.0", true), ("10.0.1", true), ("6.0.16", false), ("5.0.7", false), ("", false)]
        {
            assert_eq!(is_wanted(version), wanted, "{version}");
        }
    }
}
