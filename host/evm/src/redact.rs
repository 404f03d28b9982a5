//! Removes an endpoint's credentials from its messages: some endpoints repeat the URL or the key of the request in
//! their errors, and errors are logged.

use url::{Url, form_urlencoded};

/// Shorter path segments name a version or a network, not a credential.
const SHORTEST_SEGMENT: usize = 8;
/// Shorter texts occur in messages by chance.
const SHORTEST: usize = 4;

/// The parts of one URL that may be a credential: user, password, long path segments, query values and the fragment;
/// and the header that carries the first two.
pub struct Redact(Vec<String>);

impl Redact {
    /// `authorization` is the value of that header, if there is one.
    pub fn of(url: &Url, authorization: Option<&str>) -> Self {
        let mut secrets: Vec<String> =
            [Some(url.username()), url.password()].into_iter().flatten().map(str::to_owned).collect();
        secrets.extend(
            url.path_segments()
                .into_iter()
                .flatten()
                .filter(|segment| segment.len() >= SHORTEST_SEGMENT)
                .map(str::to_owned),
        );
        secrets.extend(
            url.query().unwrap_or_default().split('&').filter_map(|pair| Some(pair.split_once('=')?.1.to_owned())),
        );
        secrets.extend(url.query_pairs().map(|(_, value)| value.into_owned()));
        secrets.extend(url.fragment().map(str::to_owned));
        secrets.extend(authorization.and_then(|value| Some(value.split_once(' ')?.1.to_owned())));
        let decoded: Vec<String> = secrets.iter().map(|secret| decoded(secret)).collect();
        secrets.extend(decoded);
        secrets.retain(|secret| secret.len() >= SHORTEST);
        // One secret may be a part of another.
        secrets.sort_unstable_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.dedup();
        Self(secrets)
    }

    /// `text` without the credentials; `None` if it contains none.
    pub fn text(&self, text: &str) -> Option<String> {
        let mut clean = None;
        for secret in &self.0 {
            let seen = clean.as_deref().unwrap_or(text);
            if seen.contains(secret.as_str()) {
                clean = Some(seen.replace(secret.as_str(), "***"));
            }
        }
        clean
    }
}

/// `text` without percent-encoding. A plus stays a plus, because it means a space only in queries.
fn decoded(text: &str) -> String {
    let as_value = text.replace('+', "%2B");
    form_urlencoded::parse(as_value.replace('=', "%3D").replace('&', "%26").as_bytes())
        .map(|(key, _)| key.into_owned())
        .next()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_part_of_the_url_is_repeated_is_taken_out() {
        let url = "https://operator:p%40ss+word@rpc.example/v3/0123456789abcdef?apikey=q-u-e-r-y&x=1#fragment";
        let redact = Redact::of(&Url::parse(url).unwrap(), Some("Basic b3BlcmF0b3I6"));
        for said in [
            url,
            "project 0123456789abcdef is over its quota",
            "wrong password p@ss+word",
            "user operator is unknown",
            "apikey q-u-e-r-y was revoked",
            "see #fragment",
            "no such Authorization: Basic b3BlcmF0b3I6",
        ] {
            let clean = redact.text(said).unwrap();
            for secret in ["0123456789abcdef", "p@ss", "p%40ss", "operator", "b3Blc", "q-u-e-r-y", "fragment"] {
                assert!(!clean.contains(secret), "{secret} in {clean}");
            }
        }
        assert_eq!(redact.text("block range is too wide for v3 on rpc.example"), None);
        assert_eq!(
            Redact::of(&Url::parse("http://127.0.0.1:8545/").unwrap(), None).text("http://127.0.0.1:8545/"),
            None
        );
    }
}
