//! Where records lie on the servers: their names there, and which of them a cluster keeps on one node.
//!
//! A batch happens as a whole on one node alone, and a node is found by the part of a name in braces. Everything that
//! shares batches has the prefix in braces, so all of it lies on one node, with the index by which families are listed.
//! Records of one address or one score are many, and each is right by itself: they spread over the nodes by their last
//! part.

use crate::keys::{Name, Placement};

#[derive(Clone)]
pub(super) struct Places {
    prefix: String,
}

impl Places {
    pub fn new(prefix: &str) -> Self {
        Self { prefix: prefix.to_owned() }
    }

    /// The name of the record of `key` on the servers.
    pub fn of(&self, key: &Name) -> String {
        match key.text.rsplit_once('/').filter(|_| key.placement == Placement::Spread) {
            Some((family, last)) => format!("{}{family}/{{{last}}}", self.prefix),
            None => self.together(&key.text),
        }
    }

    /// The name of a record that shares batches with others.
    pub fn together(&self, key: &str) -> String {
        format!("{{{}}}{key}", self.prefix)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shares_batches_shares_a_tag_and_the_rest_spreads() {
        let places = Places::new("assay:");
        for (key, placement, name) in [
            ("roles/credit", Placement::Together, "{assay:}roles/credit"),
            ("units/a/b", Placement::Together, "{assay:}units/a/b"),
            ("score-secret", Placement::Together, "{assay:}score-secret"),
            ("audit/7", Placement::Listed, "{assay:}audit/7"),
            ("lending/1/0xa/0xb", Placement::Spread, "assay:lending/1/0xa/{0xb}"),
            ("score/7", Placement::Spread, "assay:score/{7}"),
        ] {
            assert_eq!(places.of(&Name { text: key.into(), placement }), name);
        }
        assert_eq!((places.index().as_str(), places.write("7").as_str()), ("{assay:}index", "{assay:}write/7"));
    }
}
