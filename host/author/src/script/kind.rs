//! The kind of a script, which its `describe` says: the component is made for it before the script runs.

use assay_domain::ModelKind;

use super::Script;

/// The kind that `text` names; a credit model where it names none.
///
/// # Errors
/// Words, where it names several, or one that no script can have.
pub fn named(script: Script, text: &str) -> Result<ModelKind, String> {
    let bare = text.chars().filter(|letter| !letter.is_whitespace());
    let bare: String = bare.map(|letter| if matches!(letter, '"' | '`') { '\'' } else { letter }).collect();
    let is_named = |kind: &ModelKind| match script {
        Script::JavaScript => ["kind:", "kind':"].iter().any(|field| bare.contains(&format!("{field}'{kind}'"))),
        Script::Python => bare.contains(&format!("Kind.{}", kind.as_str().to_uppercase())),
    };
    let source = script.source();
    match ModelKind::ALL.into_iter().filter(is_named).collect::<Vec<_>>().as_slice() {
        [] => Ok(ModelKind::Credit),
        [ModelKind::Sandbox] => Err(format!(
            "{source} says that it is a sandbox generator, which is written in Rust: assay model new NAME --kind sandbox \
             --lang rust"
        )),
        [kind] => Ok(*kind),
        several => {
            let kinds = several.iter().map(ModelKind::to_string).collect::<Vec<_>>().join(" and ");
            Err(format!("{source} names the kinds {kinds}: a model has one, and `describe` says which"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_has_the_kind_that_it_names() {
        let javascript = |text| named(Script::JavaScript, text);
        assert_eq!(javascript("return { kind: 'sybil', version"), Ok(ModelKind::Sybil));
        assert_eq!(javascript("const info = {\"kind\" :\n \"boost\"};"), Ok(ModelKind::Boost));
        assert_eq!(javascript("export { describe } from './info.js';"), Ok(ModelKind::Credit));
        assert!(javascript("kind: 'sandbox'").unwrap_err().contains("--kind sandbox --lang rust"));
        let python = |text| named(Script::Python, text);
        assert_eq!(python("ModelInfo(Kind.BOOST, '0.1'"), Ok(ModelKind::Boost));
        assert_eq!(python("ModelInfo(kind = Kind.SYBIL)  # not a boost model"), Ok(ModelKind::Sybil));
        assert!(python("Kind.CREDIT Kind.SYBIL").unwrap_err().contains("credit and sybil"));
    }
}
