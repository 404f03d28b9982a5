//! What a host does while another host changes the roles in the store.

use std::{fs, path::Path};

use super::*;
use crate::records::RolesRecord;
use assay_domain::{ModelKind, ModelPin, ModelVersion};
use assay_registry::{KeyPin, RoleError, Settings, Split};
use assay_store::{Batch, config::Store as StoreConfig};

const KIND: ModelKind = ModelKind::Credit;

/// A host with credit 1.0 and 1.1 on its shelf. Another one may write into the store while this one loads them.
async fn host(folder: &Path, meanwhile: impl AsyncFnOnce(&Store, &Registry)) -> Rollout {
    let (plugins, shelf) = (Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins"), folder.join("shelf"));
    fs::create_dir(&shelf).unwrap();
    for file in ["credit-1.0.wasm", "credit-1.1.wasm"] {
        fs::copy(plugins.join(file), shelf.join(file)).unwrap();
    }
    let store = Store::open(&StoreConfig::embedded(folder.join("assay.redb"))).await.unwrap();
    let opened = RecordedRoles::read(&store).await.unwrap();
    let registry = Registry::open(Settings { watch: false, ..Settings::new(shelf) }).unwrap();
    meanwhile(&store, &registry).await;
    let scoring = config::Scoring {
        cache_ttl: Duration::ZERO,
        incomplete_cache_ttl: Duration::ZERO,
        cache_entries: 0,
        read_budget: Duration::ZERO,
        provenance_ttl: Duration::ZERO,
        outcome_ttl: Duration::ZERO,
        shadow_share: 0.0,
        shadow_budget: 0.0,
        shadow_ttl: Duration::ZERO,
    };
    let promotion = config::Promotion {
        window: Duration::from_secs(24 * 3_600),
        min_scores: 100,
        max_psi: 0.25,
        max_migration: 0.4,
        max_failures: 0.0,
        max_latency_ratio: 3.0,
        require_shadow: false,
    };
    Rollout::open(registry, store, opened, &scoring, &promotion).await.unwrap()
}

fn v(text: &str) -> ModelVersion {
    text.parse().unwrap()
}

fn pin(registry: &Registry, version: &str) -> ModelPin {
    registry.loaded(KIND, &v(version)).unwrap().reference().into()
}

/// Stores roles as another host does.
async fn put(store: &Store, record: &RolesRecord) {
    let batch = Batch::new().put(&records::roles(KIND), record).unwrap();
    assert!(store.commit(batch).await.unwrap());
}

/// The actions of the audit log with their outcomes, latest first.
async fn log(rollout: &Rollout) -> Vec<(String, String)> {
    let (entries, _) = rollout.audit(1, 100).await.unwrap();
    entries.into_iter().map(|entry| (entry.step.action, entry.end.unwrap().outcome)).collect()
}

#[tokio::test]
async fn roles_that_change_while_a_host_loads_its_models_are_in_force_when_it_starts() {
    let folder = tempfile::tempdir().unwrap();
    let promoted = async |store: &Store, registry: &Registry| {
        assert_eq!(registry.roles().champion(KIND), Some(&v("1.1")));
        let record = RolesRecord { champion: Some(pin(registry, "1.0")), ..RolesRecord::default() };
        put(store, &record).await;
    };
    let rollout = host(folder.path(), promoted).await;
    assert_eq!(rollout.registry().roles().champion(KIND), Some(&v("1.0")));
}

#[tokio::test]
async fn a_version_to_which_another_host_has_given_a_role_is_not_removed() {
    let folder = tempfile::tempdir().unwrap();
    let rollout = host(folder.path(), async |_, _| {}).await;
    let remove = async |version: &str| rollout.remove(KIND, &v(version), RoleMove::default()).await;
    let record = RolesRecord { champion: Some(pin(rollout.registry(), "1.0")), ..RolesRecord::default() };
    put(&rollout.inner.store, &record).await;
    let refused = remove("1.0").await;
    assert!(matches!(refused, Err(MoveError::Role(RoleError::IsChampion { .. }))), "{refused:?}");

    let until = assay_domain::time_from_unix(4_000_000_000);
    let pins = vec![KeyPin { key: "lender".to_owned(), version: v("1.1"), until }];
    let split = Split { pins, ..Split::default() };
    put(
        &rollout.inner.store,
        &RolesRecord { split, split_models: vec![pin(rollout.registry(), "1.1")], ..record.clone() },
    )
    .await;
    let refused = remove("1.1").await;
    assert!(matches!(refused, Err(MoveError::Role(RoleError::InSplit { .. }))), "{refused:?}");

    put(&rollout.inner.store, &record).await;
    remove("1.1").await.unwrap();
    assert!(rollout.registry().loaded(KIND, &v("1.1")).is_err());
    let steps = [("remove", "done"), ("remove", "refused"), ("remove", "refused")];
    assert_eq!(log(&rollout).await, steps.map(|(action, end)| (action.to_owned(), end.to_owned())));
}

#[tokio::test]
async fn only_the_host_that_is_first_logs_the_end_of_a_pin() {
    let folder = tempfile::tempdir().unwrap();
    let rollout = host(folder.path(), async |_, _| {}).await;
    let until = assay_domain::time_from_unix(0);
    let pins = vec![KeyPin { key: "lender".to_owned(), version: v("1.0"), until }];
    let (split, split_models) = (Split { pins, ..Split::default() }, vec![pin(rollout.registry(), "1.0")]);
    let champion = Some(pin(rollout.registry(), "1.1"));
    put(&rollout.inner.store, &RolesRecord { champion, split, split_models, ..RolesRecord::default() }).await;

    let mut recorded = rollout.inner.recorded.lock().await;
    rollout.adopt(&mut recorded).await.unwrap();
    let (before, roles) = (recorded.clone(), rollout.registry().roles().of(KIND));
    assert_eq!(roles.split.pins.len(), 1);
    rollout.tend(KIND, &mut recorded).await.unwrap();
    assert!(rollout.registry().roles().of(KIND).split.pins.is_empty());
    // The other host has not read this yet.
    rollout.registry().assign(KIND, roles, &[], "restore");
    *recorded = before;
    rollout.tend(KIND, &mut recorded).await.unwrap();
    assert!(rollout.registry().roles().of(KIND).split.pins.is_empty());
    assert_eq!(log(&rollout).await, [("split".to_owned(), "done".to_owned())]);
}
