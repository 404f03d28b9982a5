//! Sections, tables, figures with a remark, and bars.

use maud::{Markup, Render, html};

use crate::words::{decimal, percent, signed};
use assay_domain::stats::{INVESTIGATE, SIGNIFICANT};

/// A row of a table, from text and markup.
macro_rules! row {
    ($($cell:expr),+ $(,)?) => { vec![$(maud::html! { ($cell) }),+] };
}
pub(super) use row;

/// Replaces control characters by spaces, and direction marks, which can change the visible order of a line.
pub(super) fn safe(text: &str) -> String {
    let safe = |c: char| match c {
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        c if c.is_control() => ' ',
        c => c,
    };
    text.chars().map(safe).collect()
}

/// A section with its heading and an explanation.
pub(super) fn section(heading: impl Render, lead: impl Render, body: Markup) -> Markup {
    html! { section { h2 { (heading) } p.lead { (lead) } (body) } }
}

/// A table. The first cell of a row is its header; `head` and every row have the same length. An empty caption is left
/// out.
pub(super) fn table(caption: &str, head: Vec<Markup>, rows: impl IntoIterator<Item = Vec<Markup>>) -> Markup {
    html! {
        div.scroll tabindex="0" {
            table {
                @if !caption.is_empty() { caption { (caption) } }
                thead { tr { @for cell in head { th scope="col" { (cell) } } } }
                tbody {
                    @for row in rows {
                        tr {
                            @for (index, cell) in row.iter().enumerate() {
                                @if index == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A table that is shown on request.
pub(super) fn folded(summary: impl Render, table: Markup) -> Markup {
    html! { details { summary { (summary) } (table) } }
}

/// Two charts next to each other, each with its caption.
pub(super) fn pair(charts: [(Markup, String); 2]) -> Markup {
    html! { div class="pair even" { @for (chart, caption) in charts { (figure(chart, caption)) } } }
}

/// A chart with its caption.
pub(super) fn figure(chart: Markup, caption: impl Render) -> Markup {
    html! { figure { (chart) figcaption { (caption) } } }
}

/// A row of figures, each with its name and a remark.
pub(super) fn facts<const N: usize>(facts: [(&str, Markup); N]) -> Markup {
    html! { dl.facts { @for (name, figure) in facts { div { dt { (name) } dd { (figure) } } } } }
}

/// A figure with a remark below it.
pub(super) fn noted(figure: impl Render, remark: impl Render) -> Markup {
    html! { (figure) small { (remark) } }
}

/// Text in a table whose other cells are figures.
pub(super) fn words(text: impl Render) -> Markup {
    html! { span.words { (text) } }
}

/// Text in the colour of better results, or of worse ones.
pub(super) fn coloured(better: bool, text: impl Render) -> Markup {
    html! { b class=(if better { "up" } else { "down" }) { (text) } }
}

/// A difference in points with its sign.
pub(super) fn change(points: f64, places: usize) -> Markup {
    coloured(points >= 0.0, signed(Some(points), places))
}

/// The share of `part` in `of`, with a bar. A share of `most` has the full bar.
pub(super) fn share(part: u64, of: u64, most: f64) -> Markup {
    let share = part as f64 / of.max(1) as f64;
    html! { span.psi { (gauge(share / most.max(1e-9), "far")) (percent(part, of)) } }
}

/// The population stability index with a bar, and a word for its size.
pub(super) fn psi(psi: Option<f64>) -> Markup {
    let Some(index) = psi else { return html! { "–" } };
    let (class, word) = match index {
        SIGNIFICANT.. => ("far", "far apart"),
        INVESTIGATE.. => ("near", "apart"),
        _ => ("", "alike"),
    };
    html! { span.psi { (gauge(index, class)) (noted(decimal(Some(index), 3), word)) } }
}

/// A bar with the length `share` from 0 to 1.
fn gauge(share: f64, class: &str) -> Markup {
    let length = format!("--share:{:.3}", share.clamp(0.0, 1.0));
    html! { span class={ "gauge " (class) } style=(length) {} }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_written_can_be_markup() {
        let written = html! { ("<script>'\"&\u{7}\u{202e}x") };
        assert_eq!(safe(&written.0), "&lt;script&gt;'&quot;&amp; \u{fffd}x");
    }
}
