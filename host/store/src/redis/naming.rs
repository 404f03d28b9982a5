//! The names of records on the servers, which also choose the node of a cluster.
//!
//! The part of a name in braces chooses the node, and a batch is atomic on one node only. Records that share batches
//! have the prefix in braces, so one node has all of them and the index of listed families. The many records of
//! addresses and scores have their last part in braces, so they are spread over the nodes.

use crate::keys::{KeyName, Placement};

#[derive(Clone)]
pub(super) struct KeyNaming {
    prefix: String,
}

impl KeyNaming {
    pub(crate) fn new(prefix: &str) -> Self {
        Self { prefix: prefix.to_owned() }
    }

    /// The name of the record of `key` on the servers.
    pub(crate) fn of(&self, key: &KeyName) -> String {
        match key.text.rsplit_once('/').filter(|_| key.placement == Placement::Spread) {
            Some((family, last)) => format!("{}{family}/{{{last}}}", self.prefix),
            None => self.together(&key.text),
        }
    }

    /// The name of a record that shares batches with others.
    pub(crate) fn together(&self, key: &str) -> String {
        format!("{{{}}}{key}", self.prefix)
    }

    /// The sorted set of the listed keys.
    pub(crate) fn index(&self) -> String {
        format!("{{{}}}index", self.prefix)
    }

    /// The name under which the outcome of a write is stored.
    pub(crate) fn write(&self, id: &str) -> String {
        format!("{{{}}}write/{id}", self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shares_batches_shares_a_tag_and_the_rest_spreads() {
        let naming = KeyNaming::new("assay:");
        for (key, placement, name) in [
            ("roles/credit", Placement::Together, "{assay:}roles/credit"),
            ("units/a/b", Placement::Together, "{assay:}units/a/b"),
            ("score-secret", Placement::Together, "{assay:}score-secret"),
            ("audit/7", Placement::Listed, "{assay:}audit/7"),
            ("lending/1/0xa/0xb", Placement::Spread, "assay:lending/1/0xa/{0xb}"),
            ("score/7", Placement::Spread, "assay:score/{7}"),
        ] {
            assert_eq!(naming.of(&KeyName { text: key.into(), placement }), name);
        }
        assert_eq!((naming.index().as_str(), naming.write("7").as_str()), ("{assay:}index", "{assay:}write/7"));
    }
}
