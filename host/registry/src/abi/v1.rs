//! The bindings of `wit/v1`: the functions of each kind, and the conversion of features to the types of the interface.

use wasmtime::component::{Component, ComponentExportIndex};

use super::Abi;
use crate::call::Call;
use assay_domain::{Address, AssetClass, Coverage, ModelKind, features::Features};

mod bindings {
    wasmtime::component::bindgen!({
        path: "../../wit/v1",
        inline: "
            package assay:host;
            world every-kind {
                export assay:model/credit@1.0.0;
                export assay:model/boost@1.0.0;
                export assay:model/sybil@1.0.0;
                export assay:model/sandbox@1.0.0;
            }",
        world: "assay:host/every-kind",
        // Features are lowered from borrowed slices: the only copy is the one into the guest.
        ownership: Borrowing { duplicate_if_necessary: false },
    });
}

/// Answers in the types of this version.
pub(crate) mod raw {
    pub(crate) use super::bindings::{
        assay::model::types::{Factor, Kind, ModelInfo, Rating, Refusal},
        exports::assay::model::{
            credit::Assessment,
            sandbox::{ChainValue, MockReport, Nft, Pool, Position, Token},
            sybil::RiskAssessment,
        },
    };
}

use bindings::assay::model::types as wit;

/// The indices of the functions, found once when the model is loaded.
pub(crate) enum Exports {
    Credit { describe: Index, score: Index, decile: Index },
    Boost { describe: Index, boost: Index },
    Sybil { describe: Index, risk: Index },
    Sandbox { describe: Index, score: Index, boosted_score: Index, factors: Index, report: Index, portfolio: Index },
}

type Index = ComponentExportIndex;

impl Exports {
    /// An error names the function that is missing in the interface `name`.
    pub fn find(component: &Component, kind: ModelKind, name: &str) -> Result<Self, String> {
        let (_, interface) = component.get_export(None, name).ok_or_else(|| format!("it does not export {name}"))?;
        let index = |function: &str| {
            component
                .get_export_index(Some(&interface), function)
                .ok_or_else(|| format!("{name} lacks the function `{function}`"))
        };
        let describe = index("describe")?;
        Ok(match kind {
            ModelKind::Credit => Self::Credit { describe, score: index("score")?, decile: index("decile")? },
            ModelKind::Boost => Self::Boost { describe, boost: index("boost")? },
            ModelKind::Sybil => Self::Sybil { describe, risk: index("risk")? },
            ModelKind::Sandbox => Self::Sandbox {
                describe,
                score: index("score")?,
                boosted_score: index("boosted-score")?,
                factors: index("factors")?,
                report: index("report")?,
                portfolio: index("portfolio")?,
            },
        })
    }
}

/// A call of a function that this kind of model does not have.
fn mismatch<T>() -> wasmtime::Result<T> {
    Err(wasmtime::format_err!("the model is of another kind"))
}

impl Abi for Exports {
    fn verify(&self, call: &mut Call<'_>) -> wasmtime::Result<()> {
        match self {
            Self::Credit { describe, score, decile } => {
                call.offers::<(), raw::ModelInfo>(describe)?;
                call.offers::<(&wit::Features<'_>,), Result<raw::Assessment, raw::Refusal>>(score)?;
                call.offers::<(u32,), u8>(decile)
            }
            Self::Boost { describe, boost } => {
                call.offers::<(), raw::ModelInfo>(describe)?;
                call.offers::<(u32, wit::OffChain), u32>(boost)
            }
            Self::Sybil { describe, risk } => {
                call.offers::<(), raw::ModelInfo>(describe)?;
                call.offers::<(&wit::Features<'_>,), raw::RiskAssessment>(risk)
            }
            Self::Sandbox { describe, score, boosted_score, factors, report, portfolio } => {
                call.offers::<(), raw::ModelInfo>(describe)?;
                call.offers::<(&[u8],), u32>(score)?;
                call.offers::<(&[u8], wit::OffChain), u32>(boosted_score)?;
                call.offers::<(&[u8],), Vec<raw::Factor>>(factors)?;
                call.offers::<(&[u8],), raw::MockReport>(report)?;
                call.offers::<(&[u8],), Vec<raw::ChainValue>>(portfolio)
            }
        }
    }

    fn describe(&self, call: &mut Call<'_>) -> wasmtime::Result<raw::ModelInfo> {
        let (Self::Credit { describe, .. }
        | Self::Boost { describe, .. }
        | Self::Sybil { describe, .. }
        | Self::Sandbox { describe, .. }) = self;
        call.invoke(describe, ())
    }

    fn score(
        &self,
        call: &mut Call<'_>,
        features: &Features,
    ) -> wasmtime::Result<Result<raw::Assessment, raw::Refusal>> {
        let Self::Credit { score, .. } = self else { return mismatch() };
        lowered(features, |features| call.invoke(score, (features,)))
    }

    fn decile(&self, call: &mut Call<'_>, of: u32) -> wasmtime::Result<u8> {
        let Self::Credit { decile, .. } = self else { return mismatch() };
        call.invoke(decile, (of,))
    }

    fn boost(&self, call: &mut Call<'_>, score: u32, total_asset_usd: f64) -> wasmtime::Result<u32> {
        let Self::Boost { boost, .. } = self else { return mismatch() };
        call.invoke(boost, (score, wit::OffChain { total_asset_usd }))
    }

    fn risk(&self, call: &mut Call<'_>, features: &Features) -> wasmtime::Result<raw::RiskAssessment> {
        let Self::Sybil { risk, .. } = self else { return mismatch() };
        lowered(features, |features| call.invoke(risk, (features,)))
    }

    fn mock_score(&self, call: &mut Call<'_>, address: &Address) -> wasmtime::Result<u32> {
        let Self::Sandbox { score, .. } = self else { return mismatch() };
        call.invoke(score, (address.as_slice(),))
    }

    fn mock_boosted(&self, call: &mut Call<'_>, address: &Address, total_asset_usd: f64) -> wasmtime::Result<u32> {
        let Self::Sandbox { boosted_score, .. } = self else { return mismatch() };
        call.invoke(boosted_score, (address.as_slice(), wit::OffChain { total_asset_usd }))
    }

    fn mock_factors(&self, call: &mut Call<'_>, address: &Address) -> wasmtime::Result<Vec<raw::Factor>> {
        let Self::Sandbox { factors, .. } = self else { return mismatch() };
        call.invoke(factors, (address.as_slice(),))
    }

    fn mock_report(&self, call: &mut Call<'_>, address: &Address) -> wasmtime::Result<raw::MockReport> {
        let Self::Sandbox { report, .. } = self else { return mismatch() };
        call.invoke(report, (address.as_slice(),))
    }

    fn mock_portfolio(&self, call: &mut Call<'_>, address: &Address) -> wasmtime::Result<Vec<raw::ChainValue>> {
        let Self::Sandbox { portfolio, .. } = self else { return mismatch() };
        call.invoke(portfolio, (address.as_slice(),))
    }
}

/// Calls `run` with the features in the types of the interface; strings are borrowed.
fn lowered<T>(features: &Features, run: impl FnOnce(&wit::Features<'_>) -> T) -> T {
    let chains: Vec<_> = features.chains.iter().map(chain).collect();
    let markets: Vec<_> = features.markets.iter().map(market).collect();
    let holdings: Vec<_> = features
        .holdings
        .iter()
        .map(|h| wit::Holding { class: asset_class(h.class), usd: h.usd, assets: h.assets })
        .collect();
    let identity: Vec<_> = features.identity.iter().map(attestation).collect();
    run(&wit::Features {
        as_of: features.as_of,
        chains: &chains,
        markets: &markets,
        holdings: &holdings,
        identity: &identity,
    })
}

fn chain(c: &assay_domain::features::ChainFeatures) -> wit::ChainFeatures {
    wit::ChainFeatures {
        chain_id: c.chain_id,
        coverage: coverage(c.coverage),
        first_transaction: c.first_transaction,
        last_transaction: c.last_transaction,
        transactions: c.transactions,
        transfers: c.transfers,
        counterparties: c.counterparties,
        active_days: c.active_days,
        active_hours: c.active_hours,
        median_gap: c.median_gap,
        assets_usd: c.assets_usd,
        supplied_usd: c.supplied_usd,
        borrowed_usd: c.borrowed_usd,
    }
}

fn market(m: &assay_domain::features::MarketFeatures) -> wit::MarketFeatures<'_> {
    wit::MarketFeatures {
        chain_id: m.chain_id,
        protocol: m.protocol.as_str(),
        market: m.market.as_deref(),
        coverage: coverage(m.coverage),
        feeds_score: m.feeds_score,
        supply: m.supply,
        withdraw: m.withdraw,
        borrow: m.borrow,
        repay: m.repay,
        liquidation: m.liquidation,
        first_event: m.first_event,
        last_event: m.last_event,
        last_liquidation: m.last_liquidation,
        supplied_usd: m.supplied_usd,
        borrowed_usd: m.borrowed_usd,
    }
}

fn attestation(a: &assay_domain::features::AttestationFeature) -> wit::Attestation<'_> {
    wit::Attestation { provider: &a.provider, issued: a.issued, expires: a.expires, score: a.score }
}

fn coverage(coverage: Coverage) -> wit::Coverage {
    match coverage {
        Coverage::Complete => wit::Coverage::Complete,
        Coverage::Partial => wit::Coverage::Partial,
        Coverage::Pending => wit::Coverage::Pending,
        Coverage::Failed => wit::Coverage::Failed,
    }
}

fn asset_class(class: AssetClass) -> wit::AssetClass {
    match class {
        AssetClass::Native => wit::AssetClass::Native,
        AssetClass::Stablecoin => wit::AssetClass::Stablecoin,
        AssetClass::Token => wit::AssetClass::Token,
        AssetClass::Wrapped => wit::AssetClass::Wrapped,
        AssetClass::Liquidity => wit::AssetClass::Liquidity,
        AssetClass::Collateral => wit::AssetClass::Collateral,
    }
}
