//! What a server must be, and what it should be: looked at once, when the store is opened.

use redis::{FromRedisValue, InfoDict, Value, cmd};

use super::{
    address::Address,
    link::{CallError, Link},
};

/// The oldest version whose scripts and expiry do what is asked of them.
const WANTED: (u64, u64) = (6, 2);

/// # Errors
/// What makes the server unusable, in words that say what to do. What makes it unsafe is a warning in the log.
pub(super) async fn inspect(link: &Link) -> Result<(), String> {
    // A cluster answers this from each node.
    let patience = link.waits().patience;
    let of_one = |answer: Value| match (answer, link.address()) {
        (Value::Map(mut nodes), Address::Cluster(_)) => nodes.pop().map_or(Value::Nil, |(_, answer)| answer),
        (answer, _) => answer,
    };
    let info = match link.call(cmd("INFO").arg("server"), patience).await {
        Ok(answer) => InfoDict::from_redis_value(of_one(answer)).map_err(|error| error.to_string())?,
        Err(CallError::Refused(why)) => {
            return Err(format!("the server does not let this user in, or not see what it is: {why}"));
        }
        Err(CallError::Away(why) | CallError::Unanswered(why)) => return Err(why),
        Err(CallError::NoScript) => return Ok(()),
    };
    let version: String = info.get("redis_version").unwrap_or_default();
    if !is_wanted(&version) {
        return Err(format!("the server is Redis {version:?}; version {}.{} or later is wanted", WANTED.0, WANTED.1));
    }
    let setting = async |name: &str| {
        let answer = of_one(link.call(cmd("CONFIG").arg("GET").arg(name), patience).await.ok()?);
        let found = Vec::<String>::from_redis_value(flat(answer)).ok()?;
        found.into_iter().nth(1)
    };
    let mut told = false;
    if let Some(policy) = setting("maxmemory-policy").await {
        told = true;
        let bounded = setting("maxmemory").await.is_some_and(|most| most != "0");
        if policy != "noeviction" && bounded {
            return Err(format!(
                "the server throws records away when its memory is full (maxmemory-policy {policy}); submissions and units would be \
                 lost. Set maxmemory-policy noeviction there"
            ));
        }
    }
    match (setting("appendonly").await.as_deref(), setting("appendfsync").await.as_deref()) {
        (Some("yes"), Some("always")) => {}
        (Some("yes"), Some("everysec")) => tracing::warn!(
            "the store's server flushes its append-only file once a second: when that machine fails, submissions, units and payments of \
             the last second are lost. `appendfsync always` there loses none"
        ),
        (Some("yes"), Some(other)) => {
            tracing::warn!(
                appendfsync = other,
                "the store's server leaves it to its system when its append-only file is flushed: when that machine fails, accepted submissions are lost"
            );
        }
        (Some(_), _) => tracing::warn!(
            "the store's server keeps no append-only file: when it restarts, everything since its last snapshot is lost, submissions and \
             units among it. Set appendonly yes and appendfsync always there"
        ),
        (None, _) => told = false,
    }
    if matches!(link.address(), Address::Sentinel { .. })
        && setting("min-replicas-to-write").await.as_deref() == Some("0")
    {
        tracing::warn!(
            "the store's master takes writes also while no replica follows it: when another becomes the master, these are lost. \
             `min-replicas-to-write 1` and a small min-replicas-max-lag there bound that"
        );
    }
    if !told {
        tracing::warn!(
            "the store's server does not tell how it keeps records: it wants appendonly yes, appendfsync always and maxmemory-policy noeviction"
        );
    }
    tracing::info!(server = link.address().kind(), version, "store");
    Ok(())
}

fn is_wanted(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse::<u64>().unwrap_or_default());
    (parts.next().unwrap_or_default(), parts.next().unwrap_or_default()) >= WANTED
}

/// A map as the list that older protocols have in its place.
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
