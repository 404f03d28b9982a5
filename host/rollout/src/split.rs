//! The live split of a kind: changes by an operator, ramps that grow by themselves, and the guards that take a version
//! out once, by the bounds of promotion.

use std::time::Duration;

use chrono::Utc;

use super::{
    MoveError, Rollout,
    audit::{self, RoleMove},
    recorded::{RecordedRoles, pins},
    records::AuditRecord,
    roles::RoleChange,
};
use assay_domain::{ModelKind, ModelVersion};
use assay_http::fresh::Expected;
use assay_registry::{KeyPin, KindRoles, NewShare, Ramp, RoleError, SLOTS, Split, SplitShare};
use assay_store::Batch;
use assay_tasks::Spawner;

/// Time between two looks at the evidence.
const LOOK: Duration = Duration::from_secs(5);

/// The split that an operator wants.
#[derive(Debug, Clone, Default)]
pub struct WantedSplit {
    pub shares: Vec<NewShare>,
    pub pins: Vec<KeyPin>,
    /// Names of keys that may choose a version by a header.
    pub choosers: Vec<String>,
}

/// The whole split in words, for the audit log.
fn words(split: &Split) -> String {
    let share = |SplitShare { version, slots, ramp, .. }: &SplitShare| {
        let grows = ramp.as_ref().map_or_else(String::new, |Ramp { steps, step_seconds, .. }| {
            let steps: Vec<_> = steps.iter().map(|slots| format!("{} %", percent(*slots))).collect();
            format!(", then {}, each after {step_seconds} s", steps.join(", "))
        });
        format!("{version} answers {} %{grows}", percent(*slots))
    };
    let pin = |KeyPin { key, version, until }: &KeyPin| {
        format!("{version} answers the key {key} until {}", until.format("%F %R UTC"))
    };
    let chooser = |key: &String| format!("the key {key} may choose by header");
    let mut all: Vec<_> = split.shares.iter().map(share).chain(split.pins.iter().map(pin)).collect();
    if all.is_empty() {
        all.push("the champion answers everybody".to_owned());
    }
    all.extend(split.choosers.iter().map(chooser));
    all.join("; ")
}

/// Whether the bounds of promotion decide about a share, which was `before`: it begins, grows, will grow further, or is
/// forced no longer.
fn is_bounded(share: &SplitShare, before: Option<&SplitShare>) -> bool {
    before.is_none_or(|before| {
        let grows = share.slots > before.slots || share.final_slots() > before.final_slots();
        grows || before.forced && !share.forced
    })
}

/// `slots` as a percentage.
pub(crate) fn percent(slots: u16) -> f64 {
    f64::from(slots) * 100.0 / f64::from(SLOTS)
}

impl Rollout {
    /// Replaces the split of a kind if it is as `expected`, and returns the new roles.
    ///
    /// # Errors
    /// [`MoveError`]; the split is then unchanged.
    pub async fn set_split(
        &self,
        kind: ModelKind,
        wanted: WantedSplit,
        expected: &Expected,
        with: RoleMove,
    ) -> Result<KindRoles, MoveError> {
        let registry = &self.inner.registry;
        let mut recorded = self.inner.recorded.lock().await;
        self.adopt(&mut recorded).await?;
        let is_expected = || expected.allows(&registry.roles().of(kind).split_state());
        if !is_expected() {
            return Err(MoveError::SplitChanged);
        }
        let before = registry.roles().of(kind).split;
        let seed = u64::from_be_bytes(*uuid::Uuid::new_v4().as_bytes().first_chunk().unwrap_or(&[0; 8]));
        let mut split = before.with_shares(&wanted.shares, seed).map_err(MoveError::Split)?;
        (split.pins, split.choosers, split.stopped) = (wanted.pins, wanted.choosers, None);
        let roles = registry.with_split(kind, split.clone())?;
        let step = self.step("split", kind, &before, &split, with);
        if !step.forced {
            let objections = self.objections(kind, &before, &split).await?;
            if !objections.is_empty() {
                let why = MoveError::SplitGuarded(objections);
                let refused = audit::closed(Batch::new(), &step, audit::REFUSED, Some(why.to_string()))?;
                self.inner.store.commit(refused).await?;
                return Err(why);
            }
        }
        let change = RoleChange { step, roles, again: &[], cause: "operator", detail: Some(words(&split)) };
        match self.change(change, &mut recorded).await {
            // Another host has stored its change since the roles were read.
            Err(MoveError::Contested) if !is_expected() => Err(MoveError::SplitChanged),
            changed => changed.map(|()| registry.roles().of(kind)),
        }
    }

    fn step(&self, action: &str, kind: ModelKind, before: &Split, after: &Split, with: RoleMove) -> AuditRecord {
        let registry = &self.inner.registry;
        AuditRecord {
            from: pins(registry, kind, before.versions()),
            to: pins(registry, kind, after.versions()),
            ..audit::step(action, kind, with)
        }
    }

    /// What is against the shares about which the bounds decide.
    async fn objections(&self, kind: ModelKind, before: &Split, after: &Split) -> Result<Vec<String>, MoveError> {
        let mut objections = Vec::new();
        for share in &after.shares {
            let version = &share.version;
            if is_bounded(share, before.shares.iter().find(|before| before.version == *version)) {
                let found = self.against(kind, version).await?;
                objections.extend(found.into_iter().map(|why| format!("{version}: {why}")));
            }
        }
        Ok(objections)
    }

    /// The bounds of promotion that the shadow of a version exceeds.
    async fn against(&self, kind: ModelKind, version: &ModelVersion) -> Result<Vec<String>, MoveError> {
        let bounds = &self.inner.promotion;
        let model = self.inner.registry.loaded(kind, version)?;
        let evidence = self.evidence(&model).await?.filter(|evidence| bounds.applies(evidence));
        Ok(evidence.map(|evidence| bounds.exceeded(&evidence)).unwrap_or_default())
    }

    /// Lets the shares of splits grow when they are due, takes out what exceeds a bound or cannot answer, ends pins.
    pub(super) fn tend_splits(&self, tasks: &Spawner) {
        tasks.keep("split", self.clone(), |rollout, stopping| async move {
            let (kind, mut logged) = (ModelKind::Credit, Vec::new());
            loop {
                if rollout.inner.registry.roles().of(kind).split.versions().next().is_some() {
                    let mut recorded = rollout.inner.recorded.lock().await;
                    if let Err(error) = rollout.tend(kind, &mut recorded).await {
                        tracing::error!(%error, %kind, "the split cannot be tended");
                    }
                }
                let gaps = rollout.inner.registry.split_gaps(kind, Utc::now());
                for gap in gaps.iter().filter(|gap| !logged.contains(*gap)) {
                    tracing::error!(%kind, "{gap}");
                }
                logged = gaps;
                tokio::select! {
                    () = tokio::time::sleep(LOOK) => {}
                    () = stopping.cancelled() => return,
                }
            }
        });
    }

    /// One change at most: the next look follows soon.
    pub(super) async fn tend(&self, kind: ModelKind, recorded: &mut RecordedRoles) -> Result<(), MoveError> {
        // Another host may have done the same.
        self.adopt(recorded).await?;
        let registry = &self.inner.registry;
        let before = registry.roles().of(kind).split;
        let (pins, ended): (Vec<_>, Vec<_>) = before.pins.iter().cloned().partition(|pin| Utc::now() < pin.until);
        if !ended.is_empty() {
            let keys = ended.iter().map(|pin| pin.key.as_str()).collect::<Vec<_>>().join(", ");
            let split = Split { pins, ..before.clone() };
            return self
                .tended("split", kind, &before, split, Some(format!("the end of the pin of {keys}")), recorded)
                .await;
        }
        for share in &before.shares {
            if let Some(why) = self.stop_of(kind, share).await? {
                let mut split = before.clone();
                split.forget_share(&share.version);
                split.stopped = Some(format!(
                    "{} was taken out of the split at {} and does not return by itself: {why}",
                    share.version,
                    Utc::now().format("%F %R UTC")
                ));
                tracing::error!(%kind, version = %share.version, why, "a version was taken out of the split");
                return self.tended("unsplit", kind, &before, split, Some(why), recorded).await;
            }
        }
        let Some(at) = before.shares.iter().position(is_due) else { return Ok(()) };
        let mut split = before.clone();
        let Some(SplitShare { slots, ramp: growing, version, .. }) = split.shares.get_mut(at) else { return Ok(()) };
        let Some(ramp) = growing.as_mut().filter(|ramp| !ramp.steps.is_empty()) else { return Ok(()) };
        *slots = ramp.steps.remove(0);
        ramp.next_at = Utc::now() + Duration::from_secs(ramp.step_seconds);
        if ramp.steps.is_empty() {
            *growing = None;
        }
        tracing::info!(%kind, %version, percent = percent(*slots), "the share of a version grows");
        self.tended("split", kind, &before, split, Some("its ramp".to_owned()), recorded).await
    }

    /// Why a version may answer no longer.
    async fn stop_of(&self, kind: ModelKind, share: &SplitShare) -> Result<Option<String>, MoveError> {
        match self.inner.registry.check_in_service(kind, &share.version) {
            None => {}
            Some(RoleError::OutOfService { why, .. }) => return Ok(Some(format!("it is out of service: {why}"))),
            Some(RoleError::Starting { .. }) => return Ok(None),
            // A fleet puts an upload on the shelf of a host that lacks it.
            Some(_) if self.is_uploaded(kind, &share.version).await? => return Ok(None),
            Some(why) => return Ok(Some(why.to_string())),
        }
        if share.forced {
            return Ok(None);
        }
        let against = self.against(kind, &share.version).await?;
        Ok((!against.is_empty()).then(|| against.join("; ")))
    }

    async fn tended(
        &self,
        action: &str,
        kind: ModelKind,
        before: &Split,
        split: Split,
        why: Option<String>,
        recorded: &mut RecordedRoles,
    ) -> Result<(), MoveError> {
        let with = RoleMove { by: audit::SERVER.to_owned(), why, force: false };
        let step = self.step(action, kind, before, &split, with);
        let detail = Some(words(&split));
        let batch = audit::closed(Batch::new(), &step, audit::DONE, detail)?;
        let roles = KindRoles { split, ..self.inner.registry.roles().of(kind) };
        let change = RoleChange { step, roles, again: &[], cause: "split", detail: None };
        // A refused batch leaves no entry: the next look decides anew.
        self.put_in_force(change, batch, recorded).await?;
        Ok(())
    }
}

fn is_due(share: &SplitShare) -> bool {
    share.ramp.as_ref().is_some_and(|ramp| ramp.next_at <= Utc::now())
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_domain::time_from_unix;

    fn share(slots: u16, steps: &[u16], forced: bool) -> SplitShare {
        let ramp = Ramp { steps: steps.to_vec(), step_seconds: 3_600, next_at: time_from_unix(0) };
        let ramp = Some(ramp).filter(|ramp| !ramp.steps.is_empty());
        let new = NewShare { version: "9.0".parse().unwrap(), slots, ramp, forced };
        Split::default().with_shares(&[new], 7).unwrap().shares.remove(0)
    }

    #[test]
    fn bounds_decide_about_a_share_that_becomes_more_than_it_was_allowed_to_be() {
        let (plain, ramped) = (share(500, &[], false), share(500, &[600], false));
        let forced = share(500, &[], true);
        for (before, after, expected) in [
            (None, &plain, true),
            (Some(&plain), &plain, false),
            (Some(&plain), &share(400, &[], false), false),
            (Some(&plain), &share(501, &[], false), true),
            (Some(&plain), &ramped, true),
            (Some(&ramped), &ramped, false),
            (Some(&ramped), &share(600, &[], false), true),
            (Some(&ramped), &share(400, &[500, 600], false), false),
            (Some(&forced), &forced, false),
            (Some(&forced), &plain, true),
            (Some(&forced), &share(100, &[], false), true),
        ] {
            assert_eq!(is_bounded(after, before), expected, "{before:?} {after:?}");
        }
    }

    #[test]
    fn the_audit_log_says_the_whole_split() {
        let pin =
            KeyPin { key: "bank".to_owned(), version: "1.0".parse().unwrap(), until: time_from_unix(1_767_225_600) };
        for (shares, pins, choosers, words_of_it) in [
            (vec![], vec![], vec![], "the champion answers everybody"),
            (vec![], vec![], vec!["lender"], "the champion answers everybody; the key lender may choose by header"),
            (vec![share(100, &[], false)], vec![], vec![], "9.0 answers 1 %"),
            (
                vec![share(100, &[5_000, 10_000], false)],
                vec![pin],
                vec!["lender", "auditor"],
                "9.0 answers 1 %, then 50 %, 100 %, each after 3600 s; \
                 1.0 answers the key bank until 2026-01-01 00:00 UTC; \
                 the key lender may choose by header; the key auditor may choose by header",
            ),
        ] {
            let choosers = choosers.into_iter().map(str::to_owned).collect();
            assert_eq!(words(&Split { shares, pins, choosers, ..Split::default() }), words_of_it);
        }
    }
}
