//! Parses `store.url`: the servers, how to find them, and the credentials. No error contains any part of it.

use redis::{ConnectionInfo, IntoConnectionInfo};

/// The servers.
#[derive(Clone)]
pub(crate) enum Address {
    One(ConnectionInfo),
    /// Sentinels, which know the address of the master with this name, and the credentials for the master.
    Sentinel {
        sentinels: Vec<ConnectionInfo>,
        master: String,
        node: ConnectionInfo,
        tls: bool,
    },
    /// Some nodes of a cluster, which know the others.
    Cluster(Vec<ConnectionInfo>),
}

/// The valid forms of the URL.
const FORMS: &str = "redis://HOST:PORT/DB, redis+sentinel://HOST:PORT,HOST:PORT/MASTER/DB or \
                     redis+cluster://HOST:PORT,HOST:PORT, with USER:PASSWORD@ before the hosts where they ask for it, \
                     and rediss for TLS";

impl Address {
    /// # Errors
    /// The problem with the URL. The message contains no part of it.
    pub(crate) fn parse(url: &str) -> Result<Self, String> {
        let wrong = |what: &str| format!("{what}; it is written {FORMS}");
        let (scheme, rest) = url.split_once("://").ok_or_else(|| wrong("not a URL"))?;
        let (base, kind) = scheme.split_once('+').map_or((scheme, None), |(base, kind)| (base, Some(kind)));
        if !matches!((base, kind), ("redis" | "rediss", None | Some("sentinel" | "cluster"))) {
            return Err(wrong("of a scheme that is not known"));
        }
        let (user, rest) = rest.rsplit_once('@').map_or(("", rest), |(user, rest)| (user, rest));
        let (hosts, path) = rest.split_once('/').unwrap_or((rest, ""));
        if [hosts, path].iter().any(|part| part.contains(['?', '#'])) {
            return Err(wrong("with a query or a fragment"));
        }
        let mut parts = path.split('/').filter(|part| !part.is_empty());
        let master =
            if kind == Some("sentinel") { parts.next().ok_or_else(|| wrong("without the master's name"))? } else { "" };
        let database = parts.next().unwrap_or("0");
        if parts.next().is_some() || (kind == Some("cluster") && database != "0") {
            return Err(wrong("with a path that means nothing"));
        }
        let user = if user.is_empty() { String::new() } else { format!("{user}@") };
        let info = |scheme: &str, user: &str, host: &str| {
            info(scheme, user, host, database)
                .ok_or_else(|| wrong("with a host, a user or a database that cannot be read"))
        };
        match kind {
            None if hosts.contains(',') => Err(wrong("with several hosts, which only a sentinel or a cluster has")),
            None => Ok(Self::One(info(base, &user, hosts)?)),
            Some("sentinel") => Ok(Self::Sentinel {
                sentinels: hosts.split(',').map(|host| info("redis", "", host)).collect::<Result<_, _>>()?,
                master: master.to_owned(),
                node: info("redis", &user, "master")?,
                tls: base == "rediss",
            }),
            Some(_) => {
                Ok(Self::Cluster(hosts.split(',').map(|host| info(base, &user, host)).collect::<Result<_, _>>()?))
            }
        }
    }

    /// The form of the address, for logs.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::One(_) => "one server",
            Self::Sentinel { .. } => "sentinel",
            Self::Cluster(_) => "cluster",
        }
    }
}

/// `None` if it cannot be parsed. The parser's error is dropped, because it may quote the URL.
fn info(scheme: &str, user: &str, host: &str, database: &str) -> Option<ConnectionInfo> {
    let url = (!host.is_empty()).then(|| format!("{scheme}://{user}{host}/{database}"))?;
    url.into_connection_info().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_is_understood() {
        let Ok(Address::One(one)) = Address::parse("redis://me:p%40ss@db.example:7000/3") else { panic!() };
        assert_eq!(one.addr().to_string(), "db.example:7000");
        assert_eq!(
            (one.redis_settings().username(), one.redis_settings().password(), one.redis_settings().db()),
            (Some("me"), Some("p@ss"), 3)
        );
        let Ok(Address::Sentinel { sentinels, master, node, tls }) =
            Address::parse("rediss+sentinel://:pass@a:1,b:2/main")
        else {
            panic!()
        };
        assert_eq!(sentinels.iter().map(|node| node.addr().to_string()).collect::<Vec<_>>(), ["a:1", "b:2"]);
        assert_eq!((master.as_str(), node.redis_settings().password(), tls), ("main", Some("pass"), true));
        assert_eq!(sentinels[0].redis_settings().password(), None, "sentinels are not told the servers' password");
        let Ok(Address::Cluster(nodes)) = Address::parse("redis+cluster://a,b:7001") else { panic!() };
        assert_eq!(nodes.iter().map(|node| node.addr().to_string()).collect::<Vec<_>>(), ["a:6379", "b:7001"]);
        assert!(matches!(Address::parse("rediss://a"), Ok(Address::One(_))));
    }

    #[test]
    fn what_is_wrong_is_said_without_the_secret() {
        for url in [
            "s3cret",
            "http://s3cret@a",
            "redis://s3cret@a,b",
            "redis+sentinel://:s3cret@a",
            "redis+cluster://:s3cret@a/1",
            "redis://s3cret@a:port",
            "redis://:s3cret@",
            "redis://:s3cret@a/0/1",
            "redis://:s3cret@a?db=1",
        ] {
            let Err(said) = Address::parse(url) else { panic!("{url} is understood") };
            assert!(!said.contains("s3cret") && said.contains("it is written"), "{said}");
        }
    }
}
