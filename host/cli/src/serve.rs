//! `assay serve`: runs the server until SIGTERM or SIGINT.

use std::{io, net::SocketAddr, path::PathBuf};

use clap::Args;
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};
use tokio_util::sync::CancellationToken;

use super::{ConfigFile, Failure, first_party, print};
use assay::{
    app,
    config::{self, Config, KeyConfig, LogFormat},
};
use assay_access::draw;
use assay_domain::{Scope, Secret};

#[derive(Args)]
pub struct Serve {
    #[command(flatten)]
    file: ConfigFile,
    /// Serve the production paths, including agents and submissions, from the sandbox generator: no chain is read, and
    /// nothing costs units
    ///
    /// Needs no configuration file: without a shelf, it serves the models in this binary; without a key in the
    /// configuration, it creates one and prints it.
    #[arg(long)]
    sandbox: bool,
    /// Address and port to listen on, instead of `listen` in the configuration; port 0 picks a free port
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Key of the sandbox, at least 8 characters, instead of a new key at each start
    #[arg(long, requires = "sandbox")]
    key: Option<String>,
    /// TOML file with scenarios of your own: addresses and agents that the sandbox answers as you say
    #[arg(long, value_name = "FILE", requires = "sandbox")]
    scenarios: Option<PathBuf>,
}

pub fn run(serve: Serve) -> Result<(), Failure> {
    let mut config = serve.file.load()?;
    config.sandbox |= serve.sandbox;
    config.listen = serve.listen.unwrap_or(config.listen);
    if let Some(file) = &serve.scenarios {
        config.scenarios = config::scenarios(file).map_err(Failure::cannot)?;
    }
    let key = if config.sandbox { sandbox(&mut config, serve.key)? } else { None };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::cannot)?;
    // Dropped before the runtime, which sends the last traces.
    let _traces = {
        let _on_runtime = runtime.enter();
        start_telemetry(&config.telemetry)?
    };
    runtime.block_on(listen(config, key))
}

/// Prepares a sandbox: models, if there is no shelf, and a key, if none is configured or one is given. Returns that
/// key.
fn sandbox(config: &mut Config, given: Option<String>) -> Result<Option<String>, Failure> {
    if !config.models.shelf.exists() {
        let shelf = config.store.path.with_file_name("first-party");
        first_party::write(&shelf)?;
        config.models.shelf = shelf;
    }
    let key = match given {
        Some(key) if key.len() < 8 => return Err(Failure::cannot("--key is too short: give at least 8 characters")),
        Some(key) => key,
        None if config.access.keys.is_empty() => draw("sandbox").map_err(Failure::cannot)?.expose().to_owned(),
        None => return Ok(None),
    };
    config.access.keys.push(KeyConfig {
        name: "sandbox".to_owned(),
        key: Secret::new(key.clone()),
        scopes: vec![Scope::Read, Scope::Submit, Scope::Admin],
        units: None,
        rate: None,
    });
    Ok(Some(key))
}

/// The first commands with a sandbox, for the terminal. The log never has the key.
fn welcome(address: SocketAddr, key: &str) -> String {
    format!(
        "Sandbox on http://{address} with the key {key}\n\n  \
         curl -H 'Authorization: Bearer {key}' \\\n    \
         'http://{address}/api/v2/score/address/0x0000000000000000000000000000000000000001?include_factors=true'\n\n\
         Console: http://{address}/console   API: http://{address}/docs\n"
    )
}

fn start_telemetry(config: &config::Telemetry) -> Result<Option<assay_telemetry::Traces>, Failure> {
    let format = match config.log_format {
        LogFormat::Auto => None,
        LogFormat::Text => Some(assay_telemetry::Format::Text),
        LogFormat::Json => Some(assay_telemetry::Format::Json),
    };
    let collector = config.traces.as_ref().map(|traces| assay_telemetry::Collector {
        endpoint: traces.endpoint.expose().to_owned(),
        headers: traces.headers.iter().map(|(name, value)| (name.clone(), value.expose().to_owned())).collect(),
        sample: traces.sample,
    });
    assay_telemetry::start(&config.log, format, collector.as_ref()).map_err(Failure::cannot)
}

async fn listen(config: Config, key: Option<String>) -> Result<(), Failure> {
    let listener =
        TcpListener::bind(config.listen).await.map_err(|error| Failure::cannot(bind_error(config.listen, &error)))?;
    if let Some(key) = key {
        print(welcome(listener.local_addr().map_err(Failure::cannot)?, &key))?;
    }
    let cancel = CancellationToken::new();
    stop_on_signal(cancel.clone()).map_err(Failure::cannot)?;
    app::serve(config, listener, cancel).await.map_err(Failure::cannot)
}

/// Why the address cannot be used, and what to do.
fn bind_error(address: SocketAddr, error: &io::Error) -> String {
    let advice = match error.kind() {
        io::ErrorKind::AddrInUse => {
            "another process uses this port. Stop it, or set another port with --listen, `listen` or ASSAY__LISTEN; \
             port 0 picks a free one"
        }
        io::ErrorKind::PermissionDenied => {
            "ports below 1024 need a privilege. Set `listen` (or ASSAY__LISTEN) to a higher one"
        }
        io::ErrorKind::AddrNotAvailable => {
            "this machine has no such address. Set `listen` (or ASSAY__LISTEN) to one that it has"
        }
        _ => return format!("cannot listen on {address}: {error}"),
    };
    format!("cannot listen on {address}: {advice}")
}

/// The first SIGTERM or SIGINT lets requests in flight finish, the second does not wait.
fn stop_on_signal(cancel: CancellationToken) -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    assay_tasks::spawn("signals", async move {
        let mut next = async || {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        };
        next().await;
        tracing::info!("stopping: requests in flight may finish; a second signal stops at once");
        cancel.cancel();
        next().await;
        tracing::warn!("stopped at once");
        std::process::exit(1);
    });
    Ok(())
}
