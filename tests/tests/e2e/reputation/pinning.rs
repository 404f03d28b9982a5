//! A pinning service beside the IPFS node, as a mock with its API: no transaction is sent before the service has pinned
//! the document.

use assay_tests::{
    pinning::{Mood, Pinning, TOKEN},
    reputation::World,
    service::{Caller, Service},
};
use serde_json::json;

use super::{ALL, check, confirmed, ended, submit};
use crate::run;

const METERED: &str = "assay_reputation_pinned";

/// A server with one key that pays for one submission at a time.
fn serve(world: &World, pinning: &Pinning, reputation: &str) -> (Service, Caller) {
    let section = format!("[ipfs]\npinning = {{ api = \"{}\", key = \"{TOKEN}\" }}\n", pinning.url);
    let key = format!("[[access.keys]]\nname = \"pinned\"\nkey = \"{METERED}\"\nscopes = [\"submit\"]\nunits = 10\n");
    let service = Service::start(&(world.config(world.chain.url(), reputation).replace("[ipfs]\n", &section) + &key));
    let api = service.with_key(METERED);
    (service, api)
}

#[test]
fn what_is_queued_is_waited_for_until_it_is_pinned() {
    run(async {
        let (world, pinning) = (World::start().await, Pinning::start().await);
        let (_service, api) = serve(&world, &pinning, "");
        let status = confirmed(&api, &submit(&api, 1).await).await;
        check(&world, &world.held().await, &status, &ALL);
        let cid = status["feedback_uri"].as_str().expect("a URI").trim_start_matches("ipfs://");
        let seen = pinning.take();
        for state in ["queued", "pinning", "pinned"] {
            assert!(seen.iter().filter(|seen| **seen == state).count() >= ALL.len(), "{state}: {seen:?}");
        }
        assert_eq!(pinning.asked(cid), 1);
    });
}

#[test]
fn a_service_that_does_not_keep_the_document_keeps_it_from_the_chain() {
    run(async {
        let (world, pinning) = (World::start().await, Pinning::start().await);
        let (service, api) = serve(&world, &pinning, "give_up_after_ms = 6000");
        for (n, (mood, words)) in [
            (Mood::Failing, "the pinning service has not pinned the document yet"),
            (Mood::Refusing, "the pinning service answered with status 401"),
            (Mood::Garbled, "the answer of the pinning service cannot be read"),
        ]
        .into_iter()
        .enumerate()
        {
            pinning.be(mood);
            // Accepted only if the units of the previous submission were refunded.
            let status = ended(&api, &submit(&api, n).await).await;
            let error = status["error"].as_str().expect("a message");
            assert_eq!((&status["status"], &status["transactions"]), (&json!("failed"), &json!([])), "{mood:?}");
            assert!(error.contains(words) && error.contains("units were given back"), "{mood:?}: {error}");
            assert!(!error.contains(TOKEN) && !service.log().contains(TOKEN), "{mood:?}: {error}");
        }
        assert!(world.held().await.is_empty());
    });
}

#[test]
fn a_service_that_stalls_delays_and_no_more() {
    run(async {
        let (world, pinning) = (World::start().await, Pinning::start().await);
        pinning.be(Mood::Stalling);
        let (service, api) = serve(&world, &pinning, "");
        let url = submit(&api, 1).await;
        pinning.held().await;
        assert_eq!(api.get(&url).await.ok()["status"], "uploading");
        assert!(world.held().await.is_empty());
        // Killed while it waits, the host reads the status again, and requests the pin only once.
        let dir = service.kill();
        pinning.be(Mood::Well);
        pinning.release(1);
        let file = std::fs::read_to_string(dir.path().join("assay.toml")).expect("its configuration");
        let service = Service::start_in(dir, &file, &[]);
        let status = confirmed(&service.with_key(METERED), &url).await;
        check(&world, &world.held().await, &status, &ALL);
        assert_eq!(world.held().await.len(), ALL.len());
    });
}
