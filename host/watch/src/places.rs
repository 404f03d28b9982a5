//! Slots for clients that follow events. Each owner has a share, so the streams of one leave room for those of others.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

/// The part of all slots that one owner can have.
const SHARE: usize = 4;

/// The slots that are taken, by owner.
#[derive(Debug)]
pub(crate) struct Places {
    most: usize,
    taken: Mutex<BTreeMap<String, usize>>,
}

/// One slot. Dropping this frees it.
#[derive(Debug)]
pub(crate) struct Place {
    places: Arc<Places>,
    owner: String,
}

impl Places {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, taken: Mutex::default() })
    }

    /// A slot for `owner`; `None` if all slots, or its own, are taken.
    pub(crate) fn take(self: &Arc<Self>, owner: &str) -> Option<Place> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let (all, own) = (taken.values().sum::<usize>(), taken.get(owner).copied().unwrap_or_default());
        if all >= self.most || own >= self.most.div_ceil(SHARE) {
            return None;
        }
        taken.insert(owner.to_owned(), own + 1);
        Some(Place { places: self.clone(), owner: owner.to_owned() })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.entry(self.owner.clone()).and_modify(|own| *own = own.saturating_sub(1));
        taken.retain(|_, own| *own > 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_owner_takes_the_slots_of_others() {
        let places = Places::new(8);
        let all = |owner: &str| std::iter::from_fn(|| places.take(owner)).collect::<Vec<_>>();
        let mut of_ada = all("ada");
        let (of_ben, of_cid, of_dan) = (all("ben"), all("cid"), all("dan"));
        assert_eq!([&of_ada, &of_ben, &of_cid, &of_dan].map(Vec::len), [2; 4]);
        assert!(places.take("eve").is_none(), "all are taken");
        of_ada.pop();
        assert!(places.take("ben").is_none(), "more than a share");
        assert!(places.take("eve").is_some() && places.take("ada").is_some());
        drop((of_ada, of_ben, of_cid, of_dan));
        assert!(places.taken.lock().unwrap().is_empty());
    }
}
