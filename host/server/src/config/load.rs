//! Loads the configuration from defaults, file and environment, and checks it.

use std::path::{Path, PathBuf};

use config::{
    Environment, File, FileFormat, ValueKind,
    builder::{ConfigBuilder, DefaultState},
};

use super::{Config, Problem, validate};
use assay_chain::known;

/// The default file, with a comment for every key.
pub const DEFAULTS: &str = include_str!("defaults.toml");

/// The configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("configuration file {} cannot be read: {error}", path.display())]
    Unreadable { path: PathBuf, error: std::io::Error },
    #[error("configuration: {0}")]
    Invalid(String),
    #[error("configuration has {} problem(s):\n{}", .0.len(),
        .0.iter().map(|p| format!("  {p}")).collect::<Vec<_>>().join("\n"))]
    Problems(Vec<Problem>),
}

/// Loads `file`, or `assay.toml` in the working directory where it exists and no file is named.
///
/// # Errors
/// [`ConfigError`] names every problem, not only the first.
pub fn load(file: Option<&Path>) -> Result<Config, ConfigError> {
    let embedded = [DEFAULTS, known::IDENTITY].map(|text| File::from_str(text, FileFormat::Toml));
    let mut builder = config::Config::builder().add_source(embedded.to_vec());
    let fallback = Path::new("assay.toml");
    if let Some(path) = file.or_else(|| fallback.exists().then_some(fallback)) {
        let text =
            std::fs::read_to_string(path).map_err(|error| ConfigError::Unreadable { path: path.to_owned(), error })?;
        builder = builder.add_source(File::from_str(&text, FileFormat::Toml));
    }
    let environment = Environment::with_prefix("ASSAY").prefix_separator("__").separator("__").try_parsing(true);
    let (parsed, unset) = parse(builder.add_source(environment));
    let mut config = match parsed {
        Ok(config) => config,
        Err(what) if unset.is_empty() => return Err(ConfigError::Invalid(what)),
        Err(what) => {
            let rest = Problem { key: "configuration".to_owned(), what };
            return Err(ConfigError::Problems(unset.into_iter().chain([rest]).collect()));
        }
    };
    if config.reading.index_path.as_os_str().is_empty() {
        config.reading.index_path = config.store.path.with_file_name("index");
    }
    let mut problems = validate::problems(&config);
    // The value of an unset variable is unknown, so nothing else is wrong with it.
    problems.retain(|problem| unset.iter().all(|unset| unset.key != problem.key));
    let problems: Vec<_> = unset.into_iter().chain(problems).collect();
    if problems.is_empty() { Ok(config) } else { Err(ConfigError::Problems(problems)) }
}

/// The configuration, or why it cannot be parsed; and each value that names an unset environment variable, for which
/// some text stands in the configuration.
fn parse(mut builder: ConfigBuilder<DefaultState>) -> (Result<Config, String>, Vec<Problem>) {
    // An error about all chains names its keys itself.
    let words = |error: &config::ConfigError| without_values(error.to_string().trim_end_matches(" for key `chains`"));
    let mut unset: Vec<Problem> = Vec::new();
    loop {
        let values = match builder.clone().build() {
            Ok(values) => values,
            Err(error) => return (Err(words(&error)), unset),
        };
        let error = match values.clone().try_deserialize() {
            Ok(config) => return (Ok(config), unset),
            Err(error) => error,
        };
        let mut rest = Vec::new();
        unset_variables(&values.cache, "", &mut rest);
        let caused = match &error {
            config::ConfigError::At { key: Some(key), .. } => rest.iter().position(|(known, _)| *known == dotted(key)),
            _ => None,
        };
        let Some((key, variable)) = caused.map(|at| rest.swap_remove(at)) else {
            // The loader stops at its first error, before it has seen every variable.
            unset.extend(rest.into_iter().map(|(key, variable)| unset_problem(key, &variable)));
            return (Err(words(&error)), unset);
        };
        builder = match builder.set_override(&key, format!("unset {variable} at {key}")) {
            Ok(builder) => builder,
            Err(_) => return (Err(words(&error)), unset),
        };
        unset.push(unset_problem(key, &variable));
    }
}

fn unset_problem(key: String, variable: &str) -> Problem {
    Problem { key, what: format!("environment variable {variable} is not set; set it, or write the value") }
}

/// Every text below `value` that is the name of an unset environment variable, with its key.
fn unset_variables(value: &config::Value, key: &str, found: &mut Vec<(String, String)>) {
    match &value.kind {
        ValueKind::Table(fields) => {
            let below = |name: &String| if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
            fields.iter().for_each(|(name, value)| unset_variables(value, &below(name), found));
        }
        ValueKind::Array(items) => {
            items.iter().enumerate().for_each(|(at, item)| unset_variables(item, &format!("{key}[{at}]"), found));
        }
        ValueKind::String(text) => {
            let is_name =
                |name: &&str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            let name = text.strip_prefix('$').filter(is_name).filter(|name| std::env::var(name).is_err());
            found.extend(name.map(|name| (key.to_owned(), name.to_owned())));
        }
        _ => {}
    }
}

/// The loader's message without values from the file: a quoted line, or a text of the wrong type, may be a secret.
fn without_values(message: &str) -> String {
    let quoted = |line: &&str| line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ').starts_with('|');
    let lines = message.lines().filter(|line| !quoted(line)).map(str::trim_end).filter(|line| !line.is_empty());
    let message = without_variants(dotted(&lines.collect::<Vec<_>>().join("\n")));
    match message.split_once("string \"").map(|(before, rest)| (before, rest.rsplit_once('"'))) {
        Some((before, Some((_, after)))) => format!("{before}text{after}"),
        _ => message,
    }
}

/// An unknown value of a key, in words without the loader's types.
fn without_variants(message: String) -> String {
    let parts = message.strip_prefix("enum ").and_then(|rest| rest.split_once(" does not have variant constructor "));
    match parts.and_then(|(_, rest)| rest.split_once(" for key ")) {
        Some((value, key)) => format!("{key} cannot be {value:?}; `assay config defaults` shows what it can be"),
        None => message,
    }
}

/// Turns the loader's form of a path, `chains[0]id`, into `chains[0].id`.
fn dotted(message: &str) -> String {
    let mut dotted = String::with_capacity(message.len());
    for c in message.chars() {
        if dotted.ends_with(']') && (c.is_alphanumeric() || c == '_') {
            dotted.push('.');
        }
        dotted.push(c);
    }
    dotted
}

#[cfg(test)]
mod tests {
    use std::{io::Write, time::Duration};

    use assay_chain::config::{Discovery, IndexMode};

    use super::*;

    fn load_text(text: &str) -> Result<Config, ConfigError> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        load(Some(file.path()))
    }

    #[test]
    fn defaults_are_a_whole_configuration() {
        let config = load_text("").unwrap();
        assert_eq!(config.scoring.cache_ttl, Duration::from_millis(300_000));
        assert!(config.chains.is_empty());
    }

    #[test]
    fn a_misspelt_key_is_named() {
        let error = load_text("[store]\nbackand = \"redis\"").unwrap_err().to_string();
        assert!(error.contains("backand"), "{error}");
    }

    #[test]
    fn logs_are_read_for_tokens_only_where_that_is_wanted() {
        assert_eq!(load_text("").unwrap().reading.discovery, Discovery::Explorer);
        assert_eq!(load_text("[reading]\ndiscovery = \"logs\"").unwrap().reading.discovery, Discovery::Logs);
        let error = load_text("[reading]\ndiscovery = \"log\"").unwrap_err().to_string();
        assert!(error.contains("reading.discovery"), "{error}");
    }

    #[test]
    fn the_index_is_beside_the_store_unless_it_has_a_place() {
        let folder = |text: &str| load_text(text).unwrap().reading.index_path;
        assert_eq!(folder(""), Path::new("data/index"));
        assert_eq!(folder("[store]\npath = \"/var/assay.redb\""), Path::new("/var/index"));
        assert_eq!(folder("[reading]\nindex_path = \"elsewhere\""), Path::new("elsewhere"));
        assert_eq!(load_text("").unwrap().reading.index, IndexMode::Auto);
        let error = load_text("[reading]\nindex = \"always\"").unwrap_err().to_string();
        assert!(error.contains("reading.index"), "{error}");
    }

    #[test]
    fn no_value_of_the_file_is_repeated() {
        for (text, place) in [
            ("[[access.keys]]\nname = \"a\"\nkey = \"s3cret\nscopes = []", "line 3"),
            (
                "[[chains]]\nid = 1\nname = \"A\"\nrpc = \"https://user:s3cret@rpc.example\"\nfinality = 1\nnative = \
                 { symbol = \"ETH\" }",
                "chains[0].rpc",
            ),
            ("[[chains]]\nid = \"s3cret\"\n", "chains[0].id"),
        ] {
            let error = load_text(text).unwrap_err().to_string();
            assert!(error.contains(place) && !error.contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn every_problem_is_listed_at_once() {
        let chain = "[[chains]]\nid = 1\nname = \"A\"\nrpc = []\nfinality = 1\nnative = { symbol = \"ETH\" }\n";
        let error = load_text(&format!("{chain}{chain}[[access.keys]]\nname = \"a\"\nkey = \"k3y\"\nscopes = []"))
            .unwrap_err()
            .to_string();
        for part in ["chains[0].rpc", "chains[1].id", "access.keys[0].key", "access.keys[0].scopes"] {
            assert!(error.contains(part), "{part} not in {error}");
        }
        assert!(!error.contains("k3y"), "{error}");
    }

    #[test]
    fn unset_variables_hide_no_other_problem() {
        let text = "[http]\nmax_addresses = 0\n[store]\nbackend = \"redis\"\nurl = \"$ASSAY_TEST_UNSET_A\"\n\
                    [[access.keys]]\nname = \"a\"\nkey = \"$ASSAY_TEST_UNSET_B\"\nscopes = []\n\
                    [[chains]]\nid = 1\nrpc = [\"http://node.example\", \"$ASSAY_TEST_UNSET_C\"]\n";
        let error = load_text(text).unwrap_err().to_string();
        for part in [
            "configuration has 5 problem(s)",
            "store.url: environment variable ASSAY_TEST_UNSET_A is not set",
            "access.keys[0].key: environment variable ASSAY_TEST_UNSET_B is not set",
            "chains[0].rpc[1]: environment variable ASSAY_TEST_UNSET_C is not set",
            "http.max_addresses: 0",
            "access.keys[0].scopes",
        ] {
            assert!(error.contains(part), "{part} not in {error}");
        }
        let error = load_text(&format!("{text}finalty = 1\n")).unwrap_err().to_string();
        assert!(error.contains("ASSAY_TEST_UNSET_A is not set") && error.contains("finalty"), "{error}");
    }

    #[test]
    fn lists_of_names_and_attesters_are_replaced_and_checked() {
        let none = load_text("[names]\nregistries = []\n[identity]\nsources = []\n").unwrap();
        assert_eq!((none.names.registries.len(), none.identity.sources.len()), (0, 0));
        assert_eq!(none.names.cache_ttl, Duration::from_millis(300_000));
        let registry = "{ provider = \"a\", chain = 1, registry = \"0x00000000000C2E074eC69A0dFb2997BA6C7d2e1e\", \
                        reverse = \"Reverse\" }";
        let text = format!(
            "[names]\ncache_ms = 300001\nregistries = [{registry}, {registry}]\n[outbound]\nmax_bytes = 0\n\
             allow = [\"localhost:80\", \"[::1]:80\", \"localhost\", \"http://localhost:80\", \"a@b:80\"]\n"
        );
        let error = load_text(&text).unwrap_err().to_string();
        for key in [
            "names.registries[0].reverse",
            "names.registries[1]: another",
            "names.cache_ms",
            "outbound.max_bytes",
            "outbound.allow[2]",
        ] {
            assert!(error.contains(key), "{key} not in {error}");
        }
        assert!(error.contains("outbound.allow[3]") && error.contains("outbound.allow[4]"), "{error}");
        assert!(!error.contains("outbound.allow[0]") && !error.contains("outbound.allow[1]"), "{error}");
    }

    #[test]
    fn a_known_chain_needs_its_endpoint_alone() {
        let config = load_text("[[chains]]\nid = 42161\nrpc = [\"http://node.example\"]\n").unwrap();
        let chain = &config.chains[0];
        assert_eq!((chain.name.as_str(), chain.native.symbol.as_str()), ("Arbitrum One", "ETH"));
        assert!(
            chain.finality > 0 && chain.multicall.is_some() && !chain.tokens.is_empty() && !chain.markets.is_empty()
        );
        assert_eq!(
            chain.shipped,
            [
                "name",
                "finality",
                "max_head_age",
                "multicall",
                "sequencer",
                "native",
                "tokens",
                "pair_factories",
                "markets",
                "slugs"
            ]
        );
    }

    #[test]
    fn the_age_of_a_head_is_bounded_for_known_chains_and_can_be_switched_off() {
        let age = |id: u64, written: &str| {
            let rest =
                if id == 31_337 { "name = \"Local\"\nfinality = 1\nnative = { symbol = \"ETH\" }\n" } else { "" };
            let text = format!("[[chains]]\nid = {id}\nrpc = [\"http://node.example\"]\n{rest}{written}");
            load_text(&text).map(|config| config.chains[0].max_head_age.map(|age| age.as_secs()))
        };
        assert_eq!(age(1, "").unwrap(), Some(180));
        assert_eq!(age(1, "max_head_age = 60").unwrap(), Some(60));
        assert_eq!((age(1, "max_head_age = 0").unwrap(), age(31_337, "").unwrap()), (None, None));
        let error = age(1, "max_head_age = 5").unwrap_err().to_string();
        assert!(error.contains("max_head_age") && error.contains("30 to 86400"), "{error}");
    }

    #[test]
    fn a_heartbeat_is_that_of_its_feed() {
        let native = |written: &str| {
            let text =
                format!("[[chains]]\nid = 8453\nrpc = [\"http://node.example\"]\nsequencer = \"none\"\n{written}");
            let chain = load_text(&text).unwrap().chains.remove(0);
            assert_eq!(chain.sequencer, None);
            chain.native.heartbeat.as_secs()
        };
        let feed = "feed = \"0x0000000000000000000000000000000000000001\"";
        assert_eq!(native(""), 1_200);
        assert_eq!(native("native = { heartbeat = 60 }"), 60);
        assert_eq!(native(&format!("native = {{ {feed} }}")), 86_400);
        assert_eq!(native(&format!("native = {{ {feed}, heartbeat = 60 }}")), 60);
        assert_eq!(native("native = { symbol = \"ETH\" }"), 86_400);
    }

    #[test]
    fn price_apis_and_heartbeats_are_checked() {
        let chain = "[[chains]]\nid = 1\nrpc = [\"http://node.example\"]\nnative = { heartbeat = 0 }\n\
                     tokens = [{ address = \"0x0000000000000000000000000000000000000001\", symbol = \"A\", \
                     decimals = 6, heartbeat = 604801 }]\n";
        let error =
            load_text(&format!("[prices]\nfallback = \"coins.example/s3cret\"\n{chain}")).unwrap_err().to_string();
        for part in [
            "prices.fallback: not an http",
            "prices.fallback: set without",
            "chains[0].native.heartbeat",
            "chains[0].tokens[0].heartbeat",
        ] {
            assert!(error.contains(part), "{part} not in {error}");
        }
        assert!(!error.contains("s3cret"), "{error}");
        load_text("[prices]\napi = \"https://coins.example\"\nfallback = \"https://gecko.example/api/v3\"").unwrap();
    }

    #[test]
    fn what_is_written_wins_and_lists_are_replaced() {
        let feed = "0x00000000000000000000000000000000000000AA";
        let written = format!(
            "[[chains]]\nid = 1\nrpc = [\"http://node.example\"]\nfinality = 7\nmulticall = \"none\"\nnative = \
             {{ feed = \"{feed}\" }}\n\
             markets = []\ntokens = [{{ address = \"{feed}\", symbol = \"A\", decimals = 1 }}]\n"
        );
        let config = load_text(&written).unwrap();
        let chain = &config.chains[0];
        assert_eq!((chain.finality, chain.multicall), (7, None));
        assert_eq!((chain.native.symbol.as_str(), chain.native.feed), ("ETH", feed.parse().ok()));
        assert!(chain.native.wrapped.is_some());
        assert_eq!((chain.markets.len(), chain.tokens.len()), (0, 1));
        assert_eq!(
            chain.shipped,
            ["name", "max_head_age", "native.symbol", "native.wrapped", "pair_factories", "slugs"]
        );
        let config = load_text(&written.replace("native = { ", "native = { symbol = \"XYZ\", ")).unwrap();
        assert_eq!(
            (config.chains[0].native.wrapped, &config.chains[0].shipped),
            (None, &vec!["name", "max_head_age", "pair_factories", "slugs"])
        );
    }

    #[test]
    fn mirrors_are_those_of_the_chain_whatever_its_currency_is_called() {
        let mirrors = |id: u64, native: &str| {
            let text = format!("[[chains]]\nid = {id}\nrpc = [\"http://node.example\"]\nnative = {{ {native} }}\n");
            load_text(&text).unwrap().chains.remove(0).native.mirrors
        };
        let shipped = mirrors(10, "");
        assert_eq!(shipped.len(), 1);
        assert_eq!(mirrors(10, "symbol = \"XYZ\""), shipped);
        for written in ["0xdeaddeaddeaddeaddeaddeaddeaddeaddead0000", "0xDEADDEADDEADDEADDEADDEADDEADDEADDEAD0000"] {
            assert_eq!(mirrors(10, &format!("mirrors = [\"{written}\"]")), shipped);
            assert_eq!(mirrors(1, &format!("symbol = \"A\", mirrors = [\"{written}\"]")), shipped);
        }
        assert_eq!((mirrors(10, "mirrors = []"), mirrors(1, "")), (vec![], vec![]));
    }

    #[test]
    fn a_chain_that_is_not_known_needs_the_full_form() {
        let text = "[[chains]]\nid = 31337\nrpc = [\"http://node.example\"]\nnative = {}\n[[chains]]\nid = 1\n";
        let error = load_text(text).unwrap_err().to_string();
        for part in ["chains[0] (id 31337) lacks name, finality, native.symbol", "8453", "chains[1] (id 1) lacks rpc"] {
            assert!(error.contains(part), "{part} not in {error}");
        }
        let full = "[[chains]]\nid = 31337\nname = \"Local\"\nrpc = [\"http://node.example\"]\nfinality = 1\nnative = \
                    { symbol = \"ETH\" }\n";
        let chain = load_text(full).unwrap().chains.remove(0);
        assert!(
            chain.shipped.is_empty()
                && chain.tokens.is_empty()
                && chain.markets.is_empty()
                && chain.multicall.is_none()
        );
        let error = load_text(&full.replace("name = ", "nam = ")).unwrap_err().to_string();
        assert!(error.contains("nam"), "{error}");
    }
}
