//! The section on migration: wallets that change range, and wallets that cross the cut-off.

use std::{cmp::Ordering, fmt::Write as _};

use super::{
    chart,
    html::{esc, section as wrap},
};
use crate::{
    compare::Comparison,
    words::{grouped, percent},
};

const NAMES: [&str; 5] = ["low", "fair", "good", "very good", "excellent"];

pub(crate) fn section(found: &Comparison) -> String {
    let (first, second) = (esc(&found.first), esc(&found.second));
    wrap(
        "Range migration",
        &format!(
            "Rows are the range that {first} gives, columns the range that {second} gives; on the diagonal nothing changes."
        ),
        &format!(
            "<div class=\"pair\">\n<div>{}{}</div>\n<figure>\n{}<figcaption>Records by both scores, darker where there are more. Above the diagonal {second} gives more.</figcaption></figure>\n</div>\n",
            matrix(found),
            swap(found),
            chart::map((&first, &second), &found.joint)
        ),
    )
}

fn matrix(found: &Comparison) -> String {
    let mut text = format!(
        "<div class=\"scroll\" tabindex=\"0\"><table class=\"matrix\"><caption>{} → {}</caption>\n<thead><tr><th></th>",
        esc(&found.first),
        esc(&found.second)
    );
    for name in NAMES {
        let _ = write!(text, "<th scope=\"col\">{name}</th>");
    }
    text.push_str("<th scope=\"col\">all</th></tr></thead>\n<tbody>\n");
    let mut columns = [0_u64; 5];
    for (from, (row, name)) in found.migration.iter().zip(NAMES).enumerate() {
        let all: u64 = row.iter().sum();
        let _ = write!(text, "<tr><th scope=\"row\">{name}</th>");
        for (to, (records, column)) in row.iter().zip(&mut columns).enumerate() {
            *column += records;
            let class = match to.cmp(&from) {
                Ordering::Greater => "up",
                Ordering::Less => "down",
                Ordering::Equal => "stay",
            };
            text.push_str(&cell(class, *records, all, found.count));
        }
        let _ = writeln!(text, "<td class=\"sum\">{}</td></tr>", grouped(all));
    }
    text.push_str("<tr><th scope=\"row\">all</th>");
    for column in columns {
        let _ = write!(text, "<td class=\"sum\">{}</td>", grouped(column));
    }
    let _ = writeln!(
        text,
        "<td class=\"sum\">{}</td></tr>\n</tbody></table></div>\n<p class=\"aside\">Percentages are of the row.</p>",
        grouped(found.count)
    );
    text
}

/// A cell with `records` of the `row`, coloured by their share of `all`.
fn cell(class: &str, records: u64, row: u64, all: u64) -> String {
    if records == 0 {
        return "<td class=\"none\">·</td>".to_owned();
    }
    let weight = (records as f64 / all.max(1) as f64).sqrt();
    format!(
        "<td class=\"{class}\" style=\"--weight:{weight:.3}\">{}<small>{}</small></td>",
        grouped(records),
        percent(records, row)
    )
}

fn swap(found: &Comparison) -> String {
    let (set, first, second) = (&found.swap.set, esc(&found.first), esc(&found.second));
    let bad = |(known, bad): (u64, u64), all: u64| match known {
        0 => String::new(),
        _ if known == all => format!(" {} of them turned out bad ({}).", grouped(bad), percent(bad, known)),
        _ => {
            format!(
                " Of the {} of them whose outcome is known, {} turned out bad ({}).",
                grouped(known),
                grouped(bad),
                percent(bad, known)
            )
        }
    };
    format!(
        "<h3>The swap set at {}</h3>\n<p>A lender who accepts from {} on would accept {} records under {first} and {} under {second}. \
         <b class=\"up\">{} would come in</b> that {first} keeps out.{} <b class=\"down\">{} would fall out</b> that {first} accepts.{}</p>\n",
        set.cut_off,
        set.cut_off,
        grouped(set.both + set.swapped_out),
        grouped(set.both + set.swapped_in),
        grouped(set.swapped_in),
        bad(found.swap.known_in, set.swapped_in),
        grouped(set.swapped_out),
        bad(found.swap.known_out, set.swapped_out)
    )
}
