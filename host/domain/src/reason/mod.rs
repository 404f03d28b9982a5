//! The principal reasons of a score: the factors that lost most points, with the codes and words of the model's card.

mod code;

use crate::{Factor, Score, Standing};

pub use code::{ReasonCode, ReasonCodes, When};

/// Most reasons of one score: a longer list is unlikely to help.
pub const MOST_REASONS: usize = 4;
/// Why points were lost, for a lender and for the owner of the wallet.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    /// 1 for the reason that lost most.
    pub rank: u32,
    pub code: String,
    /// The label of the factor.
    pub factor: String,
    pub points_lost: u32,
    pub points_possible: u32,
    /// For a lender.
    pub text: String,
    /// For the owner of the wallet.
    pub applicant_text: String,
}

/// Where codes and words come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CodeSource {
    /// The card of the model declares each of them.
    Card,
    /// At least one code is made from the label of its factor.
    Labels,
}

/// The reasons of one score.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reasons {
    /// At most [`MOST_REASONS`], the most points lost first.
    pub list: Vec<Reason>,
    pub codes: CodeSource,
    /// Absent if the sum is within the scale, or the base is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clamp: Option<Clamp>,
}

/// The step from a sum of points outside 300 to 1000 to the score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clamp {
    /// The base and the points of all factors.
    pub sum: i32,
    /// Points added to reach the scale; negative if they are taken away.
    pub points: i32,
}

impl Factor {
    /// The points that this factor can add and does not; `None` if the model was not asked for words.
    pub fn lost(&self) -> Option<u32> {
        let possible = i64::from(self.words.as_ref()?.possible);
        u32::try_from(possible - i64::from(self.points)).ok()
    }
}

impl ReasonCodes {
    /// The reasons of a score with `factors`, of a wallet that is known by its `standing`. `None` if a factor has no
    /// words.
    pub fn reasons(&self, factors: &[Factor], standing: Option<&Standing>) -> Option<Reasons> {
        let mut lost = factors.iter().map(|factor| Some((factor.lost()?, factor))).collect::<Option<Vec<_>>>()?;
        let sum = |base| factors.iter().fold(base, |sum: i32, factor| sum.saturating_add(factor.points));
        let clamp = self.base().map(sum).and_then(Clamp::of);
        lost.retain(|(lost, _)| *lost > 0);
        // A stable sort: factors that lost the same stay in the order of the model.
        lost.sort_by_key(|(lost, _)| std::cmp::Reverse(*lost));
        let mut codes = if self.codes().is_empty() { CodeSource::Labels } else { CodeSource::Card };
        let list = (1..).zip(lost.into_iter().take(MOST_REASONS)).map(|(rank, (points_lost, factor))| {
            let declared = self.codes().iter().find(|code| code.is_of(factor, standing));
            if declared.is_none() {
                codes = CodeSource::Labels;
            }
            let words = factor.words.as_ref();
            let points_possible = words.map_or(0, |words| words.possible);
            let (code, text, applicant_text) = match declared {
                Some(ReasonCode { code, text, applicant_text, .. }) => {
                    (code.clone(), text.clone(), applicant_text.clone())
                }
                None => (
                    from_label(&factor.label),
                    format!("{}: {} of {points_possible} points", factor.label, factor.points),
                    words.map(|words| words.description.clone()).unwrap_or_default(),
                ),
            };
            Reason { rank, code, factor: factor.label.clone(), points_lost, points_possible, text, applicant_text }
        });
        let list = list.collect();
        Some(Reasons { list, codes, clamp })
    }
}

impl Clamp {
    fn of(sum: i32) -> Option<Self> {
        let whole = |score: Score| i32::try_from(score.get()).unwrap_or(0);
        let points = sum.clamp(whole(Score::MIN), whole(Score::MAX)) - sum;
        (points != 0).then_some(Self { sum, points })
    }
}

/// `Current Position` is `CURRENT_POSITION`.
fn from_label(label: &str) -> String {
    let mut code = String::with_capacity(label.len());
    for letter in label.chars() {
        match letter {
            letter if letter.is_alphanumeric() => code.extend(letter.to_uppercase()),
            _ if code.is_empty() || code.ends_with('_') => {}
            _ => code.push('_'),
        }
    }
    code.truncate(code.trim_end_matches('_').len());
    if code.is_empty() { "OTHER".to_owned() } else { code }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Range, Words};

    fn factor(label: &str, points: i32, possible: u32) -> Factor {
        let words = Words { rating: Range::Low, description: format!("{label} in words."), possible };
        Factor { label: label.into(), points, words: Some(words) }
    }

    fn code(code: &str, factor: &str, when: Option<When>) -> ReasonCode {
        let text = |to: &str| format!("{code} to {to}");
        let (text, applicant_text) = (text("a lender"), text("a borrower"));
        ReasonCode { code: code.into(), factor: factor.into(), when, text, applicant_text }
    }

    #[test]
    fn reasons_are_ranked_by_points_lost_and_a_full_factor_is_none() {
        let codes = ReasonCodes::new(Some(300), vec![code("NEAR", "Position", None), code("BAD", "History", None)]);
        let codes = codes.unwrap();
        let factors = [factor("History", -50, 250), factor("Full", 10, 10), factor("Position", 100, 450)];
        let found = codes.reasons(&factors, None).unwrap();
        let short = |one: &Reason| (one.rank, one.code.clone(), one.points_lost, one.points_possible);
        let list: Vec<_> = found.list.iter().map(short).collect();
        assert_eq!(list, [(1, "NEAR".into(), 350, 450), (2, "BAD".into(), 300, 250)]);
        assert_eq!((found.codes, found.clamp), (CodeSource::Card, None));
        // Over all factors, the points lost are base and possible less the sum.
        let lost: u32 = factors.iter().filter_map(Factor::lost).sum();
        assert_eq!(i64::from(lost), 300 + 250 + 10 + 450 - (300 - 50 + 10 + 100));
    }

    #[test]
    fn the_clamp_is_a_line_of_its_own() {
        let codes = ReasonCodes::new(Some(300), Vec::new()).unwrap();
        let clamp = |points| codes.reasons(&[factor("A", points, 700)], None).unwrap().clamp;
        assert_eq!(clamp(-40), Some(Clamp { sum: 260, points: 40 }));
        assert_eq!((clamp(0), clamp(700)), (None, None));
        let unknown = ReasonCodes::default().reasons(&[factor("A", -40, 700)], None).unwrap();
        assert_eq!(unknown.clamp, None, "the base is not known");
    }

    #[test]
    fn a_model_without_codes_gets_them_from_its_labels_and_says_so() {
        let factors = [factor("Wallet age (days)", 1, 5), factor("!", 0, 1)];
        let found = ReasonCodes::default().reasons(&factors, None).unwrap();
        let codes: Vec<_> = found.list.iter().map(|one| one.code.as_str()).collect();
        assert_eq!((codes, found.codes), (vec!["WALLET_AGE_DAYS", "OTHER"], CodeSource::Labels));
        assert_eq!(found.list[0].text, "Wallet age (days): 1 of 5 points");
        assert_eq!(found.list[0].applicant_text, "Wallet age (days) in words.");
    }

    #[test]
    fn a_fact_about_the_wallet_chooses_the_reason() {
        let list = vec![
            code("UNREAD", "Position", Some(When::Unread)),
            code("NEAR", "Position", Some(When::Owing)),
            code("OTHER", "Position", None),
        ];
        let codes = ReasonCodes::new(None, list).unwrap();
        let first = |standing: Option<&Standing>| {
            codes.reasons(&[factor("Position", 0, 9)], standing).unwrap().list[0].code.clone()
        };
        let (mut unread, mut owing) = (Standing::default(), Standing::default());
        (unread.is_debt_unread, owing.owed_usd) = (true, 100.0);
        assert_eq!([first(Some(&unread)), first(Some(&owing)), first(None)], ["UNREAD", "NEAR", "OTHER"]);
    }

    #[test]
    fn without_words_there_are_no_reasons() {
        let bare = Factor { words: None, ..factor("A", 1, 2) };
        assert_eq!(ReasonCodes::default().reasons(&[bare], None), None);
    }
}
