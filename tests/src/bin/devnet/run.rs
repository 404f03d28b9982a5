//! `devnet run`: starts the chains, then a server that reads them, and prints example requests.

use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;

use assay_tests::devnet::Devnet;
use assay_tests::host::Host;
use assay_tests::process::Lines;

use super::{Error, Run, keep_current, start, table};

pub async fn run(options: Run) -> Result<(), Error> {
    // All quick checks come before the slow start.
    let assay = options.assay.canonicalize().map_err(|_| Error::NoServer(options.assay.clone()))?;
    let shelf = options.shelf.canonicalize().map_err(|_| Error::NoShelf(options.shelf.clone()))?;
    TcpListener::bind(&options.listen).map(drop).map_err(|cause| match cause.kind() {
        ErrorKind::AddrInUse => Error::Taken(options.listen.clone()),
        _ => Error::Listen { listen: options.listen.clone(), cause },
    })?;

    // Dropped in reverse order: first the server, then the chains, last the files.
    let files = tempfile::Builder::new().prefix("assay-devnet-").tempdir()?;
    let devnet = start().await?;
    let config = files.path().join("assay.toml");
    let toml = devnet.config_toml(&options.listen, &shelf, &files.path().join("assay.redb"), &options.key);
    fs::write(&config, toml + &docs(&devnet, &options.key))?;
    eprintln!("starting the server");
    let lines = if options.log { Lines::Show } else { Lines::Keep };
    let host = tokio::task::spawn_blocking(move || Host::start(&assay, &config, lines))
        .await
        .map_err(std::io::Error::other)?;
    let host = host.map_err(Error::Server)?;

    println!("{}", welcome(&devnet, &host.url(), &options.key));
    tokio::select! {
        said = host.ended() => Err(Error::ServerEnded(said)),
        stopped = keep_current(&devnet) => stopped,
    }
}

/// The requests on the page `/docs` work as they stand.
fn docs(devnet: &Devnet, key: &str) -> String {
    format!("\n[docs]\naddress = \"{}\"\nkey = {}\n", devnet.wallet("borrower").address, serde_json::Value::from(key))
}

fn welcome(devnet: &Devnet, url: &str, key: &str) -> String {
    let address = devnet.wallet("borrower").address;
    let curl = |path: &str| format!("curl -s -H 'Authorization: Bearer {key}' '{url}/api/v2/{path}'");
    let requests = [
        curl(&format!("score/address/{address}?include_factors=true")),
        curl(&format!("report/address/{address}")),
        curl(&format!("sandbox/score/address/{address}")),
    ];
    format!(
        "\nAssay listens on {url}\nAPI key: {key}\nConsole: {url}/console\nDocumentation: {url}/docs\n\nWallets:\n{}\nA score with its factors, a report, a sandbox score:\n\n{}\n\nCtrl-C stops everything.",
        table::wallets(devnet),
        requests.join("\n")
    )
}
