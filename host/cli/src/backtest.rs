//! `assay backtest`: judges a model on a file of features, or compares several.

use std::{
    ffi::OsStr,
    fs,
    io::{self, BufWriter, Write as _},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::Instant,
};

use assay_backtest::{
    About, BacktestReport, Baseline, By, ExternalScore, FeaturesFile, GradeBounds, GradeRequest, Grading, Loaded,
    ModelIdentity, Run, RunError, Tally, grouped, header,
};
use assay_domain::{Claim, Digest, EtherPrices, Score};
use assay_registry::{CreditModel, Limits, MeteredModel};
use clap::{Args, Parser};

use super::{ConfigFile, Failure, meter::Meter, print};
use assay_rollout::cards;

/// Exit code of a command that SIGINT ended, as in shells.
const INTERRUPTED: u8 = 130;

#[derive(Args)]
pub struct Arguments {
    /// Credit models: versions on the shelf, or paths of components. Give one, such as 1.2, or several to compare, such
    /// as 1.0,1.1, the current champion first
    #[arg(long, value_delimiter = ',', required = true, num_args = 1, value_name = "MODEL,MODEL")]
    models: Vec<String>,
    /// File of features from `assay features export`: JSON lines, optionally gzipped, or Parquet, detected by content.
    /// Records may have an `outcome` and a `cluster`
    #[arg(long, value_name = "FILE")]
    features: PathBuf,
    /// File of features of an earlier population, to show how features and scores have changed since
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Lowest score that a lender accepts; used for the swap set
    #[arg(long, default_value = "640", value_parser = score)]
    cut_off: Score,
    /// Note on the page, such as the source of the features
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Name of the bad outcome for the page, such as "liquidated"
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,
    /// Days after a record's date within which the outcome counts
    #[arg(long, value_name = "DAYS")]
    horizon: Option<u32>,
    /// Dimensions to grade separately: chain, protocol, month (always shown), or a column of the file
    #[arg(long, value_delimiter = ',', value_name = "NAME,NAME")]
    by: Vec<String>,
    /// Column of the file with an external score, to grade next to the models; `-COLUMN` if lower is better
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    external: Option<String>,
    /// Last day that the models were fitted to, such as 2021-07-01: later records are out of time and graded separately
    #[arg(long, value_name = "DATE", value_parser = end_of_day)]
    fitted_through: Option<u64>,
    /// Bounds that the last model must meet, such as auc=0.7,within=0.7,ks=0.2,psi=0.25,falls,claims,calibration and
    /// beats=health_factor, utilisation or last_liquidation; exit with 1 if it does not
    #[arg(long, value_name = "BOUNDS")]
    bounds: Option<GradeBounds>,
    /// Daily prices of ether, lines of `date,price` such as `2020-08-01,346.0`: they decide which records meet the
    /// condition of a claim, such as "if ether does not fall by 30 % within the horizon"
    #[arg(long, value_name = "FILE")]
    ether: Option<PathBuf>,
    /// Write the whole result to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write an HTML page to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write the id, date, outcome, range, points by factor and score of every record to this CSV file
    #[arg(long, value_name = "FILE")]
    scores: Option<PathBuf>,
    /// Exit with 0 even if some lines cannot be read
    #[arg(long)]
    skip_bad: bool,
    /// Number of threads; by default the number of cores
    #[arg(long)]
    threads: Option<usize>,
    #[command(flatten)]
    config: ConfigFile,
}

fn score(text: &str) -> Result<Score, String> {
    text.parse().ok().and_then(Score::new).ok_or_else(|| "a score is 300 to 1000".to_owned())
}

fn end_of_day(text: &str) -> Result<u64, String> {
    let day = chrono::NaiveDate::parse_from_str(text, "%Y-%m-%d").ok().and_then(|day| day.and_hms_opt(23, 59, 59));
    let seconds = day.and_then(|end| u64::try_from(end.and_utc().timestamp()).ok());
    seconds.ok_or_else(|| "a date is a year, a month and a day, such as 2021-07-01".to_owned())
}

/// A command with only these options, to get their defaults.
#[derive(Parser)]
struct Alone {
    #[command(flatten)]
    arguments: Arguments,
}

/// Compares models on one file of features, with the defaults of all other options.
pub fn compare(models: &str, features: &Path, config: &ConfigFile) -> Result<(), Failure> {
    let mut words: Vec<&OsStr> = ["backtest", "--models", models, "--features"].map(OsStr::new).to_vec();
    words.push(features.as_os_str());
    if let Some(config) = &config.config {
        words.extend([OsStr::new("--config"), config.as_os_str()]);
    }
    run(&Alone::try_parse_from(words).map_err(Failure::cannot)?.arguments)
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let config = arguments.config.load()?;
    let started = Instant::now();
    // A comparison serves no caller, so a model needs no signature for it.
    let limits = Limits { trust: Vec::new(), ..config.models.limits() };
    let loaded = assay_backtest::load(&arguments.models, &config.models.shelf, &limits).map_err(Failure::cannot)?;
    let (mut models, mut identities, mut counting, mut cards) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let trained: Vec<_> = loaded.iter().map(|one| (one.identity.name.clone(), one.model.notes().training)).collect();
    let mut claims = Vec::new();
    for Loaded { identity, model, counting: counted, info } in loaded {
        let packed = model.notes().card.as_deref();
        cards.push(cards::markdown(&config.models.shelf, &info, identity.digest, packed).unwrap_or_else(|error| {
            tracing::warn!(%error, "the page has no such card");
            None
        }));
        // The claims of a card are judged as they are served.
        let stated = cards::claims(&config.models.shelf, &info, identity.digest, packed);
        claims.push(stated.unwrap_or_else(|_| cards::in_words(&info)));
        models.push(model);
        identities.push(identity);
        counting.push(counted);
    }
    let comparison = Comparison { arguments, models, stop: stop_on_signal()? };
    let baseline = arguments.baseline.as_deref().map(|file| comparison.baseline(file)).transpose()?;
    let (tally, digest) = comparison.features(&identities, counting)?;
    for (name, _) in trained.iter().filter(|(_, training)| *training == Some(digest)) {
        eprintln!(
            "assay: {name} was trained on these wallets, so it knows their outcomes. Compare on other wallets: of \
             later dates, and of other clusters"
        );
    }
    let about = About {
        models: identities,
        file: FeaturesFile { name: name(&arguments.features), digest },
        baseline,
        seconds: started.elapsed().as_secs_f64(),
        cards,
        ether: ether(arguments)?,
        ..about(arguments, claims)
    };
    let report = assay_backtest::report(about, &tally);
    publish(arguments, &report)?;
    keeps_bounds(arguments, &report)?;
    if tally.bad > 0 && !arguments.skip_bad {
        return Err(Failure::no(format!(
            "{} of the {}s could not be read and were left out (--skip-bad accepts that)",
            grouped(tally.bad),
            tally.unit.as_str()
        )));
    }
    Ok(())
}

/// The settings of a report: from the arguments, otherwise from the claims of the model.
fn about(arguments: &Arguments, claims: Vec<Vec<Claim>>) -> About {
    let own = claims.last().and_then(|claims| claims.first()).map(|claim| claim.claims.clone());
    About {
        made_at: chrono::Utc::now(),
        models: Vec::new(),
        file: FeaturesFile { name: String::new(), digest: Digest([0; 32]) },
        baseline: None,
        note: arguments.note.clone(),
        cut_off: arguments.cut_off,
        seconds: 0.0,
        label: arguments.label.clone().or_else(|| own.as_ref().map(|claims| claims.outcome.clone())),
        horizon_days: arguments.horizon.or_else(|| own.map(|claims| claims.horizon_days)),
        asked: asked(arguments),
        claims,
        ether: EtherPrices::default(),
        cards: Vec::new(),
    }
}

/// The prices of `--ether`.
fn ether(arguments: &Arguments) -> Result<EtherPrices, Failure> {
    let Some(file) = &arguments.ether else { return Ok(EtherPrices::default()) };
    let text = fs::read_to_string(file).map_err(|error| Failure::cannot(format!("{}: {error}", file.display())))?;
    text.parse().map_err(|error| Failure::cannot(format!("{}: {error}", file.display())))
}

/// The dimensions of `--by` but months, which every result has.
fn dimensions(arguments: &Arguments) -> Vec<By> {
    let dimension = |name: &String| match name.as_str() {
        "month" => None,
        "chain" => Some(By::Chain),
        "protocol" => Some(By::Protocol),
        name => Some(By::Column(name.to_owned())),
    };
    arguments.by.iter().filter_map(dimension).collect()
}

fn external(arguments: &Arguments) -> Option<ExternalScore> {
    let name = arguments.external.as_deref()?;
    let falling = name.strip_prefix('-');
    Some(ExternalScore { column: falling.unwrap_or(name).to_owned(), lower_is_better: falling.is_some() })
}

fn asked(arguments: &Arguments) -> GradeRequest {
    GradeRequest {
        by: dimensions(arguments),
        external: external(arguments).map(|external| external.column),
        bounds: arguments.bounds.clone().unwrap_or_default(),
        fitted_through: arguments.fitted_through,
        cut_off: Some(arguments.cut_off),
    }
}

/// The last model is the one that is decided on.
fn keeps_bounds(arguments: &Arguments, report: &BacktestReport) -> Result<(), Failure> {
    if arguments.bounds.is_none() {
        return Ok(());
    }
    let name = report.models.last().map(|model| &model.identity.name);
    let Some(grade) = report.grades.iter().find(|grade| Some(&grade.model) == name) else {
        return Err(Failure::no("no bound can be checked: the file needs records with good and with bad outcomes"));
    };
    let failed: Vec<_> = grade.checks.iter().filter(|check| !check.passed).map(|check| check.bound.as_str()).collect();
    match failed.is_empty() {
        true => Ok(()),
        false => Err(Failure::no(format!("{} does not meet its bounds: {}", grade.model, failed.join("; ")))),
    }
}

/// Prints the summary, and writes the files that the arguments name.
fn publish(arguments: &Arguments, report: &BacktestReport) -> Result<(), Failure> {
    print(assay_backtest::summary(report).trim_end())?;
    if let Some(file) = &arguments.json {
        write(file, &(serde_json::to_string_pretty(report).map_err(Failure::cannot)? + "\n"))?;
    }
    if let Some(file) = &arguments.html {
        write(file, &assay_backtest::page(report).map_err(Failure::cannot)?)?;
    }
    Ok(())
}

/// The loaded models, which score the files of features.
struct Comparison<'a> {
    arguments: &'a Arguments,
    models: Vec<CreditModel>,
    stop: Arc<AtomicBool>,
}

impl Comparison<'_> {
    fn baseline(&self, file: &Path) -> Result<Baseline, Failure> {
        let (tally, digest) = self.score(file, Vec::new(), None)?;
        Ok(Baseline { file: FeaturesFile { name: name(file), digest }, tally })
    }

    /// The scores of `--features`, also written to `--scores`.
    fn features(&self, identities: &[ModelIdentity], counting: Vec<MeteredModel>) -> Result<(Tally, Digest), Failure> {
        let file = &self.arguments.features;
        let mut scores =
            self.arguments.scores.as_deref().map(|file| ScoreFile::create(file, identities)).transpose()?;
        let (tally, digest) = self.score(file, counting, scores.as_mut())?;
        if let Some(scores) = scores {
            scores.finish()?;
        }
        if tally.records == 0 {
            return Err(Failure::no(format!("{} has no record{}", name(file), first_bad(&tally))));
        }
        Ok((tally, digest))
    }

    fn score(
        &self,
        file: &Path,
        counting: Vec<MeteredModel>,
        scores: Option<&mut ScoreFile>,
    ) -> Result<(Tally, Digest), Failure> {
        let threads = self.arguments.threads;
        let threads = threads.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from)).clamp(1, 256);
        let scores = scores.map(|scores| &mut scores.to as &mut dyn io::Write);
        let mut meter = Meter::new(name(file));
        let grading = Grading { by: dimensions(self.arguments), external: external(self.arguments) };
        let run = Run { file, models: &self.models, counting, threads, stop: &self.stop, scores, grading };
        let done = assay_backtest::run(run, |progress| meter.show(progress));
        meter.clear();
        done.map_err(|error| match error {
            RunError::Interrupted(_) => {
                Failure { message: format!("{error}; no result was written"), code: INTERRUPTED }
            }
            error => Failure::cannot(format!("{}: {error}", name(file))),
        })
    }
}

/// The name of a file without its folders: a page that others read must not show them.
fn name(file: &Path) -> String {
    file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned()
}

fn first_bad(tally: &Tally) -> String {
    tally
        .first_bad
        .first()
        .map(|bad| format!("; {} {}: {}", tally.unit.as_str(), bad.line, bad.reason))
        .unwrap_or_default()
}

/// Sets a flag at the first SIGINT or SIGTERM; the second ends the process at once.
fn stop_on_signal() -> Result<Arc<AtomicBool>, Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let stop = Arc::new(AtomicBool::new(false));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::cannot)?;
    // Signals count from here on, not only after the thread has started.
    let (mut terminate, mut interrupt) = {
        let _entered = runtime.enter();
        (
            signal(SignalKind::terminate()).map_err(Failure::cannot)?,
            signal(SignalKind::interrupt()).map_err(Failure::cannot)?,
        )
    };
    let flag = stop.clone();
    thread::spawn(move || {
        runtime.block_on(async {
            loop {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
                if flag.swap(true, Relaxed) {
                    std::process::exit(i32::from(INTERRUPTED));
                }
            }
        });
    });
    Ok(stop)
}

/// Writes a file under a temporary name and renames it, so that a file with this name is complete.
fn write(file: &Path, text: &str) -> Result<(), Failure> {
    let part = part(file);
    fs::write(&part, text).and_then(|()| fs::rename(&part, file)).map_err(|error| {
        // A remaining file has only the temporary name.
        let _ = fs::remove_file(&part);
        Failure::cannot(format!("{} cannot be written: {error}", file.display()))
    })
}

fn part(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

/// The file of `--scores`. It is removed unless [`ScoreFile::finish`] succeeds.
struct ScoreFile {
    to: BufWriter<fs::File>,
    file: PathBuf,
    finished: bool,
}

impl ScoreFile {
    fn create(file: &Path, models: &[ModelIdentity]) -> Result<Self, Failure> {
        let cannot = |error| Failure::cannot(format!("{} cannot be written: {error}", file.display()));
        let mut to = BufWriter::new(fs::File::create(part(file)).map_err(cannot)?);
        let names: Vec<_> = models.iter().map(|model| model.name.clone()).collect();
        writeln!(to, "{}", header(&names)).map_err(cannot)?;
        Ok(Self { to, file: file.to_owned(), finished: false })
    }

    fn finish(mut self) -> Result<(), Failure> {
        let done = self.to.flush().and_then(|()| fs::rename(part(&self.file), &self.file));
        self.finished = done.is_ok();
        done.map_err(|error| Failure::cannot(format!("{} cannot be written: {error}", self.file.display())))
    }
}

impl Drop for ScoreFile {
    fn drop(&mut self) {
        if !self.finished {
            let _ = fs::remove_file(part(&self.file));
        }
    }
}
