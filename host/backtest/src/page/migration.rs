//! The section on migration: wallets that change range, and wallets that cross the cut-off.

use std::cmp::Ordering;

use maud::{Markup, html};

use super::{
    chart,
    html::{coloured, figure, noted, section as wrap},
};
use crate::{
    compare::FileComparison,
    words::{RANGES, grouped, percent},
};

pub(super) fn section(found: &FileComparison) -> Markup {
    let (first, second) = (&found.first, &found.second);
    let lead = format!(
        "Rows are the range that {first} gives, columns the range that {second} gives; on the diagonal nothing changes."
    );
    let caption =
        format!("Records by both scores, darker where there are more. Above the diagonal {second} gives more.");
    let body = html! {
        div.pair {
            div { (matrix(found)) (swap(found)) }
            (figure(chart::map([first, second], &found.joint), caption))
        }
    };
    wrap("Range migration", lead, body)
}

fn matrix(found: &FileComparison) -> Markup {
    let sum = |column: usize| found.migration.iter().filter_map(|row| row.get(column)).sum();
    html! {
        div.scroll tabindex="0" {
            table.matrix {
                caption { (found.first) " → " (found.second) }
                thead { tr { th {} @for (_, name) in RANGES { th scope="col" { (name) } } th scope="col" { "all" } } }
                tbody {
                    @for (from, (row, (_, name))) in found.migration.iter().zip(RANGES).enumerate() {
                        @let all = row.iter().sum();
                        tr {
                            th scope="row" { (name) }
                            @for (to, records) in row.iter().enumerate() {
                                (cell(to.cmp(&from), *records, all, found.count))
                            }
                            td.sum { (grouped(all)) }
                        }
                    }
                    tr {
                        th scope="row" { "all" }
                        @for column in 0..RANGES.len() { td.sum { (grouped(sum(column))) } }
                        td.sum { (grouped(found.count)) }
                    }
                }
            }
        }
        p.aside { "Percentages are of the row." }
    }
}

/// A cell with `records` of the `row`, coloured by their share of `all`.
fn cell(change: Ordering, records: u64, row: u64, all: u64) -> Markup {
    let class = match change {
        Ordering::Greater => "up",
        Ordering::Less => "down",
        Ordering::Equal => "stay",
    };
    let weight = format!("--weight:{:.3}", (records as f64 / all.max(1) as f64).sqrt());
    html! {
        @if records == 0 { td.none { "·" } } @else {
            td class=(class) style=(weight) { (noted(grouped(records), percent(records, row))) }
        }
    }
}

fn swap(found: &FileComparison) -> Markup {
    let (set, first, second) = (&found.swap.set, &found.first, &found.second);
    let bad = |(known, bad): (u64, u64), all: u64| match known {
        0 => String::new(),
        _ if known == all => format!(" {} of them turned out bad ({}).", grouped(bad), percent(bad, known)),
        _ => format!(
            " Of the {} of them whose outcome is known, {} turned out bad ({}).",
            grouped(known),
            grouped(bad),
            percent(bad, known)
        ),
    };
    let cut_off = set.cut_off;
    html! {
        h3 { "The swap set at " (cut_off) }
        p {
            "A lender who accepts from " (cut_off) " on would accept " (grouped(set.both + set.swapped_out))
            " records under " (first) " and " (grouped(set.both + set.swapped_in)) " under " (second) ". "
            (coloured(true, format!("{} would come in", grouped(set.swapped_in)))) " that " (first) " keeps out."
            (bad(found.swap.known_in, set.swapped_in)) " "
            (coloured(false, format!("{} would fall out", grouped(set.swapped_out)))) " that " (first) " accepts."
            (bad(found.swap.known_out, set.swapped_out))
        }
    }
}
