//! One confined call of the credit champion, compared with the same call without one part of the confinement at a time;
//! and calls on two cores.

use std::{
    fs,
    hint::black_box,
    sync::{
        Barrier,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use assay_registry::{
    CreditModel,
    measure::{self, Reused, Setup},
};
use assay_tests::{native, service::plugins};

use super::{
    Effort, Failure,
    clock::{Case, Rounds},
    cores,
    subjects::{self, Subject},
    table::{Row, Target, Unit},
};

/// Time of one round of calls.
const STRETCH: Duration = Duration::from_millis(250);

fn champion() -> Result<Vec<u8>, Failure> {
    let file = plugins().join("credit-1.1.wasm");
    fs::read(&file).map_err(|error| format!("{}: {error}", file.display()).into())
}

/// A model in three configurations, and the native model as reference.
struct Setups {
    served: CreditModel,
    no_deadline: CreditModel,
    no_pool: CreditModel,
}

impl Setups {
    fn new() -> Result<Self, Failure> {
        let bytes = champion()?;
        let model = |setup| measure::model(&bytes, setup);
        Ok(Self {
            served: model(Setup::SERVED)?,
            no_deadline: model(Setup { epoch: false, ..Setup::SERVED })?,
            no_pool: model(Setup { pool: false, ..Setup::SERVED })?,
        })
    }
}

/// On one core.
pub fn one(effort: Effort) -> Result<Vec<Row>, Failure> {
    on_a_core(|| {
        let setups = Setups::new()?;
        let mut rows = Vec::new();
        for subject in [subjects::ordinary(), subjects::everywhere()] {
            rows.extend(compared(&setups, &subject, effort)?);
        }
        Ok(rows)
    })
}

fn compared(setups: &Setups, Subject { name, features }: &Subject, effort: Effort) -> Result<Vec<Row>, Failure> {
    let native_features = native::features(features);
    let native_score = credit_1_1::score(&native_features).map_err(|refusal| format!("{refusal:?}"))?.score;
    let mut reused = Reused::new(&setups.served)?;
    for said in [setups.served.score(features)?, setups.no_deadline.score(features)?, reused.score(features)?] {
        if said.score.get() != native_score {
            return Err(
                format!("the component says {} of {name} and the native model {native_score}", said.score).into()
            );
        }
    }
    let mut cases: Vec<Case<'_>> = vec![
        Box::new(|| drop(black_box(setups.served.score(black_box(features))))),
        Box::new(|| drop(black_box(reused.score(black_box(features))))),
        Box::new(|| drop(black_box(credit_1_1::score(black_box(&native_features))))),
        Box::new(|| drop(black_box(setups.no_deadline.score(black_box(features))))),
        Box::new(|| drop(black_box(setups.no_pool.score(black_box(features))))),
    ];
    let rounds = Rounds::of(effort.of(45), &mut cases);
    let row = |what: &str, reference: &str, case, target| Row {
        what: format!("{what}, {name}"),
        measured: rounds.median(0),
        reference: reference.to_owned(),
        reference_value: rounds.median(case),
        unit: Unit::Microseconds,
        ratio: rounds.ratio(0, case),
        target,
        note: String::new(),
    };
    Ok(vec![
        row("confined call of credit-1.1", "one instance, reused", 1, Target::AtMost(1.6)),
        row("with a deadline", "without epoch interruption", 3, Target::AtMost(1.1)),
        row("against native code", "the same model, native", 2, Target::None),
        row("out of the pool", "instances mapped on demand", 4, Target::None),
    ])
}

/// On two cores.
pub fn two(effort: Effort) -> Result<Vec<Row>, Failure> {
    let cores = cores::available();
    let [first, second, ..] = cores.as_slice() else { return Err("this machine has one core".into()) };
    let model = measure::model(&champion()?, Setup::SERVED)?;
    let Subject { name, features } = subjects::ordinary();
    let native_features = native::features(&features);
    let confined = || drop(black_box(model.score(black_box(&features))));
    let native = || drop(black_box(credit_1_1::score(black_box(&native_features))));
    let rounds = Rounds::measured(effort.of(9), 4, |case| match case {
        0 => rate(&[*first, *second], &confined),
        1 => rate(&[*first], &confined),
        2 => rate(&[*first, *second], &native),
        _ => rate(&[*first], &native),
    });
    let row = |what: &str, case, reference, target, note: String| Row {
        what: format!("{what}, {name}"),
        measured: rounds.median(case),
        reference: "one thread".to_owned(),
        reference_value: rounds.median(reference),
        unit: Unit::PerSecond,
        ratio: rounds.ratio(case, reference),
        target,
        note,
    };
    let best = rounds.ratio(2, 3);
    let note = format!(
        "in the same rounds native calls, which share nothing, went {best:.2} times as fast: what the machine had to \
         give"
    );
    Ok(vec![
        row("confined calls on two threads", 0, 1, Target::AtLeast(1.75), note),
        row("native calls on two threads", 2, 3, Target::None, String::new()),
    ])
}

/// Calls per second over all of `cores`, each with a thread of its own.
pub fn rate(cores: &[usize], call: &(impl Fn() + Sync)) -> f64 {
    let (ready, calls) = (Barrier::new(cores.len()), AtomicU64::new(0));
    thread::scope(|scope| {
        for core in cores {
            scope.spawn(|| {
                cores::tie(*core);
                ready.wait();
                let until = Instant::now() + STRETCH;
                let mut own = 0;
                while Instant::now() < until {
                    for _ in 0..16 {
                        call();
                    }
                    own += 16;
                }
                calls.fetch_add(own, Relaxed);
            });
        }
    });
    calls.load(Relaxed) as f64 / STRETCH.as_secs_f64()
}

/// Runs `work` on one core, and returns its result.
pub fn on_a_core<T: Send>(work: impl FnOnce() -> Result<T, Failure> + Send) -> Result<T, Failure> {
    let measured = thread::scope(|scope| {
        let tied = scope.spawn(|| {
            cores::tie(cores::available()[0]);
            work().map_err(|error| error.to_string())
        });
        tied.join()
    });
    Ok(measured.map_err(|_| "the measuring thread panicked")??)
}
