//! `assay health`: calls `/readyz` and turns the answer into an exit code, for containers without a shell.

use std::{net::SocketAddr, time::Duration};

use clap::Args;

use super::{ConfigFile, Failure, remote};

/// Timeout of the request.
const TIMEOUT: Duration = Duration::from_secs(3);

#[derive(Args)]
pub struct Health {
    #[command(flatten)]
    config: ConfigFile,
    /// Address and port of the server, instead of `listen` in the configuration; as `serve --listen`
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
}

pub fn run(health: &Health) -> Result<(), Failure> {
    let mut address = match health.listen {
        Some(address) => address,
        None => health.config.load()?.listen,
    };
    if address.ip().is_unspecified() {
        // The server listens on every address, so also on the loopback address.
        address = SocketAddr::new(
            if address.is_ipv4() { [127, 0, 0, 1].into() } else { [0, 0, 0, 0, 0, 0, 0, 1].into() },
            address.port(),
        );
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::cannot)?;
    runtime.block_on(async {
        let no_answer =
            |error: reqwest::Error| Failure::no(format!("no server answers at {address}: {}", error.without_url()));
        let client = reqwest::Client::builder().timeout(TIMEOUT).no_proxy().build().map_err(Failure::cannot)?;
        let answer = client.get(format!("http://{address}/readyz")).send().await.map_err(no_answer)?;
        let ready = answer.status().is_success();
        let body = String::from_utf8_lossy(&remote::body(answer).await?).into_owned();
        if ready { super::print(body) } else { Err(Failure::no(body)) }
    })
}
