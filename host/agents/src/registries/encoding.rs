//! Decoding of bytes in `data:` URIs and headers. Both decoders are as lenient as a browser.

/// Decodes base64; `None` where a character is not of the alphabet. White space and padding are skipped; both alphabets
/// of RFC 4648 are accepted.
pub fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let (mut bits, mut filled) = (0u32, 0u32);
    for &letter in text {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' | b'\t' | b'\n' | b'\r' | b' ' => continue,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        filled += 6;
        if filled >= 8 {
            filled -= 8;
            bytes.push((bits >> filled & 0xff) as u8);
        }
    }
    Some(bytes)
}

/// Decodes every `%xx`; any other `%` stays.
pub(super) fn percent(text: &[u8]) -> Vec<u8> {
    let digit = |at: usize| text.get(at).and_then(|&letter| char::from(letter).to_digit(16));
    let mut bytes = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(&letter) = text.get(at) {
        match (letter, digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                at += 3;
            }
            _ => {
                bytes.push(letter);
                at += 1;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_encoded_is_read() {
        for (text, bytes) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zg", "f"),
            ("Zm9v", "foo"),
            ("Zm9v YmE=\n", "fooba"),
            ("Pj4-Pz8_", ">>>???"),
            ("Pj4+Pz8/", ">>>???"),
        ] {
            assert_eq!(base64(text.as_bytes()).as_deref(), Some(bytes.as_bytes()), "{text:?}");
        }
        assert_eq!(base64(b"Zm9v%"), None);
        assert_eq!(percent(b"%7B%22a%22%3a1%7d 100% %zz%"), b"{\"a\":1} 100% %zz%");
    }
}
