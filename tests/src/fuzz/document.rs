//! Texts by owners of agents: the URI of a token, and its document.

use std::{sync::LazyLock, time::Duration};

use assay::agents::read_document;
use assay_chain::{Documents, Located};
use assay_evm::config::Outbound;

/// Fetches nothing: a URI is only resolved to an address or to an embedded document.
static DOCUMENTS: LazyLock<Documents> = LazyLock::new(|| {
    Documents::new(
        &Outbound { allow: Vec::new(), timeout: Duration::from_millis(1), max_bytes: MOST, concurrency: 1 },
        None,
    )
});
const MOST: usize = 1 << 16;

pub fn run(input: &[u8]) {
    let document = match DOCUMENTS.locate(&String::from_utf8_lossy(input)) {
        Located::Here(document) => {
            assert!(document.len() <= MOST);
            document
        }
        Located::Outside(outside) => {
            assert!(!outside.host().is_empty());
            return;
        }
        Located::Nowhere(_) => input.to_vec(),
    };
    let Some(agent) = read_document(&document) else { return };
    for (text, most) in [(agent.name, 200), (agent.description, 2_000), (agent.image, 2_048)] {
        let text = text.unwrap_or_default();
        assert!(text.chars().count() <= most, "{} characters", text.chars().count());
        assert!(!text.chars().any(|c| c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c)), "{text:?}");
    }
}
