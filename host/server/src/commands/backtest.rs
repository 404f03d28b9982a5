//! `assay backtest`: models side by side on a file of features.

use std::{
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

use clap::Args;

use super::{ConfigFile, Failure, meter::Meter, print};
use crate::app;
use assay_backtest::{About, Identity, Loaded, Run, RunError, Tally, grouped};
use assay_domain::{Digest, Score};
use assay_registry::{CreditModel, MeteredModel};

/// Exit code of a command that a signal ended, as shells have it.
const INTERRUPTED: u8 = 130;

#[derive(Args)]
pub struct Arguments {
    /// Credit models, the one that answers today first: versions on the shelf or paths of components, such as 1.0,1.1
    #[arg(long, value_delimiter = ',', required = true, num_args = 1, value_name = "MODEL,MODEL")]
    models: Vec<String>,
    /// Features as `assay features export` writes them, JSON lines or Parquet, whatever the name; with `outcome` where
    /// it is known
    #[arg(long, value_name = "FILE")]
    features: PathBuf,
    /// Features of an earlier population, to say how figures and scores have shifted since
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// The score from which a lender accepts, for the swap set
    #[arg(long, default_value = "640", value_parser = score)]
    cut_off: Score,
    /// A remark that the page shows, such as where the features come from
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Write the whole result to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write one page for a browser to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write every score to this file, as comma-separated values
    #[arg(long, value_name = "FILE")]
    scores: Option<PathBuf>,
    /// End well although some lines cannot be read
    #[arg(long)]
    skip_bad: bool,
    /// Threads that score; as many as there are cores where absent
    #[arg(long)]
    threads: Option<usize>,
    #[command(flatten)]
    config: ConfigFile,
}

fn score(text: &str) -> Result<Score, String> {
    text.parse().ok().and_then(Score::new).ok_or_else(|| "a score is 300 to 1000".to_owned())
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.models.len() < 2 {
        return Err(Failure::cannot("a comparison needs two models: --models 1.0,1.1"));
    }
    let config = arguments.config.load()?;
    let started = Instant::now();
    let loaded = assay_backtest::load(&arguments.models, &config.models.shelf, &app::limits(&config.models))
        .map_err(Failure::cannot)?;
    let (mut models, mut identities, mut counting) = (Vec::new(), Vec::new(), Vec::new());
    for Loaded { identity, model, counting: counted } in loaded {
        models.push(model);
        identities.push(identity);
        counting.push(counted);
    }
    let stop = stop_on_signal()?;
    let baseline = match &arguments.baseline {
        None => None,
        Some(file) => {
            let (tally, digest) = scored(arguments, file, &models, Vec::new(), &stop, None)?;
            Some((name(file), digest, tally))
        }
    };
    let mut scores = arguments.scores.as_deref().map(|file| Scores::create(file, &identities)).transpose()?;
    let (tally, digest) = scored(arguments, &arguments.features, &models, counting, &stop, scores.as_mut())?;
    if let Some(scores) = scores {
        scores.keep()?;
    }
    if tally.records == 0 {
        return Err(Failure::no(format!("{} has no record{}", name(&arguments.features), first_bad(&tally))));
    }
    let (bad, unit) = (tally.bad, tally.unit);
    let about = About {
        made_at: chrono::Utc::now(),
        models: identities,
        file: (name(&arguments.features), digest),
        baseline,
        note: arguments.note.clone(),
        cut_off: arguments.cut_off,
        seconds: started.elapsed().as_secs_f64(),
    };
    let report = assay_backtest::report(about, &tally);
    print(assay_backtest::summary(&report).trim_end())?;
    if let Some(file) = &arguments.json {
        write(file, &(serde_json::to_string_pretty(&report).map_err(Failure::cannot)? + "\n"))?;
    }
    if let Some(file) = &arguments.html {
        write(file, &assay_backtest::page(&report).map_err(Failure::cannot)?)?;
    }
    if bad > 0 && !arguments.skip_bad {
        return Err(Failure::no(format!(
            "{} of the {}s could not be read and count for nothing (--skip-bad takes that as it is)",
            grouped(bad),
            unit.as_str()
        )));
    }
    Ok(())
}

fn scored(
    arguments: &Arguments,
    file: &Path,
    models: &[CreditModel],
    counting: Vec<MeteredModel>,
    stop: &AtomicBool,
    scores: Option<&mut Scores>,
) -> Result<(Tally, Digest), Failure> {
    let threads =
        arguments.threads.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from)).clamp(1, 256);
    let scores = scores.map(|scores| &mut scores.to as &mut dyn io::Write);
    let mut meter = Meter::new(name(file));
    let done =
        assay_backtest::run(Run { file, models, counting, threads, stop, scores }, |progress| meter.show(progress));
    meter.clear();
    done.map_err(|error| match error {
        RunError::Interrupted(_) => Failure { message: format!("{error}; no result was written"), code: INTERRUPTED },
        error => Failure::cannot(format!("{}: {error}", name(file))),
    })
}

/// The name of a file without its folders, which are nobody's business on a page that is passed on.
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
    // Listened to from here on, not only when the thread has started.
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

/// A file that has its name only when it is whole.
fn write(file: &Path, text: &str) -> Result<(), Failure> {
    let part = part(file);
    fs::write(&part, text).and_then(|()| fs::rename(&part, file)).map_err(|error| {
        // Whatever is left of it has another name.
        let _ = fs::remove_file(&part);
        Failure::cannot(format!("{} cannot be written: {error}", file.display()))
    })
}

fn part(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

/// The file of every score. Gone where the run does not end well.
struct Scores {
    to: BufWriter<fs::File>,
    file: PathBuf,
    kept: bool,
}

impl Scores {
    fn create(file: &Path, models: &[Identity]) -> Result<Self, Failure> {
        let cannot = |error| Failure::cannot(format!("{} cannot be written: {error}", file.display()));
        let mut to = BufWriter::new(fs::File::create(part(file)).map_err(cannot)?);
        let names: String = models.iter().map(|model| format!(",{}", model.name)).collect();
        writeln!(to, "line,outcome{names}").map_err(cannot)?;
        Ok(Self { to, file: file.to_owned(), kept: false })
    }

    fn keep(mut self) -> Result<(), Failure> {
        let done = self.to.flush().and_then(|()| fs::rename(part(&self.file), &self.file));
        self.kept = done.is_ok();
        done.map_err(|error| Failure::cannot(format!("{} cannot be written: {error}", self.file.display())))
    }
}

impl Drop for Scores {
    fn drop(&mut self) {
        if !self.kept {
            let _ = fs::remove_file(part(&self.file));
        }
    }
}
