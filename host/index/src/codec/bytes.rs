//! Numbers in few bytes.

use alloy::primitives::{I256, Sign, U256};

/// Writes seven bits per byte, lowest first. The high bit marks that another byte follows.
pub(super) fn put_number(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

/// Writes the length, then the bytes without leading zeros.
pub(super) fn put_magnitude(to: &mut Vec<u8>, magnitude: U256) {
    let bytes = magnitude.to_be_bytes::<32>();
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    to.push((32 - zeros) as u8);
    to.extend(bytes.iter().skip(zeros));
}

/// Unread bytes. A read returns `None` if they do not hold such a value.
pub(super) struct Bytes<'a>(pub &'a [u8]);

impl Bytes<'_> {
    pub(super) fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    pub(super) fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            number |= part.checked_shl(shift).filter(|shifted| shifted >> shift == part)?;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    pub(super) fn signed(&mut self, negative: bool) -> Option<I256> {
        let length = usize::from(self.byte()?);
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        let sign = if negative { Sign::Negative } else { Sign::Positive };
        I256::checked_from_sign_and_abs(sign, U256::try_from_be_slice(bytes)?)
    }
}
