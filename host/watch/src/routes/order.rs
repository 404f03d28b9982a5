//! A watch as a request orders it.

use std::time::Duration;

use serde_json::json;

use super::{
    WatchRoutes,
    parameters::{self, EVERY},
};
use crate::{
    records::Role,
    trigger::Trigger,
    watches::{NewWatch, TERM, Watches},
};
use assay_domain::{Address, InvalidAddress, Subject, Time};
use assay_http::{ApiError, extract::JsonObject};
use assay_score::ScoringError;

/// A watch as a request orders it.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    subject: Subject,
    triggers: Vec<Trigger>,
    every: Duration,
    fires_at_once: bool,
    statement: bool,
    url: Option<String>,
    /// 30 days from now if absent.
    until: Option<Time>,
    label: Option<String>,
}

impl Order {
    /// # Errors
    /// 422 with each wrong field.
    pub(crate) fn read(mut body: JsonObject, watches: &Watches) -> Result<Self, ApiError> {
        let subject = body.required::<GivenSubject>("address");
        let triggers = parameters::required_triggers(&mut body, watches);
        let every = parameters::every(&mut body, watches).unwrap_or(EVERY.max(watches.settings().min_every));
        let fires_at_once = body.flag("fires_at_once");
        let statement = parameters::statement(&mut body, watches);
        let url = parameters::url(&mut body, watches);
        let until = parameters::until(&mut body, parameters::now());
        let label = parameters::label(&mut body);
        body.finish()?;
        let subject = subject.unwrap_or_default().0;
        Ok(Self { subject, triggers, every, fires_at_once, statement, url, until, label })
    }

    /// Refuses a wallet that cannot be watched: a name that does not resolve is refused now, and reported later.
    pub(crate) async fn require(&self, state: &WatchRoutes) -> Result<(), ApiError> {
        if let Some(script) = &state.watches.0.script {
            let Subject::Address(wallet) = self.subject else {
                return Err(ScoringError::Sandbox("watches addresses with a script, and no names").into());
            };
            return Ok(script.require(wallet)?);
        }
        let scoring = state.source.of_chains("watches no wallets")?;
        scoring.require_chains()?;
        scoring.address(&self.subject).await?;
        Ok(())
    }

    /// The terms that are begun until its end.
    pub(crate) fn terms(&self, now: Time) -> usize {
        parameters::terms(self.until.map_or(TERM, |until| until - now)).max(1)
    }

    /// The same for the same request.
    pub(crate) fn words(&self) -> String {
        let Self { subject, triggers, every, fires_at_once, statement, url, until, label } = self;
        let subject = subject.to_string();
        json!([subject, triggers, every.as_secs(), fires_at_once, statement, url, until, label]).to_string()
    }

    pub(crate) fn watch(self, (owner, by): (String, String), now: Time) -> NewWatch {
        let Self { subject, triggers, every, fires_at_once, statement, url, until, label } = self;
        let (subject, until, role) = (subject.to_string(), until.unwrap_or(now + TERM), Role::Single);
        NewWatch { owner, by, subject, triggers, every, fires_at_once, statement, url, until, role, label }
    }
}

/// An address or a name in a body.
struct GivenSubject(Subject);

impl Default for GivenSubject {
    fn default() -> Self {
        Self(Subject::Address(Address::ZERO))
    }
}

impl std::str::FromStr for GivenSubject {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        Subject::parse(text).map(Self)
    }
}
