//! Counts the open connections of each address, so that one client cannot use all of them.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
};

use crate::config::Network;
use assay_access::neighbourhood;

/// The counts of all addresses. Clones share them.
#[derive(Clone)]
pub(super) struct Peers {
    inner: Arc<PeersState>,
}

struct PeersState {
    /// Most connections of each address; 0: unlimited.
    most: usize,
    /// Proxies, which are not counted.
    proxies: Vec<Network>,
    open: Mutex<HashMap<IpAddr, usize>>,
}

/// A connection that counts until this is dropped.
pub(super) struct PeerPermit {
    /// The counts and the address; `None` when it is not counted.
    counted: Option<(Arc<PeersState>, IpAddr)>,
}

impl Peers {
    pub(crate) fn new(most: usize, proxies: Vec<Network>) -> Self {
        Self { inner: Arc::new(PeersState { most, proxies, open: Mutex::default() }) }
    }

    /// Counts one more connection from `address`; `None` beyond the limit.
    pub(crate) fn enter(&self, address: IpAddr) -> Option<PeerPermit> {
        if self.inner.most == 0 || self.inner.proxies.iter().any(|network| network.contains(address)) {
            return Some(PeerPermit { counted: None });
        }
        let address = neighbourhood(address);
        let mut open = self.inner.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(address).or_default();
        if *count >= self.inner.most {
            return None;
        }
        *count += 1;
        Some(PeerPermit { counted: Some((self.inner.clone(), address)) })
    }
}

impl Drop for PeerPermit {
    fn drop(&mut self) {
        let Some((peers, address)) = &self.counted else { return };
        let mut open = peers.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(address) {
            *count -= 1;
            if *count == 0 {
                open.remove(address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: &str) -> IpAddr {
        address.parse().unwrap()
    }

    #[test]
    fn each_address_has_so_many_and_is_forgotten_with_the_last() {
        let peers = Peers::new(2, Vec::new());
        let places = ["10.0.0.1", "10.0.0.1", "10.0.0.2", "2001:db8::1", "2001:db8::2"]
            .map(|address| peers.enter(at(address)).unwrap());
        for full in ["10.0.0.1", "::ffff:10.0.0.1", "2001:db8::3"] {
            assert!(peers.enter(at(full)).is_none(), "{full}");
        }
        assert!(peers.enter(at("2001:db8:0:1::1")).is_some(), "another network");
        drop(places);
        assert!(peers.inner.open.lock().unwrap().is_empty());
        assert!(peers.enter(at("10.0.0.1")).is_some());
    }

    #[test]
    fn proxies_have_no_bound_and_nobody_has_where_there_is_none() {
        for (peers, address) in
            [(Peers::new(1, vec!["10.0.0.0/8".parse().unwrap()]), "10.1.2.3"), (Peers::new(0, Vec::new()), "192.0.2.1")]
        {
            let places: Vec<_> = (0..100).map(|_| peers.enter(at(address))).collect();
            assert!(places.iter().all(Option::is_some));
        }
    }
}
