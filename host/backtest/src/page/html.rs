//! Escaped text, sections and tables.

use std::fmt::Write as _;

/// Escapes `text` for an element or an attribute.
pub(crate) fn esc(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // Direction marks can change the visible order of a line.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => safe.push('\u{fffd}'),
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

/// A section with its heading and an explanation.
pub(crate) fn section(heading: &str, lead: &str, body: &str) -> String {
    format!("<section>\n<h2>{heading}</h2>\n<p class=\"lead\">{lead}</p>\n{body}</section>\n")
}

/// A table; without a caption where it is empty. The first cell of a row is its header; cells are HTML. `head` and every row have the same length.
pub(crate) fn table(caption: &str, head: &[&str], rows: &[Vec<String>]) -> String {
    let caption = if caption.is_empty() { String::new() } else { format!("<caption>{caption}</caption>") };
    let mut text = format!("<div class=\"scroll\" tabindex=\"0\"><table>{caption}\n<thead><tr>");
    for cell in head {
        let _ = write!(text, "<th scope=\"col\">{cell}</th>");
    }
    text.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        for (index, cell) in row.iter().enumerate() {
            let _ = match index {
                0 => write!(text, "<tr><th scope=\"row\">{cell}</th>"),
                _ => write!(text, "<td>{cell}</td>"),
            };
        }
        text.push_str("</tr>\n");
    }
    text.push_str("</tbody></table></div>\n");
    text
}

/// Figures in a row, each with its name and a remark.
pub(crate) fn facts(facts: &[(&str, String, String)]) -> String {
    let fact = |(name, figure, remark): &(&str, String, String)| {
        format!("<div><dt>{name}</dt><dd>{figure}<small>{remark}</small></dd></div>\n")
    };
    format!("<dl class=\"facts\">\n{}</dl>\n", facts.iter().map(fact).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_written_can_be_markup() {
        assert_eq!(esc("<script>'\"&\u{7}\u{202e}x"), "&lt;script&gt;&#39;&quot;&amp; \u{fffd}x");
    }
}
