//! Tables that nobody should train on: every route refuses them in one sentence, and builds no component.

use std::{fs, process::Command};

use assay_tests::{python, service::binary};

use super::declarations;

#[test]
fn a_bad_table_is_refused_by_every_route_in_one_sentence() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("mine");
    let new =
        Command::new(binary()).current_dir(place.path()).args(["model", "new", "mine", "--lang", "trees"]).output();
    assert!(new.expect("assay runs").status.success());
    let table = ["features", "table", "model.toml", "history.jsonl"];
    let table = Command::new(binary()).current_dir(&folder).args(table).output().expect("assay runs");
    fs::write(folder.join("matrix.csv"), table.stdout).expect("the table");
    let mut tables = Command::new(python::interpreter().expect("Python"));
    let done = tables.arg(declarations().join("tables.py")).arg(&folder).env("ASSAY_BIN", binary()).output();
    let done = done.expect("Python starts");
    let said = [done.stdout, done.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    println!("{said}");
    assert!(done.status.success() && said.contains("tables refused by 3 routes"), "{said}");
}
