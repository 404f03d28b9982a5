//! The contract `wit/v2` in Rust: the types that all kinds share, and one module for each kind. All of it is generated.

/// The types of the contract, generated once, so that code and tests of one kind serve the others. Their form in JSON is
/// that of a features file; a field that v1 lacks may be absent, and is then unread.
pub mod shared {
    wit_bindgen::generate!({
        inline: "
            package assay:kit@2.0.0;
            world shared { import assay:model/types@2.0.0; }
        ",
        path: "../../wit/v2",
        generate_all,
        generate_unused_types: true,
        additional_derives: [PartialEq],
        additional_type_attributes: {
            "assay:model/types@2.0.0/features": [
                #[derive(Default)]
                #[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
                #[cfg_attr(feature = "json", serde(deny_unknown_fields))]
            ],
            "assay:model/types@2.0.0/chain-features": [
                #[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
                #[cfg_attr(feature = "json", serde(deny_unknown_fields))]
            ],
            "assay:model/types@2.0.0/market-features": [
                #[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
                #[cfg_attr(feature = "json", serde(deny_unknown_fields))]
            ],
            "assay:model/types@2.0.0/position": [
                #[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
                #[cfg_attr(feature = "json", serde(deny_unknown_fields))]
            ],
            "assay:model/types@2.0.0/exposure": [
                #[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
                #[cfg_attr(feature = "json", serde(deny_unknown_fields))]
            ],
            "assay:model/types@2.0.0/lending-event": [
                #[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
                #[cfg_attr(feature = "json", serde(deny_unknown_fields))]
            ],
            "assay:model/types@2.0.0/dollars": [
                #[derive(Default)]
                #[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
                #[cfg_attr(feature = "json", serde(deny_unknown_fields))]
            ],
            "assay:model/types@2.0.0/holding": [
                #[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
                #[cfg_attr(feature = "json", serde(deny_unknown_fields))]
            ],
            "assay:model/types@2.0.0/attestation": [
                #[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
                #[cfg_attr(feature = "json", serde(deny_unknown_fields))]
            ],
            "assay:model/types@2.0.0/coverage": [
                #[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
                #[cfg_attr(feature = "json", serde(rename_all = "snake_case"))]
            ],
            "assay:model/types@2.0.0/asset-class": [
                #[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
                #[cfg_attr(feature = "json", serde(rename_all = "snake_case"))]
            ],
            "assay:model/types@2.0.0/exposure-class": [
                #[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
                #[cfg_attr(feature = "json", serde(rename_all = "snake_case"))]
            ],
            "assay:model/types@2.0.0/event-kind": [
                #[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
                #[cfg_attr(feature = "json", serde(rename_all = "snake_case"))]
            ],
        },
        additional_member_attributes: {
            "assay:model/types@2.0.0/market-features.events-coverage": [
                #[cfg_attr(feature = "json", serde(default = "crate::v2::unread"))]
                #[cfg_attr(feature = "json", serde(skip_serializing_if = "crate::v2::is_unread"))]
            ],
            "assay:model/types@2.0.0/market-features.events": [
                #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Vec::is_empty"))]
            ],
            "assay:model/types@2.0.0/market-features.dollars": [
                #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "crate::v2::no_dollars"))]
            ],
            "assay:model/types@2.0.0/market-features.liquidation-days": [
                #[cfg_attr(feature = "json", serde(skip_serializing_if = "Option::is_none"))]
            ],
            "assay:model/types@2.0.0/market-features.position": [
                #[cfg_attr(feature = "json", serde(skip_serializing_if = "Option::is_none"))]
            ],
        },
    });
}

/// A module `$kind` for the world `$world`. The worlds have names of their own, because the generated macros have them too
/// and those of `wit/v1` are beside them.
macro_rules! kind {
    ($kind:ident, $world:tt) => {
        pub mod $kind {
            wit_bindgen::generate!({
                inline: "
                    package assay:kit@2.0.0;
                    world credit-v2 { include assay:model/credit-model@2.0.0; }
                    world boost-v2 { include assay:model/score-boost@2.0.0; }
                    world sybil-v2 { include assay:model/sybil-model@2.0.0; }
                    world sandbox-v2 { include assay:model/sandbox-generator@2.0.0; }
                ",
                path: "../../wit/v2",
                world: $world,
                with: { "assay:model/types@2.0.0": crate::v2::types },
                additional_derives: [PartialEq],
                pub_export_macro: true,
            });
        }
    };
}

kind!(credit, "assay:kit/credit-v2");
kind!(boost, "assay:kit/boost-v2");
kind!(sybil, "assay:kit/sybil-v2");
kind!(sandbox, "assay:kit/sandbox-v2");
