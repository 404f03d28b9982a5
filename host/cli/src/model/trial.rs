//! `assay model try`: one question, one call, everything that an author wants to see of it.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    time::Duration,
};

use assay_backtest::RecordSource;
use assay_domain::{Address, Factor, ModelKind, Score, features};
use assay_registry::{Answer, Question, Trial, Trials};
use clap::Args;

use super::{read, unsigned};
use crate::{Failure, features as chains, print, remote::Server, replay::recorded};
use assay_rollout::ScoreId;

#[derive(Args)]
pub struct Arguments {
    /// The component
    file: PathBuf,
    /// File of features; without one, the sample wallets of `check`
    #[arg(long, value_name = "FILE", conflicts_with = "address")]
    features: Option<PathBuf>,
    /// Number of the wallet in the file, or of the sample wallet
    #[arg(long, default_value_t = 1, conflicts_with = "address")]
    line: u64,
    /// Address or name of a wallet to read now on the configured chains. A server may be running at the same time
    #[arg(long, value_name = "ADDRESS")]
    address: Option<String>,
    /// A recorded score, from the header `Assay-Score-Id` or the shadow report: calls the component with its inputs
    #[arg(long, value_name = "ID", conflicts_with_all = ["address", "features"])]
    score_id: Option<ScoreId>,
    /// Maximum wait for the lending history of --address, in seconds; parts not read by then are reported
    #[arg(long, default_value_t = 120, requires = "address")]
    wait: u64,
    /// For a boost model: the score
    #[arg(long, default_value_t = 700, value_parser = clap::value_parser!(u32).range(300..=1000))]
    score: u32,
    /// For a boost model: the off-chain assets, in dollars
    #[arg(long, value_name = "DOLLARS", default_value_t = 50_000.0)]
    assets: f64,
    #[command(flatten)]
    server: Server,
}

/// The name of the wallet or figures, the question about it, and the parts of the chains that could not be read.
type Asked = (String, Question, Vec<String>);

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let limits = unsigned(&arguments.server.file)?;
    let trials = Trials::load(&read(&arguments.file, &limits)?, &limits).map_err(Failure::no)?;
    let info = trials.info();
    print(format!("{} {}  {}", info.kind, info.version, info.title))?;
    let (name, question, unread) = arguments.question(info.kind)?;
    let trial = trials.ask(&question);
    print(shown(&name, info.kind, &trial, &unread).trim_end())?;
    if trials.prints_unseen() {
        print("  it prints with println!, eprintln! or dbg!, and a model in Rust has no output: put it into a factor")?;
    }
    if trial.answer.is_ok() { Ok(()) } else { Err(Failure::no("")) }
}

impl Arguments {
    fn question(&self, kind: ModelKind) -> Result<Asked, Failure> {
        let all = |(name, question)| (name, question, Vec::new());
        if let Some(id) = &self.score_id {
            return self.recorded(kind, id).map(all);
        }
        match (kind, &self.address, &self.features) {
            (ModelKind::Credit | ModelKind::Sybil, Some(given), _) => self.on_chains(given),
            (ModelKind::Credit | ModelKind::Sybil, None, Some(file)) => of_file(file, self.line).map(all),
            (ModelKind::Credit | ModelKind::Sybil, None, None) => sample(self.line).map(all),
            (ModelKind::Boost, None, None) => {
                let score = Score::new(self.score).unwrap_or(Score::MIN);
                let question = Question::Boost { score, total_asset_usd: self.assets };
                Ok(all((format!("{score} with {} dollars", self.assets), question)))
            }
            (ModelKind::Boost, ..) => {
                Err(Failure::no("a boost model takes no wallet: give --score and --assets instead"))
            }
            (ModelKind::Sandbox, given, None) => {
                let given = given.as_deref().map_or(Ok(Address::with_last_byte(1)), str::parse);
                let address: Address = given
                    .map_err(|_| Failure::no("a sandbox generator needs --address: 0x and 40 hexadecimal digits"))?;
                Ok(all((address.to_checksum(None), Question::Address(address))))
            }
            (ModelKind::Sandbox, _, Some(_)) => {
                Err(Failure::no("a sandbox generator takes no features: give --address instead of a file"))
            }
        }
    }

    /// The inputs of a recorded score.
    fn recorded(&self, kind: ModelKind, id: &ScoreId) -> Result<(String, Question), Failure> {
        if !matches!(kind, ModelKind::Credit | ModelKind::Sybil) {
            return Err(Failure::no(format!("a {kind} model takes no wallet, and the record of a score has one")));
        }
        let record = recorded(id, &self.server.file.load()?, &self.server)?;
        let name = format!("{id}, which credit {} scored {}", record.model.version, record.score);
        Ok((name, Question::Wallet(record.features)))
    }

    /// The wallet as the chains show it now.
    fn on_chains(&self, given: &str) -> Result<Asked, Failure> {
        let snapshot = chains::one(&self.server.file.load()?, given, Duration::from_secs(self.wait))?;
        let unread = snapshot.unread().map(|(chain, unread)| unread.on(chain)).collect();
        Ok((snapshot.address.to_checksum(None), Question::Wallet(features::features(&snapshot)), unread))
    }
}

fn shown(name: &str, kind: ModelKind, Trial { answer, spent, printed, .. }: &Trial, unread: &[String]) -> String {
    let mut text = format!("{name}: ");
    // Writing to a string does not fail.
    let _ = match answer {
        Ok(Answer { figure, decile, factors }) => {
            let risk = if kind == ModelKind::Sybil { "risk " } else { "" };
            let decile = decile.map(|decile| format!(", decile {}", decile.get())).unwrap_or_default();
            let head = writeln!(text, "{risk}{figure}{decile}");
            for Factor { label, points, words } in factors {
                let (possible, said) = words.as_ref().map_or((0, ""), |words| (words.possible, &words.description));
                let _ = writeln!(text, "  {points:>5} of {possible:>4}  {label}: {said}");
            }
            head
        }
        Err(error) => writeln!(text, "no answer: {error} [{}]", error.code()),
    };
    for line in unread {
        let _ = writeln!(text, "  not read  {line}");
    }
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

fn sample(number: u64) -> Result<(String, Question), Failure> {
    let samples = assay_registry::wallets();
    let count = samples.len();
    let found = usize::try_from(number).ok().and_then(|number| samples.into_iter().nth(number.checked_sub(1)?));
    let (name, features) = found.ok_or_else(|| Failure::no(format!("sample wallets are 1 to {count}")))?;
    Ok((name.to_owned(), Question::Wallet(features)))
}

fn of_file(file: &Path, line: u64) -> Result<(String, Question), Failure> {
    let cannot = |error: std::io::Error| Failure::cannot(format!("{} cannot be read: {error}", file.display()));
    let mut source = RecordSource::open(file).map_err(cannot)?;
    while let Some(chunk) = source.chunk().map_err(cannot)? {
        let Some((_, record)) = chunk.records().find(|(number, _)| *number == line) else { continue };
        let record = record.map_err(|bad| Failure::no(format!("line {}: {}", bad.line, bad.reason)))?;
        let record = record.ok_or_else(|| Failure::no(format!("line {line} is blank")))?;
        return Ok((record.id.unwrap_or_else(|| format!("line {line}")), Question::Wallet(record.features)));
    }
    Err(Failure::no(format!("{} has no line {line}", file.display())))
}
