//! `assay model try`: one wallet, one call, everything that an author wants to see of it.

use std::{fmt::Write as _, path::Path};

use assay_backtest::Source;
use assay_domain::{Factor, features::Features};
use assay_registry::{Limits, Trial, Trials};

use crate::commands::{Failure, print};

/// Scores wallet number `line` of a features file, or without one the sample wallet of that number.
pub fn run(bytes: &[u8], limits: &Limits, features: Option<&Path>, line: u64) -> Result<(), Failure> {
    let (name, wallet) = match features {
        Some(file) => of_file(file, line)?,
        None => sample(line)?,
    };
    let trials = Trials::load(bytes, limits).map_err(Failure::no)?;
    let info = trials.info();
    print(format!("{} {}  {}", info.kind, info.version, info.title))?;
    let trial = trials.ask(&wallet);
    print(shown(&name, &trial).trim_end())?;
    if trial.answer.is_ok() { Ok(()) } else { Err(Failure::no("")) }
}

fn shown(name: &str, Trial { answer, spent, printed }: &Trial) -> String {
    let mut text = format!("{name}: ");
    // Writing to a string does not fail.
    let _ = match answer {
        Ok(answer) => {
            let head = writeln!(text, "{}, decile {}", answer.score, answer.decile.get());
            for Factor { label, points, words } in &answer.factors {
                let (possible, said) = words.as_ref().map_or((0, ""), |words| (words.possible, &words.description));
                let _ = writeln!(text, "  {points:>5} of {possible:>4}  {label}: {said}");
            }
            head
        }
        Err(error) => writeln!(text, "no score: {error} [{}]", error.code()),
    };
    for line in printed.lines() {
        let _ = writeln!(text, "  printed  {line}");
    }
    let micros = spent.took.as_micros();
    let _ = writeln!(
        text,
        "  {} instructions, {} KiB of memory, {micros} us while it counts",
        spent.fuel,
        spent.memory / 1024
    );
    text
}

fn sample(number: u64) -> Result<(String, Features), Failure> {
    let samples = assay_registry::wallets();
    let count = samples.len();
    let found = usize::try_from(number).ok().and_then(|number| samples.into_iter().nth(number.checked_sub(1)?));
    let (name, features) = found.ok_or_else(|| Failure::no(format!("there are sample wallets 1 to {count}")))?;
    Ok((name.to_owned(), features))
}

fn of_file(file: &Path, line: u64) -> Result<(String, Features), Failure> {
    let cannot = |error: std::io::Error| Failure::cannot(format!("{} cannot be read: {error}", file.display()));
    let mut source = Source::open(file).map_err(cannot)?;
    while let Some(chunk) = source.chunk().map_err(cannot)? {
        let Some((_, record)) = chunk.records().find(|(number, _)| *number == line) else { continue };
        let record = record.map_err(|bad| Failure::no(format!("line {}: {}", bad.line, bad.reason)))?;
        let record = record.ok_or_else(|| Failure::no(format!("line {line} is blank")))?;
        return Ok((record.id.unwrap_or_else(|| format!("line {line}")), record.features));
    }
    Err(Failure::no(format!("{} has no line {line}", file.display())))
}
