//! `assay key`: API keys.

use clap::{Subcommand, ValueEnum};

use super::{ConfigFile, Failure, print};
use crate::{
    access::{self, Access},
    config::Scope,
    store::Store,
};

#[derive(Subcommand)]
pub enum Command {
    /// Make a key of 256 random bits, and show it this once
    Mint {
        /// Names the key in logs and usage
        #[arg(long, default_value = "key")]
        name: String,
        /// What the key may do; may be given several times
        #[arg(long = "scope", value_enum, default_values_t = [ScopeName::Read])]
        scopes: Vec<ScopeName>,
        /// Units it may spend; unmetered where absent
        #[arg(long)]
        units: Option<u64>,
        /// Keep it in the store instead of printing a block for the configuration file. The server must not be running on
        /// an embedded store
        #[arg(long)]
        store: bool,
        #[command(flatten)]
        file: ConfigFile,
    },
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
    let Command::Mint { name, scopes, units, store, file } = command;
    if store { keep(&file, &name, scopes, units) } else { show(&name, &scopes, units) }
}

/// A block to paste. Only the hash of a key is kept in memory, so the file is the one place where it stands.
fn show(name: &str, scopes: &[ScopeName], units: Option<u64>) -> Result<(), Failure> {
    let key = access::draw(name).map_err(Failure::cannot)?;
    let key = key.expose();
    let scopes = scopes.iter().map(|scope| format!("{:?}", format!("{scope:?}").to_lowercase())).collect::<Vec<_>>().join(", ");
    let units = units.map(|units| format!("units = {units}\n")).unwrap_or_default();
    print(format!("{key}\n\nAdd it to assay.toml:\n\n[[access.keys]]\nname = \"{name}\"\nkey = \"{key}\"\nscopes = [{scopes}]\n{units}"))
}

fn keep(file: &ConfigFile, name: &str, scopes: Vec<ScopeName>, units: Option<u64>) -> Result<(), Failure> {
    let config = file.load()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::cannot)?;
    let minted = runtime.block_on(async {
        let store = Store::open(&config.store).await.map_err(Failure::cannot)?;
        let access = Access::new(&config.access, store);
        access.mint(name, scopes.into_iter().map(Scope::from).collect(), units).await.map_err(Failure::cannot)
    })?;
    print(minted.key.expose())
}
