//! The reasons that the card of a model declares.

use crate::{Factor, Standing, is_plain};

/// Most codes of one model.
pub const MOST_CODES: usize = 32;
/// Maximum length of a code, and of a factor's label, in characters.
const NAME: usize = 80;
/// Maximum length of a text, in characters.
const TEXT: usize = 500;

/// A reason as a card declares it, for one factor.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReasonCode {
    pub code: String,
    /// The label of the factor.
    pub factor: String,
    /// The wallets for which it is the reason; any wallet if absent.
    pub when: Option<When>,
    pub text: String,
    pub applicant_text: String,
}

/// A fact about a wallet by which the reasons for lost points of one factor differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// A debt or a history may exist that was not read.
    Unread,
    /// It was liquidated.
    Liquidated,
    /// It owes at least 10 dollars.
    Owing,
}

/// The codes of a model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReasonCodes {
    /// What the points of the factors are added to; `None` if the card does not say.
    base: Option<i32>,
    codes: Vec<ReasonCode>,
}

impl ReasonCodes {
    /// Checks the codes of a card.
    ///
    /// # Errors
    /// The problem.
    pub fn new(base: Option<i32>, codes: Vec<ReasonCode>) -> Result<Self, String> {
        if codes.len() > MOST_CODES {
            return Err(format!("{} reasons, of which there may be {MOST_CODES}", codes.len()));
        }
        for (at, one) in codes.iter().enumerate() {
            one.check()?;
            let is_of = |other: &&ReasonCode| other.factor == one.factor;
            let earlier = || codes.iter().take(at);
            if earlier().any(|other| other.code == one.code) {
                return Err(format!("the code {} is there twice", one.code));
            }
            if earlier().filter(is_of).any(|other| other.when.is_none()) {
                return Err(format!(
                    "the reason {} is never met: an earlier one of its factor has no `when`",
                    one.code
                ));
            }
            if !codes.iter().filter(is_of).any(|other| other.when.is_none()) {
                return Err(format!("each reason of the factor {:?} has a `when`: add one without", one.factor));
            }
        }
        Ok(Self { base, codes })
    }

    pub fn base(&self) -> Option<i32> {
        self.base
    }

    pub fn codes(&self) -> &[ReasonCode] {
        &self.codes
    }
}

impl ReasonCode {
    fn check(&self) -> Result<(), String> {
        let is_code = |text: &str| text.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
        if self.code.is_empty() || self.code.len() > NAME || !is_code(&self.code) {
            return Err(format!("the code {:?}; write 1 to {NAME} of A-Z, 0-9 and _", self.code));
        }
        for (field, text, most) in
            [("factor", &self.factor, NAME), ("text", &self.text, TEXT), ("applicant_text", &self.applicant_text, TEXT)]
        {
            let length = text.trim().chars().count();
            if length == 0 || length > most || text.bytes().any(|b| b.is_ascii_control()) || !is_plain(text) {
                return Err(format!("the `{field}` of {}; write one line of 1 to {most} characters", self.code));
            }
        }
        Ok(())
    }

    pub(super) fn is_of(&self, factor: &Factor, standing: Option<&Standing>) -> bool {
        self.factor == factor.label && self.when.is_none_or(|when| standing.is_some_and(|wallet| when.holds(wallet)))
    }
}

impl When {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unread => "unread",
            Self::Liquidated => "liquidated",
            Self::Owing => "owing",
        }
    }

    fn holds(self, wallet: &Standing) -> bool {
        match self {
            Self::Unread => wallet.is_debt_unread || wallet.is_history_pending,
            Self::Liquidated => wallet.liquidations > 0,
            Self::Owing => wallet.owes(10.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(code: &str, factor: &str, when: Option<When>) -> ReasonCode {
        let text = || format!("{code} in words");
        ReasonCode { code: code.into(), factor: factor.into(), when, text: text(), applicant_text: text() }
    }

    #[test]
    fn a_wrong_code_is_named() {
        let wrong = |codes: Vec<ReasonCode>| ReasonCodes::new(None, codes).unwrap_err();
        let many: Vec<_> = (0..33).map(|n| code(&format!("C{n}"), &format!("F{n}"), None)).collect();
        assert!(wrong(many).contains("33 reasons, of which there may be 32"));
        assert!(wrong(vec![code("low hf", "F", None)]).contains("A-Z, 0-9"));
        assert!(wrong(vec![code("A", "F", None), code("A", "G", None)]).contains("twice"));
        assert!(wrong(vec![code("A", "F", None), code("B", "F", Some(When::Owing))]).contains("never met"));
        assert!(wrong(vec![code("A", "F", Some(When::Owing))]).contains("add one without"));
        assert!(wrong(vec![ReasonCode { text: " ".into(), ..code("A", "F", None) }]).contains("the `text` of A"));
    }
}
