//! `assay init`: writes a configuration for the chains at some endpoints, after probing each endpoint, and mints an
//! admin key.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    io::{self, BufRead, IsTerminal as _, Write},
    path::{Path, PathBuf},
};

use assay::{
    config::{self, Config},
    verify::{Calls, LogQueries, LogRange, Survey, survey},
};
use assay_access::MintError;
use assay_chain::known;
use assay_domain::{ChainId, Scope, Secret};
use clap::Args;

use super::{ConfigFile, Failure, endpoint::Endpoint, first_party, key, print};

/// The name of the key.
const ADMIN: &str = "admin";
/// Log queries of a wallet on one chain, if an endpoint answers any range.
const LOGS: u64 = 4;
/// The address of the example.
const EXAMPLE: &str = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045";

/// The credit models to choose from, the one of a configuration that names none first, and what each ranks and claims.
const CREDIT: [(&str, &str); 2] = [
    (
        "1.1",
        "ranks activity and history, not positions, and claims no rate; about chance on vaults (AUC 0.47). The \
         contract's version",
    ),
    (
        "1.4",
        "ranks positions and past liquidations (AUC 0.84 on vaults); claims rates for wallets that owe, if ether does \
         not fall by 30 %. Recommended for loans; refuses wallets that never lent",
    ),
];

/// The endpoints of each chain, best first.
type Chains = BTreeMap<ChainId, Vec<Secret>>;

#[derive(Args)]
pub struct Init {
    /// Endpoint of a chain, such as 1=https://rpc.example. May be repeated, also for the same chain. If none is given
    /// on a terminal, the command prompts for endpoints
    #[arg(long = "rpc", value_name = "ID=URL")]
    endpoints: Vec<Endpoint>,
    /// Credit model that answers. If it is not given on a terminal, the command prompts for it; otherwise the file
    /// names none, and 1.1 answers
    #[arg(long, value_name = "VERSION", value_parser = CREDIT.map(|(version, _)| version))]
    credit: Option<String>,
    /// File to write
    #[arg(long, value_name = "FILE", default_value = "assay.toml")]
    config: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
}

pub fn run(init: Init) -> Result<(), Failure> {
    let Init { endpoints, credit, config: path, force } = init;
    if path.exists() && !force {
        let file = path.display();
        return Err(Failure::cannot(format!(
            "{file} exists already; give --force to replace it, or --config to write another file"
        )));
    }
    let (endpoints, credit) = match endpoints.is_empty() {
        true => asked(credit)?,
        false => (endpoints, credit),
    };
    let (chains, credit) = (grouped(endpoints)?, credit.as_deref());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut draft = tempfile::NamedTempFile::new_in(folder)
        .map_err(|error| Failure::cannot(format!("cannot write to {}: {error}", folder.display())))?;
    let surveys = ask_endpoints(&loaded(&mut draft, &text(&chains, &[], None, credit))?)?;
    let range = narrowest(&surveys);
    let config = loaded(&mut draft, &text(&chains, &surveys, range, credit))?;
    let shelf = &config.models.shelf;
    if !shelf.exists() {
        first_party::write(shelf)?;
    }
    let persisted = if force {
        draft.persist(&path).map(drop).map_err(|error| error.error)
    } else {
        draft.persist_noclobber(&path).map(drop).map_err(|error| error.error)
    };
    persisted.map_err(|error| Failure::cannot(format!("cannot write {}: {error}", path.display())))?;
    print(format!("\n{} is written, and the models are in {}.", path.display(), shelf.display()))?;
    let answers = credit.unwrap_or(CREDIT[0].0);
    print(format!("Credit {answers} answers; `assay model promote credit VERSION --why REASON` changes that:"))?;
    print(CREDIT.map(|(version, what)| format!("  {version}  {what}")).join("\n"))?;
    let key = mint(&path)?;
    print(next(&path, &config, key.as_deref()))
}

/// Asks for endpoints and, if it is not given, for the credit model on the terminal.
fn asked(credit: Option<String>) -> Result<(Vec<Endpoint>, Option<String>), Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::cannot("give an endpoint for each chain, such as --rpc 1=https://rpc.example"));
    }
    let endpoints = ask(io::stdin().lock(), io::stderr()).map_err(Failure::cannot)?;
    if endpoints.is_empty() {
        return Err(Failure::cannot("no endpoint was given; nothing was written"));
    }
    match credit {
        Some(version) => Ok((endpoints, Some(version))),
        None => Ok((endpoints, choose(io::stdin().lock(), io::stderr()).map_err(Failure::cannot)?)),
    }
}

/// The credit model that is chosen; `None` for an empty line.
fn choose(input: impl BufRead, mut output: impl Write) -> io::Result<Option<String>> {
    for (version, what) in CREDIT {
        writeln!(output, "Credit {version} {what}")?;
    }
    let versions = CREDIT.map(|(version, _)| version);
    let prompt = |output: &mut dyn Write| {
        write!(output, "Credit model, {} (an empty line: {}): ", versions.join(" or "), versions[0])?;
        output.flush()
    };
    prompt(&mut output)?;
    for line in input.lines() {
        let line = line?;
        let typed = line.trim();
        if typed.is_empty() || versions.contains(&typed) {
            return Ok(Some(typed.to_owned()).filter(|version| !version.is_empty()));
        }
        writeln!(output, "{typed:?} is not one of {}", versions.join(", "))?;
        prompt(&mut output)?;
    }
    Ok(None)
}

fn ask(input: impl BufRead, mut output: impl Write) -> io::Result<Vec<Endpoint>> {
    let ids: Vec<_> = known::names().map(|(id, name)| format!("{id} {name}")).collect();
    writeln!(output, "Chains: {}", ids.join(", "))?;
    let mut endpoints = Vec::new();
    let prompt = |output: &mut dyn Write| {
        write!(output, "Endpoint as ID=URL, such as 1=https://rpc.example (an empty line ends): ")?;
        output.flush()
    };
    prompt(&mut output)?;
    for line in input.lines() {
        let line = line?;
        if line.trim().is_empty() {
            break;
        }
        match line.parse() {
            Ok(endpoint) => endpoints.push(endpoint),
            Err(error) => writeln!(output, "{error}")?,
        }
        prompt(&mut output)?;
    }
    Ok(endpoints)
}

/// The endpoints by chain.
fn grouped(endpoints: Vec<Endpoint>) -> Result<Chains, Failure> {
    let mut chains = Chains::new();
    for Endpoint { chain, url } in endpoints {
        let of_chain = chains.entry(chain).or_default();
        if !of_chain.contains(&url) {
            of_chain.push(url);
        }
    }
    let known: Vec<_> = known::names().map(|(id, _)| id).collect();
    let unknown: Vec<_> = chains.keys().filter(|id| !known.contains(id)).map(ToString::to_string).collect();
    if unknown.is_empty() {
        return Ok(chains);
    }
    let known = known.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    Err(Failure::cannot(format!(
        "chain {} is not among the shipped ones ({known}); leave it out, and add its [[chains]] by hand as \
         host/docs/configure.md describes",
        unknown.join(", ")
    )))
}

/// Writes `text` to the draft and loads it.
fn loaded(draft: &mut tempfile::NamedTempFile, text: &str) -> Result<Config, Failure> {
    std::fs::write(draft.path(), text).map_err(Failure::cannot)?;
    config::load(Some(draft.path())).map_err(Failure::cannot)
}

/// Asks each endpoint what it can do, and prints the answers. Fails if one of them cannot be used.
fn ask_endpoints(config: &Config) -> Result<Vec<Survey>, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::cannot)?;
    let (mut surveys, mut problems) = (Vec::new(), Vec::new());
    for survey in runtime.block_on(survey(config)) {
        match survey {
            Ok(survey) => surveys.push(survey),
            Err(problem) => problems.push(format!("  {problem}")),
        }
    }
    for survey in &surveys {
        print(format!("chain {}, {survey}", survey.chain))?;
        print(format!("  {}", cost(survey)))?;
    }
    print(bill(&surveys, config))?;
    if problems.is_empty() {
        return Ok(surveys);
    }
    let problems = problems.join("\n");
    Err(Failure::no(format!("nothing was written, because an endpoint cannot be used:\n{problems}")))
}

/// The cost of reading a wallet on all chains, in the units of providers, after the first log queries.
fn bill(surveys: &[Survey], config: &Config) -> String {
    let chains: BTreeSet<ChainId> = surveys.iter().map(|survey| survey.chain).collect();
    let chains = u64::try_from(chains.len()).unwrap_or(u64::MAX);
    let new = Calls::new(config.reading.spare, LOGS).times(chains);
    let known = Calls::known(LOGS).times(chains);
    format!(
        "a wallet on {chains} chains, by the public prices of three providers:\n  new, at most {new}\n  known, {known}"
    )
}

/// The cost of the first read of a wallet for the endpoint.
fn cost(survey: &Survey) -> String {
    let Some(LogQueries { wallet, index }) = survey.queries else {
        return "lending histories cannot be read here; add an endpoint that answers eth_getLogs".to_owned();
    };
    let first = format!("first read of a wallet: {wallet} log queries, and some batches of calls");
    match survey.logs {
        LogRange::Blocks { .. } => format!(
            "{first}; once the market index is read, which takes {index} log queries, 2 or 3 for each new wallet"
        ),
        _ => first,
    }
}

/// The narrowest log range, if an endpoint limits ranges without naming the limit: the configuration must set it.
fn narrowest(surveys: &[Survey]) -> Option<u64> {
    let unnamed = surveys.iter().filter_map(|survey| match survey.logs {
        LogRange::Blocks { width, named: false } => Some(width),
        _ => None,
    });
    unnamed.min().filter(|width| *width < 10_000)
}

/// The configuration file.
fn text(chains: &Chains, surveys: &[Survey], log_range: Option<u64>, credit: Option<&str>) -> String {
    let mut text = String::from(
        "# Written by `assay init`. Every other key has its default; `assay check-config` shows the result, and\n\
         # `assay check-config --live` compares it with the chains. A URL or a key may be \"$NAME\": the server reads \
         it from\n\
         # the environment variable NAME.\n\n\
         listen = \"127.0.0.1:8080\"\n\n\
         # State, and the hashes of the keys that `assay key mint --store` made: back it up with `assay store \
         backup`.\n\
         [store]\n\
         path = \"data/assay.redb\"\n\n\
         # Prices of tokens without a feed on their chain.\n\
         # [prices]\n\
         # api = \"https://coins.llama.fi\"\n",
    );
    if let Some(range) = log_range {
        let _ = write!(
            text,
            "\n# Blocks of one eth_getLogs, because an endpoint below refuses more and does not name its limit.\n\
             [reading]\nlog_range = {range}\n"
        );
    }
    if let Some(version) = credit {
        let _ = write!(
            text,
            "\n# The credit model that answers until another is promoted.\n[models]\nfirst_champions = {{ credit = \
             \"{version}\" }}\n"
        );
    }
    let mut surveys = surveys.iter();
    let names: BTreeMap<ChainId, String> = known::names().collect();
    for (id, endpoints) in chains {
        let name = names.get(id).map(String::as_str).unwrap_or_default();
        let _ =
            write!(text, "\n# {name}: contracts, tokens and markets are shipped.\n[[chains]]\nid = {id}\nrpc = [\n");
        for url in endpoints {
            if let Some(survey) = surveys.next() {
                let _ = writeln!(text, "  # {survey}");
            }
            // A JSON string is a TOML string.
            let _ = writeln!(text, "  {},", serde_json::Value::from(url.expose()));
        }
        text += "]\n# An Etherscan-compatible API, for all tokens, NFTs and counterparties of a wallet:\n\
                 # explorer = \"$EXPLORER\"\n";
    }
    text
}

/// Mints the admin key; `None` if the store has one of its name.
fn mint(path: &Path) -> Result<Option<String>, Failure> {
    let scopes = vec![Scope::Read, Scope::Submit, Scope::Admin];
    let file = ConfigFile { config: Some(path.to_owned()) };
    let minted = key::with_store(&file, async |access, _| match access.mint(ADMIN, scopes, None, None).await {
        Ok(minted) => Ok(Some(minted.key.expose().to_owned())),
        Err(MintError::NameTaken { .. }) => Ok(None),
        Err(error) => Err(Failure::cannot(error)),
    });
    minted.map_err(|Failure { message, code }| Failure {
        message: format!("{message}\nNo key was created; create one with `assay key mint --store --scope admin`"),
        code,
    })
}

/// The key, and the next commands.
fn next(path: &Path, config: &Config, key: Option<&str>) -> String {
    let made = match key {
        Some(key) => format!("Admin key, shown only now; the store keeps its hash:\n\n  {key}\n"),
        None => format!(
            "The store has a key named {ADMIN} already; it stays valid. `assay key mint --store` creates another.\n"
        ),
    };
    let file = if path == Path::new("assay.toml") { String::new() } else { format!(" --config {}", path.display()) };
    let (listen, key) = (config.listen, key.unwrap_or("<KEY>"));
    format!(
        "\n{made}\nNext:\n\n  assay serve{file}\n  \
         curl -H 'Authorization: Bearer {key}' \\\n    \
         'http://{listen}/api/v2/score/address/{EXAMPLE}?include_factors=true'\n\n\
         Before you rely on it: assay check-config --live{file}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_asked_for_until_one_is_empty() {
        let mut said = Vec::new();
        let typed = "1=https://a.example\nnonsense\n 10 = http://b.example \n\n1=https://never.example\n";
        let found = ask(typed.as_bytes(), &mut said).unwrap();
        let found: Vec<_> = found.iter().map(|endpoint| (endpoint.chain, endpoint.url.expose())).collect();
        assert_eq!(found, [(1, "https://a.example"), (10, "http://b.example")]);
        let said = String::from_utf8(said).unwrap();
        assert!(said.contains("8453 Base") && said.contains("write the id of a chain and a URL"), "{said}");
    }

    #[test]
    fn a_credit_model_is_chosen_or_left_to_the_contract() {
        let mut said = Vec::new();
        let chosen = choose("9.9\n1.4\n".as_bytes(), &mut said).unwrap();
        let said = String::from_utf8(said).unwrap();
        assert_eq!(chosen.as_deref(), Some("1.4"));
        assert!(said.contains("\"9.9\" is not one of 1.1, 1.4"), "{said}");
        assert_eq!(choose("\n".as_bytes(), io::sink()).unwrap(), None);
    }

    #[test]
    fn any_url_is_written_as_it_was_given() {
        let url = r#"https://a.example/"quoted"\path"#;
        let chains = Chains::from([(1, vec![Secret::new(url)]), (10, vec![Secret::new("http://b.example")])]);
        let mut draft = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
        let config = loaded(&mut draft, &text(&chains, &[], Some(500), Some("1.4"))).unwrap();
        let champions: Vec<_> = config.models.first_champions.values().map(ToString::to_string).collect();
        assert_eq!(champions, ["1.4"]);
        let first = config.chains.first().unwrap();
        assert_eq!((first.id, first.rpc.first().unwrap().expose()), (1, url));
        assert_eq!((config.reading.log_range, config.chains.len()), (500, 2));
    }
}
