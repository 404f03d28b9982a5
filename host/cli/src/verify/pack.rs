//! A validation pack: its signature, and each file against the manifest.

use assay_domain::Address;
use assay_statement::{Manifest, ManifestSignature, Signers, ValidationPack, archive};
use serde::de::DeserializeOwned;

use super::report::{Report, Step};
use crate::Failure;

const MANIFEST: &str = ValidationPack::MANIFEST;
const SIGNATURE: &str = ValidationPack::SIGNATURE;

/// Adds the steps of a pack; `trusted` is the only signer to trust, or those of the server.
pub(super) fn steps(
    report: &mut Report,
    bytes: &[u8],
    trusted: (Option<Address>, Option<&Signers>),
) -> Result<(), Failure> {
    let files = match archive::read(bytes) {
        Ok(files) => files,
        Err(why) => {
            report.add(Step::Statement, Err(why));
            return Ok(());
        }
    };
    let text = files.get(MANIFEST).map(Vec::as_slice).unwrap_or_default();
    let manifest = parsed::<Manifest>(MANIFEST, text).and_then(|manifest| match manifest.form.as_str() {
        Manifest::FORM => Ok(manifest),
        other => Err(format!("{MANIFEST} has the form {other:?}, not {:?}", Manifest::FORM)),
    });
    let signed = parsed::<ManifestSignature>(SIGNATURE, files.get(SIGNATURE).map(Vec::as_slice).unwrap_or_default());
    let manifest = match manifest {
        Ok(manifest) => {
            report.add(Step::Statement, Ok(format!("a validation pack of {}", manifest.model)));
            Some(manifest)
        }
        Err(why) => {
            report.add(Step::Statement, Err(why));
            None
        }
    };
    match &signed {
        Ok(signed) => {
            let signer = signed.signer;
            let said = signed.check(text).map(|()| format!("signed by {signer}"));
            let said = said.map_err(|error| format!("{MANIFEST} or {SIGNATURE} was changed: {error}"));
            let is_signed = said.is_ok();
            report.add(Step::Signature, said);
            match (trusted, &manifest) {
                _ if !is_signed => report.skip(Step::Signer, "not checked, because the signature is not the signer's"),
                ((Some(only), _), _) if only == signer => report.add(Step::Signer, Ok(format!("{only}, as given"))),
                ((Some(only), _), _) => report.add(Step::Signer, Err(format!("{signer}, but only {only} is trusted"))),
                ((None, Some(signers)), Some(manifest)) => {
                    let found = signers.check(signer, manifest.made_at).map(|()| "listed for this moment".to_owned());
                    report.add(Step::Signer, found.map_err(|error| error.to_string()));
                }
                _ => report.skip(Step::Signer, "not checked; give --signers or --signer"),
            }
        }
        Err(why) => report.add(Step::Signature, Err(why.clone())),
    }
    let Some(manifest) = manifest else { return Ok(()) };
    let mut wrong = Vec::new();
    for (name, digests) in &manifest.files {
        match files.get(name) {
            None => wrong.push(format!("{name} is missing")),
            Some(bytes) => wrong.extend(digests.difference(bytes).map(|what| format!("{name}: {what}"))),
        }
    }
    let own = [MANIFEST, SIGNATURE];
    let unknown = files.keys().filter(|name| !manifest.files.contains_key(*name) && !own.contains(&name.as_str()));
    wrong.extend(unknown.map(|name| format!("{name} is not in the manifest")));
    let count = manifest.files.len();
    let agrees = format!(
        "{count} files are those of the manifest; {} parts are absent, each with its reason",
        manifest.absent.len()
    );
    report.judge(Step::Evidence, agrees, wrong);
    Ok(())
}

fn parsed<T: DeserializeOwned>(name: &str, text: &[u8]) -> Result<T, String> {
    serde_json::from_slice(text).map_err(|error| format!("{name}: {error}"))
}
