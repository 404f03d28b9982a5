//! What `devnet run` prints once it is ready.

use std::path::Path;

use assay_devnet::devnet::Devnet;

use super::table;

/// What the text tells.
pub struct Told<'a> {
    pub url: &'a str,
    pub key: &'a str,
    /// The configuration of the server.
    pub config: &'a Path,
    pub less: bool,
}

pub fn text(devnet: &Devnet, &Told { url, key, config, less }: &Told<'_>) -> String {
    let address = devnet.wallet("borrower").address;
    let curl = |path: &str| format!("curl -s -H 'Authorization: Bearer {key}' '{url}/api/v2/{path}'");
    let mut requests = vec![
        curl(&format!("score/address/{address}?include_factors=true")),
        curl(&format!("report/address/{address}")),
        curl(&format!("sandbox/score/address/{address}")),
    ];
    let mut more = String::new();
    if !less {
        requests.push(curl("score/address/borrower.eth"));
        requests.push(curl("agents/search?q=lend"));
        more = format!("\nA tour of what Assay does, in another terminal: make tour{}\n", elsewhere(url, key));
    }
    format!(
        "\nAssay listens on {url}\nAPI key: {key}\nConsole: {url}/console\nDocumentation: {url}/docs\n\
         Configuration: {}\n\nWallets:\n{}\nA score with its factors, a report, a sandbox score{}:\n\n{}\n{more}\n\
         Ctrl-C stops everything.",
        config.display(),
        table::wallets(devnet),
        if less { "" } else { ", a score by name, agents" },
        requests.join("\n")
    )
}

/// The arguments that the tour needs where the server is not at its usual place.
fn elsewhere(url: &str, key: &str) -> String {
    let url = (url != "http://127.0.0.1:8080").then(|| format!("--url {url}"));
    let key = (key != super::DEVELOPER_KEY).then(|| format!("--key {key}"));
    let arguments: Vec<String> = url.into_iter().chain(key).collect();
    if arguments.is_empty() { String::new() } else { format!(" ARGS='{}'", arguments.join(" ")) }
}
