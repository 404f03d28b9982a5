//! New models: the files of a template, with the name filled in.

use assay_domain::ModelKind;

use crate::sample;

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
/// The same before the name is filled in.
type FileText = (&'static str, &'static str);

/// The golden wallets of a kind that sees features.
const WALLETS: FileText = ("wallets.jsonl", include_str!("../templates/wallets.jsonl"));
/// The card of a credit model, with reasons.
const CARD: FileText = ("card.toml", include_str!("../templates/card.toml"));
const RUST: [FileText; 3] = [
    ("Cargo.toml", include_str!("../templates/rust/Cargo.toml.txt")),
    (".cargo/config.toml", include_str!("../templates/rust/config.toml")),
    ("README.md", include_str!("../templates/rust/README.md")),
];
const JAVASCRIPT: [FileText; 4] = [
    ("assay.d.ts", include_str!("../templates/javascript/assay.d.ts")),
    ("jsconfig.json", include_str!("../templates/javascript/jsconfig.json")),
    ("package.json", include_str!("../templates/javascript/package.json")),
    ("README.md", include_str!("../templates/javascript/README.md")),
];
const JAVASCRIPT_WALLETS: FileText = ("wallets.js", include_str!("../templates/javascript/wallets.js"));
const PYTHON: [FileText; 4] = [
    ("assay.py", include_str!("../templates/python/assay.py")),
    ("assay.toml", include_str!("../templates/python/assay.toml")),
    ("requirements.txt", include_str!("../templates/python/requirements.txt")),
    ("README.md", include_str!("../templates/python/README.md")),
];
const SCORECARD: [FileText; 3] = [
    ("model.toml", include_str!("../templates/scorecard/model.toml")),
    ("golden.txt", include_str!("../templates/scorecard/golden.txt")),
    ("README.md", include_str!("../templates/scorecard/README.md")),
];
const SYBIL_SCORECARD: [FileText; 2] = [
    ("model.toml", include_str!("../templates/scorecard/sybil.toml")),
    ("README.md", include_str!("../templates/scorecard/README.md")),
];
const TREES: [FileText; 3] = [
    ("model.toml", include_str!("../templates/trees/model.toml")),
    ("train.py", include_str!("../templates/trees/train.py")),
    ("README.md", include_str!("../templates/trees/README.md")),
];
/// Git ignores what builds and package managers write, and secret keys.
const IGNORED: FileText = (".gitignore", "target/\n*.wasm\n*.key\nnode_modules/\n.venv/\n__pycache__/\n");

/// The files of a new model. `version` is two to four numbers joined by dots; `kit` is the path of the crate
/// `assay-model`, for Rust.
///
/// # Errors
/// The name is not allowed, or there is no such template.
pub fn files(
    language: Language,
    kind: ModelKind,
    name: &str,
    version: &str,
    kit: &str,
) -> Result<Vec<NewFile>, String> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
    let begins = name.bytes().next().is_some_and(|first| first.is_ascii_lowercase());
    if !begins || name.len() > 40 || !name.bytes().all(plain) {
        return Err(format!("{name:?} is no name: use a small letter, then small letters, digits, `-` and `_`"));
    }
    let texts = texts(language, kind)
        .ok_or_else(|| format!("a {kind} model is not written as {}: --lang rust makes one", language.as_str()))?;
    let wallets = matches!(kind, ModelKind::Credit | ModelKind::Sybil).then_some(WALLETS);
    let fill = |text: &str| {
        // The templates in Rust compile as they are, so they have a version.
        let text = text.replace(r#"version: "0.1""#, r#"version: "{version}""#);
        let text = text.replace("{name}", name).replace("{version}", version);
        text.replace("{kit}", kit).replace("{kind}", kind.as_str())
    };
    let card = (kind == ModelKind::Credit).then_some(CARD);
    let all = texts.into_iter().chain(card).chain(wallets).chain([IGNORED]);
    let history = (language == Language::Trees).then(|| ("history.jsonl", sample::history()));
    Ok(all.map(|(path, text)| (path, fill(&of_kind(text, kind)))).chain(history).collect())
}

/// The files of a language and kind; none if the language has no such template.
fn texts(language: Language, kind: ModelKind) -> Option<Vec<FileText>> {
    Some(match (language, kind) {
        (Language::Rust, _) => [&RUST[..], &[("src/lib.rs", rust(kind))]].concat(),
        (Language::JavaScript, _) => [&JAVASCRIPT[..], javascript(kind).as_slice()].concat(),
        (Language::Python, _) => [&PYTHON[..], &python(kind)?].concat(),
        (Language::Scorecard, ModelKind::Credit) => SCORECARD.to_vec(),
        (Language::Scorecard, ModelKind::Sybil) => SYBIL_SCORECARD.to_vec(),
        (Language::Trees, ModelKind::Credit) => TREES.to_vec(),
        _ => return None,
    })
}

/// `text` without the lines that are of other kinds: those begin with the names of theirs, as in `[credit,sybil] `.
fn of_kind(text: &str, kind: ModelKind) -> String {
    let line = |line: &str| {
        let kinds = line.strip_prefix('[').and_then(|rest| rest.split_once("] "));
        let kinds = kinds.filter(|(kinds, _)| kinds.split(',').all(|kind| kind.parse::<ModelKind>().is_ok()));
        match kinds {
            Some((kinds, rest)) => kinds.split(',').any(|one| one == kind.as_str()).then(|| format!("{rest}\n")),
            None => Some(format!("{line}\n")),
        }
    };
    text.lines().filter_map(line).collect()
}

fn rust(kind: ModelKind) -> &'static str {
    match kind {
        ModelKind::Credit => include_str!("../templates/rust/credit.rs"),
        ModelKind::Boost => include_str!("../templates/rust/boost.rs"),
        ModelKind::Sybil => include_str!("../templates/rust/sybil.rs"),
        ModelKind::Sandbox => include_str!("../templates/rust/sandbox.rs"),
    }
}

/// The model, its tests, and what these need.
fn javascript(kind: ModelKind) -> Vec<FileText> {
    match kind {
        ModelKind::Credit => vec![
            ("model.js", include_str!("../templates/javascript/credit.js")),
            ("model.test.js", include_str!("../templates/javascript/credit.test.js")),
            JAVASCRIPT_WALLETS,
        ],
        ModelKind::Boost => vec![
            ("model.js", include_str!("../templates/javascript/boost.js")),
            ("model.test.js", include_str!("../templates/javascript/boost.test.js")),
        ],
        ModelKind::Sybil => vec![
            ("model.js", include_str!("../templates/javascript/sybil.js")),
            ("model.test.js", include_str!("../templates/javascript/sybil.test.js")),
            JAVASCRIPT_WALLETS,
        ],
        ModelKind::Sandbox => vec![
            ("model.js", include_str!("../templates/javascript/sandbox.js")),
            ("model.test.js", include_str!("../templates/javascript/sandbox.test.js")),
        ],
    }
}

/// The model and its tests.
fn python(kind: ModelKind) -> Option<[FileText; 2]> {
    let (model, test) = match kind {
        ModelKind::Credit => {
            (include_str!("../templates/python/credit.py"), include_str!("../templates/python/test_credit.py"))
        }
        ModelKind::Boost => {
            (include_str!("../templates/python/boost.py"), include_str!("../templates/python/test_boost.py"))
        }
        ModelKind::Sybil => {
            (include_str!("../templates/python/sybil.py"), include_str!("../templates/python/test_sybil.py"))
        }
        ModelKind::Sandbox => return None,
    };
    Some([("model.py", model), ("test_model.py", test)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_template_is_filled_in() {
        let scripts = [Language::Rust, Language::JavaScript, Language::Python];
        let kinds = [ModelKind::Boost, ModelKind::Sybil].into_iter().flat_map(|kind| scripts.map(|lang| (lang, kind)));
        let sandboxes = [Language::Rust, Language::JavaScript].map(|language| (language, ModelKind::Sandbox));
        let others = [(Language::Scorecard, ModelKind::Sybil)];
        let credit = Language::ALL.map(|language| (language, ModelKind::Credit));
        for (language, kind) in kinds.chain(credit).chain(others).chain(sandboxes) {
            let files = files(language, kind, "my-model", "0.7", "../assay/models/kit").unwrap();
            let of = |name: &str| files.iter().find(|(path, _)| *path == name).map(|(_, text)| text.as_str());
            let readme = of("README.md").unwrap();
            assert!(readme.starts_with("# my-model\n"), "{language:?}");
            for left in ["{name}", "{version}", "{kit}", "{kind}", "[credit", "[boost", "[sybil", "[sandbox"] {
                assert!(files.iter().all(|(_, text)| !text.contains(left)), "{language:?} {kind}: {left}");
            }
            let promotes = readme.contains(&format!("assay model promote {kind} 0.7"));
            assert!(promotes || !scripts.contains(&language), "{readme}");
            let sees_features = matches!(kind, ModelKind::Credit | ModelKind::Sybil);
            assert_eq!(readme.contains("--features wallets.jsonl"), sees_features, "{language:?} {kind}");
            assert_eq!(of("wallets.jsonl").is_some(), sees_features, "{language:?} {kind}");
        }
    }

    #[test]
    fn the_types_of_javascript_have_the_fields_of_the_contract() {
        let (contract, types) = (
            include_str!("../../../wit/v2/types.wit").replace('%', ""),
            include_str!("../templates/javascript/assay.d.ts"),
        );
        let fields = |text: &str, begin: &str| -> Vec<String> {
            let (_, rest) = text.split_once(begin).unwrap_or_else(|| panic!("{begin}"));
            let lines = rest.split('}').next().unwrap().lines();
            let names = lines.filter_map(|line| line.trim().split_once(": ").filter(|(name, _)| !name.contains(' ')));
            names.map(|(name, _)| name.replace('-', "").to_lowercase()).collect()
        };
        for record in [
            "model-info",
            "claims",
            "rate",
            "exposure",
            "position",
            "lending-event",
            "dollars",
            "chain-features",
            "market-features",
            "holding",
            "attestation",
            "features",
            "factor",
            "off-chain",
        ] {
            let camel: String =
                record.split('-').map(|part| format!("{}{}", part[..1].to_uppercase(), &part[1..])).collect();
            let contract = fields(&contract, &format!("record {record} {{"));
            assert_eq!(contract, fields(types, &format!("interface {camel} {{")), "{record}");
            assert!(!contract.is_empty());
        }
    }

    #[test]
    fn what_is_no_model_is_refused_in_words() {
        let refused = |language, kind, name| files(language, kind, name, "0.1", "").unwrap_err();
        assert!(refused(Language::Rust, ModelKind::Credit, "../x").contains("is no name"));
        assert!(refused(Language::Trees, ModelKind::Sybil, "x").contains("--lang rust makes one"));
        assert!(refused(Language::Python, ModelKind::Sandbox, "x").contains("--lang rust makes one"));
    }
}
