//! Activity and holdings with an explorer in both flavours, and from the logs of a node alone, compared with the
//! blocks.

mod activity;
mod claims;
mod discovery;
mod faults;
mod holdings;
mod logs;
mod long;
mod strangers;

use std::time::Duration;

use assay::config::Config;
use assay_domain::Secret;
use assay_tests::devnet::{Chain, Devnet};
use assay_tests::explorer::{Explorer, Flavour};

use super::{PATIENCE, Reader};

/// The explorer of a chain of the devnet.
pub(super) async fn of_chain(flavour: Flavour, chain: &Chain) -> Explorer {
    Explorer::start(flavour, chain.id, chain.rpc.clone()).await
}

/// A reader of chain 1 of the devnet with its explorer. Nothing is cached, and requests to the explorer are not
/// limited.
pub(super) fn reader(devnet: &Devnet, explorer: &Explorer) -> Reader {
    with_explorer(Reader::of(devnet).ethereum(), explorer)
}

fn with_explorer(reader: Reader, explorer: &Explorer) -> Reader {
    reader.with(|config: &mut Config| {
        config.chains[0].explorer = Some(Secret::new(&explorer.url));
        config.scoring.cache_ttl = Duration::ZERO;
        config.scoring.incomplete_cache_ttl = Duration::ZERO;
        config.reading.explorer.per_second = 0;
        // A test of this limit sets its own.
        config.reading.explorer.timeout = PATIENCE;
    })
}
