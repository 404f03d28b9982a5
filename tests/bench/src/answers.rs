//! Scores over HTTP, in requests per second. The server has one core, the load generator another.

use std::{env, fs, time::Duration};

use assay_tests::{
    process::{End, Guarded, Lines},
    service::{KEY, plugins, sandbox_config},
};

use super::{
    Effort, Failure,
    clock::{Rounds, median},
    cores,
    load::{CONNECTIONS, rate},
    server::{OPEN, READY},
    table::{Row, Target, Unit},
};

const STRETCH: Duration = Duration::from_millis(700);
const ADDRESS: &str = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045";

pub fn measure(effort: Effort) -> Result<Vec<Row>, Failure> {
    let cores = cores::available();
    let (server_core, load_core) = (cores[0], *cores.get(1).unwrap_or(&cores[0]));
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("assay.toml");
    fs::write(&file, sandbox_config(&plugins()).replace("{dir}", &folder.path().display().to_string()))?;
    let mut command = cores::command(server_core, &env::current_exe()?);
    command.arg("serve").arg(&file).env("NO_COLOR", "1").env_remove("RUST_LOG");
    let listening = |line: &str| line.strip_prefix("listening ").and_then(|address| address.parse().ok());
    let (server, address) = Guarded::start(&command, End::Kill, Lines::Keep, listening)?;
    let pid = server.pid().ok_or("the server has ended")?;

    let score = format!("/api/v2/sandbox/score/address/{ADDRESS}");
    let report = format!("/api/v2/sandbox/report/address/{ADDRESS}");
    let paths = [&score, READY, OPEN, &report];
    let mut failure = None;
    // CPU time of the server per response, in microseconds.
    let mut costs = vec![Vec::new(); paths.len()];
    let mut shares = costs.clone();
    let mut ask = |case: usize, warming: bool| {
        let before = cores::busy(pid);
        let rate = rate(Some(load_core), &[address], paths[case], KEY, STRETCH).map_or_else(
            |error| {
                failure = Some(format!("{}: {error}", paths[case]));
                f64::NAN
            },
            |load| load.rate,
        );
        if !warming {
            let share = (cores::busy(pid) - before) as f64 / STRETCH.as_nanos() as f64;
            shares[case].push(share);
            costs[case].push(share * 1e6 / rate);
        }
        rate
    };
    for case in 0..paths.len() {
        ask(case, true);
    }
    let rounds = Rounds::measured(effort.of(9), paths.len(), |case| ask(case, false));
    if let Some(failure) = failure {
        return Err(format!("{failure}; the server's last lines:\n{}", server.last_lines()).into());
    }
    let row = |what: &str, case, reference: &str, against, target| Row {
        what: what.to_owned(),
        measured: rounds.median(case),
        reference: reference.to_owned(),
        reference_value: rounds.median(against),
        unit: Unit::PerSecond,
        ratio: rounds.ratio(case, against),
        target,
        note: format!(
            "{CONNECTIONS} connections from core {load_core}; the server has core {server_core}, spends {:.1} us of it \
             on an answer and {:.1} us on the reference, and is busy {:.0} % and {:.0} % of the time",
            median(costs[case].clone()),
            median(costs[against].clone()),
            100.0 * median(shares[case].clone()),
            100.0 * median(shares[against].clone()),
        ),
    };
    Ok(vec![
        row("sandbox score over HTTP", 0, "a ready score serialised, key checked", 1, Target::AtLeast(0.5)),
        row("sandbox score over HTTP, other reference", 0, "a ready score serialised, no key", 2, Target::None),
        row("sandbox report over HTTP", 3, "a ready score serialised, key checked", 1, Target::None),
    ])
}
