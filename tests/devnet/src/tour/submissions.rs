//! An agent, a submission that a public client pays for, its document and its transactions.

use std::io::Write;

use serde_json::{Value, json};

use super::guide::Guide;
use super::{Error, WALLET};
use crate::devnet::actors;
use crate::npm_client::{npm_script, try_npm_client};
use crate::upstreams::payer;

/// The agent that the scores are given to.
const AGENT: u64 = 1;

pub async fn walk(guide: &mut Guide<impl Write>) -> Result<(), Error> {
    guide.say("Agents of the ERC-8004 registry, found by their documents.")?;
    guide.get("agents/search?q=stablecoins").await?;
    guide.holds("an agent", |found| found["total_results"].as_u64() > Some(0))?;

    guide.say("Without a key: the public x402 client pays 0.10 dollars, and the wallet's scores go to the agent.")?;
    let status_url = pay(guide).await?;

    guide.say(
        "The submission is scored, documented on IPFS, sent and confirmed; `?wait=` answers when its state changes.",
    )?;
    let path = format!("{}?wait=10", status_url.trim_start_matches("/api/v2/"));
    let is_ended = |now: &Value| now["status"] == "confirmed" || now["status"] == "failed";
    let ended = guide.until(&path, "an end", |now| is_ended(now).then(|| now.clone())).await?;
    guide.holds("a confirmed submission with three transactions", |status| {
        status["status"] == "confirmed" && status["transactions"].as_array().is_some_and(|all| all.len() == 3)
    })?;

    guide.say("The document that the transactions name, by which anybody can check them.")?;
    let id = ended["submission_id"].as_str().unwrap_or_default();
    guide.get(&format!("agents/{AGENT}/reputation/feedback/{id}")).await?;
    guide.holds("a document", |document| document.is_object())?;

    guide.say("What the registry now holds about the agent.")?;
    guide.get(&format!("agents/{AGENT}/reputation")).await?;
    guide.holds("a summary", |summary| summary.is_object())
}

/// Pays for a submission, and returns the path of its status.
async fn pay(guide: &mut Guide<impl Write>) -> Result<String, Error> {
    let url = format!("{}/api/v2/agents/{AGENT}/reputation", guide.place.url);
    let (payer, body) = (payer(), json!({ "address": actors::address(WALLET) }));
    let script = npm_script();
    // A short path where the script is below the current folder.
    let here = std::env::current_dir().unwrap_or_default();
    let shown = script.strip_prefix(here).unwrap_or(&script).display();
    guide.command(format!("node {shown} 2 {url} {} '{body}'", payer.to_bytes()))?;
    let said = try_npm_client(2, &url, &payer, &body).await.map_err(Error::Client)?;
    let shown = json!({ "status": said["status"], "body": said["body"], "receipt": said["receipt"] });
    guide.answer(shown)?;
    guide.holds("an accepted submission and a settled payment", |said| {
        said["status"] == 202 && said["receipt"]["success"] == true
    })?;
    Ok(said["body"]["status_url"].as_str().unwrap_or_default().to_owned())
}
