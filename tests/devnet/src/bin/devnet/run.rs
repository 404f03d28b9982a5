//! `devnet run`: starts what a server reads and writes, then the server, and prints example requests.

use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::Path;
use std::time::Instant;

use assay_devnet::caller::Caller;
use assay_devnet::devnet::{self, Devnet};
use assay_devnet::host::Host;
use assay_devnet::lenders::solc;
use assay_devnet::process::Lines;
use assay_devnet::upstreams::Upstreams;
use serde_json::json;

use super::{Error, Run, keep_current, start, start_all, welcome};

/// Everything that the server reads and writes.
enum Behind {
    All(Box<Upstreams>),
    /// Two chains with one lender alone.
    Less(Box<Devnet>),
}

/// The version that runs in the shadow of the champion.
const CHALLENGER: &str = "1.0";

pub async fn run(options: Run) -> Result<(), Error> {
    let begun = Instant::now();
    // All quick checks come before the slow start.
    let assay = options.assay.canonicalize().map_err(|_| Error::NoServer(options.assay.clone()))?;
    let shelf = options.shelf.canonicalize().map_err(|_| Error::NoShelf(options.shelf.clone()))?;
    let listen = options.port.map_or(options.listen, |port| format!("127.0.0.1:{port}"));
    can_listen(&listen)?;
    if options.fresh {
        solc::forget();
    }

    // Dropped in reverse order: first the server, then the chains, last the files.
    let files = tempfile::Builder::new().prefix("assay-devnet-").tempdir()?;
    let behind =
        if options.less { Behind::Less(Box::new(start().await?)) } else { Behind::All(Box::new(start_all().await?)) };
    let config = files.path().join("assay.toml");
    let toml = behind.config_toml(&listen, &shelf, &files.path().join("assay.redb"), &options.key);
    fs::write(&config, toml + &docs(behind.devnet(), &options.key))?;
    eprintln!("starting the server");
    let lines = if options.log { Lines::Show } else { Lines::Keep };
    let file = config.clone();
    let host =
        tokio::task::spawn_blocking(move || Host::start(&assay, &file, lines)).await.map_err(std::io::Error::other)?;
    let host = host.map_err(Error::Server)?;
    if matches!(behind, Behind::All(_)) {
        challenge(&host.url(), &options.key).await?;
    }

    eprintln!("ready after {} s", begun.elapsed().as_secs());
    let told = welcome::Told { url: &host.url(), key: &options.key, config: &config, less: options.less };
    println!("{}", welcome::text(behind.devnet(), &told));
    tokio::select! {
        said = host.ended() => Err(Error::ServerEnded(said)),
        stopped = keep_current(async || behind.mine().await) => stopped,
    }
}

impl Behind {
    fn devnet(&self) -> &Devnet {
        match self {
            Self::All(all) => &all.devnet,
            Self::Less(devnet) => devnet,
        }
    }

    fn config_toml(&self, listen: &str, shelf: &Path, store: &Path, key: &str) -> String {
        match self {
            Self::All(all) => all.config_toml(listen, shelf, store, key),
            Self::Less(devnet) => devnet.config_toml(listen, shelf, store, key),
        }
    }

    async fn mine(&self) -> Result<(), devnet::Error> {
        match self {
            Self::All(all) => all.mine().await,
            Self::Less(devnet) => devnet.mine().await,
        }
    }
}

fn can_listen(listen: &str) -> Result<(), Error> {
    TcpListener::bind(listen).map(drop).map_err(|cause| match cause.kind() {
        ErrorKind::AddrInUse => Error::Taken(listen.to_owned()),
        _ => Error::Listen { listen: listen.to_owned(), cause },
    })
}

/// Lets a version run in the shadow, so that its report has something to show.
async fn challenge(url: &str, key: &str) -> Result<(), Error> {
    let body = json!({ "versions": [CHALLENGER], "why": "the devnet shows a shadow" });
    let answer = Caller::at(url, key).put("/api/v2/admin/models/credit/challengers", &body).await;
    if answer.status.is_success() { Ok(()) } else { Err(Error::Challenger(answer.text)) }
}

/// The requests on the page `/docs` work as they stand.
fn docs(devnet: &Devnet, key: &str) -> String {
    format!("\n[docs]\naddress = \"{}\"\nkey = {}\n", devnet.wallet("borrower").address, serde_json::Value::from(key))
}
