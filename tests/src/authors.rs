//! Models made from the templates with an author's commands.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use assay_domain::ModelKind;

use crate::{packages, python, service::binary};

/// Makes a credit model from the template of `language` in a new folder inside `folder`, sets its version, and builds
/// it. Returns the component.
///
/// # Errors
/// The last line of the failed command; also if the toolchain of the language is not installed.
pub fn built(language: &str, folder: &Path, version: &str) -> Result<Vec<u8>, String> {
    built_as(ModelKind::Credit, language, folder, version)
}

/// Like [`built`], for any kind of model.
///
/// # Errors
/// Those of [`built`].
pub fn built_as(kind: ModelKind, language: &str, folder: &Path, version: &str) -> Result<Vec<u8>, String> {
    match language {
        "javascript" => drop(packages::author_packages().map_err(|error| error.to_string())?),
        "python" => drop(python::interpreter()?),
        _ => {}
    }
    let name = format!("{language}-{}", version.replace('.', "-"));
    let kit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/kit");
    assay(folder, &["new", &name, "--kind", kind.as_str(), "--lang", language, "--kit", &kit.display().to_string()])?;
    for source in ["src/lib.rs", "model.toml", "model.js", "model.py"] {
        let source = folder.join(&name).join(source);
        if let Ok(text) = fs::read_to_string(&source) {
            fs::write(&source, text.replacen("0.1", version, 1)).map_err(|error| error.to_string())?;
        }
    }
    assay(folder, &["build", &name])?;
    fs::read(folder.join(&name).join(format!("{name}.wasm"))).map_err(|error| error.to_string())
}

fn assay(folder: &Path, arguments: &[&str]) -> Result<(), String> {
    let done = Command::new(binary()).arg("model").args(arguments).current_dir(folder).env("PATH", path()).output();
    let done = done.map_err(|error| error.to_string())?;
    if done.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&done.stderr).lines().last().unwrap_or_default().to_owned())
}

/// The toolchains that the tests install, followed by those of this machine.
fn path() -> std::ffi::OsString {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let own = [root.join(".python/bin"), root.join("authors/node_modules/.bin")];
    let here: Vec<PathBuf> = env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default();
    env::join_paths(own.into_iter().chain(here)).unwrap_or_default()
}
