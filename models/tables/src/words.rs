//! The text of a factor, with figures of the wallet in it.

use std::str;

/// Stands before the place of a feature, counted from 1, in a packed text.
pub const FIGURE: u8 = 1;

/// `text` with the figures that it names.
pub fn filled(text: &[u8], values: &[f64]) -> String {
    let (mut words, mut rest) = (String::with_capacity(text.len() + 32), text);
    while let Some(at) = rest.iter().position(|byte| *byte == FIGURE) {
        let (before, after) = rest.split_at(at);
        words.push_str(str::from_utf8(before).unwrap_or_default());
        let [_, place, tail @ ..] = after else { return words };
        let value = usize::from(*place).checked_sub(1).and_then(|place| values.get(place));
        figure(&mut words, value.copied().unwrap_or(f64::NAN));
        rest = tail;
    }
    words.push_str(str::from_utf8(rest).unwrap_or_default());
    words
}

/// A whole number where the figure is large or whole, else one digit after the point; `unknown` where it is absent.
/// Without the formatter of the standard library, which would be half of the component.
fn figure(words: &mut String, value: f64) {
    if value.is_nan() {
        return words.push_str("unknown");
    }
    let size = value.abs().min(1e17);
    let tenths = (size * 10.0 + 0.5) as u64;
    if value < 0.0 && tenths > 0 {
        words.push('-');
    }
    let (whole, tenth) = if tenths < 10_000 { (tenths / 10, tenths % 10) } else { ((size + 0.5) as u64, 0) };
    let mut unit = 1;
    while whole / unit >= 10 {
        unit *= 10;
    }
    while unit > 0 {
        words.push(digit(whole / unit % 10));
        unit /= 10;
    }
    if tenth != 0 {
        words.push('.');
        words.push(digit(tenth));
    }
}

fn digit(number: u64) -> char {
    char::from(b'0' + (number % 10) as u8)
}

#[cfg(test)]
mod tests {
    use super::filled;

    #[test]
    fn figures_are_short() {
        for (value, words) in [
            (0.0, "0"),
            (-0.01, "0"),
            (12.34, "12.3"),
            (-1.5, "-1.5"),
            (999.96, "1000"),
            (1234.56, "1235"),
            (1e300, "100000000000000000"),
            (f64::NAN, "unknown"),
        ] {
            assert_eq!(filled(b"a \x01\x01 b", &[value]), format!("a {words} b"));
        }
    }
}
