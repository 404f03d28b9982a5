//! What the loader says, in words of a configuration.

/// The loader's message without values from the file: a quoted line, or a text of the wrong type, may be a secret.
pub(super) fn without_values(message: &str) -> String {
    let quoted = |line: &&str| line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ').starts_with('|');
    let lines = message.lines().filter(|line| !quoted(line)).map(str::trim_end).filter(|line| !line.is_empty());
    let message = dotted(&lines.collect::<Vec<_>>().join("\n"));
    match message.split_once("string \"").map(|(before, rest)| (before, rest.rsplit_once('"'))) {
        Some((before, Some((_, after)))) => format!("{before}text{after}"),
        _ => message,
    }
}

/// Turns the loader's form of a path, `chains[0]id`, into `chains[0].id`.
pub(super) fn dotted(message: &str) -> String {
    let mut dotted = String::with_capacity(message.len());
    for c in message.chars() {
        if dotted.ends_with(']') && (c.is_alphanumeric() || c == '_') {
            dotted.push('.');
        }
        dotted.push(c);
    }
    dotted
}
