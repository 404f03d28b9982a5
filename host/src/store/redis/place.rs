//! Where records lie on the servers: their names there, and which of them a cluster keeps on one node.
//!
//! A batch happens as a whole on one node alone, and a node is found by the part of a name in braces. Everything that
//! shares batches has the prefix in braces, so all of it lies on one node, with the index by which families are listed.
//! Records of one address or one score are many, and each is right by itself: they spread over the nodes by their last
//! part.

use crate::store::keys;

#[derive(Clone)]
pub(super) struct Places {
    prefix: String,
}

impl Places {
    pub fn new(prefix: &str) -> Self {
        Self { prefix: prefix.to_owned() }
    }

    /// The name of the record of `key` on the servers.
    pub fn of(&self, key: &str) -> String {
        let prefix = &self.prefix;
        match key.rsplit_once('/').filter(|_| is_spread(key)) {
            Some((family, last)) => format!("{prefix}{family}/{{{last}}}"),
            None => format!("{{{prefix}}}{key}"),
        }
    }

    /// The sorted set of the keys that are listed.
    pub fn index(&self) -> String {
        format!("{{{}}}index", self.prefix)
    }

    /// Where it stands what came of a write.
    pub fn write(&self, id: &str) -> String {
        format!("{{{}}}write/{id}", self.prefix)
    }
}

/// Whether each record of this family stands for itself.
pub(super) fn is_spread(key: &str) -> bool {
    keys::SPREAD.iter().any(|family| key.starts_with(family))
}

/// Whether the family of this key is listed.
pub(super) fn is_listed(key: &str) -> bool {
    keys::LISTED.iter().any(|family| key.starts_with(family))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shares_batches_shares_a_tag_and_the_rest_spreads() {
        let places = Places::new("assay:");
        for (key, name) in [
            ("roles/credit", "{assay:}roles/credit"),
            ("units/a/b", "{assay:}units/a/b"),
            ("score-secret", "{assay:}score-secret"),
            ("lending/1/0xa/0xb", "assay:lending/1/0xa/{0xb}"),
            ("score/7", "assay:score/{7}"),
        ] {
            assert_eq!(places.of(key), name);
        }
        assert_eq!((places.index().as_str(), places.write("7").as_str()), ("{assay:}index", "{assay:}write/7"));
    }
}
