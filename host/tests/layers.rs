//! Holds the modules of `host/src` to the table in the documentation of `lib.rs`: imports go strictly downward, and
//! what a crate does is known to the one module that wraps it.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Crates that only the named modules may know. A name ending in `_` stands for all that begin so.
const WRAPPED: [(&str, &str); 7] = [
    ("ens_normalize", "domain"),
    ("redb", "store"),
    ("redis", "store"),
    ("wasmtime", "registry"),
    ("wit_", "registry"),
    ("axum", "http"),
    ("parquet", "backtest"),
];
/// What values and rules have no use for.
const NOT_IN_DOMAIN: [&str; 9] =
    ["async", "await", "tokio", "futures", "reqwest", "std::fs", "std::io", "std::net", "std::process"];
/// Modules that compute and do nothing else.
const PURE: [&str; 2] = ["features", "stats"];
/// Names that say nothing of what a module owns.
const DRAWERS: [&str; 6] = ["utils", "util", "common", "core", "helpers", "types"];
const MOST_LINES: usize = 500;

/// Layer of each module.
type Table = BTreeMap<String, u32>;

#[test]
fn modules_keep_to_their_layers() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let table = table(&fs::read_to_string(source.join("lib.rs")).unwrap());
    assert!(table.len() > 5, "no table of layers in lib.rs: {table:?}");
    let mut broken = Vec::new();
    let mut files = Vec::new();
    collect(&source, &mut files);
    assert!(files.len() > 20, "{files:?}");
    for file in files {
        let path = file.strip_prefix(&source).unwrap();
        let text = fs::read_to_string(&file).unwrap();
        broken
            .extend(problems(path, &text, &table).into_iter().map(|problem| format!("{}: {problem}", path.display())));
    }
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

#[test]
fn what_breaks_a_rule_is_found() {
    let table: Table = [
        ("http", 5),
        ("access", 4),
        ("scoring", 4),
        ("store", 2),
        ("features", 1),
        ("stats", 1),
        ("config", 1),
        ("domain", 0),
    ]
    .map(|(name, layer)| (name.to_owned(), layer))
    .into();
    let found = |path: &str, code: &str| problems(Path::new(path), &format!("//! A file.\n{code}"), &table).len();
    for (path, code) in [
        ("store/mod.rs", "use crate::access::Access;"),
        ("access/mod.rs", "use crate::scoring::Scores;"),
        ("config/mod.rs", "use crate::features;"),
        ("store/a.rs", "use crate::{domain::Address, http::{self, Router}};"),
        ("store/a.rs", "fn f() { crate::http::serve() }"),
        ("store/mod.rs", "use super::http::Router;"),
        ("store/embedded/mod.rs", "use super::super::{http, domain};"),
        ("store/mod.rs", "use crate::*;"),
        ("access/mod.rs", "use crate::attic::Thing;"),
        ("access/mod.rs", "use redb::Database;"),
        ("access/mod.rs", "fn f(d: &redb::Database) {}"),
        ("http/mod.rs", "use wit_parser::Resolve;"),
        ("app.rs", "fn main() {}"),
        ("features/mod.rs", "use crate::store::Store;"),
        ("stats/mod.rs", "use crate::features::Features;"),
        ("domain/mod.rs", "async fn f() {}"),
        ("domain/mod.rs", "use std::{fmt, fs};"),
        ("store/utils.rs", ""),
        ("store/helpers/mod.rs", ""),
        ("store/mod.rs", &"\n".repeat(MOST_LINES + 1)),
    ] {
        assert_eq!(found(path, code), 1, "{path}: {code}");
    }
    assert_eq!(
        problems(Path::new("store/mod.rs"), "fn f() {}", &table).len(),
        1,
        "a file that does not say what it owns"
    );
}

#[test]
fn what_keeps_the_rules_is_left_alone() {
    let table: Table =
        [("http", 5), ("store", 2), ("config", 1), ("domain", 0)].map(|(name, layer)| (name.to_owned(), layer)).into();
    for (path, code) in [
        ("store/mod.rs", "use crate::{config, domain::Address, store::Key};"),
        (
            "store/mod.rs",
            "// use crate::http;\n/* crate::http::x /* nested */ */ /// [`crate::http`]\nconst A: &str = \"crate::http::y\";",
        ),
        (
            "store/mod.rs",
            "const A: &str = r#\"\"crate::http::y\"#; const Q: char = '\"'; fn f<'a>(x: &'a str) -> &'a str { x }",
        ),
        ("store/a/b.rs", "use super::{super::Key, http};"),
        ("store/mod.rs", "use redb::Database; struct Redis; struct Axum; fn f(axum: u8) {}"),
        ("http/mod.rs", "use crate::store::Store; use axum::Router;"),
        ("domain/mod.rs", "use std::{fmt, collections::{BTreeMap, btree_map::Entry}}; use alloy::primitives::Address;"),
        ("main.rs", "use crate::http; fn main() { assay::http::serve() }"),
    ] {
        let problems = problems(Path::new(path), &format!("//! A file.\n{code}"), &table);
        assert!(problems.is_empty(), "{path}: {code}: {problems:?}");
    }
}

/// Rows of the form ``| 4 | `scoring`, `access` |``.
fn table(lib: &str) -> Table {
    let rows = lib.lines().filter_map(|line| line.strip_prefix("//! |")?.strip_suffix('|')?.split_once('|'));
    let layers = rows.filter_map(|(layer, names)| Some((layer.trim().parse::<u32>().ok()?, names)));
    layers
        .flat_map(|(layer, names)| names.split('`').skip(1).step_by(2).map(move |name| (name.to_owned(), layer)))
        .collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

fn problems(path: &Path, text: &str, table: &Table) -> Vec<String> {
    let mut found = Vec::new();
    if text.lines().count() > MOST_LINES {
        found.push(format!("more than {MOST_LINES} lines"));
    }
    if !text.starts_with("//!") {
        found.push("does not open with a //! sentence on what it owns".into());
    }
    // Names from the crate's root to this file: `store/embedded/mod.rs` is `store`, `embedded`.
    let mut place: Vec<String> =
        path.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if place.last().is_some_and(|name| name == "mod") {
        place.pop();
    }
    found.extend(
        place
            .iter()
            .filter(|name| DRAWERS.contains(&name.as_str()))
            .map(|name| format!("{name} says nothing of what it owns")),
    );
    let module = place[0].as_str();
    if module == "lib" {
        return found;
    }
    let top = table.values().max().copied().unwrap_or(0);
    let Some(layer) = (if module == "main" { Some(top) } else { table.get(module).copied() }) else {
        found.push(format!("module {module} is not in the table of lib.rs"));
        return found;
    };

    let tokens = tokens(text);
    let paths = paths(&tokens);
    for imported in imports(&paths, place.len(), table) {
        if imported == module {
            continue;
        }
        match table.get(&imported) {
            _ if PURE.contains(&module) && imported != "domain" => {
                found.push(format!("{module} imports {imported}; it may import domain alone"));
            }
            None if imported == "*" => found.push("imports everything; name what is used".into()),
            None => found.push(format!("imports {imported}, which is not in the table of lib.rs")),
            Some(other) if *other >= layer && module != "main" => {
                found.push(format!(
                    "{module} (layer {layer}) imports {imported} (layer {other}); imports go strictly downward"
                ));
            }
            Some(_) => {}
        }
    }
    for (name, owner) in WRAPPED {
        let names = |path: &Vec<String>| {
            path.len() > 1 && (path[0] == name || (name.ends_with('_') && path[0].starts_with(name)))
        };
        if module != owner && paths.iter().any(names) {
            found.push(format!("{module} names {name}; only {owner} may"));
        }
    }
    if module == "domain" {
        let written = |unwanted: &str| match unwanted.split_once("::") {
            Some((krate, part)) => paths.iter().any(|path| path.len() > 1 && path[0] == krate && path[1] == part),
            None => tokens.iter().any(|token| token == unwanted),
        };
        found.extend(
            NOT_IN_DOMAIN
                .into_iter()
                .filter(|unwanted| written(unwanted))
                .map(|unwanted| format!("domain uses {unwanted}")),
        );
    }
    found
}

/// Modules at the root of this crate that are named by `crate::` or by enough `super::`, where `depth` of these lead to
/// the root.
fn imports(paths: &[Vec<String>], depth: usize, table: &Table) -> BTreeSet<String> {
    let by_root = paths.iter().filter(|path| path[0] == "crate").filter_map(|path| path.get(1));
    // An inline module needs one `super` more, so that more than `depth` is not wrong: then only a known module counts.
    let by_super = paths.iter().filter_map(|path| {
        let supers = path.iter().take_while(|name| *name == "super").count();
        path.get(supers).filter(|name| supers >= depth && table.contains_key(*name))
    });
    by_root.chain(by_super).cloned().collect()
}

/// Every path in the code, groups spread out: `use a::{b, c::d};` gives `a b` and `a c d`.
fn paths(tokens: &[String]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let starts = is_name(&tokens[at]) && (at == 0 || tokens[at - 1] != "::");
        at = if starts { path(tokens, at, &[], &mut found) } else { at + 1 };
    }
    found
}

/// Reads one path at `at`, under `prefix`, and returns where it ends.
fn path(tokens: &[String], mut at: usize, prefix: &[String], found: &mut Vec<Vec<String>>) -> usize {
    let mut names = prefix.to_vec();
    loop {
        match tokens.get(at).map(String::as_str) {
            Some("{") if !names.is_empty() && tokens.get(at - 1).is_some_and(|before| before == "::") => {
                at += 1;
                while let Some(token) = tokens.get(at).filter(|token| *token != "}") {
                    at = if is_name(token) || token == "*" { path(tokens, at, &names, found) } else { at + 1 };
                }
                return at + 1;
            }
            Some(token) if is_name(token) || token == "*" => names.push(token.to_owned()),
            _ => break,
        }
        at += 1;
        if tokens.get(at).is_none_or(|token| token != "::") {
            break;
        }
        at += 1;
    }
    found.push(names);
    at
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Names, `::` and single marks, without comments, strings and characters.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            comment(rest)
        } else if let Some(length) = raw_string(rest) {
            length
        } else if first == '"' {
            quoted(rest, '"')
        } else if first == '\'' && is_character(rest) {
            quoted(rest, '\'')
        } else if first.is_alphabetic() || first == '_' {
            let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            tokens.push(rest[..length].to_owned());
            length
        } else if rest.starts_with("::") {
            tokens.push("::".into());
            2
        } else {
            if !first.is_whitespace() {
                tokens.push(first.to_string());
            }
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    tokens
}

fn comment(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        match text.as_bytes()[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// Length of a raw string at the start of `text`.
fn raw_string(text: &str) -> Option<usize> {
    let body = text.strip_prefix("br").or_else(|| text.strip_prefix('r'))?;
    let hashes = body.len() - body.trim_start_matches('#').len();
    let opened = text.len() - body.len() + hashes + 1;
    let end = format!("\"{}", "#".repeat(hashes));
    body[hashes..].starts_with('"').then(|| text[opened..].find(&end).map_or(text.len(), |at| opened + at + end.len()))
}

/// Length of a string or character at the start of `text`, with its marks.
fn quoted(text: &str, mark: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == mark => return at + mark.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// Whether this quote opens a character and not a lifetime.
fn is_character(text: &str) -> bool {
    let mut after = text.chars().skip(1);
    matches!((after.next(), after.next()), (Some('\\'), _) | (Some(_), Some('\'')))
}
