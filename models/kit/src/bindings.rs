//! The contract `wit/v1` in Rust: the types that all kinds share, and one module for each kind. All of it is generated.

/// The types of the contract, generated once, so that code and tests of one kind serve the others.
pub mod shared {
    wit_bindgen::generate!({
        inline: "
            package assay:kit@1.0.0;
            world shared { import assay:model/types@1.0.0; }
        ",
        path: "../../wit/v1",
        generate_all,
        generate_unused_types: true,
        additional_derives: [PartialEq],
        additional_type_attributes: {
            "assay:model/types@1.0.0/features": [
                #[derive(Default)]
                #[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
                #[cfg_attr(feature = "json", serde(deny_unknown_fields))]
            ],
            "assay:model/types@1.0.0/chain-features": [
                #[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
                #[cfg_attr(feature = "json", serde(deny_unknown_fields))]
            ],
            "assay:model/types@1.0.0/market-features": [
                #[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
                #[cfg_attr(feature = "json", serde(deny_unknown_fields))]
            ],
            "assay:model/types@1.0.0/holding": [
                #[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
                #[cfg_attr(feature = "json", serde(deny_unknown_fields))]
            ],
            "assay:model/types@1.0.0/attestation": [
                #[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
                #[cfg_attr(feature = "json", serde(deny_unknown_fields))]
            ],
            "assay:model/types@1.0.0/coverage": [
                #[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
                #[cfg_attr(feature = "json", serde(rename_all = "snake_case"))]
            ],
            "assay:model/types@1.0.0/asset-class": [
                #[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
                #[cfg_attr(feature = "json", serde(rename_all = "snake_case"))]
            ],
        },
    });
}

/// A module `$kind` for the world `$world`.
macro_rules! kind {
    ($kind:ident, $world:tt) => {
        pub mod $kind {
            wit_bindgen::generate!({
                path: "../../wit/v1",
                world: $world,
                with: { "assay:model/types@1.0.0": crate::types },
                additional_derives: [PartialEq],
                pub_export_macro: true,
            });
        }
    };
}

kind!(credit, "credit-model");
kind!(boost, "score-boost");
kind!(sybil, "sybil-model");
kind!(sandbox, "sandbox-generator");
