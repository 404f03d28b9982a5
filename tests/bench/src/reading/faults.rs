//! Scores while endpoints are slow, limited, silent, or without old state: which answers are wrong and final, and how
//! long a client waits for the right one.

use std::time::Duration;

use alloy::primitives::Address;
use assay_tests::proxy::{
    Proxy, Reply,
    distant::{Counted, Limit, Manner, Meter, Traffic},
};

use super::{
    answer::Truth,
    crowd::{Counts, Crowd, Wait},
    world::{SHORT_LIVES, World},
};
use crate::{
    Effort, Failure,
    table::{Row, Target, Unit},
};

/// Time that each request takes, unless the fault is that it takes more.
const DELAY: Duration = Duration::from_millis(50);
const SLOW: Duration = Duration::from_millis(750);
/// What an endpoint with a limit takes in a second.
const PER_SECOND: u32 = 10;
/// Blocks whose state a full node keeps.
const KEPT: u64 = 128;
/// Requests in progress.
const AT_ONCE: usize = 16;
/// Greatest share of requests that a limit may refuse, in percent.
const REFUSED: f64 = 5.0;
/// Polls until a score is right.
const POLLS: f64 = 3.0;

/// The first wallet that is asked for: its score needs everything that is read.
const FIRST: &str = "borrower";

/// An endpoint that is listed before the good one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum First {
    None,
    /// Answers 503.
    Failing,
    /// Nobody listens.
    Refusing,
    /// Takes requests and never answers.
    Silent,
}

/// One way in which endpoints misbehave.
struct Fault {
    what: &'static str,
    manner: fn(&mut Manner),
    first: First,
    /// New wallets that are asked for at once.
    wallets: usize,
    /// Every score can become final.
    settles: bool,
}

/// What a server made of a fault.
struct Outcome {
    wait: Wait,
    counts: Counts,
    traffic: Traffic,
    /// Calls to the endpoint that is listed first.
    first_asked: usize,
}

fn limited(counted: Counted, retry_after: Option<u64>) -> Option<Limit> {
    Some(Limit { counted, per_second: PER_SECOND, retry_after })
}

/// Nothing, to compare with.
const NONE: Fault = Fault { what: "no fault", manner: |_| {}, first: First::None, wallets: 1, settles: true };
const FAULTS: [Fault; 9] = [
    Fault { what: "750 ms a call", manner: |manner| manner.delay = SLOW, ..NONE },
    Fault { what: "10 requests a second", manner: |manner| manner.limit = limited(Counted::Requests, None), ..NONE },
    Fault { what: "10 calls a second", manner: |manner| manner.limit = limited(Counted::Calls, Some(1)), ..NONE },
    Fault { what: "503 first", first: First::Failing, ..NONE },
    Fault { what: "refused first", first: First::Refusing, ..NONE },
    Fault { what: "black hole first", first: First::Silent, ..NONE },
    Fault { what: "no old state", manner: |manner| manner.kept = Some(KEPT), settles: false, ..NONE },
    Fault { what: "16 wallets at once", wallets: 16, ..NONE },
    Fault { what: "100 wallets at once", wallets: 100, ..NONE },
];

pub async fn measure(world: &World, effort: Effort) -> Result<Vec<Row>, Failure> {
    let truth = Truth::of(world).await?;
    let mut rows = Vec::new();
    let undisturbed = NONE.run(world, &truth, effort).await?;
    for fault in &FAULTS {
        eprintln!("        {}", fault.what);
        let outcome = fault.run(world, &truth, effort).await?;
        rows.extend(fault.rows(&outcome, &undisturbed));
    }
    Ok(rows)
}

impl First {
    /// Its URL, with the server behind it where there is one.
    async fn start(self, world: &World) -> Option<(String, Option<Proxy>)> {
        let reply = match self {
            Self::None => return None,
            Self::Refusing => return Some(("http://127.0.0.1:9".to_owned(), None)),
            Self::Failing => Reply::Status(503, None),
            Self::Silent => Reply::Hold,
        };
        let proxy = Proxy::start(world.chain().url()).await;
        proxy.rule(move |_| reply.clone());
        Some((proxy.url.clone(), Some(proxy)))
    }
}

impl Fault {
    async fn run(&self, world: &World, truth: &Truth, effort: Effort) -> Result<Outcome, Failure> {
        let meter = Meter::default();
        let change = |manner: &mut Manner| {
            manner.delay = DELAY;
            (self.manner)(manner);
        };
        let endpoint = world.endpoint(world.node(), &meter, change).await;
        let first = self.first.start(world).await;
        let urls = first.iter().map(|(url, _)| url.clone()).chain([endpoint.url.clone()]).collect();
        let service = world.serve(&[(1, urls)], SHORT_LIVES)?;
        let crowd = Crowd::new(service.keyed(), truth);
        let known: Vec<Address> = world.devnet.wallets.iter().map(|wallet| wallet.address).collect();
        let strangers = (0..=u8::MAX).map(|n| Address::left_padding_from(&[0xa5, n]));
        let others = known.iter().copied().chain(strangers).filter(|wallet| *wallet != world.wallet(FIRST));
        let wallets: Vec<Address> = [world.wallet(FIRST)].into_iter().chain(others).take(self.wallets).collect();
        let wait = crowd.until_right(&wallets).await;
        let (answers, longest) = if effort.quick { (100, 30) } else { (1_000, 300) };
        let left = answers - crowd.counts().answers.min(answers);
        crowd.ask_all(&known, left, AT_ONCE.max(self.wallets), Duration::from_secs(longest)).await;
        let first_asked = first.and_then(|(_, proxy)| proxy).map_or(0, |proxy| proxy.take().len());
        Ok(Outcome { wait, counts: crowd.counts(), traffic: meter.take(), first_asked })
    }

    fn rows(&self, outcome: &Outcome, undisturbed: &Outcome) -> Vec<Row> {
        let Outcome { counts, traffic, first_asked, .. } = outcome;
        let row = |of: &str, unit, figure: fn(&Outcome) -> f64, target| Row {
            what: format!("{}: {of}", self.what),
            measured: figure(outcome),
            reference: "no fault".to_owned(),
            reference_value: figure(undisturbed),
            unit,
            ratio: if unit == Unit::Milliseconds { figure(outcome) / figure(undisturbed) } else { f64::NAN },
            target,
            note: String::new(),
        };
        let note = format!(
            "{} answers: {} wrong and final, {} provisional, {} errors; {} requests with {} calls, {first_asked} calls \
             to the endpoint listed first",
            counts.answers, counts.wrong, counts.open, counts.failed, traffic.requests, traffic.calls
        );
        let (none, polls) = (Target::None, if self.settles { Target::Within(POLLS) } else { Target::None });
        let wrong = |outcome: &Outcome| share(outcome.counts.wrong, outcome.counts.answers);
        let mut rows = vec![
            Row { note, ..row("wrong and final", Unit::Percent, wrong, Target::Within(0.0)) },
            row("errors", Unit::Percent, |outcome| share(outcome.counts.failed, outcome.counts.answers), none),
            row("polls until right", Unit::Count, |outcome| outcome.wait.until_end(outcome.wait.polls as f64), polls),
            row(
                "time until right",
                Unit::Milliseconds,
                |outcome| outcome.wait.until_end(outcome.wait.milliseconds),
                none,
            ),
        ];
        if traffic.refused > 0 {
            let refused = |outcome: &Outcome| share(outcome.traffic.refused, outcome.traffic.requests);
            rows.push(row("requests refused", Unit::Percent, refused, Target::Within(REFUSED)));
        }
        rows
    }
}

/// In percent.
fn share(part: usize, of: usize) -> f64 {
    100.0 * part as f64 / of.max(1) as f64
}
