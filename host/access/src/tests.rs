//! Keys and units on a real store.

use futures::FutureExt;

use super::*;
use crate::config::KeyConfig;
use assay_domain::Scope;
use assay_domain::Secret;
use assay_store::Batch;

struct Fixture {
    access: Access,
    store: Store,
    config: config::Access<()>,
    _folder: tempfile::TempDir,
}

async fn fixture() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("assay.redb");
    let store = Store::open(&assay_store::config::Store::embedded(path)).await.unwrap();
    let key = |name: &str, scopes: &[Scope], units| KeyConfig {
        name: name.into(),
        key: Secret::new(format!("{name}-secret")),
        scopes: scopes.to_vec(),
        units,
        rate: None,
    };
    let config = config::Access {
        keys: vec![key("free", &[Scope::Read], None), key("metered", &[Scope::Read, Scope::Submit], Some(25))],
        default_cost: 1,
        watch_cost: 100,
        default_rate: 0,
        address_rate: 2,
        guest_rate: 3,
        x402: (),
    };
    Fixture { access: Access::new(&config, store.clone()), store, config, _folder: folder }
}

impl Fixture {
    async fn caller(&self, key: &str) -> Result<Arc<Caller>, AccessError> {
        self.access.identify(Some(&format!("Bearer {key}"))).await
    }

    async fn used(&self, meter: &str) -> u64 {
        self.store.get(&records::units(meter)).await.unwrap().unwrap_or(0)
    }
}

#[tokio::test]
async fn only_a_known_key_names_its_caller() {
    let fixture = fixture().await;
    for header in ["Bearer free-secret", "bearer free-secret", "  Bearer   free-secret "] {
        assert_eq!(fixture.access.identify(Some(header)).await.unwrap().name, "free", "{header:?}");
    }
    let wrong = [
        "",
        "Bearer",
        "Bearer ",
        "Bearer x",
        "free-secret",
        "Basic free-secret",
        "Bearer free-secret x",
        "Bearer assay_00",
    ];
    for header in wrong.map(Some).into_iter().chain([None]) {
        assert_eq!(fixture.access.identify(header).await, Err(AccessError::MissingOrInvalid), "{header:?}");
    }
}

#[tokio::test]
async fn a_scope_is_had_or_named() {
    let caller = fixture().await.caller("free-secret").await.unwrap();
    caller.require(PriceClass::Score.scopes()).unwrap();
    let error = caller.require(PriceClass::Admin.scopes()).unwrap_err();
    assert_eq!(error, AccessError::Scope { needed: &[Scope::Admin] });
    assert!(error.to_string().contains("admin"), "{error}");
}

#[tokio::test]
async fn who_may_submit_may_see_what_became_of_it() {
    let fixture = fixture().await;
    let minted = fixture.access.mint("submitter", vec![Scope::Submit], None, None).await.unwrap();
    let caller = fixture.caller(minted.key.expose()).await.unwrap();
    for (route, allowed) in [
        (PriceClass::Status, true),
        (PriceClass::Usage, true),
        (PriceClass::Submission, true),
        (PriceClass::Agents, false),
    ] {
        assert_eq!(caller.require(route.scopes()).is_ok(), allowed, "{route:?}");
    }
    fixture.caller("free-secret").await.unwrap().require(PriceClass::Status.scopes()).unwrap();
    let words = AccessError::Scope { needed: PriceClass::Status.scopes() }.to_string();
    assert!(words.ends_with("the scope read or submit"), "{words}");
}

#[tokio::test]
async fn a_network_of_ipv6_is_one_caller() {
    let access = fixture().await.access;
    let mut left = Vec::new();
    for address in ["2001:db8::1", "2001:db8::2", "2001:db8:0:1::1", "::ffff:10.0.0.1", "10.0.0.1"] {
        let (policy, state) = access.count_address(address.parse().unwrap()).await.unwrap();
        left.push((policy, state.left));
    }
    assert_eq!(left, [("address", 1), ("address", 0), ("address", 1), ("address", 1), ("address", 0)]);
    let free = access.identify(Some("Bearer free-secret")).await.unwrap();
    assert_eq!(access.count(&free).await, None);
}

#[tokio::test]
async fn prices_are_those_of_the_contract() {
    let access = Access { costs: Costs::new(3, 100), ..fixture().await.access };
    assert_eq!(PriceClass::ALL.map(|price| access.cost(price)), [3, 3, 3, 0, 0, 0, 0, 10, 100, 0, 0]);
}

#[tokio::test]
async fn what_is_free_never_touches_the_store() {
    let fixture = fixture().await;
    for (key, units) in [("free-secret", 10), ("metered-secret", 0)] {
        let caller = fixture.caller(key).await.unwrap();
        let reservation =
            fixture.access.reserve(&caller, units).now_or_never().expect("answered without waiting").unwrap();
        assert_eq!(reservation.left(), None);
        reservation.commit();
    }
    assert_eq!(fixture.used("free").await + fixture.used("metered").await, 0);
}

#[tokio::test]
async fn units_are_spent_when_committed_and_given_back_when_dropped() {
    let fixture = fixture().await;
    let caller = fixture.caller("metered-secret").await.unwrap();
    let kept = fixture.access.reserve(&caller, 10).await.unwrap();
    assert_eq!(kept.left(), Some(15));
    let dropped = fixture.access.reserve(&caller, 10).await.unwrap();
    let refused = fixture.access.reserve(&caller, 10).await.err();
    assert_eq!(refused, Some(AccessError::UnitsExhausted { cost: 10, used: 20, limit: 25 }));
    kept.commit();
    drop(dropped);
    fixture.access.settle().await;
    assert_eq!(fixture.used("metered").await, 10);
    fixture.access.reserve(&caller, 15).await.unwrap().commit();
    assert_eq!(fixture.used("metered").await, 25);
}

#[tokio::test]
async fn a_batch_takes_units_with_its_records_or_nothing() {
    let fixture = fixture().await;
    let free = fixture.caller("free-secret").await.unwrap();
    let metered = fixture.caller("metered-secret").await.unwrap();
    let record = Key::<u64>::single("record");
    let write = async |caller: &Arc<Caller>, units: u64, value: u64| {
        let batch = Batch::new().put(&record, &value).unwrap();
        fixture.store.commit(caller.take(batch, units)).await.unwrap()
    };
    assert!(write(&metered, 20, 1).await && !write(&metered, 6, 2).await);
    assert_eq!((fixture.store.get(&record).await.unwrap(), fixture.used("metered").await), (Some(1), 20));
    let exhausted = AccessError::UnitsExhausted { cost: 6, used: 20, limit: 25 };
    assert_eq!(fixture.access.exhausted(&metered, 6).await, Ok(Some(exhausted)));
    for (caller, units) in [(&metered, 5), (&metered, 0), (&free, 1_000)] {
        assert_eq!(fixture.access.exhausted(caller, units).await, Ok(None));
        assert!(write(caller, units, 3).await);
    }
    assert_eq!((fixture.used("metered").await, fixture.used("free").await), (25, 0));
}

#[tokio::test]
async fn who_hangs_up_while_units_are_taken_has_them_back() {
    let fixture = fixture().await;
    let caller = fixture.caller("metered-secret").await.unwrap();
    // At the first wait, and once the answer is there but was not looked at.
    for answered in [false, true] {
        let mut reserving = Box::pin(fixture.access.reserve(&caller, 10));
        // The store may answer before this looks; then the units are those of a reservation that was not used.
        let looked = futures::poll!(&mut reserving);
        if answered {
            while fixture.used("metered").await == 0 {
                tokio::task::yield_now().await;
            }
        }
        drop((reserving, looked));
        fixture.access.settle().await;
        assert_eq!(fixture.used("metered").await, 0, "{answered}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn however_many_call_at_once_nobody_spends_more_than_they_have() {
    let fixture = fixture().await;
    let caller = fixture.caller("metered-secret").await.unwrap();
    let calls = (0..100).map(|i| {
        let (access, caller) = (fixture.access.clone(), caller.clone());
        tokio::spawn(async move {
            let Ok(reservation) = access.reserve(&caller, 1).await else { return 0 };
            if i % 2 == 0 {
                reservation.commit();
            }
            1 - i % 2
        })
    });
    let spent: u64 = futures::future::join_all(calls).await.into_iter().map(Result::unwrap).sum();
    fixture.access.settle().await;
    assert!(spent <= 25);
    assert_eq!(fixture.used("metered").await, spent);
}

#[tokio::test]
async fn usage_outlives_the_process() {
    let fixture = fixture().await;
    let caller = fixture.caller("metered-secret").await.unwrap();
    fixture.access.reserve(&caller, 20).await.unwrap().commit();
    let again = Access::new(&fixture.config, fixture.store.clone());
    assert!(again.reserve(&caller, 10).await.is_err());
}

/// The units that each minted key has used.
async fn minted_use(fixture: &Fixture) -> Vec<Option<u64>> {
    let known = fixture.access.known_keys().await.unwrap();
    known.into_iter().filter(|key| key.minted_at.is_some()).map(|key| key.used).collect()
}

#[tokio::test]
async fn a_minted_key_works_until_it_is_revoked() {
    let fixture = fixture().await;
    let minted = fixture.access.mint("lender", vec![Scope::Read], Some(5), None).await.unwrap();
    assert!(!format!("{minted:?}").contains(minted.key.expose()));
    let caller = fixture.caller(minted.key.expose()).await.unwrap();
    assert_eq!((caller.name.as_str(), caller.units), ("lender", Some(5)));
    fixture.access.reserve(&caller, 2).await.unwrap().commit();
    assert_eq!(minted_use(&fixture).await, [Some(2)]);

    assert_eq!(fixture.access.revoke("free").await.unwrap(), Revoked::Configured);
    assert_eq!(fixture.access.revoke("lender").await.unwrap(), Revoked::Done);
    assert_eq!(fixture.caller(minted.key.expose()).await, Err(AccessError::MissingOrInvalid));
    assert_eq!(fixture.access.revoke("lender").await.unwrap(), Revoked::Unknown);

    let second = fixture.access.mint("lender", vec![Scope::Read], Some(5), None).await.unwrap();
    assert_ne!(second.key.expose(), minted.key.expose());
    assert_eq!(minted_use(&fixture).await, [Some(0)]);
}

#[tokio::test]
async fn lookups_of_minted_keys_are_remembered() {
    let mut fixture = fixture().await;
    // Without its time limit, so that the outcome does not hang on how fast this runs.
    fixture.access.minted = Cache::new(LOOKUPS);
    let minted = fixture.access.mint("lender", vec![Scope::Read], None, None).await.unwrap();
    let first = fixture.caller(minted.key.expose()).await.unwrap();
    let second = fixture.caller(minted.key.expose()).await.unwrap();
    assert!(Arc::ptr_eq(&first, &second));
}

#[tokio::test]
async fn a_name_is_given_once_and_a_key_has_a_scope() {
    let fixture = fixture().await;
    let mint = |name: &'static str| fixture.access.mint(name, vec![Scope::Read], None, None);
    let outcomes = futures::future::join_all((0..8).map(|_| mint("lender"))).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    assert!(outcomes.into_iter().filter_map(Result::err).all(|error| matches!(error, MintError::NameTaken { .. })));
    assert!(matches!(mint("free").await, Err(MintError::NameTaken { .. })));
    for name in ["", "a b", "a/b", "..", "-"] {
        assert!(matches!(mint(name).await, Err(MintError::Name { .. })), "{name:?}");
    }
    assert!(matches!(fixture.access.mint("none", vec![], None, None).await, Err(MintError::NoScope)));
}

#[tokio::test]
async fn lasting_work_ends_with_the_rights_of_its_key() {
    let fixture = fixture().await;
    let lapse = async |identity: &str, price| fixture.access.lapse(identity, price).await.unwrap();
    assert_eq!(lapse("free", PriceClass::Watch).await, None);
    assert_eq!(lapse("metered", PriceClass::Submission).await, None, "also if all of its units are used");
    assert_eq!(lapse("free", PriceClass::Submission).await, Some(Lapse::Scope(&[Scope::Submit])));
    assert_eq!(lapse("lender", PriceClass::Watch).await, Some(Lapse::NotConfigured));
    let Minted { key, .. } = fixture.access.mint("lender", vec![Scope::Read], None, None).await.unwrap();
    let minted = fixture.caller(key.expose()).await.unwrap();
    assert_eq!(lapse(minted.identity(), PriceClass::Watch).await, None);
    assert_eq!(fixture.access.revoke("lender").await.unwrap(), Revoked::Done);
    assert_eq!(lapse(minted.identity(), PriceClass::Watch).await, Some(Lapse::Revoked));
    fixture.access.mint("lender", vec![Scope::Read], None, None).await.unwrap();
    assert_eq!(lapse(minted.identity(), PriceClass::Watch).await, Some(Lapse::Revoked), "a later key is another one");
}
