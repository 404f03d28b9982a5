//! A card as HTML: the Markdown that cards are written in, which is headings, paragraphs, lists, tables, code and bold.
//! Everything else stays text.

use super::html::{esc, table};

/// The HTML of a card. Headings begin two levels down, because the page has its own.
pub(crate) fn html(text: &str) -> String {
    let mut found = String::new();
    for block in text.split("\n\n").map(|block| block.trim_matches('\n')).filter(|block| !block.is_empty()) {
        found += &of_block(block);
    }
    found
}

fn of_block(block: &str) -> String {
    if let Some(heading) = block.strip_prefix("## ") {
        return with_rest(heading, "h3");
    }
    if let Some(heading) = block.strip_prefix("# ") {
        return with_rest(heading, "h3");
    }
    if block.starts_with("- ") {
        let items = block.split("\n- ").map(|item| item.strip_prefix("- ").unwrap_or(item));
        return format!(
            "<ul>\n{}</ul>\n",
            items.map(|item| format!("<li>{}</li>\n", inline(item))).collect::<String>()
        );
    }
    let lines: Vec<_> = block.lines().collect();
    if let [head, rule, rows @ ..] = &lines[..]
        && head.starts_with('|')
        && rule.starts_with("|--")
    {
        let head = cells(head);
        let rows: Vec<_> = rows.iter().map(|row| cells(row)).filter(|row| row.len() == head.len()).collect();
        return table("", &head.iter().map(String::as_str).collect::<Vec<_>>(), &rows);
    }
    // A list may follow its introduction without a blank line.
    match block.split_once("\n- ") {
        Some((text, list)) => of_block(text) + &of_block(&format!("- {list}")),
        None => format!("<p>{}</p>\n", inline(block)),
    }
}

/// A heading, and what follows in the same block.
fn with_rest(block: &str, level: &str) -> String {
    let (heading, rest) = block.split_once('\n').unwrap_or((block, ""));
    let rest = if rest.trim().is_empty() { String::new() } else { of_block(rest.trim_matches('\n')) };
    format!("<{level}>{}</{level}>\n{rest}", inline(heading))
}

/// The cells of a row of a table. `\|` is a bar within a cell.
fn cells(row: &str) -> Vec<String> {
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
fn inline(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    paired(&text, "`", "code", &|rest| paired(rest, "**", "b", &|plain| esc(plain)))
}

/// Every second part between two marks as an element; `other` makes the parts outside.
fn paired(text: &str, mark: &str, element: &str, other: &dyn Fn(&str) -> String) -> String {
    let (mut found, mut rest) = (String::new(), text);
    while let Some((before, (inner, after))) =
        rest.split_once(mark).and_then(|(before, after)| Some((before, after.split_once(mark)?)))
    {
        found += &format!("{}<{element}>{}</{element}>", other(before), esc(inner));
        rest = after;
    }
    found + &other(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_html_and_nothing_of_it_is_markup() {
        let card = "# credit 1.3\n\nA <b>title</b>\n\n- One: `a<b`\n- Two\n  goes on\n\n## Purpose\n\nFor **lenders**, not `*` a*b.\n\n\
                    | Set | AUC |\n|---|---|\n| a\\|b | 0.8 |\n\nWhat:\n- this\n";
        let page = html(card);
        for part in [
            "<h3>credit 1.3</h3>",
            "<p>A &lt;b&gt;title&lt;/b&gt;</p>",
            "<li>One: <code>a&lt;b</code></li>",
            "<li>Two goes on</li>",
            "<h3>Purpose</h3>\n<p>For <b>lenders</b>, not <code>*</code> a*b.</p>",
            "<th scope=\"col\">Set</th>",
            "<th scope=\"row\">a|b</th><td>0.8</td>",
            "<p>What:</p>\n<ul>\n<li>this</li>",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
    }
}
