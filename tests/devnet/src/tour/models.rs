//! A component that is dropped on the shelf, promoted and taken back.

use std::fs;
use std::io::Write;

use reqwest::Method;
use serde_json::{Value, json};

use super::guide::Guide;
use super::{Error, WALLET};
use crate::devnet::actors;

/// The tour's own model, which gives everybody 700, and its version.
pub const MODEL: &[u8] = include_bytes!("credit-9.0.wasm");
pub const VERSION: &str = "9.0";
const FILE: &str = "tour-9.0.wasm";

pub async fn walk(guide: &mut Guide<impl Write>) -> Result<(), Error> {
    let file = guide.place.shelf.join(FILE);
    let result = swap(guide).await;
    // Leaves the shelf as it was, also where a step failed.
    let _ = fs::remove_file(file);
    result
}

async fn swap(guide: &mut Guide<impl Write>) -> Result<(), Error> {
    let file = guide.place.shelf.join(FILE);
    guide.say("A model is a file: a component is copied to the shelf, checked, and listed within half a second.")?;
    fs::write(&file, MODEL).map_err(|cause| Error::File { file: file.clone(), cause })?;
    guide.command(format!("cp {FILE} {}/", guide.place.shelf.display()))?;
    guide.until("models", "the new version", |list| ready(list).cloned()).await?;
    let score = format!("score/address/{}", actors::address(WALLET));

    guide.say("It is promoted, with a reason for the audit log.")?;
    let why = json!({ "version": VERSION, "why": "to see it answer" });
    guide.send(Method::PUT, "admin/models/credit/champion", why).await?;
    guide.holds("the new champion", |roles| roles["champion"] == VERSION)?;

    guide.say("The next score is the new champion's; the server goes on running.")?;
    guide.get(&score).await?;
    guide.holds("its score of 700", |answer| answer["score"] == 700 && answer["model_version"] == VERSION)?;

    guide.say("One call takes it back.")?;
    let why = json!({ "why": "everybody got 700" });
    guide.send(Method::POST, "admin/models/credit/rollback", why).await?;
    guide.holds("another champion", |roles| roles["champion"] != VERSION)?;

    guide.say("And the score is the one from before.")?;
    guide.get(&score).await?;
    guide.holds("a score of another version", |answer| answer["model_version"] != VERSION)
}

/// The entry of the tour's model, once it is ready.
fn ready(list: &Value) -> Option<&Value> {
    let named = |model: &&Value| model["kind"] == "credit" && model["version"] == VERSION && model["state"] == "ready";
    list["models"].as_array()?.iter().find(named)
}
