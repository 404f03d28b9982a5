//! Decoding of bytes in `data:` URIs and headers. Base64 and percent-encoding are read as leniently as in a browser.

use std::io::Read;

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use flate2::read::GzDecoder;

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireNone)
        .with_decode_allow_trailing_bits(true),
);

/// Decodes base64; `None` if a character is not of the alphabet. White space and padding are skipped; both alphabets of
/// RFC 4648 are accepted.
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

/// Decompresses at most `most` bytes and one more, which shows that there are too many; `None` if this is not gzip.
pub(super) fn gunzip(compressed: &[u8], most: usize) -> Option<Vec<u8>> {
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    GzDecoder::new(compressed).take(limit).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn gzip_is_read_up_to_a_limit() {
        assert_eq!(gunzip(&gzip(b"{}"), 2).as_deref(), Some(&b"{}"[..]));
        let bomb = gzip(&vec![0; 64 << 20]);
        assert_eq!(gunzip(&bomb, 100).map(|bytes| (bytes.len(), bytes.capacity() < 65_536)), Some((101, true)));
        assert_eq!(gunzip(b"{}", 100), None);
        let whole = gzip(b"a document of some length");
        assert_eq!(gunzip(&whole[..whole.len() - 9], 100), None);
    }

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
