//! What a score costs its endpoints: how many requests follow one another, requests, calls and bytes, for a wallet that
//! is new, known, busy or empty, and for a name, on one chain and on twelve.

use std::time::Duration;

use alloy::primitives::Address;
use assay_tests::{
    proxy::distant::{Distant, Meter},
    service::{Caller, Service},
};
use tokio::time::Instant;

use super::{
    answer::final_word,
    cost::{Case, Cost, width},
    script,
    world::{SHORT_LIVES, STRANGERS, World, path},
};
use crate::{
    Effort, Failure,
    subjects::CHAINS,
    table::{Row, Target},
};

/// Time that each request takes beside the node's own.
const DELAY: Duration = Duration::from_millis(100);
/// An endpoint without requests for this long has none that follow from the last read.
const PAUSE: Duration = Duration::from_millis(400);
/// Read first, so that what all wallets share is known: markets, oracles, prices.
const PRIMER: &str = "saver";
/// A server and the endpoints of its chains, far away.
struct Scene {
    _endpoints: Vec<Distant>,
    meter: Meter,
    _service: Service,
    api: Caller,
}

/// Endpoints of the first `chains` chains.
async fn endpoints(world: &World, chains: usize, meter: &Meter) -> Vec<Distant> {
    let (node, mut endpoints) = (world.node(), Vec::new());
    for id in &CHAINS[..chains] {
        let far = world.endpoint(node.clone(), meter, |manner| (manner.delay, manner.chain) = (DELAY, Some(*id))).await;
        endpoints.push(far);
    }
    endpoints
}

impl Scene {
    /// A server that has read the primer.
    async fn start(world: &World, chains: usize, lives: &str) -> Result<Self, Failure> {
        let meter = Meter::default();
        let endpoints = endpoints(world, chains, &meter).await;
        let seen: Vec<_> =
            CHAINS.iter().zip(&endpoints).map(|(id, endpoint)| (*id, vec![endpoint.url.clone()])).collect();
        let service = world.serve(&seen, lives)?;
        let scene = Self { _endpoints: endpoints, meter, api: service.keyed(), _service: service };
        scene.read(&path(world.wallet(PRIMER))).await?;
        Ok(scene)
    }

    async fn read(&self, path: &str) -> Result<Cost, Failure> {
        self.meter.quiet(PAUSE).await;
        self.meter.take();
        let started = Instant::now();
        let answer = self.api.get(path).await;
        let milliseconds = started.elapsed().as_secs_f64() * 1e3;
        let traffic = self.meter.take();
        if !matches!(answer.status.as_u16(), 200 | 404) {
            return Err(format!("{path} cannot be read: {} {}", answer.status, answer.text).into());
        }
        self.meter.quiet(PAUSE).await;
        let later = self.meter.take().calls;
        Ok(Cost { traffic, milliseconds, later, is_final: final_word(&answer).is_some() })
    }
}

pub async fn measure(world: &World, effort: Effort) -> Result<Vec<Row>, Failure> {
    let rounds = effort.of(STRANGERS.len());
    let (narrow, wide) =
        (Scene::start(world, 1, SHORT_LIVES).await?, Scene::start(world, CHAINS.len(), SHORT_LIVES).await?);
    let mut first = [Vec::new(), Vec::new()];
    for name in &STRANGERS[..rounds] {
        first[0].push(narrow.read(&path(world.wallet(name))).await?);
        first[1].push(wide.read(&path(world.wallet(name))).await?);
    }
    let times = first.each_ref().map(|costs| costs.iter().map(|cost| cost.milliseconds).collect::<Vec<_>>());
    let again = [again(world, &narrow, rounds).await?, again(world, &wide, rounds).await?];
    let mut empty = Vec::new();
    for n in 0..rounds {
        empty.push(narrow.read(&path(Address::repeat_byte(0x51 + n as u8))).await?);
    }
    let (fewest_calls, fewest_trips) =
        (sparing(world, "calls", rounds).await?, sparing(world, "rounds", rounds).await?);
    let by_script = Script { world, rounds: effort.of(3) };
    let stranger = world.wallet(STRANGERS[0]);
    let (single, twelve) = (by_script.read(1, stranger).await?, by_script.read(CHAINS.len(), stranger).await?);
    let case =
        |what: &str, most, costs, script| Case { what: what.to_owned(), target: Target::Within(most), costs, script };
    let [first_narrow, first_wide] = first;
    let [again_narrow, again_wide] = again;
    let busy = world.wallet("busy");
    let cases = [
        case("first read, 1 chain", 7.0, first_narrow, single.clone()),
        case("first read, 1 chain, fewest round trips", 5.0, fewest_trips, single.clone()),
        Case {
            what: "first read, 1 chain, fewest calls".to_owned(),
            target: Target::None,
            costs: fewest_calls,
            script: single.clone(),
        },
        case("known wallet, 1 chain", 2.0, again_narrow, single),
        case("first read, 3,000 events", 7.0, busy_reads(world, effort).await?, by_script.read(1, busy).await?),
        case("first read, empty wallet", 5.0, empty, by_script.read(1, Address::repeat_byte(0x51)).await?),
        case("a name, its wallet cached", 3.0, by_name(world, rounds).await?, by_script.resolve().await?),
        case("first read, 12 chains", 7.0, first_wide, twelve.clone()),
        case("known wallet, 12 chains", 2.0, again_wide, twelve),
    ];
    let mut rows: Vec<Row> = cases.iter().flat_map(Case::rows).collect();
    rows.push(width(&times));
    Ok(rows)
}

/// First reads on one chain by a server that spares what `spare` says.
async fn sparing(world: &World, spare: &str, rounds: usize) -> Result<Vec<Cost>, Failure> {
    let scene = Scene::start(world, 1, &format!("\n[reading]\nspare = \"{spare}\"\n{SHORT_LIVES}")).await?;
    let mut costs = Vec::new();
    for name in &STRANGERS[..rounds] {
        costs.push(scene.read(&path(world.wallet(name))).await?);
    }
    Ok(costs)
}

/// Reads of a wallet that is known, each at a new block.
async fn again(world: &World, scene: &Scene, rounds: usize) -> Result<Vec<Cost>, Failure> {
    let path = path(world.wallet("borrower"));
    scene.read(&path).await?;
    let mut costs = Vec::new();
    for _ in 0..rounds {
        world.chain().mine(1).await?;
        costs.push(scene.read(&path).await?);
    }
    Ok(costs)
}

/// First reads of the wallet with three thousand events, by one server each.
async fn busy_reads(world: &World, effort: Effort) -> Result<Vec<Cost>, Failure> {
    let mut costs = Vec::new();
    for _ in 0..effort.of(3) {
        let scene = Scene::start(world, 1, SHORT_LIVES).await?;
        costs.push(scene.read(&path(world.wallet("busy"))).await?);
    }
    Ok(costs)
}

/// Reads by name of wallets whose score is cached: the rest is the resolution.
async fn by_name(world: &World, rounds: usize) -> Result<Vec<Cost>, Failure> {
    let scene = Scene::start(world, 1, "").await?;
    let mut costs = Vec::new();
    for label in &STRANGERS[..rounds] {
        scene.read(&path(world.wallet(label))).await?;
        costs.push(scene.read(&format!("/api/v2/score/address/{label}.eth")).await?);
    }
    // The first one also asks what the resolver can do, which is kept.
    Ok(costs.split_off(1))
}

/// The script at endpoints of its own.
struct Script<'a> {
    world: &'a World,
    rounds: usize,
}

impl Script<'_> {
    async fn read(&self, chains: usize, wallet: Address) -> Result<Vec<Cost>, Failure> {
        let meter = Meter::default();
        let endpoints = endpoints(self.world, chains, &meter).await;
        let mut costs = Vec::new();
        for _ in 0..self.rounds {
            costs.push(script::read(self.world, &endpoints, &meter, wallet).await?);
        }
        Ok(costs)
    }

    async fn resolve(&self) -> Result<Vec<Cost>, Failure> {
        let meter = Meter::default();
        let endpoints = endpoints(self.world, 1, &meter).await;
        Ok(vec![script::resolve(self.world, &endpoints, &meter).await?])
    }
}
