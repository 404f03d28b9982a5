//! Answers that resemble rows of the table, and that nobody listed: none makes a wrong final answer, and with a healthy
//! second endpoint the answer is the full one.

use std::hash::{DefaultHasher, Hash, Hasher};

use assay_tests::proxy::{Refusal, brothers};
use futures::{StreamExt, stream};

use super::bench::Bench;
use super::outcome::{Outcome, Wrong};
use super::scene::refusal;
use super::table::{ErrorForm, Reaction, Row, rows};
use super::with;
use super::{Setting, is_read};

/// Rows that have brothers in the short form.
const EVERY: usize = 9;
const AT_ONCE: usize = 12;
/// A row applies to all calls, or to these.
const METHODS: [&str; 4] = ["any", "eth_getLogs", "eth_call", "eth_getTransactionCount"];

/// A provider that always refuses so, to one method.
async fn met(bench: &Bench<'_>, row: Row, refusal: Refusal, setting: Setting) -> (Refusal, Outcome) {
    let said = format!("{refusal:?}");
    let rule = bench.scene().rule_of(&row, refusal.clone(), true);
    (refusal, bench.disturbed(&row, setting, said, rule, false).await)
}

#[test]
fn what_no_provider_says_yet_makes_no_wrong_final() {
    none_is_wrong(Setting::One);
}

#[test]
fn what_no_provider_says_yet_is_asked_elsewhere() {
    none_is_wrong(Setting::Two);
}

fn none_is_wrong(setting: Setting) {
    with(async |devnet| {
        let is_soak = std::env::var_os("ASSAY_SOAK").is_some();
        let bench = Bench::of(devnet).await;
        let rows = rows()
            .into_iter()
            .filter(|row| is_read(row) && !matches!(row.reaction, Reaction::Final) && row.form != ErrorForm::NullError);
        let rows = rows.enumerate().filter(|(at, _)| is_soak || at % EVERY == 0);
        let runs = rows.flat_map(|(at, row)| {
            let mut hash = DefaultHasher::new();
            row.wording.hash(&mut hash);
            let method = METHODS[at / EVERY % METHODS.len()];
            // All calls of the method are refused.
            let all = Row { reaction: Reaction::Elsewhere, method, ..row };
            brothers(&refusal(&row), hash.finish(), 2).into_iter().map(move |refusal| (all, refusal))
        });
        let runs = runs.map(|(row, refusal)| met(&bench, row, refusal, setting));
        let met: Vec<(Refusal, Outcome)> = stream::iter(runs).buffered(AT_ONCE).collect().await;
        let wrong: Vec<String> = met
            .iter()
            .filter(|(_, outcome)| {
                let is_incomplete = outcome.setting == Setting::Two && outcome.is(Wrong::Incomplete);
                !outcome.wrong_finals.is_empty() || is_incomplete
            })
            .map(|(refusal, outcome)| {
                let said = (&outcome.wrong_finals, &outcome.problems);
                format!("{:?}, {}: {refusal:?}: {said:?}", outcome.setting, outcome.row.method)
            })
            .collect();
        println!("{} brothers, {} wrong", met.len(), wrong.len());
        assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), met.len(), wrong.join("\n"));
    });
}
