//! A possible request: generated at random, simplified, and printed as a `curl` line.

use super::{
    document::Document,
    values::{self, Dice},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    None,
    Every,
    Reader,
    Metered,
    Submitter,
    Wrong,
    Malformed,
}

#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    /// The path with placeholders for its parameters.
    pub template: String,
    path: Vec<(String, String)>,
    query: Vec<(String, String)>,
    pub key: Key,
    pub headers: Vec<(&'static str, String)>,
    pub body: Option<Vec<u8>>,
}

impl Request {
    pub fn any(document: &Document, dice: &mut Dice) -> Self {
        let operation = &document.operations[dice.below(document.operations.len())];
        let (mut path, mut query) = (Vec::new(), Vec::new());
        for parameter in &operation.parameters {
            let is_list = parameter.name == "address" && !parameter.in_path;
            let value =
                if is_list { values::list(dice) } else { values::parameter(&parameter.name, &parameter.kind, dice) };
            if parameter.in_path {
                path.push((parameter.name.clone(), value));
            } else if dice.percent(if is_list { 92 } else { 45 }) {
                query.push((parameter.name.clone(), value));
            }
        }
        if dice.percent(5) {
            query.push((values::text(dice), values::text(dice)));
        }
        if dice.percent(3) && !query.is_empty() {
            query.push(query[0].clone());
        }
        let mut method = operation.method.clone();
        if dice.percent(5) {
            method = dice.pick(&["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"]).to_owned();
        }
        let key = match dice.below(20) {
            0 => Key::None,
            1 => Key::Wrong,
            2 => Key::Malformed,
            3 => Key::Submitter,
            4 | 5 => Key::Reader,
            6 | 7 => Key::Metered,
            _ => Key::Every,
        };
        let mut headers = Vec::new();
        let mut body = operation.body.as_ref().and_then(|(kind, schema)| values::body(kind, schema, dice));
        if body.is_none() && dice.percent(3) {
            body = Some(values::text(dice).into_bytes());
        }
        if let Some((kind, _)) = operation.body.as_ref() {
            let odd = ["text/plain", "application/xml", "multipart/form-data", "application/json; charset=utf-16", ""];
            headers.push(("content-type", if dice.percent(85) { kind.clone() } else { dice.pick(&odd).to_owned() }));
        }
        if dice.percent(20) {
            headers.push(("if-none-match", dice.pick(&["*", "\"a\", W/\"b\"", ",,,", "\"", "W/"]).to_owned()));
        }
        if dice.percent(5) {
            headers.push(("accept", dice.pick(&["text/html", "image/*;q=0.1", "*/*", "nonsense"]).to_owned()));
        }
        if dice.percent(3) {
            headers.push(("x-request-id", dice.pick(&["", "a b", "0", "{}", "<x>"]).to_owned()));
        }
        Self { method, template: operation.path.clone(), path, query, key, headers, body }
    }

    pub fn path_and_query(&self) -> String {
        let mut path = self.template.clone();
        for (name, value) in &self.path {
            path = path.replacen(&format!("{{{name}}}"), &encoded(value), 1);
        }
        let query: Vec<_> =
            self.query.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
        if query.is_empty() { path } else { format!("{path}?{}", query.join("&")) }
    }

    /// Whether a segment of the path is missing or changes the meaning of the path.
    pub fn is_off_the_map(&self) -> bool {
        self.path.iter().any(|(_, value)| matches!(value.as_str(), "" | "." | ".."))
    }

    /// The variants of the request with one part less.
    pub fn simpler(&self) -> Vec<Self> {
        let mut all = Vec::new();
        let mut with = |change: &dyn Fn(&mut Self)| {
            let mut simpler = self.clone();
            change(&mut simpler);
            all.push(simpler);
        };
        (0..self.headers.len()).for_each(|n| with(&|request| _ = request.headers.remove(n)));
        (0..self.query.len()).for_each(|n| with(&|request| _ = request.query.remove(n)));
        for n in 0..self.path.len() {
            for value in shorter(&self.path[n].1) {
                with(&|request| request.path[n].1.clone_from(&value));
            }
        }
        for n in 0..self.query.len() {
            for value in shorter(&self.query[n].1) {
                with(&|request| request.query[n].1.clone_from(&value));
            }
        }
        if let Some(body) = &self.body {
            with(&|request| request.body = None);
            if body.len() > 1 {
                with(&|request| request.body = Some(body[..body.len() / 2].to_vec()));
                with(&|request| request.body = Some(body[body.len() / 2..].to_vec()));
            }
        }
        all
    }

    /// A shell command that makes this request.
    pub fn curl(&self, base: &str) -> String {
        let mut line = format!("curl -i -X {} {}", self.method, quoted(&format!("{base}{}", self.path_and_query())));
        if let Some(authorization) = self.key.authorization() {
            line += &format!(" -H {}", quoted(&format!("authorization: {authorization}")));
        }
        for (name, value) in &self.headers {
            line += &format!(" -H {}", quoted(&format!("{name}: {value}")));
        }
        match self.body.as_deref().map(|body| (body.len(), std::str::from_utf8(body))) {
            None => {}
            Some((_, Ok(text))) if !text.contains('\0') => line += &format!(" --data-binary {}", quoted(text)),
            Some((length, _)) => {
                line += &format!(
                    " --data-binary @bytes # {length}, hex {}",
                    hex::encode(self.body.as_deref().unwrap_or_default())
                )
            }
        }
        line
    }
}

fn shorter(value: &str) -> Vec<String> {
    let letters: Vec<char> = value.chars().collect();
    if letters.len() < 2 {
        return Vec::new();
    }
    let (front, back) = letters.split_at(letters.len() / 2);
    [front, back]
        .map(|half| half.iter().collect::<String>())
        .into_iter()
        .filter(|half| !matches!(half.as_str(), "." | ".."))
        .collect()
}

/// Percent-encoded, except for characters that never need it.
fn encoded(value: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~,".contains(&byte);
    value.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
