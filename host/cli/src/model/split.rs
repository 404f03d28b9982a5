//! `assay model split`: which versions answer some wallets or keys in place of the credit champion.

use clap::Args;
use reqwest::Method;
use serde_json::{Value, json};

use super::Server;
use crate::{Failure, print};
use assay_domain::{ModelVersion, Time};

const PATH: &str = "/api/v2/admin/models/credit/split";

#[derive(Args)]
pub struct Arguments {
    /// A version, the percentage of the wallets that it answers, and the percentages to which that grows, such as
    /// 1.4=1,5,25; may be given twice
    #[arg(long = "share", value_name = "VERSION=PERCENT", value_parser = share)]
    shares: Vec<Share>,
    /// Hours between two percentages of a share
    #[arg(long, value_name = "HOURS", default_value_t = 24.0)]
    every: f64,
    /// A key, the version that answers it, and until when (UTC), such as lender=1.1@2027-06-30; may be repeated
    #[arg(long = "pin", value_name = "KEY=VERSION@DATE", value_parser = pin)]
    pins: Vec<Pin>,
    /// A key that may choose a version by the header Assay-Model-Version; may be repeated
    #[arg(long = "chooser", value_name = "KEY")]
    choosers: Vec<String>,
    /// End the split: the champion answers everybody
    #[arg(long, conflicts_with_all = ["shares", "pins", "choosers"])]
    none: bool,
    /// The reason, for the audit log
    #[arg(long)]
    why: Option<String>,
    /// Let no limit of [promotion] prevent or stop a share; needs --why
    #[arg(long, requires = "why")]
    force: bool,
    #[command(flatten)]
    server: Server,
}

/// A version, its percentage, and those to which it grows.
#[derive(Debug, Clone, PartialEq)]
struct Share(ModelVersion, f64, Vec<f64>);

/// A key, its version, and until when.
#[derive(Debug, Clone, PartialEq)]
struct Pin(String, ModelVersion, Time);

fn share(text: &str) -> Result<Share, String> {
    let (version, percents) = text.split_once('=').ok_or("expected a version and a percentage, such as 1.4=5")?;
    let percents = percents.split(',').map(|percent| {
        percent.trim().trim_end_matches('%').trim().parse().map_err(|_| format!("{percent:?} is no percentage"))
    });
    let mut percents = percents.collect::<Result<Vec<f64>, _>>()?.into_iter();
    let first = percents.next().ok_or("a percentage is missing")?;
    Ok(Share(version.trim().parse()?, first, percents.collect()))
}

fn pin(text: &str) -> Result<Pin, String> {
    let wrong = "expected a key, a version and a date, such as lender=1.1@2027-06-30";
    let (key, rest) = text.split_once('=').ok_or(wrong)?;
    let (version, until) = rest.split_once('@').ok_or(wrong)?;
    let moment = if until.contains('T') { until.to_owned() } else { format!("{until}T00:00:00Z") };
    let until = moment.parse().map_err(|_| format!("{until:?} is no date, such as 2027-06-30"))?;
    Ok(Pin(key.trim().to_owned(), version.trim().parse()?, until))
}

/// Replaces a server's split by the given parts; without any part, shows it.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Arguments { shares, every, pins, choosers, none, why, force, server } = arguments;
    let remote = server.reach(&server.file.load()?)?;
    let shows = shares.is_empty() && pins.is_empty() && choosers.is_empty() && !none;
    let split = if shows {
        remote.ask(Method::GET, PATH, None)?
    } else {
        let share = |Share(version, percent, ramp): &Share| {
            let mut share = json!({ "version": version, "percent": percent });
            if let (false, Some(fields)) = (ramp.is_empty(), share.as_object_mut()) {
                fields.insert("ramp".to_owned(), json!(ramp));
                fields.insert("step_seconds".to_owned(), json!((every * 3_600.0) as u64));
            }
            share
        };
        let pin = |Pin(key, version, until): &Pin| json!({ "key": key, "version": version, "until": until });
        let body = json!({
            "shares": shares.iter().map(share).collect::<Vec<_>>(), "pins": pins.iter().map(pin).collect::<Vec<_>>(),
            "choosers": choosers, "why": why, "force": force,
        });
        remote.ask(Method::PUT, PATH, Some(&body))?
    };
    print(words(&split).join("\n"))
}

/// A split in lines.
fn words(split: &Value) -> Vec<String> {
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or("none").to_owned();
    let list = |name: &str| split.get(name).and_then(Value::as_array).into_iter().flatten();
    let share = |share: &Value| {
        let percents = |value: Option<&Value>| {
            let all = value.and_then(Value::as_array).into_iter().flatten();
            all.map(|percent| format!("{percent} %")).collect::<Vec<_>>().join(", ")
        };
        let percent = share.get("percent").cloned().unwrap_or_default();
        let ramp = share.get("ramp").filter(|ramp| ramp.is_object());
        let grows = ramp.map_or_else(String::new, |ramp| {
            format!(", then {}, next at {}", percents(ramp.get("percents")), text(ramp, "next_at"))
        });
        let forced = share.get("forced").and_then(Value::as_bool).unwrap_or_default();
        let forced = if forced { "; no limit stops it" } else { "" };
        format!("  {} answers {percent} % of the wallets{grows}{forced}", text(share, "version"))
    };
    let pin = |pin: &Value| {
        format!("  {} answers the key {} until {}", text(pin, "version"), text(pin, "key"), text(pin, "until"))
    };
    let chooser = |key: &Value| format!("  the key {} may choose by header", key.as_str().unwrap_or("?"));
    let stopped = split.get("stopped").and_then(Value::as_str).map(|why| format!("  {why}"));
    std::iter::once(format!("credit: champion {}", text(split, "champion")))
        .chain(list("shares").map(share))
        .chain(list("pins").map(pin))
        .chain(list("choosers").map(chooser))
        .chain(stopped)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_pins_are_read_from_text() {
        let version = |text: &str| text.parse::<ModelVersion>().unwrap();
        assert_eq!(share("1.4=5"), Ok(Share(version("1.4"), 5.0, Vec::new())));
        assert_eq!(share("1.4 = 0.5%, 5, 25"), Ok(Share(version("1.4"), 0.5, vec![5.0, 25.0])));
        let until = assay_domain::time_from_unix(1_814_313_600);
        assert_eq!(pin("lender=1.1@2027-06-30"), Ok(Pin("lender".to_owned(), version("1.1"), until)));
        assert_eq!(pin("lender=1.1@2027-06-30T00:00:00Z"), Ok(Pin("lender".to_owned(), version("1.1"), until)));
        for wrong in ["1.4", "1.4=", "1.4=half", "=5", "x=5"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
        for wrong in ["lender", "lender=1.1", "lender=1.1@June", "lender=x@2027-06-30"] {
            assert!(pin(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_split_is_shown_in_lines() {
        let split = json!({
            "champion": "1.1",
            "shares": [{ "version": "1.4", "percent": 5.0, "forced": true,
                "ramp": { "percents": [25.0], "step_seconds": 60, "next_at": "2026-01-16T10:30:00Z" } }],
            "pins": [{ "key": "lender", "version": "1.0", "until": "2026-07-01T00:00:00Z" }],
            "choosers": ["auditor"], "stopped": null,
        });
        let expected = [
            "credit: champion 1.1",
            "  1.4 answers 5.0 % of the wallets, then 25.0 %, next at 2026-01-16T10:30:00Z; no limit stops it",
            "  1.0 answers the key lender until 2026-07-01T00:00:00Z",
            "  the key auditor may choose by header",
        ];
        assert_eq!(words(&split), expected);
    }
}
