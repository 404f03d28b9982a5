//! New models: the files of a template, with the name filled in.

use assay_domain::ModelKind;

/// How a model is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Rust,
    JavaScript,
    Python,
    Scorecard,
    Trees,
}

impl Language {
    pub const ALL: [Self; 5] = [Self::Rust, Self::JavaScript, Self::Python, Self::Scorecard, Self::Trees];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::JavaScript => "javascript",
            Self::Python => "python",
            Self::Scorecard => "scorecard",
            Self::Trees => "trees",
        }
    }
}

/// A file of a template: its path in the folder, and its text.
pub type NewFile = (&'static str, String);

const WALLETS: &str = include_str!("../templates/wallets.jsonl");
const JAVASCRIPT: [(&str, &str); 5] = [
    ("model.js", include_str!("../templates/javascript/model.js")),
    ("model.test.js", include_str!("../templates/javascript/model.test.js")),
    ("wallets.js", include_str!("../templates/javascript/wallets.js")),
    ("package.json", include_str!("../templates/javascript/package.json")),
    ("README.md", include_str!("../templates/javascript/README.md")),
];
const PYTHON: [(&str, &str); 6] = [
    ("model.py", include_str!("../templates/python/model.py")),
    ("test_model.py", include_str!("../templates/python/test_model.py")),
    ("assay.py", include_str!("../templates/python/assay.py")),
    ("assay.toml", include_str!("../templates/python/assay.toml")),
    ("requirements.txt", include_str!("../templates/python/requirements.txt")),
    ("README.md", include_str!("../templates/python/README.md")),
];
/// Paths that builds and package managers write, for `.gitignore`.
const IGNORED: &str = "target/\n*.wasm\nnode_modules/\n.venv/\n__pycache__/\n";

/// The files of a new model. `kit` is the path of the crate `assay-model`, for Rust.
///
/// # Errors
/// The name is not allowed, or there is no such template.
pub fn files(language: Language, kind: ModelKind, name: &str, kit: &str) -> Result<Vec<NewFile>, String> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
    let begins = name.bytes().next().is_some_and(|first| first.is_ascii_lowercase());
    if !begins || name.len() > 40 || !name.bytes().all(plain) {
        return Err(format!("{name:?} is no name: use a small letter, then small letters, digits, `-` and `_`"));
    }
    let fill = |text: &str| text.replace("{name}", name).replace("{kit}", kit);
    let mut files = vec![("wallets.jsonl", WALLETS.to_owned()), (".gitignore", IGNORED.to_owned())];
    match language {
        Language::Rust => {
            files.push(("src/lib.rs", fill(rust(kind)?)));
            files.push(("Cargo.toml", fill(include_str!("../templates/rust/Cargo.toml.txt"))));
            files.push((".cargo/config.toml", include_str!("../templates/rust/config.toml").to_owned()));
            files.push(("README.md", fill(include_str!("../templates/rust/README.md"))));
        }
        _ if kind != ModelKind::Credit => {
            return Err(format!("a {kind} model is written in Rust: {} makes credit models", language.as_str()));
        }
        Language::JavaScript => files.extend(JAVASCRIPT.map(|(path, text)| (path, fill(text)))),
        Language::Python => files.extend(PYTHON.map(|(path, text)| (path, fill(text)))),
        Language::Scorecard => {
            files.push(("model.toml", fill(include_str!("../templates/scorecard/model.toml"))));
            files.push(("golden.txt", include_str!("../templates/scorecard/golden.txt").to_owned()));
            files.push(("README.md", fill(include_str!("../templates/scorecard/README.md"))));
        }
        Language::Trees => {
            files.push(("model.toml", fill(include_str!("../templates/trees/model.toml"))));
            files.push(("train.py", include_str!("../templates/trees/train.py").to_owned()));
            files.push(("README.md", fill(include_str!("../templates/trees/README.md"))));
        }
    }
    Ok(files)
}

fn rust(kind: ModelKind) -> Result<&'static str, String> {
    match kind {
        ModelKind::Credit => Ok(include_str!("../templates/rust/credit.rs")),
        ModelKind::Boost => Ok(include_str!("../templates/rust/boost.rs")),
        ModelKind::Sybil => Ok(include_str!("../templates/rust/sybil.rs")),
        ModelKind::Sandbox => {
            Err("there is no template of a sandbox generator: start from models/sandbox-1.1 of this repository".into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_template_is_filled_in() {
        for language in Language::ALL {
            let files = files(language, ModelKind::Credit, "my-model", "../assay/models/kit").unwrap();
            let readme = &files.iter().find(|(path, _)| *path == "README.md").unwrap().1;
            assert!(readme.starts_with("# my-model\n"), "{language:?}");
            assert!(files.iter().all(|(_, text)| !text.contains("{name}") && !text.contains("{kit}")), "{language:?}");
        }
    }

    #[test]
    fn what_is_no_model_is_refused_in_words() {
        let refused = |language, kind, name| files(language, kind, name, "").unwrap_err();
        assert!(refused(Language::Rust, ModelKind::Credit, "../x").contains("is no name"));
        assert!(refused(Language::Trees, ModelKind::Sybil, "x").contains("is written in Rust"));
        assert!(refused(Language::Rust, ModelKind::Sandbox, "x").contains("no template"));
    }
}
