//! The bindings of `wit/v1`: the functions of each kind, and the conversion of features to the types of the interface.

mod answers;

use wasmtime::component::ComponentExportIndex as Index;

use super::{
    Abi, Judged,
    lower::{lowered_market, lowering},
    mismatch, raw,
};
use crate::call::{ModelCall, mock::MockSubject};
use assay_domain::{
    Address, ModelKind,
    features::{Features, MarketFeatures},
};

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

use bindings::{
    assay::model::types as wit,
    exports::assay::model::{credit::Assessment, sandbox, sybil::RiskAssessment},
};

/// The indices of the functions, looked up once when the model is loaded.
pub(crate) enum Exports {
    Credit { describe: Index, score: Index, decile: Index },
    Boost { describe: Index, boost: Index },
    Sybil { describe: Index, risk: Index },
    Sandbox { describe: Index, score: Index, boosted_score: Index, factors: Index, report: Index, portfolio: Index },
}

impl Exports {
    /// `index` looks up a function.
    pub(crate) fn find(kind: ModelKind, index: impl Fn(&str) -> Result<Index, String>) -> Result<Self, String> {
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

impl Abi for Exports {
    fn verify(&self, call: &mut ModelCall<'_>) -> wasmtime::Result<()> {
        match self {
            Self::Credit { describe, score, decile } => {
                call.offers::<(), wit::ModelInfo>(describe)?;
                call.offers::<(&wit::Features<'_>,), Result<Assessment, wit::Refusal>>(score)?;
                call.offers::<(u32,), u8>(decile)
            }
            Self::Boost { describe, boost } => {
                call.offers::<(), wit::ModelInfo>(describe)?;
                call.offers::<(u32, wit::OffChain), u32>(boost)
            }
            Self::Sybil { describe, risk } => {
                call.offers::<(), wit::ModelInfo>(describe)?;
                call.offers::<(&wit::Features<'_>,), RiskAssessment>(risk)
            }
            Self::Sandbox { describe, score, boosted_score, factors, report, portfolio } => {
                call.offers::<(), wit::ModelInfo>(describe)?;
                call.offers::<(&[u8],), u32>(score)?;
                call.offers::<(&[u8], wit::OffChain), u32>(boosted_score)?;
                call.offers::<(&[u8],), Vec<wit::Factor>>(factors)?;
                call.offers::<(&[u8],), sandbox::MockReport>(report)?;
                call.offers::<(&[u8],), Vec<sandbox::ChainValue>>(portfolio)
            }
        }
    }

    fn describe(&self, call: &mut ModelCall<'_>) -> wasmtime::Result<raw::ModelInfo> {
        let (Self::Credit { describe, .. }
        | Self::Boost { describe, .. }
        | Self::Sybil { describe, .. }
        | Self::Sandbox { describe, .. }) = self;
        call.invoke::<_, wit::ModelInfo>(describe, ()).map(Into::into)
    }

    fn score(&self, call: &mut ModelCall<'_>, features: &Features) -> Judged<raw::Verdict> {
        Ok(self.assess(call, features)?.map(Into::into).map_err(Into::into))
    }

    fn explain(&self, call: &mut ModelCall<'_>, features: &Features) -> Judged<Vec<raw::Factor>> {
        Ok(self.assess(call, features)?.map(|given| answers::factors(given.factors)).map_err(Into::into))
    }

    fn decile(&self, call: &mut ModelCall<'_>, of: u32) -> wasmtime::Result<u8> {
        let Self::Credit { decile, .. } = self else { return mismatch() };
        call.invoke(decile, (of,))
    }

    fn boost(&self, call: &mut ModelCall<'_>, score: u32, total_asset_usd: f64) -> wasmtime::Result<u32> {
        let Self::Boost { boost, .. } = self else { return mismatch() };
        call.invoke(boost, (score, wit::OffChain { total_asset_usd }))
    }

    fn risk(&self, call: &mut ModelCall<'_>, features: &Features) -> wasmtime::Result<raw::RiskVerdict> {
        self.judge(call, features).map(Into::into)
    }

    fn explain_risk(&self, call: &mut ModelCall<'_>, features: &Features) -> wasmtime::Result<Vec<raw::Factor>> {
        self.judge(call, features).map(|given| answers::factors(given.factors))
    }

    fn mock_score(&self, call: &mut ModelCall<'_>, address: &Address) -> wasmtime::Result<u32> {
        let Self::Sandbox { score, .. } = self else { return mismatch() };
        call.invoke(score, (address.as_slice(),))
    }

    fn mock_boosted(&self, call: &mut ModelCall<'_>, address: &Address, total_asset_usd: f64) -> wasmtime::Result<u32> {
        let Self::Sandbox { boosted_score, .. } = self else { return mismatch() };
        call.invoke(boosted_score, (address.as_slice(), wit::OffChain { total_asset_usd }))
    }

    fn mock_factors(&self, call: &mut ModelCall<'_>, address: &Address) -> wasmtime::Result<Vec<raw::Factor>> {
        let Self::Sandbox { factors, .. } = self else { return mismatch() };
        call.invoke(factors, (address.as_slice(),)).map(answers::factors)
    }

    fn mock_report(&self, call: &mut ModelCall<'_>, address: &Address) -> wasmtime::Result<raw::MockReport> {
        let Self::Sandbox { report, .. } = self else { return mismatch() };
        call.invoke::<_, sandbox::MockReport>(report, (address.as_slice(),)).map(Into::into)
    }

    fn mock_portfolio(&self, call: &mut ModelCall<'_>, address: &Address) -> wasmtime::Result<Vec<raw::ChainValue>> {
        let Self::Sandbox { portfolio, .. } = self else { return mismatch() };
        let chains = call.invoke::<_, Vec<sandbox::ChainValue>>(portfolio, (address.as_slice(),))?;
        Ok(chains.into_iter().map(Into::into).collect())
    }

    /// This version has no scenarios.
    fn mock_scenarios(&self, _: &mut ModelCall<'_>) -> wasmtime::Result<Vec<raw::Scenario>> {
        Ok(Vec::new())
    }

    fn mock_behaviour(&self, _: &mut ModelCall<'_>, _: &MockSubject) -> wasmtime::Result<Option<raw::Behaviour>> {
        Ok(None)
    }
}

impl Exports {
    fn assess(
        &self,
        call: &mut ModelCall<'_>,
        features: &Features,
    ) -> wasmtime::Result<Result<Assessment, wit::Refusal>> {
        let Self::Credit { score, .. } = self else { return mismatch() };
        lowered(features, |features| call.invoke(score, (features,)))
    }

    fn judge(&self, call: &mut ModelCall<'_>, features: &Features) -> wasmtime::Result<RiskAssessment> {
        let Self::Sybil { risk, .. } = self else { return mismatch() };
        lowered(features, |features| call.invoke(risk, (features,)))
    }
}

lowering!(wit);

fn with_markets<T>(markets: &[MarketFeatures], run: impl FnOnce(&[wit::MarketFeatures<'_>]) -> T) -> T {
    run(&markets.iter().map(|m| lowered_market!(wit, m)).collect::<Vec<_>>())
}
