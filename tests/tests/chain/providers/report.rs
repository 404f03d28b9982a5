//! The bench's table: a summary in Markdown, each row as TSV, and a line for a failure.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::SETTINGS;
use super::outcome::{Outcome, Wrong};

/// One line for a reaction and a setting.
pub(super) fn markdown(outcomes: &[Outcome]) -> String {
    let mut groups: BTreeMap<_, Vec<&Outcome>> = BTreeMap::new();
    for outcome in outcomes {
        groups.entry((Some(outcome.row.reaction), outcome.setting)).or_default().push(outcome);
    }
    for setting in SETTINGS {
        let all: Vec<_> = outcomes.iter().filter(|outcome| outcome.setting == setting).collect();
        if !all.is_empty() {
            groups.insert((None, setting), all);
        }
    }
    let mut table = String::from(
        "| reaction | setting | rows | wrong reactions | wrong finals | incomplete | words \
         missing | too dear | lasting | final | calls (first + second) | log queries | \
         seconds (median, longest) |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for ((reaction, setting), group) in groups {
        let count = |is: fn(&Outcome) -> bool| group.iter().filter(|outcome| is(outcome)).count();
        let sum = |of: fn(&Outcome) -> usize| group.iter().map(|outcome| of(outcome)).sum::<usize>();
        let mut times: Vec<_> = group.iter().map(|outcome| outcome.time.as_secs_f64()).collect();
        times.sort_by(f64::total_cmp);
        let _ = writeln!(
            table,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} + {} | {} + {} | {:.1}, {:.1} |",
            reaction.map_or("all".to_owned(), |reaction| format!("{reaction:?}").to_lowercase()),
            format!("{setting:?}").to_lowercase(),
            group.len(),
            count(|outcome| !outcome.passes()),
            count(|outcome| !outcome.wrong_finals.is_empty()),
            count(|outcome| outcome.is(Wrong::Incomplete) || outcome.is(Wrong::Invented)),
            count(|outcome| outcome.is(Wrong::Unquoted)),
            count(|outcome| outcome.is(Wrong::Dear)),
            count(|outcome| outcome.is(Wrong::Lasting)),
            count(|outcome| outcome.is_final),
            sum(|outcome| outcome.cost.calls[0]),
            sum(|outcome| outcome.cost.calls[1]),
            sum(|outcome| outcome.cost.logs[0]),
            sum(|outcome| outcome.cost.logs[1]),
            times[times.len() / 2],
            times[times.len() - 1],
        );
    }
    table
}

/// The columns of [`tsv`].
pub(super) const COLUMNS: &str = "line\tprovider\treaction\tmethod\tsetting\tpasses\tfinal\twrong finals\treads\t\
                                  calls\tlog queries\trecovered after\tseconds\tfault\tproblems";

/// One line for a row in a setting.
pub(super) fn tsv(outcome: &Outcome) -> String {
    let [calls, logs] = [outcome.cost.calls, outcome.cost.logs].map(|[first, second]| format!("{first}+{second}"));
    format!(
        "{}\t{}\t{:?}\t{}\t{:?}\t{}\t{}\t{}\t{}\t{calls}\t{logs}\t{}\t{:.1}\t{}\t{}",
        outcome.row.line,
        outcome.row.provider,
        outcome.row.reaction,
        outcome.row.method,
        outcome.setting,
        outcome.passes(),
        outcome.is_final,
        outcome.wrong_finals.len(),
        outcome.reads,
        outcome.recovered,
        outcome.time.as_secs_f64(),
        outcome.fault,
        problems(outcome),
    )
}

/// What is wrong with a row in a setting.
pub(super) fn line(outcome: &Outcome) -> String {
    let wrong = format!("{}{}", outcome.wrong_finals.join("; "), problems(outcome));
    format!(
        "{} {:?} of {} in {:?} ({}, {}, {}): {} | {}",
        outcome.row.line,
        outcome.row.reaction,
        outcome.row.method,
        outcome.setting,
        outcome.row.provider,
        outcome.row.code,
        outcome.row.wording.chars().take(100).collect::<String>(),
        outcome.fault,
        wrong.chars().take(400).collect::<String>(),
    )
}

fn problems(outcome: &Outcome) -> String {
    let problems = outcome.problems.iter().map(|(wrong, what)| format!("{wrong:?}: {what}"));
    problems.collect::<Vec<_>>().join("; ")
}
