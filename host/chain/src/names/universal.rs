//! ENS's Universal Resolver (ENSIP-23): one contract that finds the resolver of a name, in whichever registry the name
//! is, and asks it. It decides where it has code: names that moved to ENSv2 have stale records in the old registry.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use alloy::{
    ens::{UniversalResolver::resolveCall, namehash, try_dns_encode},
    primitives::Bytes,
    sol,
    sol_types::{SolCall, SolInterface, SolValue},
};
use serde_json::{Value, json};

use super::{
    Unanswered,
    offchain::{self, LookupOutcome, is_final},
};
use crate::pauses;
use assay_domain::{Address, Name};
use assay_evm::{client::Client, fault::Fault, guarded::Guarded};

sol! {
    /// Of a resolver.
    function addr(bytes32 node) external view returns (address owner);

    /// The errors of the Universal Resolver and of the batch gateways that it uses (ENSIP-21).
    #[derive(Debug)]
    interface Errors {
        error ResolverNotFound(bytes name);
        error ResolverNotContract(bytes name, address resolver);
        error UnsupportedResolverProfile(bytes4 selector);
        error ResolverError(bytes errorData);
        error ReverseAddressMismatch(string primary, bytes primaryAddress);
        error DNSDecodingFailed(bytes dns);
        error HttpError(uint16 status, string message);
        error InvalidBatchGatewayResponse();
        error Error(string message);
    }
}

/// Cheap to clone.
#[derive(Clone)]
pub(super) struct Universal {
    address: Address,
    client: Client,
    guarded: Guarded,
    /// Whether the contract was there, and when.
    present: Arc<Mutex<Option<(bool, Instant)>>>,
}

impl Universal {
    pub(super) fn new(address: Address, client: Client, guarded: Guarded) -> Self {
        Self { address, client, guarded, present: Arc::default() }
    }

    /// Whether the contract was there when it was last called; `None` before the first call.
    pub(super) fn is_present(&self) -> Option<bool> {
        self.seen().map(|(present, _)| present)
    }

    fn seen(&self) -> Option<(bool, Instant)> {
        *self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, present: bool) {
        if !present && self.is_present() != Some(false) {
            tracing::warn!(
                chain = self.client.chain(),
                contract = %self.address,
                "no Universal Resolver at names.registries.universal_resolver; the old registry resolves names, and \
                 does not know those that moved to ENSv2"
            );
        }
        *self.present.lock().unwrap_or_else(PoisonError::into_inner) = Some((present, Instant::now()));
    }

    /// The address of `name`; the outer `None` if there is no such contract, the inner if the name has no address.
    ///
    /// # Errors
    /// [`Unanswered`].
    pub(super) async fn address(&self, name: &Name) -> Result<Option<Option<Address>>, Unanswered> {
        if self.seen().is_some_and(|(present, at)| !present && at.elapsed() < pauses::NAME_CONTRACT) {
            return Ok(None);
        }
        let Ok(wire) = try_dns_encode(name.as_str()) else { return Ok(Some(None)) };
        let call = addrCall { node: namehash(name.as_str()) };
        let call = resolveCall { name: wire.into(), data: call.abi_encode().into() };
        let head = self.client.head().await?;
        let outcome = offchain::call(&self.client, &self.guarded, self.address, call.abi_encode(), head).await?;
        // A call of an address without code returns nothing.
        let missing =
            matches!(&outcome, LookupOutcome::Returned(answer) if answer.is_empty()) && !self.has_code().await?;
        self.record(!missing);
        match outcome {
            _ if missing => Ok(None),
            LookupOutcome::Returned(answer) => {
                let answer = resolveCall::abi_decode_returns(&answer)
                    .map_err(|_| Unanswered("the Universal Resolver answers in another form".into()))?;
                let owner = Address::abi_decode(&answer._0).ok();
                Ok(Some(owner.filter(|owner| *owner != Address::ZERO)))
            }
            LookupOutcome::Reverted(data) => has_no_address(&data).map(|()| Some(None)),
            LookupOutcome::Refused => Ok(Some(None)),
        }
    }

    async fn has_code(&self) -> Result<bool, Fault> {
        let answers = self.client.batch(vec![("eth_getCode", json!([self.address, "latest"]))]).await?;
        let code = answers.into_iter().next().unwrap_or(Ok(Value::Null))?;
        serde_json::from_value(code).map(|code: Bytes| !code.is_empty()).map_err(|error| Fault::unreadable(&error))
    }
}

/// Reads the error with which the Universal Resolver reverted: `Ok` if it says that a name has no address.
fn has_no_address(data: &Bytes) -> Result<(), Unanswered> {
    use Errors::ErrorsErrors as E;
    if data.is_empty() {
        return Err(Unanswered("the Universal Resolver reverted, and no endpoint gives the data of the revert".into()));
    }
    match E::abi_decode(data) {
        // Nobody has set a resolver for the name or a parent, or not a contract.
        Ok(E::ResolverNotFound(_) | E::ResolverNotContract(_)) => Ok(()),
        // The resolver does not support addresses, or it reverted: the name has no address.
        Ok(E::UnsupportedResolverProfile(_) | E::ResolverError(_)) => Ok(()),
        // The name has no wire format, which no name with an address lacks; the other is an error of reverse lookups.
        Ok(E::DNSDecodingFailed(_) | E::ReverseAddressMismatch(_)) => Ok(()),
        // A gateway has no record.
        Ok(E::HttpError(error)) if is_final(error.status) => Ok(()),
        // A gateway failed, or a batch of lookups did: the errors of a resolver are inside `ResolverError`.
        Ok(E::HttpError(error)) => Err(Unanswered(format!("a gateway answered with status {}", error.status))),
        Ok(E::Error(error)) => Err(Unanswered(format!("a lookup failed: {}", excerpt(&error.message)))),
        Ok(E::InvalidBatchGatewayResponse(_)) => Err(Unanswered("a batch gateway answered wrongly".into())),
        // An error that the standard does not know yet says nothing about the name.
        Err(_) => Err(Unanswered(format!("the Universal Resolver reverted with {}", excerpt(&data.to_string())))),
    }
}

/// The start of a text that others chose, for the log.
fn excerpt(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(100).collect()
}

#[cfg(test)]
mod tests {
    use alloy::sol_types::SolError;

    use super::{Errors::*, *};

    /// The table of the errors, and whether each says that a name has no address.
    #[test]
    fn each_error_says_that_a_name_has_no_address_or_nothing_about_it() {
        let text = || "text".to_owned();
        let http = |status| HttpError { status, message: text() }.abi_encode();
        let rows = [
            ("no resolver", ResolverNotFound { name: Bytes::new() }.abi_encode(), true),
            ("no contract", ResolverNotContract { name: Bytes::new(), resolver: Address::ZERO }.abi_encode(), true),
            ("no such record", UnsupportedResolverProfile { selector: [1; 4].into() }.abi_encode(), true),
            ("the resolver reverts", ResolverError { errorData: Bytes::from_static(b"why") }.abi_encode(), true),
            ("the resolver reverts without data", ResolverError { errorData: Bytes::new() }.abi_encode(), true),
            ("no wire format", DNSDecodingFailed { dns: Bytes::new() }.abi_encode(), true),
            (
                "another owner",
                ReverseAddressMismatch { primary: text(), primaryAddress: Bytes::new() }.abi_encode(),
                true,
            ),
            ("gateway 404", http(404), true),
            ("gateway 400", http(400), true),
            ("gateway 408", http(408), false),
            ("gateway 425", http(425), false),
            ("gateway 429", http(429), false),
            ("gateway 500", http(500), false),
            ("gateway 302", http(302), false),
            ("gateway without status", http(0), false),
            ("gateway away", Error { message: text() }.abi_encode(), false),
            ("wrong batch", InvalidBatchGatewayResponse {}.abi_encode(), false),
            ("panic", [&[0x4e, 0x48, 0x7b, 0x71][..], &[0; 32]].concat(), false),
            ("an unknown error", vec![1, 2, 3, 4], false),
            ("less than a selector", vec![1], false),
            ("no data", Vec::new(), false),
        ];
        for (why, data, expected) in rows {
            assert_eq!(has_no_address(&data.into()).is_ok(), expected, "{why}");
        }
    }

    #[test]
    fn the_interface_is_that_of_the_standard() {
        let selectors = [
            (ResolverNotFound::SELECTOR, [0x77, 0x20, 0x9f, 0xe8]),
            (ResolverNotContract::SELECTOR, [0x1e, 0x95, 0x35, 0xf2]),
            (UnsupportedResolverProfile::SELECTOR, [0x7b, 0x1c, 0x46, 0x1b]),
            (ResolverError::SELECTOR, [0x95, 0xc0, 0xc7, 0x52]),
            (ReverseAddressMismatch::SELECTOR, [0xef, 0x9c, 0x03, 0xce]),
            (HttpError::SELECTOR, [0x01, 0x80, 0x01, 0x52]),
            (resolveCall::SELECTOR, [0x90, 0x61, 0xb9, 0x23]),
        ];
        for (ours, standard) in selectors {
            assert_eq!(ours, standard);
        }
    }
}
