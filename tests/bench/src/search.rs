//! Searches of all agents, compared with a scan of the same text for the same words.

use std::{env, fs::File, hint::black_box, process::Command, time::Instant};

use assay_agents::AgentIndex;
use assay_domain::{Address, Agent, AgentMetadata};
use serde::Deserialize;

use super::{
    Effort, Failure,
    clock::Rounds,
    table::{Row, Target, Unit},
};

const AGENTS: usize = 60_000;
/// Searches of each query in one round. The figure is their 99th percentile.
const REPEATS: usize = 20;
/// Environment variable with a file of agents, one JSON object on each line, gzipped where the name ends in `.gz`.
const FILE: &str = "ASSAY_BENCH_AGENTS";

/// Queries that match most agents, some, one and none.
const QUERIES: [&str; 10] = [
    "a",
    "agent",
    "AGENT #1",
    "defi",
    "lending protocol",
    "Trading",
    "агент",
    "エージェント",
    "no agent says this",
    "zzzz",
];

#[derive(Deserialize)]
struct Line {
    name: String,
    description: String,
    image: String,
}

pub fn measure(effort: Effort) -> Result<Vec<Row>, Failure> {
    let (lines, source) = lines()?;
    let agent = |(id, line): (u64, &Line)| {
        let (name, description, image) =
            (Some(line.name.clone()), Some(line.description.clone()), Some(line.image.clone()));
        Agent { id, owner: Address::ZERO, metadata: Some(AgentMetadata { name, description, image }) }
    };
    let built = Instant::now();
    let index = AgentIndex::new((1..).zip(lines.iter().cycle().take(AGENTS)).map(agent).collect());
    let built = built.elapsed();
    let text: Vec<String> = lines
        .iter()
        .cycle()
        .take(AGENTS)
        .map(|line| format!("{}\0{}\0", line.name, line.description).to_lowercase())
        .collect();
    let text = text.concat();
    // The 99th percentile of all queries together, in milliseconds.
    let slow = |case: &dyn Fn(&str) -> usize| {
        let mut times: Vec<f64> = (0..REPEATS)
            .flat_map(|_| QUERIES)
            .map(|query| {
                let started = Instant::now();
                black_box(case(black_box(query)));
                started.elapsed().as_secs_f64() * 1e3
            })
            .collect();
        times.sort_by(f64::total_cmp);
        times[times.len() * 99 / 100]
    };
    let rounds = Rounds::measured(effort.of(9), 2, |case| match case {
        0 => slow(&|query| index.search(query, 0, 20).total as usize),
        _ => slow(&|query| text.matches(&query.to_lowercase()).count()),
    });
    let found: Vec<String> =
        QUERIES.iter().map(|query| format!("{query:?} {}", index.search(query, 0, 20).total)).collect();
    Ok(vec![Row {
        what: format!("search over {AGENTS} agents, p99"),
        measured: rounds.median(0),
        reference: "str::matches over the same text, p99".to_owned(),
        reference_value: rounds.median(1),
        unit: Unit::Milliseconds,
        ratio: rounds.ratio(0, 1),
        target: Target::Within(10.0),
        note: format!(
            "{source}, {:.1} MB of text, indexed in {} ms; found: {}",
            text.len() as f64 / 1e6,
            built.as_millis(),
            found.join(", ")
        ),
    }])
}

/// The agents of the file in the environment variable, or generated agents.
fn lines() -> Result<(Vec<Line>, String), Failure> {
    let Some(path) = env::var_os(FILE) else { return Ok((made_up(), "made-up agents".to_owned())) };
    File::open(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let text = if path.to_string_lossy().ends_with(".gz") {
        Command::new("gzip").arg("-dc").arg(&path).output()?.stdout
    } else {
        std::fs::read(&path)?
    };
    let lines: Vec<Line> = String::from_utf8(text)?
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()
        .map_err(|error| error.to_string())?;
    if lines.is_empty() {
        return Err(format!("{}: no agents", path.display()).into());
    }
    let source = format!("{} agents of {FILE}, repeated", lines.len());
    Ok((lines, source))
}

fn made_up() -> Vec<Line> {
    const WORDS: [&str; 16] = [
        "lending",
        "protocol",
        "agent",
        "trading",
        "data",
        "oracle",
        "DeFi",
        "analysis",
        "агент",
        "помощник",
        "エージェント",
        "価格",
        "risk",
        "scores",
        "the",
        "autonomous",
    ];
    let mut state = 1u64;
    let mut word = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        WORDS[(state >> 33) as usize % WORDS.len()]
    };
    let mut words = |count: usize| (0..count).map(|_| word()).collect::<Vec<_>>().join(" ");
    (0..AGENTS)
        .map(|n| Line { name: format!("Agent #{n} {}", words(2)), description: words(n % 50), image: String::new() })
        .collect()
}
