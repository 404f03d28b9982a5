//! A walk through a running devnet for somebody who sees Assay for the first time. Each step is one sentence, the
//! command to type, and the answer, which the tour checks.

mod guide;
pub mod models;
mod submissions;

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::PathBuf;

use guide::Guide;
use reqwest::Method;
use serde_json::json;

use crate::devnet::actors;

/// The wallet that the tour looks at.
const WALLET: &str = "borrower";

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("nothing answers at {url}: {cause}. Start the devnet first with `make run`, or say where it is with --url")]
    Unreachable { url: String, cause: reqwest::Error },
    #[error("{url} is {found}. {advice}")]
    Elsewhere { url: String, found: &'static str, advice: &'static str },
    #[error("{command}\nanswered {status}: {body}\n{advice}")]
    Refused { command: String, status: u16, body: String, advice: &'static str },
    #[error("{command}\nwas expected to answer {expected}, and answered:\n{body}")]
    Other { command: String, expected: &'static str, body: String },
    #[error("the public x402 client failed: {0}")]
    Client(String),
    #[error("the file {file} cannot be written: {cause}. Say with --shelf which folder of models the server watches")]
    File { file: PathBuf, cause: io::Error },
    #[error("the tour cannot print: {0}")]
    Print(#[from] io::Error),
}

/// The server and the shelf that the tour walks through.
#[derive(Debug, Clone)]
pub struct Place {
    pub url: String,
    /// A key with every scope.
    pub key: String,
    /// The folder of models that the server watches.
    pub shelf: PathBuf,
}

/// Walks all steps and prints them to `out`.
///
/// # Errors
/// At the first step that does not answer as it should.
pub async fn walk(place: Place, out: impl Write) -> Result<(), Error> {
    let mut guide = Guide::new(place, out)?;
    guide.arrive().await?;
    scores(&mut guide).await?;
    submissions::walk(&mut guide).await?;
    models::walk(&mut guide).await?;
    guide.end()
}

async fn scores(guide: &mut Guide<impl Write>) -> Result<(), Error> {
    let wallet = actors::address(WALLET);
    guide.say("A score from 300 to 1000, with the factors that it is made of.")?;
    let score = guide.get(&format!("score/address/{wallet}?include_factors=true")).await?;
    guide.holds("a complete score with five factors", |score| {
        score["factors"].as_array().is_some_and(|factors| factors.len() == 5) && score["provisional"] == false
    })?;

    guide.say("The same wallet by its name: names are resolved on the chains.")?;
    guide.get(&format!("score/address/{WALLET}.eth")).await?;
    guide.holds("the same score", |named| named["score"] == score["score"])?;

    guide.say("The same score as a signed statement, which a contract can accept and anyone can compute again.")?;
    guide.send(Method::POST, &format!("score/address/{wallet}/attestation"), json!({})).await?;
    guide.holds("an attestation of the wallet", |statement| {
        statement["sig"]["message"]["recipient"] == wallet.to_checksum(None) && statement["evidence"].is_string()
    })?;

    guide.say("The report behind it: tokens, positions, and the lending events of each pool on twelve chains.")?;
    let report = format!("report/address/{wallet}");
    guide.until(&report, "events", |report| Some(json!({ "credit_events": report["credit_events"] }))).await?;
    guide.holds("the events of four lenders, read completely", |report| {
        let pools = report["credit_events"]["pools"].as_array().into_iter().flatten();
        let lenders: BTreeSet<_> = pools.filter_map(|pool| pool["protocol"].as_str()).collect();
        lenders.len() == 4 && report["credit_events"]["coverage"] == "complete"
    })?;

    guide.say("Two versions of the model on the same reading: where they differ, and by which factor.")?;
    guide.get(&format!("models/compare/address/{wallet}?versions=1.0,1.1")).await?;
    guide.holds("two scores", |compared| compared["versions"].as_array().is_some_and(|all| all.len() == 2))
}
