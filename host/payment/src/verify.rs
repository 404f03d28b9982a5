//! Verifies a payment before it is claimed: first its own fields, then the asset and the facilitator, in the order of
//! the specification.

use chrono::Utc;

use super::{
    PayError, Payment, Refused, Version, X402, reason,
    records::{self, PurchaseRecord},
    terms::{Item, SCHEME, Terms},
};
use crate::token::{Asset, PaymentError};
use assay_domain::{Address, Authorization, B256, U256, signer};
use assay_outbox::gas::Party;

/// Maximum time that a payer's clock may be ahead of this host's, in seconds.
const CLOCKS: u64 = 3_600;

impl X402 {
    /// The checks before that of the signature: whether the payment is of the kind that the terms ask for.
    fn check_kind(&self, payment: &Payment) -> Result<(), Refused> {
        let (terms, version) = (self.terms(), payment.version);
        if payment.scheme != SCHEME {
            return Err(Refused::new(reason::SCHEME, format!("Only the scheme {SCHEME:?} is supported")));
        }
        if payment.network != terms.network_in(version) {
            return Err(Refused::network(&terms.network_in(version)));
        }
        if payment.said_version != u64::from(version.number()) {
            let detail = format!("The header {} is for x402Version {}", version.request_header(), version.number());
            return Err(Refused::new(reason::VERSION, detail));
        }
        if let Some((asset, ..)) = &payment.offered
            && !asset.eq_ignore_ascii_case(&terms.domain.asset.to_string())
        {
            return Err(Refused::new(
                reason::REQUIREMENTS,
                format!("Payments are accepted only in the asset {}", terms.domain.asset),
            ));
        }
        Ok(())
    }

    /// The checks after that of the signature: who gets how much.
    fn check_transfer(&self, payment: &Payment, wanted: U256) -> Result<(), Refused> {
        let terms = self.terms();
        let repeated =
            payment.offered.as_ref().map(|(_, pay_to, _)| pay_to.eq_ignore_ascii_case(&terms.pay_to.to_string()));
        if payment.authorization.to != terms.pay_to || repeated == Some(false) {
            return Err(Refused::recipient(terms.pay_to));
        }
        check_amount(terms, payment, wanted)
    }

    /// Checks the validity period by this host's clock; the asset uses the chain's clock.
    fn check_time(&self, payment: &Payment) -> Result<(), Refused> {
        let now = unix_now();
        if payment.authorization.valid_before < U256::from(now + reason::MARGIN) {
            return Err(Refused::expired());
        }
        // An open payment is tracked for as long as it can be settled.
        let longest = self.terms().valid_seconds.saturating_add(CLOCKS);
        if payment.authorization.valid_before > U256::from(now.saturating_add(longest)) {
            let detail =
                format!("The signature is valid for longer than {longest} seconds; sign one that expires earlier");
            return Err(Refused::new(reason::VALID_BEFORE, detail));
        }
        if payment.authorization.valid_after > U256::from(now) {
            return Err(Refused::not_yet_valid());
        }
        Ok(())
    }

    /// Refuses a payment that was not presented before and cannot be settled, without a call: forged and unfit payments
    /// cost none.
    ///
    /// # Errors
    /// [`PayError::Refused`], or the store's failure.
    pub async fn precheck(&self, payment: &Payment, purchase: &PurchaseRecord) -> Result<(), PayError> {
        let known = self.inner.store.get(&records::payment(&self.id(payment))).await?;
        if known.is_none() {
            self.check_new(payment, purchase.item())?;
        }
        Ok(())
    }

    /// The checks of a new payment that need no call, in the order of the specification, which checks the signature
    /// before the recipient. Returns whether the key of the payer made the signature; if not, its code must confirm it.
    fn check_new(&self, payment: &Payment, item: Item) -> Result<bool, Refused> {
        self.check_kind(payment)?;
        if !self.signed_by_key(payment) {
            return match self.contracts_may_pay() {
                true => Ok(false),
                false => {
                    let (terms, from) = (self.terms(), payment.authorization.from);
                    Err(Refused::signature(terms, from, self.inner.asset.is_some()))
                }
            };
        }
        self.check_transfer(payment, self.terms().amount(item))?;
        self.check_time(payment)?;
        Ok(true)
    }

    /// Whether a signature may be that of a contract.
    fn contracts_may_pay(&self) -> bool {
        self.inner.asset.is_some() && (!self.is_local() || self.inner.contract_signatures)
    }

    /// Verifies that a new payment can be settled. Returns the block up to which it is unused, if the chain is
    /// configured.
    pub(super) async fn verify(
        &self,
        payment: &Payment,
        purchase: &PurchaseRecord,
        resource: &str,
    ) -> Result<Option<u64>, PayError> {
        let item = purchase.item();
        let by_key = self.check_new(payment, item)?;
        if !by_key {
            self.require_contract(payment).await?;
            self.check_transfer(payment, self.terms().amount(item))?;
            self.check_time(payment)?;
        }
        self.check_payer(payment).await?;
        self.check_price(purchase).await?;
        let start = match &self.inner.asset {
            Some(asset) => Some(self.ask_asset(asset, payment, by_key).await?),
            None => None,
        };
        if let Some(facilitator) = &self.inner.facilitator {
            let requirements = self.terms().requirements(item, payment.version, resource);
            let verified = facilitator.verify(payment.version.number(), &payment.payload, &requirements).await;
            verified
                .map_err(|error| PayError::Unavailable(error.to_string()))?
                .map_err(|reason| Refused::new(reason, "The facilitator refused the payment"))?;
        }
        Ok(start)
    }

    /// If this server pays for the transfer, refuses a payer whose earlier transfers cost too much gas, and a contract
    /// that may not pay.
    async fn check_payer(&self, payment: &Payment) -> Result<(), PayError> {
        let payer = payment.authorization.from;
        let Some(asset) = self.inner.asset.as_ref().filter(|_| self.is_local()) else { return Ok(()) };
        // The asset calls the payer's code, even for a signature by a key.
        if asset.has_code(payer).await? && !self.inner.contract_signatures {
            return Err(signature_refused(payer).into());
        }
        if let Some(spent) = self.inner.gas.exhausted(vec![Party::payer(payer)]).await? {
            return Err(Refused::out_of_gas(&spent).into());
        }
        Ok(())
    }

    /// Whether the payer made the signature. An account's key proves it; a contract is called.
    ///
    /// # Errors
    /// [`PayError::Unavailable`] if the chain cannot be read.
    pub async fn is_signed(&self, payment: &Payment) -> Result<bool, PayError> {
        if self.signed_by_key(payment) {
            return Ok(true);
        }
        let Some(asset) = self.inner.asset.as_ref().filter(|_| self.contracts_may_pay()) else { return Ok(false) };
        let hash = self.terms().domain.hash(&payment.authorization);
        Ok(asset.is_signed_by_contract(payment.authorization.from, hash, &payment.signature).await?)
    }

    /// Whether the key of the paying account made the signature.
    fn signed_by_key(&self, payment: &Payment) -> bool {
        signer(self.terms().domain.hash(&payment.authorization), &payment.signature) == Some(payment.authorization.from)
    }

    /// Refuses a signature that the account's key did not make, unless the account is a contract, which the simulated
    /// transfer calls to verify it.
    async fn require_contract(&self, payment: &Payment) -> Result<(), PayError> {
        let unsigned = || Refused::signature(self.terms(), payment.authorization.from, false);
        let Some(asset) = &self.inner.asset else { return Err(unsigned().into()) };
        if asset.has_code(payment.authorization.from).await? { Ok(()) } else { Err(unsigned().into()) }
    }

    async fn ask_asset(&self, asset: &Asset, payment: &Payment, by_key: bool) -> Result<u64, PayError> {
        let Authorization { from, value, nonce, .. } = payment.authorization;
        let open = self.open_beside(&self.id(payment)).await?;
        let nonces: Vec<B256> = std::iter::once(nonce).chain(open.iter().map(|record| record.id.nonce)).collect();
        let payer = asset.payer_state(from, &nonces).await?;
        let (is_used, of_open) = payer.used.split_first().ok_or(PaymentError::NoAsset)?;
        // Transfers that the balance does not show yet.
        let waiting = open.iter().zip(of_open).filter(|(_, used)| !**used);
        let promised = waiting.fold(U256::ZERO, |sum, (record, _)| sum.saturating_add(record.authorization.value));
        if payer.balance < value || (!is_used && payer.balance < value.saturating_add(promised)) {
            return Err(Refused::funds(self.terms(), payment, promised).into());
        }
        if *is_used {
            return Err(Refused::used().into());
        }
        let call = asset.call(&payment.authorization, &payment.signature, by_key);
        asset.simulate(&call).await?.map_err(|words| Refused::reverted(&words))?;
        Ok(payer.block)
    }
}

/// The refusal of a contract that may not pay.
pub(super) fn signature_refused(payer: Address) -> Refused {
    let detail = format!("{payer} is a contract, and this server accepts payments only from accounts without code");
    Refused::new(reason::SIGNATURE, detail)
}

pub(super) fn unix_now() -> u64 {
    u64::try_from(Utc::now().timestamp()).unwrap_or_default()
}

fn check_amount(terms: &Terms, payment: &Payment, wanted: U256) -> Result<(), Refused> {
    let value = payment.authorization.value;
    let enough = match payment.version {
        Version::One => value >= wanted,
        Version::Two => value == wanted && payment.offered.as_ref().is_none_or(|(.., amount)| *amount == wanted),
    };
    if enough {
        return Ok(());
    }
    Err(Refused::value(terms, wanted, payment.version))
}
