//! `assay verify`: recomputes a signed statement of a score from its evidence, the model's bytes and the chains.

mod chains;
mod differences;
mod model;
mod pack;
mod report;

use std::{
    fs::{self, File},
    io::Read as _,
    path::{Path, PathBuf},
};

use assay::config::Config;
use assay_domain::Address;
use assay_statement::{Evidence, Signed, Signers, Statement, ValidationPack};
use clap::Args;
use serde::de::DeserializeOwned;

use self::report::{Report, Step};
use super::{ConfigFile, Failure, endpoint::Endpoint};
use assay_statement::archive;

/// The largest statement and list of signers, in bytes.
const STATEMENT: u64 = 256 << 10;
/// The bytes that show that a file is a validation pack.
const ARCHIVE_HEAD: u64 = 512;
/// The largest evidence.
const EVIDENCE: u64 = 32 << 20;

/// Verify a signed statement of a score, and recompute the score; or verify a validation pack of `assay model dossier`
///
/// Prints a line for each step. Without --evidence, only the signature and the term are checked; with --component, the
/// model is run on the features; with --rpc or --config, the chains are read again at the blocks of the evidence, which
/// needs endpoints that keep old state. Nothing else is contacted: no server, store, explorer or price API.
///
/// Exit codes: 0, every requested step agrees; otherwise that of the first step that does not: 10 statement, 11
/// signature, 12 signer, 13 term, 14 evidence, 15 model, 16 chains; 17, the chains could not be read; 2, a file or an
/// argument cannot be used.
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Verify {
    /// The statement: the response of POST /api/v2/score/address/{address}/attestation; or a validation pack
    statement: PathBuf,
    /// The evidence: the response of GET /api/v2/score/{id}/evidence
    #[arg(long, value_name = "FILE")]
    evidence: Option<PathBuf>,
    /// The model's component
    #[arg(long, value_name = "FILE", requires = "evidence")]
    component: Option<PathBuf>,
    /// The signers of the server: the response of GET /.well-known/assay-attestation.json
    #[arg(long, value_name = "FILE")]
    signers: Option<PathBuf>,
    /// The only signer to trust
    #[arg(long, value_name = "ADDRESS", conflicts_with = "signers")]
    signer: Option<Address>,
    /// Endpoint that keeps old state, such as 1=https://…; may be repeated. Chains without an endpoint are not read
    #[arg(long = "rpc", value_name = "ID=URL", requires = "evidence")]
    endpoints: Vec<Endpoint>,
    /// Moment at which the statement must be valid: Unix seconds or a date; now by default
    #[arg(long, value_name = "TIME", value_parser = super::features::moment)]
    at: Option<u64>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Configuration that names the chains and their markets, tokens and feeds; the shipped one by default
    #[arg(long, value_name = "FILE", requires = "evidence")]
    config: Option<PathBuf>,
}

pub(super) fn run(verify: &Verify) -> Result<(), Failure> {
    if let Some(bytes) = archived(&verify.statement)? {
        let unused = [("evidence", verify.evidence.is_some()), ("at", verify.at.is_some())];
        if let Some((option, _)) = unused.iter().find(|(_, is_given)| *is_given) {
            return Err(Failure::cannot(format!(
                "--{option} is for a statement, and {} is a validation pack: leave it out",
                verify.statement.display()
            )));
        }
        let mut report = Report::default();
        pack::steps(&mut report, &bytes, (verify.signer, verify.signers()?.as_ref()))?;
        return report.finish(verify.json);
    }
    let signed: Signed = read(&verify.statement, STATEMENT)?;
    let signers = verify.signers()?;
    let evidence: Option<Evidence> = verify.evidence.as_deref().map(|file| read(file, EVIDENCE)).transpose()?;
    let config = verify.config(evidence.as_ref())?;
    let mut report = Report::default();
    match signed.statement() {
        Err(error) => report.add(Step::Statement, Err(error.to_string())),
        Ok(statement) => {
            report.of(&statement, signed.signer());
            report.add(Step::Statement, Ok("an EAS attestation, version 2, by the schema of a score".to_owned()));
            report.add(Step::Signature, signature(&signed, &statement));
            match verify.trusted(&signed, &statement, signers.as_ref()) {
                Some(found) => report.add(Step::Signer, found),
                None => report.skip(Step::Signer, "not checked; give --signers or --signer"),
            }
            report.add(Step::Term, verify.term(&statement));
            match &evidence {
                None => report.skip(Step::Evidence, "not checked; give --evidence"),
                Some(evidence) => verify.recompute(&mut report, &statement, evidence, config)?,
            }
        }
    }
    report.finish(verify.json)
}

/// The bytes of a validation pack; `None` if the file is none.
fn archived(file: &Path) -> Result<Option<Vec<u8>>, Failure> {
    let cannot = |error: std::io::Error| Failure::cannot(format!("{} cannot be read: {error}", file.display()));
    let mut head = Vec::new();
    let opened = File::open(file).map_err(cannot)?;
    opened.take(ARCHIVE_HEAD).read_to_end(&mut head).map_err(cannot)?;
    let is_pack = archive::is_archive(&head);
    is_pack.then(|| bytes(file, ValidationPack::LARGEST as u64)).transpose()
}

fn signature(signed: &Signed, statement: &Statement) -> Result<String, String> {
    signed.check(statement).map_err(|error| error.to_string())?;
    Ok(format!("signed by {}", signed.signer()))
}

impl Verify {
    /// The signers of the server, if they were given.
    fn signers(&self) -> Result<Option<Signers>, Failure> {
        self.signers.as_deref().map(|file| read(file, STATEMENT)).transpose()
    }

    /// Whether the signer is trusted; `None` if no trusted signer was named.
    fn trusted(
        &self,
        signed: &Signed,
        statement: &Statement,
        signers: Option<&Signers>,
    ) -> Option<Result<String, String>> {
        let (signer, domain) = (signed.signer(), &statement.domain);
        if let Some(only) = self.signer {
            let other = format!("{signer}, but only {only} is trusted");
            return Some(if signer == only { Ok(format!("{signer}, as given")) } else { Err(other) });
        }
        let signers = signers?;
        let named = (&signers.contract, &signers.contract_version, signers.chain_id);
        if named != (&domain.contract, &domain.version, domain.chain) {
            return Some(Err(format!(
                "the signers sign for {} version {} on chain {}, and the statement is for {} version {} on chain {}",
                signers.contract,
                signers.contract_version,
                signers.chain_id,
                domain.contract,
                domain.version,
                domain.chain
            )));
        }
        let found = signers.check(signer, statement.term.issued);
        Some(found.map(|()| "listed for this moment".to_owned()).map_err(|error| error.to_string()))
    }

    fn term(&self, statement: &Statement) -> Result<String, String> {
        let at = self.at.unwrap_or_else(|| chrono::Utc::now().timestamp().unsigned_abs());
        let (issued, expires) = (report::time(statement.term.issued), report::time(statement.term.expires));
        match at {
            at if at < statement.term.issued => Err(format!("issued {issued}, which is after {}", report::time(at))),
            at if at >= statement.term.expires => Err(format!("expired {expires}; request a new one")),
            _ => Ok(format!("holds from {issued} to {expires}")),
        }
    }

    fn recompute(
        &self,
        report: &mut Report,
        statement: &Statement,
        evidence: &Evidence,
        config: Option<Config>,
    ) -> Result<(), Failure> {
        let differences = evidence.differences(statement);
        let agrees = differences.is_empty();
        let agreed = format!("features, {} blocks and model are those of the statement", evidence.blocks.len());
        report.judge(Step::Evidence, agreed, differences.iter().map(ToString::to_string).collect());
        match &self.component {
            None => report.skip(Step::Model, "not run; give --component"),
            Some(_) if !agrees => report.skip(Step::Model, "not run, because the evidence is of another score"),
            Some(file) => {
                let folder = file.parent().unwrap_or(Path::new(""));
                let found = model::rerun(&bytes(file, model::largest())?, folder, statement, evidence);
                report.add(Step::Model, found);
            }
        }
        match config {
            None => report.skip(Step::Chains, "not read; give --rpc ID=URL for each chain, or --config"),
            Some(_) if !agrees => report.skip(Step::Chains, "not read, because the evidence is of another score"),
            Some(config) => chains::reread(report, &config, evidence)?,
        }
        Ok(())
    }

    /// The chains to read again, if any are to be.
    fn config(&self, evidence: Option<&Evidence>) -> Result<Option<Config>, Failure> {
        let Some(evidence) = evidence else { return Ok(None) };
        if self.config.is_none() && self.endpoints.is_empty() {
            return Ok(None);
        }
        let mut config = match self.config {
            Some(_) => ConfigFile { config: self.config.clone() }.load()?,
            None => chains::shipped(&self.endpoints)?,
        };
        for Endpoint { chain, url } in &self.endpoints {
            let known = config.chains.iter_mut().find(|known| known.id == *chain);
            let known = known.ok_or_else(|| Failure::cannot(format!("--rpc {chain}=…: --config has no such chain")))?;
            known.rpc = vec![url.clone()];
        }
        let is_wanted = |id| self.endpoints.is_empty() || self.endpoints.iter().any(|endpoint| endpoint.chain == id);
        let is_read = |id| evidence.blocks.iter().any(|block| block.chain_id == id);
        config.chains.retain(|chain| is_wanted(chain.id) && is_read(chain.id));
        Ok(Some(config))
    }
}

/// The JSON of a file, of at most `most` bytes.
fn read<T: DeserializeOwned>(file: &Path, most: u64) -> Result<T, Failure> {
    let bytes = bytes(file, most)?;
    if bytes.is_empty() {
        return Err(Failure::cannot(format!("{} is empty", file.display())));
    }
    serde_json::from_slice(&bytes).map_err(|error| Failure::cannot(format!("{}: {error}", file.display())))
}

fn bytes(file: &Path, most: u64) -> Result<Vec<u8>, Failure> {
    let cannot = |error| Failure::cannot(format!("{} cannot be read: {error}", file.display()));
    let size = fs::metadata(file).map_err(cannot)?.len();
    let mut found = Vec::new();
    File::open(file).and_then(|opened| opened.take(most + 1).read_to_end(&mut found)).map_err(cannot)?;
    if found.len() as u64 > most {
        return Err(Failure::cannot(format!("{} has {size} bytes, more than the limit of {most}", file.display())));
    }
    Ok(found)
}
