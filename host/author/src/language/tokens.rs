//! The tokens of an expression, with their places.

use super::Wrong;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Lexeme<'a> {
    Number(f64),
    /// A name, or a list and its field joined by a dot.
    Name(&'a str),
    Text(&'a str),
    Mark(&'a str),
}

/// Each token with the byte where it starts.
pub(crate) type Placed<'a> = (usize, Lexeme<'a>);

pub(crate) fn tokens(text: &str) -> Result<Vec<Placed<'_>>, Wrong> {
    let (mut tokens, mut rest) = (Vec::new(), text);
    loop {
        rest = rest.trim_start();
        let at = text.len() - rest.len();
        let Some(first) = rest.chars().next() else { return Ok(tokens) };
        let (token, length) = match first {
            '0'..='9' | '.' => number(at, rest)?,
            'a'..='z' | 'A'..='Z' | '_' => {
                let word = run(rest, |letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.'));
                (Lexeme::Name(word), word.len())
            }
            '"' => quoted(at, rest)?,
            _ => mark(at, rest, first)?,
        };
        tokens.push((at, token));
        rest = rest.get(length..).unwrap_or_default();
    }
}

fn run(rest: &str, mut part: impl FnMut(char) -> bool) -> &str {
    rest.find(|letter| !part(letter)).and_then(|end| rest.get(..end)).unwrap_or(rest)
}

fn number(at: usize, rest: &str) -> Result<(Lexeme<'_>, usize), Wrong> {
    let mut before = ' ';
    let word = run(rest, |letter| {
        // The sign of an exponent is part of the number.
        let signed = matches!(letter, '+' | '-') && matches!(before, 'e' | 'E');
        before = letter;
        signed || letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.')
    });
    match word.replace('_', "").parse::<f64>() {
        Ok(number) if number.is_finite() => Ok((Lexeme::Number(number), word.len())),
        _ => Err(Wrong::new(at, format!("`{word}` is not a number"))),
    }
}

fn quoted(at: usize, rest: &str) -> Result<(Lexeme<'_>, usize), Wrong> {
    let inner = rest.get(1..).unwrap_or_default();
    let text = inner.find('"').and_then(|end| inner.get(..end));
    let text = text.ok_or_else(|| Wrong::new(at, "the text is not closed: a `\"` is missing"))?;
    Ok((Lexeme::Text(text), text.len() + 2))
}

fn mark(at: usize, rest: &str, first: char) -> Result<(Lexeme<'_>, usize), Wrong> {
    const MARKS: [&str; 14] = ["==", "!=", "<=", ">=", "<", ">", "(", ")", ",", "+", "-", "*", "/", "="];
    match MARKS.into_iter().find(|mark| rest.starts_with(mark)) {
        Some("=") => Err(Wrong::new(at, "`=` is no part of the language: compare with `==`")),
        Some(mark) => Ok((Lexeme::Mark(mark), mark.len())),
        None => Err(Wrong::new(at, format!("`{first}` is no part of the language"))),
    }
}
