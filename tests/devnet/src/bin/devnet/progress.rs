//! Shows the progress of the start: bars on a terminal, one line for each stage otherwise.

use std::io::{IsTerminal, stderr};
use std::sync::Arc;

use assay_devnet::devnet::{BASE, ETHEREUM, Progress, Stage};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

/// A bar for each chain; none without a terminal.
pub struct Display {
    bars: Option<Arc<[(u64, ProgressBar); 2]>>,
}

impl Display {
    pub fn new() -> Self {
        if !stderr().is_terminal() {
            return Self { bars: None };
        }
        let all = MultiProgress::new();
        let bar = |id| {
            let style = ProgressStyle::with_template("{prefix} {bar:30} {msg}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            (id, all.add(ProgressBar::new(1).with_style(style).with_prefix(format!("chain {id:<5}"))))
        };
        Self { bars: Some(Arc::new([bar(ETHEREUM), bar(BASE)])) }
    }

    pub fn listener(&self) -> impl Fn(Progress) + Clone + Send + 'static {
        let bars = self.bars.clone();
        move |progress| match bars.as_deref().and_then(|bars| bars.iter().find(|(id, _)| *id == progress.chain_id)) {
            Some((_, bar)) => {
                bar.set_length(progress.total as u64);
                bar.set_position(progress.done as u64);
                bar.set_message(words(progress));
            }
            None if bars.is_some() || (progress.stage == Stage::Seeding && progress.done != 1) => {}
            None => eprintln!("chain {}: {}", progress.chain_id, words(progress)),
        }
    }

    pub fn finish(&self) {
        for (_, bar) in self.bars.iter().flat_map(|bars| bars.iter()) {
            bar.finish();
        }
    }
}

fn words(progress: Progress) -> String {
    match progress.stage {
        Stage::Starting => "starting the node (the first time, its package is fetched)".to_owned(),
        Stage::Deploying => "deploying the lending contracts".to_owned(),
        Stage::Seeding => format!("living through {} eventful days", progress.total),
        Stage::Furnishing => "adding names, agents and tokens".to_owned(),
        Stage::Ready => "ready".to_owned(),
    }
}
