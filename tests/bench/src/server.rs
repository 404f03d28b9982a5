//! The server under load: the real server with two more routes, which answer with a prepared score. It runs as a
//! process of its own, so that it can be pinned to a core.

use std::{path::Path, sync::LazyLock};

use assay::{app, config};
use assay_access::Access;
use assay_domain::{Address, ModelKind, ModelRef, Scope, Score};
use assay_http::{ApiError, Row, values::Moment};
use assay_score::bodies::ScoreBody;
use axum::{
    Json,
    extract::State,
    http::{HeaderMap, header},
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::Failure;

/// Serialises a prepared score, for callers with a key.
pub const READY: &str = "/bench/ready";
/// Serialises a prepared score, for every caller.
pub const OPEN: &str = "/bench/open";

/// Serves `file` until it is killed.
pub fn serve(file: &Path) -> Result<(), Failure> {
    // Every request has a span, as in the released binary.
    let config = config::load(Some(file))?;
    assay_telemetry::start(&config.telemetry.log, None, None)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let assembled = app::assemble(&config).await?;
        let access = &assembled.routes.gate.access;
        let router = assembled.routes.router_with(vec![Row::page(READY, ready, access), Row::page(OPEN, open, &())]);
        let listener = TcpListener::bind(config.listen).await?;
        eprintln!("listening {}", listener.local_addr()?);
        assay_http::serve(listener, router, assay_http::ConnectionBounds::from(&config.http), CancellationToken::new())
            .await?;
        Ok(())
    })
}

/// A score with the fields of a sandbox score, computed once.
fn score() -> Option<&'static ScoreBody> {
    static SCORE: LazyLock<Option<ScoreBody>> = LazyLock::new(|| {
        let model =
            ModelRef { kind: ModelKind::Credit, version: "1.1".parse().ok()?, digest: assay_domain::Digest([0; 32]) };
        let decile = assay_domain::Decile::new(8)?;
        Some(ScoreBody::bare(Address::repeat_byte(0xa5), Score::new(847)?, decile, model.version, Moment::now()))
    });
    SCORE.as_ref()
}

/// A handler that only checks the key.
async fn ready(State(access): State<Access>, headers: HeaderMap) -> Result<Json<Option<&'static ScoreBody>>, ApiError> {
    let header = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    access.identify(header).await?.require(&[Scope::Read])?;
    Ok(Json(score()))
}

async fn open() -> Json<Option<&'static ScoreBody>> {
    Json(score())
}
