//! `POST /api/v2/watches/bulk`.

use std::collections::{HashMap, HashSet, VecDeque};

use axum::{
    Json,
    extract::{FromRequest, Request, State},
    http::header,
    response::Response,
};
use futures::{StreamExt as _, stream};
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{
    WatchRoutes,
    parameters::{self, GroupQuery},
};
use crate::{
    group_bodies::{RowBody, RowStatus, RowsBody},
    groups::{Member, NewMember},
    responses,
    rows::{self, GivenRow, MOST_ROWS},
    watches::{Watch, WatchError},
};
use assay_domain::Subject;
use assay_http::{
    ApiError, Violation,
    extract::{Caller, JsonObject, Upload},
    fresh,
};
use assay_score::{Scoring, ScoringError};

/// Wallets that are added, and paid, in one write.
const AT_ONCE: usize = 50;
/// Attempts if the group changes at the same time.
const TRIES: usize = 4;
/// Names that are resolved at the same time.
const RESOLVED: usize = 8;

/// Wallets to add to a group.
#[derive(Deserialize, ToSchema)]
#[schema(as = NewWatchRows, example = json!({
    "wallets": [{ "address": "vitalik.eth", "label": "Loan 17" }, "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"]
}))]
#[expect(dead_code, reason = "the schema of a body whose rows are read one by one")]
pub(crate) struct BulkBody {
    /// At most 1,000: an address or a name, or an object with `address` and `label`.
    #[schema(value_type = Vec<Value>, max_items = 1000)]
    wallets: Vec<Value>,
}

/// The rows of a body.
pub(crate) struct GivenRows(Vec<GivenRow>);

impl<S: Send + Sync> FromRequest<S> for GivenRows {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let is_csv = kind.is_some_and(|kind| kind.trim_start().to_ascii_lowercase().starts_with("text/csv"));
        if is_csv {
            let Upload(bytes) = Upload::from_request(request, state).await?;
            return rows::of_csv(&bytes).map(Self).map_err(|why| ApiError::invalid(vec![Violation::of_body(why)]));
        }
        let mut body = JsonObject::from_request(request, state).await?;
        let given = body.objects::<Value>("wallets", MOST_ROWS);
        if given.is_none() && body.is_good() {
            body.refuse("wallets", "name the wallets to add");
        }
        body.finish()?;
        let given = given.unwrap_or_default();
        Ok(Self(given.iter().map(GivenRow::of_json).collect()))
    }
}

/// Adds wallets to a group.
///
/// The body is JSON, or a CSV file (`text/csv`) whose first line names the columns: `address`, and `label` if you want
/// your own words kept. The answer has one row for each row of the request. Wallets that the group has already are not
/// added again, so a request can be repeated. Each wallet that is added costs the units of a watch; rows that are not
/// added cost nothing and do not stop the others.
#[utoipa::path(
    post, path = "/api/v2/watches/bulk", tag = "watches", operation_id = "add_watches",
    params(GroupQuery),
    request_body = BulkBody,
    responses(
        (status = 200, description = "What became of each row", body = RowsBody),
        responses::Validated, responses::Bodied, responses::Keyed, responses::Units, responses::OneGroup,
        responses::Changed, responses::NoChain,
    ),
    security(("key" = [])),
)]
pub(crate) async fn add(
    caller: Caller,
    State(state): State<WatchRoutes>,
    GroupQuery(id): GroupQuery,
    GivenRows(given): GivenRows,
) -> Result<Response, ApiError> {
    let scoring = state.source.of_chains("has no groups of watches")?;
    let id = id.ok_or_else(|| assay_http::extract::refused("group", "give the id of a group"))?;
    let group = state.watches.group(caller.owner(), id).await?;
    if group.state.ended_at.is_some() {
        return Err(WatchError::Ended.into());
    }
    scoring.require_chains()?;
    let checked = checked(scoring, given).await;
    let subjects = checked.iter().filter_map(|row| row.subject.as_deref());
    let known = state.watches.enlisted(id, subjects).await.map_err(ApiError::store)?;
    let mut list = List { caller: &caller, state: &state, group, known, created: HashMap::new(), stopped: None };
    list.add(&checked).await?;
    let rows = checked.into_iter().enumerate().map(|(at, row)| list.shown(at + 1, row)).collect();
    let body = RowsBody::of(id, rows);
    tracing::info!(by = caller.name(), group = %id, created = body.created, "wallets added to a group of watches");
    Ok(fresh::once(Json(body)))
}

/// A row with what was found out about it.
struct CheckedRow {
    given: GivenRow,
    /// The wallet, if it can be watched.
    subject: Option<String>,
    why: Option<(RowStatus, String)>,
}

async fn checked(scoring: &Scoring, given: Vec<GivenRow>) -> Vec<CheckedRow> {
    let check = async |given: GivenRow| {
        let found = match given.wrong.clone() {
            Some(why) => Err((RowStatus::Invalid, why)),
            None => subject(scoring, &given.address).await,
        };
        let (subject, why) = match found {
            Ok(subject) => (Some(subject), None),
            Err(why) => (None, Some(why)),
        };
        CheckedRow { given, subject, why }
    };
    stream::iter(given).map(check).buffered(RESOLVED).collect().await
}

/// The wallet that `text` means.
async fn subject(scoring: &Scoring, text: &str) -> Result<String, (RowStatus, String)> {
    let subject = Subject::parse(text).map_err(|error| (RowStatus::Invalid, error.to_string()))?;
    if matches!(subject, Subject::Name(_)) {
        // A name that does not resolve is refused now, and reported later.
        scoring.address(&subject).await.map_err(|error| match error {
            ScoringError::NotFound => (RowStatus::Invalid, "the name has no address".to_owned()),
            error => (RowStatus::Refused, error.to_string()),
        })?;
    }
    Ok(subject.to_string())
}

/// A list of wallets that is added to a group.
struct List<'a> {
    caller: &'a Caller,
    state: &'a WatchRoutes,
    group: Watch,
    /// The watches of wallets that the group had before.
    known: HashMap<String, Member>,
    /// The watches that were added.
    created: HashMap<String, Uuid>,
    /// Why the rest was not added.
    stopped: Option<String>,
}

impl List<'_> {
    /// Adds the wallets that the group does not have, until a limit is reached.
    async fn add(&mut self, rows: &[CheckedRow]) -> Result<(), ApiError> {
        let mut seen = HashSet::new();
        let subjects = rows.iter().filter_map(|row| Some((row.subject.clone()?, row.given.label.clone())));
        let new = subjects.map(|(subject, label)| NewMember { subject, label });
        let new: Vec<NewMember> = new.filter(|new| seen.insert(new.subject.clone())).collect();
        let mut parts: VecDeque<Vec<NewMember>> = new.chunks(AT_ONCE).map(<[_]>::to_vec).collect();
        let mut contended = 0;
        while let Some(mut part) = parts.pop_front().filter(|_| self.stopped.is_none()) {
            part.retain(|new| !self.known.contains_key(&new.subject));
            match self.enlist(&part).await? {
                Enlisted::Added => {}
                Enlisted::Contended if contended < TRIES => {
                    contended += 1;
                    self.read_again(rows).await?;
                    parts.push_front(part);
                }
                Enlisted::Contended => return Err(WatchError::Contended.into()),
                Enlisted::Full(why) if part.len() <= 1 => self.stopped = Some(why),
                // A half of them may have room.
                Enlisted::Full(_) => {
                    let rest = part.split_off(part.len() / 2);
                    parts.push_front(rest);
                    parts.push_front(part);
                }
            }
        }
        Ok(())
    }

    /// Adds all of `part` or none, and charges for what it added.
    async fn enlist(&mut self, part: &[NewMember]) -> Result<Enlisted, ApiError> {
        if part.is_empty() {
            return Ok(Enlisted::Added);
        }
        let (watches, group, new) = (self.state.watches.clone(), self.group.clone(), part.to_vec());
        let terms = parameters::terms(group.record.until - parameters::now()).saturating_mul(part.len());
        let enlisting = async move { watches.enlist(&group, &new).await };
        match parameters::paid(self.caller, terms, enlisting).await {
            Ok(Ok(ids)) => {
                self.created.extend(part.iter().map(|new| new.subject.clone()).zip(ids));
                Ok(Enlisted::Added)
            }
            Ok(Err(error @ (WatchError::KeyFull(_) | WatchError::ServerFull(_)))) => {
                Ok(Enlisted::Full(error.to_string()))
            }
            Ok(Err(WatchError::Contended)) => Ok(Enlisted::Contended),
            Ok(Err(error)) => Err(error.into()),
            Err(error) if error.is_server_error() => Err(error),
            Err(_) => Ok(Enlisted::Full("too few units are left for this wallet".to_owned())),
        }
    }

    /// Reads the group and its wallets again.
    async fn read_again(&mut self, rows: &[CheckedRow]) -> Result<(), ApiError> {
        let (watches, id) = (&self.state.watches, self.group.record.id);
        self.group = watches.group(self.caller.owner(), id).await?;
        let subjects = rows.iter().filter_map(|row| row.subject.as_deref());
        let subjects = subjects.filter(|subject| !self.created.contains_key(*subject));
        self.known = watches.enlisted(id, subjects).await.map_err(ApiError::store)?;
        Ok(())
    }

    /// What became of a row. A wallet that the list has twice is created by the first of its rows.
    fn shown(&mut self, row: usize, CheckedRow { given, subject, why }: CheckedRow) -> RowBody {
        let GivenRow { address, label, .. } = given;
        let shown = |status, watch_id, why| RowBody { row, address, label, status, watch_id, why };
        let Some(subject) = subject else {
            let (status, why) = why.unwrap_or((RowStatus::Invalid, "the row has no wallet".to_owned()));
            return shown(status, None, Some(why));
        };
        if let Some(id) = self.created.remove(&subject) {
            self.known.insert(subject, Member { watch: id, has_ended: false });
            return shown(RowStatus::Created, Some(id), None);
        }
        match self.known.get(&subject) {
            Some(Member { watch, has_ended: false }) => shown(RowStatus::Exists, Some(*watch), None),
            Some(Member { watch, has_ended: true }) => {
                let why = format!("its watch {watch} has ended; remove that watch and send the row again");
                shown(RowStatus::Refused, None, Some(why))
            }
            None => shown(RowStatus::Refused, None, self.stopped.clone()),
        }
    }
}

/// What came of adding wallets.
enum Enlisted {
    Added,
    /// A limit leaves no room for all of them; in words.
    Full(String),
    /// The group, or what it has, changed at the same time.
    Contended,
}
