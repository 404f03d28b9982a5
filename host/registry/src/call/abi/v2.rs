//! The bindings of `wit/v2`: the functions of each kind.

mod market;

use wasmtime::component::ComponentExportIndex as Index;

use super::{Abi, Judged, lower::lowering, mismatch, raw};
use crate::call::{ModelCall, mock::MockSubject};
use assay_domain::{Address, ModelKind, features::Features};
use market::with_markets;

use super::newest::{
    assay::model::types as wit,
    exports::assay::model::{credit, sandbox, sybil},
};

/// The indices of the functions, looked up once when the model is loaded.
pub(crate) enum Exports {
    Credit { describe: Index, score: Index, explain: Index, decile: Index },
    Boost { describe: Index, boost: Index },
    Sybil { describe: Index, risk: Index, explain: Index },
    Sandbox(Box<Sandbox>),
}

pub(crate) struct Sandbox {
    describe: Index,
    score: Index,
    boosted_score: Index,
    factors: Index,
    report: Index,
    portfolio: Index,
    scenarios: Index,
    behaviour_of: Index,
}

impl Exports {
    /// `index` looks up a function.
    pub(crate) fn find(kind: ModelKind, index: impl Fn(&str) -> Result<Index, String>) -> Result<Self, String> {
        let describe = index("describe")?;
        Ok(match kind {
            ModelKind::Credit => {
                Self::Credit { describe, score: index("score")?, explain: index("explain")?, decile: index("decile")? }
            }
            ModelKind::Boost => Self::Boost { describe, boost: index("boost")? },
            ModelKind::Sybil => Self::Sybil { describe, risk: index("risk")?, explain: index("explain")? },
            ModelKind::Sandbox => Self::Sandbox(Box::new(Sandbox {
                describe,
                score: index("score")?,
                boosted_score: index("boosted-score")?,
                factors: index("factors")?,
                report: index("report")?,
                portfolio: index("portfolio")?,
                scenarios: index("scenarios")?,
                behaviour_of: index("behaviour-of")?,
            })),
        })
    }

    fn sandbox(&self) -> wasmtime::Result<&Sandbox> {
        if let Self::Sandbox(sandbox) = self { Ok(sandbox) } else { mismatch() }
    }
}

impl Abi for Exports {
    fn verify(&self, call: &mut ModelCall<'_>) -> wasmtime::Result<()> {
        match self {
            Self::Credit { describe, score, explain, decile } => {
                call.offers::<(), wit::ModelInfo>(describe)?;
                call.offers::<(&wit::Features<'_>,), Result<credit::Verdict, wit::Refusal>>(score)?;
                call.offers::<(&wit::Features<'_>,), Result<Vec<wit::Factor>, wit::Refusal>>(explain)?;
                call.offers::<(u32,), u8>(decile)
            }
            Self::Boost { describe, boost } => {
                call.offers::<(), wit::ModelInfo>(describe)?;
                call.offers::<(u32, wit::OffChain), u32>(boost)
            }
            Self::Sybil { describe, risk, explain } => {
                call.offers::<(), wit::ModelInfo>(describe)?;
                call.offers::<(&wit::Features<'_>,), sybil::Verdict>(risk)?;
                call.offers::<(&wit::Features<'_>,), Vec<wit::Factor>>(explain)
            }
            Self::Sandbox(own) => {
                call.offers::<(), wit::ModelInfo>(&own.describe)?;
                call.offers::<(&[u8],), u32>(&own.score)?;
                call.offers::<(&[u8], wit::OffChain), u32>(&own.boosted_score)?;
                call.offers::<(&[u8],), Vec<wit::Factor>>(&own.factors)?;
                call.offers::<(&[u8],), sandbox::MockReport>(&own.report)?;
                call.offers::<(&[u8],), Vec<sandbox::ChainValue>>(&own.portfolio)?;
                call.offers::<(), Vec<sandbox::Scenario>>(&own.scenarios)?;
                call.offers::<(&sandbox::Subject,), Option<sandbox::Behaviour>>(&own.behaviour_of)
            }
        }
    }

    fn describe(&self, call: &mut ModelCall<'_>) -> wasmtime::Result<raw::ModelInfo> {
        let describe = match self {
            Self::Credit { describe, .. } | Self::Boost { describe, .. } | Self::Sybil { describe, .. } => describe,
            Self::Sandbox(own) => &own.describe,
        };
        call.invoke(describe, ())
    }

    fn score(&self, call: &mut ModelCall<'_>, features: &Features) -> Judged<raw::Verdict> {
        let Self::Credit { score, .. } = self else { return mismatch() };
        let given: Result<credit::Verdict, wit::Refusal> =
            lowered(features, |features| call.invoke(score, (features,)))?;
        Ok(given.map(|credit::Verdict { score, decile, points }| raw::Verdict {
            score,
            decile,
            factors: raw::Factors::Points(points),
        }))
    }

    fn explain(&self, call: &mut ModelCall<'_>, features: &Features) -> Judged<Vec<raw::Factor>> {
        let Self::Credit { explain, .. } = self else { return mismatch() };
        lowered(features, |features| call.invoke(explain, (features,)))
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
        let Self::Sybil { risk, .. } = self else { return mismatch() };
        let sybil::Verdict { risk, points } = lowered(features, |features| call.invoke(risk, (features,)))?;
        Ok(raw::RiskVerdict { risk, factors: raw::Factors::Points(points) })
    }

    fn explain_risk(&self, call: &mut ModelCall<'_>, features: &Features) -> wasmtime::Result<Vec<raw::Factor>> {
        let Self::Sybil { explain, .. } = self else { return mismatch() };
        lowered(features, |features| call.invoke(explain, (features,)))
    }

    fn mock_score(&self, call: &mut ModelCall<'_>, address: &Address) -> wasmtime::Result<u32> {
        call.invoke(&self.sandbox()?.score, (address.as_slice(),))
    }

    fn mock_boosted(&self, call: &mut ModelCall<'_>, address: &Address, total_asset_usd: f64) -> wasmtime::Result<u32> {
        call.invoke(&self.sandbox()?.boosted_score, (address.as_slice(), wit::OffChain { total_asset_usd }))
    }

    fn mock_factors(&self, call: &mut ModelCall<'_>, address: &Address) -> wasmtime::Result<Vec<raw::Factor>> {
        call.invoke(&self.sandbox()?.factors, (address.as_slice(),))
    }

    fn mock_report(&self, call: &mut ModelCall<'_>, address: &Address) -> wasmtime::Result<raw::MockReport> {
        call.invoke(&self.sandbox()?.report, (address.as_slice(),))
    }

    fn mock_portfolio(&self, call: &mut ModelCall<'_>, address: &Address) -> wasmtime::Result<Vec<raw::ChainValue>> {
        call.invoke(&self.sandbox()?.portfolio, (address.as_slice(),))
    }

    fn mock_scenarios(&self, call: &mut ModelCall<'_>) -> wasmtime::Result<Vec<raw::Scenario>> {
        call.invoke(&self.sandbox()?.scenarios, ())
    }

    fn mock_behaviour(
        &self,
        call: &mut ModelCall<'_>,
        subject: &MockSubject,
    ) -> wasmtime::Result<Option<raw::Behaviour>> {
        let subject = match subject {
            MockSubject::Address(address) => sandbox::Subject::Address(address.to_vec()),
            MockSubject::Agent(id) => sandbox::Subject::Agent(*id),
        };
        call.invoke(&self.sandbox()?.behaviour_of, (&subject,))
    }
}

lowering!(wit);
