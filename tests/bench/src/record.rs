//! A measured table as a file: the commit, the machine, and each row with its noise over the runs.

use std::{error::Error, fs, path::Path, process::Command};

use serde::{Deserialize, Serialize};

use super::{cores, table::Unit};

/// The table of one commit on one machine.
#[derive(Debug, Serialize, Deserialize)]
pub struct Record {
    /// With `-dirty` if files had changed since.
    pub commit: String,
    pub processor: String,
    pub cores: usize,
    /// How often each row was measured; the row is that of the median.
    pub runs: usize,
    pub rows: Vec<RecordedRow>,
}

/// One row. A number that says nothing is absent.
#[derive(Debug, Serialize, Deserialize)]
pub struct RecordedRow {
    pub group: String,
    pub what: String,
    pub measured: Option<f64>,
    pub unit: Unit,
    pub reference: String,
    pub reference_value: Option<f64>,
    pub ratio: Option<f64>,
    /// The largest distance of a run from the median, as a part of it; absent after one run.
    pub noise: Option<f64>,
    pub target: Option<RecordedTarget>,
    pub met: Option<bool>,
    pub note: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedTarget {
    RatioAtMost(f64),
    RatioAtLeast(f64),
    MeasuredAtMost(f64),
}

impl Record {
    pub fn new(runs: usize, rows: Vec<RecordedRow>) -> Self {
        let described = Command::new("git").args(["describe", "--always", "--dirty", "--abbrev=12"]).output();
        let commit =
            described.ok().filter(|git| git.status.success()).and_then(|git| String::from_utf8(git.stdout).ok());
        let machine = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let processor = machine.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
        Self {
            commit: commit.map_or_else(|| "unknown".into(), |commit| commit.trim().into()),
            processor: processor.map_or("unknown", |(_, name)| name.trim()).into(),
            cores: cores::available().len(),
            runs,
            rows,
        }
    }

    /// # Errors
    /// If the file cannot be read, or is none of `bench`.
    pub fn read(file: &Path) -> Result<Self, Box<dyn Error>> {
        let text = fs::read_to_string(file).map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
        Ok(serde_json::from_str(&text)
            .map_err(|error| format!("{} is no table of `bench --json`: {error}", file.display()))?)
    }

    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, file: &Path) -> Result<(), Box<dyn Error>> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        Ok(fs::write(file, text).map_err(|error| format!("{} cannot be written: {error}", file.display()))?)
    }
}

impl RecordedRow {
    /// What is compared: the ratio, or the figure of a row without one.
    pub fn figure(&self) -> Option<f64> {
        self.ratio.or(self.measured)
    }

    /// Whether the figure depends on how fast the machine is.
    pub fn is_of_the_machine(&self) -> bool {
        self.ratio.is_none() && matches!(self.unit, Unit::Microseconds | Unit::Milliseconds | Unit::PerSecond)
    }

    /// Whether more is better.
    pub fn is_more_better(&self) -> bool {
        match self.target {
            Some(RecordedTarget::RatioAtLeast(_)) => true,
            Some(RecordedTarget::RatioAtMost(_) | RecordedTarget::MeasuredAtMost(_)) => false,
            None => self.unit == Unit::PerSecond,
        }
    }
}
