//! A server that was told to stop takes leave of its clients with an answer: the next request of theirs goes elsewhere,
//! and none meets a connection that is closed under it.

use axum::{
    extract::{Request, State},
    http::{HeaderValue, header},
    middleware::Next,
    response::Response,
};

use crate::http::App;

pub async fn close_connection(State(app): State<App>, request: Request, next: Next) -> Response {
    let mut answer = next.run(request).await;
    if app.leaving.is_cancelled() {
        answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    answer
}
