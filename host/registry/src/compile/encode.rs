//! Encodes a core module, as cargo builds it for `wasm32-unknown-unknown`, as a component.

use std::borrow::Cow;

use wasmparser::{Validator, WasmFeatures};
use wit_component::ComponentEncoder;

/// A core module that cannot become a component.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "cannot be made a component: {0}. Build it with wit-bindgen's `generate!` on wit/v1 or wit/v2 and `export!`, for \
     wasm32-unknown-unknown"
)]
pub struct EncodeError(String);

impl EncodeError {
    pub(crate) fn new(reason: String) -> Self {
        Self(reason)
    }

    pub(crate) fn reason(&self) -> &str {
        &self.0
    }
}

/// Converts `bytes` to a component. A component is returned unchanged; a core module is encoded with the WIT that
/// wit-bindgen stored in it.
///
/// # Errors
/// [`EncodeError`] if a core module contains no usable component type.
pub fn to_component(bytes: &[u8]) -> Result<Cow<'_, [u8]>, EncodeError> {
    if !is_core_module(bytes) {
        return Ok(Cow::Borrowed(bytes));
    }
    let encode = || ComponentEncoder::default().validate(true).module(bytes)?.encode();
    encode().map(Cow::Owned).map_err(|error| EncodeError::new(format!("{error:#}")))
}

/// Like [`to_component`], but validates the result. For a file that is written without being compiled.
///
/// # Errors
/// [`EncodeError`] also if a component is cut off or damaged.
pub fn to_valid_component(bytes: &[u8]) -> Result<Cow<'_, [u8]>, EncodeError> {
    let component = to_component(bytes)?;
    let mut validator = Validator::new_with_features(WasmFeatures::all());
    validator.validate_all(&component).map_err(|error| EncodeError::new(error.to_string()))?;
    Ok(component)
}

/// The preamble of a core module is `\0asm` and version 1; a component's has layer 1 in its last two bytes.
pub(crate) fn is_core_module(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\0asm\x01\0\0\0")
}
