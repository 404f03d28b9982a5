//! Whether the configuration of a chain is true: each endpoint serves that chain, and each contract has code and
//! answers as what it is configured to be. An operator asks for it; no request does.

mod agents;
mod claim;
mod identity;
mod market;
mod signer;

use alloy::primitives::Bytes;
use futures::future::join_all;
use serde_json::json;

use crate::config::Config;
use assay_chain::config::ChainConfig;
use assay_domain::{ChainId, Secret};
use assay_evm::config::Endpoints;
use assay_evm::{
    client::{Block, Client},
    endpoint,
    fault::Fault,
};
use assay_outbox::payment;

use claim::{Claim, claims, people, registries};

/// One thing that is not as configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub chain: ChainId,
    /// What of the chain: `token USDC at 0x…`, `endpoint node.example`.
    pub part: String,
    /// What is wrong with it, and what to do.
    pub what: String,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "chain {}, {}: {}", self.chain, self.part, self.what)
    }
}

/// Everything of `chain`, and of the naming services and attesters of `config` on it, that its endpoints contradict;
/// nothing where all is well. `tell` hears how far it is.
pub async fn verify(chain: &ChainConfig, config: &Config, tell: impl Fn(String)) -> Vec<Finding> {
    let limits = &config.reading.rpc;
    let finding = |part: String, what: String| Finding { chain: chain.id, part, what };
    let http = endpoint::http();
    // Multicall3 is itself in question, so that nothing is asked through it.
    let direct = |rpc: Vec<Secret>| Client::new(&http, &Endpoints { chain: chain.id, rpc, multicall: None }, limits);
    let heads = join_all(chain.rpc.iter().map(async |rpc| {
        let client = direct(vec![rpc.clone()]);
        (rpc, client.endpoint().unwrap_or_default(), client.head().await)
    }));
    let (mut found, mut good, mut newest) = (Vec::new(), Vec::new(), None);
    for (rpc, host, head) in heads.await {
        match head {
            Ok(head) => {
                tell(format!("{host} answers, head {}", head.number));
                good.push(rpc.clone());
                // The first is asked first, and has to know the block.
                newest = newest.or(Some(head));
            }
            Err(fault) => found.push(finding(format!("endpoint {host}"), fault.to_string())),
        }
    }
    let Some(head) = newest else { return found };
    let client = direct(good);
    let mut claims = claims(chain);
    claims.extend(registries(chain, config.agents.as_ref()));
    let people = people(chain, &config.names, &config.identity);
    match with_code(&client, &people).await {
        // A local chain: they are not asked there at all.
        Ok(coded) if !people.is_empty() && !coded.contains(&true) => {
            tell("has none of the naming services and attesters".into())
        }
        _ => claims.extend(people),
    }
    tell(format!("asking {} contracts", claims.len()));
    let problems = match with_code(&client, &claims).await {
        Ok(coded) => {
            join_all(claims.iter().zip(coded).map(|(claim, coded)| problems(&client, claim, coded, head))).await
        }
        Err(fault) => {
            found.push(finding("its contracts".into(), format!("cannot be asked for their code: {fault}")));
            return found;
        }
    };
    let before = found.len();
    for (claim, problems) in claims.iter().zip(problems) {
        found.extend(problems.into_iter().map(|problem| finding(claim.to_string(), problem)));
    }
    if let (Some(agents), Some(reputation)) =
        (config.agents.as_ref().filter(|agents| agents.chain == chain.id), &config.reputation)
    {
        found.extend(
            signer::problems(&client, agents, reputation, head)
                .await
                .into_iter()
                .map(|(part, what)| finding(part, what)),
        );
    }
    let x402 = &config.access.x402;
    if let Some(domain) = x402.domain().filter(|domain| x402.enabled && domain.chain == chain.id) {
        let told = payment::contradictions(&client, &domain, x402.decimals, head).await;
        let told = told.unwrap_or_else(|fault| vec![format!("cannot be asked: {fault}")]);
        found.extend(told.into_iter().map(|what| finding(format!("asset of access.x402 at {}", domain.asset), what)));
    }
    tell(match found.len() - before {
        0 => format!("all {} contracts are what they should be", claims.len()),
        wrong => format!("{wrong} problem(s) with {} contracts", claims.len()),
    });
    found
}

/// Whether there is code at each address.
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
        Err(fault) => vec![format!("cannot be asked: {fault}")],
    }
}
