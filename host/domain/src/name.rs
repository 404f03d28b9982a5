//! ENS names. Spellings with the same normal form are one name. A name that ENSIP-15 does not allow is invalid, such as
//! a mixture of scripts that imitates another name.

use crate::address::InvalidAddress;

/// A dotted name in its normal form, such as `vitalik.eth`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(String);

impl Name {
    /// Maximum length of a name that is looked up, in bytes. DNS allows 253; ENS allows more, but such names are not in
    /// use.
    pub const MAX: usize = 255;

    /// # Errors
    /// [`InvalidAddress`] for a name that ENSIP-15 refuses, a single label, or a name longer than [`Name::MAX`].
    pub fn parse(text: &str) -> Result<Self, InvalidAddress> {
        // Checked before normalisation, whose cost grows with the length.
        if text.len() > Self::MAX {
            return Err(InvalidAddress::Format);
        }
        let name = ens_normalize::ens_normalize(text).map_err(|_| InvalidAddress::Format)?;
        // A normal form has none of the characters that separate parts of a URL, so a list of names is not a name.
        if name.contains('.') && name.len() <= Self::MAX && name.split('.').all(|label| !label.is_empty()) {
            Ok(Self(name))
        } else {
            Err(InvalidAddress::Format)
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the name is a subname of `parent`, not `parent` itself.
    pub fn is_under(&self, parent: &str) -> bool {
        self.0.strip_suffix(parent).is_some_and(|rest| rest.ends_with('.'))
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_name_is_one_name() {
        // Cases and results of the vectors that ENSIP-15 publishes.
        for (given, normal) in [
            ("vitalik.eth", "vitalik.eth"),
            ("RaFFY.ETH", "raffy.eth"),
            ("🅰️🅱.eth", "🅰🅱.eth"),
            ("1️⃣2️⃣.eth", "1⃣2⃣.eth"),
            ("ｆｕｌｌ.eth", "full.eth"),
            ("Ångström.eth", "ångström.eth"),
            ("mañana.box", "mañana.box"),
            ("_dnslink.example.com", "_dnslink.example.com"),
            ("0x12.eth", "0x12.eth"),
            ("ξ.eth", "ξ.eth"),
            // The standard ignores zero-width spaces.
            ("a\u{200b}b.eth", "ab.eth"),
        ] {
            assert_eq!(Name::parse(given).map(|name| name.to_string()), Ok(normal.to_owned()), "{given}");
        }
    }

    #[test]
    fn what_looks_like_another_name_is_none() {
        for bad in [
            // A Cyrillic letter among Latin ones; a whole label that looks Latin; a hidden joiner; a misplaced hyphen.
            "vit\u{430}lik.eth",
            "\u{430}\u{440}\u{435}.eth",
            "ni\u{200d}ck.eth",
            "ab--c.eth",
            "a_b.eth",
            "\u{301}a.eth",
            "eth",
            "",
            ".",
            "a..eth",
            ".eth",
            "a b.eth",
            "a.eth\n",
            "a%2e.eth",
            "a/b.eth",
            "a,b.eth",
        ] {
            assert_eq!(Name::parse(bad), Err(InvalidAddress::Format), "{bad:?}");
        }
        assert_eq!(Name::parse(&format!("{}.eth", "a".repeat(300))), Err(InvalidAddress::Format));
    }

    #[test]
    fn a_name_is_under_its_parents_alone() {
        let name = Name::parse("jesse.base.eth").unwrap();
        assert!(name.is_under("base.eth") && name.is_under("eth"));
        assert!(
            !name.is_under("jesse.base.eth")
                && !name.is_under("se.eth")
                && !Name::parse("database.eth").unwrap().is_under("base.eth")
        );
    }
}
