//! What the binary says, as files under `snapshots`: the API with every body, the help of every command, and the
//! errors of wrong configurations. A change of one of them shows as a difference of its file. After a wanted change,
//! `INSTA_UPDATE=always cargo test -p assay-cli --test snapshots` writes the files again.

use std::{fmt::Write as _, io, path::Path, process::Command};

use serde_json::{Map, Value};

fn said(arguments: &[&str], folder: &Path) -> io::Result<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    let output = command.args(arguments).current_dir(folder).env("COLUMNS", "120").output()?;
    Ok(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

#[test]
fn the_help_of_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let mut open: Vec<Vec<String>> = vec![Vec::new()];
    let mut pages = String::new();
    while !open.is_empty() {
        let path = open.remove(0);
        let arguments: Vec<&str> = path.iter().map(String::as_str).chain(["--help"]).collect();
        let help = said(&arguments, folder.path()).unwrap();
        writeln!(pages, "$ assay {}\n{help}", arguments.join(" ")).unwrap();
        let commands = help.split_once("\nCommands:\n").map_or("", |(_, rest)| rest);
        let names = commands.lines().map_while(|line| line.strip_prefix("  ")?.split_whitespace().next());
        let below = names.filter(|name| *name != "help").map(|name| [&path[..], &[name.to_owned()]].concat());
        open.splice(0..0, below.collect::<Vec<_>>());
    }
    insta::assert_snapshot!("help", pages);
}

/// Wrong configurations, each with a part of its error.
const WRONG: [&str; 16] = [
    "listen = \"nowhere\"",
    "lisen = \"127.0.0.1:8080\"",
    "[http]\nmax_requests = 0",
    "[http]\nbody_timeout_ms = 60000\nrequest_timeout_ms = 30000",
    "[http]\ncors_origins = [\"https://app.example/path\"]",
    "[[access.keys]]\nname = \"a b\"\nkey = \"12345678\"\nscopes = [\"read\"]",
    "[[access.keys]]\nname = \"short\"\nkey = \"1\"\nscopes = [\"read\"]",
    "[[access.keys]]\nname = \"lender\"\nkey = \"0123456789\"\nscopes = [\"write\"]",
    "[scoring]\nincomplete_cache_ms = 60000",
    "[promotion]\nmax_psi = -1.0",
    "[[chains]]\nid = 1\nname = \"Ethereum\"\nrpc = []",
    "[[chains]]\nid = 1\nname = \"Ethereum\"\nrpc = [\"ftp://node.example\"]",
    "[attestation]\nsigner = \"0x01\"",
    "[reputation]\nsigner = \"0x01\"",
    "[access.x402]\nenabled = true",
    "[store]\nbackend = \"mysql\"",
];

#[test]
fn the_errors_of_wrong_configurations() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("assay.toml");
    let mut all = String::new();
    for text in WRONG {
        std::fs::write(&file, text).unwrap();
        let said = said(&["check-config", "--config", "assay.toml"], folder.path()).unwrap();
        writeln!(all, "{text}\n→ {}", said.trim_end().replace('\n', "\n  ")).unwrap();
        all.push('\n');
    }
    insta::assert_snapshot!("configuration", all);
}

/// Every operation with its parameters and answers, and every body with its fields.
#[test]
fn the_api() {
    let folder = tempfile::tempdir().unwrap();
    let document: Value = serde_json::from_str(&said(&["openapi"], folder.path()).unwrap()).unwrap();
    let mut all = String::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            writeln!(all, "{} {path}", method.to_uppercase()).unwrap();
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let required = if parameter["required"] == true { "" } else { "?" };
                let (name, place) = (parameter["name"].as_str().unwrap(), parameter["in"].as_str().unwrap());
                writeln!(all, "  {place} {name}{required}: {}", form(&parameter["schema"])).unwrap();
            }
            if let Some(content) = operation["requestBody"]["content"].as_object() {
                writeln!(all, "  body: {}", forms(content)).unwrap();
            }
            for (status, response) in operation["responses"].as_object().unwrap() {
                let content = response["content"].as_object().map_or_else(|| "nothing".to_owned(), forms);
                writeln!(all, "  {status}: {content}").unwrap();
            }
        }
    }
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        writeln!(all, "\n{name}").unwrap();
        fields(&mut all, schema, 1);
    }
    insta::assert_snapshot!("api", all);
}

fn forms(content: &Map<String, Value>) -> String {
    let form = |(kind, content): (&String, &Value)| match kind.as_str() {
        "application/json" => form(&content["schema"]),
        kind => format!("{kind} {}", form(&content["schema"])),
    };
    content.iter().map(form).collect::<Vec<_>>().join(" | ")
}

fn fields(all: &mut String, schema: &Value, depth: usize) {
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>();
    match schema["properties"].as_object() {
        Some(properties) => {
            for (name, schema) in properties {
                let mark = if required.contains(&name.as_str()) { "" } else { "?" };
                let _ = writeln!(all, "{}{name}{mark}: {}", "  ".repeat(depth), form(schema));
                if schema["properties"].is_object() {
                    fields(all, schema, depth + 1);
                }
            }
        }
        None => drop(writeln!(all, "{}{}", "  ".repeat(depth), form(schema))),
    }
}

/// The type of a value, with its limits.
fn form(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        return reference.rsplit('/').next().unwrap_or_default().to_owned();
    }
    for (key, mark) in [("oneOf", " | "), ("anyOf", " | "), ("allOf", " & ")] {
        if let Some(parts) = schema[key].as_array() {
            return parts.iter().map(form).collect::<Vec<_>>().join(mark);
        }
    }
    if let Some(values) = schema["enum"].as_array() {
        return values.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
    }
    let kinds = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" | "),
        kind => kind.as_str().unwrap_or("any").to_owned(),
    };
    let mut text = if schema["items"].is_object() { format!("[{}]", form(&schema["items"])) } else { kinds };
    if schema["additionalProperties"].is_object() {
        let _ = write!(text, " of {}", form(&schema["additionalProperties"]));
    }
    for key in ["format", "minimum", "maximum", "minLength", "maxLength", "pattern"] {
        if !schema[key].is_null() {
            let _ = write!(text, ", {key} {}", schema[key]);
        }
    }
    text
}
