//! Fields that a JSON document gives more than once. A parser keeps the last one, which may not be what was meant.

use std::{collections::BTreeSet, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};

/// The paths of the fields that an object of `json` has more than once, such as `changes.0.repay.usd`; empty if it is
/// no JSON.
pub fn given_twice(json: &[u8]) -> BTreeSet<String> {
    serde_json::from_slice::<Twice>(json).unwrap_or_default().0
}

#[derive(Default)]
struct Twice(BTreeSet<String>);

impl Twice {
    /// Adds what was found in the part `name`.
    fn add(&mut self, name: &dyn fmt::Display, part: Self) {
        self.0.extend(part.0.into_iter().map(|path| format!("{name}.{path}")));
    }
}

impl<'de> Deserialize<'de> for Twice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Parts)
    }
}

struct Parts;

/// Values without parts.
macro_rules! bare {
    ($($visit:ident($kind:ty);)*) => {
        $(fn $visit<E>(self, _: $kind) -> Result<Twice, E> {
            Ok(Twice::default())
        })*
    };
}

impl<'de> Visitor<'de> for Parts {
    type Value = Twice;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    bare! {
        visit_bool(bool);
        visit_i64(i64);
        visit_u64(u64);
        visit_f64(f64);
        visit_str(&str);
    }

    fn visit_unit<E>(self) -> Result<Twice, E> {
        Ok(Twice::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Twice, A::Error> {
        let (mut found, mut at) = (Twice::default(), 0_usize);
        while let Some(item) = items.next_element()? {
            found.add(&at, item);
            at += 1;
        }
        Ok(found)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Twice, A::Error> {
        let (mut once, mut found) = (BTreeSet::new(), Twice::default());
        while let Some((name, part)) = fields.next_entry::<String, Twice>()? {
            found.add(&name, part);
            if !once.insert(name.clone()) {
                found.0.insert(name);
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_twice_at_any_depth() {
        for (json, expected) in [
            (r#"{"a":1,"a":2}"#, &["a"][..]),
            (r#"{"a":1,"\u0061":2,"b":{"c":null,"c":true}}"#, &["a", "b.c"]),
            (r#"{"changes":[{"days":1},{"repay":{"usd":10,"market":"x","usd":2e4}}]}"#, &["changes.1.repay.usd"]),
            (r#"[{"a":1},{"a":1}]"#, &[]),
            (r#"[[{"a":-1,"a":"x"}]]"#, &["0.0.a"]),
            (r#"{"a":1,"a":"#, &[]),
            ("7", &[]),
        ] {
            let found = given_twice(json.as_bytes());
            assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), expected, "{json}");
        }
        let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
        assert!(given_twice(deep.as_bytes()).is_empty());
    }
}
