//! The connections to the servers: all calls share one connection to each, a broken one is replaced, and every wait is
//! bounded.

use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use redis::{
    AsyncConnectionConfig, Client, Cmd, ErrorKind, Pipeline, RedisError, RedisResult, ServerErrorKind, TlsMode, Value,
    aio::{ConnectionLike, MultiplexedConnection},
    cluster::ClusterClient,
    cluster_async::ClusterConnection,
    sentinel::{Sentinel, SentinelNodeConnectionInfo},
};
use tokio::{
    sync::watch,
    time::{sleep, sleep_until, timeout},
};

use super::{
    address::Address,
    refusals::{self, Refusals},
};

use crate::pauses;

/// The timeouts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waits {
    pub connect: Duration,
    pub answer: Duration,
    /// For replacing a broken connection.
    pub patience: Duration,
    /// For rates, which work without an answer.
    pub count: Duration,
}

/// Why there is no answer.
#[derive(Debug, Clone)]
pub(super) enum CallError {
    /// The servers cannot be reached; nothing was sent.
    Away(String),
    /// The call was sent, and the connection broke or the timeout passed before the answer.
    Unanswered(String),
    /// A server refuses such calls. See [`Refusals`].
    Refused(String),
    /// The call itself is at fault, for example because a record has another type.
    Fault(String),
    NoScript,
}

#[derive(Clone)]
pub(super) struct Link {
    inner: Arc<LinkState>,
}

struct LinkState {
    address: Address,
    waits: Waits,
    state: watch::Sender<RedisLinkState>,
    refusals: Refusals,
}

#[derive(Clone)]
enum RedisLinkState {
    Up { connection: Connection, since: Instant },
    Down { since: Instant, why: String },
}

#[derive(Clone)]
enum Connection {
    One(MultiplexedConnection),
    Cluster(ClusterConnection),
}

impl Link {
    /// # Errors
    /// Why no server was reachable.
    pub(crate) async fn open(address: Address, waits: Waits) -> Result<Self, String> {
        let connection = connect(&address, waits).await?;
        metrics::gauge!("assay_store_reached").set(1.0);
        metrics::gauge!("assay_store_writable").set(1.0);
        let (state, _) = watch::channel(RedisLinkState::Up { connection, since: Instant::now() });
        Ok(Self { inner: Arc::new(LinkState { address, waits, state, refusals: Refusals::default() }) })
    }

    pub(crate) fn address(&self) -> &Address {
        &self.inner.address
    }

    pub(crate) fn waits(&self) -> Waits {
        self.inner.waits
    }

    pub(crate) fn is_up(&self) -> bool {
        matches!(*self.inner.state.borrow(), RedisLinkState::Up { .. })
    }

    pub(crate) fn refusals(&self) -> &Refusals {
        &self.inner.refusals
    }

    /// Why the server refuses calls; `None` if it does not, or cannot be reached.
    pub(crate) fn refusal(&self) -> Option<String> {
        let reason = self.inner.refusals.reason()?;
        // The connection to a server that is no longer the master is replaced.
        let is_reached = match &*self.inner.state.borrow() {
            RedisLinkState::Up { .. } => true,
            RedisLinkState::Down { why, .. } => *why == reason,
        };
        is_reached.then_some(reason)
    }

    /// Sends `command` until it is answered, for at most `patience`. It must be safe to send twice.
    pub(crate) async fn call(&self, command: &Cmd, patience: Duration) -> Result<Value, CallError> {
        self.send(command, patience, |reason| self.refusals().begin(reason)).await
    }

    /// Like [`call`](Self::call), for a command that the store can do without: its refusal is not noted.
    pub(crate) async fn ask(&self, command: &Cmd) -> Result<Value, CallError> {
        self.send(command, self.waits().patience, |_| {}).await
    }

    async fn send(&self, command: &Cmd, patience: Duration, refused: impl Fn(&str)) -> Result<Value, CallError> {
        let deadline = Instant::now() + patience;
        let mut unanswered = None;
        loop {
            let (mut connection, since) = match self.up(deadline, patience).await {
                Ok(up) => up,
                Err(why) => return Err(unanswered.map_or(CallError::Away(why), CallError::Unanswered)),
            };
            let answer = timeout(self.inner.waits.answer, connection.pass(command)).await;
            let LinkFailure { why, lost, sent, is_refused } = match answer {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(error)) => match failure(&error) {
                    Ok(failure) => failure,
                    Err(error) => {
                        if let CallError::Refused(reason) = &error {
                            refused(reason);
                        }
                        return Err(error);
                    }
                },
                Err(_) => {
                    let why = format!("no answer within {} ms", self.inner.waits.answer.as_millis());
                    LinkFailure { why, lost: true, sent: true, is_refused: false }
                }
            };
            if sent {
                unanswered = Some(why.clone());
            }
            if is_refused {
                refused(&why);
            }
            metrics::counter!("assay_store_retries_total").increment(1);
            if lost {
                self.lost(since, &why);
            }
            // While a server refuses writes, calls fail at once.
            let until = self.refusals().since().filter(|_| is_refused).map_or(deadline, |began| began + patience);
            if Instant::now() + pauses::COMMAND_RETRY >= until.min(deadline) {
                let answer = if is_refused { CallError::Refused(why) } else { CallError::Away(why) };
                return Err(unanswered.map_or(answer, CallError::Unanswered));
            }
            sleep(pauses::COMMAND_RETRY).await;
        }
    }

    /// Sends `commands` once, on one connection, and waits `longest` in addition to the usual time for their answers.
    pub(crate) async fn together(
        &self,
        commands: &Pipeline,
        count: usize,
        longest: Duration,
    ) -> Result<Vec<Value>, CallError> {
        let Waits { answer, patience, .. } = self.inner.waits;
        let up = self.up(Instant::now() + patience, patience).await;
        let (mut connection, since) = up.map_err(CallError::Away)?;
        let why = match timeout(answer + longest, connection.send_all(commands, count)).await {
            Ok(Ok(answers)) => return Ok(answers),
            Ok(Err(error)) => said(&error),
            Err(_) => format!("no answer within {} ms", (answer + longest).as_millis()),
        };
        self.lost(since, &why);
        Err(CallError::Unanswered(why))
    }

    /// Waits for the connection until `deadline`, and at most `patience` since it broke: while the servers are
    /// unreachable, calls fail at once.
    async fn up(&self, deadline: Instant, patience: Duration) -> Result<(Connection, Instant), String> {
        let mut state = self.inner.state.subscribe();
        loop {
            let (since, why) = match &*state.borrow_and_update() {
                RedisLinkState::Up { connection, since } => return Ok((connection.clone(), *since)),
                RedisLinkState::Down { since, why } => (*since, why.clone()),
            };
            let until = deadline.min(since + patience);
            if until <= Instant::now() {
                return Err(why);
            }
            tokio::select! {
                // The sender belongs to `self`, so it is not closed.
                _ = state.changed() => {}
                () = sleep_until(until.into()) => return Err(why),
            }
        }
    }

    /// Marks the connection made at `since` as broken. The first caller starts the reconnection.
    fn lost(&self, since: Instant, why: &str) {
        let broke = self.inner.state.send_if_modified(|state| match state {
            RedisLinkState::Up { since: made, .. } if *made == since => {
                *state = RedisLinkState::Down { since: Instant::now(), why: why.to_owned() };
                true
            }
            _ => false,
        });
        if broke {
            metrics::gauge!("assay_store_reached").set(0.0);
            // A server that refuses writes is looked for anew again and again; its refusal is logged.
            if self.refusals().since().is_none() {
                tracing::warn!(reason = why, "the connection to the store broke");
            }
            assay_tasks::keep("store connection", Arc::downgrade(&self.inner), reconnect);
        }
    }
}

/// A call that failed and is sent again.
struct LinkFailure {
    why: String,
    /// Whether the connection is unusable.
    lost: bool,
    /// Whether the server may have executed the call.
    sent: bool,
    /// Whether the server refuses such calls for now.
    is_refused: bool,
}

/// # Errors
/// If sending the call again does not help.
fn failure(error: &RedisError) -> Result<LinkFailure, CallError> {
    let why = said(error);
    let refused = || refusals::reason(error, &why);
    Ok(match error.kind() {
        ErrorKind::Server(ServerErrorKind::NoScript) => return Err(CallError::NoScript),
        ErrorKind::Server(
            ServerErrorKind::BusyLoading
            | ServerErrorKind::TryAgain
            | ServerErrorKind::ClusterDown
            | ServerErrorKind::Moved
            | ServerErrorKind::Ask,
        ) => LinkFailure { why, lost: false, sent: false, is_refused: false },
        ErrorKind::Server(ServerErrorKind::MasterDown) => {
            LinkFailure { why, lost: true, sent: false, is_refused: false }
        }
        // Too few replicas for a safe write, for example after a change of the master.
        ErrorKind::Server(_) | ErrorKind::Extension if refusals::has_code(error, "NOREPLICAS") => {
            LinkFailure { why: refused(), lost: false, sent: false, is_refused: true }
        }
        // No longer the master; the sentinels know the new one.
        ErrorKind::Server(_) if refusals::has_code(error, "READONLY") => {
            LinkFailure { why: refused(), lost: true, sent: false, is_refused: true }
        }
        ErrorKind::Server(_) | ErrorKind::Extension | ErrorKind::InvalidClientConfig => {
            return Err(if refusals::is_fault(error) { CallError::Fault(why) } else { CallError::Refused(refused()) });
        }
        _ => LinkFailure { why, lost: true, sent: true, is_refused: false },
    })
}

/// Tries to connect until it succeeds or the store is closed.
async fn reconnect(inner: Weak<LinkState>) {
    let mut wait = pauses::RECONNECT;
    loop {
        let Some(strong) = inner.upgrade() else { return };
        let (address, waits) = (strong.address.clone(), strong.waits);
        drop(strong);
        let outcome = connect(&address, waits).await;
        let Some(inner) = inner.upgrade() else { return };
        match outcome {
            Ok(connection) => {
                metrics::counter!("assay_store_reconnects_total").increment(1);
                metrics::gauge!("assay_store_reached").set(1.0);
                if inner.refusals.since().is_none() {
                    tracing::info!("the store is reached again");
                }
                inner.state.send_replace(RedisLinkState::Up { connection, since: Instant::now() });
                return;
            }
            Err(reason) => {
                tracing::debug!(reason, "the store is not reached");
                inner.state.send_modify(|state| {
                    if let RedisLinkState::Down { why, .. } = state {
                        *why = reason;
                    }
                });
            }
        }
        drop(inner);
        sleep(wait).await;
        wait = pauses::MAX_RECONNECT.min(wait * 2);
    }
}

/// Connects to a server that answers within the timeout.
async fn connect(address: &Address, waits: Waits) -> Result<Connection, String> {
    let connecting = async {
        match address {
            Address::One(info) => single(&Client::open(info.clone())?, waits).await,
            Address::Sentinel { sentinels, master, node, tls } => {
                let mut known =
                    SentinelNodeConnectionInfo::default().set_redis_connection_info(node.redis_settings().clone());
                if *tls {
                    known = known.set_tls_mode(TlsMode::Secure);
                }
                single(&Sentinel::build(sentinels.clone())?.async_master_for(master, Some(&known)).await?, waits).await
            }
            Address::Cluster(nodes) => {
                let client = ClusterClient::builder(nodes.clone())
                    .connection_timeout(waits.connect)
                    .response_timeout(waits.answer)
                    .retries(3)
                    .build()?;
                Ok(Connection::Cluster(client.get_async_connection().await?))
            }
        }
    };
    match timeout(waits.connect, connecting).await {
        Ok(connected) => connected.map_err(|error| said(&error)),
        Err(_) => Err(format!("no connection within {} ms", waits.connect.as_millis())),
    }
}

async fn single(client: &Client, waits: Waits) -> RedisResult<Connection> {
    // `Link::call` has the timeout for answers.
    let config = AsyncConnectionConfig::new().set_connection_timeout(Some(waits.connect)).set_response_timeout(None);
    let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
    // A server may accept connections without answering.
    redis::cmd("PING").exec_async(&mut connection).await?;
    Ok(Connection::One(connection))
}

impl Connection {
    async fn pass(&mut self, command: &Cmd) -> RedisResult<Value> {
        let answer = match self {
            Self::One(connection) => connection.req_packed_command(command).await,
            Self::Cluster(connection) => connection.req_packed_command(command).await,
        };
        answer.and_then(Value::extract_error)
    }

    async fn send_all(&mut self, commands: &Pipeline, count: usize) -> RedisResult<Vec<Value>> {
        let answers = match self {
            Self::One(connection) => connection.req_packed_commands(commands, 0, count).await?,
            Self::Cluster(connection) => connection.req_packed_commands(commands, 0, count).await?,
        };
        answers.into_iter().map(Value::extract_error).collect()
    }
}

/// The message of the error. It may contain an address, but no command.
fn said(error: &RedisError) -> String {
    match (error.code(), error.detail()) {
        (Some(code), Some(detail)) => format!("{code} {detail}"),
        _ => error.to_string(),
    }
}
