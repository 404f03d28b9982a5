//! What the `describe` of a script says of it: its kind and its contract. The component is made for them before the
//! script runs.

use assay_domain::ModelKind;

use super::{Script, Wit};

/// The kind that `text` names; a credit model if it names none.
///
/// # Errors
/// Words, if it names several, or one that no script can have.
pub(crate) fn kind(script: Script, text: &str) -> Result<ModelKind, String> {
    let bare = text.chars().filter(|letter| !letter.is_whitespace());
    let bare: String = bare.map(|letter| if matches!(letter, '"' | '`') { '\'' } else { letter }).collect();
    let is_named = |kind: &ModelKind| match script {
        Script::JavaScript => ["kind:", "kind':"].iter().any(|field| bare.contains(&format!("{field}'{kind}'"))),
        Script::Python => bare.contains(&format!("Kind.{}", kind.as_str().to_uppercase())),
    };
    let source = script.source();
    match ModelKind::ALL.into_iter().filter(is_named).collect::<Vec<_>>().as_slice() {
        [] => Ok(ModelKind::Credit),
        [ModelKind::Sandbox] if script == Script::Python => Err(format!(
            "{source} says that it is a sandbox generator, which is written in Rust or JavaScript: assay model new \
             NAME --kind sandbox --lang javascript"
        )),
        [ModelKind::Sandbox] if wit(script, text) == Wit::V1 => Err(format!(
            "{source} is a sandbox generator without `claims` in `describe`: write `claims: null`, as all models of \
             wit/v2 do"
        )),
        [kind] => Ok(*kind),
        several => {
            let kinds = several.iter().map(ModelKind::to_string).collect::<Vec<_>>().join(" and ");
            Err(format!("{source} names the kinds {kinds}: a model has one, and `describe` says which"))
        }
    }
}

/// The contract of a script: wit/v2 if its description has `claims`, which wit/v1 does not know.
pub(crate) fn wit(script: Script, text: &str) -> Wit {
    let comment = match script {
        Script::JavaScript => " //",
        Script::Python => " #",
    };
    // A comment starts after a space, so `//` in a URL is kept.
    let code = |line: &str| format!(" {line}").split(comment).next().unwrap_or_default().to_owned();
    let bare: String = text.lines().map(code).collect();
    let bare: String = bare.chars().filter(|letter| !letter.is_whitespace()).collect();
    // A field or an argument follows another one, or begins a list; a variable follows neither.
    let is_field = |named: &&str| [',', '{', '('].iter().any(|before| bare.contains(&format!("{before}{named}")));
    let forms = match script {
        Script::JavaScript => ["claims:", "'claims':", "\"claims\":"].as_slice(),
        Script::Python => ["claims="].as_slice(),
    };
    if forms.iter().any(is_field) { Wit::V2 } else { Wit::V1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_has_the_kind_that_it_names() {
        let javascript = |text| kind(Script::JavaScript, text);
        assert_eq!(javascript("return { kind: 'sybil', version"), Ok(ModelKind::Sybil));
        assert_eq!(javascript("const info = {\"kind\" :\n \"boost\"};"), Ok(ModelKind::Boost));
        assert_eq!(javascript("export { describe } from './info.js';"), Ok(ModelKind::Credit));
        assert!(javascript("kind: 'sandbox'").unwrap_err().contains("`claims: null`"));
        assert_eq!(javascript("kind: 'sandbox', claims: null"), Ok(ModelKind::Sandbox));
        let python = |text| kind(Script::Python, text);
        assert_eq!(python("ModelInfo(Kind.BOOST, '0.1'"), Ok(ModelKind::Boost));
        assert_eq!(python("ModelInfo(kind = Kind.SYBIL)  # not a boost model"), Ok(ModelKind::Sybil));
        assert!(python("Kind.SANDBOX").unwrap_err().contains("--kind sandbox --lang javascript"));
        assert!(python("Kind.CREDIT Kind.SYBIL").unwrap_err().contains("credit and sybil"));
    }

    #[test]
    fn a_script_with_claims_is_of_the_second_version() {
        let of = |script, text| wit(script, text);
        let second = [
            (Script::JavaScript, "reads: ['https://a'], // inputs\n    claims: null,"),
            (Script::JavaScript, "const info = { \"claims\" : {"),
            (Script::Python, "ModelInfo(\n    reads=[],  # inputs\n    claims=None,\n)"),
            (Script::Python, "ModelInfo(claims = Claims("),
        ];
        for (script, text) in second {
            assert_eq!(of(script, text), Wit::V2, "{text}");
        }
        let first = [
            (Script::JavaScript, "const claims = wallet ? claims : null;\n// claims: none"),
            (Script::JavaScript, "reads: [], // claims: none"),
            (Script::Python, "reads = []\nclaims = 3\nif (claims):"),
            (Script::Python, "ModelInfo(Kind.CREDIT)  # claims="),
        ];
        for (script, text) in first {
            assert_eq!(of(script, text), Wit::V1, "{text}");
        }
    }
}
