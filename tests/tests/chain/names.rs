//! Resolvers of names, which anybody chooses for a name of theirs: every deed of the table changes nothing for other
//! names and for the endpoint.

use std::collections::BTreeSet;
use std::path::Path;

use assay_chain::NameError;
use assay_domain::{Address, Name, Secret};
use assay_tests::lenders::Small;
use assay_tests::lenders::config::{CHAIN, Setup, price_feed};
use assay_tests::people::ens;
use assay_tests::proxy::{Call, Proxy};
use assay_tests::strangers::{Strangers, deeds};

use super::bystanders::standing;
use super::{RUNTIME, Reader};

/// Contracts of strangers in one block.
const AT_ONCE: usize = 15;
/// The function of Multicall3 that calls many contracts.
const AGGREGATE3: &str = "0x82ad56cb";
const OWNER: Address = Address::repeat_byte(0xa1);
/// The functions of a resolver, and whether its names resolve if they do any deed.
const PLACES: [(&str, bool); 2] = [("supportsInterface(bytes4)", true), ("addr(bytes32)", false)];

/// The functions called of each contract, in order. The chain's own checks go on meanwhile, by calls of many contracts
/// at once; on a busy machine a call is sent twice, or apart from the others.
fn asked(calls: &[Call]) -> Vec<(String, String)> {
    let calls = calls.iter().filter(|call| call.method == "eth_call");
    let of = |call: &Call| ["to", "data"].map(|key| call.params[0][key].as_str().unwrap_or_default().to_owned());
    let different: BTreeSet<[String; 2]> = calls.map(of).filter(|[_, data]| !data.starts_with(AGGREGATE3)).collect();
    different.into_iter().map(|[to, data]| (to, data[..10].to_owned())).collect()
}

#[test]
fn resolvers_of_strangers_disturb_nobody() {
    RUNTIME.block_on(async {
        let (mut chain, code) = (Small::start(CHAIN).await.unwrap(), Strangers::compiled().await.unwrap());
        let setup = Setup { native_feed: price_feed(&mut chain, 2_000.0), ..Setup::default() };
        let ens = ens::deploy(&mut chain).await.unwrap();
        for name in ["first.eth", "second.eth", "third.eth"] {
            ens.name(&mut chain, name, OWNER);
        }
        let mut names = Vec::new();
        for (place, resolves) in PLACES {
            for deed in deeds() {
                let name = format!("stranger{}.eth", names.len());
                let resolver = code.create(&mut chain, &deed, &[place], [OWNER, OWNER], true);
                ens.register(&mut chain, &name, resolver);
                names.push((name, deed.name, resolves));
                if names.len().is_multiple_of(AT_ONCE) {
                    chain.mine().await.unwrap();
                }
            }
        }
        chain.mine().await.unwrap();
        let proxy = Proxy::start(chain.url()).await;
        let toml = |store: &Path| {
            let toml = setup.toml(&proxy.url, Path::new("plugins"), store, "a-key-for-tests");
            let registry = ens.registry;
            format!(
                "{toml}\n[names]\nregistries = [{{ provider = \"ens\", chain = {CHAIN}, registry = \"{registry}\", \
                 reverse = \"addr.reverse\" }}]\n"
            )
        };
        let reader = Reader::configured(toml).with(|config| config.chains[0].rpc = vec![Secret::new(&proxy.url)]);
        let reader = reader.started().await;
        // Loads what all reads share, so that no call for it is among those compared below.
        reader.read(OWNER).await;
        let client = reader.chains().client(CHAIN).unwrap();
        let resolve = async |name: &str| {
            proxy.take();
            let found = reader.chains().resolve(&Name::parse(name).unwrap()).await;
            (found, asked(&proxy.take()))
        };
        assert_eq!(resolve("first.eth").await.0, Ok(OWNER));
        let ((found, undisturbed), stood) = (resolve("second.eth").await, standing(&client));
        assert_eq!(found, Ok(OWNER));
        for (name, deed, resolves) in &names {
            let (found, _) = resolve(name).await;
            // An answer that can be decoded is the owner's choice.
            match resolves {
                _ if deed.starts_with("answers") => assert_ne!(found, Err(NameError::Unreadable), "{name}: {deed}"),
                true => assert_eq!(found, Ok(OWNER), "{name}: {deed}"),
                false => assert_eq!(found, Err(NameError::NotResolved), "{name}: {deed}"),
            }
        }
        let (found, disturbed) = resolve("third.eth").await;
        assert_eq!((found, standing(&client)), (Ok(OWNER), stood));
        assert_eq!(disturbed, undisturbed);
    });
}
