//! `/api/v2/watches`.

mod admin;
mod bulk;
mod change;
mod clock;
mod create;
mod events;
mod groups;
mod holder;
mod many;
mod one;
mod order;
mod paid;
mod parameters;
mod stream;
mod summary;

use std::sync::Arc;

use axum::{extract::FromRef, http::StatusCode};

use crate::watches::{WatchError, Watches};
use assay_http::{ApiError, Gate};
use assay_payment::Payments;
use assay_score::ScoreSource;

/// The state of the handlers of watches.
#[derive(Clone)]
pub struct WatchRoutes {
    pub gate: Gate,
    pub watches: Watches,
    /// A sandbox watches only wallets that have a script.
    pub source: Arc<dyn ScoreSource>,
    /// Payment by call, if watches are for sale.
    pub payments: Payments,
}

impl FromRef<WatchRoutes> for Payments {
    fn from_ref(state: &WatchRoutes) -> Self {
        state.payments.clone()
    }
}

assay_http::rows! { WatchRoutes:
    GET "/api/v2/watches" Models many::list;
    POST "/api/v2/watches" Watch [several held] create::create;
    POST "/api/v2/watches/bulk" Watch [several] bulk::add;
    GET "/api/v2/watches/summary" Models summary::get;
    GET "/api/v2/watches/groups" Models groups::list;
    POST "/api/v2/watches/groups" Models groups::create;
    GET "/api/v2/watches/groups/{group_id}" Models groups::get;
    PATCH "/api/v2/watches/groups/{group_id}" Watch [several] groups::change;
    DELETE "/api/v2/watches/groups/{group_id}" Models groups::remove;
    GET "/api/v2/watches/{watch_id}" Models [held] one::get;
    PATCH "/api/v2/watches/{watch_id}" Watch [several held] one::change;
    DELETE "/api/v2/watches/{watch_id}" Models [held] one::remove;
    POST "/api/v2/watches/{watch_id}/test" Models [held] one::test;
    POST "/api/v2/watches/{watch_id}/replay" Models [held] one::replay;
    GET "/api/v2/watches/{watch_id}/events" Models [held] events::events;
    PUT "/api/v2/sandbox/clock" Sandbox clock::set;
    GET "/api/v2/admin/watches" Admin admin::list;
    DELETE "/api/v2/admin/watches/{watch_id}" Admin admin::remove;
}

impl From<WatchError> for ApiError {
    fn from(error: WatchError) -> Self {
        match error {
            WatchError::Unknown | WatchError::UnknownGroup => Self::new(StatusCode::NOT_FOUND, error.to_string()),
            WatchError::ServerFull(_) | WatchError::KeyFull(_) => {
                Self::coded(StatusCode::CONFLICT, "too_many_watches", error.to_string())
            }
            WatchError::InGroup(_) => Self::coded(StatusCode::CONFLICT, "watch_in_group", error.to_string()),
            WatchError::Ended => Self::coded(StatusCode::CONFLICT, "watch_ended", error.to_string()),
            WatchError::Tested(_) => Self::coded(StatusCode::CONFLICT, "too_many_tests", error.to_string()),
            WatchError::Rotated(_) => Self::coded(StatusCode::CONFLICT, "too_many_rotations", error.to_string()),
            WatchError::NotYet(_) | WatchError::NotKept { .. } => {
                Self::coded(StatusCode::CONFLICT, "no_such_events", error.to_string())
            }
            WatchError::NoReceiver => Self::coded(StatusCode::CONFLICT, "no_receiver", error.to_string()),
            WatchError::PaidUntil(_) => Self::coded(StatusCode::CONFLICT, "watch_paid_until", error.to_string()),
            WatchError::ClockBehind(_) => Self::coded(StatusCode::CONFLICT, "clock_behind", error.to_string()),
            WatchError::NoClock => Self::coded(StatusCode::CONFLICT, "no_clock", error.to_string()),
            WatchError::ClockBusy => {
                Self::coded(StatusCode::SERVICE_UNAVAILABLE, "busy", error.to_string()).retry_after(1)
            }
            WatchError::OtherRequest | WatchError::Removed => {
                Self::coded(StatusCode::UNPROCESSABLE_ENTITY, "idempotency_key_reused", error.to_string())
            }
            WatchError::Unpaid(error) => error.into(),
            WatchError::Contended => Self::coded(StatusCode::CONFLICT, "watch_contended", error.to_string()),
            WatchError::Random(error) => Self::internal("randomness", error),
            WatchError::Store(error) => Self::store(error),
        }
    }
}
