//! Loads the configuration from defaults, file and environment, and checks it.

use std::path::{Path, PathBuf};

use config::{Environment, File, FileFormat, Value, ValueKind};

use super::{
    Config, Problem,
    faults::{self, Form},
    places::Places,
    validate,
    words::without_values,
};
use assay_chain::known;
use assay_domain::{InvalidAddress, parse_address};
use assay_sandbox::{Scripted, config::ScenarioFile};

/// The default file, with a comment for every key.
pub const DEFAULTS: &str = include_str!("defaults.toml");

/// The configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("configuration file {} cannot be read: {error}", path.display())]
    Unreadable { path: PathBuf, error: std::io::Error },
    #[error("configuration has {} problem(s):\n{}", .0.len(),
        .0.iter().map(|p| format!("  {p}")).collect::<Vec<_>>().join("\n"))]
    Problems(Vec<Problem>),
}

/// Loads `file`, or `assay.toml` in the working directory if it exists and no file is named.
///
/// # Errors
/// [`ConfigError`] names every problem, not only the first.
pub fn load(file: Option<&Path>) -> Result<Config, ConfigError> {
    let embedded = [DEFAULTS, known::IDENTITY].map(|text| File::from_str(text, FileFormat::Toml));
    let mut builder = config::Config::builder().add_source(embedded.to_vec());
    let defaults = builder.clone().build().map_err(|error| malformed(&error))?;
    let fallback = Path::new("assay.toml");
    let (mut places, mut beyond) = (Places::nowhere(), Vec::new());
    if let Some(path) = file.or_else(|| fallback.exists().then_some(fallback)) {
        let text =
            std::fs::read_to_string(path).map_err(|error| ConfigError::Unreadable { path: path.to_owned(), error })?;
        let read = Places::of(path, &text).map_err(ConfigError::Problems)?;
        builder = builder.add_source(File::from_str(&read.text, FileFormat::Toml));
        (places, beyond) = (read.places, read.beyond);
    }
    let environment = Environment::with_prefix("ASSAY").prefix_separator("__").separator("__").try_parsing(true);
    let values = builder.add_source(environment).build().map_err(|error| malformed(&error))?;
    let mistyped = checksums(&values.cache);
    let (config, mut problems) = faults::read::<Config>(values, &defaults.cache);
    problems.extend(mistyped);
    problems.append(&mut beyond);
    if let Some(mut config) = config {
        if config.reading.index_path.as_os_str().is_empty() {
            config.reading.index_path = config.store.path.with_file_name("index");
        }
        problems = judged(problems, validate::problems(&config));
        if problems.is_empty() {
            return Ok(config);
        }
    }
    Err(ConfigError::Problems(placed(problems, &places)))
}

/// Loads the scenarios of a sandbox from `file`.
///
/// # Errors
/// [`ConfigError`] names every problem, as [`load`] does.
pub fn scenarios(file: &Path) -> Result<Vec<Scripted>, ConfigError> {
    let unreadable = |error| ConfigError::Unreadable { path: file.to_owned(), error };
    let text = std::fs::read_to_string(file).map_err(unreadable)?;
    let read = Places::of(file, &text).map_err(ConfigError::Problems)?;
    let built = config::Config::builder().add_source(File::from_str(&read.text, FileFormat::Toml)).build();
    let values = built.map_err(|error| malformed(&error))?;
    let mistyped = checksums(&values.cache);
    let (scenarios, mut problems) = faults::read::<ScenarioFile>(values, &Value::default());
    problems.extend(mistyped);
    problems.extend(read.beyond);
    if let Some(scenarios) = scenarios {
        problems = judged(problems, scenarios.problems().into_vec());
        if problems.is_empty() {
            return Ok(scenarios.scripted());
        }
    }
    Err(ConfigError::Problems(placed(problems, &read.places)))
}

impl Form for Config {
    const SHOWN: &str = "`assay config defaults`";
    const LISTED: usize = 8;

    fn stand_in(field: &str) -> Option<ValueKind> {
        let text = |text: &str| ValueKind::String(text.to_owned());
        Some(match field {
            "name" | "native.symbol" => text("x"),
            "rpc" => ValueKind::Array(vec![Value::new(None, text("http://x"))]),
            "finality" => ValueKind::I64(1),
            "native" => ValueKind::Table([("symbol".to_owned(), Value::new(None, text("x")))].into_iter().collect()),
            _ => return None,
        })
    }
}

impl Form for ScenarioFile {
    const SHOWN: &str = "the page host/docs/sandbox.md";
    const LISTED: usize = 12;
}

fn malformed(error: &config::ConfigError) -> ConfigError {
    let what = without_values(&error.to_string());
    ConfigError::Problems(vec![Problem { key: "configuration".to_owned(), what }])
}

/// The faults of form and those of `values`. A value that was replaced is not judged, nor the table that it is in.
fn judged(mut faults: Vec<Problem>, values: Vec<Problem>) -> Vec<Problem> {
    let is_in = |one: &str, other: &str| {
        one.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    let replaced: Vec<String> = faults.iter().map(|problem| problem.key.clone()).collect();
    // A list is judged although a field of one of its tables was replaced.
    let is_deep = |list: &str, key: &str| {
        let item = key.strip_prefix(list).filter(|rest| rest.starts_with('['));
        item.and_then(|rest| rest.split_once(']')).is_some_and(|(_, field)| !field.is_empty())
    };
    let hides = |key: &String, one: &str| is_in(one, key) || (is_in(key, one) && !is_deep(one, key));
    let is_judged = |one: &Problem| !replaced.iter().any(|key| hides(key, &one.key));
    faults.extend(values.into_iter().filter(is_judged));
    faults
}

/// The problems with the places of their keys.
fn placed(problems: Vec<Problem>, places: &Places) -> Vec<Problem> {
    let placed = problems.into_iter().map(|Problem { key, what }| match places.of_key(&key) {
        Some(place) => Problem { key: format!("{place}: {key}"), what },
        None => Problem { key, what },
    });
    placed.collect()
}

/// Addresses in mixed case whose EIP-55 checksum is wrong: a letter or a digit of them is another one.
fn checksums(values: &Value) -> Vec<Problem> {
    let wrong = |text: &str| matches!(parse_address(text), Err(InvalidAddress::Checksum));
    let what = "the checksum of this address is wrong: a letter or a digit differs; copy it again";
    let found = faults::texts(values).into_iter().filter(|(_, text)| wrong(text));
    found.map(|(key, _)| Problem { key, what: what.to_owned() }).collect()
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
            ("[[access.keys]]\nname = \"a\"\nkey = \"s3cret\nscopes = []", ":3: "),
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
    fn every_fault_of_form_is_listed_with_its_line_and_a_remedy() {
        let text = "listen = \"nonsense\"\nlisen = \"x\"\n[http]\nmax_requests = \"many\"\nmax_bodies = 3\n\
                    request_timeout_ms = -5\n[store]\nbackend = \"postgres\"\n[[access.keys]]\nname = \"a\"\n\
                    key = \"0123456789\"\nscopes = [\"root\", \"read\"]\n[[chains]]\nid = \"one\"\nrpc = 5\n\
                    [promotion]\nmax_psi = -1.0\n";
        let error = load_text(text).unwrap_err().to_string();
        for part in [
            ":1: listen: not an address with a port, such as 127.0.0.1:8080",
            ":2: lisen: no such key; did you mean `listen`?",
            ":4: http.max_requests: text; must be a whole number",
            ":5: http.max_bodies: no such key; ",
            ":6: http.request_timeout_ms: -5; must be a whole number of at least 0",
            ":8: store.backend: cannot be \"postgres\"; give `embedded` or `redis`",
            ":12: access.keys[0].scopes[0]: cannot be \"root\"; give `read`, `submit` or `admin`",
            ":14: chains[0].id: ",
            ":15: chains[0].rpc: 5; must be a list",
            ":17: promotion.max_psi: -1; must be",
        ] {
            assert!(error.contains(part), "{part} not in {error}");
        }
        assert!(error.starts_with("configuration has 10 problem(s)"), "{error}");
    }

    #[test]
    fn neither_a_chain_that_lacks_its_name_nor_a_number_beyond_any_hides_another_problem() {
        let text = "[http]\nmax_requests = 1e400\nmax_addresses = 99999999999999999999\n[[chains]]\nid = 31337\n\
                    rpc = [\"http://x\"]\n[[chains]]\nid = 31338\nname = \"b\"\nfinality = 1\n[[chains]]\nid = 1\n\
                    rpc = []\n[[chains]]\nid = 1\nrpc = [\"ftp://x\"]\n[store]\nbackend = \"emb\"\n";
        let error = load_text(text).unwrap_err().to_string();
        for part in [
            ":2: http.max_requests: the number is too large",
            ":3: http.max_addresses: the number is too large",
            ":4: chains[0].name: (id 31337) lacks name, finality, native",
            ":7: chains[1].rpc: (id 31338) lacks rpc, native",
            ":13: chains[2].rpc: ",
            ":15: chains[3].id: ",
            ":16: chains[3].rpc[0]: ",
            ":18: store.backend: cannot be \"emb\"",
        ] {
            assert!(error.contains(part), "{part} not in {error}");
        }
    }

    #[test]
    fn a_mistyped_address_is_named() {
        let good = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045";
        let text = |address: &str| format!("[agents]\nchain = 1\nidentity_registry = \"{address}\"\n");
        let error = |address: &str| load_text(&text(address)).unwrap_err().to_string();
        assert!(error(&good.replace("dA", "dB")).contains(":3: agents.identity_registry: the checksum"));
        assert!(!error(good).contains("checksum") && !error(&good.to_lowercase()).contains("checksum"));
    }

    #[test]
    fn every_fault_of_the_syntax_has_its_line() {
        let error = load_text("listen = 127.0.0.1:8080\n[http]\nmax_requests = \n[store]\npath = \"a\n").unwrap_err();
        let error = error.to_string();
        for part in [":1: ", "a text needs quotes", ":3: ", ":5: ", "a quote is missing"] {
            assert!(error.contains(part), "{part} not in {error}");
        }
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
        for part in [
            "chains[0].name: (id 31337) lacks name, finality, native.symbol",
            "8453",
            "chains[1].rpc: (id 1) lacks rpc",
        ] {
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
