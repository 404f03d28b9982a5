//! Stores on real Redis servers. Each store has its own prefix.

use std::{sync::OnceLock, time::Duration};

use uuid::Uuid;

use crate::config;
use assay_domain::Secret;
use assay_process::redis::{FORGETFUL, Redis};

/// A new store on the server that all tests share.
pub(super) fn config() -> config::Store {
    static SERVER: OnceLock<Redis> = OnceLock::new();
    on(&SERVER.get_or_init(|| Redis::start(&FORGETFUL)).url())
}

pub(super) fn on(url: &str) -> config::Store {
    config::Store {
        backend: config::Backend::Redis,
        url: Some(Secret::new(url)),
        prefix: format!("{}:", Uuid::new_v4().simple()),
        // Long timeouts: no test fails on a busy machine.
        connect_timeout: Duration::from_secs(20),
        answer_timeout: Duration::from_secs(20),
        call_timeout: Duration::from_secs(20),
        count_timeout: Duration::from_secs(20),
        ..config::Store::embedded("unused".into())
    }
}

/// Waits until the condition is true.
pub(super) async fn until<F: Future<Output = bool>>(mut is_so: impl FnMut() -> F) {
    while !is_so().await {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
