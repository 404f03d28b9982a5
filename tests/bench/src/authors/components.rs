//! The components that are compared: released ones, and one of each template, built as an author builds it.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use assay_author::{Matrix, pack};
use assay_registry::to_component;
use assay_tests::{authors, features, python, service::plugins};

use super::Failure;

/// In the order of the table.
pub const LANGUAGES: [&str; 5] = ["rust", "scorecard", "trees", "javascript", "python"];

/// A folder of components that are named as languages, in place of their templates.
const GIVEN: &str = "ASSAY_BENCH_MODELS";

/// A component, and its name in the table.
pub struct Component {
    pub name: String,
    pub bytes: Vec<u8>,
}

impl Component {
    pub fn first_party(name: &str) -> Result<Self, Failure> {
        let file = plugins().join(format!("{name}.wasm"));
        let bytes = fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(Self { name: name.to_owned(), bytes })
    }

    /// The template of a language, built in `folder`.
    pub fn template(language: &str, folder: &Path) -> Result<Self, Failure> {
        let given = env::var_os(GIVEN).map(|given| PathBuf::from(given).join(format!("{language}.wasm")));
        let bytes = match given.filter(|file| file.is_file()) {
            Some(file) => fs::read(file)?,
            None if language == "trees" => trees(folder)?,
            // Every template begins with the same version, and a shelf takes a version once.
            None => authors::built(language, folder, &format!("0.1{}", language.len()))?,
        };
        Ok(Self { name: language.to_owned(), bytes })
    }
}

/// 200 trees of 31 leaves by LightGBM.
fn trees(folder: &Path) -> Result<Vec<u8>, Failure> {
    let declarations = Path::new(env!("CARGO_MANIFEST_DIR")).join("../authors");
    let matrix = Matrix::of(&declarations.join("model.toml")).map_err(|fault| fault.to_string())?;
    let wallets = features::generate(7, 2_000);
    let text: Vec<String> =
        std::iter::once(matrix.header()).chain(wallets.iter().map(|wallet| matrix.line(wallet))).collect();
    fs::write(folder.join("matrix.csv"), text.join("\n") + "\n")?;
    let trained =
        Command::new(python::interpreter()?).arg(declarations.join("train.py")).arg(folder).arg("200").output()?;
    if !trained.status.success() {
        return Err(String::from_utf8_lossy(&trained.stderr).into_owned().into());
    }
    let declaration = folder.join("model.toml");
    let text = fs::read_to_string(declarations.join("model.toml"))?;
    fs::write(&declaration, format!("trees = \"lightgbm.txt\"\n{text}"))?;
    let packed = pack(&declaration).map_err(|fault| fault.to_string())?;
    Ok(to_component(&packed.core)?.into_owned())
}
