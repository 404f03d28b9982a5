//! The texts of a model: who it is, what it claims, and the words of its factors.

use crate::{
    FileFault,
    declaration::{ClaimsSection, Declaration, DeclarationFile, SpannedText},
    language::Expression,
};
use assay_domain::is_plain;

/// The most characters of a title, a label or a name.
pub(crate) const LABEL: usize = 80;
/// The most characters of the text of a factor without its figures.
const TEXT: usize = 400;

/// Version, title, authors, inputs, what the model claims, and label and text of each factor, in the order of the
/// format.
///
/// # Errors
/// The first text that is too long or cannot be packed.
pub(crate) fn texts(file: &DeclarationFile, expressions: &[Expression]) -> Result<Vec<Vec<u8>>, FileFault> {
    let Declaration { version, title, authors, factors, claims, .. } = &file.declared;
    long(file, title, LABEL)?;
    // The model refuses a wallet of which nothing could be read, so it always reads the coverage.
    let mut reads = vec!["chains.coverage".to_owned(), "markets.coverage".to_owned()];
    reads.extend(expressions.iter().flat_map(|expression| expression.reads.iter().cloned()));
    reads.sort();
    reads.dedup();
    let plain = |text: &str| text.as_bytes().to_vec();
    let mut texts =
        vec![plain(version.get_ref()), plain(title.get_ref()), plain(&authors.join("\n")), plain(&reads.join("\n"))];
    let claim =
        |text: fn(&ClaimsSection) -> &SpannedText| plain(claims.as_ref().map_or("", |claims| text(claims).get_ref()));
    texts.extend([claim(|claims| &claims.outcome), claim(|claims| &claims.population)]);
    for factor in factors {
        long(file, &factor.label, LABEL)?;
        long(file, &factor.text, TEXT)?;
        texts.push(plain(factor.label.get_ref()));
        texts.push(template(file, &factor.text)?);
    }
    Ok(texts)
}

/// A text with the place of the feature in place of each `{name}`.
fn template(file: &DeclarationFile, text: &SpannedText) -> Result<Vec<u8>, FileFault> {
    let (names, mut out, mut rest) = (file.names(), Vec::new(), text.get_ref().as_str());
    if rest.bytes().any(|byte| byte < b' ') {
        return Err(file.fault(text, "a text has one line and no control characters"));
    }
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').ok_or_else(|| file.fault(text, "a `{` is not closed"))?;
        let place = names.iter().position(|known| *known == name).and_then(|at| u8::try_from(at + 1).ok());
        let place = place.ok_or_else(|| file.fault(text, format!("`{{{name}}}` names no feature")))?;
        out.extend(before.as_bytes());
        out.extend([1, place]);
        rest = after;
    }
    out.extend(rest.as_bytes());
    Ok(out)
}

/// Refuses an empty text, one of more than `most` characters, and one with characters that are not seen.
///
/// # Errors
/// The fault names the length or the kind of character, and the line of the text.
pub(crate) fn long(file: &DeclarationFile, text: &SpannedText, most: usize) -> Result<(), FileFault> {
    let count = text.get_ref().chars().count();
    let message = format!("it has {count} characters; 1 to {most} are possible");
    if !is_plain(text.get_ref()) {
        return Err(file.fault(text, "it has characters that are not seen, or hide others"));
    }
    if (1..=most).contains(&count) { Ok(()) } else { Err(file.fault(text, message)) }
}
