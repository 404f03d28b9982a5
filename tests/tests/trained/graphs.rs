//! Random ONNX graphs: the model answers as onnxruntime does, or the graph is refused.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path, process::Command, thread};

use assay_author::{Pack, Unit, pack};
use assay_domain::{
    Coverage,
    features::{ChainFeatures, Features},
};
use assay_tests::python;
use base64::Engine as _;
use serde::Deserialize;

use super::{declarations, soak};

/// Graphs of the ordinary run, and of the soak.
const GRAPHS: [usize; 2] = [1_000, 100_000];
/// Graphs that one process makes.
const AT_ONCE: usize = 1_000;

#[derive(Deserialize)]
struct Made {
    model: String,
    features: usize,
    imputes: bool,
    operators: Vec<String>,
    probability: bool,
    rows: Vec<Vec<Option<f64>>>,
    expected: Vec<Option<f64>>,
    /// How far the answer moves if every figure moves by a millionth.
    moved: Vec<Option<f64>>,
}

/// What became of the graphs with one operator.
#[derive(Default, Clone)]
struct Counts {
    read: usize,
    refused: usize,
    differ: Vec<String>,
    reasons: BTreeMap<String, usize>,
    read_operators: BTreeMap<String, usize>,
}

/// The feature of number `at` is the dollars on the chain of this number.
fn wallet(row: &[Option<f64>]) -> Features {
    let chain = |(at, figure): (usize, &Option<f64>)| {
        let assets_usd = (*figure)?;
        Some(ChainFeatures {
            chain_id: at as u64 + 1,
            coverage: Coverage::Complete,
            first_transaction: None,
            last_transaction: None,
            transactions: 1,
            transfers: None,
            counterparties: None,
            active_days: None,
            active_hours: None,
            median_gap: None,
            assets_usd,
            supplied_usd: 0.0,
            borrowed_usd: 0.0,
        })
    };
    // A wallet without any chain has no activity.
    let own = ChainFeatures { chain_id: 99, ..chain((0, &Some(0.0))).expect("a chain") };
    let chains = row.iter().enumerate().filter_map(chain).chain([own]).collect();
    Features { as_of: 1_750_000_000, chains, ..Features::default() }
}

fn declaration(made: &Made, score: &str) -> String {
    let mut text = format!(
        "version = \"1.0\"\ntitle = \"t\"\ntrained = \"graph.onnx\"\ntable = \"matrix.csv\"\n[score]\n\
         {score}points_to_double = 60\nanchor_score = 700\nanchor_odds = 4\n\
         deciles = [520, 580, 630, 670, 710, 750, 790, 840, 900]\n"
    );
    for at in 0..made.features {
        let is = format!("max(chains.assets_usd where chain_id == {})", at + 1);
        let is = if made.imputes { is } else { format!("or_else({is}, 0)") };
        let name = format!("f{at}");
        let _ = write!(text, "[[feature]]\nname = \"{name}\"\nis = \"{is}\"\nfactor = \"{name}\"\n");
        let _ = write!(text, "[[factor]]\nlabel = \"{name}\"\ntext = \"{{{name}}}\"\n");
    }
    text
}

/// The packed graph. Its file does not say whether a figure is log-odds, so the declaration does.
fn packed(folder: &Path, made: &Made) -> Result<Pack, String> {
    let cell = |figure: &Option<f64>| figure.map_or_else(String::new, |figure| figure.to_string());
    let row = |row: &Vec<Option<f64>>| row.iter().map(cell).collect::<Vec<_>>().join(",");
    let head = (0..made.features).map(|at| format!("f{at}")).collect::<Vec<_>>().join(",");
    let lines: Vec<_> = std::iter::once(head).chain(made.rows.iter().map(row)).collect();
    fs::write(folder.join("matrix.csv"), lines.join("\n") + "\n").expect("the table");
    let bytes = base64::engine::general_purpose::STANDARD.decode(&made.model).expect("base64");
    fs::write(folder.join("graph.onnx"), bytes).expect("the graph");
    let path = folder.join("model.toml");
    let attempt = |score: &str| {
        fs::write(&path, declaration(made, score)).expect("the declaration");
        pack(&path).map_err(|fault| fault.to_string())
    };
    attempt("margin = \"log-odds-of-bad\"\n").or_else(|why| {
        attempt("margin = \"log-odds-of-bad\"\ntrees_predict = \"log-odds\"\n")
            .map_err(|again| if why.contains("trees_predict") { again } else { why })
    })
}

fn compared(folder: &Path, line: &str, counts: &mut Counts) {
    let made: Made = serde_json::from_str(line).expect("a graph");
    let packed = match packed(folder, &made) {
        Ok(packed) => packed,
        Err(why) => {
            counts.refused += 1;
            let why = why.split_once(": ").map_or(why.as_str(), |(_, why)| why);
            let why: String = why.chars().filter(|letter| !letter.is_ascii_digit()).take(70).collect();
            *counts.reasons.entry(why).or_default() += 1;
            return;
        }
    };
    counts.read += 1;
    for operator in &made.operators {
        *counts.read_operators.entry(operator.clone()).or_default() += 1;
    }
    let unit = if made.probability { Unit::Probability } else { Unit::Margin };
    for ((row, expected), moved) in made.rows.iter().zip(&made.expected).zip(&made.moved) {
        let own = packed.predicts(unit, &wallet(row)).map(|own| own.value);
        // A model gives no wallet a margin that is not finite.
        let (Some(own), Some(expected)) = (own, *expected) else {
            if own.is_some_and(f64::is_finite) || expected.is_some() {
                counts.differ.push(format!("{own:?} and {expected:?} of {row:?}, {:?}: {line}", made.operators));
                return;
            }
            continue;
        };
        let size = expected.abs().max(1.0);
        // Where a step is crossed, the move says nothing of the precision.
        let moved = moved.filter(|moved| *moved < 1e-2 * size).unwrap_or(0.0);
        if (own - expected).abs() > 2e-5 * size + 20.0 * moved {
            counts.differ.push(format!("{own} and {expected} of {row:?}, {:?}: {line}", made.operators));
            return;
        }
    }
}

/// Makes graphs from `seed` on and compares them.
fn share(seeds: impl Iterator<Item = usize>) -> Counts {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, mut counts) = (folder.path().join("graphs.jsonl"), Counts::default());
    for seed in seeds {
        let done = Command::new(python::interpreter().expect("Python"))
            .arg(declarations().join("graphs.py"))
            .arg(&file)
            .args([AT_ONCE.to_string(), seed.to_string()])
            .output()
            .expect("Python starts");
        assert!(done.status.success(), "seed {seed}: {}", String::from_utf8_lossy(&done.stderr));
        let text = fs::read_to_string(&file).expect("graphs");
        assert_eq!(text.lines().count(), AT_ONCE);
        text.lines().for_each(|line| compared(folder.path(), line, &mut counts));
    }
    counts
}

#[test]
fn a_random_graph_answers_as_the_runtime_of_onnx_or_is_refused() {
    let graphs = std::env::var("ASSAY_GRAPHS").ok().and_then(|count| count.parse().ok());
    let parts = graphs.unwrap_or(GRAPHS[usize::from(soak())]).div_ceil(AT_ONCE);
    let workers = thread::available_parallelism().map_or(1, usize::from).min(parts);
    let shares: Vec<Counts> = thread::scope(|scope| {
        let spawn = |worker| scope.spawn(move || share((worker..parts).step_by(workers)));
        let workers: Vec<_> = (0..workers).map(spawn).collect();
        workers.into_iter().map(|worker| worker.join().expect("a share")).collect()
    });
    let mut all = Counts::default();
    for counts in shares {
        all.read += counts.read;
        all.refused += counts.refused;
        all.differ.extend(counts.differ);
        counts.reasons.into_iter().for_each(|(why, count)| *all.reasons.entry(why).or_default() += count);
        counts
            .read_operators
            .into_iter()
            .for_each(|(name, count)| *all.read_operators.entry(name).or_default() += count);
    }
    let graphs = all.read + all.refused;
    println!("{graphs} graphs: {} read, {} refused, {} differ", all.read, all.refused, all.differ.len());
    let mut reasons: Vec<_> = all.reasons.iter().collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    reasons.iter().take(12).for_each(|(why, count)| println!("{count:>7} {why}"));
    println!("read by operator: {:?}", all.read_operators);
    let shown = |differ: &String| differ.chars().take(3_000).collect::<String>();
    assert!(all.differ.is_empty(), "{}", all.differ.iter().take(3).map(shown).collect::<Vec<_>>().join("\n\n"));
    assert!(all.read * 10 >= graphs * 3, "only {} of {graphs} are read", all.read);
    for name in [
        "Add",
        "ArrayFeatureExtractor",
        "BatchNormalization",
        "Cast",
        "Clip",
        "Concat",
        "Constant",
        "Div",
        "Dropout",
        "Flatten",
        "Gather",
        "Gemm",
        "Identity",
        "Imputer",
        "LinearClassifier",
        "LinearRegressor",
        "MatMul",
        "Mul",
        "Normalizer",
        "OneHotEncoder",
        "Relu",
        "Reshape",
        "Scaler",
        "Sigmoid",
        "Softmax",
        "Sub",
        "Tanh",
        "TreeEnsembleClassifier",
        "TreeEnsembleRegressor",
    ] {
        assert!(all.read_operators.contains_key(name), "no graph with {name} is read");
    }
}
