//! The pages of this repository name what exists: links, paths, configuration keys. Each page fits in 120 columns.

use std::{
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
    for folder in ["", ".github", "host/docs"] {
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
fn every_link_leads_to_a_file() {
    for (page, text) in pages() {
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = target.split('#').next().unwrap_or_default();
            if !target.starts_with("http") && !file.is_empty() {
                let path = root().join(page.parent().unwrap()).join(file);
                assert!(path.exists(), "{}: {target}", page.display());
            }
        }
    }
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
