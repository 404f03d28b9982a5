//! Adds `Connection: close` to responses while the server stops: clients send their next request to another server, and
//! no request meets a closed connection.

use axum::{
    extract::{Request, State},
    http::{HeaderValue, header},
    middleware::Next,
    response::Response,
};

use crate::http::App;

pub async fn close_connection(State(app): State<App>, request: Request, next: Next) -> Response {
    let mut answer = next.run(request).await;
    if app.stopping.is_cancelled() {
        answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    answer
}
