//! Refusals that resemble a known one: other numbers, letters, codes, statuses and forms, words in another order, and
//! words that no provider uses.

use serde_json::{Value, json};

use super::refusal::{Form, Refusal};
use crate::dice::Dice;

const CODES: &[i64] = &[-32_603, -32_000, -32_005, -32_090, -32_602, -32_600, -32_601, 429, 19, 4444, 40_000];
const STATUSES: &[u16] = &[200, 200, 400, 402, 403, 413, 429, 500, 503, 529];
const FORMS: &[Form] = &[Form::Object, Form::Object, Form::Single, Form::NullResult, Form::Bare, Form::List];
const UNKNOWN: &[&str] =
    &["plinth", "overquoted", "zzt", "nicht", "verfügbar", "看", "backend-7", "Ω", "deferred", "x9"];

/// Returns `count` variants of `refusal`, the same for the same `seed`.
pub fn brothers(refusal: &Refusal, seed: u64, count: usize) -> Vec<Refusal> {
    (0..count as u64).map(|number| brother(refusal, &mut Dice(seed ^ (number << 32)))).collect()
}

fn brother(refusal: &Refusal, dice: &mut Dice) -> Refusal {
    let text = match &refusal.error {
        Value::String(text) => text.clone(),
        error => error["message"].as_str().unwrap_or_default().to_owned(),
    };
    let text = varied(&text, dice);
    if matches!(refusal.form, Form::Html | Form::Text) {
        return Refusal { status: dice.pick(STATUSES), error: json!(text), form: refusal.form };
    }
    let mut error = refusal.error.clone();
    error["message"] = json!(text);
    if dice.chance(50) {
        error["code"] = json!(dice.pick(CODES));
    }
    if dice.chance(5) {
        error["code"] = json!("UPSTREAM_FAILED");
    }
    if dice.chance(10) {
        error["data"] = json!({ "trace_id": "4b1f", "details": varied(&text, dice) });
    }
    let status = if dice.chance(40) { dice.pick(STATUSES) } else { refusal.status };
    let form = if dice.chance(40) { dice.pick(FORMS) } else { refusal.form };
    Refusal { status, error, form }
}

fn varied(text: &str, dice: &mut Dice) -> String {
    let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    if dice.chance(15) {
        words = dice.list(6, |dice| dice.pick(UNKNOWN).to_owned());
    }
    if dice.chance(25) {
        for at in (1..words.len()).rev() {
            words.swap(at, dice.below(at as u64 + 1) as usize);
        }
    }
    let text = numbers(&words.join(" "), dice);
    match dice.below(4) {
        0 => text.to_uppercase(),
        1 => text.to_lowercase(),
        _ => text,
    }
}

/// Other numbers of any length.
fn numbers(text: &str, dice: &mut Dice) -> String {
    if dice.chance(40) {
        return text.to_owned();
    }
    let mut varied = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(at);
        let end = from.find(|c: char| !c.is_ascii_digit()).unwrap_or(from.len());
        varied.push_str(before);
        let bits = dice.below(64);
        varied.push_str(&(dice.next() >> bits).to_string());
        rest = &from[end..];
    }
    varied + rest
}
