//! Recognises a file that is not WebAssembly or that was cut short, before it is compiled.

use crate::LoadError;

/// Walks the sections, to distinguish a truncated file from an invalid one.
pub(crate) fn whole(bytes: &[u8]) -> Result<(), LoadError> {
    const MAGIC: &[u8] = b"\0asm";
    const PREAMBLE: usize = 8;
    let start = bytes.get(..MAGIC.len().min(bytes.len())).unwrap_or_default();
    if !MAGIC.starts_with(start) {
        return Err(LoadError::NotWasm { start: format!("{:?}", String::from_utf8_lossy(start)) });
    }
    if bytes.len() < PREAMBLE {
        return Err(LoadError::Truncated(format!("it has {} bytes, not even a preamble of 8", bytes.len())));
    }
    let mut at = PREAMBLE;
    while at < bytes.len() {
        let section = at;
        // A section is one byte for its id, its size, and its contents.
        at += 1;
        let size = leb128(bytes, &mut at);
        let Some(end) = size.and_then(|size| at.checked_add(size)).filter(|end| *end <= bytes.len()) else {
            return Err(LoadError::Truncated(format!(
                "it ends within the section that starts at byte {section} of {}",
                bytes.len()
            )));
        };
        at = end;
    }
    Ok(())
}

/// Reads an unsigned number of at most 32 bits and moves `at` to the byte after it.
fn leb128(bytes: &[u8], at: &mut usize) -> Option<usize> {
    let mut value = 0_usize;
    for shift in (0..35).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_cut_anywhere_within_a_section_is_cut_short() {
        let module =
            wat::parse_str("(module (memory 1) (data (i32.const 0) \"some bytes that may go missing\"))").unwrap();
        assert_eq!(whole(&module), Ok(()));
        let mut boundaries = 0;
        for length in 0..module.len() {
            match whole(&module[..length]) {
                Ok(()) => boundaries += 1,
                error => assert!(matches!(error, Err(LoadError::Truncated(_))), "{length}: {error:?}"),
            }
        }
        assert_eq!(boundaries, 2, "after the preamble and between the two sections a shorter file is whole");
        assert!(matches!(whole(b"PK\x03\x04"), Err(LoadError::NotWasm { .. })));
    }
}
