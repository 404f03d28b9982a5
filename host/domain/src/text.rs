//! Text of strangers, such as the name of a token or of an agent, made safe to show.

/// The first code point of the scripts and symbols in which a joiner or a variation selector changes a character.
const JOINED_FROM: char = '\u{600}';

/// `text` in one line of at most `most` characters, without those that cannot be seen or change how others are shown:
/// controls, directions, characters of zero width, tags, private ones and noncharacters.
pub fn display_text(text: &str, most: usize) -> String {
    let mut shown = String::with_capacity(text.len().min(most));
    let (mut length, mut last, mut space) = (0, None, false);
    for c in text.chars() {
        if c.is_whitespace() {
            space = length > 0;
            continue;
        }
        let is_stray = is_joining(c) && (space || !joins(last, c));
        if is_hidden(c) || is_stray {
            continue;
        }
        if length + usize::from(space) >= most {
            break;
        }
        if std::mem::take(&mut space) {
            shown.push(' ');
            length += 1;
        }
        shown.push(c);
        length += 1;
        last = Some(c);
    }
    shown
}

/// Whether `text`, apart from its spaces, is shown as it is: it has no character that [`display_text`] removes.
pub fn is_plain(text: &str) -> bool {
    let dark = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    text.is_ascii() || dark(&display_text(text, usize::MAX)) == dark(text)
}

/// Whether `text` has a character that [`display_text`] removes or replaces.
pub fn has_hidden(text: &str) -> bool {
    text.chars().any(|c| c.is_whitespace() || is_hidden(c) || is_joining(c))
}

fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{e000}'..='\u{f8ff}' | '\u{fdd0}'..='\u{fdef}'
            | '\u{fe00}'..='\u{fe0d}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffd}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}' | '\u{f0000}'..='\u{10ffff}')
        || u32::from(c) & 0xfffe == 0xfffe
}

/// The joiners, which some scripts and emoji need, and the selectors of text and emoji.
fn is_joining(c: char) -> bool {
    is_joiner(c) || is_selector(c)
}

fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe0e}' | '\u{fe0f}')
}

/// Whether `c`, a joiner or a selector, changes the character before it: never a Latin, Greek or Cyrillic one, whose
/// word would only look like another.
fn joins(before: Option<char>, c: char) -> bool {
    before.is_some_and(|before| before >= JOINED_FROM && !is_joiner(before) && !(is_selector(before) && is_selector(c)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_one_line_without_what_cannot_be_seen() {
        for (text, expected) in [
            ("Dai Stablecoin", "Dai Stablecoin"),
            ("  a\r\n\tb  ", "a b"),
            ("US\u{200b}DC\u{202e}\n<b>\t x", "USDC <b> x"),
            ("a\u{202e}b\u{2066}c\u{200f}\u{0}\u{7f}\u{1b}d\u{61c}e", "abcde"),
            ("\u{feff}\u{200b}\u{ad}\u{2028}\u{3164}\u{2800}", ""),
            ("a\u{ffff}\u{fdd0}\u{e0041}\u{e000}\u{10fffd}b", "ab"),
            ("U\u{34f}S\u{1d173}D\u{1bca0}C", "USDC"),
            ("नमस्ते\u{200d} 👩\u{200d}💻", "नमस्ते\u{200d} 👩\u{200d}💻"),
            ("❤\u{fe0f}\u{200d}🔥", "❤\u{fe0f}\u{200d}🔥"),
        ] {
            assert_eq!(display_text(text, 50), expected, "{text:?}");
        }
    }

    #[test]
    fn joiners_do_not_make_two_words_that_look_the_same() {
        for (text, expected) in [
            ("US\u{200d}DC", "USDC"),
            ("US\u{fe0f}DC", "USDC"),
            ("\u{200c}USDC", "USDC"),
            ("ЕТН\u{200d}", "ЕТН"),
            ("👩\u{200d}\u{200d}\u{200d}", "👩\u{200d}"),
            ("👩\u{fe0f}\u{fe0f}\u{fe0e}", "👩\u{fe0f}"),
            ("👩 \u{200d}USDC", "👩 USDC"),
        ] {
            assert_eq!(display_text(text, 50), expected, "{text:?}");
        }
    }

    #[test]
    fn plain_text_has_nothing_that_is_not_seen() {
        for text in ["Credit 1.4", "Crédit  1.4", "नमस्ते\u{200d} 👩\u{200d}💻", "信用"] {
            assert!(is_plain(text), "{text:?}");
        }
        for text in ["Cre\u{200b}dit", "\u{202e}tiderC", "Credit\u{200d}", "\u{feff}Credit", "Credit\u{e0041}"] {
            assert!(!is_plain(text), "{text:?}");
        }
    }

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!(display_text(&"é".repeat(1_000_000), 48).chars().count(), 48);
        assert_eq!(display_text("ab cd", 3), "ab");
        assert_eq!(display_text("ab cd", 4), "ab c");
        assert_eq!(display_text("ab", 0), "");
    }
}
