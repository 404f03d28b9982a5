//! The metrics of this process, and their text for Prometheus. Every module counts with the macros of `metrics`; the
//! module `catalogue` lists the names.

use std::{
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use metrics::gauge;
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

use super::{catalogue, process};

/// Time between two calls of [`Metrics::upkeep`].
pub const UPKEEP: Duration = Duration::from_secs(5);

/// How long one rendering answers requests.
const RENDERED: Duration = Duration::from_millis(100);

/// Buckets of durations, in seconds: a model call takes microseconds, a first read of a long history many seconds.
const SECONDS: [f64; 18] = [
    0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
    0.5, 1.0, 5.0, 30.0,
];
/// Buckets of counts.
const COUNTS: [f64; 10] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

/// A text, and when it was rendered.
type Rendered = (Instant, Arc<str>);

/// A handle to the metrics of this process.
#[derive(Clone)]
pub struct Metrics {
    recorder: PrometheusHandle,
    started: Instant,
    /// The last text of [`rendered`](Self::rendered).
    last: Arc<Mutex<Option<Rendered>>>,
}

impl Metrics {
    /// Installs the recorder on the first call. Every later call returns a handle to the same metrics.
    ///
    /// # Errors
    /// Where the process already has another recorder.
    pub fn collect() -> Result<Self, BuildError> {
        static COLLECTED: OnceLock<Metrics> = OnceLock::new();
        static FIRST: Mutex<()> = Mutex::new(());
        let _first = FIRST.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(metrics) = COLLECTED.get() {
            return Ok(metrics.clone());
        }
        let recorder = PrometheusBuilder::new()
            .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &SECONDS)?
            .set_buckets_for_metric(Matcher::Suffix("_writes".into()), &COUNTS)?
            .install_recorder()?;
        catalogue::describe();
        gauge!("assay_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1.0);
        Ok(COLLECTED.get_or_init(|| Self { recorder, started: Instant::now(), last: Arc::default() }).clone())
    }

    /// All metrics, in the text format of Prometheus.
    pub fn render(&self) -> String {
        let set = |name: &'static str, value: Option<u64>| {
            if let Some(value) = value {
                gauge!(name).set(value as f64);
            }
        };
        set("process_resident_memory_bytes", process::resident_memory());
        set("process_open_fds", process::open_files());
        gauge!("assay_uptime_seconds").set(self.started.elapsed().as_secs_f64());
        self.recorder.render()
    }

    /// As [`render`](Self::render), at most 100 ms ago: callers without a key may ask at any rate.
    pub fn rendered(&self) -> Arc<str> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((at, text)) if at.elapsed() < RENDERED => text.clone(),
            _ => last.insert((Instant::now(), self.render().into())).1.clone(),
        }
    }

    /// Moves observations into their histograms. Without it, memory grows with every observation until the next
    /// [`Metrics::render`].
    pub fn upkeep(&self) {
        self.recorder.run_upkeep();
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use metrics::{counter, histogram};

    use super::*;

    #[test]
    fn every_metric_is_described() {
        let host = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let crates = fs::read_dir(host).unwrap().map(|entry| entry.unwrap().path().join("src"));
        let (mut folders, mut names) = (crates.filter(|src| src.is_dir()).collect::<Vec<_>>(), BTreeSet::new());
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let text = fs::read_to_string(&path).unwrap();
                    let texts = text.split('"').filter(|text| text.starts_with("assay_"));
                    let is_name =
                        |text: &&str| text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_') && !text.ends_with('_');
                    names.extend(texts.filter(is_name).map(str::to_owned));
                }
            }
        }
        let described = catalogue::names();
        let nameless: Vec<_> = names.iter().filter(|name| !described.contains(name.as_str())).collect();
        assert!(names.len() > 20 && nameless.is_empty(), "{nameless:?} of {names:?}");
    }

    #[test]
    fn dashboard_and_alerts_name_existing_metrics() {
        let ours = |word: &&str| (word.starts_with("assay_") || word.starts_with("process_")) && !word.ends_with('_');
        let words = |text: &str| -> BTreeSet<String> {
            text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(ours).map(str::to_owned).collect()
        };
        let described: BTreeSet<String> = catalogue::names().into_iter().map(str::to_owned).collect();
        let base = |name: &str| {
            let histogram = ["_bucket", "_count", "_sum"].into_iter().find_map(|suffix| name.strip_suffix(suffix));
            histogram.filter(|base| described.contains(*base)).unwrap_or(name).to_owned()
        };
        let (dashboard, alerts) =
            (include_str!("../../../.ops/grafana.json"), include_str!("../../../.ops/alerts.yml"));
        let shown: BTreeSet<String> = words(dashboard).iter().map(|name| base(name)).collect();
        assert_eq!(shown, described, "the dashboard shows every metric and no other");
        let watched: BTreeSet<String> = words(alerts).iter().map(|name| base(name)).collect();
        assert!(
            watched.len() > 15 && watched.is_subset(&described),
            "{:?}",
            watched.difference(&described).collect::<Vec<_>>()
        );
        let dashboard: serde_json::Value = serde_json::from_str(dashboard).unwrap();
        let kinds = dashboard["panels"].as_array().unwrap().iter().map(|panel| panel["type"].as_str().unwrap());
        let first: Vec<&str> = kinds.skip(1).take_while(|kind| *kind != "row").collect();
        assert!(
            first.len() >= 6 && first.iter().all(|kind| *kind == "stat"),
            "the present state comes first: {first:?}"
        );
    }

    #[test]
    fn metrics_are_rendered_with_their_help_text() {
        let metrics = Metrics::collect().unwrap();
        counter!("assay_task_panics_total", "task" => "rendered").increment(2);
        histogram!("assay_store_commit_seconds").record(0.003);
        let text = Metrics::collect().unwrap().render();
        for line in [
            "# HELP assay_task_panics_total Background tasks that panicked, by task",
            "assay_task_panics_total{task=\"rendered\"} 2",
            "assay_store_commit_seconds_bucket{le=\"0.005\"}",
            "process_resident_memory_bytes ",
            "process_open_fds ",
            "assay_uptime_seconds ",
            concat!("assay_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1"),
            "assay_nonces_lost_total 0",
            "assay_payments_total{outcome=\"refused\"} 0",
            "assay_submissions_total{status=\"failed\"} 0",
        ] {
            assert!(text.contains(line), "{line} not in\n{text}");
        }
        metrics.upkeep();
    }
}
