//! The pages of this repository name what exists: links, paths, configuration keys, error codes. Each page fits in 120
//! columns.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

const DEFAULTS: &str = "host/server/src/config/defaults.toml";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every page by its path from the root.
fn pages() -> Vec<(PathBuf, String)> {
    let mut pages = Vec::new();
    for folder in ["", ".github", "host/docs", "tests"] {
        for entry in fs::read_dir(root().join(folder)).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|extension| extension == "md") {
                pages.push((Path::new(folder).join(path.file_name().unwrap()), fs::read_to_string(path).unwrap()));
            }
        }
    }
    assert!(pages.len() > 8, "{pages:?}");
    pages
}

/// The text between backticks, outside of code blocks.
fn quoted(page: &str) -> Vec<String> {
    let prose: Vec<_> = page.split("\n```").step_by(2).collect();
    prose.iter().flat_map(|part| part.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    for (page, text) in pages() {
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if target.starts_with("http") {
                continue;
            }
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let path = match file {
                "" => root().join(&page),
                file => root().join(page.parent().unwrap()).join(file),
            };
            assert!(path.exists(), "{}: {target}", page.display());
            let leads =
                || fs::read_to_string(&path).unwrap().lines().any(|line| anchor(line).as_deref() == Some(heading));
            assert!(heading.is_empty() || leads(), "{}: {target}", page.display());
        }
    }
}

/// The anchor of a heading, as GitHub makes it.
fn anchor(line: &str) -> Option<String> {
    let heading = line.strip_prefix('#')?.trim_start_matches('#').trim();
    let kept = heading.chars().filter(|letter| letter.is_alphanumeric() || [' ', '-', '_'].contains(letter));
    Some(kept.flat_map(char::to_lowercase).map(|letter| if letter == ' ' { '-' } else { letter }).collect())
}

#[test]
fn every_path_is_there() {
    for (page, text) in pages() {
        for word in quoted(&text) {
            let is_path = ["host/", "tests/", "models/", "wit/", ".ops/", ".ci/"].iter().any(|at| word.starts_with(at));
            let path = word.split(' ').next().unwrap_or_default();
            assert!(!is_path || root().join(path).exists(), "{}: {word}", page.display());
        }
    }
}

#[test]
fn every_key_is_in_the_default_file() {
    let sections = ["http", "telemetry", "models", "store", "access", "scoring", "promotion", "reading", "prices"];
    let defaults = fs::read_to_string(root().join(DEFAULTS)).unwrap();
    for (page, text) in pages() {
        for word in quoted(&text) {
            let path = word.split(' ').next().unwrap_or_default();
            let Some((section, key)) = path.split_once('.') else { continue };
            let key = key.rsplit('.').next().unwrap_or_default();
            let known = || defaults.contains(&format!("{key} =")) || defaults.contains(&format!("[{path}]"));
            assert!(!sections.contains(&section) || known(), "{}: {word}", page.display());
        }
    }
}

#[test]
fn every_page_and_every_line_of_code_fits_its_columns() {
    let mut sources = Vec::new();
    for folder in ["host", "tests"] {
        add_sources(&root().join(folder), &mut sources);
    }
    assert!(sources.len() > 800, "{}", sources.len());
    for (page, text) in pages().into_iter().chain(sources) {
        for line in text.lines() {
            assert!(line.chars().count() <= 120, "{}: {line}", page.display());
        }
    }
}

fn add_sources(folder: &Path, sources: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && !["node_modules", "target"].iter().any(|name| path.ends_with(name)) {
            add_sources(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            sources.push((path, text));
        }
    }
}

/// The names of the statuses in the source, with their numbers.
const STATUSES: [(&str, &str); 12] = [
    ("BAD_REQUEST", "400"),
    ("FORBIDDEN", "403"),
    ("NOT_FOUND", "404"),
    ("CONFLICT", "409"),
    ("PRECONDITION_FAILED", "412"),
    ("PAYLOAD_TOO_LARGE", "413"),
    ("UNPROCESSABLE_ENTITY", "422"),
    ("TOO_MANY_REQUESTS", "429"),
    ("INTERNAL_SERVER_ERROR", "500"),
    ("BAD_GATEWAY", "502"),
    ("SERVICE_UNAVAILABLE", "503"),
    ("GATEWAY_TIMEOUT", "504"),
];

#[test]
fn every_error_code_is_in_the_table() {
    let page = fs::read_to_string(root().join("host/docs/errors.md")).unwrap();
    let mut table: BTreeMap<&str, String> = BTreeMap::new();
    for row in page.lines() {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        if let [_, code, status, ..] = cells[..]
            && let Some(code) = code.strip_prefix('`').and_then(|code| code.strip_suffix('`'))
        {
            table.entry(code).or_default().push_str(status);
        }
    }
    let codes = codes();
    let (described, used): (BTreeSet<_>, BTreeSet<_>) =
        (table.keys().copied().collect(), codes.keys().map(String::as_str).collect());
    let missing: Vec<_> = used.difference(&described).collect();
    let unused: Vec<_> = described.difference(&used).collect();
    assert!(missing.is_empty() && unused.is_empty(), "errors.md lacks {missing:?} and has unused {unused:?}");
    assert!(used.len() > 90, "{}", used.len());
    for (code, statuses) in &codes {
        for status in statuses {
            assert!(table[code.as_str()].contains(status), "errors.md: {code} is also {status}");
        }
    }
}

/// Every error code in the source of the server, with the statuses that stand next to it there.
fn codes() -> BTreeMap<String, BTreeSet<&'static str>> {
    let mut sources = Vec::new();
    add_sources(&root().join("host"), &mut sources);
    let mut codes: BTreeMap<String, BTreeSet<&'static str>> = BTreeMap::new();
    for (path, text) in sources {
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        if !text.contains("ApiError") && !path.ends_with("load_error.rs") && !path.ends_with("score_error.rs") {
            continue;
        }
        for call in ["coded(", "worded(", "exceeded("] {
            for arguments in text.split(call).skip(1) {
                let mut arguments = arguments.split(',');
                let status = arguments.next().unwrap_or_default();
                let Some(code) = arguments.next().and_then(word) else { continue };
                let statuses = codes.entry(code.to_owned()).or_default();
                statuses.extend(STATUSES.iter().filter(|(name, _)| status.ends_with(name)).map(|(_, number)| *number));
            }
        }
        for call in ["ApiError::internal(", "Self::internal(", "ApiError::failed(", "not_now(", "const CODE: &str = "] {
            let first = text.split(call).skip(1).filter_map(|rest| rest.split([',', ')', ';']).next());
            for code in first.filter_map(word) {
                codes.entry(code.to_owned()).or_default();
            }
        }
        for (begin, end) in [("fn code(&self) -> &'static str {", "\n    }\n"), ("let code = ", "};")] {
            let parts = text.split(begin).skip(1).filter_map(|rest| rest.split(end).next());
            for code in parts.flat_map(|part| part.split('"').skip(1).step_by(2)) {
                codes.entry(code.to_owned()).or_default();
            }
        }
    }
    codes
}

/// The word of a literal such as `"busy"`; `None` for any other expression.
fn word(argument: &str) -> Option<&str> {
    let word = argument.trim().strip_prefix('"')?.strip_suffix('"')?;
    word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_').then_some(word)
}
