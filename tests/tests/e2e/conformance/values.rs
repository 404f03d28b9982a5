//! Values in requests: valid, at the limits, and hostile.

use assay_tests::devnet::actors;
use assay_tests::service::plugins;
use serde_json::{Value, json};

/// Random numbers that depend only on a seed (splitmix64).
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `sides`.
    pub fn below(&mut self, sides: usize) -> usize {
        (self.roll() % sides.max(1) as u64) as usize
    }

    pub fn percent(&mut self, chance: u64) -> bool {
        self.roll() % 100 < chance
    }

    pub fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}

const WALLETS: [&str; 10] =
    ["whale", "borrower", "liquidated", "busy", "empty", "saver", "holder", "both-chains", "base-only", "dormant"];

/// Texts that have broken other servers.
const HOSTILE: [&str; 26] = [
    "' OR 1=1 --",
    "<script>alert(1)</script>",
    "../../../../etc/passwd",
    "..%2f..%2f",
    "%00",
    "\u{0}",
    "%",
    "%zz",
    "\u{1F4A9}\u{200D}\u{202E}",
    "\u{e000}\u{feff}",
    "ｆｕｌｌ．eth",
    "${jndi:ldap://x}",
    "{{7*7}}",
    "\r\nSet-Cookie: a=b",
    "null",
    "undefined",
    "NaN",
    "true",
    "[]",
    "{}",
    "-1",
    "0x",
    "1e400",
    ";",
    "/",
    "\\",
];

pub fn address(dice: &mut Dice) -> String {
    let wallet = actors::address(WALLETS[dice.below(WALLETS.len())]);
    match dice.below(12) {
        0 => wallet.to_string().to_lowercase(),
        1 => format!("0x{}", wallet.to_string().trim_start_matches("0x").to_uppercase()),
        2 => wallet.to_string().replacen(|c: char| c.is_ascii_uppercase(), "a", 1),
        3 => wallet.to_string().trim_start_matches("0x").to_owned(),
        4 => dice
            .pick(&["nobody.eth", "a.b.c.eth", "x.base.eth", ".eth", "a..eth", "xn--nxasmq6b.eth", "ümlaut.eth"])
            .to_owned(),
        5 => dice
            .pick(&["0x0000000000000000000000000000000000000000", "0xffffffffffffffffffffffffffffffffffffffff"])
            .to_owned(),
        6 => text(dice),
        _ => wallet.to_string(),
    }
}

/// A value for a parameter of this name and type.
pub fn parameter(name: &str, kind: &str, dice: &mut Dice) -> String {
    if dice.percent(12) {
        return text(dice);
    }
    match (name, kind) {
        ("address", _) => address(dice),
        ("kind", _) => dice.pick(&["credit", "boost", "sybil", "sandbox", "Credit", "fortune"]).to_owned(),
        ("version", _) => dice.pick(&["1.0", "1.1", "9.9", "1", "1.0.0", "-1.0", "99999999999.1"]).to_owned(),
        ("chain_id", _) if dice.percent(60) => dice
            .pick(&["1", "8453", "137", "10", "42161", "250", "324", "42220", "534352", "59144", "56", "43114"])
            .to_owned(),
        (_, "integer") => dice
            .pick(&[
                "0",
                "-0",
                "-1",
                "1.0",
                "1e3",
                "007",
                "+1",
                "2",
                "9223372036854775808",
                "18446744073709551616",
                "0x1",
                "٣",
            ])
            .to_owned(),
        (_, "boolean") => dice.pick(&["true", "false", "True", "1", "0", "yes", "maybe", ""]).to_owned(),
        _ => text(dice),
    }
}

/// A list for a parameter of addresses: short, at the limit, too long, or invalid.
pub fn list(dice: &mut Dice) -> String {
    let items = match dice.below(10) {
        0 => return text(dice),
        1 => 100,
        2 => 101,
        3 => return [",", ",,,,", " , ", "%2C"][dice.below(4)].to_owned(),
        4 => return vec!["0x1"; 3_000].join(","),
        n => n - 3,
    };
    (0..items).map(|_| address(dice)).collect::<Vec<_>>().join(if dice.percent(80) { "," } else { ", " })
}

pub fn text(dice: &mut Dice) -> String {
    match dice.below(8) {
        0 => "a".repeat(1 + dice.below(5_000)),
        1 => "\u{1F60E}".repeat(1 + dice.below(200)),
        2 => (0..1 + dice.below(30)).filter_map(|_| char::from_u32((dice.roll() % 0x3000) as u32)).collect(),
        _ => dice.pick(&HOSTILE).to_owned(),
    }
}

/// JSON that does not match any schema.
fn anything(dice: &mut Dice, depth: usize) -> Value {
    match dice.below(if depth > 3 { 9 } else { 12 }) {
        0 => Value::Null,
        1 => json!(dice.percent(50)),
        2 => json!(-1),
        3 => json!(u64::MAX),
        4 => json!(1.5e300),
        5 => json!(-0.0),
        6 => json!(0),
        7 => json!(text(dice)),
        8 => json!(i64::MIN),
        9 => Value::Array((0..dice.below(4)).map(|_| anything(dice, depth + 1)).collect()),
        10 => Value::Array(vec![json!(1); dice.below(5_000)]),
        _ => Value::Object((0..dice.below(4)).map(|_| (text(dice), anything(dice, depth + 1))).collect()),
    }
}

/// A value that usually matches this schema.
fn of_schema(schema: &Value, dice: &mut Dice) -> Value {
    if dice.percent(15) {
        return anything(dice, 0);
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or("null"),
        kind => kind.as_str().unwrap_or_default(),
    };
    match kind {
        "object" => {
            let mut some = serde_json::Map::new();
            for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
                if dice.percent(75) {
                    some.insert(name.clone(), of_schema(schema, dice));
                }
            }
            Value::Object(some)
        }
        "number" => [
            json!(0),
            json!(0.01),
            json!(49_999.99),
            json!(50_000),
            json!(1e15),
            json!(1e308),
            json!(-0.0),
            json!(5e-324),
        ][dice.below(8)]
        .clone(),
        "integer" => {
            [json!(0), json!(1), json!(9_007_199_254_740_991_u64), json!(9_007_199_254_740_992_u64), json!(7.0)]
                [dice.below(5)]
            .clone()
        }
        "array" => {
            let items = if dice.percent(10) { 4_000 } else { dice.below(4) };
            Value::Array((0..items).map(|_| of_schema(&schema["items"], dice)).collect())
        }
        _ => json!(dice.pick(&["My bank", "1.0", "1.1", "", " ", "9.9", "\u{1F3E6}", "<b>bank</b>"])),
    }
}

/// A body of this content type and schema; sometimes invalid bytes.
pub fn body(kind: &str, schema: &Value, dice: &mut Dice) -> Option<Vec<u8>> {
    if dice.percent(4) {
        return None;
    }
    if kind != "application/json" {
        return Some(component(dice));
    }
    let whole = if dice.percent(10) { anything(dice, 0) } else { of_schema(schema, dice) };
    let mut bytes = whole.to_string().into_bytes();
    match dice.below(24) {
        0 => bytes.truncate(dice.below(bytes.len())),
        1 => bytes.splice(0..0, *b"\xef\xbb\xbf").for_each(drop),
        2 => bytes.push(0xff),
        3 => bytes = vec![b' '; 70_000],
        4 => bytes = "[".repeat(10_000).into_bytes(),
        5 => bytes = br#"{"total_asset_usd":1,"total_asset_usd":-1,"name":"a","name":7}"#.to_vec(),
        6 => bytes = br#"{"total_asset_usd":1e999,"name":"a"}"#.to_vec(),
        7 => bytes = br#"{"name":"\ud800"}"#.to_vec(),
        _ => {}
    }
    Some(bytes)
}

/// A body for an upload of a component.
fn component(dice: &mut Dice) -> Vec<u8> {
    let released = || {
        let file = std::fs::read_dir(plugins()).expect("the shelf").flatten().map(|entry| entry.path());
        let mut files: Vec<_> = file.filter(|path| path.extension().is_some_and(|end| end == "wasm")).collect();
        files.sort();
        std::fs::read(&files[0]).expect("a component")
    };
    match dice.below(8) {
        0 => Vec::new(),
        1 => b"\0asm\x0d\0\x01\0".to_vec(),
        2 => b"\0asm\x01\0\0\0".to_vec(),
        3 => released(),
        4 => {
            let mut bytes = released();
            bytes.truncate(dice.below(bytes.len()));
            bytes
        }
        5 => {
            let mut bytes = released();
            let at = dice.below(bytes.len());
            bytes[at] ^= 0x55;
            bytes
        }
        6 if dice.percent(10) => vec![0; 17 << 20],
        _ => (0..dice.below(3_000)).map(|_| dice.roll() as u8).collect(),
    }
}
