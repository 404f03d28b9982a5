//! The answers of the production paths from the generator.

use std::{collections::HashSet, sync::Arc};

use alloy::primitives::keccak256;
use futures::{FutureExt, future::BoxFuture};

use super::{MockRequest, Mocks, Sandbox, now};
use assay_domain::{Address, ChainId, Snapshot, Subject};
use assay_report::{Aggregate, ChainReport, IdentityReport, Report, ReportSource, Summarized};
use assay_rollout::Scored;
use assay_score::{
    Answer, Ask, Baseline, LeftOut, MockPast, NotScored, OfSubject, ScoreSource, Scores, Scoring, ScoringError,
    Several, SkipReason,
};
use assay_tasks::blocking;

/// Answers from the sandbox champion, and from scenarios.
pub struct SandboxSource {
    mocks: Mocks,
}

impl SandboxSource {
    pub fn new(mocks: Mocks) -> Self {
        Self { mocks }
    }

    /// A request about `subject`, after the wait of a slow answer.
    async fn asked(&self, subject: &Subject) -> Result<(Sandbox, MockRequest), ScoringError> {
        let sandbox = self.mocks.now();
        let asked = sandbox.asked(address(subject))?;
        asked.condition.passed().await;
        Ok((sandbox, asked))
    }

    /// The same of `sandbox`, for a score or report, which counts as a request by `by`.
    async fn asked_by(&self, sandbox: &Sandbox, by: &str, subject: &Subject) -> Result<MockRequest, ScoringError> {
        let asked = self.mocks.counted(sandbox.asked(address(subject))?, by).await;
        asked.condition.passed().await;
        Ok(asked)
    }
}

impl ScoreSource for SandboxSource {
    fn score<'a>(&'a self, subject: &'a Subject, off_chain_usd: Option<f64>, ask: Ask<'a>) -> Answer<'a, Arc<Scored>> {
        async move {
            let sandbox = self.mocks.on(ask.version)?;
            let asked = self.asked_by(&sandbox, ask.by, subject).await?;
            sandbox.scored(&asked, off_chain_usd, ask.factors).map(Arc::new)
        }
        .boxed()
    }

    fn baseline<'a>(&'a self, subject: &'a Subject, ask: Ask<'a>) -> Answer<'a, Baseline> {
        async move {
            let sandbox = self.mocks.on(ask.version)?;
            let asked = self.asked_by(&sandbox, ask.by, subject).await?;
            sandbox.baseline(&asked, ask.factors)
        }
        .boxed()
    }

    fn scores<'a>(&'a self, subjects: Vec<Subject>, ask: Ask<'a>) -> Answer<'a, Scores> {
        async move {
            let factors = ask.factors;
            let sandbox = self.mocks.on(ask.version)?;
            let model = sandbox.credit()?;
            let scored = move |sandbox: &Sandbox, asked: &_| sandbox.scored(asked, None, factors).map(Arc::new);
            let (sandbox, asked) = requests(sandbox, &subjects).await?;
            let mut counted = Vec::with_capacity(asked.len());
            for (item, one) in asked {
                counted.push((item, self.mocks.counted(one, ask.by).await));
            }
            let Several { found, skipped, none } = each(sandbox, counted, scored).await?;
            Ok(Scores { model, found, skipped, none })
        }
        .boxed()
    }

    fn each<'a>(&'a self, subjects: Vec<Subject>, ask: Ask<'a>) -> BoxFuture<'a, Vec<OfSubject>> {
        async move {
            let mut answers = Vec::with_capacity(subjects.len());
            for subject in &subjects {
                let answer = self.baseline(subject, ask).await.map(|baseline| (baseline.scored, baseline.features));
                answers.push(OfSubject { address: Some(address(subject)), answer });
            }
            answers
        }
        .boxed()
    }

    fn mock_past<'a>(&'a self, subject: &'a Subject, moments: &'a [u64], ask: Ask<'a>) -> Option<Answer<'a, MockPast>> {
        let past = async move {
            let sandbox = self.mocks.on(ask.version)?;
            let asked = self.asked_by(&sandbox, ask.by, subject).await?;
            let (version, moments) = (sandbox.credit()?.reference().version.clone(), moments.to_vec());
            blocking(move || Ok(MockPast { address: asked.address, version, points: sandbox.past(&asked, &moments)? }))
                .await
        };
        Some(past.boxed())
    }

    fn of_chains(&self, lack: &'static str) -> Result<&Scoring, ScoringError> {
        Err(ScoringError::Sandbox(lack))
    }
}

impl ReportSource for SandboxSource {
    fn report<'a>(&'a self, subject: &'a Subject, by: &'a str) -> Answer<'a, Report> {
        async move {
            let sandbox = self.mocks.now();
            let asked = self.asked_by(&sandbox, by, subject).await?;
            sandbox.report(&asked)
        }
        .boxed()
    }

    fn chain_report<'a>(&'a self, subject: &'a Subject, chain: ChainId) -> Answer<'a, ChainReport> {
        async move {
            let (sandbox, asked) = self.asked(subject).await?;
            sandbox.chain_report(&asked, chain)
        }
        .boxed()
    }

    fn summary<'a>(&'a self, subject: &'a Subject) -> Answer<'a, Summarized> {
        async move {
            let (sandbox, asked) = self.asked(subject).await?;
            sandbox.summary(&asked)
        }
        .boxed()
    }

    fn chain_summary<'a>(&'a self, subject: &'a Subject, chain: ChainId) -> Answer<'a, Summarized> {
        async move {
            let (sandbox, asked) = self.asked(subject).await?;
            sandbox.chain_summary(&asked, chain)
        }
        .boxed()
    }

    fn aggregate<'a>(&'a self, subjects: Vec<Subject>) -> Answer<'a, Aggregate> {
        async move {
            let (sandbox, asked) = requests(self.mocks.now(), &subjects).await?;
            let all = each(sandbox, asked, Sandbox::summary).await?;
            Aggregate::of(all)
        }
        .boxed()
    }

    /// Nothing is attested in the sandbox.
    fn identity<'a>(&'a self, subject: &'a Subject) -> Answer<'a, IdentityReport> {
        async move {
            let (_, MockRequest { address, condition }) = self.asked(subject).await?;
            condition.require_reading()?;
            let (chains, attestations, identity, fresh) = (Vec::new(), Vec::new(), Vec::new(), now());
            let snapshot = Snapshot { address, as_of: fresh.read_at, chains, attestations, identity };
            Ok(IdentityReport { snapshot: Arc::new(snapshot), distinct: Default::default(), cached: false, fresh })
        }
        .boxed()
    }

    /// A generator states the value of what an address holds apart from its report.
    fn holdings<'a>(&'a self, subject: &'a Subject) -> Answer<'a, Summarized> {
        async move {
            let (sandbox, asked) = self.asked(subject).await?;
            sandbox.holdings(&asked)
        }
        .boxed()
    }
}

/// The requests about `subjects`, each address once, with the item of the list.
async fn requests(
    sandbox: Sandbox,
    subjects: &[Subject],
) -> Result<(Sandbox, Vec<(String, MockRequest)>), ScoringError> {
    let subjects = addresses(subjects);
    blocking(move || {
        let asked = subjects.into_iter().map(|(item, address)| Ok((item, sandbox.asked(address)?)));
        let asked = asked.collect::<Result<_, ScoringError>>()?;
        Ok((sandbox, asked))
    })
    .await
}

/// The answers of `work` to each of `asked`, those without an answer left out. No wait is played: an answer about
/// several addresses is not slow.
async fn each<T: Send + 'static>(
    sandbox: Sandbox,
    asked: Vec<(String, MockRequest)>,
    work: impl Fn(&Sandbox, &MockRequest) -> Result<T, ScoringError> + Send + 'static,
) -> Result<Several<T>, ScoringError> {
    blocking(move || {
        let (mut found, mut skipped) = (Vec::with_capacity(asked.len()), LeftOut::default());
        let mut none = ScoringError::NotFound;
        for (item, asked) in asked {
            match work(&sandbox, &asked) {
                Ok(answer) => found.push(answer),
                Err(ScoringError::NotFound) => skipped.add(item, SkipReason::NotFound),
                Err(error) if NotScored::of(&error).is_some() => {
                    skipped.add(item, SkipReason::NotScored);
                    none = error;
                }
                Err(error) => return Err(error),
            }
        }
        let none = found.is_empty().then_some(none);
        Ok(Several { found, skipped, none })
    })
    .await
}

/// The address of a subject. Names are not resolved here: a name has the same made-up address each time.
fn address(subject: &Subject) -> Address {
    match subject {
        Subject::Address(address) => *address,
        Subject::Name(name) => Address::from_word(keccak256(name.as_str())),
    }
}

/// The subjects with their addresses, each address once.
fn addresses(subjects: &[Subject]) -> Vec<(String, Address)> {
    let mut seen = HashSet::new();
    let named = subjects.iter().map(|subject| (subject.to_string(), address(subject)));
    named.filter(|(_, address)| seen.insert(*address)).collect()
}
