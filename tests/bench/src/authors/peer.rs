//! Extism, which an author may take in place of this server: the scorer of the Rust template as a plug-in of it, with
//! JSON in and out, and a fresh plug-in for each call. It is a program of its own, so that nothing else compiles
//! Extism.

use std::{
    fs,
    hint::black_box,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Stdio},
};

use assay_backtest::Record;
use assay_registry::measure::{self, Setup};

use super::{
    super::{
        Effort, Failure, calls,
        clock::Rounds,
        cores, subjects,
        table::{Row, Target, Unit},
    },
    Component,
};

/// Calls of a round.
const CALLS: u32 = 50;

pub fn measure(components: &[Component], effort: Effort) -> Result<Row, Failure> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../extism/target");
    let (program, guest) = (folder.join("release/peer"), folder.join("wasm32-unknown-unknown/release/guest.wasm"));
    if !program.is_file() || !guest.is_file() {
        return Err("build it first: tests/extism/build".into());
    }
    let rust = components.iter().find(|one| one.name == "rust").ok_or("there is no model in Rust to compare with")?;
    let features = subjects::ordinary().features;
    let wallet = tempfile::NamedTempFile::new()?;
    fs::write(wallet.path(), Record::new(None, None, features.clone()).write()?)?;
    let rounds = calls::on_a_core(|| {
        let model = measure::model(&rust.bytes, Setup::SERVED)?;
        let mut peer = Peer::start(&program, &guest, wallet.path())?;
        let expected = model.score(&features)?.score.get();
        let (_, said) = peer.time(1)?;
        if said != expected {
            return Err(format!("Extism says {said} and this server {expected}").into());
        }
        Ok(Rounds::measured(effort.of(30), 2, |case| {
            if case == 1 {
                return peer.time(CALLS).map_or(f64::NAN, |(took, _)| took);
            }
            let started = std::time::Instant::now();
            (0..20 * CALLS).for_each(|_| drop(black_box(model.score(black_box(&features)))));
            started.elapsed().as_secs_f64() * 1e6 / f64::from(20 * CALLS)
        }))
    })?;
    Ok(Row {
        what: "a call of rust".into(),
        measured: rounds.median(0),
        reference: "the same scorer in Extism".into(),
        reference_value: rounds.median(1),
        unit: Unit::Microseconds,
        ratio: rounds.ratio(0, 1),
        target: Target::None,
        note: "Extism: a fresh plug-in of compiled code for each call, JSON in and out, its defaults".into(),
    })
}

/// The program with Extism.
struct Peer {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Peer {
    fn start(program: &Path, guest: &Path, wallet: &Path) -> Result<Self, Failure> {
        let mut command = cores::command(cores::available()[0], program);
        let mut process = command.arg(guest).arg(wallet).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = process.stdin.take().ok_or("it has no input")?;
        let output = process.stdout.take().ok_or("it has no output")?;
        Ok(Self { process, input, output: BufReader::new(output) })
    }

    /// Microseconds of a call, and the score.
    fn time(&mut self, calls: u32) -> Result<(f64, u32), Failure> {
        writeln!(self.input, "{calls}")?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        let (took, score) = line.trim().split_once(' ').ok_or_else(|| format!("it says {line:?}"))?;
        Ok((took.parse()?, score.parse()?))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
