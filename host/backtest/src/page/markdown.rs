//! A card as HTML: the Markdown that cards are written in, which is headings, paragraphs, lists, tables, code and bold.
//! Everything else stays text.

use maud::{Markup, html};

use super::html::table;

/// The HTML of a card. Headings begin two levels down, because the page has its own.
pub(super) fn card(text: &str) -> Markup {
    let blocks = text.split("\n\n").map(|block| block.trim_matches('\n')).filter(|block| !block.is_empty());
    html! { @for block in blocks { (of_block(block)) } }
}

fn of_block(block: &str) -> Markup {
    if let Some(block) = block.strip_prefix("## ").or_else(|| block.strip_prefix("# ")) {
        let (heading, rest) = block.split_once('\n').unwrap_or((block, ""));
        let rest = rest.trim_matches('\n');
        return html! { h3 { (inline(heading)) } @if !rest.trim().is_empty() { (of_block(rest)) } };
    }
    if let Some(items) = block.strip_prefix("- ") {
        return html! { ul { @for item in items.split("\n- ") { li { (inline(item)) } } } };
    }
    let lines: Vec<_> = block.lines().collect();
    if let [head, rule, rows @ ..] = &lines[..]
        && head.starts_with('|')
        && rule.starts_with("|--")
    {
        let head = cells(head);
        let rows: Vec<_> = rows.iter().map(|row| cells(row)).filter(|row| row.len() == head.len()).collect();
        return table("", head, rows);
    }
    // A list may follow its introduction without a blank line.
    match block.split_once("\n- ") {
        Some((text, list)) => html! { (of_block(text)) (of_block(&format!("- {list}"))) },
        None => html! { p { (inline(block)) } },
    }
}

/// The cells of a row of a table. `\|` is a bar within a cell.
fn cells(row: &str) -> Vec<Markup> {
    let (mut found, mut cell, mut escaped) = (Vec::new(), String::new(), false);
    for c in row.trim().trim_start_matches('|').chars() {
        match c {
            '\\' if !escaped => escaped = true,
            '|' if !escaped => found.push(std::mem::take(&mut cell)),
            c => {
                if escaped && c != '|' {
                    cell.push('\\');
                }
                cell.push(c);
                escaped = false;
            }
        }
    }
    found.iter().map(|cell| inline(cell.trim())).collect()
}

/// Code and bold within a text. A mark without its partner stays.
fn inline(text: &str) -> Markup {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let bold = |rest: &str| paired(rest, "**", &|inner| html! { b { (inner) } }, &|plain| html! { (plain) });
    paired(&text, "`", &|inner| html! { code { (inner) } }, &bold)
}

/// Every second part between two marks is made by `element`, the parts outside by `other`.
fn paired(text: &str, mark: &str, element: &dyn Fn(&str) -> Markup, other: &dyn Fn(&str) -> Markup) -> Markup {
    let parts = text.split_once(mark).and_then(|(before, after)| Some((before, after.split_once(mark)?)));
    let Some((before, (inner, after))) = parts else { return other(text) };
    html! { (other(before)) (element(inner)) (paired(after, mark, element, other)) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_card_is_html_and_nothing_of_it_is_markup() {
        let card = "# credit 1.3\n\nA <b>title</b>\n\n- One: `a<b`\n- Two\n  goes on\n\n## Purpose\n\n\
                    For **lenders**, not `*` a*b.\n\n\
                    | Set | AUC |\n|---|---|\n| a\\|b | 0.8 |\n\nWhat:\n- this\n";
        let page = super::card(card).into_string();
        for part in [
            "<h3>credit 1.3</h3>",
            "<p>A &lt;b&gt;title&lt;/b&gt;</p>",
            "<li>One: <code>a&lt;b</code></li>",
            "<li>Two goes on</li>",
            "<h3>Purpose</h3><p>For <b>lenders</b>, not <code>*</code> a*b.</p>",
            "<th scope=\"col\">Set</th>",
            "<th scope=\"row\">a|b</th><td>0.8</td>",
            "<p>What:</p><ul><li>this</li>",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
    }
}
