//! The manifest of a component, in the format of `wkg` and other tools of WebAssembly: one layer, which is the
//! component.

use assay_domain::Digest;
use serde_json::{Value, json};

use super::SourceError;

/// Media types.
pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.wasm.config.v0+json";
const LAYER: &str = "application/wasm";

/// The layer of a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layer {
    pub digest: Digest,
    pub size: u64,
}

/// The configuration of a component: what it exports and imports. `created` is a moment in RFC 3339.
pub(crate) fn config(component: &[u8], exports: &[String], created: &str) -> Vec<u8> {
    let config = json!({
        "created": created,
        "author": null,
        "architecture": "wasm",
        "os": "wasip2",
        "layerDigests": [named(component)],
        "component": { "exports": exports, "imports": [], "target": null },
    });
    config.to_string().into_bytes()
}

/// The manifest of a component and its configuration.
pub(crate) fn manifest(component: &[u8], config: &[u8]) -> Vec<u8> {
    let descriptor =
        |kind: &str, bytes: &[u8]| json!({ "mediaType": kind, "digest": named(bytes), "size": bytes.len() });
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": descriptor(CONFIG, config),
        "layers": [descriptor(LAYER, component)],
    });
    manifest.to_string().into_bytes()
}

/// The layer of a manifest.
///
/// # Errors
/// It is not that of a component.
pub(crate) fn layer(manifest: &[u8]) -> Result<Layer, SourceError> {
    let other = |what: &str| SourceError::Other(what.to_owned());
    let manifest: Value = serde_json::from_slice(manifest).map_err(|_| other("its manifest is not JSON"))?;
    let kind = |value: &Value| value.get("mediaType").and_then(Value::as_str).unwrap_or_default().to_owned();
    let config = manifest.get("config").map(kind).unwrap_or_default();
    if config != CONFIG {
        return Err(other(&format!("it has the configuration `{config}`, as images of containers have")));
    }
    let layers = manifest.get("layers").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let [layer] = layers else {
        return Err(other(&format!("it has {} layers, and a component has one", layers.len())));
    };
    if kind(layer) != LAYER {
        return Err(other(&format!("its layer is `{}` and not {LAYER}", kind(layer))));
    }
    let digest = layer.get("digest").and_then(Value::as_str).and_then(|digest| digest.strip_prefix("sha256:"));
    let mut bytes = [0; 32];
    digest
        .and_then(|hex| hex::decode_to_slice(hex, &mut bytes).ok())
        .ok_or_else(|| other("its layer has no SHA-256"))?;
    let size = layer.get("size").and_then(Value::as_u64).ok_or_else(|| other("its layer has no size"))?;
    Ok(Layer { digest: Digest(bytes), size })
}

/// The digest of bytes as a registry writes it.
pub(crate) fn named(bytes: &[u8]) -> String {
    format!("sha256:{}", super::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_names_the_component() {
        let config = config(b"component", &["assay:model/credit@2.0.0".into()], "2026-01-01T00:00:00Z");
        let manifest = manifest(b"component", &config);
        assert_eq!(layer(&manifest).unwrap(), Layer { digest: crate::sources::digest(b"component"), size: 9 });
        let text = String::from_utf8(manifest).unwrap();
        for (from, to, words) in [
            (CONFIG, "application/vnd.oci.image.config.v1+json", "as images of containers have"),
            (LAYER, "application/vnd.oci.image.layer.v1.tar", "its layer is `application/vnd.oci.image.layer.v1.tar`"),
            ("\"layers\":[", "\"layers\":[{},", "it has 2 layers"),
            ("\"size\":9", "\"size\":-9", "its layer has no size"),
            ("{\"", "<", "its manifest is not JSON"),
        ] {
            let said = layer(text.replacen(from, to, 1).as_bytes()).unwrap_err().to_string();
            assert!(said.contains(words), "{words}: {said}");
        }
    }
}
