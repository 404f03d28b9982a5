//! `assay key`: mints, lists and revokes API keys.

use std::num::NonZeroU32;

use assay_domain::{Scope, Time};
use assay_store::{OpenError, Store};
use clap::{Args, Subcommand, ValueEnum};
use reqwest::Method;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use super::{
    ConfigFile, Failure, print,
    remote::{Remote, Server},
};
use assay::config::Config;
use assay_access::{Access, Changed, KeyChange, KnownKey, Revoked};

#[derive(Subcommand)]
pub enum Command {
    /// Create a key of 256 random bits and print it; it is shown only once
    ///
    /// Alone, the command prints a block for the configuration file. With --server, a running server saves the key's
    /// hash; with --store, the command does, and only one process can use an embedded store.
    Mint {
        /// Name of the key in logs and usage: letters, digits, '-', '_', '.'
        #[arg(long, default_value = "key")]
        name: String,
        /// Scope of the key: read (scores, agents), submit (submissions) or admin (models, keys). May be repeated
        #[arg(long = "scope", value_name = "SCOPE", value_enum, default_values_t = [ScopeName::Read])]
        scopes: Vec<ScopeName>,
        #[command(flatten)]
        bounds: Bounds,
        /// Save the key in the store instead of printing a block for the configuration file
        #[arg(long, conflicts_with = "server")]
        store: bool,
        #[command(flatten)]
        server: Server,
    },
    /// List all keys with their scopes and usage, without the keys themselves
    ///
    /// With --server, a running server is asked; otherwise the store is read, and only one process can use an embedded
    /// store.
    List {
        #[command(flatten)]
        server: Server,
    },
    /// Change what a key in the store may spend; running servers follow within two seconds
    ///
    /// With --server, a running server does it; otherwise the command writes to the store.
    Change {
        /// Name of the key in `assay key list`
        name: String,
        #[command(flatten)]
        bounds: Bounds,
        /// No limit of units
        #[arg(long, conflicts_with = "units")]
        unmetered: bool,
        #[command(flatten)]
        server: Server,
    },
    /// Revoke a key in the store; running servers refuse it within two seconds
    ///
    /// With --server, a running server does it; otherwise the command writes to the store.
    Revoke {
        /// Name of the key in `assay key list`
        name: String,
        #[command(flatten)]
        server: Server,
    },
}

#[derive(Debug, Clone, Copy, Args)]
pub struct Bounds {
    /// Total units that the key may spend; no limit if absent
    #[arg(long)]
    units: Option<u64>,
    /// Requests per minute; access.default_rate if absent, 0 for no limit
    #[arg(long, value_name = "PER MINUTE")]
    rate: Option<u32>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum ScopeName {
    Read,
    Submit,
    Admin,
}

impl From<ScopeName> for Scope {
    fn from(name: ScopeName) -> Self {
        match name {
            ScopeName::Read => Self::Read,
            ScopeName::Submit => Self::Submit,
            ScopeName::Admin => Self::Admin,
        }
    }
}

/// The keys of a running server.
const KEYS: &str = "/api/v2/admin/keys";

/// A new key, as a server answers it.
#[derive(Deserialize)]
struct Minted {
    secret: String,
}

/// All keys, as a server answers them.
#[derive(Deserialize)]
struct Listed {
    keys: Vec<ListedKey>,
}

/// A key without its secret.
#[derive(Deserialize)]
struct ListedKey {
    name: String,
    scopes: Vec<Scope>,
    units: Option<u64>,
    used: Option<u64>,
    rate: Option<NonZeroU32>,
    /// Absent if the key is in the configuration.
    minted_at: Option<Time>,
}

impl From<KnownKey> for ListedKey {
    fn from(KnownKey { name, scopes, units, used, rate, minted_at }: KnownKey) -> Self {
        Self { name, scopes, units, used, rate, minted_at }
    }
}

fn remote(server: &Server) -> Result<Remote, Failure> {
    server.reach(&server.file.load()?)
}

fn read<T: DeserializeOwned>(answer: Value) -> Result<T, Failure> {
    serde_json::from_value(answer).map_err(|error| Failure::cannot(format!("the answer cannot be understood: {error}")))
}

pub fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Mint { name, scopes, bounds, store, server } => {
            let mut distinct: Vec<Scope> = Vec::new();
            for scope in scopes.into_iter().map(Scope::from) {
                if !distinct.contains(&scope) {
                    distinct.push(scope);
                }
            }
            match (store, server.is_named()) {
                (false, false) => show(&name, &distinct, bounds),
                _ => save(&server, &name, distinct, bounds),
            }
        }
        Command::List { server } => list(&server),
        Command::Change { name, bounds, unmetered, server } => change(&server, &name, bounds, unmetered),
        Command::Revoke { name, server } => revoke(&server, &name),
    }
}

/// Prints a block for the configuration file.
fn show(name: &str, scopes: &[Scope], bounds: Bounds) -> Result<(), Failure> {
    let key = assay_access::draw(name).map_err(Failure::cannot)?;
    let scopes = scopes.iter().map(|scope| format!("\"{}\"", scope.as_str())).collect::<Vec<_>>().join(", ");
    let mut block = format!("[[access.keys]]\nname = \"{name}\"\nkey = \"{}\"\nscopes = [{scopes}]\n", key.expose());
    block += &bounds.units.map(|units| format!("units = {units}\n")).unwrap_or_default();
    block += &bounds.rate.map(|rate| format!("rate = {rate}\n")).unwrap_or_default();
    print(format!(
        "{}\n\nThis key is not saved anywhere. Add it to assay.toml and start the server again:\n\n{block}",
        key.expose()
    ))
}

fn save(server: &Server, name: &str, scopes: Vec<Scope>, bounds: Bounds) -> Result<(), Failure> {
    let may = describe(&scopes, bounds);
    let secret = if server.is_named() {
        let Bounds { units, rate } = bounds;
        let body = json!({ "name": name, "scopes": scopes, "units": units, "rate": rate });
        let minted = remote(server)?.ask(Method::POST, KEYS, Some(&body))?;
        read::<Minted>(minted)?.secret
    } else {
        let minted = with_store(&server.file, async |access: Access, _| {
            access.mint(name, scopes, bounds.units, bounds.rate).await.map_err(Failure::cannot)
        })?;
        minted.key.expose().to_owned()
    };
    // Only the key goes to standard output, so that a script can read it.
    eprintln!("{name} may {may}. It is not shown again:");
    print(secret)
}

fn list(server: &Server) -> Result<(), Failure> {
    let keys = if server.is_named() {
        read::<Listed>(remote(server)?.ask(Method::GET, KEYS, None)?)?.keys
    } else {
        with_store(&server.file, async |access: Access, _| {
            let keys = access.known_keys().await.map_err(Failure::cannot)?;
            Ok(keys.into_iter().map(ListedKey::from).collect())
        })?
    };
    if keys.is_empty() {
        return print("There are no keys; `assay key mint` makes one.");
    }
    let mut rows = vec![["NAME", "SCOPES", "UNITS USED", "OF", "PER MINUTE", "FROM"].map(str::to_owned)];
    rows.extend(keys.into_iter().map(row));
    let mut widths = [0; 6];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.len().max(*width);
        }
    }
    for row in rows {
        let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        print(cells.join("  ").trim_end())?;
    }
    Ok(())
}

fn row(ListedKey { name, scopes, units, used, rate, minted_at }: ListedKey) -> [String; 6] {
    let scopes = scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(", ");
    let count = |units: Option<u64>, none: &str| units.map_or(none.to_owned(), |units| units.to_string());
    let from = |at: Time| format!("the store, {}", at.format("%Y-%m-%d"));
    [
        name,
        scopes,
        count(used, "-"),
        count(units, "unmetered"),
        rate.map_or("no bound".to_owned(), |rate| rate.to_string()),
        minted_at.map_or("the configuration".to_owned(), from),
    ]
}

fn change(server: &Server, name: &str, Bounds { units, rate }: Bounds, unmetered: bool) -> Result<(), Failure> {
    let units = if unmetered { Some(None) } else { units.map(Some) };
    if units.is_none() && rate.is_none() {
        return Err(Failure::cannot("nothing to change: give --units, --unmetered or --rate"));
    }
    if server.is_named() {
        let mut body = Map::new();
        body.extend(units.map(|units| ("units".to_owned(), json!(units))));
        body.extend(rate.map(|rate| ("rate".to_owned(), json!(rate))));
        remote(server)?.ask(Method::PATCH, &format!("{KEYS}/{name}"), Some(&Value::Object(body)))?;
    } else {
        let change = KeyChange { units, rate: rate.map(Some) };
        let changed = async |access: Access, _| access.change(name, change).await.map_err(Failure::cannot);
        match with_store(&server.file, changed)? {
            Changed::Done(_) => {}
            Changed::Configured => return Err(configured(name)),
            Changed::Unknown => return Err(unknown(name)),
        }
    }
    print(format!("The key {name} is changed; running servers follow within two seconds."))
}

fn configured(name: &str) -> Failure {
    Failure::no(format!("the key {name} is in the configuration; change it there and start the server again"))
}

fn unknown(name: &str) -> Failure {
    Failure::no(format!("no key in the store is named {name:?}; `assay key list` shows the keys"))
}

fn revoke(server: &Server, name: &str) -> Result<(), Failure> {
    if server.is_named() {
        remote(server)?.ask(Method::DELETE, &format!("{KEYS}/{name}"), None)?;
    } else {
        let revoked = async |access: Access, _| access.revoke(name).await.map_err(Failure::cannot);
        match with_store(&server.file, revoked)? {
            Revoked::Done => {}
            Revoked::Configured => return Err(configured(name)),
            Revoked::Unknown => return Err(unknown(name)),
        }
    }
    print(format!("The key {name} is revoked; running servers refuse it within two seconds."))
}

/// Runs `work` on the configured store.
pub(super) fn with_store<T>(
    file: &ConfigFile,
    work: impl AsyncFnOnce(Access, Config) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let config = file.load()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::cannot)?;
    runtime.block_on(async {
        let store = Store::open(&config.store).await.map_err(|error| match error {
            OpenError::Locked { .. } => {
                Failure::cannot(format!("{error}. `assay key` with --server asks a server that runs"))
            }
            error => Failure::cannot(error),
        })?;
        work(Access::new(&config.access, store), config).await
    })
}

fn describe(scopes: &[Scope], bounds: Bounds) -> String {
    let scopes = scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(", ");
    let units = bounds.units.map_or("without a limit of units".to_owned(), |units| format!("for {units} units"));
    let rate = match bounds.rate {
        None => String::new(),
        Some(0) => ", without a rate limit".to_owned(),
        Some(rate) => format!(", {rate} requests a minute"),
    };
    format!("{scopes}, {units}{rate}")
}
