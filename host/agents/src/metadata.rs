//! Reads the parts of an agent's document that may be shown. The owner of the agent writes the document, so nothing in
//! it is trusted to be short, harmless or of the right type.

use serde_json::{Map, Value};

use assay_domain::{AgentMetadata, display_text, has_hidden};

/// Longest texts, in characters.
const NAME: usize = 200;
const DESCRIPTION: usize = 2_000;
/// Longest image URI, in bytes. An image embedded in the URI is left out.
const IMAGE: usize = 2_048;
/// Schemes of an image that a page may show.
const SCHEMES: [&str; 4] = ["ipfs://", "https://", "http://", "ar://"];

/// `None` when the document is not a JSON object. The JSON reader limits the nesting, and the fetch limits the size.
pub fn read(document: &[u8]) -> Option<AgentMetadata> {
    let document = document.strip_prefix(b"\xef\xbb\xbf").unwrap_or(document);
    let fields: Map<String, Value> = serde_json::from_slice(document).ok()?;
    let text = |key: &str, most| Some(display_text(fields.get(key)?.as_str()?, most));
    let image = fields.get("image").and_then(Value::as_str).and_then(image);
    Some(AgentMetadata { name: text("name", NAME), description: text("description", DESCRIPTION), image })
}

fn image(uri: &str) -> Option<String> {
    let uri = uri.trim();
    let known =
        SCHEMES.iter().any(|scheme| uri.get(..scheme.len()).is_some_and(|head| head.eq_ignore_ascii_case(scheme)));
    (known && !has_hidden(uri) && uri.len() <= IMAGE).then(|| uri.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(text: Option<&str>) -> Option<String> {
        text.map(str::to_owned)
    }

    #[test]
    fn a_document_is_three_texts() {
        let read = |text: &str| read(text.as_bytes());
        let whole =
            read(r#"{"type":"x","name":"Ada","description":"counts","image":"ipfs://bafy/a.png","services":[{}]}"#)
                .unwrap();
        assert_eq!(
            (whole.name, whole.description, whole.image),
            (field(Some("Ada")), field(Some("counts")), field(Some("ipfs://bafy/a.png")))
        );
        let odd = read("\u{feff}{\"name\":7,\"description\":\"\",\"image\":\"\"}").unwrap();
        assert_eq!(odd, AgentMetadata { name: None, description: field(Some("")), image: None });
        let deep = format!("{{\"name\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
        for garbage in ["", "[]", "7", "null", "{", "\"name\"", &deep] {
            assert_eq!(read(garbage), None, "{garbage:.40}");
        }
        assert!(super::read(b"{\"name\":\"\xff\"}").is_none());
    }

    #[test]
    fn texts_are_cleaned_and_cut() {
        let document = serde_json::json!({ "name": "é".repeat(300), "description": "a\u{202e}\n b\u{34f}c" });
        let read = read(document.to_string().as_bytes()).unwrap();
        assert_eq!(read.name.map(|name| name.chars().count()), Some(NAME));
        assert_eq!(read.description.as_deref(), Some("a bc"));
    }

    #[test]
    fn only_images_that_may_be_shown() {
        for uri in
            ["javascript:alert(1)", "data:image/svg+xml,<svg/>", "/a.png", "https://a b", "https://a\u{202e}gpj.exe"]
        {
            assert_eq!(image(uri), None, "{uri}");
        }
        assert_eq!(image(&format!("https://{}", "a".repeat(IMAGE))), None);
        assert_eq!(image(" HTTPS://a.example/a.png ").as_deref(), Some("HTTPS://a.example/a.png"));
    }
}
