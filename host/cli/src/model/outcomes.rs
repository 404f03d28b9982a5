//! `assay model outcomes`: the outcomes of the wallets that a running server scored.

use std::fmt::Write as _;

use reqwest::Method;
use serde_json::Value;

use crate::{Failure, print, remote::Server};

pub fn outcomes(json: bool, server: &Server) -> Result<(), Failure> {
    let remote = server.reach(&server.file.load()?)?;
    let found = remote.ask(Method::GET, "/api/v2/admin/models/outcomes", None)?;
    if json {
        return print(serde_json::to_string_pretty(&found).map_err(Failure::cannot)?);
    }
    print(table(&found).trim_end())
}

fn table(found: &Value) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = match found["known_until"].as_str() {
        Some(until) => writeln!(text, "liquidations are known up to {until}"),
        None => writeln!(text, "no outcome is known: {}", word(&found["reason"])),
    };
    for of in list(&found["models"]) {
        let _ = writeln!(
            text,
            "\n{} {}, {}: {} scores of {} wallets, each once a week",
            of.pointer("/model/kind").map_or("?", word),
            of.pointer("/model/version").map_or("?", word),
            word(&of["role"]),
            of["scores"],
            of["wallets"]
        );
        list(&of["realised"]).iter().for_each(|table| realised(&mut text, table));
        for week in list(&of["weeks"]) {
            let day = word(&week["from"]).get(..10).unwrap_or_default();
            let psi = week["psi"].as_f64().map_or("-".to_owned(), |psi| format!("{psi:.3}"));
            let mean = week["mean"].as_f64().unwrap_or_default();
            let share = week["share"].as_f64().filter(|share| *share < 1.0);
            let share = share.map_or(String::new(), |share| format!(" of 1 in {:.0} wallets", 1.0 / share));
            let _ = writeln!(text, "  week of {day}  {:>6} scores{share}, mean {mean:.0}, PSI {psi}", week["scores"]);
        }
    }
    text
}

fn realised(text: &mut String, table: &Value) {
    let left_out = [
        ("hidden", "not counted because of debt in vaults"),
        ("other_regime", "outside the condition"),
        ("undecided", "of which the condition is not known"),
    ];
    let left_out = left_out.map(|(field, why)| match table[field].as_u64() {
        Some(count) if count > 0 => format!(", {count} {why}"),
        _ => String::new(),
    });
    let _ = writeln!(
        text,
        "  liquidated within {} days, {}: {} scores known, {} waiting{}",
        table["horizon_days"],
        word(&table["population"]),
        table["known"],
        table["waiting"],
        left_out.concat()
    );
    for range in list(&table["ranges"]).iter().filter(|range| range["scores"].as_u64() > Some(0)) {
        let rate = |value: &Value| value.as_f64().map_or("-".to_owned(), |rate| format!("{:.1} %", rate * 100.0));
        let claimed = match range["claimed"].is_null() {
            true => "nothing".to_owned(),
            false => {
                let of = &range["claimed"];
                format!("{} ({} to {})", rate(&of["estimate"]), rate(&of["low"]), rate(&of["high"]))
            }
        };
        let verdict = match range["verdict"].as_str() {
            Some("holds") => "holds",
            Some("fails") => "FAILS",
            Some(_) => "not shown",
            None => "no verdict",
        };
        let _ = writeln!(
            text,
            "    {:<10} {:>6} of {:>6}  {} ({} to {}), claimed {claimed}: {verdict}",
            word(&range["range"]),
            range["liquidated"],
            range["scores"],
            rate(&range["rate"]),
            rate(&range["low"]),
            rate(&range["high"])
        );
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or("?")
}
