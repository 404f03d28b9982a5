//! `assay health`: the exit code of `/readyz`, where there is no shell that could ask.

use std::{net::SocketAddr, time::Duration};

use clap::Args;

use super::{ConfigFile, Failure};

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(3);

#[derive(Args)]
pub struct Health {
    #[command(flatten)]
    config: ConfigFile,
}

pub fn run(health: &Health) -> Result<(), Failure> {
    let mut address = health.config.load()?.listen;
    if address.ip().is_unspecified() {
        // It listens everywhere, here too.
        address = SocketAddr::new(
            if address.is_ipv4() { [127, 0, 0, 1].into() } else { [0, 0, 0, 0, 0, 0, 0, 1].into() },
            address.port(),
        );
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::cannot)?;
    runtime.block_on(async {
        let silent =
            |error: reqwest::Error| Failure::no(format!("no server answers at {address}: {}", error.without_url()));
        let client = reqwest::Client::builder().timeout(PATIENCE).no_proxy().build().map_err(Failure::cannot)?;
        let answer = client.get(format!("http://{address}/readyz")).send().await.map_err(silent)?;
        let ready = answer.status().is_success();
        let said = answer.text().await.map_err(silent)?;
        if ready { super::print(said) } else { Err(Failure::no(said)) }
    })
}
