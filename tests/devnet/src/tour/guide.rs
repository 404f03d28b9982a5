//! Prints sentences, commands and answers, sends the commands, and checks what comes back.

use std::io::Write;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::Value;

use super::{Error, Place};

/// Longest wait for one answer.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Chains of a devnet with all its parts.
const CHAINS: usize = 12;
/// Entries of a list, letters of a text and lines of an answer that are shown.
const ENTRIES: usize = 2;
const LETTERS: usize = 96;
const LINES: usize = 28;
/// In a list inside this many lists and objects, the entries are counted and not shown.
const DEEP: usize = 3;

pub struct Guide<W> {
    pub place: Place,
    http: reqwest::Client,
    out: W,
    step: usize,
    /// The last command and its answer.
    command: String,
    answer: Value,
}

impl<W: Write> Guide<W> {
    pub fn new(place: Place, out: W) -> Result<Self, Error> {
        let http = reqwest::Client::builder().no_proxy().timeout(TIMEOUT).build();
        let http = http.map_err(|cause| Error::Unreachable { url: place.url.clone(), cause })?;
        Ok(Self { place, http, out, step: 0, command: String::new(), answer: Value::Null })
    }

    /// Checks that everything is there that the tour shows, before it shows anything.
    pub async fn arrive(&self) -> Result<(), Error> {
        let elsewhere = |found, advice| Err(Error::Elsewhere { url: self.place.url.clone(), found, advice });
        let status = self.ask(Method::GET, &format!("{}/api/v2/admin/status", self.place.url), None).await;
        match status {
            Ok(status) => match status["chains"].as_array().map(Vec::len) {
                None => elsewhere("no Assay server", "Say with --url, or PORT=, where `make run` started one."),
                Some(0) => elsewhere("a server without chains", "The tour needs the one that `make run` starts."),
                Some(chains) if chains < CHAINS => {
                    elsewhere("a devnet with two chains alone", "Start it again without LESS=1: `make run`.")
                }
                Some(_) => Ok(()),
            },
            Err(Error::Refused { status: 401 | 403, .. }) => {
                elsewhere("a server that refuses this key", "Say with --key which API key has every scope.")
            }
            Err(Error::Refused { .. }) => {
                elsewhere("no Assay server", "Say with --url, or PORT=, where `make run` started one.")
            }
            Err(other) => Err(other),
        }
    }

    /// Begins a step.
    pub fn say(&mut self, sentence: &str) -> Result<(), Error> {
        self.step += 1;
        Ok(writeln!(self.out, "\n{}. {sentence}", self.step)?)
    }

    /// Shows a command.
    pub fn command(&mut self, command: String) -> Result<(), Error> {
        writeln!(self.out, "   $ {command}")?;
        self.command = command;
        Ok(())
    }

    /// Shows an answer.
    pub fn answer(&mut self, answer: Value) -> Result<Value, Error> {
        let text = serde_json::to_string_pretty(&shortened(&answer, 0)).unwrap_or_default();
        for (number, line) in text.lines().enumerate() {
            if number == LINES {
                writeln!(self.out, "   …")?;
                break;
            }
            writeln!(self.out, "   {line}")?;
        }
        self.answer = answer;
        Ok(self.answer.clone())
    }

    /// Checks the last answer.
    pub fn holds(&self, expected: &'static str, so: impl FnOnce(&Value) -> bool) -> Result<(), Error> {
        if so(&self.answer) {
            return Ok(());
        }
        Err(Error::Other { command: self.command.clone(), expected, body: self.answer.to_string() })
    }

    /// Shows a GET below `/api/v2/`, sends it and shows the answer.
    pub async fn get(&mut self, path: &str) -> Result<Value, Error> {
        self.until(path, "an answer", |answer| Some(answer.clone())).await
    }

    /// Shows a request below `/api/v2/`, sends it and shows the answer.
    pub async fn send(&mut self, method: Method, path: &str, body: Value) -> Result<Value, Error> {
        let (url, key) = (format!("{}/api/v2/{path}", self.place.url), &self.place.key);
        self.command(format!("curl -s -X {method} -H 'Authorization: Bearer {key}' -d '{body}' '{url}'"))?;
        let answer = self.ask(method, &url, Some(body)).await?;
        self.answer(answer)
    }

    /// Shows a GET, and repeats it until `part` finds something in the answer. Shows that part. Gives up after a
    /// minute.
    pub async fn until(
        &mut self,
        path: &str,
        expected: &'static str,
        part: impl Fn(&Value) -> Option<Value>,
    ) -> Result<Value, Error> {
        let (url, key) = (format!("{}/api/v2/{path}", self.place.url), &self.place.key);
        self.command(format!("curl -s -H 'Authorization: Bearer {key}' '{url}'"))?;
        let begun = Instant::now();
        loop {
            let answer = self.ask(Method::GET, &url, None).await?;
            if let Some(part) = part(&answer) {
                return self.answer(part);
            }
            if begun.elapsed() > TIMEOUT {
                return Err(Error::Other { command: self.command.clone(), expected, body: answer.to_string() });
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn ask(&self, method: Method, url: &str, body: Option<Value>) -> Result<Value, Error> {
        let mut request = self.http.request(method, url).bearer_auth(&self.place.key);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let unreachable = |cause| Error::Unreachable { url: self.place.url.clone(), cause };
        let answer = request.send().await.map_err(unreachable)?;
        let (status, body) = (answer.status(), answer.text().await.map_err(unreachable)?);
        if status.is_success() {
            return Ok(serde_json::from_str(&body).unwrap_or(Value::Null));
        }
        let advice = match status.as_u16() {
            401 | 403 => "Say with --key which API key has every scope.",
            _ => "The log of the server says more: `make run ARGS=--log`.",
        };
        Err(Error::Refused { command: self.command.clone(), status: status.as_u16(), body, advice })
    }

    pub fn end(&mut self) -> Result<(), Error> {
        Ok(writeln!(self.out, "\nAll {} steps answered as they should. More: {}/docs", self.step, self.place.url)?)
    }
}

/// The answer with few entries of each list, and short texts.
fn shortened(answer: &Value, depth: usize) -> Value {
    match answer {
        Value::Array(all) if depth >= DEEP && !all.is_empty() => format!("… {} entries", all.len()).into(),
        Value::Array(all) => {
            let mut few: Vec<Value> = all.iter().take(ENTRIES).map(|one| shortened(one, depth + 1)).collect();
            if all.len() > ENTRIES {
                few.push(format!("… {} more", all.len() - ENTRIES).into());
            }
            few.into()
        }
        Value::Object(fields) => {
            fields.iter().map(|(name, field)| (name.clone(), shortened(field, depth + 1))).collect()
        }
        Value::String(text) if text.chars().count() > LETTERS => {
            format!("{}…", text.chars().take(LETTERS).collect::<String>()).into()
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::shortened;

    #[test]
    fn long_lists_and_texts_are_cut_and_say_so() {
        let long = json!({ "list": [1, 2, 3, 4], "text": "é".repeat(97), "short": [{ "all": "there" }] });
        let shown = json!({ "list": [1, 2, "… 2 more"], "text": format!("{}…", "é".repeat(96)),
            "short": [{ "all": "there" }] });
        assert_eq!(shortened(&long, 0), shown);
        assert_eq!(shortened(&json!([[{ "deep": [1, 2] }]]), 0), json!([[{ "deep": "… 2 entries" }]]));
    }
}
