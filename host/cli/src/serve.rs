//! `assay serve`: runs the server until SIGTERM or SIGINT.

use std::{io, net::SocketAddr};

use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};
use tokio_util::sync::CancellationToken;

use super::{ConfigFile, Failure};
use assay::{
    app,
    config::{self, Config, LogFormat},
    telemetry,
};

pub fn run(file: &ConfigFile, sandbox: bool) -> Result<(), Failure> {
    let mut config = file.load()?;
    config.sandbox |= sandbox;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::cannot)?;
    // Dropped before the runtime, which sends the last traces.
    let _traces = {
        let _on_runtime = runtime.enter();
        start_telemetry(&config.telemetry)?
    };
    runtime.block_on(serve(config))
}

fn start_telemetry(config: &config::Telemetry) -> Result<Option<telemetry::Traces>, Failure> {
    let format = match config.log_format {
        LogFormat::Auto => None,
        LogFormat::Text => Some(telemetry::Format::Text),
        LogFormat::Json => Some(telemetry::Format::Json),
    };
    let collector = config.traces.as_ref().map(|traces| telemetry::Collector {
        endpoint: traces.endpoint.expose().to_owned(),
        headers: traces.headers.iter().map(|(name, value)| (name.clone(), value.expose().to_owned())).collect(),
        sample: traces.sample,
    });
    telemetry::start(&config.log, format, collector.as_ref()).map_err(Failure::cannot)
}

async fn serve(config: Config) -> Result<(), Failure> {
    let listener =
        TcpListener::bind(config.listen).await.map_err(|error| Failure::cannot(bind_error(config.listen, &error)))?;
    let cancel = CancellationToken::new();
    stop_on_signal(cancel.clone()).map_err(Failure::cannot)?;
    app::serve(config, listener, cancel).await.map_err(Failure::cannot)
}

/// Why the address cannot be used, and what to do.
fn bind_error(address: SocketAddr, error: &io::Error) -> String {
    let advice = match error.kind() {
        io::ErrorKind::AddrInUse => {
            "another process listens there. Stop it, or set `listen` (or ASSAY__LISTEN) to another port; port 0 takes \
             a free one"
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
    tokio::spawn(async move {
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
