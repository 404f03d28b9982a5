//! Where a component is in a registry: `oci://HOST[:PORT]/REPOSITORY[:TAG][@sha256:DIGEST]`.

use std::{fmt, str::FromStr};

use assay_domain::Digest;
use serde::{Deserialize, Deserializer, de::Error as _};

/// A repository, and a tag or the digest of a manifest in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// With the port.
    pub host: String,
    pub repository: String,
    pub tag: Option<String>,
    /// SHA-256 of the manifest.
    pub digest: Option<Digest>,
}

impl Reference {
    /// The root of the registry. Only a registry on this machine is used without TLS.
    pub fn root(&self) -> String {
        let name = self.host.rsplit_once(':').map_or(self.host.as_str(), |(name, _)| name);
        let scheme = if matches!(name, "localhost" | "127.0.0.1" | "[::1]") { "http" } else { "https" };
        format!("{scheme}://{}", self.host)
    }

    /// The same with the digest of a manifest.
    pub fn pinned(&self, digest: Digest) -> Self {
        Self { digest: Some(digest), ..self.clone() }
    }

    /// Its name in a registry: its digest, or its tag.
    pub fn name(&self) -> String {
        match (&self.digest, &self.tag) {
            (Some(digest), _) => format!("sha256:{digest}"),
            (None, tag) => tag.clone().unwrap_or_else(|| "latest".into()),
        }
    }
}

impl FromStr for Reference {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{text:?} is not a reference to a registry: write oci://HOST/REPOSITORY:TAG or \
                 oci://HOST/REPOSITORY@sha256:DIGEST, in small letters and without a password"
            )
        };
        let rest = text.strip_prefix("oci://").ok_or_else(wrong)?;
        let (rest, digest) = match rest.split_once("@sha256:") {
            Some((rest, hex)) => {
                let mut bytes = [0; 32];
                hex::decode_to_slice(hex, &mut bytes).map_err(|_| wrong())?;
                (rest, Some(Digest(bytes)))
            }
            None => (rest, None),
        };
        let (host, path) = rest.split_once('/').ok_or_else(wrong)?;
        let (repository, tag) = match path.split_once(':') {
            Some((repository, tag)) => (repository, Some(tag)),
            None => (path, None),
        };
        let of = |text: &str, other: &str| {
            text.bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || other.contains(char::from(byte)))
        };
        let parts = repository
            .split('/')
            .all(|part| part.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric()) && of(part, "._-"));
        let tagged = tag.is_none_or(|tag| {
            (1..=128).contains(&tag.len())
                && tag.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        });
        if host.is_empty() || !of(host, ".-:[]") || !parts || !tagged || repository.len() > 255 {
            return Err(wrong());
        }
        Ok(Self { host: host.into(), repository: repository.into(), tag: tag.map(Into::into), digest })
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "oci://{}/{}", self.host, self.repository)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        self.digest.map_or(Ok(()), |digest| write!(f, "@sha256:{digest}"))
    }
}

impl<'de> Deserialize<'de> for Reference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_read_and_written() {
        let digest = "0".repeat(64);
        for text in ["oci://ghcr.io/lender/credit:1.4", "oci://localhost:5000/a/b-c", "oci://h/r:T@sha256:{}"] {
            let text = text.replace("{}", &digest);
            assert_eq!(text.parse::<Reference>().unwrap().to_string(), text);
        }
        let of = |text: &str| text.parse::<Reference>().unwrap();
        assert_eq!((of("oci://h/r").name(), of("oci://h/r:2").name()), ("latest".into(), "2".into()));
        assert_eq!(
            (of("oci://h:1/r").root(), of("oci://[::1]:5/r").root()),
            ("https://h:1".into(), "http://[::1]:5".into())
        );
        for text in [
            "ghcr.io/a/b:1",
            "oci://ghcr.io",
            "oci://u:p@h/r",
            "oci://h/R",
            "oci://h/a/../b",
            "oci://h//b",
            "oci://h/r:",
            "oci://h/r@sha256:12",
            "oci://h/r?x=1",
        ] {
            assert!(text.parse::<Reference>().unwrap_err().contains("is not a reference to a registry"), "{text}");
        }
    }
}
