//! Checks the configuration of a chain: each endpoint serves that chain, and each contract has code and answers as its
//! configured type. An operator runs it, and a server in the background; no request does.

mod agents;
mod bill;
mod claim;
mod identity;
mod index;
mod market;
mod signer;
mod survey;
mod watch;

use alloy::{primitives::Bytes, sol_types::SolCall};
use futures::future::join_all;
use serde_json::json;

use crate::config::Config;
use assay_chain::{NO_OLD_STATE, config::ChainConfig, old_state};
use assay_domain::{Address, ChainId, Secret};
use assay_evm::{
    call::{Call, returned},
    client::{Block, Client},
    config::Endpoints,
    endpoint,
    fault::Fault,
};
use assay_payment::token;
use assay_reputation::ipfs::Ipfs;

pub use bill::Calls;
use claim::{Claim, claims, identity_services, registries};
pub use survey::{Depth, LogQueries, LogRange, Survey, survey};
pub(crate) use watch::watch;

const IGNORES: &str = "answers every request with the current state, so first and last transactions stay unread; \
                       replace it in chains.rpc";

/// One contradiction between the configuration and the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub chain: ChainId,
    /// The part of the configuration: `token USDC at 0x…`, `endpoint node.example`.
    pub part: String,
    /// The problem, and how to correct it.
    pub what: String,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "chain {}, {}: {}", self.chain, self.part, self.what)
    }
}

/// The findings about `chain` and about the contracts of `config` on it; empty when the chain agrees with the
/// configuration. `progress` receives a sentence about each step. Contracts are called through `client` if there is
/// one, which uses no multicall.
pub async fn verify(
    chain: &ChainConfig,
    config: &Config,
    client: Option<&Client>,
    progress: impl Fn(String),
) -> Vec<Finding> {
    let limits = &config.reading.rpc;
    let http = endpoint::http();
    // Multicall3 is one of the contracts to check, so no call goes through it.
    let direct = |rpc: Vec<Secret>| {
        Client::new(&http, &Endpoints { chain: chain.id, rpc, multicall: None, max_head_age: None }, limits)
    };
    let heads = join_all(chain.rpc.iter().map(async |rpc| {
        let client = direct(vec![rpc.clone()]);
        let head = client.head().await;
        let ignores = match &head {
            Ok(head) => survey::ignores_blocks(&client, survey::history(chain, *head)).await,
            Err(_) => false,
        };
        (rpc, client.endpoint().unwrap_or_default(), head, ignores)
    }));
    let (mut found, mut good, mut newest) = (Vec::new(), Vec::new(), None);
    for (rpc, host, head, ignores) in heads.await {
        match head {
            Ok(head) => {
                progress(format!("{host} answers, head {}", head.number));
                if ignores {
                    found.push(finding(chain, format!("endpoint {host}"), IGNORES.to_owned()));
                }
                good.push(rpc.clone());
                // Calls go to the first endpoint first, so it must know the block.
                newest = newest.or(Some(head));
            }
            Err(fault) => found.push(finding(chain, format!("endpoint {host}"), fault.to_string())),
        }
    }
    if let Some(head) = newest {
        let client = client.cloned().unwrap_or_else(|| direct(good));
        if chain.explorer.is_none() && old_state(&client, chain).await == Some(false) {
            progress(format!("warning: {NO_OLD_STATE}"));
        }
        index::words(chain, &config.reading, head).into_iter().for_each(&progress);
        found.extend(contracts(&client, chain, config, head, progress).await);
    }
    found
}

/// The problem of the node that publishes documents.
pub async fn ipfs(config: &Config) -> Option<String> {
    let error = Ipfs::new(config.ipfs.as_ref()?)?.check().await.err()?;
    Some(format!("no document can be published: {error}; correct ipfs.api, or start the node"))
}

/// The findings about every contract, in the state after `head`.
async fn contracts(
    client: &Client,
    chain: &ChainConfig,
    config: &Config,
    head: Block,
    progress: impl Fn(String),
) -> Vec<Finding> {
    let mut claims = claims(chain);
    claims.extend(registries(chain, config.agents.as_ref()));
    let services = identity_services(chain, &config.names, &config.identity);
    match with_code(client, &services).await {
        // A local chain has none of these contracts, and nothing reads them there.
        Ok(coded) if !services.is_empty() && !coded.contains(&true) => {
            progress("has none of the naming services and attesters".into());
        }
        _ => claims.extend(services),
    }
    progress(format!("checking {} contracts", claims.len()));
    let problems = match with_code(client, &claims).await {
        Ok(coded) if coded.len() > 1 && !coded.contains(&true) => {
            let what = format!(
                "none of the {} contracts of the configuration exists there: it is another network with this id, such \
                 as a local one; correct chains.rpc",
                coded.len()
            );
            return vec![finding(chain, format!("block {}", head.number), what)];
        }
        Ok(coded) => {
            join_all(claims.iter().zip(coded).map(|(claim, coded)| problems(client, claim, coded, head))).await
        }
        Err(fault) => {
            return vec![finding(chain, "its contracts".into(), format!("their code cannot be read: {fault}"))];
        }
    };
    let mut found = Vec::new();
    for (claim, problems) in claims.iter().zip(problems) {
        found.extend(problems.into_iter().map(|problem| finding(chain, claim.to_string(), problem)));
    }
    found.extend(accounts(client, chain, config, head).await);
    progress(match found.len() {
        0 => format!("all {} contracts are as configured", claims.len()),
        wrong => format!("{wrong} problem(s) with {} contracts", claims.len()),
    });
    found
}

/// The findings about the account of `[reputation]` and the asset of `[access.x402]`.
async fn accounts(client: &Client, chain: &ChainConfig, config: &Config, head: Block) -> Vec<Finding> {
    let mut found = Vec::new();
    if let (Some(agents), Some(reputation)) =
        (config.agents.as_ref().filter(|agents| agents.chain == chain.id), &config.reputation)
    {
        let problems = signer::problems(client, agents, reputation, head).await;
        found.extend(problems.into_iter().map(|(part, what)| finding(chain, part, what)));
    }
    let x402 = &config.access.x402;
    if let Some(domain) = x402.domain().filter(|domain| x402.enabled && domain.chain == chain.id) {
        let problems = token::contradictions(client, &domain, x402.decimals, head).await;
        let problems = problems.unwrap_or_else(|fault| vec![format!("cannot be read: {fault}")]);
        let part = |what| finding(chain, format!("asset of access.x402 at {}", domain.asset), what);
        found.extend(problems.into_iter().map(part));
    }
    found
}

fn finding(chain: &ChainConfig, part: String, what: String) -> Finding {
    Finding { chain: chain.id, part, what }
}

/// Whether each address has code.
async fn with_code(client: &Client, claims: &[Claim<'_>]) -> Result<Vec<bool>, Fault> {
    let asks = claims.iter().map(|claim| ("eth_getCode", json!([claim.address(), "latest"]))).collect();
    let malformed = |error: serde_json::Error| Fault::Malformed(error.to_string());
    let answers = client.batch(asks).await?.into_iter();
    answers.map(|code| serde_json::from_value::<Bytes>(code?).map(|code| !code.is_empty()).map_err(malformed)).collect()
}

async fn problems(client: &Client, claim: &Claim<'_>, coded: bool, head: Block) -> Vec<String> {
    if !coded {
        return vec![format!("no contract has this address; correct {}", claim.key())];
    }
    match claim.check(client, head).await {
        Ok(problems) => problems,
        Err(fault) => vec![format!("cannot be read: {fault}")],
    }
}

/// The decoded result of one call; `None` when the contract does not answer it.
pub(super) async fn ask<C: SolCall>(
    client: &Client,
    to: Address,
    call: &C,
    at: Block,
) -> Result<Option<C::Return>, Fault> {
    Ok(returned::<C>(client.calls(&[Call::new(to, call)], at.hash).await?.first()))
}
