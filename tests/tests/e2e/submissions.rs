//! `GET /api/v2/submissions`: a key sees the submissions that it paid for, and no others.

use assay_tests::{
    reputation::World,
    service::{Caller, Service, plugins, sandbox_config},
};
use serde_json::{Value, json};

use super::{
    reputation::{confirmed, subject},
    run,
};

const LIST: &str = "/api/v2/submissions";
const OTHER: &str = "assay_submissions_other";

/// A second key, whose name is part of the path of the first one's records if these are not told apart.
fn other() -> String {
    format!("[[access.keys]]\nname = \"test-x\"\nkey = \"{OTHER}\"\nscopes = [\"submit\"]\nunits = 1000\n")
}

fn ids(list: &Value) -> Vec<String> {
    let submissions = list["submissions"].as_array().expect("a list").iter();
    submissions.map(|one| one["submission_id"].as_str().expect("an id").to_owned()).collect()
}

async fn submit(api: &Caller, agent: u64, address: &str) -> String {
    let accepted = api.post(&format!("/api/v2/agents/{agent}/reputation"), &json!({ "address": address })).await;
    accepted.expect(202)["submission_id"].as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn a_key_sees_its_own_submissions_in_pages_and_finds_them() {
    let dir = tempfile::tempdir().expect("a folder");
    let service = Service::start_in(dir, &format!("{}{}", sandbox_config(&plugins()), other()), &["--sandbox"]);
    let (mine, others) = (service.keyed(), service.with_key(OTHER));
    assert_eq!(mine.get(LIST).await.ok()["total"], 0);
    let mut made = Vec::new();
    for n in 1..=5 {
        made.push(submit(&mine, n, &format!("0x{:040x}", 0xabc0 + n)).await);
    }
    let foreign = submit(&others, 5, "0x0000000000000000000000000000000000000005").await;
    made.reverse();
    let all = mine.get(LIST).await.ok();
    assert_eq!((ids(&all), &all["total"]), (made.clone(), &json!(5)), "the newest first");
    assert_eq!(ids(&others.get(LIST).await.ok()), std::slice::from_ref(&foreign));
    let second = mine.get(&format!("{LIST}?page=2&limit=2")).await.ok();
    assert_eq!((ids(&second), &second["total"], &second["page"]), (made[2..4].to_vec(), &json!(5), &json!(2)));
    assert_eq!(ids(&mine.get(&format!("{LIST}?page=9")).await.ok()), [] as [&str; 0]);
    for (query, found) in [
        (made[1].as_str(), vec![&made[1]]),
        ("ABC3", vec![&made[2]]),
        ("3", vec![&made[2]]),
        (foreign.as_str(), vec![]),
        ("%00%F0%9F%92%A9'--", vec![]),
    ] {
        let list = mine.get(&format!("{LIST}?q={query}")).await.ok();
        let exact: Vec<_> = ids(&list).into_iter().filter(|id| query.len() > 2 || found.contains(&id)).collect();
        assert_eq!(exact.iter().collect::<Vec<_>>(), found, "{query}");
    }
    others.until(&format!("{LIST}?q=failed"), |answer| ids(&answer.ok()) == std::slice::from_ref(&foreign)).await;
    assert_eq!(mine.get(&format!("{LIST}?page=0")).await.expect(400)["detail"], "Page must be >= 1");
    service.anonymous().get(LIST).await.expect(401);
    service.with_key("nonsense").get(LIST).await.expect(401);
}

#[test]
fn the_state_in_the_list_is_that_of_the_submission_and_survives_a_restart() {
    run(async {
        let world = World::start().await;
        let config = world.config(world.chain.url(), "") + &other();
        let service = Service::start(&config);
        let (mine, others) = (service.keyed(), service.with_key(OTHER));
        let id = submit(&mine, 1, &subject(1).to_string()).await;
        confirmed(&mine, &format!("/api/v2/agents/1/reputation/status/{id}")).await;
        let list = mine.get(&format!("{LIST}?q=confirmed")).await.ok();
        assert_eq!((ids(&list), &list["submissions"][0]["status"]), (vec![id.clone()], &json!("confirmed")));
        assert_eq!(list["submissions"][0]["address"], subject(1).to_string());
        mine.get(list["submissions"][0]["status_url"].as_str().unwrap()).await.ok();
        assert_eq!(mine.get(&format!("{LIST}?q=pending")).await.ok()["total"], 0);
        assert_eq!(others.get(LIST).await.ok()["total"], 0);
        let service = Service::start_in(service.kill(), &config, &[]);
        assert_eq!(ids(&service.keyed().get(LIST).await.ok()), [id]);
    });
}
