//! `assay key`: mints, lists and revokes API keys.

use assay_domain::{Scope, Time};
use assay_store::Store;
use clap::{Args, Subcommand, ValueEnum};

use super::{ConfigFile, Failure, print};
use assay::config::Config;
use assay_access::{Access, KnownKey, Revoked};

#[derive(Subcommand)]
pub enum Command {
    /// Create a key of 256 random bits and print it; it is shown only once
    ///
    /// Without --store, the command prints a block for the configuration file. With --store, it saves the key's hash in
    /// the store, for `assay key list` and `assay key revoke`. Only one process can use an embedded store, so stop the
    /// server first.
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
        #[arg(long)]
        store: bool,
        #[command(flatten)]
        file: ConfigFile,
    },
    /// List all keys with their scopes and usage, without the keys themselves
    ///
    /// Only one process can use an embedded store, so stop the server first. On a running server, each key can read its
    /// own usage at /api/v2/usage.
    List {
        #[command(flatten)]
        file: ConfigFile,
    },
    /// Revoke a key in the store; running servers refuse it within two seconds
    Revoke {
        /// Name of the key in `assay key list`
        name: String,
        #[command(flatten)]
        file: ConfigFile,
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

pub fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Mint { name, scopes, bounds, store, file } => {
            let mut distinct: Vec<Scope> = Vec::new();
            for scope in scopes.into_iter().map(Scope::from) {
                if !distinct.contains(&scope) {
                    distinct.push(scope);
                }
            }
            if store { save(&file, &name, distinct, bounds) } else { show(&name, &distinct, bounds) }
        }
        Command::List { file } => list(&file),
        Command::Revoke { name, file } => revoke(&file, &name),
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

fn save(file: &ConfigFile, name: &str, scopes: Vec<Scope>, bounds: Bounds) -> Result<(), Failure> {
    let minted = with_store(file, async |access: Access, _| {
        access.mint(name, scopes, bounds.units, bounds.rate).await.map_err(Failure::cannot)
    })?;
    // Only the key goes to standard output, so that a script can read it.
    eprintln!("{} may {}. It is not shown again:", minted.record.name, describe(&minted.record.scopes, bounds));
    print(minted.key.expose())
}

fn list(file: &ConfigFile) -> Result<(), Failure> {
    let rows = with_store(file, async |access: Access, _| {
        let mut rows = vec![["NAME", "SCOPES", "UNITS USED", "OF", "PER MINUTE", "FROM"].map(str::to_owned)];
        rows.extend(access.known_keys().await.map_err(Failure::cannot)?.into_iter().map(row));
        Ok(rows)
    })?;
    if rows.len() == 1 {
        return print("There are no keys; `assay key mint` makes one.");
    }
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

fn row(KnownKey { name, scopes, units, used, rate, minted_at }: KnownKey) -> [String; 6] {
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

fn revoke(file: &ConfigFile, name: &str) -> Result<(), Failure> {
    with_store(file, async |access: Access, _| match access.revoke(name).await.map_err(Failure::cannot)? {
        Revoked::Done => Ok(()),
        Revoked::Configured => Err(Failure::no(format!(
            "the key {name} is in the configuration; remove it there and start the server again"
        ))),
        Revoked::Unknown => {
            Err(Failure::no(format!("no key in the store is named {name:?}; `assay key list` shows the keys")))
        }
    })?;
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
        let store = Store::open(&config.store).await.map_err(Failure::cannot)?;
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
