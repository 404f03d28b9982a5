//! Hosts of a fleet split alike, also under load and over kills.

use super::*;

/// Two hosts with the models 7.0 and 8.0, their configurations, and what must outlive them.
async fn fleet(more: &str) -> (impl Sized, Vec<String>, Vec<Service>) {
    let (server, shelves) = (Redis::start(&DURABLE), [shelf_copy(), shelf_copy()]);
    let mut configs = Vec::new();
    for shelf in &shelves {
        let config = configured(shelf.path(), more).await;
        configs.push(redis::on(&config, &format!("redis://127.0.0.1:{}", server.port), "split:"));
    }
    let services: Vec<_> = configs.iter().map(|config| Service::start(config)).collect();
    add_models(&services[0].keyed()).await;
    let lists = |answer: &Answer| ["7.0", "8.0"].iter().all(|version| answer.text.contains(&format!("\"{version}\"")));
    services[1].keyed().until("/api/v2/models", lists).await;
    ((server, shelves), configs, services)
}

#[test]
fn hosts_of_a_fleet_split_alike() {
    run(async {
        let (_around, _, hosts) = fleet("").await;
        let (one, two) = (hosts[0].keyed(), hosts[1].keyed());
        let shares = json!({ "shares": [share("7.0", 40.0), share("8.0", 30.0)] });
        let set = one.put(SPLIT, &shares).await.ok();
        two.until(SPLIT, |split| split.ok() == set).await;
        assert_eq!(versions(&one).await, versions(&two).await);
        // The other one changes it, and the first one follows.
        let set = two.put(SPLIT, &json!({ "shares": [share("7.0", 50.0)] })).await.ok();
        one.until(SPLIT, |split| split.ok() == set).await;
        assert_eq!(versions(&one).await, versions(&two).await);
        // Each step of a ramp is logged by the host that took it, and by no other.
        let ramp = json!([{ "version": "7.0", "percent": 0.01, "ramp": [0.02, 0.03], "step_seconds": 1 }]);
        two.put(SPLIT, &json!({ "shares": ramp })).await.ok();
        one.until(SPLIT, |split| split.ok()["shares"][0]["percent"] == 0.03).await;
        let done = |by: &str| (by.to_owned(), "split".to_owned(), "done".to_owned());
        assert_eq!(steps(&one).await, ["dev", "dev", "dev", "assay", "assay"].map(done));
    });
}

#[test]
fn of_two_changes_at_once_on_two_hosts_one_is_refused() {
    run(async {
        let (_around, _, hosts) = fleet("").await;
        let (one, two) = (hosts[0].keyed(), hosts[1].keyed());
        for percent in [10.0, 20.0, 30.0] {
            let read = one.get(SPLIT).await;
            two.until(SPLIT, |split| tag(split) == tag(&read)).await;
            let set = async |api: &Caller, version: &str| {
                put_if(api, &tag(&read), &json!({ "shares": [share(version, percent)] })).await
            };
            let (first, second) = tokio::join!(set(&one, "7.0"), set(&two, "8.0"));
            let (done, refused) = if first.status == 200 { (first, second) } else { (second, first) };
            assert_eq!(refused.expect(412)["code"], "changed_meanwhile", "{}", done.text);
            for host in [&one, &two] {
                host.until(SPLIT, |split| split.ok() == done.ok()).await;
            }
        }
    });
}

/// Answers about each wallet, by the epoch of the split in which they began and ended.
type Seen = BTreeMap<(usize, &'static str), BTreeSet<String>>;

/// Asks both hosts about all wallets in turn until `stop`. Even epochs are those in which both hosts have the same
/// split; answers of other moments are not kept. A host that is being started again gives no answer.
async fn hammer(hosts: Arc<RwLock<Vec<Caller>>>, epoch: Arc<AtomicUsize>, log: Arc<Mutex<Log>>, n: usize) {
    for turn in n.. {
        let began = epoch.load(SeqCst);
        if began == usize::MAX {
            return;
        }
        let api = hosts.read().unwrap()[turn % 2].clone();
        let wallet = SCORED[turn / 2 % SCORED.len()];
        let asked = try_answer(api.request(Method::GET, &(path(wallet) + "?include_factors=true"))).await;
        let Ok(answer) = asked else { continue };
        let version = answer.ok()["model_version"].as_str().expect("a version").to_owned();
        let id = answer.headers["assay-score-id"].to_str().expect("text").to_owned();
        let mut log = log.lock().unwrap();
        log.served.insert(id, answer.text);
        if began.is_multiple_of(2) && epoch.load(SeqCst) == began {
            log.seen.entry((began, wallet)).or_default().insert(version);
            *log.count.entry(began).or_default() += 1;
        }
    }
}

#[derive(Default)]
struct Log {
    seen: Seen,
    /// Answers of each epoch.
    count: BTreeMap<usize, usize>,
    /// Bodies by the id of the score.
    served: BTreeMap<String, String>,
}

/// Wallets with a score.
const SCORED: [&str; 6] = ["saver", "borrower", "liquidated", "whale", "farmer", "mainnet-only"];

#[test]
fn under_load_each_wallet_has_the_version_of_the_rule_over_changes_and_kills() {
    run(async {
        let (_around, configs, mut services) = fleet(ALWAYS).await;
        let hosts = Arc::new(RwLock::new(services.iter().map(Service::keyed).collect::<Vec<_>>()));
        let (epoch, log) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Log::default())));
        let load: Vec<_> =
            (0..8).map(|n| tokio::spawn(hammer(hosts.clone(), epoch.clone(), log.clone(), n * 5))).collect();
        let settled = async |at: usize| {
            let asked = async || {
                let log = log.lock().unwrap();
                let is_seen = |wallet| log.seen.contains_key(&(at, wallet));
                log.count.get(&at).is_some_and(|count| *count >= 60) && SCORED.into_iter().all(is_seen)
            };
            until(asked, |asked| *asked).await;
        };
        let steps = [(10, 0), (10, 10), (25, 10), (40, 10), (40, 30), (55, 30), (70, 30)];
        for (step, (seven, eight)) in steps.into_iter().enumerate() {
            settled(2 * step).await;
            epoch.store(2 * step + 1, SeqCst);
            // Each host is killed in turn; either may make the change.
            if step % 3 == 1 {
                let service = services.remove(0);
                let started = Service::start_in(service.kill(), &configs[0], &[]);
                services.insert(0, started);
                *hosts.write().unwrap() = services.iter().map(Service::keyed).collect();
            }
            let shares = [("7.0", seven), ("8.0", eight)].into_iter().filter(|(_, percent)| *percent > 0);
            let shares: Vec<_> = shares.map(|(version, percent)| share(version, f64::from(percent))).collect();
            let forced = json!({ "shares": shares, "force": true, "why": "a test of the load" });
            let set = services[step % 2].keyed().put(SPLIT, &forced).await.ok();
            for service in &services {
                service.keyed().until(SPLIT, |split| split.ok() == set).await;
            }
            epoch.store(2 * step + 2, SeqCst);
        }
        settled(2 * steps.len()).await;
        epoch.store(usize::MAX, SeqCst);
        for task in load {
            task.await.expect("every answer is one");
        }

        let log = std::mem::take(&mut *log.lock().unwrap());
        let mut last = BTreeMap::new();
        for ((epoch, wallet), versions) in &log.seen {
            assert_eq!(versions.len(), 1, "{wallet} in epoch {epoch}: {versions:?}");
            let version = versions.first().unwrap();
            let before = last.insert(*wallet, version.clone()).unwrap_or("1.1".to_owned());
            assert!(before == *version || before == "1.1", "{wallet} flips from {before} to {version}");
        }
        assert!(last.values().all(|version| version != "1.1"), "the shares are 100 percent: {last:?}");
        let ids: String = log.served.keys().map(|id| format!("{id}\n")).collect();
        let config = services[1].dir().join("assay.toml");
        let replayed = tokio::task::block_in_place(|| {
            let mut command = Command::new(binary());
            command.args(["replay", "-", "--json", "--server", services[1].base(), "--config"]).arg(config);
            let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            let mut stdin = child.stdin.take().unwrap();
            let writing = std::thread::spawn(move || stdin.write_all(ids.as_bytes()));
            let output = child.wait_with_output().unwrap();
            writing.join().unwrap().unwrap();
            String::from_utf8(output.stdout).unwrap()
        });
        let mut same = 0;
        for line in replayed.lines() {
            let told: Value = serde_json::from_str(line).unwrap();
            assert_eq!(told["now"].as_str(), Some(log.served[told["id"].as_str().unwrap()].as_str()), "{told}");
            same += 1;
        }
        let answers: usize = log.count.values().sum();
        println!(
            "{answers} answers in settled epochs, one version each; {same} of {} replayed alike",
            log.served.len()
        );
        assert!(same > 0);
    });
}
