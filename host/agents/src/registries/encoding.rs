//! Decoding of bytes in `data:` URIs and headers. Both decoders are as lenient as a browser.

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireNone)
        .with_decode_allow_trailing_bits(true),
);

/// Decodes base64; `None` where a character is not of the alphabet. White space and padding are skipped; both alphabets
/// of RFC 4648 are accepted.
pub fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let letters = text.iter().filter(|letter| !matches!(letter, b'=' | b'\t' | b'\n' | b'\r' | b' '));
    let letters = letters.map(|letter| match letter {
        b'-' => b'+',
        b'_' => b'/',
        letter => *letter,
    });
    LENIENT.decode(letters.collect::<Vec<_>>()).ok()
}

/// Decodes every `%xx`; any other `%` stays.
pub(super) fn percent(text: &[u8]) -> Vec<u8> {
    percent_encoding::percent_decode(text).collect()
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
